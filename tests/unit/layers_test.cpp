// Which room may include which, checked by reading every #include. A room is a
// folder; it may include itself and those above it in kRooms: so there are no
// cycles. Rooms are small, and say what they are for: those of tests as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/unit/support/source_folder.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// From the ground up.
const std::vector<std::string> kRooms = {
    "base",
    "protocol",
    "protocol/events",
    "protocol/requests",
    "protocol/requests/terminal",
    "protocol/reports",
    "agent",
    "tracee/memory",
    "tracee/arch/x86_64",
    "tracee/proc",
    "tracee/elf",
    "tracee/program",
    "tracee/net",
    "tracee/host",
    "tracee/access",
    "tracee/ptrace",
    "tracee/syscalls",
    "inspector/native",
    "inspector/cpython/layout",
    "inspector/cpython/runtime",
    "inspector/cpython/objects",
    "inspector/cpython/code",
    "inspector/cpython/stacks",
    "inspector/cpython/locks",
    "inspector/cpython/async",
    "inspector/cpython/expressions",
    "inspector/ranks",
    "inspector/snapshot",
    "inspector/jobs",
    "inspector/jobs/torch",
    "inspector/host",
    "diagnosis/snapshot",
    "diagnosis/waits",
    "diagnosis/causes",
    "diagnosis",
    "diagnosis/jobs",
    "diagnosis/survey",
    "diagnosis/evidence",
    "profiler/profile",
    "profiler/sampling",
    "injector/bootstrap",
    "injector/arch/x86_64",
    "injector/checks",
    "injector/stub",
    "injector",
    "server/coroutines",
    "server/session",
    "server/rank_breakpoints",
    "server/dap",
    "server/dap/handlers",
    "nodes",
    "nodes/hosts",
    "nodes/frames",
    "nodes/program",
    "nodes/processes",
    "nodes/launchers",
    "nodes/probing",
    "nodes/asking",
    "nodes/answering",
    "client/terminal",
    "client/options",
    "client/ranks",
    "client/prompt",
    "client/views/around",
    "client/views/diagnose",
    "client/views/ps",
    "client/views/dump",
    "client/views/dist",
    "client/views/evidence",
    "client/views/trace",
    "client/views/record",
    "client/nodes",
    "client/probe",
    "client/breaks",
    "client/views/top",
    "client/report",
    "client/views/diff",
    "client/completion",
    "client/run",
    "client/commands",
    "client",
};

// What the rooms of a folder may not include, though it is above them.
const std::map<std::string, std::set<std::string>> kMayNotInclude = {
    {"agent", {"protocol"}},
    {"tracee", {"protocol", "agent"}},
    {"inspector", {"protocol", "agent"}},
    {"diagnosis", {"protocol", "agent"}},
    {"profiler", {"protocol", "agent", "diagnosis"}},
    {"injector", {"protocol", "agent", "diagnosis", "profiler"}},
    {"nodes",
     {"agent", "tracee", "inspector", "diagnosis", "profiler", "injector",
      "server"}},
};

// Headers, by how they begin, that only these folders or files may include.
const std::map<std::string, std::set<std::string>> kOnlyIn = {
    {"sys/ptrace.h", {"tracee", "injector"}},
    {"linux/ptrace.h", {"tracee", "injector"}},
    {"nlohmann/", {"protocol"}},
    {"boost/", {"server", "client"}},
    // It takes a compiler seconds; client/options/cli.h is what the others have
    // of it.
    {"CLI/",
     {"client/options/cli.cpp", "client/command_line.cpp",
      "client/completion/completion.cpp", "client/help.cpp",
      "client/manual.cpp", "client/usage_error.cpp"}},
    {"spdlog/", {"base/log.cpp"}},
};

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

std::string room_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// The index of a room in kRooms; none for foreign files.
std::optional<std::ptrdiff_t> height(const std::string& room) {
  const auto found = std::ranges::find(kRooms, room);
  if (found == kRooms.end()) {
    return std::nullopt;
  }
  return found - kRooms.begin();
}

// What is wrong with including `header` in `file`, a path from the root;
// empty if nothing is.
std::string problem(const std::string& file, const std::string& header) {
  for (const auto& [prefix, places] : kOnlyIn) {
    if (header.starts_with(prefix) && !places.contains(file) &&
        !places.contains(folder_of(file))) {
      return file + " includes " + header;
    }
  }
  const auto from = height(room_of(file));
  const auto to = height(room_of(header));
  const auto forbidden = kMayNotInclude.find(folder_of(file));
  const bool upwards = from && to && *to > *from;
  const bool aside = to && forbidden != kMayNotInclude.end() &&
                     forbidden->second.contains(folder_of(header));
  const bool relative = header.starts_with("..");
  return relative || upwards || aside ? file + " includes " + header : "";
}

// The header that a line includes; empty if it includes none.
std::string included(std::string_view line) {
  line = trim(line);
  for (const std::string_view word : {"#", "include"}) {
    if (!line.starts_with(word)) {
      return {};
    }
    line = trim(line.substr(word.size()));
  }
  return std::string(line.substr(1, line.find_first_of(">\"", 1) - 1));
}

std::vector<std::string> broken_includes(const std::string& file,
                                         std::string_view text) {
  std::vector<std::string> broken;
  for (const std::string_view line : split(text, '\n')) {
    const std::string header = included(line);
    if (const std::string what = problem(file, header); !what.empty()) {
      broken.push_back(what);
    }
  }
  return broken;
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> kKinds = {".h", ".c", ".cpp", ".S"};
  return kKinds.contains(path.extension());
}

