#include "client/views/top/history.h"

#include <iterator>

namespace hangdbg {
namespace {

constexpr auto kWindow = std::chrono::seconds(5);

}  // namespace

void TopHistory::take(Recording& recording) {
  data_.state = recording.state();
  data_.pids = recording.pids();
  data_.rate = recording.rate();
  data_.tasks = recording.has_tasks();
  {
    const auto lock = recording.lock();
    const Profile& profile = recording.profile();
    const auto& places = profile.places();
    data_.places.insert(data_.places.end(),
                        std::next(places.begin(), static_cast<std::ptrdiff_t>(
                                                      data_.places.size())),
                        places.end());
    data_.nodes = profile.nodes();
    data_.threads = profile.threads();
    data_.tallies = profile.tallies();
  }
  Moment now{.at = data_.state.lasted, .tallies = data_.tallies};
  now.own.reserve(data_.nodes.size());
  for (const ProfileNode& node : data_.nodes) {
    now.own.push_back(node.own);
  }
  while (moments_.size() > 1 && now.at - moments_[1].at >= kWindow) {
    moments_.pop_front();
  }
  subtract(moments_.empty() ? Moment() : moments_.front());
  moments_.push_back(std::move(now));
}

void TopHistory::subtract(const Moment& before) {
  data_.window = data_.state.lasted - before.at;
  data_.recent.clear();
  for (std::size_t i = 0; i < data_.nodes.size(); ++i) {
    data_.recent.push_back(data_.nodes[i].own -
                           (i < before.own.size() ? before.own[i] : 0));
  }
  data_.recent_tallies = data_.tallies;
  for (std::size_t i = 0; i < before.tallies.size(); ++i) {
    ThreadTally& sum = data_.recent_tallies[i];
    const ThreadTally& then = before.tallies[i];
    sum.samples -= then.samples;
    sum.ran -= then.ran;
    sum.held_gil -= then.held_gil;
    sum.cpu_ns -= then.cpu_ns;
  }
}

}  // namespace hangdbg
