// cmd:'HOSTS WORD...': any other launcher. "{host}" in the words is the host,
// "{command}" the command as one word for a shell; without that, the words
// "sh",
// "-c" and the script follow. With "{hosts}" one process carries all: it gets
// the folded list, and labels each line with its host.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

bool has(const std::vector<std::string>& words, std::string_view what) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word.find(what) != std::string::npos;
  });
}

void replace_all(std::string& word,
                 std::string_view what,
                 const std::string& by) {
  for (auto at = word.find(what); at != std::string::npos;
       at = word.find(what, at + by.size())) {
    word.replace(at, what.size(), by);
  }
}

class Template : public Launcher {
 public:
  Template(std::vector<std::string> nodes, std::vector<std::string> words)
      : Launcher(std::move(nodes)), words_(std::move(words)) {}

  bool one_for_all() const override { return has(words_, "{hosts}"); }

  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    std::vector<std::string> all = words_;
    for (std::string& word : all) {
      replace_all(word, "{hosts}", fold_hosts(nodes));
      replace_all(word, "{host}", nodes.front());
      replace_all(word, "{command}", as_one_word(script));
    }
    if (!has(words_, "{command}")) {
      all.insert(all.end(), {"sh", "-c", script});
    }
    return all;
  }
  // It inherits ours: whether that gets through is up to it.
  std::vector<std::string> terminal_words(
      const std::string& node,
      const std::string& script) const override {
    return one_for_all() ? std::vector<std::string>() : words({node}, script);
  }

 private:
  std::vector<std::string> words_;
};

// As sh takes words apart, without its expansions; none, where a quote is open.
std::optional<std::vector<std::string>> quoted_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      word = word.value_or("");
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (word) {
        words.push_back(*std::exchange(word, std::nullopt));
      }
    } else {
      word = word.value_or("") + c;
    }
  }
  if (word) {
    words.push_back(*std::move(word));
  }
  return quote != 0 ? std::nullopt : std::optional(std::move(words));
}

}  // namespace

MadeLauncher make_template(std::string_view text) {
  auto words = quoted_words(text);
  if (!words || words->size() < 2 ||
      !(has(*words, "{host}") || has(*words, "{hosts}"))) {
    return fail(ErrorId::Usage,
                "cmd: takes the hosts, and the words of a command with {host}",
                "--via \"cmd:n[1-8] rsh {host} {command}\"");
  }
  auto hosts = TRY(parse_hosts(words->front()));
  words->erase(words->begin());
  return std::make_unique<Template>(std::move(hosts), *std::move(words));
}

}  // namespace hangdbg
