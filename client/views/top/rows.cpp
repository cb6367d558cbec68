#include "client/views/top/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "client/terminal/render.h"
#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

using PlaceKind = ProfilePlace::Kind;

ProfilePlace function_of(ProfilePlace place) {
  place.line = 0;
  return place;
}

// Of each node, whether its stack is in the scope's thread and process.
std::vector<bool> nodes_in(const TopData& data, const TopScope& scope) {
  std::vector<bool> in(data.nodes.size());
  if (scope.task) {
    for (std::size_t i = 1; i < data.nodes.size(); ++i) {
      in[i] = i == *scope.task || in[data.nodes[i].parent];
    }
    return in;
  }
  std::string process = scope.process, thread;
  if (scope.thread) {
    process = data.threads[*scope.thread].process;
    thread = thread_label(data.threads[*scope.thread]);
  }
  for (std::uint32_t i = 1; i < data.nodes.size(); ++i) {
    const auto& [kind, label, file, first, line] =
        data.places[data.nodes[i].place];
    in[i] = kind == PlaceKind::Process
                ? process.empty() || label == process
                : in[data.nodes[i].parent] &&
                      (kind != PlaceKind::Thread || thread.empty() ||
                       label == thread || is_task(data, i));
  }
  return in;
}

// Frames of a node, innermost first: their nodes.
template <class Each>
void each_frame(const TopData& data, std::uint32_t node, const Each& each) {
  for (; node != Profile::kRoot; node = data.nodes[node].parent) {
    if (data.places[data.nodes[node].place].kind != PlaceKind::Frame) {
      return;
    }
    each(node);
  }
}

struct Weight {
  std::uint64_t own = 0, total = 0, own_ever = 0, total_ever = 0;
};

class Sums {
 public:
  explicit Sums(const TopData& data) : data_(data) {}

  // A place that is in one stack twice counts once.
  void add(const ProfilePlace& place, std::uint32_t end, bool own) {
    auto& [sum, last] = sums_[place];
    const std::uint64_t ever = data_.nodes[end].own;
    const std::uint64_t recent = data_.recent[end];
    if (std::exchange(last, end) != end) {
      sum.total += recent;
      sum.total_ever += ever;
    }
    if (own) {
      sum.own += recent;
      sum.own_ever += ever;
    }
  }

  std::vector<TopPlaceRow> rows() const {
    const double units =
        std::chrono::duration<double>(data_.window).count() * data_.rate;
    const double percent = units > 0 ? 100 / units : 0;
    std::vector<TopPlaceRow> rows;
    for (const auto& [place, counted] : sums_) {
      const Weight& sum = counted.first;
      rows.push_back({place, static_cast<double>(sum.own) * percent,
                      static_cast<double>(sum.total) * percent,
                      static_cast<double>(sum.own_ever) / data_.rate,
                      static_cast<double>(sum.total_ever) / data_.rate});
    }
    return rows;
  }

 private:
  const TopData& data_;
  std::map<ProfilePlace, std::pair<Weight, std::uint32_t>> sums_;
};

// Each node at which stacks of the scope end.
template <class Each>
void each_end(const TopData& data, const TopScope& scope, const Each& each) {
  const std::vector<bool> in = nodes_in(data, scope);
  for (std::uint32_t end = 1; end < data.nodes.size(); ++end) {
    if (!in[end] || data.nodes[end].own == 0) {
      continue;
    }
    bool has = !scope.function;
    if (scope.function) {
      each_frame(data, end, [&](std::uint32_t node) {
        has |=
            function_of(data.places[data.nodes[node].place]) == *scope.function;
      });
    }
    if (has) {
      each(end);
    }
  }
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0
             ? 0
             : static_cast<double>(part) / static_cast<double>(whole) * 100;
}

}  // namespace

std::vector<TopPlaceRow> top_places(const TopData& data,
                                    const TopScope& scope,
                                    bool by_line) {
  Sums sums(data);
  each_end(data, scope, [&](std::uint32_t end) {
    each_frame(data, end, [&](std::uint32_t node) {
      const ProfilePlace& place = data.places[data.nodes[node].place];
      sums.add(by_line ? place : function_of(place), end, node == end);
    });
  });
  return sums.rows();
}

