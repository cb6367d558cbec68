#include "nodes/asking/live_nodes.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "nodes/frames/messages.h"
#include "nodes/launchers/bootstrap.h"
#include "nodes/processes/descriptor_limit.h"
#include "nodes/program/own_program.h"
#include "protocol/base64.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

constexpr double kLongestLiveS = 86'400;
constexpr auto kBetweenOrders = std::chrono::seconds(1);
constexpr auto kLauncherToEnd = std::chrono::milliseconds(500);

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

LiveNodes::LiveNodes(const Launcher& launcher,
                     const std::vector<std::string>& nodes,
                     std::vector<std::string> words,
                     std::vector<std::string> typed,
                     const LiveLimits& limits)
    : limits_(limits),
      program_(own_program_id()),
      to_begin_(Deadline::in(limits.to_begin)) {
  std::signal(SIGCHLD, SIG_DFL);
  allow_descriptors(4096);
  const NodeRequest request{.words = std::move(words),
                            .typed = std::move(typed),
                            .seconds = kLongestLiveS,
                            .live = true,
                            .silence = seconds(limits.silence)};
  const std::string script =
      bootstrap_script({.hash = program_,
                        .size = own_program_size(),
                        .request = to_base64(encode(request).dump()),
                        .if_absent = IfAbsent::SayAbsent});
  std::vector<std::vector<std::string>> together;
  for (const std::string& node : nodes) {
    answers_.push_back(std::make_unique<OneAnswer>(node));
    if (together.empty() || !launcher.one_for_all()) {
      together.emplace_back();
    }
    together.back().push_back(node);
  }
  for (const auto& names : together) {
    auto argv = launcher.words(names, script);
    const std::string name = argv.front();
    auto child = start_child(name, std::move(argv), launcher_variables(),
                             SIGTERM, /*with_input=*/true);
    if (!child) {
      started_ = std::unexpected(child.error());
      return;
    }
    std::vector<OneAnswer*> its;
    for (const auto& answer : answers_) {
      if (std::ranges::find(names, answer->node()) != names.end()) {
        its.push_back(answer.get());
      }
    }
    connections_.push_back(std::make_unique<Connection>(
        *std::move(child), std::move(its), name, to_begin_));
  }
}

LiveNodes::~LiveNodes() {
  end(Deadline::in(kLauncherToEnd));
}

void LiveNodes::tell(std::string_view order) {
  for (const auto& connection : connections_) {
    connection->order(fmt::format("{}\n", order));
  }
  next_sign_ = Deadline::in(kBetweenOrders);
}

void LiveNodes::interrupt(std::string_view order) {
  for (const auto& connection : connections_) {
    connection->order(fmt::format("{}\n{}", order, kInterruptKey));
  }
}

Result<std::vector<LiveNodes::Said>> LiveNodes::hear(Deadline deadline) {
  TRY(started_);
  for (;;) {
    if (next_sign_.expired()) {
      tell("{}");
    }
    read();
    std::vector<Said> all;
    for (const auto& answer : answers_) {
      for (std::string& line : answer->take_lines()) {
        all.push_back({answer->node(), std::move(line)});
      }
    }
    if (!all.empty()) {
      return all;  // also the last words of one that has failed
    }
    TRY(check());
    if (deadline.expired()) {
      return all;
    }
    wait(deadline.capped(next_sign_.left()));
    if (interrupt_.came()) {
      return fail(ErrorId::Interrupted, "interrupted");
    }
  }
}

void LiveNodes::end(Deadline deadline) {
  for (const auto& connection : connections_) {
    connection->write();
    connection->child().in.reset();
  }
  const auto open = [](const auto& connection) {
    return connection->child().pid != 0;
  };
  while (!deadline.expired() && std::ranges::any_of(connections_, open)) {
    wait(deadline);
    read();
  }
  for (const auto& connection : connections_) {
    close(*connection);
  }
}

void LiveNodes::wait(Deadline deadline) {
  std::vector<pollfd> fds = {{interrupt_.get(), POLLIN, 0}};
  for (const auto& connection : connections_) {
    const NodeChild& child = connection->child();
    fds.push_back({child.out.get(), POLLIN, 0});
    fds.push_back({child.err.get(), POLLIN, 0});
    if (connection->sending()) {
      fds.push_back({child.in.get(), POLLOUT, 0});
    }
  }
  ::poll(fds.data(), fds.size(), deadline.left_ms());
}

void LiveNodes::read() {
  for (const auto& connection : connections_) {
    NodeChild& child = connection->child();
    if (child.pid == 0) {
      continue;
    }
    connection->read(program_);
    connection->write();
    if (!child.out) {
      const Deadline last = Deadline::in(kLauncherToEnd);
      auto code = reap_child(child);
      while (!code && !last.expired()) {
        ::poll(nullptr, 0, 1);
        code = reap_child(child);
      }
      connection->read(program_);
      if (code) {
        child.pid = 0;
      }
      close(*connection);
      connection->end(code.value_or(0), {});
    }
  }
}

void LiveNodes::close(Connection& connection) {
  NodeChild& child = connection.child();
  if (child.pid != 0) {
    end_child(child, SIGTERM, Deadline::in(kLauncherToEnd));
    child.pid = 0;
  }
}

Status LiveNodes::check() const {
  for (const auto& answer : answers_) {
    const auto silent = Deadline::Clock::now() - answer->heard();
    if (answer->ready()) {
      const NodeAnswer end = answer->hand_on();
      return end.failed
                 ? fail(end.failed->id,
                        fmt::format("{}: {}", answer->node(),
                                    end.failed->message),
                        end.failed->hint)
                 : fail(ErrorId::ChannelClosed,
                        fmt::format("{}: it has ended{}{}", answer->node(),
                                    trim(end.err).empty() ? "" : ": ",
                                    printable(trim(end.err))));
    }
    if (answer->spoke() ? silent > limits_.silence : to_begin_.expired()) {
      return fail(
          ErrorId::TimedOut,
          fmt::format("{}: no word in {}", answer->node(),
                      human_duration(answer->spoke() ? limits_.silence
                                                     : limits_.to_begin)));
    }
  }
  return {};
}

}  // namespace hangdbg
