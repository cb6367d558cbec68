#include "client/nodes/gather.h"
#include "client/nodes/own_job.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "client/terminal/typed.h"
#include "nodes/hosts/host_list.h"

namespace hangdbg {
namespace {

// One line at a terminal, written anew as answers come.
class ProgressLine {
 public:
  explicit ProgressLine(ColourChoice colour)
      : err_(colour, stderr), shown_(::isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const NodesProgress& now) {
    if (!shown_ || now.all < 2) {
      return;
    }
    std::string text =
        fmt::format("{} of {} nodes have answered", now.answered, now.all);
    if (now.failed > 0) {
      text += fmt::format(", {} failed", now.failed);
    }
    if (now.sending > 0) {
      text += fmt::format(", hangdbg is sent to {}", now.sending);
    }
    if (!now.waiting.empty()) {
      text += ", no word of " + fold_hosts(now.waiting);
    }
    text = text.substr(0, static_cast<std::size_t>(terminal_columns()) - 1);
    if (text != last_) {
      say(stderr, "\r\x1b[K{}", err_.dim(text));
      std::fflush(stderr);
      last_ = text;
    }
  }
  void clear() {
    if (!last_.empty()) {
      say(stderr, "\r\x1b[K");
      std::fflush(stderr);
      last_.clear();
    }
  }

 private:
  Palette err_;
  bool shown_;
  std::string last_;
};

// The first line of it is enough to find out where it comes from.
void tell_noise(const NodeAnswer& answer, const Palette& err) {
  if (!answer.noise.empty()) {
    say(stderr, "{}\n",
        err.dim(fmt::format("{}: {} before its answer: {}", answer.node,
                            answer.noise.size() == 1 ? "a line" : "lines",
                            answer.noise.front())));
  }
}

// Its ranks are others than those of --ranks.
bool has_none_of_ranks(const NodeAnswer& answer) {
  return answer.error == error_name(ErrorId::NoSuchRank);
}

bool is_option(const std::string& word, std::string_view name) {
  return word == name || word.starts_with(std::string(name) + "=");
}

}  // namespace

std::vector<std::string> words_for_nodes() {
  auto words = typed_words_without("--via");
  words.erase(words.begin());
  const auto end = std::ranges::find(words, "--");
  if (std::any_of(words.begin(), end, [](const std::string& word) {
        return is_option(word, "--ranks");
      })) {
    add_option_word(words, "--ranks-elsewhere");
  }
  return words;
}

void remove_option(std::vector<std::string>& words,
                   std::string_view name,
                   bool value) {
  for (auto word = words.begin(); word != words.end() && *word != "--";) {
    if (!is_option(*word, name)) {
      ++word;
    } else if (value && *word == name && word + 1 != words.end()) {
      word = words.erase(word, word + 2);
    } else {
      word = words.erase(word);
    }
  }
}

void add_option_word(std::vector<std::string>& words, std::string word) {
  words.insert(std::ranges::find(words, "--"), std::move(word));
}

Result<AskedNodes> gather_from_nodes(
    const ViaOption& via,
    const CommonOptions& common,
    std::vector<std::string> words,
    const std::function<void(NodeAnswer)>& take,
    const HowToAsk& how) {
  const auto launcher = TRY(chosen_launcher(via, common));
  AskedNodes asked{.count = launcher->nodes().size()};
  std::map<std::string, Error> failed;
  const Palette err(common.colour, stderr);
  ProgressLine line(common.colour);
  TRY(ask_nodes(
      *launcher,
      {.words = std::move(words),
       .typed = typed_words(),
       .time = std::chrono::duration<double>(common.timeout_s),
       .together = how.together},
      [&](NodeAnswer answer) {
        line.clear();
        tell_noise(answer, err);
        if (answer.failed) {
          failed.emplace(answer.node, *std::move(answer.failed));
        } else if (has_none_of_ranks(answer)) {
          ++asked.without_ranks;
        } else {
          take(std::move(answer));
        }
      },
      [&](const NodesProgress& now) { line.show(now); }));
  if (asked.without_ranks == asked.count) {
    return fail(ErrorId::NoSuchRank, "none of these ranks is on these nodes",
                typed_without("--ranks"));
  }
  for (const std::string& node : launcher->nodes()) {
    if (const auto one = failed.find(node); one != failed.end()) {
      asked.failed.push_back({node, one->second});
    }
  }
  return asked;
}

void report_failed(const std::vector<FailedNode>& failed, const Palette& err) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  std::set<std::string> hints;
  for (const auto& [node, why] : failed) {
    // What names the node itself is the same of others.
    std::string text = why.text();
    for (auto at = text.find(node); at != std::string::npos;
         at = text.find(node, at + 1)) {
      text.replace(at, node.size(), "\1");
    }
    auto known = std::ranges::find(
        reasons, text,
        &std::pair<std::string, std::vector<std::string>>::first);
    if (known == reasons.end()) {
      known = reasons.insert(known, {std::move(text), {}});
    }
    known->second.push_back(node);
    if (!why.hint.empty()) {
      hints.insert(why.hint);
    }
  }
  for (auto& [text, nodes] : reasons) {
    for (auto at = text.find('\1'); at != std::string::npos;
         at = text.find('\1')) {
      text.replace(at, 1, nodes.size() == 1 ? nodes.front() : "HOST");
    }
    say(stderr, "hangdbg: {}\n",
        err.red(fmt::format("{}: {}", fold_hosts(nodes), text)));
  }
  for (const std::string& hint : hints) {
    say(stderr, "  try: {}\n", printable(hint));
  }
}

int code_of_nodes(const AskedNodes& asked, const std::vector<int>& codes) {
  if (codes.empty()) {
    return asked.failed.empty() ? 1 : exit_code(asked.failed.front().why.id);
  }
  const bool same = std::ranges::all_of(
      codes, [&](int code) { return code == codes.front(); });
  return !same || (!asked.failed.empty() && codes.front() == 0) ? 1
                                                                : codes.front();
}

}  // namespace hangdbg
