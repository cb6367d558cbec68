#include "client/commands/merge.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/nodes/merged_tree.h"
#include "client/options/options.h"
#include "client/ranks/dump_file.h"
#include "client/terminal/render.h"
#include "client/views/dump/gathered.h"
#include "client/views/dump/picture_file.h"

namespace hangdbg {
namespace {

struct MergeOptions {
  CommonOptions common;
  std::vector<std::string> files;
  std::string job;
  bool full_filenames = false;
  PictureOptions picture;
};

int run(const MergeOptions& options);
Result<int> merge(const MergeOptions& options);

}  // namespace

void add_merge(cli::Command program) {
  const auto options = std::make_shared<MergeOptions>();
  const cli::Command command = program.add_command(
      "merge", "Merge the dumps of several machines into one tree");
  command
      .add_option("FILE", options->files,
                  "Files written by `dump --json`; -: standard input")
      .required()
      .bare();
  command
      .add_option("--job", options->job,
                  "Show this job, if the files contain several")
      .type_name("NAME");
  command.add_flag("--full-filenames", options->full_filenames,
                   "Show paths in full");
  add_picture_options(command, options->picture);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  srun --overlap --jobid 4711 \\\n"
      "      sh -c 'hangdbg dump --all --json > trace-$(hostname).json'\n"
      "  hangdbg merge trace-*.json --html hang.html\n"
      "\n"
      "Shows outlier ranks first, then what is missing.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const MergeOptions& options) {
  const auto code = merge(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

// 1 if a file could not be read.
Result<int> merge(const MergeOptions& options) {
  TRY(options.common.configure_log());
  TRY(options.picture.check(options.common.json));
  GatheredDumps gathered("these files");
  // A node that has failed has left an empty file, or half of one.
  for (const std::string& path : options.files) {
    if (const auto processes = read_dump_file(path)) {
      gathered.add(*processes);
    } else {
      gathered.miss(path, processes.error());
    }
  }
  if (gathered.empty()) {
    return fail(
        ErrorId::Usage,
        gathered.findings().empty()
            ? fmt::format("no process in {}", printable(options.files.front()))
            : fmt::format("nothing to merge: {}", gathered.findings().front()),
        "hangdbg dump --all --json > FILE");
  }
  return show_merged_tree(TRY(gathered.merge(options.job)),
                          {.common = options.common,
                           .picture = options.picture,
                           .full_filenames = options.full_filenames});
}

}  // namespace
}  // namespace hangdbg
