#include "nodes/asking/ask.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <memory>
#include <utility>

#include "base/text.h"
#include "nodes/asking/connection.h"
#include "nodes/asking/one_answer.h"
#include "nodes/frames/messages.h"
#include "nodes/frames/pack.h"
#include "nodes/launchers/bootstrap.h"
#include "nodes/processes/descriptor_limit.h"
#include "nodes/processes/interrupt_fd.h"
#include "nodes/program/own_program.h"
#include "protocol/base64.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostConnections = 64;
constexpr auto kToConnect = std::chrono::seconds(10);  // ssh gives up after 8
constexpr auto kToSend = std::chrono::seconds(60);
constexpr auto kToEnd = std::chrono::milliseconds(500);
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

struct Asking {
  const Launcher& launcher;
  const NodeQuestion& question;
  const std::function<void(NodeAnswer)>& take;
  const std::function<void(const NodesProgress&)>& progress;
  std::string program;      // its ID
  std::string packed = {};  // it, once a node needs it
  std::vector<std::unique_ptr<OneAnswer>> answers;
  std::deque<OneAnswer*> to_start;
  std::vector<std::unique_ptr<Connection>> connections;
  NodesProgress counts = {};

  Status run();
  void start_some();
  void start(std::vector<OneAnswer*> nodes, IfAbsent if_absent);
  void look(Connection& connection);
  void wait(const InterruptFd& interrupt);
  void hand_over();
  void send_to(Connection& connection);
  void start_again();
  std::string request() const;
  Deadline::Clock::duration time_to_answer() const;
};

Status Asking::run() {
  const InterruptFd interrupt;
  while (!to_start.empty() || !connections.empty()) {
    start_some();
    hand_over();
    if (connections.empty()) {
      continue;
    }
    wait(interrupt);
    if (interrupt.came()) {
      const Deadline last = Deadline::in(kToEnd);
      for (const auto& connection : connections) {
        end_child(connection->child(), SIGTERM, last);
      }
      return fail(ErrorId::Interrupted, "interrupted");
    }
    for (const auto& connection : connections) {
      look(*connection);
    }
    std::erase_if(connections, [](const auto& connection) {
      return connection->child().pid == 0;
    });
    start_again();
    hand_over();
    counts.waiting.clear();
    counts.sending = 0;
    for (const auto& answer : answers) {
      if (!answer->over() && !answer->spoke()) {
        counts.waiting.push_back(answer->node());
      }
    }
    for (const auto& connection : connections) {
      counts.sending += connection->sending() ? 1 : 0;
    }
    progress(counts);
  }
  return {};
}

void Asking::start_some() {
  if (launcher.one_for_all()) {
    if (!to_start.empty()) {
      start({to_start.begin(), to_start.end()}, IfAbsent::SayNeed);
      to_start.clear();
    }
    return;
  }
  while (!to_start.empty() &&
         (question.together || connections.size() < kMostConnections)) {
    OneAnswer* const next = to_start.front();
    to_start.pop_front();
    start({next}, IfAbsent::Receive);
  }
}

void Asking::start(std::vector<OneAnswer*> nodes, IfAbsent if_absent) {
  std::vector<std::string> names;
  for (const OneAnswer* const node : nodes) {
    names.push_back(node->node());
  }
  auto words =
      launcher.words(names, bootstrap_script({.hash = program,
                                              .size = own_program_size(),
                                              .request = request(),
                                              .if_absent = if_absent}));
  const std::string name = words.front();
  auto child = start_child(name, std::move(words), launcher_variables(),
                           SIGTERM, launcher.forwards_input());
  if (!child) {
    for (OneAnswer* const node : nodes) {
      node->end({.id = ErrorId::NodeFailed, .message = child.error().text()});
    }
    return;
  }
  connections.push_back(
      std::make_unique<Connection>(*std::move(child), std::move(nodes), name,
                                   Deadline::in(time_to_answer())));
}

