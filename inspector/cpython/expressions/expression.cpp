#include "inspector/cpython/expressions/expression.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxText = 10'000;
constexpr int kMaxDepth = 200;  // of parts in each other

// "!=" before "=", so that the longer one is found first.
constexpr std::pair<std::string_view, Comparing> kSigns[] = {
    {"==", Comparing::Equal},       {"!=", Comparing::NotEqual},
    {"<=", Comparing::LessOrEqual}, {">=", Comparing::GreaterOrEqual},
    {"<", Comparing::Less},         {">", Comparing::Greater},
};

constexpr std::string_view kKeywords[] = {
    "and",    "as",    "assert",   "async",   "await",  "break",  "class",
    "def",    "del",   "elif",     "else",    "except", "for",    "from",
    "global", "if",    "import",   "in",      "is",     "lambda", "nonlocal",
    "not",    "or",    "pass",     "raise",   "return", "try",    "while",
    "with",   "yield", "continue", "finally",
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c & 0x80) != 0;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : all_(text), rest_(text) {}

  Result<Expression> whole() {
    auto expression = TRY(comparison());
    return rest_.empty() ? Result<Expression>(std::move(expression))
                         : not_understood();
  }

 private:
  Result<Expression> comparison();
  Result<Expression> chain();
  Result<Expression> begin();
  Result<Expression> trailer(Expression of);
  Result<Expression> subscript(Expression of);
  Result<std::optional<std::int64_t>> bound();
  Result<Expression> number(bool negative);
  Result<Scalar> quoted(bool is_bytes, bool raw);
  Result<char32_t> escape(std::size_t digits);

  std::optional<Comparing> sign();
  std::string_view word();
  std::string_view next_word() const;
  bool take(std::string_view sign);
  void skip_space();
  std::unexpected<Error> not_understood() const;

  std::string_view all_;
  std::string_view rest_;
  int depth_ = 0;
};

Part part(Expression expression) {
  return std::make_unique<Expression>(std::move(expression));
}

Result<Expression> Parser::comparison() {
  if (++depth_ > kMaxDepth) {
    return not_understood();
  }
  Expression left = TRY(chain());
  if (const auto how = sign()) {
    Expression right = TRY(chain());
    if (sign()) {
      return not_understood();  // a < b < c
    }
    left = {
        ComparisonPart{part(std::move(left)), *how, part(std::move(right))}};
  }
  --depth_;
  return left;
}

Result<Expression> Parser::chain() {
  Expression expression = TRY(begin());
  for (int parts = 0; rest_.starts_with('.') || rest_.starts_with('[');
       ++parts) {
    if (parts > kMaxDepth) {
      return not_understood();
    }
    expression = TRY(trailer(std::move(expression)));
  }
  return expression;
}

Result<Expression> Parser::begin() {
  skip_space();
  if (take("(")) {
    Expression inner = TRY(comparison());
    return take(")") ? Result<Expression>(std::move(inner)) : not_understood();
  }
  if (take("-")) {
    return number(true);
  }
  if (!rest_.empty() && (is_digit(rest_[0]) || rest_[0] == '.')) {
    return number(false);
  }
  const std::string_view name = next_word();
  const std::string_view after = rest_.substr(name.size());
  if (after.starts_with('\'') || after.starts_with('"')) {
    std::string prefix(name);
    std::ranges::transform(prefix, prefix.begin(),
                           [](char c) { return c | 0x20; });
    const bool is_bytes = prefix.find('b') != prefix.npos;
    const bool raw = prefix.find('r') != prefix.npos;
    if (!name.empty() && prefix != "b" && prefix != "r" && prefix != "u" &&
        prefix != "br" && prefix != "rb") {
      return not_understood();
    }
    rest_ = after;
    return Expression{TRY(quoted(is_bytes, raw))};
  }
  if (name.empty() ||
      std::ranges::find(kKeywords, name) != std::end(kKeywords)) {
    return not_understood();
  }
  const Parser before = *this;
  word();
  if (name == "None") {
    return Expression{Scalar()};
  }
  if (name == "True" || name == "False") {
    return Expression{Scalar(name == "True")};
  }
  if (name == "len" && take("(")) {
    Expression of = TRY(comparison());
    if (!take(")")) {
      return not_understood();
    }
    return Expression{LengthPart{part(std::move(of))}};
  }
  if (rest_.starts_with('(')) {
    return before.not_understood();  // a call
  }
  return Expression{NamePart{std::string(name)}};
}

Result<Expression> Parser::trailer(Expression of) {
  if (take("[")) {
    return subscript(std::move(of));
  }
  take(".");
  const std::string_view name = word();
  if (name.empty() || rest_.starts_with('(')) {
    return not_understood();
  }
  return Expression{AttributePart{part(std::move(of)), std::string(name)}};
}

Result<Expression> Parser::subscript(Expression of) {
  const Parser before = *this;
  SlicePart slice;
  slice.start = TRY(bound());
  if (take(":")) {
    slice.stop = TRY(bound());
    if (take(":")) {
      slice.step = TRY(bound());
    }
    if (!take("]") || slice.step == 0) {
      return before.not_understood();
    }
    slice.of = part(std::move(of));
    return Expression{std::move(slice)};
  }
  *this = before;
  Expression index = TRY(comparison());
  if (!take("]")) {
    return not_understood();
  }
  return Expression{ItemPart{part(std::move(of)), part(std::move(index))}};
}