std::vector<TopPlaceRow> top_neighbours(const TopData& data,
                                        const TopScope& scope,
                                        TopSide side) {
  Sums sums(data);
  each_end(data, scope, [&](std::uint32_t end) {
    std::optional<ProfilePlace> inner;
    each_frame(data, end, [&](std::uint32_t node) {
      const ProfilePlace here =
          function_of(data.places[data.nodes[node].place]);
      if (side == TopSide::Callees && here == *scope.function && inner &&
          *inner != here) {
        sums.add(*inner, end, false);
      }
      if (side == TopSide::Callers && inner == scope.function &&
          here != *scope.function) {
        sums.add(here, end, false);
      }
      inner = here;
    });
  });
  return sums.rows();
}

std::vector<TopThreadRow> top_threads(const TopData& data,
                                      const std::string& process) {
  std::vector<TopThreadRow> rows;
  const double window = std::chrono::duration<double>(data.window).count();
  for (std::uint32_t i = 0; i < data.threads.size(); ++i) {
    const ProfiledThread& thread = data.threads[i];
    const ThreadTally& now = data.tallies[i];
    const ThreadTally& recent = data.recent_tallies[i];
    if (now.ended || now.samples == 0 ||
        std::ranges::find(data.pids, thread.pid) == data.pids.end() ||
        (!process.empty() && thread.process != process)) {
      continue;
    }
    TopThreadRow row{.thread = i,
                     .pid = thread.pid,
                     .tid = thread.tid,
                     .label = thread.name,
                     .process = thread.process,
                     .gil = share(recent.held_gil, recent.samples),
                     .runs = share(recent.ran, recent.samples),
                     .running = now.runs,
                     .where = place_label(data, now.node)};
    // Of one that was found later, all that it ever used is no share.
    const bool is_new = recent.samples == now.samples;
    row.cpu = is_new || window <= 0
                  ? row.runs
                  : static_cast<double>(recent.cpu_ns) / window / 1e7;
    const auto waits = data.waits.find(thread.tid);
    if (!row.running && waits != data.waits.end()) {
      row.waits = waits->second;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<TopProcessRow> top_processes(const TopData& data) {
  std::vector<TopProcessRow> rows;
  for (const TopThreadRow& thread : top_threads(data)) {
    auto row = std::ranges::find(rows, thread.pid, &TopProcessRow::pid);
    if (row == rows.end()) {
      rows.push_back({.pid = thread.pid, .label = thread.process});
      row = std::prev(rows.end());
      const auto places = top_places(data, {.process = thread.process}, false);
      const auto hot = std::ranges::max_element(places, {}, &TopPlaceRow::own);
      if (hot != places.end() && hot->own > 0) {
        row->hot = top_label(hot->place);
      }
    }
    ++row->threads;
    row->cpu += thread.cpu;
    row->gil += thread.gil;
    row->runs += thread.runs;
  }
  return rows;
}

std::string top_label(const ProfilePlace& place) {
  const bool library = is_library_path(place.file);
  return fmt::format(
      "{} ({}:{})", to_utf8(place.function),
      to_utf8(library ? short_path(place.file) : base_name(place.file)),
      line_of(place));
}

std::vector<ProfilePlace> last_stack(const TopData& data,
                                     std::uint32_t thread) {
  return stack_at(data, data.tallies[thread].node);
}

std::vector<ProfilePlace> stack_at(const TopData& data, std::uint32_t node) {
  std::vector<ProfilePlace> stack;
  each_frame(data, node, [&](std::uint32_t frame) {
    stack.push_back(data.places[data.nodes[frame].place]);
  });
  return stack;
}

bool is_task(const TopData& data, std::uint32_t node) {
  const auto kind_of = [&](std::uint32_t one) {
    return data.places[data.nodes[one].place].kind;
  };
  return kind_of(node) == PlaceKind::Thread &&
         kind_of(data.nodes[node].parent) == PlaceKind::Thread;
}

std::string place_label(const TopData& data, std::uint32_t node) {
  const ProfilePlace& place = data.places[data.nodes[node].place];
  return node != Profile::kRoot && place.kind == PlaceKind::Frame
             ? top_label(place)
             : "";
}

}  // namespace hangdbg
