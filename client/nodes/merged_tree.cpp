#include "client/nodes/merged_tree.h"

#include <utility>

#include "base/text.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "protocol/json.h"
#include "protocol/reports/node_tree.h"

namespace hangdbg {
namespace {

// What the command has written on a node.
Result<reports::NodeTree> said_tree(const NodeAnswer& answer) {
  const auto json = Json::parse(answer.out);
  if (!json) {
    return fail(ErrorId::NodeFailed,
                std::string(trim(answer.err).substr(0, 300)));
  }
  if (const auto none = decode<reports::NoAnswer>(*json)) {
    return fail(ErrorId::NodeFailed, none->error.message);
  }
  return decode<reports::NodeTree>(*json);
}

}  // namespace

Result<int> show_merged_tree(const GatheredDumps::Merged& merged,
                             const MergedTreeOptions& options) {
  const auto& [tree, labels, title, missing, findings, failed] = merged;
  if (options.common.json) {
    print_json(tree_json(tree, labels, missing));
  } else if (!options.picture.to_stdout()) {
    const Palette out(options.common.colour, stdout);
    std::string text;
    for (const std::string& finding : findings) {
      text += out.red(finding) + "\n";
    }
    const DumpStyle style{.full_filenames = options.full_filenames,
                          .sysroot = {}};
    print_now(stdout, text + tree_text(tree, labels, style, out));
  }
  if (options.picture.given()) {
    TRY(draw(options.picture, {.tree = tree,
                               .labels = labels,
                               .title = title,
                               .findings = findings,
                               .full_filenames = options.full_filenames}));
  }
  return failed ? 1 : 0;
}

Result<int> merge_from_nodes(const ViaOption& via,
                             const MergedTreeOptions& options) {
  TRY(options.common.configure_log());
  TRY(options.picture.check(options.common.json));
  auto words = words_for_nodes();
  remove_option(words, "--html", true);
  remove_option(words, "--svg", true);
  remove_option(words, "--json", false);
  remove_option(words, "-j", false);
  add_option_word(words, "--json");
  add_option_word(words, "--to-merge");
  GatheredDumps gathered("these nodes' answers");
  std::vector<FailedNode> without;
  const AskedNodes asked = TRY(gather_from_nodes(
      via, options.common, std::move(words), [&](const NodeAnswer& answer) {
        const auto tree = said_tree(answer);
        const Status added = tree ? gathered.add(*tree, answer.node)
                                  : std::unexpected(tree.error());
        if (!added) {
          without.push_back({answer.node, added.error()});
        }
      }));
  for (const auto* const all : {&asked.failed, &std::as_const(without)}) {
    for (const FailedNode& one : *all) {
      gathered.miss(one.node, one.why);
    }
  }
  if (gathered.empty()) {
    const auto& first = asked.failed.empty() ? without : asked.failed;
    return fail(first.empty() ? ErrorId::NodeFailed : first.front().why.id,
                gathered.findings().empty()
                    ? "no process on these nodes"
                    : "no node has an answer: " + gathered.findings().front(),
                typed_as("ps"));
  }
  return show_merged_tree(TRY(gathered.merge({})), options);
}

}  // namespace hangdbg
