#include "server/dap/translation.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "protocol/events/breakpoint.h"
#include "protocol/events/continued.h"
#include "protocol/events/output.h"
#include "protocol/events/stopped.h"
#include "protocol/events/thread.h"
#include "protocol/message.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

// More files than any program has; one that makes names up gets no more.
constexpr std::size_t kMostFiles = 100'000;

// The path below the other root, if it is below `from`.
std::optional<std::string> moved(const std::string& path,
                                 std::string_view from,
                                 std::string_view to) {
  while (from.ends_with('/')) {
    from.remove_suffix(1);
  }
  while (to.ends_with('/')) {
    to.remove_suffix(1);
  }
  if (!path.starts_with(from) ||
      (path.size() > from.size() && path[from.size()] != '/')) {
    return std::nullopt;
  }
  return std::string(to) + path.substr(from.size());
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

template <class Kind>
bool translate_as(dap::Event& event, Translation& translation) {
  if (event.event != Kind::event) {
    return false;
  }
  if (auto body = dap::body_of<Kind>(event)) {
    translation.outward(*body);
    event.body = encode(*body);
  }
  return true;
}

}  // namespace

// A relative root is one of where the program was started.
Translation::Translation(int pid, Editor editor)
    : pid_(pid), editor_(std::move(editor)) {
  for (dap::PathMapping& mapping : editor_.mappings) {
    if (!mapping.remote_root.starts_with('/')) {
      const std::string folder = read_proc_link(pid_, "cwd").value_or("");
      mapping.remote_root =
          (std::filesystem::path(folder) / mapping.remote_root)
              .lexically_normal()
              .string();
    }
  }
}

void Translation::outward_event(dap::Event& event) {
  [[maybe_unused]] const bool known =
      translate_as<dap::Output>(event, *this) ||
      translate_as<dap::Stopped>(event, *this) ||
      translate_as<dap::BreakpointEvent>(event, *this) ||
      translate_as<dap::Continued>(event, *this) ||
      translate_as<dap::ThreadEvent>(event, *this);
}

std::optional<std::string> Translation::path_of(std::int64_t reference) const {
  if (reference < 1 || reference > std::ssize(references_)) {
    return std::nullopt;
  }
  return references_[static_cast<std::size_t>(reference - 1)];
}

std::optional<std::string> Translation::path_of(
    const std::string& shown) const {
  for (const auto& [path, source] : known_) {
    if (source.path == shown) {
      return path;
    }
  }
  return std::nullopt;
}

// A line or column of 0 is an unknown one.
void Translation::number(std::string_view key,
                         std::int64_t& value,
                         bool inward) const {
  constexpr std::array<std::string_view, 2> kLines = {"line", "endLine"};
  constexpr std::array<std::string_view, 2> kColumns = {"column", "endColumn"};
  if (key == "threadId") {
    const auto ids = TaskIds::read(pid_);
    if (!ids) {
      return;
    }
    if (inward) {
      const auto inner = ids->inner(static_cast<int>(value));
      value = inner ? static_cast<std::int64_t>(*inner) : value;
    } else {
      value = ids->outer(static_cast<std::uint64_t>(value))
                  .value_or(static_cast<int>(value));
    }
    return;
  }
  const bool from_0 =
      (!editor_.lines_start_at_1 && std::ranges::count(kLines, key) > 0) ||
      (!editor_.columns_start_at_1 && std::ranges::count(kColumns, key) > 0);
  if (from_0 && inward) {
    ++value;
  } else if (from_0 && value > 0) {
    --value;
  }
}

void Translation::source(dap::Source& source, bool inward) {
  if (!inward) {
    if (source.path) {
      source = for_editor(*source.path);
    }
    return;
  }
  if (const auto path = path_of(source.source_reference.value_or(0))) {
    source.path = *path;
    source.source_reference.reset();
    return;
  }
  for (const auto& [local, remote] : editor_.mappings) {
    if (const auto path =
            source.path ? moved(*source.path, local, remote) : std::nullopt) {
      source.path = *path;
      return;
    }
  }
}

// Modules only ever come from the target.
void Translation::module(dap::Module& module) {
  if (module.path) {
    module.path = for_editor(*module.path).path;
  }
}

dap::Source Translation::for_editor(const std::string& path) {
  if (const auto known = known_.find(path); known != known_.end()) {
    return known->second;
  }
  dap::Source source;
  source.name = name_of(path);
  if (path.starts_with('<')) {  // "<string>", "<frozen importlib._bootstrap>"
    source.name = path;
    source.presentation_hint = "deemphasize";
    return source;
  }
  std::string whole = path;
  if (!path.starts_with('/')) {
    whole = read_proc_link(pid_, "cwd").value_or("") + "/" + path;
  }
  source.path = whole;
  for (const auto& [local, remote] : editor_.mappings) {
    if (const auto mapped = moved(whole, remote, local)) {
      source.path = *mapped;
      known_.emplace(path, source);
      return source;
    }
  }
  struct stat theirs {};
  struct stat ours {};
  const std::string in_root = fmt::format("/proc/{}/root{}", pid_, whole);
  const bool is_here = ::stat(whole.c_str(), &ours) == 0;
  // What is in no file may be in the program's memory (cached_source.h).
  const bool only_there =
      ::stat(in_root.c_str(), &theirs) != 0
          ? !is_here
          : S_ISREG(theirs.st_mode) &&
                (!editor_.mappings.empty() || !is_here ||
                 ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev);
  if (only_there && references_.size() < kMostFiles) {
    references_.push_back(whole);
    source.source_reference = std::ssize(references_);
    source.origin = fmt::format("process {}", pid_);
  }
  if (known_.size() < kMostFiles) {
    known_.emplace(path, source);
  }
  return source;
}

}  // namespace hangdbg
