#include "client/report/masking.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include "base/parallel_map.h"
#include "base/secrets.h"
#include "base/text.h"
#include "protocol/json_strings.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"
#include "tracee/program/environment_entries.h"

namespace hangdbg {
namespace {

// What is shorter is in too many texts by chance; where it is named, it is
// masked all the same.
constexpr std::size_t kShortest = 6;
// So much of the beginning of a secret is one: a text that was cut short ends
// in it.
constexpr std::size_t kTelling = 12;

constexpr auto kToReadAsleep = std::chrono::milliseconds(300);

// What a process was started with.
struct Started {
  std::string environment;
  std::vector<std::string> words, live;
  bool readable = false;  // its environment
};

Result<Started> read_started(int pid, bool live);
std::string in_quotes(std::string_view text);
std::string for_xml(std::string_view text);
std::size_t length_of(std::string_view form, std::string_view at);
bool is_secret_local(const std::vector<std::string_view>& members);
std::string masked_local(std::string_view repr);

}  // namespace

// A process in D state may block its reader: it comes last, and has little
// time.
void Masking::learn(const std::vector<int>& watched, Deadline deadline) {
  std::vector<int> pids, asleep;
  for (const int pid : list_processes().value_or(watched)) {
    const auto status = read_status(pid);
    (status && status->state == 'D' ? asleep : pids).push_back(pid);
  }
  const auto is_watched = [watched](int pid) {
    return std::ranges::find(watched, pid) != watched.end();
  };
  const auto read = [is_watched](int pid) {
    return read_started(pid, is_watched(pid));
  };
  const auto take = [this](int pid, std::optional<Result<Started>> found) {
    if (!found || !*found) {
      return;
    }
    const auto learn_entry = [this](std::string_view entry) {
      if (const auto end = entry.find('='); end != entry.npos) {
        learn_variable(entry.substr(0, end), entry.substr(end + 1));
      }
    };
    std::ranges::for_each(split((*found)->environment, '\0'), learn_entry);
    std::ranges::for_each((*found)->live, learn_entry);
    learn_words((*found)->words);
    if ((*found)->readable) {
      known_.insert(pid);
    }
  };
  parallel_map<Started>(pids, deadline, read, take);
  parallel_map<Started>(asleep, deadline.capped(kToReadAsleep), read, take);
}

void Masking::learn_variable(std::string_view name, std::string_view value) {
  learn_hidden(value, masked_value(name, value));
}

// Of a word that is too short to be looked for everywhere, what precedes it
// says what it is.
void Masking::learn_words(const std::vector<std::string>& words) {
  const auto masked = masked_words(words);
  for (std::size_t i = 0; i < std::min(words.size(), masked.size()); ++i) {
    learn_hidden(words[i], masked[i]);
    if (i > 0 && masked[i] == kMasked) {
      add_form(printable(words[i - 1] + " " + words[i]),
               printable(words[i - 1] + " ") + std::string(kMasked));
    }
  }
}

std::string Masking::text(std::string_view bytes) const {
  std::string out;
  replace(bytes, out);
  return masked_text(out);
}

Json Masking::json(const Json& value) const {
  return with_strings(value, [this](const StringPlace& place,
                                    std::string_view string) {
    if (is_secret_local(place.members)) {
      return masked_local(string);
    }
    // It may be a word of a command line.
    return text(
        masked_words({std::string(place.before), std::string(string)}).back());
  });
}

// What is not in `masked` of `plain`: between what is left and the next "***".
void Masking::learn_hidden(std::string_view plain, std::string_view masked) {
  if (plain == masked) {
    return;
  }
  std::size_t at = 0;
  while (!masked.empty()) {
    const std::size_t mark = std::min(masked.find(kMasked), masked.size());
    if (plain.substr(at, mark) != masked.substr(0, mark)) {
      return add(plain);  // it was changed in another way: all of it
    }
    at += mark;
    masked.remove_prefix(mark);
    if (!masked.empty()) {
      masked.remove_prefix(kMasked.size());
      const std::string_view kept = masked.substr(0, masked.find(kMasked));
      const std::size_t end =
          kept.empty() ? plain.size()
                       : std::min(plain.find(kept, at), plain.size());
      add(plain.substr(at, end - at));
      at = end;
    }
  }
}

void Masking::add(std::string_view secret) {
  secret = trim(secret);
  const bool number = std::ranges::all_of(
      secret, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (secret.size() < (number ? 2 * kShortest : kShortest)) {
    return;
  }
  const std::string words = printable(secret);
  for (const std::string& form :
       {std::string(secret), words, in_quotes(secret), in_quotes(words),
        for_xml(secret), for_xml(words), to_utf8(secret)}) {
    add_form(form, std::string(kMasked));
  }
  if (secret.find('\n') != secret.npos) {  // a key: its lines are it as well
    for (const std::string_view line : split(secret, '\n')) {
      if (line.size() >= 2 * kTelling && !line.starts_with("-----")) {
        add_form(std::string(line), std::string(kMasked));
      }
    }
  }
}

void Masking::add_form(std::string form, std::string instead) {
  if (starts_.find(form[0]) == starts_.npos) {
    starts_ += form[0];
  }
  forms_.emplace(std::move(form), std::move(instead));
}

// Few texts have any: where the next may begin is looked for first.
void Masking::replace(std::string_view bytes, std::string& out) const {
  while (!bytes.empty()) {
    const std::size_t next =
        std::min(bytes.find_first_of(starts_), bytes.size());
    out += bytes.substr(0, next);
    bytes.remove_prefix(next);
    // Of two that begin alike the one of which more is there.
    std::size_t length = 0;
    const std::string* best = nullptr;
    const std::string_view first = bytes.substr(0, 1);
    for (auto at = forms_.lower_bound(std::string(first));
         !first.empty() && at != forms_.end() && at->first.starts_with(first);
         ++at) {
      if (const auto own = length_of(at->first, bytes); own > length) {
        length = own;
        best = &at->second;
      }
    }
    if (best != nullptr) {
      out += *best;
    }
    if (length == 0 && !bytes.empty()) {
      out += bytes.front();
      length = 1;
    }
    bytes.remove_prefix(length);
  }
}

namespace {

// The live variables cannot always be had.
Result<Started> read_started(int pid, bool live) {
  // Its arguments may be read by any user.
  const auto environment = read_proc_file(pid, "environ");
  Started started{.environment = environment.value_or(""),
                  .words = read_command_line(pid),
                  .readable = environment.has_value()};
  if (live) {
    started.live = read_environment(pid).value_or(std::vector<std::string>());
  }
  return started;
}

// As a shell reads it, without the quotes around it.
std::string in_quotes(std::string_view text) {
  std::string quoted = shell_quote(text);
  return quoted.size() > 2 && quoted.front() == '\'' && quoted.back() == '\''
             ? quoted.substr(1, quoted.size() - 2)
             : quoted;
}

std::string for_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// {"locals": {"password": {"repr": "'...'"}}}
bool is_secret_local(const std::vector<std::string_view>& members) {
  const auto size = members.size();
  return size >= 3 && members[size - 3] == "locals" &&
         members[size - 1] == "repr" && names_secret(members[size - 2]);
}

// As in the text that has "password = '...'".
std::string masked_local(std::string_view repr) {
  constexpr std::string_view kName = "secret = ";
  return masked_text(std::string(kName) + std::string(repr))
      .substr(kName.size());
}

// How much of `at` is the secret, or so much of its beginning that it tells
// what it is; 0 if none. A path's beginning tells nothing.
std::size_t length_of(std::string_view form, std::string_view at) {
  const std::size_t same = static_cast<std::size_t>(
      std::ranges::mismatch(form, at).in1 - form.begin());
  const bool telling =
      same >= std::max(kTelling, form.size() / 2) && form[0] != '/';
  return same == form.size() || telling ? same : 0;
}

}  // namespace
}  // namespace hangdbg
