// The table of what libraries wait for: each row is well formed, and its
// sentence is reported for a thread with its frames.
#include "diagnosis/waits/library_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "inspector/cpython/expressions/expression.h"
#include "tests/unit/support/made_up.h"

namespace hangdbg {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string name_of(const LibraryWait& row) {
  return fmt::format("{} {}:{}", row.library, row.file, row.function);
}

std::string folder_of(const LibraryWait& row) {
  return row.library == "Python" ? "/usr/lib/python3.11"
                                 : "/usr/lib/python3.11/site-packages";
}

// The innermost call of the row's function, in one of its waiting functions.
std::vector<PythonFrame> inner_frames(const LibraryWait& row) {
  std::vector<PythonFrame> frames;
  std::string_view via = row.via;
  while (!via.empty()) {
    const std::string_view one = split_words(via).front();
    const std::string_view file = one.substr(0, one.rfind(':'));
    const std::string_view function = one.substr(one.rfind(':') + 1);
    frames.push_back(
        frame(folder_of(row) + std::string(file), std::string(function)));
    const auto next =
        std::ranges::find_if(library_waits(), [&](const LibraryWait& inner) {
          return inner.file == file && inner.function == function &&
                 inner.via.find(one) == inner.via.npos;
        });
    via = next == library_waits().end() ? "" : next->via;
  }
  std::ranges::reverse(frames);
  return frames;
}

// A thread in that row's function, called by the program; its expressions have
// the values "v0", "v1".
MadeUpProcess& waits_in(MadeUpSystem& system,
                        const LibraryWait& row,
                        std::vector<PythonFrame> between = {}) {
  std::vector<PythonFrame> frames = inner_frames(row);
  std::ranges::move(between, std::back_inserter(frames));
  frames.push_back(frame(folder_of(row) + std::string(row.file),
                         std::string(row.function), 34));
  frames.push_back(frame("/home/ada/train.py", "load"));
  MadeUpProcess& one = system.python(kOne);
  int at = 0;
  for (const std::string_view expression : expressions_of(row)) {
    one.texts.emplace(std::pair(std::string(row.function), expression),
                      fmt::format("v{}", at++));
  }
  if (!row.when.empty()) {
    const std::size_t colon = row.when.find(": ");
    one.texts[{std::string(row.function),
               std::string(row.when.substr(0, colon))}] =
        split_words(row.when.substr(colon + 2)).front();
  }
  one.sleeps_in(SYS_read, {5}, frames);
  return one;
}

std::string said_of(MadeUpSystem& system) {
  const ProcessSnapshot& of = *system.snapshot(kOne);
  const auto known = known_wait(of, of.threads.front());
  return known ? sentence_of(of, *known) : "nothing";
}

TEST(LibraryWaits, RowsAreWellFormed) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view,
                      std::string_view>>
      seen;
  std::set<std::string> functions;
  for (const LibraryWait& row : library_waits()) {
    functions.insert(fmt::format("{}:{}", row.file, row.function));
  }
  for (const LibraryWait& row : library_waits()) {
    SCOPED_TRACE(name_of(row));
    EXPECT_TRUE(seen.emplace(row.file, row.function, row.via, row.when).second);
    EXPECT_FALSE(row.library.empty());
    EXPECT_THAT(std::string(row.file), StartsWith("/"));
    EXPECT_TRUE(row.file.ends_with(".py"));
    EXPECT_FALSE(row.function.empty());
    EXPECT_THAT(
        row.versions.substr(0, 1),
        testing::AnyOf("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
    EXPECT_FALSE(row.sentence.empty());
    EXPECT_FALSE(row.sentence.ends_with('.'));
    for (const std::string_view expression : expressions_of(row)) {
      EXPECT_TRUE(parse_expression(expression)) << expression;
    }
    EXPECT_EQ(std::ranges::count(row.sentence, '{'),
              std::ranges::count(row.sentence, '}'));
    for (const std::string_view one : split_words(row.via)) {
      EXPECT_TRUE(functions.contains(std::string(one)) ||
                  one == "/queue.py:get" ||
                  one == "/multiprocess/queues.py:get")
          << one;
    }
    EXPECT_TRUE(row.when.empty() || row.when.find(": ") != row.when.npos);
  }
}

// By library in each file, so that rows are easy to find.
TEST(LibraryWaits, RowsAreInOrder) {
  std::string_view library, file;
  std::set<std::string> libraries;
  for (const LibraryWait& row : library_waits()) {
    if (row.library != library) {
      EXPECT_TRUE(libraries.insert(std::string(row.library)).second)
          << row.library << " is in two places";
      library = row.library;
    } else {
      EXPECT_LE(file, row.file) << name_of(row);
    }
    file = row.file;
  }
  EXPECT_GE(libraries.size(), 60U);
}

// For a thread of each row, the row's wait is reported.
TEST(LibraryWaits, EachRowIsSaid) {
  for (const LibraryWait& row : library_waits()) {
    SCOPED_TRACE(name_of(row));
    MadeUpSystem system;
    const MadeUpProcess& one = waits_in(system, row);
    const auto known = known_wait(one, one.threads.front());
    ASSERT_TRUE(known.has_value());
    EXPECT_EQ(known->frame->line, 34);
    EXPECT_EQ(known->row->sentence, row.sentence);
    const std::string said = sentence_of(one, *known);
    EXPECT_THAT(said, testing::Not(testing::ContainsRegex("[][{}]")));
    EXPECT_THAT(said, StartsWith(std::string(row.sentence.substr(
                          0, row.sentence.find_first_of("[{")))));
  }
}

// The program's own code in between is not the library's.
TEST(LibraryWaits, NothingOfTheProgramIsTakenForIt) {
  for (const LibraryWait& row : library_waits()) {
    SCOPED_TRACE(name_of(row));
    MadeUpSystem system;
    const MadeUpProcess& one =
        waits_in(system, row, {frame("/home/ada/redis/mine.py", "hook")});
    const auto known = known_wait(one, one.threads.front());
    EXPECT_TRUE(!known || known->frame->line != 34);
  }
}

const LibraryWait& row_of(std::string_view file,
                          std::string_view function,
                          WaitKind kind) {
  return *std::ranges::find_if(library_waits(), [&](const LibraryWait& row) {
    return row.file == file && row.function == function && row.kind == kind;
  });
}

TEST(LibraryWaits, LeavesOutWhatItCannotRead) {
  const LibraryWait& row =
      row_of("/redis/client.py", "parse_response", WaitKind::Reply);
  MadeUpSystem system;
  MadeUpProcess& one = waits_in(system, row);
  one.texts.clear();
  one.texts[{"parse_response", "command_name"}] = "GET";
  EXPECT_EQ(said_of(system), "waits for the reply of Redis to GET");
  one.texts[{"parse_response", "connection.host"}] = "127.0.0.1";
  one.numbers[{"parse_response", "connection.port"}] = 6379;
  EXPECT_EQ(said_of(system),
            "waits for the reply of Redis at 127.0.0.1:6379 to GET");
  // Without a value that it needs, the row of its callee is reported.
  one.texts.erase({"parse_response", "command_name"});
  EXPECT_EQ(said_of(system), "waits for the reply of Redis");
}

TEST(LibraryWaits, TellsOneCommandFromAnother) {
  const LibraryWait& row =
      row_of("/redis/client.py", "parse_response", WaitKind::Reply);
  MadeUpSystem system;
  MadeUpProcess& one = waits_in(system, row);
  one.texts[{"parse_response", "command_name"}] = "BLPOP";
  EXPECT_THAT(said_of(system), StartsWith("waits for an entry by BLPOP"));
  EXPECT_EQ(cause_of(system, kOne).progress, Progress::Idle);
}

TEST(LibraryWaits, ValuesAreShortAndSafe) {
  const LibraryWait& row =
      row_of("/requests/adapters.py", "send", WaitKind::Reply);
  MadeUpSystem system;
  MadeUpProcess& one = waits_in(system, row);
  one.texts[{"send", "request.url"}] = "https://ada:secret@example.org/\x1b[1m";
  one.texts[{"send", "request.method"}] = std::string(1000, 'G');
  EXPECT_THAT(said_of(system), testing::Not(HasSubstr("secret")));
  EXPECT_THAT(said_of(system), testing::Not(HasSubstr("\x1b")));
  EXPECT_LT(said_of(system).size(), 300U);
}

// ---- reports about the whole thread

struct Said {
  CauseId id;
  Progress progress;
};

Said cause_in(const LibraryWait& row,
              long call,
              std::vector<std::uint64_t> args) {
  MadeUpSystem system;
  MadeUpProcess& one = waits_in(system, row);
  auto frames = one.threads.front().stack.frames;
  one.threads.clear();
  one.sleeps_in(call, std::move(args), frames);
  const Cause cause = cause_of(system, kOne);
  return {cause.id, cause.progress};
}

TEST(LibraryWaits, AWaitForWorkIsNoHang) {
  for (const LibraryWait& row : library_waits()) {
    if (!is_idle_by_design(row.kind)) {
      continue;
    }
    SCOPED_TRACE(name_of(row));
    // Nothing else is known about it.
    EXPECT_EQ(cause_in(row, SYS_semtimedop, {}).progress, Progress::Idle);
  }
}

TEST(LibraryWaits, AReplyIsWaitedForFromSomebody) {
  for (const LibraryWait& row : library_waits()) {
    if (is_idle_by_design(row.kind) || row.kind == WaitKind::Pause) {
      continue;
    }
    SCOPED_TRACE(name_of(row));
    EXPECT_EQ(cause_in(row, SYS_semtimedop, {}).progress, Progress::Blocked);
    EXPECT_NE(cause_in(row, SYS_semtimedop, {}).id, CauseId::Unknown);
  }
}

// It may be a task that was submitted as a function of C.
TEST(LibraryWaits, AWorkerThatSleepsHasWork) {
  const LibraryWait& row =
      row_of("/concurrent/futures/thread.py", "_worker", WaitKind::Work);
  EXPECT_EQ(cause_in(row, SYS_futex, {}).id, CauseId::Idle);
  EXPECT_EQ(cause_in(row, SYS_clock_nanosleep, {}).id, CauseId::Sleeps);
}

// The blocker and its evidence stay.
TEST(LibraryWaits, KeepsWhoIsWaitedFor) {
  MadeUpSystem system;
  MadeUpProcess& one = waits_in(
      system, row_of("/redis/client.py", "parse_response", WaitKind::Reply));
  auto frames = one.threads.front().stack.frames;
  one.threads.clear();
  one.texts[{"parse_response", "command_name"}] = "GET";
  one.sleeps_in(SYS_recvfrom, {5}, frames);
  one.open_socket(5, 41);
  system.peers[41] = {kOther};
  system.process(kOther).sleeps_in(SYS_futex, {});
  const Cause cause = cause_of(system, kOne);
  EXPECT_EQ(cause.id, CauseId::PeerSilent);
  EXPECT_THAT(cause.summary, StartsWith("waits for the reply of Redis"));
  EXPECT_THAT(cause.summary, HasSubstr(std::to_string(kOther)));
  EXPECT_THAT(cause.blocked_by, testing::Not(IsEmpty()));
  EXPECT_GE(cause.evidence.size(), 2U);
}

}  // namespace
}  // namespace hangdbg
