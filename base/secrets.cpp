#include "base/secrets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

// Each is one where a word of a name is it, or ends so ("authtoken").
constexpr std::array<std::string_view, 11> kWords = {
    "token",     "secret",     "password",   "passwd", "passphrase",   "apikey",
    "accesskey", "privatekey", "credential", "cookie", "authorization"};
// Too short to be looked for at a word's end: "monkey", "bypass".
constexpr std::array<std::string_view, 7> kWholeWords = {
    "key", "pass", "pwd", "pw", "auth", "pat", "sshpass"};
// Where we are, and where a program is that asks.
constexpr std::array<std::string_view, 6> kHarmless = {
    "pwd",        "oldpwd",      "ssh_auth_sock",
    "xauthority", "ssh_askpass", "git_askpass"};

// Programs that take one behind a letter: -pSECRET, and for some -p SECRET.
struct Client {
  std::string_view begin;  // of the program's name
  char letter;
  bool apart;      // in a word of its own
  char separator;  // the secret begins behind it: "-u ada:secret"
};
constexpr std::array kClients = {
    Client{"mysql", 'p', false, '\0'},    Client{"mariadb", 'p', false, '\0'},
    Client{"mongo", 'p', true, '\0'},     Client{"sshpass", 'p', true, '\0'},
    Client{"redis-cli", 'a', true, '\0'}, Client{"ldap", 'w', true, '\0'},
    Client{"curl", 'u', true, ':'},       Client{"smbclient", 'U', true, '%'},
};

