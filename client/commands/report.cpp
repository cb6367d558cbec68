#include "client/commands/report.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/path_error.h"
#include "base/text.h"
#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/options/via_option.h"
#include "client/report/archive.h"
#include "client/report/document.h"
#include "client/report/from_nodes.h"
#include "client/report/gather.h"
#include "client/report/masking.h"
#include "client/report/private_file.h"
#include "client/report/readme.h"
#include "client/terminal/typed.h"
#include "injector/checks/preflight.h"
#include "protocol/json.h"
#include "protocol/version.h"

namespace hangdbg {
namespace {

using namespace std::chrono_literals;

constexpr double kTimeoutS = 120;
constexpr auto kToLearn = 2s;  // what is secret

struct ReportOptions {
  CommonOptions common{.timeout_s = kTimeoutS};
  ViaOption via;
  bool to_stdout = false;  // for another machine's --via
  PidsOption named;
  JobOptions job;
  std::string file;
  bool force = false;
  bool locals = false;
};

int run(const ReportOptions& options);
Result<int> write_report(const ReportOptions& options);
Result<int> write_files(const ReportOptions& options,
                        const std::string& path,
                        const std::vector<ArchivedFile>& files,
                        const std::vector<reports::ReportMissing>& missing,
                        std::time_t now);
Result<int> write_nodes(const ReportOptions& options);
Result<ReportedProcesses> meant(const ReportOptions& options,
                                Deadline deadline);
ReportedProcesses all_of(ChosenRanks chosen);
Status check_path(const std::string& path, bool force);
Result<Gathered> gather_shown(const ReportOptions& options,
                              const ReportedProcesses& whose,
                              Deadline deadline);
reports::ReportDocument document_of(const ReportedProcesses& whose,
                                    const Gathered& gathered,
                                    std::time_t now);
void mask(reports::ReportDocument& document,
          Gathered& gathered,
          const Masking& masking);
std::vector<ArchivedFile> files_of(const reports::ReportDocument& document,
                                   const Gathered& gathered,
                                   bool locals,
                                   const std::string& folder);
void show(const ReportOptions& options, const reports::WrittenReport& written);
std::string utc(std::time_t time, const char* format);
std::string human_size(std::int64_t bytes);

// The part that is being made, on a terminal.
class Progress {
 public:
  explicit Progress(const ReportOptions& options)
      : shown_(::isatty(STDERR_FILENO) != 0),
        err_(options.common.colour, stderr) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(std::string_view name, std::size_t number, std::size_t count) const {
    if (shown_) {
      print_now(stderr, err_.dim(fmt::format("\r\x1b[K{} of {}: {} ...", number,
                                             count, name)));
    }
  }
  void clear() const {
    if (shown_) {
      print_now(stderr, "\r\x1b[K");
    }
  }

