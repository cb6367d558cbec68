#include "client/nodes/hints.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::array<std::string_view, 14> kAsked = {
    "ps",  "dump",  "diagnose", "dist", "eval", "peek",   "threads",
    "net", "locks", "fds",      "tree", "host", "around", "attach"};

// What a command is about; Nobody: nothing that --via can query.
enum class About { Nobody, Process, Job };

About about(std::string_view command) {
  const auto words = split_words(command);
  if (words.size() < 3 || words[0] != "hangdbg" ||
      std::ranges::find(kAsked, words[1]) == kAsked.end()) {
    return About::Nobody;
  }
  if (std::ranges::find(words, "--job") != words.end()) {
    return words[1] == "attach" ? About::Nobody : About::Job;
  }
  const bool pid = std::ranges::any_of(words, [](std::string_view word) {
    return parse_number<int>(word).has_value();
  });
  return pid ? About::Process : About::Nobody;
}

}  // namespace

std::string via_of_node(const std::string& how, const std::string& node) {
  const std::string launcher = how.substr(0, how.find(':'));
  const bool takes_hosts = launcher == "ssh" || launcher == "pdsh" ||
                           launcher == "clush" || launcher == "docker";
  return takes_hosts ? launcher + ":" + node : how;
}

std::string hints_via(const std::string& text,
                      const std::string& how,
                      const std::string& node) {
  constexpr std::string_view kTry = "try: ";
  std::string done;
  bool first = true;
  for (const std::string_view line : split(text, '\n')) {
    done += first ? "" : "\n";
    first = false;
    const auto begin = line.find(kTry) + kTry.size();
    const bool hint = trim(line).starts_with(kTry);
    const auto end =
        hint ? std::min(line.find("  ", begin), line.size()) : line.size();
    const About whom =
        hint ? about(line.substr(begin, end - begin)) : About::Nobody;
    done += line.substr(0, end);
    if (whom != About::Nobody) {
      done += " --via " +
              shell_quote(whom == About::Job ? how : via_of_node(how, node));
    }
    done += line.substr(end);
  }
  return done;
}

}  // namespace hangdbg