// Its process has no number any more once it is over.
void Asking::look(Connection& connection) {
  connection.read(program);
  if (connection.wants_program() && !launcher.one_for_all()) {
    send_to(connection);
  }
  connection.write();
  NodeChild& child = connection.child();
  if (connection.over()) {
    end_child(child, SIGTERM, Deadline::in(kToEnd));
    child.pid = 0;
    return;
  }
  if (!child.out) {
    // Its end is near: what it has to say may still be on its way.
    const Deadline last = connection.deadline().capped(kToEnd);
    auto code = reap_child(child);
    while (!code && !last.expired()) {
      ::poll(nullptr, 0, 1);
      code = reap_child(child);
    }
    connection.read(program);
    if (!code) {
      end_child(child, SIGTERM, Deadline::in(kToEnd));
    }
    child.pid = 0;
    connection.end(code.value_or(0), {});
  } else if (connection.deadline().expired()) {
    end_child(child, SIGTERM, Deadline::in(kToEnd));
    connection.read(program);
    child.pid = 0;
    connection.end(std::nullopt, human_duration(time_to_answer()));
  }
}

void Asking::wait(const InterruptFd& interrupt) {
  std::vector<pollfd> fds = {{interrupt.get(), POLLIN, 0}};
  Deadline next = Deadline::in(kBetweenLooks);
  for (const auto& connection : connections) {
    next = next.capped(connection->deadline().left());
    const NodeChild& child = connection->child();
    for (const Fd* const fd : {&child.out, &child.err}) {
      fds.push_back({fd->get(), POLLIN, 0});
    }
    if (connection->sending()) {
      fds.push_back({child.in.get(), POLLOUT, 0});
    }
  }
  ::poll(fds.data(), fds.size(), next.left_ms());
}

void Asking::hand_over() {
  for (auto& answer : answers) {
    if (answer->ready()) {
      NodeAnswer one = answer->hand_on();
      ++(one.failed ? counts.failed : counts.answered);
      take(std::move(one));
    }
  }
}

void Asking::send_to(Connection& connection) {
  if (packed.empty()) {
    const auto bytes = read_own_program();
    packed = bytes ? pack_gzip(*bytes) : "";
  }
  connection.send(packed, Deadline::in(kToSend + time_to_answer()));
}

// Where one process carries all, those that need the program get one of their
// own: it is sent to all of them at once.
void Asking::start_again() {
  if (!launcher.one_for_all() || !connections.empty()) {
    return;
  }
  std::vector<OneAnswer*> needy;
  for (auto& answer : answers) {
    if (!answer->needs_program()) {
      continue;
    }
    if (launcher.forwards_input()) {
      const std::string node = answer->node();
      answer = std::make_unique<OneAnswer>(node);
      needy.push_back(answer.get());
    } else {
      answer->program_sent();
    }
  }
  if (!needy.empty()) {
    start(std::move(needy), IfAbsent::ReceiveAll);
    if (!connections.empty()) {
      send_to(*connections.back());
    }
  }
}

std::string Asking::request() const {
  return to_base64(encode(NodeRequest{.words = question.words,
                                      .typed = question.typed,
                                      .seconds = question.time.count()})
                       .dump());
}

Deadline::Clock::duration Asking::time_to_answer() const {
  return std::chrono::duration_cast<Deadline::Clock::duration>(kToConnect +
                                                               question.time);
}

}  // namespace

Status ask_nodes(const Launcher& launcher,
                 const NodeQuestion& question,
                 const std::function<void(NodeAnswer)>& take,
                 const std::function<void(const NodesProgress&)>& progress) {
  std::signal(SIGCHLD, SIG_DFL);
  // A pipe each for output, errors and input of every connection.
  allow_descriptors(4096);
  Asking asking{.launcher = launcher,
                .question = question,
                .take = take,
                .progress = progress,
                .program = own_program_id()};
  asking.counts.all = launcher.nodes().size();
  for (const std::string& node : launcher.nodes()) {
    asking.answers.push_back(std::make_unique<OneAnswer>(node));
    asking.to_start.push_back(asking.answers.back().get());
  }
  return asking.run();
}

}  // namespace hangdbg
