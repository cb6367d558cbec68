#include "client/breaks/prompt_on_nodes.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "client/terminal/render.h"

namespace hangdbg {
namespace {

constexpr auto kBetweenLines = std::chrono::milliseconds(50);
constexpr timespec kBetweenHearings = {0, 50'000'000};
constexpr auto kOneHearing = std::chrono::milliseconds(1);
constexpr std::array<std::string_view, 4> kLeave = {"q", "quit", "exit",
                                                    "detach"};
// They take the lines that follow for themselves.
constexpr std::array<std::string_view, 2> kReaders = {"interact", "commands"};

template <std::size_t size>
bool is_one_of(const std::array<std::string_view, size>& names,
               std::string_view word) {
  return std::ranges::find(names, word) != names.end();
}

}  // namespace

PromptOnNodes::PromptOnNodes(RanksOnNodes& ranks,
                             const std::map<int, std::string>& nodes_of,
                             const RankSet& meant,
                             const CommonOptions& common,
                             std::function<Status(Deadline)> hear)
    : ranks_(ranks),
      nodes_of_(nodes_of),
      common_(common),
      hear_(std::move(hear)),
      rank_(ranks.standing().empty() ? meant.numbers().front()
                                     : *ranks.standing().begin()) {
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    editor_ = LineEditor::open();
  }
}

Result<int> PromptOnNodes::run() {
  while (!leaving_) {
    std::string line;
    const Came came = read(line);
    TRY(heard_);
    if (came == Came::End) {
      break;
    }
    if (came == Came::Nothing) {
      statement_.drop();
      continue;
    }
    if (const auto whole = statement_.add(line, Statement::Source::Typed,
                                          Statement::Kind::Commands)) {
      TRY(run_line(std::string(trim(*whole))));
    }
  }
  return 0;
}

// The nodes are heard meanwhile: else they would end by themselves.
PromptOnNodes::Came PromptOnNodes::read(std::string& line) {
  flush_output(stdout);
  return editor_ ? read_typed(line) : read_piped(line);
}

