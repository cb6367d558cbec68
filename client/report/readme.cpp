#include "client/report/readme.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "base/secrets.h"
#include "base/text.h"
#include "client/ranks/dump_file.h"

namespace hangdbg {
namespace {

std::string title_of(const reports::ReportDocument& document);
std::string python_of(const reports::ReportDocument& document);
std::string fenced(std::string_view text);
std::string cell(std::string_view text);

}  // namespace

std::string report_readme(const reports::ReportDocument& document,
                          const Gathered& gathered,
                          bool locals) {
  const reports::ReportMachine& machine = document.machine;
  std::string text = fmt::format("# {}\n\n", title_of(document));
  const auto diagnosis =
      std::ranges::find(gathered.texts, "diagnosis.txt", &GatheredText::file);
  if (diagnosis != gathered.texts.end()) {
    text += fenced(diagnosis->text) + "\n";
  }
  text += fmt::format(
      "| | |\n|---|---|\n"
      "| Python | {} |\n| system | {} |\n| kernel | {} {} |\n| CPUs | {} |\n"
      "| hangdbg | {} |\n| made | {} |\n\n",
      cell(python_of(document)), cell(machine.system), cell(machine.kernel),
      cell(machine.arch), machine.cpus, cell(document.hangdbg),
      cell(document.made));
  text +=
      "| file | contents | command |\n"
      "|---|---|---|\n";
  for (const GatheredText& one : gathered.texts) {
    text += fmt::format("| `{}` | {} | {} |\n", one.file, one.what,
                        cell(printable(one.command)));
  }
  text += fmt::format(
      "| `{}` | everything as JSON; `hangdbg diff` compares two | |\n"
      "| `log.txt` | what hangdbg did | `--log=all:debug` |\n"
      "\n",
      kReportFile);
  if (!document.missing.empty()) {
    text +=
        "Missing or incomplete:\n"
        "\n";
    for (const reports::ReportMissing& one : document.missing) {
      text += fmt::format("- {}{}: {}\n", one.part,
                          one.pid ? fmt::format(" of {}", *one.pid) : "",
                          cell(printable(one.why)));
    }
    text += "\n";
  }
  text += fmt::format(
      "Known secrets are masked as `{}`: recognized by the names of variables "
      "and options, and by their shape.{}\n",
      kMasked,
      locals ? " **Contains local variables, which may hold secrets that were "
               "not recognized.**"
             : "");
  return text;
}

namespace {

std::string title_of(const reports::ReportDocument& document) {
  if (document.job) {
    return fmt::format(
        "hangdbg report: job {} ({}, {} of {} ranks here)",
        cell(printable(document.job->id)), document.job->kind,
        document.processes.size(),
        document.job->world_size.value_or(
            static_cast<std::int64_t>(document.processes.size())));
  }
  std::string pids;
  for (const reports::ReportProcess& process : document.processes) {
    pids += fmt::format("{}{}", pids.empty() ? "" : ", ", process.pid);
  }
  return fmt::format("hangdbg report: process {}", pids);
}

// Each version once.
std::string python_of(const reports::ReportDocument& document) {
  std::string versions;
  const auto dump = decode<reports::DumpedProcesses>(part_of(document, "dump"));
  for (const reports::DumpedProcess& process :
       dump ? dump->processes : std::vector<reports::DumpedProcess>()) {
    const std::string version = process.python.value_or("");
    if (!version.empty() && versions.find(version) == versions.npos) {
      versions += (versions.empty() ? "" : ", ") + version;
    }
  }
  return versions.empty() ? "unknown" : printable(versions);
}

// Whatever is in it: the fence is longer than any in there.
std::string fenced(std::string_view text) {
  std::string fence = "```";
  while (text.find(fence) != text.npos) {
    fence += '`';
  }
  return fmt::format("{}\n{}{}\n", fence, printable(text, Lines::Keep), fence);
}

// What Markdown would read as its own is only text.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\`*_|<>[]#").find(c) != std::string_view::npos) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

}  // namespace
}  // namespace hangdbg
