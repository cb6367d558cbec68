// An instance of any message's struct, with a value in each member, or in each
// that must be there.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/json.h"

namespace hangdbg {

// Walks a struct's fields() as an Encoder or Decoder does.
class Filler {
 public:
  explicit Filler(bool optionals) : optionals_(optionals) {}

  template <class T>
  void operator()(std::string_view key, T& member) {
    const std::size_t size = path_.size();
    path_.append(".").append(key);
    fill(member);
    path_.resize(size);
  }
  template <class T>
  void nullable(std::string_view key, std::optional<T>& member) {
    (*this)(key, member);
  }

  template <Record T>
  void fill(T& value) {
    value.fields(*this);
  }

 private:
  void fill(bool& value) { value = true; }
  void fill(double& value) { value = 0.5; }
  void fill(std::integral auto& value) { value = 7; }
  void fill(std::string& value) { value = text(); }
  void fill(LooseText& value) { value.text = "7"; }
  void fill(Json& value) {
    if (optionals_ || path_ == ".configuration") {
      value = encode(std::map<std::string, int>{{"any", 7}});
    }
  }

  template <class T>
  void fill(std::optional<T>& value) {
    if (optionals_) {
      fill(value.emplace());
    }
  }
  template <class T>
  void fill(std::vector<T>& values) {
    if (path_.size() < 100) {  // an exception has a list of exceptions
      fill(values.emplace_back());
    }
  }
  template <class T>
  void fill(std::map<std::string, T>& values) {
    fill(values["any"]);
  }

  // Some text; where only certain words will do, one of them.
  std::string text() const {
    static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {".breakpoint.reason", "failed"},
        {".breakpoints.reason", "failed"},
        {".reason", "new"},
        {".presentationHint", "normal"},
        {".breakMode", "always"},
        {".accessType", "write"},
        {".accessTypes", "write"},
        {".startMethod", "attach"},
        {".targets.type", "value"},
        {".request", "attach"},
        {".kind", "integrated"},
        {".filter", "indexed"},
        {".granularity", "line"}};
    for (const auto& [end, word] : kWords) {
      if (path_.ends_with(end)) {
        return std::string(word);
      }
    }
    return "text \u20ac";
  }

  std::string path_;
  bool optionals_;
};

template <class T>
T filled(bool optionals) {
  T value{};
  Filler(optionals).fill(value);
  return value;
}

}  // namespace hangdbg
