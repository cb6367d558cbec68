#include "server/dap/questions.h"

#include <utility>

#include "server/dap/debug_session.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

// A person may have to say something first.
constexpr auto kQuestionsPatience = std::chrono::seconds(60);

}  // namespace

Questions::Asked::Asked(Questions& questions,
                        std::int64_t number,
                        std::string command)
    : questions_(questions),
      number_(number),
      command_(std::move(command)),
      came_(questions.session_.io(), kQuestionsPatience) {
  questions_.asked_.emplace(number_, this);
}

Questions::Asked::~Asked() {
  questions_.asked_.erase(number_);
}

asio::awaitable<Result<dap::Response>> Questions::Asked::answer() {
  if (!answer_) {
    co_await questions_.session_.nap(came_);
  }
  if (answer_) {
    co_return *std::move(answer_);
  }
  co_return questions_.session_.leaving()
      ? fail(ErrorId::ChannelClosed, "the editor leaves")
      : fail(ErrorId::TimedOut, "the editor has not answered " + command_);
}

void Questions::take(dap::Response answer) {
  const auto found = asked_.find(answer.request_seq);
  if (found != asked_.end()) {
    found->second->answer_ = std::move(answer);
    found->second->came_.cancel();
  }
}

}  // namespace hangdbg
