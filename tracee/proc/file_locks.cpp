#include "tracee/proc/file_locks.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace hangdbg {
namespace {

std::optional<FileLock> parse_file_lock(std::string_view line);

}  // namespace

Result<std::vector<FileLock>> read_file_locks() {
  std::ifstream file("/proc/locks");
  if (!file) {
    return fail_errno("cannot read /proc/locks");
  }
  return parse_file_locks(
      std::string(std::istreambuf_iterator<char>(file), {}));
}

std::vector<FileLock> parse_file_locks(std::string_view text) {
  std::vector<FileLock> locks;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto lock = parse_file_lock(line)) {
      locks.push_back(*lock);
    }
  }
  return locks;
}

namespace {

// "1: -> FLOCK  ADVISORY  WRITE 4242 fe:01:1179650 0 EOF"
std::optional<FileLock> parse_file_lock(std::string_view line) {
  auto words = split_words(line);
  FileLock lock;
  // A waiter of a waiter is indented further: an arrow is a word of its own.
  lock.waits = words.size() > 1 && words[1] == "->";
  if (lock.waits) {
    words.erase(words.begin() + 1);
  }
  if (words.size() < 8 || !words[0].ends_with(':')) {
    return {};
  }
  const auto place = split(words[5], ':');
  const auto number =
      parse_number<std::uint64_t>(words[0].substr(0, words[0].size() - 1));
  const auto pid = parse_number<int>(words[4]);
  if (!number || !pid || place.size() != 3) {
    return {};
  }
  lock.number = *number;
  lock.type = words[1];
  lock.write = words[3] == "WRITE";
  lock.pid = *pid;
  lock.major = parse_number<unsigned>(place[0], 16).value_or(0);
  lock.minor = parse_number<unsigned>(place[1], 16).value_or(0);
  lock.inode = parse_number<std::uint64_t>(place[2]).value_or(0);
  lock.start = parse_number<std::uint64_t>(words[6]).value_or(0);
  lock.end = parse_number<std::uint64_t>(words[7]);
  return lock;
}

}  // namespace
}  // namespace hangdbg
