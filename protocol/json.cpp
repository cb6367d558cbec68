// The one file that reads the JSON library's header.
#include "protocol/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "protocol/json_strings.h"

namespace hangdbg {
namespace {

using Value = nlohmann::ordered_json;

// No message of ours comes near these. The library dumps and copies nested
// values by recursion and finds members by walking along them, so that a
// deep text would overflow the stack and a crowded object take for ever.
constexpr int kDepthLimit = 100;
constexpr int kMembersLimit = 4096;

// Error: BadMessage, if the text is nested or crowded beyond the limits. Reads
// brackets, colons and strings only: whether it is JSON, the parser will tell.
Status check_shape(std::string_view text) {
  std::vector<int> members;  // of each object and array that is open
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      members.push_back(0);
    } else if ((c == '}' || c == ']') && !members.empty()) {
      members.pop_back();
    } else if (c == ':' && !members.empty()) {
      ++members.back();
    }
    if (members.size() > kDepthLimit) {
      return fail(ErrorId::BadMessage,
                  fmt::format("JSON is nested deeper than {} levels at byte {}",
                              kDepthLimit, i));
    }
    if (!members.empty() && members.back() > kMembersLimit) {
      return fail(ErrorId::BadMessage,
                  fmt::format("JSON object has more than {} members at byte {}",
                              kMembersLimit, i));
    }
  }
  return {};
}

// The code unit of a "\uXXXX" at `at`, or -1.
int escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text.substr(at, 2) != "\\u") {
    return -1;
  }
  return parse_number<int>(text.substr(at + 2, 4), 16).value_or(-1);
}

bool is_high_surrogate(int unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low_surrogate(int unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// With "\ufffd" for each lone surrogate: JavaScript and Python write them, the
// library refuses them.
std::string without_lone_surrogates(std::string_view text) {
  std::string mended;
  mended.reserve(text.size());
  std::size_t i = 0;
  while (i < text.size()) {
    const int unit = escaped_unit(text, i);
    std::size_t length = 1;
    if (is_high_surrogate(unit) &&
        is_low_surrogate(escaped_unit(text, i + 6))) {
      length = 12;
    } else if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
      mended += "\\ufffd";
      i += 6;
      continue;
    } else if (text[i] == '\\') {
      length = 2;  // so that in "\\ud800" nothing is taken for a surrogate
    }
    mended += text.substr(i, length);
    i += length;
  }
  return mended;
}

// JSON lets DEL and U+0080 to U+009F be, which a terminal obeys all the same.
// Of valid UTF-8.
std::string escape_other_controls(std::string text) {
  const auto may_begin_one = [](char byte) {
    return byte == '\x7f' || byte == '\xc2';
  };
  if (std::ranges::none_of(text, may_begin_one)) {
    return text;
  }
  std::string escaped;
  for (auto at = text.begin(); at != text.end();) {
    const auto next = std::find_if(at, text.end(), may_begin_one);
    escaped.append(at, next);
    at = next;
    if (at == text.end()) {
      break;
    }
    const auto end = at + (*at == '\x7f' ? 1 : 2);
    if (const auto code = static_cast<unsigned char>(end[-1]); code < 0xA0) {
      escaped += fmt::format("\\u{:04x}", code);
    } else {
      escaped.append(at, end);
    }
    at = end;
  }
  return escaped;
}

Result<Value> parse_strictly(std::string_view text) {
  try {
    return Value::parse(text);
  } catch (const Value::parse_error& error) {
    return fail(ErrorId::BadMessage,
                fmt::format("not JSON at byte {}", error.byte));
  } catch (const Value::exception&) {
    return fail(ErrorId::BadMessage, "JSON holds a number beyond any limit");
  }
}

// It is nested no deeper than check_shape lets it be.
void change_strings(Value& node,
                    std::string_view before,
                    std::vector<std::string_view>& members,
                    const ChangeString& change) {
  if (auto* const text = node.get_ptr<std::string*>()) {
    *text = change({before, members}, *text);
  } else if (node.is_object()) {
    for (auto& [key, member] : node.get_ref<Value::object_t&>()) {
      members.push_back(key);
      change_strings(member, "", members, change);
      members.pop_back();
    }
  } else if (node.is_array()) {
    std::string last;
    for (Value& element : node) {
      std::string own = element.is_string() ? element.get<std::string>() : "";
      change_strings(element, last, members, change);
      last = std::move(own);
    }
  }
}

}  // namespace

Json::Json(Value&& value)
    : value_(std::make_shared<const Value>(std::move(value))) {}

Result<Json> Json::parse(std::string_view text) {
  TRY(check_shape(text));
  Result<Value> value = parse_strictly(text);
  if (!value) {
    value = parse_strictly(without_lone_surrogates(to_utf8(text)));
  }
  return Json(TRY(std::move(value)));
}

