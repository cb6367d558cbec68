#include "client/report/from_nodes.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostOfNode = std::size_t{256} << 20;
constexpr std::size_t kLongestName = 100;  // of ustar

// "dump.txt" of "hangdbg-report-79655-20261128/dump.txt".
std::string without_folder(const std::string& name) {
  return name.substr(name.find('/') + 1);
}

bool is_plain(const std::string& name) {
  return !name.empty() && name.front() != '/' && name.front() != '.' &&
         name.find("/.") == std::string::npos &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
                  c == '/';
         });
}

// A node may be "user@host" or "space/pod".
std::string folder_of(std::string node) {
  std::ranges::replace_if(
      node, [](char c) { return c == '/' || c == '@' || c == ':' || c == '%'; },
      '_');
  return node.front() == '.' ? "_" + node : node;
}

}  // namespace

Result<ReportsOfNodes> reports_from_nodes(const ViaOption& via,
                                          const CommonOptions& common,
                                          const std::string& folder) {
  auto words = words_for_nodes();
  for (const char* const name : {"-o", "--output"}) {
    remove_option(words, name, /*value=*/true);
  }
  for (const char* const name : {"--force", "--json", "-j"}) {
    remove_option(words, name, /*value=*/false);
  }
  add_option_word(words, "--to-stdout");
  ReportsOfNodes all;
  std::vector<FailedNode> unread;
  const auto take = [&](const NodeAnswer& answer) {
    auto files =
        answer.out.empty()
            ? Result<std::vector<ArchivedFile>>(
                  fail(ErrorId::NodeFailed,
                       printable(trim(answer.err).substr(0, 300))))
            : files_of_node(answer.out, folder + "/" + folder_of(answer.node));
    if (!files) {
      unread.push_back({answer.node, files.error()});
      return;
    }
    std::ranges::move(*files, std::back_inserter(all.files));
    if (answer.code != 0) {
      all.missing.push_back(
          {answer.node, {}, "parts of it, as its README.md says"});
    }
  };
  AskedNodes asked =
      TRY(gather_from_nodes(via, common, std::move(words), take));
  std::ranges::move(unread, std::back_inserter(asked.failed));
  if (all.files.empty()) {
    return std::unexpected(asked.failed.front().why);
  }
  for (const FailedNode& one : asked.failed) {
    all.missing.push_back({one.node, {}, to_utf8(one.why.text())});
  }
  std::ranges::sort(all.files, {}, &ArchivedFile::name);
  return all;
}

Result<std::vector<ArchivedFile>> files_of_node(const std::string& archive,
                                                const std::string& folder) {
  auto files = TRY(unpack(archive, kMostOfNode));
  for (ArchivedFile& file : files) {
    const std::string name = without_folder(file.name);
    if (!is_plain(name) || folder.size() + 1 + name.size() > kLongestName) {
      return fail(ErrorId::BadMessage,
                  "a file of its report is called " + printable(name));
    }
    file.name = folder + "/" + name;
  }
  return files;
}

}  // namespace hangdbg
