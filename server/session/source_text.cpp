#include "server/session/source_text.h"

#include <fmt/core.h>

#include "base/log.h"
#include "base/text.h"
#include "tracee/program/target_text.h"

namespace hangdbg {

SourceText::SourceText(int pid)
    : root_(fmt::format("/proc/{}/root", pid)), pid_(pid) {}

const std::vector<std::string>& SourceText::lines(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) {
    return known->second;
  }
  std::string text = read_target_text(root_, pid_, path);
  if (text.empty() && ask_) {
    auto answer = ask_(path);
    if (!answer) {
      static const std::vector<std::string> kNone;
      return kNone;
    }
    text = *std::move(answer);
  }
  auto lines = source_lines(text);
  log::debug(log::Area::Client, "source {}: {} lines", path, lines.size());
  return files_.emplace(path, std::move(lines)).first->second;
}

std::optional<std::string> SourceText::line(const std::string& path,
                                            std::int64_t number) {
  const auto& all = lines(path);
  if (number < 1 || number > std::ssize(all)) {
    return std::nullopt;
  }
  return std::string(trim(all[static_cast<std::size_t>(number - 1)]));
}

std::vector<std::string> source_lines(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const auto end = bytes.find_first_of("\r\n");
    lines.push_back(printable(bytes.substr(0, end), Lines::Keep));
    if (end == bytes.npos) {
      break;
    }
    bytes.remove_prefix(bytes.substr(end).starts_with("\r\n") ? end + 2
                                                              : end + 1);
  }
  return lines;
}

}  // namespace hangdbg