std::string Json::dump(int indent) const {
  return escape_other_controls(
      value().dump(indent, ' ', false, Value::error_handler_t::replace));
}

bool Json::is_null() const {
  return value().is_null();
}

const Value& Json::value() const {
  static const Value null;
  return value_ ? *value_ : null;
}

Json with_strings(const Json& json, const ChangeString& change) {
  Value changed = json.value();
  std::vector<std::string_view> members;
  change_strings(changed, "", members, change);
  return Json(std::move(changed));
}

Json detail::encode_with(void (*write)(Encoder&, const void*),
                         const void* value) {
  Value root;
  Encoder encoder(root);
  write(encoder, value);
  return Json(std::move(root));
}

void Encoder::write(bool value) {
  *node_ = value;
}

void Encoder::write(double value) {
  *node_ = value;
}

void Encoder::write(std::string_view value) {
  *node_ = value;
}

void Encoder::write(const Json& value) {
  *node_ = value.value();
}

void Encoder::write_integer(std::int64_t value) {
  *node_ = value;
}

void Encoder::write_integer(std::uint64_t value) {
  *node_ = value;
}

void Encoder::become_object() {
  *node_ = Value::object();
}

void Encoder::become_array() {
  *node_ = Value::array();
}

Encoder Encoder::child(std::string_view key) {
  return Encoder((*node_)[std::string(key)]);
}

Encoder Encoder::append() {
  return Encoder(node_->emplace_back());
}

void Decoder::constant(std::string_view key, std::string_view value) {
  const Decoder member = child(key);
  std::string found;
  member.read(found);
  if (found != value) {
    member.complain(fmt::format("expected \"{}\"", value));
  }
}

void Decoder::read(bool& value) const {
  if (node_ == nullptr || !node_->is_boolean()) {
    return complain("expected true or false");
  }
  value = node_->get<bool>();
}

void Decoder::read(double& value) const {
  if (node_ == nullptr || !node_->is_number()) {
    return complain("expected a number");
  }
  value = node_->get<double>();
}

void Decoder::read(std::string& value) const {
  if (node_ == nullptr || !node_->is_string()) {
    return complain("expected a string");
  }
  value = node_->get_ref<const std::string&>();
}

void Decoder::read(LooseText& value) const {
  if (node_ != nullptr && node_->is_number_integer()) {
    value.text = node_->dump();
  } else if (node_ != nullptr && node_->is_string()) {
    read(value.text);
  } else {
    complain("expected text or a whole number");
  }
}

void Decoder::read(Json& value) const {
  if (node_ == nullptr) {
    return complain("expected a value");
  }
  value = Json(Value(*node_));
}

bool Decoder::is_null() const {
  return node_ == nullptr || node_->is_null();
}

std::int64_t Decoder::read_integer() const {
  if (node_ == nullptr || !node_->is_number()) {
    complain("expected a number");
    return 0;
  }
  if (!node_->is_number_integer()) {
    complain("expected a whole number");
    return 0;
  }
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  if (node_->is_number_unsigned() && node_->get<std::uint64_t>() > kLargest) {
    complain("number out of range");
    return 0;
  }
  return node_->get<std::int64_t>();
}

bool Decoder::expect_object() const {
  const bool null_root = parent_ == nullptr && is_null();
  if (null_root || (node_ != nullptr && node_->is_object())) {
    return true;
  }
  complain("expected an object");
  return false;
}

std::size_t Decoder::expect_array() const {
  if (node_ == nullptr || !node_->is_array()) {
    complain("expected an array");
    return 0;
  }
  return node_->size();
}

std::vector<std::string> Decoder::expect_keys() const {
  std::vector<std::string> keys;
  if (expect_object()) {
    for (const auto& member : node_->items()) {
      keys.push_back(member.key());
    }
  }
  return keys;
}

Decoder Decoder::child(std::string_view key) const {
  const Value* found = nullptr;
  if (node_ != nullptr && node_->is_object()) {
    if (const auto member = node_->find(key); member != node_->end()) {
      found = &*member;
    }
  }
  return {found, *this, key, 0};
}

Decoder Decoder::element(std::size_t index) const {
  return {&(*node_)[index], *this, {}, index};
}

void Decoder::complain(std::string_view what) const {
  if (problem_->empty()) {
    *problem_ = fmt::format("{} at {}", node_ ? what : "missing value", path());
  }
}

std::string Decoder::path() const {
  if (parent_ == nullptr) {
    return std::string(key_);
  }
  if (key_.empty()) {
    return fmt::format("{}[{}]", parent_->path(), index_);
  }
  return fmt::format("{}.{}", parent_->path(), key_);
}

}  // namespace hangdbg