 private:
  bool shown_;
  Palette err_;
};

}  // namespace

void add_report(cli::Command program) {
  const auto options = std::make_shared<ReportOptions>();
  const cli::Command command = program.add_command(
      "report", "Collect a diagnostic archive for a bug report");
  add_pids_option(command, options->named);
  add_job_options(command, options->job);
  command
      .add_option("-o,--output", options->file,
                  "Write to FILE (default hangdbg-report-PID-DATE.tar.gz)")
      .type_name("FILE");
  command.add_flag("--force", options->force, "Replace FILE if it exists");
  command.add_flag("--locals", options->locals,
                   "Include local variables, which may contain secrets");
  command.add_flag("--to-stdout", options->to_stdout).hidden();
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.option("--timeout")
      .description(fmt::format("Give up after this many seconds (default {})",
                               kTimeoutS));
  command.footer(
      "Examples:\n"
      "  hangdbg report 79655\n"
      "  hangdbg report --job auto -o hang.tar.gz\n"
      "  hangdbg report --job auto --via ssh:node[01-16]\n"
      "\n"
      "Writes a .tar.gz with text, JSON and SVG: the diagnosis, all stacks "
      "with C functions, open files, and a log of what hangdbg did. Passwords, "
      "tokens and keys in variables and arguments are masked as ***.\n"
      "\n"
      "Runs no code in any process. If a part fails or takes too long, the "
      "archive says so, and contains the others.\n"
      "\n"
      "Without a PID: the only job here, or else the only hung process.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const ReportOptions& options) {
  const auto code = write_report(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

// 1 if a part is missing.
Result<int> write_report(const ReportOptions& options) {
  TRY(options.common.configure_log());
  if (options.via.given()) {
    return write_nodes(options);
  }
  const Deadline deadline = options.common.deadline();
  const ReportedProcesses whose = TRY(meant(options, deadline));
  const std::time_t now = std::time(nullptr);
  const std::string folder = fmt::format("hangdbg-report-{}-{}",
                                         whose.job && whose.job->launcher
                                             ? *whose.job->launcher
                                             : whose.processes.front().pid,
                                         utc(now, "%Y%m%d-%H%M%S"));
  const std::string path =
      options.file.empty() ? folder + ".tar.gz" : options.file;
  if (!options.to_stdout) {
    TRY(check_path(path, options.force));
  }

  std::vector<int> pids;
  for (const JobRank& process : whose.processes) {
    pids.push_back(process.pid);
  }
  // Before and after: a process that ends meanwhile takes its secrets along,
  // and a new one brings some.
  Masking masking;
  masking.learn(pids, deadline.capped(kToLearn));
  Gathered gathered = TRY(gather_shown(options, whose, deadline));
  if (gathered.texts.empty() && gathered.documents.empty()) {
    return fail(ErrorId::TimedOut,
                gathered.missing.empty()
                    ? "nothing to report"
                    : fmt::format("nothing to report: {}",
                                  printable(gathered.missing.front().why)),
                "hangdbg doctor " + fmt::format("{}", pids.front()));
  }
  masking.learn(pids, Deadline::in(kToLearn));
  for (const int pid : pids) {
    if (!masking.knows(pid)) {
      gathered.missing.push_back({"masking", pid,
                                  "environment variables could not be read: "
                                  "secrets in them may not be masked"});
    }
  }
  reports::ReportDocument document = document_of(whose, gathered, now);
  mask(document, gathered, masking);
  const auto files = files_of(document, gathered, options.locals, folder);
  if (options.to_stdout) {
    print_now(stdout, TRY(pack(files, now)));
    return document.missing.empty() ? 0 : 1;
  }
  return write_files(options, path, files, document.missing, now);
}

Result<int> write_files(const ReportOptions& options,
                        const std::string& path,
                        const std::vector<ArchivedFile>& files,
                        const std::vector<reports::ReportMissing>& missing,
                        std::time_t now) {
  const std::string bytes = TRY(pack(files, now));
  TRY(write_private(path, bytes, options.force));
  reports::WrittenReport written{
      .path = path,
      .bytes = static_cast<std::int64_t>(bytes.size()),
      .missing = missing};
  for (const ArchivedFile& file : files) {
    written.files.push_back(
        {file.name, static_cast<std::int64_t>(file.text.size())});
  }
  show(options, written);
  return missing.empty() ? 0 : 1;
}

Result<int> write_nodes(const ReportOptions& options) {
  const std::time_t now = std::time(nullptr);
  const std::string folder = "hangdbg-report-" + utc(now, "%Y%m%d-%H%M%S");
  const std::string path =
      options.file.empty() ? folder + ".tar.gz" : options.file;
  TRY(check_path(path, options.force));
  const ReportsOfNodes all =
      TRY(reports_from_nodes(options.via, options.common, folder));
  return write_files(options, path, all.files, all.missing, now);
}

Result<ReportedProcesses> meant(const ReportOptions& options,
                                Deadline deadline) {
  auto chosen = TRY(processes_or_job(TRY(named_pids(options.named)),
                                     options.job, "report", deadline));
  if (chosen.ranks) {
    return all_of(*std::move(chosen.ranks));
  }
  ReportedProcesses whose;
  for (const int pid : chosen.pids) {
    whose.processes.push_back({.pid = pid});
  }
  for (const JobRank& process : whose.processes) {
    TRY(check_readable(process.pid));
  }
  return whose;
}

ReportedProcesses all_of(ChosenRanks chosen) {
  return {.processes = std::move(chosen.ranks), .job = std::move(chosen.job)};
}

// Before the work, which is not to be done in vain.
Status check_path(const std::string& path, bool force) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::exists(status) && (!force || !fs::is_regular_file(status))) {
    return fail(
        ErrorId::Usage, fmt::format("{} already exists", printable(path)),
        fs::is_regular_file(status) ? "--force, or -o FILE" : "-o FILE");
  }
  const fs::path folder = fs::path(path).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    return cannot_write(path, errno);
  }
  return {};
}

Result<Gathered> gather_shown(const ReportOptions& options,
                              const ReportedProcesses& whose,
                              Deadline deadline) {
  const Progress progress(options);
  return gather(
      whose, report_parts(options.locals), deadline,
      [&](const ReportPart& part, std::size_t number, std::size_t count) {
        progress.say(part.name, number, count);
      });
}

reports::ReportDocument document_of(const ReportedProcesses& whose,
                                    const Gathered& gathered,
                                    std::time_t now) {
  reports::ReportDocument document{.made = utc(now, "%Y-%m-%dT%H:%M:%SZ"),
                                   .hangdbg = version(),
                                   .machine = this_machine()};
  if (whose.job) {
    document.job = {.id = to_utf8(whose.job->id), .kind = whose.job->kind};
    document.job->world_size = whose.job->world_size;
  }
  for (const JobRank& process : whose.processes) {
    document.processes.push_back({.pid = process.pid});
    if (whose.job) {
      document.processes.back().rank = process.rank;
    }
  }
  for (const GatheredJson& one : gathered.documents) {
    document.parts.push_back({one.part, one.pid, one.json});
  }
  for (const MissingPart& one : gathered.missing) {
    document.missing.push_back({one.part, one.pid, to_utf8(one.why)});
  }
  return document;
}

void mask(reports::ReportDocument& document,
          Gathered& gathered,
          const Masking& masking) {
  // What the target or the machine has said; our own words stay what they are.
  for (std::string* const one :
       {&document.machine.host, &document.machine.kernel,
        &document.machine.system}) {
    *one = masking.text(*one);
  }
  if (document.job) {
    document.job->id = masking.text(document.job->id);
  }
  for (reports::ReportPartJson& one : document.parts) {
    one.json = masking.json(one.json);
  }
  for (reports::ReportMissing& one : document.missing) {
    one.why = masking.text(one.why);
  }
  for (GatheredText& one : gathered.texts) {
    one.text = masking.text(one.text);
    one.command = masking.text(one.command);
  }
  gathered.log = masking.text(gathered.log);
}

std::vector<ArchivedFile> files_of(const reports::ReportDocument& document,
                                   const Gathered& gathered,
                                   bool locals,
                                   const std::string& folder) {
  std::vector<ArchivedFile> files = {
      {"README.md", report_readme(document, gathered, locals)}};
  for (const GatheredText& one : gathered.texts) {
    files.push_back({one.file, one.text});
  }
  files.push_back({std::string(kReportFile), encode(document).dump(1) + "\n"});
  files.push_back({"log.txt", gathered.log});
  for (ArchivedFile& file : files) {
    file.name.insert(0, folder + "/");
  }
  return files;
}

void show(const ReportOptions& options, const reports::WrittenReport& written) {
  if (options.common.json) {
    print_json(encode(written));
    return;
  }
  const Palette out(options.common.colour, stdout);
  const Palette err(options.common.colour, stderr);
  for (const reports::ReportMissing& one : written.missing) {
    print_now(stderr, err.red(fmt::format(
                          "missing: {}{}", one.part,
                          one.pid ? fmt::format(" of {}", *one.pid) : "")) +
                          ": " + printable(one.why) + "\n");
  }
  if (options.locals) {
    print_now(stderr,
              "contains local variables: check dump.txt before you share it\n");
  }
  print_now(stdout,
            fmt::format("{} · {} files, {} · README.md is for the bug report\n",
                        out.bold(printable(written.path)), written.files.size(),
                        human_size(written.bytes)));
}

// `format`: as for strftime(3).
std::string utc(std::time_t time, const char* format) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string human_size(std::int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} kB", (bytes + 999) / 1000)
                           : fmt::format("{:.1f} MB", bytes / 1e6);
}

}  // namespace
}  // namespace hangdbg
