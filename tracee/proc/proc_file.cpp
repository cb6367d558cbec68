#include "tracee/proc/proc_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>

#include "base/fd.h"
#include "base/text.h"

namespace hangdbg {
namespace {

std::string path_of(int pid, const std::string& name) {
  return fmt::format("/proc/{}/{}", pid, name);
}

enum class Pieces { One, Many };

// A piece that does not fill our buffer is whole.
Result<std::string> read_pieces(int pid,
                                const std::string& name,
                                Pieces pieces) {
  const Fd file(::open(path_of(pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return cannot_read_proc(pid, name);
  }
  std::string text;
  std::array<char, 16384> chunk;
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return cannot_read_proc(pid, name);
    }
    const auto size = static_cast<std::size_t>(got);
    text.append(chunk.data(), size);
    if (got == 0 || (pieces == Pieces::One && size < chunk.size())) {
      return text;
    }
  }
}

}  // namespace

Result<std::string> read_proc_file(int pid, const std::string& name) {
  return read_pieces(pid, name, Pieces::Many);
}

Result<std::string> read_proc_record(int pid, const std::string& name) {
  return read_pieces(pid, name, Pieces::One);
}

std::vector<std::string> read_command_line(int pid) {
  std::string text = read_proc_file(pid, "cmdline").value_or("");
  while (text.ends_with('\0')) {
    text.pop_back();  // more than one where the program has written over it
  }
  std::vector<std::string> words;
  if (!text.empty()) {
    for (const std::string_view word : split(text, '\0')) {
      words.emplace_back(word);
    }
  }
  return words;
}

Result<std::string> read_proc_link(int pid, const std::string& name) {
  std::array<char, 4096> target;
  const ssize_t got =
      ::readlink(path_of(pid, name).c_str(), target.data(), target.size());
  if (got < 0) {
    return cannot_read_proc(pid, name);
  }
  return std::string(target.data(), static_cast<std::size_t>(got));
}

Result<Folder> open_proc_folder(int pid, const std::string& name) {
  Folder folder = open_folder(path_of(pid, name));
  if (!folder) {
    return cannot_read_proc(pid, name);
  }
  return folder;
}

std::unexpected<Error> cannot_read_proc(int pid, const std::string& name) {
  switch (errno) {
    case ENOENT:
    case ESRCH:
      if (name.starts_with("task/") &&
          ::access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0) {
        return fail(ErrorId::NoSuchThread,
                    fmt::format("a thread of process {} has ended", pid));
      }
      return fail(ErrorId::NoSuchProcess, fmt::format("no process {}", pid),
                  "hangdbg ps");
    case EACCES:
    case EPERM:
      return fail_errno("cannot read " + path_of(pid, name),
                        ErrorId::NotPermitted);
    default:
      return fail_errno("cannot read " + path_of(pid, name));
  }
}

}  // namespace hangdbg