// The prefixes of big issuers' tokens, and the least lengths with these.
struct Shape {
  std::string_view begin;
  std::size_t least;
};
constexpr std::array kShapes = {
    Shape{"AKIA", 20},   Shape{"ASIA", 20},        Shape{"AIza", 39},
    Shape{"ghp_", 20},   Shape{"gho_", 20},        Shape{"ghs_", 20},
    Shape{"ghu_", 20},   Shape{"github_pat_", 22}, Shape{"glpat-", 20},
    Shape{"hf_", 20},    Shape{"sk-", 20},         Shape{"xoxb-", 20},
    Shape{"xoxp-", 20},  Shape{"pypi-", 20},       Shape{"npm_", 20},
    Shape{"eyJhbG", 20},
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Of a name, and of a token.
bool is_name(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_quote(char c) {
  return c == '"' || c == '\'';
}
std::string lower(std::string_view text);
bool word_names_secret(std::string_view word);
bool is_count(std::string_view value);
std::string masked_assignment(std::string_view word, std::size_t equals);
const Client* client_named(std::string_view word);
std::string masked_behind(const Client& client,
                          std::string_view word,
                          std::size_t begin);

// Goes over a text once, and writes it with what it masks.
class Masker {
 public:
  explicit Masker(std::string_view text) : text_(text) {}
  std::string run();

 private:
  bool private_key();
  bool url();
  bool name();
  bool scheme(std::string_view name);
  bool assignment(std::string_view name);
  bool option(std::string_view name);
  bool shape(std::string_view name);
  void copy(std::size_t size);
  void mask(std::size_t size);
  char at(std::size_t offset) const {
    return at_ + offset < text_.size() ? text_[at_ + offset] : '\0';
  }
  std::size_t while_at(std::size_t offset, bool (*is)(char)) const;
  // Where a value that begins there ends.
  std::size_t value_end(std::size_t offset, char quote, bool line) const;
  // The same of a container as Python and JSON write it: "['a', 'b']",
  // "bytearray(b'a')", cut short or not; `offset` where it is none.
  std::size_t container_end(std::size_t offset) const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

bool names_secret(std::string_view name) {
  name.remove_prefix(std::min(name.size(), name.find_first_not_of('-')));
  if (std::ranges::find(kHarmless, lower(name)) != kHarmless.end() ||
      name.ends_with("Error")) {  // "KeyError: 'x'"
    return false;
  }
  // "apiKey", "API_KEY" and "api-key" are the words "api" and "key".
  std::string word;
  char before = '\0';
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool after_lower = before >= 'a' && before <= 'z';
    if ((!is_letter(c) && !is_digit(c)) || (upper && after_lower)) {
      if (word_names_secret(word)) {
        return true;
      }
      word.clear();
    }
    if (is_letter(c) || is_digit(c)) {
      word += c;
    }
    before = c;
  }
  return word_names_secret(word);
}

std::string masked_value(std::string_view name, std::string_view value) {
  return names_secret(name) && !value.empty() && !is_count(value)
             ? std::string(kMasked)
             : masked_text(value);
}

std::vector<std::string> masked_words(std::vector<std::string> words) {
  bool secret = false;  // the word before said so
  const Client* client = nullptr;
  const Client* letter = nullptr;  // the word before was its "-p"
  for (std::string& word : words) {
    const Client* const by_letter = std::exchange(letter, nullptr);
    const Client* const named_here = client_named(word);
    client = named_here != nullptr ? named_here : client;
    if (by_letter != nullptr && !word.starts_with('-')) {
      word = masked_behind(*by_letter, word, 0);
      client = nullptr;  // "sshpass -p SECRET ssh -p 22"
      continue;
    }
    if (client != nullptr && word.size() >= 2 && word[0] == '-' &&
        word[1] == client->letter) {
      letter = word.size() == 2 && client->apart ? client : nullptr;
      word = masked_behind(*client, word, 2);
      client = nullptr;
      continue;
    }
    const bool option = word.starts_with('-');
    const auto equals = word.find('=');
    const auto name = std::string_view(word).substr(0, equals);
    const bool named = std::ranges::all_of(name, is_name) && names_secret(name);
    if (secret && !option) {
      word = is_count(word) ? word : std::string(kMasked);
      secret = false;
    } else if (named && equals != word.npos) {
      word = masked_assignment(word, equals);
      secret = false;
    } else {
      secret = option && named && !name.starts_with("--no-");
      word = masked_text(word);
    }
  }
  return words;
}

std::string masked_text(std::string_view text) {
  return Masker(text).run();
}

namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

bool word_names_secret(std::string_view word) {
  std::string small = lower(word);
  const auto is = [&] {
    return std::ranges::find(kWholeWords, small) != kWholeWords.end() ||
           std::ranges::any_of(kWords, [&](std::string_view one) {
             return small.ends_with(one);
           });
  };
  if (is()) {
    return true;
  }
  if (small.ends_with('s')) {  // "tokens"
    small.pop_back();
    return is();
  }
  return false;
}

// "--max-tokens 4096", "--use-auth-token true"
bool is_count(std::string_view value) {
  const std::string small = lower(value);
  return (value.size() <= 5 && !value.empty() &&
          std::ranges::all_of(value, is_digit)) ||
         small == "true" || small == "false" || small == "none";
}

std::string masked_assignment(std::string_view word, std::size_t equals) {
  const std::string_view value = word.substr(equals + 1);
  return value.empty() || is_count(value)
             ? std::string(word)
             : std::string(word.substr(0, equals + 1)) + std::string(kMasked);
}

const Client* client_named(std::string_view word) {
  const std::string_view name = word.substr(word.rfind('/') + 1);
  const auto* const found =
      std::ranges::find_if(kClients, [&](const Client& client) {
        return name.starts_with(client.begin) && name.find('.') == name.npos &&
               std::ranges::all_of(name, is_name);
      });
  return found == kClients.end() ? nullptr : found;
}

std::string masked_behind(const Client& client,
                          std::string_view word,
                          std::size_t begin) {
  if (client.separator != '\0') {
    const auto separator = word.find(client.separator, begin);
    begin = separator == word.npos ? word.size() : separator + 1;
  }
  return begin >= word.size()
             ? std::string(word)
             : std::string(word.substr(0, begin)) + std::string(kMasked);
}

std::string Masker::run() {
  while (at_ < text_.size()) {
    if (!private_key() && !url() && !name()) {
      copy(1);
    }
  }
  return std::move(out_);
}

// "-----BEGIN RSA PRIVATE KEY-----" to its end, or the text's.
bool Masker::private_key() {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----END ";
  const std::string_view rest = text_.substr(at_);
  if (!rest.starts_with(kBegin)) {
    return false;
  }
  const std::string_view title = rest.substr(0, rest.find('\n'));
  if (title.find("PRIVATE KEY") == title.npos) {
    return false;
  }
  mask(std::min(rest.size(), rest.find(kEnd)));
  return true;
}

// "://user:password@", "://token@"
bool Masker::url() {
  if (!text_.substr(at_).starts_with("://")) {
    return false;
  }
  copy(3);
  const std::string_view rest = text_.substr(at_);
  const std::string_view authority =
      rest.substr(0, rest.find_first_of("/?# \t\n\"'"));
  const std::size_t end = authority.rfind('@');
  if (end == authority.npos) {
    return true;
  }
  const std::size_t colon = authority.substr(0, end).find(':');
  if (colon != authority.npos) {
    copy(colon + 1);
    mask(end - colon - 1);
  } else {
    mask(end);
  }
  return true;
}

bool Masker::name() {
  const std::size_t size = while_at(0, is_name);
  if (size == 0) {
    return false;
  }
  const std::string_view name = text_.substr(at_, size);
  if (!scheme(name) && !assignment(name) && !option(name) && !shape(name)) {
    copy(size);
  }
  return true;
}

// "Bearer ab12...", anywhere.
bool Masker::scheme(std::string_view name) {
  constexpr std::size_t kLeast = 8;
  const std::string small = lower(name);
  const std::size_t blanks = while_at(name.size(), is_blank);
  if ((small != "bearer" && small != "basic") || blanks == 0) {
    return false;
  }
  const std::size_t begin = name.size() + blanks;
  const std::size_t end = value_end(begin, '\0', false);
  if (end - begin < kLeast) {
    return false;
  }
  copy(begin);
  mask(end - begin);
  return true;
}

// name=value, name: value, "name": "value", x["name"] = value
bool Masker::assignment(std::string_view name) {
  if (!names_secret(name)) {
    return false;
  }
  std::size_t begin = name.size();
  begin += is_quote(at(begin)) ? 1 : 0;
  begin += at(begin) == ']' ? 1 : 0;
  begin += while_at(begin, is_blank);
  if (at(begin) != '=' && at(begin) != ':') {
    return false;
  }
  if (at(begin) == ':' && at(begin + 1) == '/') {
    return false;  // a URL's scheme
  }
  ++begin;
  begin += while_at(begin, is_blank);
  if (const std::size_t end = container_end(begin); end > begin) {
    const auto container = text_.substr(at_ + begin, end - begin);
    if (!std::ranges::any_of(container, is_quote)) {
      return false;  // "tokens = [101, 2023]"
    }
    copy(begin);
    mask(end - begin);
    return true;
  }
  if (const std::size_t prefix = while_at(begin, is_letter);
      prefix > 0 && prefix <= 2 && is_quote(at(begin + prefix))) {
    begin += prefix;  // b'...', rb'...'
  }
  const char quote = is_quote(at(begin)) ? at(begin) : '\0';
  begin += quote != '\0' ? 1 : 0;
  const bool header =
      lower(name).ends_with("authorization") || lower(name).ends_with("cookie");
  const std::size_t end = value_end(begin, quote, header);
  const std::string_view value = text_.substr(at_ + begin, end - begin);
  if (value.empty() || is_count(value)) {
    return false;
  }
  copy(begin);
  mask(end - begin);
  return true;
}

// "--token value", as in the words that a shell is to run
bool Masker::option(std::string_view name) {
  if (!name.starts_with('-') || name.starts_with("--no-") ||
      !names_secret(name)) {
    return false;
  }
  std::size_t begin = name.size() + while_at(name.size(), is_blank);
  if (begin == name.size()) {
    return false;
  }
  const char quote = is_quote(at(begin)) ? at(begin) : '\0';
  begin += quote != '\0' ? 1 : 0;
  const std::size_t end = value_end(begin, quote, false);
  const std::string_view value = text_.substr(at_ + begin, end - begin);
  if (value.empty() || value.starts_with('-') || is_count(value)) {
    return false;
  }
  copy(begin);
  mask(end - begin);
  return true;
}

bool Masker::shape(std::string_view name) {
  const bool known = std::ranges::any_of(kShapes, [&](const Shape& shape) {
    return name.starts_with(shape.begin) && name.size() >= shape.least;
  });
  if (known) {
    mask(name.size());
  }
  return known;
}

void Masker::copy(std::size_t size) {
  out_ += text_.substr(at_, size);
  at_ += size;
}

void Masker::mask(std::size_t size) {
  out_ += kMasked;
  at_ += size;
}

std::size_t Masker::while_at(std::size_t offset, bool (*is)(char)) const {
  std::size_t size = 0;
  while (at_ + offset + size < text_.size() && is(at(offset + size))) {
    ++size;
  }
  return size;
}

std::size_t Masker::value_end(std::size_t offset, char quote, bool line) const {
  if (quote != '\0') {
    while (at(offset) != quote && at_ + offset < text_.size()) {
      offset += at(offset) == '\\' ? 2 : 1;
    }
    return std::min(offset, text_.size() - at_);
  }
  const std::string_view ends = line ? "\n\"'" : " \t\n\"'&,;)}]";
  const std::size_t end = text_.find_first_of(ends, at_ + offset);
  return (end == text_.npos ? text_.size() : end) - at_;
}

std::size_t Masker::container_end(std::size_t offset) const {
  std::size_t end = offset + while_at(offset, is_name);  // "bytearray("
  const auto is_opener = [](char c) {
    return c == '(' || c == '[' || c == '{';
  };
  if (!is_opener(at(end)) || (end > offset && at(end) != '(')) {
    return offset;
  }
  const std::size_t line =
      std::min(text_.find('\n', at_ + end), text_.size()) - at_;
  for (int depth = 0; end < line; ++end) {
    const char c = at(end);
    if (is_quote(c)) {
      end = value_end(end + 1, c, false);
    } else if (is_opener(c)) {
      ++depth;
    } else if ((c == ')' || c == ']' || c == '}') && --depth == 0) {
      return end + 1;
    }
  }
  return line;
}

}  // namespace
}  // namespace hangdbg
