// A thread that a file system blocks: in uninterruptible sleep, or until a FUSE
// server answers.
#include <fmt/core.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/holders.h"
#include "tracee/proc/mounts.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"
#include "tracee/syscalls/syscall_text.h"

namespace hangdbg::causes {
namespace {

// The file that the call is about: of its descriptor or of its path. Nothing
// of a thread in state D is read but what /proc has for everybody.
std::string path_of(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  const std::string& name = thread.wait.syscall;
  if (call.running || name.empty()) {
    return "";
  }
  const bool at = name.ends_with("at") || name == "statx" ||
                  name == "faccessat2" || name == "openat2";
  const bool by_path = at || name == "open" || name == "stat" ||
                       name == "lstat" || name == "access" || name == "chdir" ||
                       name == "unlink" || name == "mkdir" ||
                       name == "rename" || name == "readlink" ||
                       name == "statfs";
  if (!by_path) {
    const auto file = of.file(static_cast<int>(call.args[0]));
    return file && (file->kind == FileKind::File) ? file->name : "";
  }
  if (thread.wait.state == 'D') {
    return "";
  }
  const auto text =
      of.memory().read_string(Address{call.args[at ? 1 : 0]}, 4096);
  if (!text || text->empty() || text->front() == '/') {
    return text.value_or("");
  }
  return read_proc_link(of.pid, "cwd").value_or("") + "/" + *text;
}

// A second sample of a thread that has not slept for long: a heavy writer is in
// state D most of the time. None for other threads.
std::optional<WaitSample> a_moment_later(const ProcessSnapshot& of,
                                         const ThreadSnapshot& thread) {
  constexpr auto kMoment = std::chrono::milliseconds(50);
  constexpr double kLong = 1;  // seconds
  if (thread.wait.asleep_s >= kLong || of.system.deadline().expired()) {
    return std::nullopt;
  }
  std::this_thread::sleep_for(kMoment);
  auto later = sample_wait(of.pid, thread.id.tid);
  return later ? std::optional(*std::move(later)) : std::nullopt;
}

// The FUSE mount of a thread whose file cannot be read: the only one, if there
// is just one.
std::optional<Mount> only_fuse_mount(int pid) {
  const auto mounts = read_mounts(pid);
  std::optional<Mount> only;
  for (const Mount& one : mounts ? *mounts : std::vector<Mount>()) {
    if (one.type.starts_with("fuse") && one.type != "fusectl") {
      if (only) {
        return {};
      }
      only = one;
    }
  }
  return only;
}

// Finds the server of a FUSE file system: the process that has the device open.
// Of several, the one whose command names the mount point, as sshfs's does.
void find_server(const ProcessSnapshot& of, const Mount& on, Cause& cause) {
  auto servers = who_has_device("/dev/fuse");
  std::erase_if(servers, [&](ThreadId id) { return id.pid == of.pid; });
  if (servers.size() > 1) {
    std::erase_if(servers, [&](ThreadId id) {
      const auto words = read_command_line(id.pid);
      return std::ranges::find(words, on.point) == words.end();
    });
  }
  if (servers.size() != 1) {
    return;
  }
  const int pid = servers[0].pid;
  cause.evidence.push_back(
      fmt::format("{} has /dev/fuse open: it answers for such file systems",
                  process_text(pid)));
  cause.next.insert(cause.next.begin(),
                    {fmt::format("hangdbg diagnose {}", pid),
                     "why that one does not answer"});
  cause.blocked_by = std::move(servers);
  cause.blocks_others = true;
}

}  // namespace

Found mount(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto wchan =
      read_proc_record(of.pid, fmt::format("task/{}/wchan", thread.id.tid));
  const std::string in = wchan.value_or("");
  const bool fuse =
      in.starts_with("request_wait_answer") || in.starts_with("fuse_");
  if (thread.wait.state != 'D' && !fuse) {
    return std::nullopt;
  }
  const auto later = a_moment_later(of, thread);
  if (thread.ran || (later && later->runs != thread.wait.runs)) {
    return Cause{
        .id = CauseId::Runs,
        .progress = Progress::Running,
        .confidence = Confidence::Likely,
        .summary = fmt::format(
            "works, and waits for the disk in between, at {}", thread.place()),
        .evidence = {"in uninterruptible sleep, and has run since"}};
  }
  const std::string path = path_of(of, thread);
  const auto on = !path.empty() ? mount_of(of.pid, path)
                  : fuse        ? only_fuse_mount(of.pid)
                                : std::nullopt;
  Cause cause{.id = CauseId::Mount,
              .progress = Progress::Blocked,
              .confidence = fuse ? Confidence::Certain : Confidence::Likely,
              .waited_s = later ? later->asleep_s : thread.wait.asleep_s};
  cause.summary = fmt::format(
      "waits for {} in {}{}",
      fuse ? "a FUSE server, which does not answer,"
           : "the kernel, in uninterruptible sleep,",
      thread.wait.syscall.empty() ? "a page fault" : thread.wait.syscall,
      path.empty() ? "" : " of " + printable(path));
  if (on) {
    cause.summary +=
        fmt::format(" on {} ({})", printable(on->point), printable(on->type));
    cause.evidence.push_back(
        fmt::format("{} is mounted from {}, type {}", printable(on->point),
                    printable(on->source), printable(on->type)));
    cause.next.push_back(
        {fmt::format("umount -l {}", shell_quote(printable(on->point))),
         "once nobody needs it: others do not run into it then"});
  }
  cause.evidence.push_back(fmt::format("state {}, in the kernel's {}",
                                       thread.wait.state,
                                       in.empty() || in == "0" ? "?" : in));
  if (on && on->type.starts_with("fuse")) {
    find_server(of, *on, cause);
  }
  cause.next.push_back({fmt::format("cat /proc/{}/stack", thread.id.tid),
                        "where in the kernel, as root"});
  return cause;
}

}  // namespace hangdbg::causes
