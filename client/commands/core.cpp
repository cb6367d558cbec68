#include "client/commands/core.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "base/text.h"
#include "client/options/options.h"
#include "client/views/dump/json.h"
#include "client/views/dump/options.h"
#include "client/views/dump/text.h"
#include "inspector/cpython/stacks/core_target.h"
#include "inspector/snapshot/process_dump.h"
#include "tracee/elf/core_file.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

struct CoreOptions {
  CommonOptions common;
  std::string file;
  CoreFile::Options where;
  ShownOptions shown;
};

int run(const CoreOptions& options);
Status show(const CoreOptions& options);
std::optional<DumpedEnd> end_of(const CoreNotes& notes);
void warn(const CoreFile& core, const Palette& err);

}  // namespace

void add_core(cli::Command program) {
  const auto options = std::make_shared<CoreOptions>();
  const cli::Command command =
      program.add_command("core", "Show stacks from a core file");
  command
      .add_option("FILE", options->file,
                  "Core file; may be compressed by gzip or zstd")
      .bare();
  command
      .add_option("EXE", options->where.program,
                  "Its executable, if that has moved")
      .bare();
  command
      .add_option("--sysroot", options->where.sysroot,
                  "Find its executable and libraries below DIR")
      .type_name("DIR");
  add_shown_options(command, options->shown);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg core core.79655\n"
      "  hangdbg core core.79655.zst --locals --native\n"
      "  hangdbg core core.79655 --sysroot /srv/images/train-1.4");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const CoreOptions& options) {
  const Status shown = show(options);
  if (shown) {
    return 0;
  }
  if (options.common.json) {
    print_json(dumps_json({dump_json(0, shown.error())}));
    return exit_code(shown.error().id);
  }
  return report(shown.error(), Palette(options.common.colour, stderr));
}

Status show(const CoreOptions& options) {
  TRY(options.common.configure_log());
  if (options.file.empty()) {
    return fail(ErrorId::Usage, "missing argument: FILE",
                "hangdbg core --help");
  }
  const DumpOptions how = TRY(options.shown.dump_options());
  DumpStyle style = TRY(options.shown.style());
  style.sysroot = options.where.sysroot.empty() ? "/" : options.where.sysroot;
  const CoreFile core = TRY(CoreFile::open(options.file, options.where));
  warn(core, Palette(options.common.colour, stderr));
  const auto target = TRY(CoreTarget::open(core));
  ProcessDump dump = TRY(dump_process(*target, how));
  dump.end = end_of(core.notes);
  if (options.common.json) {
    print_json(dumps_json({dump_json(dump)}));
  } else {
    print_now(stdout,
              dump_text(dump, style, Palette(options.common.colour, stdout)));
  }
  return {};
}

// Of gcore's file there is none: the process lived on. Signals that make the
// kernel write a core file: signal(7).
std::optional<DumpedEnd> end_of(const CoreNotes& notes) {
  constexpr std::array kFatal = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                 SIGFPE,  SIGSEGV, SIGSYS,  SIGXCPU, SIGXFSZ};
  if (!notes.signal ||
      std::ranges::find(kFatal, notes.signal->number) == kFatal.end()) {
    return {};
  }
  return DumpedEnd{.signal = signal_name(notes.signal->number),
                   .tid = notes.threads.front().tid,
                   .address = notes.signal->address,
                   .sender = notes.signal->sender};
}

void warn(const CoreFile& core, const Palette& err) {
  if (core.missing > 0) {
    say(stderr, "{} {}\n", err.red("hangdbg:"),
        fmt::format("{} is truncated: {} MiB of memory are missing",
                    printable(core.path),
                    (core.missing + (1 << 20) - 1) >> 20));
  }
  if (!core.unknown.empty()) {
    say(stderr,
        "{} {}\n"
        "  try: --sysroot DIR\n",
        err.red("hangdbg:"),
        fmt::format(
            "{}{} not found, or changed: names of C functions may be missing",
            printable(core.unknown.front()),
            core.unknown.size() > 1
                ? fmt::format(" and {} more files are", core.unknown.size() - 1)
                : " is"));
  }
}

}  // namespace
}  // namespace hangdbg
