// Makes a report fit to be given away: what is secret in any process of this
// machine is "***" in all of it, wherever it appears.
//
// What is a secret, base/secrets.h says by a variable's or option's name. Here
// its value is looked for in every text: a token from the environment may be in
// another process's command line, in a local variable, or in a path.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "protocol/json.h"

namespace hangdbg {

class Masking {
 public:
  // What the environments and command lines of all processes here hide, as far
  // as we may read them; of `watched` also the variables as they are now.
  void learn(const std::vector<int>& watched, Deadline deadline);
  // Whether it could be read, ever.
  bool knows(int pid) const { return known_.contains(pid); }
  // One of them.
  void learn_variable(std::string_view name, std::string_view value);
  void learn_words(const std::vector<std::string>& words);

  std::string text(std::string_view bytes) const;
  // In all its strings.
  Json json(const Json& value) const;

 private:
  void learn_hidden(std::string_view plain, std::string_view masked);
  void add(std::string_view secret);
  void add_form(std::string form, std::string instead);
  void replace(std::string_view bytes, std::string& out) const;

  // As a text may have it, and what it has instead.
  std::map<std::string, std::string> forms_;
  std::string starts_;  // how they begin
  std::set<int> known_;
};

}  // namespace hangdbg
