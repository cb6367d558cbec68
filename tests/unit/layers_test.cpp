// The folders' arrows, held by reading every #include:
//
//   base <- tracee <- inspector <- injector;  base <- protocol;
//   {protocol, injector} <- server <- client
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/unit/source_folder.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// What a folder may include besides itself.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {}},
    {"protocol", {"base"}},
    {"tracee", {"base"}},
    {"inspector", {"tracee", "base"}},
    {"injector", {"inspector", "tracee", "base"}},
    {"agent", {"base"}},
    {"server",
     {"agent", "protocol", "injector", "inspector", "tracee", "base"}},
    {"client",
     {"server", "agent", "protocol", "injector", "inspector", "tracee",
      "base"}},
};

// Headers, by how they begin, that only these folders or files may include.
const std::map<std::string, std::set<std::string>> kOnlyIn = {
    {"sys/ptrace.h", {"tracee", "injector"}},
    {"linux/ptrace.h", {"tracee", "injector"}},
    {"nlohmann/", {"protocol"}},
    {"boost/", {"server", "client"}},
    // It takes a compiler seconds; client/cli.h is what the others have of it.
    {"CLI/",
     {"client/cli.cpp", "client/command_line.cpp",
      "client/completion/completion.cpp", "client/manual.cpp"}},
    {"spdlog/", {"base/log.cpp"}},
};

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find('/'));
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
  const std::string from = folder_of(file);
  const std::string to = folder_of(header);
  const bool sideways = header.starts_with("..");
  const bool upwards = kMayInclude.contains(to) && to != from &&
                       !kMayInclude.at(from).contains(to);
  return sideways || upwards ? file + " includes " + header : "";
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

std::string read_file(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Layers, NoIncludeBreaksThem) {
  const fs::path root = source_folder();
  int files = 0;
  std::vector<std::string> broken;
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (is_source(entry.path())) {
        ++files;
        const std::string file = entry.path().lexically_relative(root);
        std::ranges::move(broken_includes(file, read_file(entry.path())),
                          std::back_inserter(broken));
      }
    }
  }
  EXPECT_GT(files, 20) << "read under " << root;
  EXPECT_THAT(broken, IsEmpty());
}

TEST(Layers, ABadIncludeIsFound) {
  EXPECT_THAT(broken_includes("tracee/memory.cpp",
                              "#include \"tracee/memory.h\"\n"
                              "#include \"base/fd.h\"\n"
                              "#include <sys/ptrace.h>\n"
                              "  #  include \"protocol/json.h\"\n"
                              "#include <nlohmann/json.hpp>\n"
                              "#include <boost/asio.hpp>\n"),
              ElementsAre("tracee/memory.cpp includes protocol/json.h",
                          "tracee/memory.cpp includes nlohmann/json.hpp",
                          "tracee/memory.cpp includes boost/asio.hpp"));
  EXPECT_THAT(broken_includes("server/session.cpp",
                              "#include <sys/ptrace.h>\n"
                              "#include \"../client/prompt.h\"\n"
                              "#include \"client/prompt.h\"\n"
                              "#include \"injector/inject.h\"\n"),
              ElementsAre("server/session.cpp includes sys/ptrace.h",
                          "server/session.cpp includes ../client/prompt.h",
                          "server/session.cpp includes client/prompt.h"));
  EXPECT_THAT(
      broken_includes("client/commands/ps.cpp", "#include <CLI/CLI.hpp>"),
      ElementsAre("client/commands/ps.cpp includes CLI/CLI.hpp"));
  EXPECT_THAT(broken_includes("client/cli.cpp", "#include <CLI/CLI.hpp>"),
              IsEmpty());
  EXPECT_THAT(broken_includes("base/text.cpp", "#include <spdlog/spdlog.h>"),
              ElementsAre("base/text.cpp includes spdlog/spdlog.h"));
  EXPECT_THAT(broken_includes("base/log.cpp", "#include <spdlog/logger.h>"),
              IsEmpty());
}

}  // namespace
}  // namespace hangdbg
