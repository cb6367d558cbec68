#include "client/commands/diff.h"

#include <memory>
#include <string>
#include <vector>

#include "client/options/options.h"
#include "client/views/diff/comparison.h"
#include "client/views/diff/json.h"
#include "client/views/diff/text.h"

namespace hangdbg {
namespace {

struct DiffOptions {
  CommonOptions common;
  std::vector<std::string> files;  // two
};

int run(const DiffOptions& options);
Result<int> diff(const DiffOptions& options);

}  // namespace

void add_diff(cli::Command program) {
  const auto options = std::make_shared<DiffOptions>();
  const cli::Command command = program.add_command(
      "diff",
      "Compare two reports, e.g. of a run that works and one that hangs");
  command
      .add_option(
          "FILE", options->files,
          "Two reports, or files written by `dump --json`; -: standard input")
      .required()
      .expected(2)
      .bare();
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg diff runs.tar.gz hangs.tar.gz\n"
      "  hangdbg dump 79655 --json > now.json; hangdbg diff before.json "
      "now.json\n"
      "\n"
      "Compares diagnoses, the frames at which the stacks of threads diverge, "
      "versions, libraries, environment variables, limits and descriptors. "
      "Ignores PIDs, addresses and times. Ranks are matched by number.\n"
      "\n"
      "Exit status: 0 if nothing differs, 1 if something does, 2 on an error.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const DiffOptions& options) {
  const auto code = diff(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

// As diff(1) has it.
Result<int> diff(const DiffOptions& options) {
  TRY(options.common.configure_log());
  const std::string &first = options.files[0], &second = options.files[1];
  if (first == "-" && second == "-") {
    return fail(ErrorId::Usage, "only one of the files can be standard input",
                "hangdbg diff --help");
  }
  const Side a = TRY(read_side(first));
  const Side b = TRY(read_side(second));
  const Comparison found = compare(a, b);
  if (options.common.json) {
    print_json(comparison_json(a, b, found));
  } else {
    print_now(stdout, comparison_text(a, b, found,
                                      Palette(options.common.colour, stdout)));
  }
  return found.equal() ? 0 : 1;
}

}  // namespace
}  // namespace hangdbg
