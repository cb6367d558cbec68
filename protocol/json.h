// JSON to typed structs and back.
//
// A struct names its members once, in a function that both directions walk:
//
//   struct Thread {
//     std::int64_t id = 0;
//     std::string name;
//     template <class V>
//     void fields(V& v) {
//       v("id", id);
//       v("name", name);
//     }
//   };
//
//   std::string text = encode(thread).dump();
//   Result<Thread> back = decode<Thread>(TRY(Json::parse(text)));
//
// A member may be a bool, a whole number (read: below 2^63), a double, a
// std::string, a LooseText, a Json, a struct with fields(), or an optional,
// vector or string-keyed map of those. An empty optional (and a null Json) is
// left out; null reads as empty. Nothing here throws, and the JSON library's
// header is read by json.cpp alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// A JSON value of any shape; null at first. Immutable, cheap to copy.
class Json {
 public:
  Json() = default;
  explicit Json(nlohmann::ordered_json&& value);

  // Bad UTF-8 and lone surrogates are replaced by U+FFFD, not refused.
  // Error: BadMessage, with the byte at which the text stops being JSON, or
  // that it is nested or crowded beyond what any message of ours is.
  static Result<Json> parse(std::string_view text);

  // On one line, or indented by `indent` spaces a level; members keep their
  // order. Always valid UTF-8.
  std::string dump(int indent = -1) const;

  bool is_null() const;
  const nlohmann::ordered_json& value() const;

 private:
  std::shared_ptr<const nlohmann::ordered_json> value_;
};

// Text that people also write as a whole number: 79655 and "79655" are the
// same.
struct LooseText {
  std::string text;
};

template <class T>
Json encode(const T& value);

// Error: BadMessage, such as "missing value at (root).arguments.threadId" or
// "expected a number at (root).body.stackFrames[3].line". `where` is what the
// path begins with. A null decodes as a struct without members would.
template <class T>
Result<T> decode(const Json& json, std::string_view where = "(root)");

class Encoder;

template <class T>
concept Record = requires(T value, Encoder& encoder) {
  value.fields(encoder);
};

// Fills one JSON value.
class Encoder {
 public:
  explicit Encoder(nlohmann::ordered_json& node) : node_(&node) {}

  template <class T>
  void operator()(std::string_view key, const T& member) {
    child(key).write(member);
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& member) {
    if (member) {
      child(key).write(*member);
    }
  }
  void operator()(std::string_view key, const Json& member) {
    if (!member.is_null()) {
      child(key).write(member);
    }
  }

  // An empty optional is written as null, not left out.
  template <class T>
  void nullable(std::string_view key, const std::optional<T>& member) {
    child(key).write(member);
  }

  // A member that always has this value ("type": "request").
  void constant(std::string_view key, std::string_view value) {
    child(key).write(value);
  }

  void write(bool value);
  void write(double value);
  void write(std::string_view value);
  void write(const Json& value);
  void write(std::signed_integral auto value) {
    write_integer(std::int64_t{value});
  }
  void write(std::unsigned_integral auto value) {
    write_integer(std::uint64_t{value});
  }
  // A literal or a std::string; a plain pointer would rather become a bool.
  void write(const char* value) { write(std::string_view(value)); }
  void write(const std::string& value) { write(std::string_view(value)); }
  void write(const LooseText& value) { write(value.text); }

  template <Record T>
  void write(const T& value) {
    become_object();
    // fields() is written once for both directions and so cannot be const;
    // with an Encoder it only reads.
    const_cast<T&>(value).fields(*this);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    become_array();
    for (const T& value : values) {
      append().write(value);
    }
  }
  // null if empty.
  template <class T>
  void write(const std::optional<T>& value) {
    value ? write(*value) : write(Json());
  }
  template <class T>
  void write(const std::map<std::string, T>& values) {
    become_object();
    for (const auto& [key, value] : values) {
      child(key).write(value);
    }
  }

 private:
  void write_integer(std::int64_t value);
  void write_integer(std::uint64_t value);
  void become_object();
  void become_array();
  Encoder child(std::string_view key);
  Encoder append();

  nlohmann::ordered_json* node_;
};

// Reads one JSON value; remembers the first thing that is wrong, with its path.
class Decoder {
 public:
  // `where` and `problem` outlive the decoder; `problem` is empty while all
  // is well.
  Decoder(const Json& json, std::string_view where, std::string& problem)
      : node_(&json.value()), key_(where), problem_(&problem) {}

  template <class T>
  void operator()(std::string_view key, T& member) {
    child(key).read(member);
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& member) {
    child(key).read(member);
  }
  void operator()(std::string_view key, Json& member) {
    if (const Decoder found = child(key); !found.is_null()) {
      found.read(member);
    }
  }
  template <class T>
  void nullable(std::string_view key, std::optional<T>& member) {
    (*this)(key, member);
  }
  void constant(std::string_view key, std::string_view value);

  void read(bool& value) const;
  void read(double& value) const;
  void read(std::string& value) const;
  void read(LooseText& value) const;
  void read(Json& value) const;

  template <std::integral T>
  void read(T& value) const {
    const std::int64_t wide = read_integer();
    if (std::in_range<T>(wide)) {
      value = static_cast<T>(wide);
    } else {
      complain("number out of range");
    }
  }
  template <Record T>
  void read(T& value) const {
    if (expect_object()) {
      Decoder members = *this;
      value.fields(members);
    }
  }
  template <class T>
  void read(std::vector<T>& values) const {
    const std::size_t count = expect_array();
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      element(i).read(values.emplace_back());
    }
  }
  template <class T>
  void read(std::optional<T>& value) const {
    if (!is_null()) {
      read(value.emplace());
    }
  }
  template <class T>
  void read(std::map<std::string, T>& values) const {
    for (const std::string& key : expect_keys()) {
      child(key).read(values[key]);
    }
  }

 private:
  Decoder(const nlohmann::ordered_json* node,
          const Decoder& parent,
          std::string_view key,
          std::size_t index)
      : node_(node),
        parent_(&parent),
        key_(key),
        index_(index),
        problem_(parent.problem_) {}

  bool is_null() const;  // or missing
  std::int64_t read_integer() const;
  bool expect_object() const;
  std::size_t expect_array() const;
  std::vector<std::string> expect_keys() const;
  Decoder child(std::string_view key) const;
  Decoder element(std::size_t index) const;
  void complain(std::string_view what) const;
  std::string path() const;

  const nlohmann::ordered_json* node_;  // null: missing
  const Decoder* parent_ = nullptr;
  std::string_view key_;  // empty for an element of an array
  std::size_t index_ = 0;
  std::string* problem_;
};

namespace detail {
Json encode_with(void (*write)(Encoder&, const void*), const void* value);
}

template <class T>
Json encode(const T& value) {
  return detail::encode_with(
      [](Encoder& encoder, const void* erased) {
        encoder.write(*static_cast<const T*>(erased));
      },
      &value);
}

template <class T>
Result<T> decode(const Json& json, std::string_view where) {
  T value{};
  std::string problem;
  Decoder(json, where, problem).read(value);
  if (!problem.empty()) {
    return fail(ErrorId::BadMessage, std::move(problem));
  }
  return value;
}

}  // namespace hangdbg
