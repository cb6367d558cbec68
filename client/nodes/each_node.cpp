#include "client/nodes/each_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "client/nodes/hints.h"
#include "client/terminal/render.h"
#include "inspector/ranks/rank_set.h"
#include "nodes/hosts/host_list.h"
#include "protocol/json.h"
#include "protocol/reports/error.h"
#include "protocol/reports/nodes.h"

namespace hangdbg {
namespace {

using Nodes = std::vector<std::string>;

// "[n1:0,1] text", as a question to ranks is answered.
struct RankLine {
  std::string ranks, text;
};

std::optional<RankLine> rank_line(std::string_view line) {
  const auto end = line.find("] ");
  if (!line.starts_with('[') || end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view inside = line.substr(1, end - 1);
  const auto colon = inside.rfind(':');
  const std::string_view ranks =
      colon == std::string_view::npos ? "" : inside.substr(colon + 1);
  if (ranks.empty() ||
      ranks.find_first_not_of("0123456789,-.") != std::string_view::npos) {
    return std::nullopt;
  }
  return RankLine{std::string(ranks), std::string(line.substr(end + 2))};
}

// "" where any line is none of those.
std::string only_ranks(const std::string& text, std::string& rest) {
  std::string ranks;
  for (const std::string_view line : split(trim(text), '\n')) {
    const auto one = rank_line(line);
    if (!one || (!ranks.empty() && ranks != one->ranks)) {
      return {};
    }
    ranks = one->ranks;
    rest += one->text + "\n";
  }
  return ranks;
}

// Each text with the nodes that have said it.
struct SaidText {
  std::string text;
  Nodes nodes;
  std::string ranks;  // where each has answered for ranks of its own
};

std::vector<SaidText> folded(
    const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<SaidText> all;
  for (const auto& [node, text] : texts) {
    std::string rest;
    const std::string ranks = only_ranks(text, rest);
    const std::string& key = ranks.empty() ? text : rest;
    auto known = std::ranges::find_if(all, [&](const SaidText& one) {
      return one.text == key && one.ranks.empty() == ranks.empty();
    });
    if (known == all.end()) {
      known = all.insert(known, {key, {}, {}});
    }
    known->nodes.push_back(node);
    if (!ranks.empty()) {
      known->ranks += (known->ranks.empty() ? "" : ",") + ranks;
    }
  }
  return all;
}

// "0-7" of "0,1,2-7".
std::string short_ranks(const std::string& ranks) {
  const auto all = RankChoice::parse(ranks);
  return all && all->named() != nullptr ? all->named()->text(12) : ranks;
}

void print_folded(
    std::FILE* stream,
    ColourChoice colour,
    const std::vector<std::pair<std::string, std::string>>& texts) {
  const Palette palette(colour, stream);
  for (const auto& [text, nodes, ranks] : folded(texts)) {
    const std::string prefix =
        palette.bold(fmt::format("[{}{}{}]", fold_hosts(nodes),
                                 ranks.empty() ? "" : ":", short_ranks(ranks)));
    std::string_view left = text;
    while (left.starts_with('\n')) {
      left.remove_prefix(1);
    }
    while (left.ends_with('\n')) {
      left.remove_suffix(1);
    }
    for (const std::string_view line : split(left, '\n')) {
      print_now(stream, fmt::format("{} {}\n", prefix, foreign(line)));
    }
  }
}

struct Shown {
  std::vector<NodeText> texts;
  std::vector<int> codes;
  std::vector<reports::NodeReport> reports;
};

reports::NodeReport report_of(const NodeAnswer& answer) {
  reports::NodeReport one{
      .node = answer.node, .host = answer.host, .exit_code = answer.code};
  if (auto json = Json::parse(answer.out)) {
    one.answer = *std::move(json);
  } else {
    one.error = reports::ReportedError{
        .type = error_name(ErrorId::BadMessage),
        .message = "its answer is no JSON: " + json.error().text()};
  }
  return one;
}

Result<int> show_nodes(const ViaOption& via, const CommonOptions& common) {
  TRY(common.configure_log());
  Shown shown;
  const AskedNodes asked = TRY(
      gather_from_nodes(via, common, words_for_nodes(), [&](NodeAnswer answer) {
        shown.codes.push_back(answer.code);
        if (common.json) {
          shown.reports.push_back(report_of(answer));
        } else {
          shown.texts.push_back({answer.node,
                                 hints_via(answer.out, via.how, answer.node),
                                 hints_via(answer.err, via.how, answer.node)});
        }
      }));
  const Palette err(common.colour, stderr);
  if (!common.json) {
    print_node_texts(std::move(shown.texts), common);
    report_failed(asked.failed, err);
    return code_of_nodes(asked, shown.codes);
  }
  for (const auto& [node, why] : asked.failed) {
    shown.reports.push_back(
        {.node = node,
         .error = reports::ReportedError{.type = error_name(why.id),
                                         .message = why.text()}});
  }
  std::ranges::sort(shown.reports, {}, &reports::NodeReport::node);
  print_json(encode(reports::NodeReports{std::move(shown.reports)}));
  return code_of_nodes(asked, shown.codes);
}

}  // namespace

int show_each_node(const ViaOption& via, const CommonOptions& common) {
  const auto code = show_nodes(via, common);
  return code ? *code : report(code.error(), Palette(common.colour, stderr));
}

// As they came; sorted by name, so that two runs look alike.
void print_node_texts(std::vector<NodeText> texts,
                      const CommonOptions& common) {
  std::ranges::sort(texts, [](const NodeText& one, const NodeText& other) {
    return std::pair(one.node.size(), one.node) <
           std::pair(other.node.size(), other.node);
  });
  std::vector<std::pair<std::string, std::string>> out, err;
  for (NodeText& text : texts) {
    if (!trim(text.out).empty()) {
      out.emplace_back(text.node, std::move(text.out));
    }
    if (!trim(text.err).empty()) {
      err.emplace_back(text.node, std::move(text.err));
    }
  }
  print_folded(stdout, common.colour, out);
  print_folded(stderr, common.colour, err);
}

cli::Run run_via(const ViaOption& via,
                 const CommonOptions& common,
                 std::function<int()> here) {
  return [&via, &common, here = std::move(here)] {
    return via.given() ? show_each_node(via, common) : here();
  };
}

}  // namespace hangdbg