// Of a slice; what is no number is left to the caller.
Result<std::optional<std::int64_t>> Parser::bound() {
  const Parser before = *this;
  skip_space();
  const bool negative = take("-");
  if (rest_.empty() || !is_digit(rest_[0])) {
    *this = before;
    return std::nullopt;
  }
  const Expression read = TRY(number(negative));
  const auto* integer = std::get_if<Integer>(std::get_if<Scalar>(&read.is));
  if (integer == nullptr) {
    *this = before;
    return std::nullopt;
  }
  const auto value = parse_number<std::int64_t>(integer->decimal);
  return value ? Result<std::optional<std::int64_t>>(value)
               : before.not_understood();
}

// Decimal ones; 1_000, 0x10 and 1j are left to eval.
Result<Expression> Parser::number(bool negative) {
  skip_space();
  std::size_t end = 0;
  bool is_float = false;
  while (end < rest_.size()) {
    const char c = rest_[end];
    const bool exponent = c == 'e' || c == 'E';
    const bool sign_of_exponent =
        (c == '-' || c == '+') && end > 0 &&
        (rest_[end - 1] == 'e' || rest_[end - 1] == 'E');
    if (!is_digit(c) && c != '.' && !exponent && !sign_of_exponent) {
      break;
    }
    is_float |= c == '.' || exponent;
    ++end;
  }
  std::string digits(rest_.substr(0, end));
  if (digits.empty() || (end < rest_.size() && begins_name(rest_[end])) ||
      (!is_float && digits.size() > 1 && digits[0] == '0')) {
    return not_understood();
  }
  const Parser before = *this;
  rest_.remove_prefix(end);
  skip_space();
  if (!is_float) {
    return Expression{
        Scalar(Integer{(negative && digits != "0" ? "-" : "") + digits})};
  }
  double value = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || stop != digits.data() + digits.size()) {
    return before.not_understood();
  }
  return Expression{Scalar(negative ? -value : value)};
}

Result<Scalar> Parser::quoted(bool is_bytes, bool raw) {
  const char quote = rest_[0];
  if (rest_.substr(1).starts_with(std::string(2, quote))) {
    return not_understood();  // three of them
  }
  const std::size_t begin = 1;
  std::u32string text;
  std::string plain;  // UTF-8 without escapes, not yet in `text`
  rest_.remove_prefix(begin);
  while (!rest_.empty() && rest_[0] != quote) {
    if (rest_[0] != '\\') {
      plain += rest_[0];
      rest_.remove_prefix(1);
      continue;
    }
    if (raw || rest_.size() < 2) {
      plain += rest_.substr(0, 2);
      rest_.remove_prefix(std::min<std::size_t>(2, rest_.size()));
      continue;
    }
    text += to_utf32(std::exchange(plain, ""));
    const char kind = rest_[1];
    rest_.remove_prefix(2);
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
    switch (kind) {
      case 'n':
        text += U'\n';
        break;
      case 't':
        text += U'\t';
        break;
      case 'r':
        text += U'\r';
        break;
      case '\\':
      case '\'':
      case '"':
        text += static_cast<char32_t>(kind);
        break;
      case 'x':
      case 'u':
      case 'U':
        text += TRY(escape(digits));
        break;
      default:
        return not_understood();
    }
  }
  text += to_utf32(plain);
  if (!take(std::string_view(&quote, 1))) {
    return not_understood();
  }
  if (!is_bytes) {
    return Scalar(std::move(text));
  }
  Bytes bytes;
  for (const char32_t c : text) {
    if (c > 0xff) {
      return not_understood();
    }
    bytes.push_back(static_cast<std::byte>(c));
  }
  return Scalar(std::move(bytes));
}

Result<char32_t> Parser::escape(std::size_t digits) {
  const auto code = rest_.size() < digits ? std::nullopt
                                          : parse_number<std::uint32_t>(
                                                rest_.substr(0, digits), 16);
  if (!code) {
    return not_understood();
  }
  rest_.remove_prefix(digits);
  return static_cast<char32_t>(*code);
}

std::optional<Comparing> Parser::sign() {
  skip_space();
  for (const auto& [text, how] : kSigns) {
    if (take(text)) {
      return how;
    }
  }
  if (next_word() == "is") {
    word();
    return next_word() == "not" ? (word(), Comparing::IsNot) : Comparing::Is;
  }
  if (next_word() == "in") {
    word();
    return Comparing::In;
  }
  const Parser before = *this;
  if (next_word() == "not") {
    word();
    if (next_word() == "in") {
      word();
      return Comparing::NotIn;
    }
    *this = before;
  }
  return std::nullopt;
}

std::string_view Parser::next_word() const {
  std::size_t end = 0;
  while (end < rest_.size() &&
         (begins_name(rest_[end]) || (end > 0 && is_digit(rest_[end])))) {
    ++end;
  }
  return rest_.substr(0, end);
}

std::string_view Parser::word() {
  const std::string_view name = next_word();
  rest_.remove_prefix(name.size());
  skip_space();
  return name;
}

bool Parser::take(std::string_view sign) {
  skip_space();
  if (!rest_.starts_with(sign)) {
    return false;
  }
  rest_.remove_prefix(sign.size());
  skip_space();
  return true;
}

void Parser::skip_space() {
  while (!rest_.empty() && std::string_view(" \t\r\n").contains(rest_[0])) {
    rest_.remove_prefix(1);
  }
}

std::unexpected<Error> Parser::not_understood() const {
  const std::string where =
      rest_.empty() ? "at its end" : fmt::format("at \"{}\"", printable(rest_));
  return fail(ErrorId::Usage,
              fmt::format("peek reads names, attributes, items, slices, len() "
                          "and one comparison, and stops {} in \"{}\"",
                          where, printable(all_)),
              kEvalHint);
}

}  // namespace

Result<Expression> parse_expression(std::string_view text) {
  if (text.size() > kMaxText) {
    return fail(ErrorId::Usage, "the expression is too long for peek",
                kEvalHint);
  }
  return Parser(trim(text)).whole();
}

}  // namespace hangdbg
