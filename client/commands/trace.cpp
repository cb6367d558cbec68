#include "client/commands/trace.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/path_error.h"
#include "client/nodes/each_node.h"
#include "client/options/default_target.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/terminal/typed.h"
#include "client/views/trace/json.h"
#include "client/views/trace/session.h"
#include "client/views/trace/summary.h"
#include "client/views/trace/text.h"
#include "injector/checks/preflight.h"
#include "inspector/snapshot/python_places.h"
#include "tracee/access/process_state.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

struct TraceOptions {
  CommonOptions common;
  ViaOption via;
  TargetOption target;
  JobOptions job;
  bool children = false;
  std::vector<std::string> calls;
  bool summary = false;
  std::string file;
  int python = 0;
  std::size_t bytes = 32;
  std::optional<std::size_t> count;
  std::optional<double> lasts_s;
  TextOptions text;
};

int run(const TraceOptions& options);
Result<int> trace(const TraceOptions& options);
Result<RecorderOptions> recorder_options(const TraceOptions& options);
Status check_target(int pid);
Result<Fd> open_file(const std::string& path);
std::unique_ptr<TraceView> make_view(const TraceOptions& options,
                                     TraceOutput& output);
void say_begin(int pid);

}  // namespace

void add_trace(cli::Command program) {
  const auto options = std::make_shared<TraceOptions>();
  const cli::Command command = program.add_command(
      "trace", "Trace system calls, with the Python line that makes each");
  add_pid_option(command, options->target);
  add_job_options(command, options->job);
  command.add_flag("-f,--follow", options->children,
                   "Trace child processes, too");
  command
      .add_option("-e", options->calls,
                  "Trace only these calls, by name or class; !: all but these")
      .type_name("CALL,...")
      .one_at_a_time();
  command.add_flag("-c,--summary", options->summary,
                   "Print only the number of calls and their time");
  command.add_flag("--python", options->python,
                   "Show the Python line of each call; =N shows N frames");
  command.add_option("-o,--output", options->file, "Write to FILE")
      .type_name("FILE");
  command.add_option("-n,--count", options->count, "Exit after this many calls")
      .type_name("COUNT")
      .in_range(1UL, 1'000'000'000'000UL);
  command.add_option("--for", options->lasts_s, "Exit after this time")
      .type_name("SECONDS")
      .in_range(0.001, 1e9);
  command
      .add_option("-s", options->bytes,
                  "Show this many bytes of data read and written (default 32)")
      .type_name("SIZE")
      .in_range(0UL, 1UL << 20);
  command.add_flag("-t", options->text.time,
                   "Show the time of day of each call");
  command.add_flag("--full-filenames", options->text.full_filenames,
                   "Show paths of Python files in full");
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg trace 79655\n"
      "  hangdbg trace 79655 --python -e '!futex'\n"
      "  hangdbg trace 79655 -c --for 5\n"
      "  hangdbg trace 79655 -f -e file,network -o trace.txt\n"
      "\n"
      "Traces all threads of the process, which need not be Python. A call is "
      "printed when it has returned, with its duration; a long one also while "
      "it lasts.\n"
      "\n"
      "Slows the process down, like strace. It continues as before when "
      "hangdbg exits or is killed.\n"
      "\n"
      "Classes of calls: file, desc, network, process, memory, signal, ipc.\n"
      "\n"
      "Without a PID: the only hung process.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const TraceOptions& options) {
  const auto code = trace(options);
  if (!code && code.error().errno_value == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

// Each node's answer comes when it is whole.
Result<int> trace_on_nodes(const TraceOptions& options) {
  if (!options.lasts_s) {
    return fail(ErrorId::Usage, "--via needs --for: nodes answer at its end",
                typed_with("--for", "5"));
  }
  if (!options.file.empty()) {
    return fail(ErrorId::Usage, "--via writes no file", "--via ... > FILE");
  }
  if (options.common.json && !options.summary) {
    return fail(ErrorId::Usage, "--json with --via needs --summary",
                typed_plus("--summary"));
  }
  CommonOptions common = options.common;
  common.timeout_s += *options.lasts_s;
  return show_each_node(options.via, common);
}

Result<int> trace(const TraceOptions& options) {
  TRY(options.common.configure_log());
  if (options.via.given()) {
    return trace_on_nodes(options);
  }
  const RecorderOptions recording = TRY(recorder_options(options));
  const Deadline deadline = options.common.deadline();
  const int pid =
      TRY(chosen_process(options.target, options.job, "trace", deadline));
  TRY(check_target(pid));
  const Fd file = TRY(open_file(options.file));
  TraceOutput output(file ? file.get() : STDOUT_FILENO);
  const auto view = make_view(options, output);
  Recorder recorder(*view, recording, stop_trace);
  TraceSession session{
      .pid = pid, .children = options.children, .attach_by = deadline};
  if (options.python > 0) {
    session.prepare = [&]() -> Status {
      recorder.add_python(pid, TRY(PythonPlaces::open(pid)));
      return {};
    };
  }
  session.on_attached = [&] {
    if (!file) {
      say_begin(pid);
    }
  };
  if (options.lasts_s) {
    session.lasts =
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::duration<double>(*options.lasts_s));
  }
  const TraceEnd end = TRY(run_trace(session, recorder, *view, output));
  if (output.left_out() > 0) {
    say(stderr,
        "{} lines dropped: output was not read fast enough; -o FILE keeps "
        "all\n",
        output.left_out());
  }
  return end == TraceEnd::Interrupted ? exit_code(ErrorId::Interrupted) : 0;
}

Result<RecorderOptions> recorder_options(const TraceOptions& options) {
  constexpr int kMostFrames = 1000;
  RecorderOptions chosen;
  chosen.most_bytes = options.bytes;
  chosen.count = options.count;
  if (options.python < 0 || options.python > kMostFrames) {
    return fail(ErrorId::Usage,
                fmt::format("--python takes 1 to {} frames", kMostFrames),
                "hangdbg trace --help");
  }
  chosen.python_frames = static_cast<std::size_t>(options.python);
  std::optional<CallSet> calls;
  for (const std::string& text : options.calls) {
    const CallSet some = TRY(CallSet::parse(text));
    calls ? calls->add(some) : static_cast<void>(calls = some);
  }
  chosen.calls = calls.value_or(CallSet::all());
  return chosen;
}

// A process that is stopped, or in state D, can be traced: nothing happens
// until it resumes.
Status check_target(int pid) {
  if (pid == ::getpid()) {
    return fail(ErrorId::Usage, fmt::format("{} is hangdbg itself", pid),
                "hangdbg ps");
  }
  TRY(check_readable(pid));
  TRY(check_frozen(pid));
  return check_tracer(pid, TRY(read_status(pid)));
}

Result<Fd> open_file(const std::string& path) {
  if (path.empty()) {
    return Fd();
  }
  constexpr mode_t kMode = 0666;
  Fd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!file) {
    return cannot_write(path, errno);
  }
  return file;
}

std::unique_ptr<TraceView> make_view(const TraceOptions& options,
                                     TraceOutput& output) {
  if (options.summary) {
    return std::make_unique<TraceSummary>(output, options.common.json);
  }
  if (options.common.json) {
    return std::make_unique<TraceJson>(output);
  }
  const bool to_file = !options.file.empty();
  const ColourChoice colour =
      to_file && options.common.colour == ColourChoice::Auto
          ? ColourChoice::Never
          : options.common.colour;
  return std::make_unique<TraceText>(output, Palette(colour, stdout),
                                     options.text);
}

// At a terminal, where it may be long before the first call.
void say_begin(int pid) {
  if (::isatty(STDOUT_FILENO) == 1) {
    const auto threads = list_tasks(pid);
    const std::size_t count = threads ? threads->size() : 0;
    say(stderr, "tracing process {}, {} thread{} · Ctrl-C stops\n", pid, count,
        count == 1 ? "" : "s");
  }
}

}  // namespace
}  // namespace hangdbg