// What they say stands above the line that is typed. Ctrl-C is seen before the
// keys that were typed after it.
PromptOnNodes::Came PromptOnNodes::read_typed(std::string& line) {
  const Fd tick(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec often{kBetweenHearings, kBetweenHearings};
  ::timerfd_settime(tick.get(), 0, &often, nullptr);
  const Fd either(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {tick.get(), ranks_.interrupt_fd()}) {
    epoll_event readable{.events = EPOLLIN, .data = {}};
    ::epoll_ctl(either.get(), EPOLL_CTL_ADD, fd, &readable);
  }
  editor_->watch(either.get(), [&] {
    std::uint64_t times = 0;
    (void)!::read(tick.get(), &times, sizeof(times));
    return hear_while_typing();
  });
  const auto came = editor_->read([this] { return prompt(); },
                                  Palette(common_.colour, stdout), line);
  ranks_.set_before_showing({});
  switch (came) {
    case LineEditor::Came::Line:
      return Came::Line;
    case LineEditor::Came::Interrupt:
    case LineEditor::Came::Event:
      return Came::Nothing;
    case LineEditor::Came::End:
      return statement_.is_begun() ? Came::Nothing : Came::End;
  }
  return Came::End;
}

// Ctrl-C drops the line.
std::optional<LineEditor::Came> PromptOnNodes::hear_while_typing() {
  ranks_.set_before_showing([this] { editor_->make_room(); });
  heard_ = hear_(Deadline::in(kOneHearing));
  if (heard_) {
    return std::nullopt;
  }
  if (heard_.error().id == ErrorId::Interrupted) {
    heard_ = Status();
    return LineEditor::Came::Interrupt;
  }
  return LineEditor::Came::Event;
}

PromptOnNodes::Came PromptOnNodes::read_piped(std::string& line) {
  std::atomic<bool> read = false;
  const Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::thread hearing([&] {
    while (!read && heard_) {
      heard_ = hear_(Deadline::in(kBetweenLines));
      if (!heard_) {
        const std::uint64_t one = 1;
        (void)!::write(wake.get(), &one, sizeof(one));
      }
    }
  });
  std::setvbuf(stdin, nullptr, _IONBF,
               0);  // what was read cannot be waited for
  std::array<pollfd, 2> fds = {
      {{STDIN_FILENO, POLLIN, 0}, {wake.get(), POLLIN, 0}}};
  ::poll(fds.data(), fds.size(), -1);
  char* buffer = nullptr;
  std::size_t capacity = 0;
  const auto length =
      fds[1].revents != 0 ? -1 : ::getline(&buffer, &capacity, stdin);
  line.assign(buffer != nullptr && length > 0 ? buffer : "",
              static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  std::free(buffer);
  read = true;
  hearing.join();
  return length < 0 ? Came::End : Came::Line;
}

Status PromptOnNodes::run_line(const std::string& line) {
  const auto words = split_words(line);
  const std::string_view name = words.empty() ? "" : words.front();
  const std::string rest(trim(std::string_view(line).substr(name.size())));
  if (is_one_of(kLeave, name) && words.size() == 1) {
    leaving_ = true;
  } else if (name == "rank") {
    go_to(rest);
  } else if (name == "ranks" && rest.empty()) {
    show_ranks();
  } else if (name == "ranks") {
    const auto set = split_words(rest).front();
    return run_in(std::string(set),
                  std::string(trim(std::string_view(rest).substr(set.size()))));
  } else if (!name.empty()) {
    return run_in(fmt::format("{}", rank_), line);
  }
  return {};
}

Status PromptOnNodes::run_in(const std::string& set,
                             const std::string& command) {
  const auto choice = RankChoice::parse(set);
  const auto words = split_words(command);
  RankSet in;
  for (const auto& [rank, node] : nodes_of_) {
    if (choice && choice->includes(rank)) {
      in.add(rank);
    }
  }
  if (!choice || words.empty()) {
    complain("ranks needs a set of ranks and a command", "ranks 0,3 p step");
  } else if (in.empty()) {
    complain("no such rank: " + printable(set), "ranks");
  } else if (is_one_of(kReaders, words.front())) {
    complain(fmt::format("{}: not available over several nodes",
                         printable(words.front())),
             fmt::format("hangdbg attach --ranks {} --via ...", in.text(1)));
  } else {
    return ranks_.run(in, command);
  }
  return {};
}

void PromptOnNodes::go_to(std::string_view argument) {
  const auto rank = parse_number<int>(argument);
  const auto node = nodes_of_.find(rank.value_or(-1));
  if (node == nodes_of_.end()) {
    complain(rank ? fmt::format("rank {} is on none of these nodes", *rank)
                  : "rank needs the number of a rank",
             "ranks");
    return;
  }
  rank_ = *rank;
  say("rank {} on {}{}\n", rank_, node->second,
      ranks_.standing().contains(rank_) ? "" : ": it is not suspended");
}

void PromptOnNodes::show_ranks() const {
  const Palette out(common_.colour, stdout);
  for (const auto& [rank, node] : nodes_of_) {
    say("{} {:>4}  {}{}\n", rank == rank_ ? out.green("->") : "  ", rank, node,
        ranks_.standing().contains(rank) ? "  suspended" : "");
  }
}

LineEditor::Prompt PromptOnNodes::prompt() const {
  const bool held = ranks_.standing().contains(rank_);
  const std::string text = fmt::format(
      "(hangdbg r{} {}{}) ", rank_, nodes_of_.at(rank_), held ? " HELD" : "");
  return {
      statement_.is_begun() ? fmt::format("{:<{}}", "...", text.size()) : text,
      held, false};
}

void PromptOnNodes::complain(const std::string& what,
                             const std::string& hint) const {
  say(stderr, "{} {}\n", Palette(common_.colour, stderr).red("***"), what);
  say(stderr, "    try: {}\n", hint);
}

}  // namespace hangdbg
