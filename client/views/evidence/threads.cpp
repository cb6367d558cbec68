#include "client/views/evidence/threads.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text.h"
#include "client/views/evidence/descriptor.h"
#include "client/views/evidence/lock.h"
#include "protocol/reports/threads.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

reports::ThreadsThread to_json(const SeenThread& from);
std::string headline(const SeenThreads& all, const Palette& out);
std::string thread_text(const SeenThread& thread,
                        const SeenThreads& all,
                        const Palette& out);
std::string call_text(const SeenThread& thread,
                      const std::optional<std::string>& file);
std::string python_text(const SeenThread& thread);
std::string signals_text(const SeenThread& thread, const Palette& out);

}  // namespace

std::string threads_text(const SeenThreads& all, const Palette& out) {
  std::string text = headline(all, out);
  for (const SeenThread& thread : all.threads) {
    text += thread_text(thread, all, out);
  }
  for (const std::string& one : all.skipped) {
    text += out.dim(fmt::format("not seen: {}", printable(one))) + "\n";
  }
  return text;
}

Json threads_json(const SeenThreads& all) {
  reports::Threads json{
      .pid = all.pid,
      .pending = all.pending,
      .unseen_pipes = static_cast<std::int64_t>(all.unseen_pipes),
      .skipped = all.skipped};
  if (!all.python.empty()) {
    json.python = all.python;
  }
  if (all.gil) {
    json.gil = to_json(*all.gil);
  }
  for (const SeenThread& thread : all.threads) {
    json.threads.push_back(to_json(thread));
  }
  return encode(json);
}