bool is_script(const fs::path& path) {
  static const std::set<std::string> kKinds = {".py", ".js", ".lua", ".el"};
  return kKinds.contains(path.extension());
}

std::string read_file(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The folders that the program is made of.
std::set<std::string> folders() {
  std::set<std::string> found;
  for (const std::string& room : kRooms) {
    found.insert(folder_of(room));
  }
  return found;
}

// By folder, its number of source files.
void expect_small_and_described(const std::map<std::string, int>& rooms) {
  for (const auto& [room, size] : rooms) {
    EXPECT_LE(size, 60) << room << " is crowded";
    EXPECT_TRUE(fs::exists(fs::path(source_folder()) / room / "README.md"))
        << room << " does not say what it is for";
  }
}

TEST(Layers, NoIncludeBreaksThem) {
  const fs::path root = source_folder();
  int files = 0;
  std::vector<std::string> broken;
  std::map<std::string, int> rooms;
  for (const std::string& folder : folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (is_source(entry.path())) {
        ++files;
        const std::string file = entry.path().lexically_relative(root);
        ++rooms[room_of(file)];
        std::ranges::move(broken_includes(file, read_file(entry.path())),
                          std::back_inserter(broken));
      }
    }
  }
  EXPECT_GT(files, 20) << "read under " << root;
  EXPECT_THAT(broken, IsEmpty());
  for (const auto& [room, size] : rooms) {
    EXPECT_TRUE(height(room)) << room << " is not in kRooms";
  }
  expect_small_and_described(rooms);
}

TEST(Layers, NoFolderOfTestsIsCrowded) {
  // Has the folders of the packages that it replaces: one room.
  const std::string rehearsal = "tests/gpu/rehearsal";
  const fs::path root = source_folder();
  std::map<std::string, int> rooms;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (is_source(entry.path()) || is_script(entry.path())) {
      const std::string file = entry.path().lexically_relative(root);
      ++rooms[file.starts_with(rehearsal) ? rehearsal : room_of(file)];
    }
  }
  EXPECT_GT(rooms.size(), 20) << "read under " << root;
  expect_small_and_described(rooms);
}

// What `--json` shows is in protocol/reports, what is sent to an editor or the
// agent in protocol/requests and protocol/events. Nodes have messages of their
// own; what else `server/dap` has is a request that its editor extends.
TEST(Layers, JsonIsDescribedInTheProtocol) {
  const fs::path root = source_folder();
  std::vector<std::string> elsewhere;
  for (const std::string& folder : folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string file = entry.path().lexically_relative(root);
      const bool may = file.starts_with("protocol/") ||
                       file.starts_with("server/dap/") ||
                       file.starts_with("nodes/frames/");
      if (is_source(entry.path()) && !may &&
          read_file(entry.path()).contains("void fields(V& v)")) {
        elsewhere.push_back(file);
      }
    }
  }
  EXPECT_THAT(elsewhere, IsEmpty());
}

TEST(Layers, ABadIncludeIsFound) {
  EXPECT_THAT(broken_includes("tracee/memory/memory.cpp",
                              "#include \"tracee/memory/memory.h\"\n"
                              "#include \"base/fd.h\"\n"
                              "#include <sys/ptrace.h>\n"
                              "  #  include \"protocol/json.h\"\n"
                              "#include <nlohmann/json.hpp>\n"
                              "#include <boost/asio.hpp>\n"),
              ElementsAre("tracee/memory/memory.cpp includes protocol/json.h",
                          "tracee/memory/memory.cpp includes nlohmann/json.hpp",
                          "tracee/memory/memory.cpp includes boost/asio.hpp"));
  EXPECT_THAT(
      broken_includes("server/session/session.cpp",
                      "#include <sys/ptrace.h>\n"
                      "#include \"../client/prompt.h\"\n"
                      "#include \"client/prompt.h\"\n"
                      "#include \"injector/inject.h\"\n"),
      ElementsAre("server/session/session.cpp includes sys/ptrace.h",
                  "server/session/session.cpp includes ../client/prompt.h",
                  "server/session/session.cpp includes client/prompt.h"));
  EXPECT_THAT(
      broken_includes("client/commands/ps.cpp", "#include <CLI/CLI.hpp>"),
      ElementsAre("client/commands/ps.cpp includes CLI/CLI.hpp"));
  EXPECT_THAT(
      broken_includes("client/options/cli.cpp", "#include <CLI/CLI.hpp>"),
      IsEmpty());
  EXPECT_THAT(broken_includes("base/text.cpp", "#include <spdlog/spdlog.h>"),
              ElementsAre("base/text.cpp includes spdlog/spdlog.h"));
  EXPECT_THAT(broken_includes("base/log.cpp", "#include <spdlog/logger.h>"),
              IsEmpty());
}

TEST(Layers, ARoomAboveIsNotIncluded) {
  EXPECT_THAT(broken_includes("tracee/proc/signals.cpp",
                              "#include \"tracee/memory/memory.h\"\n"
                              "#include \"tracee/ptrace/traced_thread.h\"\n"),
              ElementsAre("tracee/proc/signals.cpp includes "
                          "tracee/ptrace/traced_thread.h"));
  EXPECT_THAT(broken_includes("injector/inject.cpp",
                              "#include \"inspector/host/room.h\"\n"
                              "#include \"diagnosis/diagnose.h\"\n"),
              ElementsAre("injector/inject.cpp includes diagnosis/diagnose.h"))
      << "it stands above, and is not the injector's business";
}

}  // namespace
}  // namespace hangdbg
