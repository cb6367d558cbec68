#include "diagnosis/waits/pipe_holders.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

// With all that is read of them here.
constexpr std::size_t kMostPipeHolders = 16;

bool has_same(const PipeHolders& all, int asked, int pid, int fd) {
  const auto has = [fd](const std::vector<int>& fds) {
    return std::ranges::find(fds, fd) != fds.end();
  };
  return pid == asked ? has(all.own)
                      : std::ranges::any_of(all.others, [&](const auto& one) {
                          return one.pid == pid && has(one.fds);
                        });
}

// A descriptor keeps its number in a fork. A FIFO may be opened again.
int inherited_from(const ProcessSnapshot& of,
                   const ProcessSnapshot& holder,
                   const PipeHolder& its,
                   const PipeHolders& all) {
  const int parent = holder.status.ppid;
  return has_same(all, of.pid, parent, its.fds.front()) &&
                 holder.forked_from(parent)
             ? parent
             : 0;
}

// Whether the value leads to no connection.
bool is_plain(const ProcessSnapshot& of, Address object) {
  const auto type = of.objects().type_of(object);
  if (!type) {
    return false;
  }
  switch ((*type)->kind) {
    case Kind::None:
    case Kind::Bool:
    case Kind::Int:
    case Kind::Float:
    case Kind::Str:
    case Kind::Bytes:
      return true;
    default:
      return false;
  }
}

// By the arguments of Process.run()'s target: a function, and plain values.
bool not_passed(const ProcessSnapshot& holder) {
  if (!holder.is_python()) {
    return false;
  }
  const auto threads = holder.python_threads();
  const PythonFrame* const run =
      threads.size() == 1
          ? threads.front()->find("run", "/multiprocessing/process.py")
          : nullptr;
  const auto target =
      run != nullptr ? holder.object(*run, "self._target") : std::nullopt;
  const auto type =
      target ? holder.objects().type_of(*target) : std::unexpected(Error());
  if (!type || (*type)->kind != Kind::Function ||
      holder.shown(*run, "self._kwargs") != "{}") {
    return false;
  }
  constexpr int kMostArguments = 16;
  for (int i = 0; i < kMostArguments; ++i) {
    const auto one = holder.object(*run, fmt::format("self._args[{}]", i));
    if (!one) {
      return holder.object(*run, "self._args").has_value();
    }
    if (!is_plain(holder, *one)) {
      return false;
    }
  }
  return false;
}

bool reads_it(const ProcessSnapshot& of, const OpenFile& pipe) {
  if (of.threads.size() != 1) {
    return false;
  }
  const AwaitedFiles awaited = awaited_files(of, of.threads.front());
  return awaited.files.size() == 1 && awaited.files[0].to_read &&
         !awaited.with_time && awaited.files[0].file.is_pipe() &&
         awaited.files[0].file.inode == pipe.inode &&
         awaited.files[0].file.device == pipe.device;
}

}  // namespace

std::vector<ThreadId> PipeHolders::mains() const {
  std::vector<ThreadId> ids;
  for (const PipeHolder& one : others) {
    ids.push_back({one.pid, one.pid});
  }
  return ids;
}

PipeHolders pipe_holders(const ProcessSnapshot& of,
                         const OpenFile& pipe,
                         bool writers) {
  PipeHolders found;
  for (const PipeEnd& end : of.system.pipe_ends(pipe.inode, pipe.device)) {
    if (!(writers ? end.writes : end.reads)) {
      continue;
    }
    if (end.pid == of.pid) {
      found.own.push_back(end.fd);
      continue;
    }
    auto holder = std::ranges::find(found.others, end.pid, &PipeHolder::pid);
    if (holder == found.others.end()) {
      found.others.push_back({.pid = end.pid});
      holder = std::prev(found.others.end());
    }
    holder->fds.push_back(end.fd);
  }
  std::vector<int> pids;
  for (const PipeHolder& one : found.others) {
    if (pids.size() < kMostPipeHolders) {
      pids.push_back(one.pid);
    }
  }
  of.system.take_snapshots(pids);
  for (PipeHolder& one : found.others) {
    const ProcessSnapshot* const its =
        std::ranges::find(pids, one.pid) != pids.end()
            ? of.system.snapshot(one.pid)
            : nullptr;
    if (its == nullptr || its->threads.size() != 1) {
      found.all_single = false;
    }
    if (its != nullptr) {
      if (pipe.kind == FileKind::Pipe) {
        one.inherited_from = inherited_from(of, *its, one, found);
      }
      one.not_passed = one.inherited_from != 0 && not_passed(*its);
    }
  }
  return found;
}

std::string describe_holder(SystemSnapshot& system,
                            const PipeHolder& holder,
                            bool writes) {
  std::string text =
      fmt::format("{} has the {} end open as fd {}", process_text(holder.pid),
                  writes ? "write" : "read", fmt::join(holder.fds, ", "));
  if (holder.inherited_from != 0) {
    text += fmt::format(", inherited from process {} by fork",
                        holder.inherited_from);
  }
  const ProcessSnapshot* const its = system.snapshot(holder.pid);
  const ThreadSnapshot* const main =
      its != nullptr ? its->thread(holder.pid) : nullptr;
  if (main == nullptr) {
    return text;
  }
  text += its->threads.size() == 1 ? ": " : ": its main thread is ";
  text += describe(main->wait);
  if (!main->frames().empty()) {
    text += " at " + main->place();
  }
  return text;
}

bool all_read_it(const ProcessSnapshot& of,
                 const OpenFile& pipe,
                 const PipeHolders& writers) {
  return writers.others.size() <= kMostPipeHolders && reads_it(of, pipe) &&
         std::ranges::all_of(writers.others, [&](const PipeHolder& one) {
           const ProcessSnapshot* const its = of.system.snapshot(one.pid);
           return its != nullptr && reads_it(*its, pipe);
         });
}

bool is_descendant(SystemSnapshot& system, int pid, int of) {
  constexpr int kMostParents = 64;
  const auto& children = system.children();
  for (int i = 0; i < kMostParents && pid > 1; ++i) {
    const auto parent = std::ranges::find(
        children, pid, [](const auto& one) { return one.second; });
    if (parent == children.end()) {
      return false;
    }
    pid = parent->first;
    if (pid == of) {
      return true;
    }
  }
  return false;
}

}  // namespace hangdbg