namespace {

std::optional<reports::ThreadsPlace> to_json(
    const std::optional<CodePlace>& from) {
  return from ? std::optional(reports::ThreadsPlace{from->function, from->file,
                                                    from->line})
              : std::nullopt;
}

reports::ThreadsThread to_json(const SeenThread& from) {
  reports::ThreadsThread json{.tid = from.id.tid,
                              .name = from.name,
                              .comm = from.comm,
                              .state = std::string(1, from.state),
                              .doing = from.doing,
                              .asleep_s = from.asleep_s,
                              .cpu_percent = from.cpu_percent,
                              .cpu_s = from.cpu_s,
                              .last_cpu = from.cpu,
                              .nice = from.nice,
                              .cpus_allowed = from.cpus_allowed,
                              .policy = from.policy,
                              .wchan = from.wchan,
                              .pinned = from.pinned,
                              .python = from.python,
                              .has_gil = from.has_gil,
                              .pending = from.pending,
                              .blocked = from.blocked,
                              .tracer = from.tracer,
                              .place = to_json(from.place),
                              .own = to_json(from.own)};
  if (!from.call.empty()) {
    json.call = {from.call, from.arguments};
  }
  for (const Descriptor& file : from.files) {
    json.files.push_back(to_json(file));
  }
  if (from.lock) {
    json.waits_for = to_json(*from.lock);
  }
  return json;
}

std::string headline(const SeenThreads& all, const Palette& out) {
  std::string title = all.title;
  title[0] = 'P';
  std::string text =
      fmt::format("{} · {} thread{}", printable(title), all.threads.size(),
                  all.threads.size() == 1 ? "" : "s");
  if (!all.python.empty()) {
    text += " · python " + all.python;
  }
  if (all.gil) {
    text += all.gil->owners.empty()
                ? " · GIL held"
                : fmt::format(" · GIL held by {}", all.gil->owners[0].who);
  }
  if (!all.pending.empty()) {
    text += fmt::format(" · pending {}", fmt::join(all.pending, ", "));
  }
  return out.bold(text) + "\n";
}

std::string line(std::string_view label,
                 const std::string& text,
                 const Palette& out) {
  return fmt::format("    {} {}\n", out.dim(fmt::format("{:<8}", label)), text);
}

std::string duration(double seconds) {
  return human_duration(
      std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}

std::string thread_text(const SeenThread& thread,
                        const SeenThreads& all,
                        const Palette& out) {
  std::string head = fmt::format("{}", thread.id.tid);
  if (!thread.name.empty()) {
    head += fmt::format(" \"{}\"", printable(thread.name));
  }
  if (thread.comm != thread.name && !thread.comm.empty()) {
    head += fmt::format(" ({})", printable(thread.comm));
  }
  const bool odd =
      std::string_view("DTtZX").find(thread.state) != std::string_view::npos;
  std::string state = fmt::format("{} {}", thread.state, thread.doing);
  std::string text =
      fmt::format("{} · {} · cpu {}", out.bold(head),
                  odd ? out.red(state) : state, duration(thread.cpu_s));
  if (thread.cpu_percent && *thread.cpu_percent >= 0.5) {
    text += fmt::format(", {:.0f} %", *thread.cpu_percent);
  }
  if (thread.has_gil) {
    text += " · " + out.green("holds the GIL");
  }
  text += "\n";
  const bool one = thread.files.size() == 1;
  const auto file_text = [&](const Descriptor& file) {
    return descriptor_text(file, all.unseen_pipes, out);
  };
  if (!thread.call.empty()) {
    text += line("call",
                 call_text(thread, one ? std::optional(fmt::format(
                                             "{} = {}", thread.files[0].file.fd,
                                             file_text(thread.files[0])))
                                       : std::nullopt),
                 out);
  } else if (!thread.wchan.empty()) {
    text += line("kernel", thread.wchan, out);
  }
  const bool shown =
      one && std::ranges::any_of(thread.arguments, [&](const auto& argument) {
        return argument.starts_with(
            fmt::format("{} (", thread.files[0].file.fd));
      });
  for (const Descriptor& file : thread.files) {
    if (!shown) {
      text += line("file",
                   fmt::format("{} = {}", file.file.fd, file_text(file)), out);
    }
  }
  if (thread.lock) {
    text += line("lock", out.cyan("waits for " + describe(*thread.lock)), out);
  }
  if (thread.place) {
    text += line("python", python_text(thread), out);
  }
  text += signals_text(thread, out);
  if (thread.tracer) {
    const auto status = read_status(*thread.tracer);
    text += line("tracer",
                 out.red(fmt::format("process {} ({})", *thread.tracer,
                                     status ? printable(status->name) : "?")),
                 out);
  }
  if (thread.pinned) {
    text += line("cpus",
                 fmt::format("{}, last on {}", thread.cpus_allowed, thread.cpu),
                 out);
  }
  if (thread.nice != 0 || !thread.policy.empty()) {
    text += line("sched",
                 fmt::format("nice {}{}{}", thread.nice,
                             thread.policy.empty() ? "" : ", ", thread.policy),
                 out);
  }
  return text;
}

// `file`: what its only descriptor is, in the place of its name.
std::string call_text(const SeenThread& thread,
                      const std::optional<std::string>& file) {
  std::string text = thread.call + "(";
  for (const std::string& argument : thread.arguments) {
    const bool is_file = file && argument.starts_with(fmt::format(
                                     "{} (", thread.files.front().file.fd));
    text +=
        fmt::format("{}{}", &argument == thread.arguments.data() ? "" : ", ",
                    is_file ? *file : argument);
  }
  text += ")";
  return thread.wchan.empty() ? text : text + ", in " + thread.wchan;
}

std::string place_words(const CodePlace& place) {
  return fmt::format("{}:{} in {}", printable(short_path(place.file)),
                     place.line, printable(place.function));
}

std::string python_text(const SeenThread& thread) {
  std::string text = place_words(*thread.place);
  if (thread.own && (thread.own->line != thread.place->line ||
                     thread.own->file != thread.place->file)) {
    text += ", from " + place_words(*thread.own);
  }
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMany = 24;
  if (names.size() < kMany) {
    return fmt::format("{}", fmt::join(names, ", "));
  }
  std::string without;
  constexpr std::uint64_t kNever = 1ULL << 8 | 1ULL << 18;  // KILL and STOP
  constexpr std::uint64_t kUsual = (1ULL << 31) - 1;
  for (const std::string& name : signal_names(kUsual & ~kNever)) {
    if (std::ranges::find(names, name) == names.end()) {
      without += fmt::format("{}{}", without.empty() ? " but " : ", ", name);
    }
  }
  return "all" + without;
}

std::string signals_text(const SeenThread& thread, const Palette& out) {
  std::string text;
  if (!thread.pending.empty()) {
    text += out.red("pending " + names_text(thread.pending));
  }
  if (!thread.blocked.empty()) {
    text += fmt::format("{}blocked {}", text.empty() ? "" : " · ",
                        names_text(thread.blocked));
  }
  return text.empty() ? "" : line("signals", text, out);
}

}  // namespace
}  // namespace hangdbg
