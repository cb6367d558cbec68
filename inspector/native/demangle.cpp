#include "inspector/native/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace hangdbg {
namespace {

constexpr std::size_t kMaxMangled = 8192;
constexpr std::size_t kMaxDemangled = 1U << 16;
constexpr std::size_t kMaxShown = 100;
constexpr std::string_view kAnonymous = "(anonymous namespace)";

// Whether the bracket at `at` is an operator's own: "operator()",
// "operator<<", "operator->".
bool is_operator(std::string_view text, std::size_t at) {
  const auto before = text.substr(0, at);
  if (text[at] == '<' && before.ends_with("operator<")) {
    return true;
  }
  if (text[at] == '>' &&
      (before.ends_with('-') || before.ends_with("operator>"))) {
    return true;
  }
  constexpr std::string_view kOperator = "operator";
  if (!before.ends_with(kOperator)) {
    return false;
  }
  const auto start = before.size() - kOperator.size();
  const auto is_part = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  };
  return start == 0 || !is_part(before[start - 1]);
}

// The end of the group that opens at `at`, one past its bracket; npos when it
// is not closed.
std::size_t group_end(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '<' || c == '>') && is_operator(text, at)) {
      continue;
    }
    if (c == '(' || c == '<' || c == '{' || c == '[') {
      ++depth;
    } else if (c == ')' || c == '>' || c == '}' || c == ']') {
      if (--depth == 0) {
        return at + 1;
      }
    }
  }
  return text.npos;
}

// "int ns::run<int>(void*) const" to "ns::run<int>".
std::string without_arguments(std::string_view text) {
  std::string kept;
  bool behind_arguments = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (behind_arguments && (c == ' ' || c == '[')) {
      // "const", "&&", "[clone …]"; then the end, or what is inside it.
      at = text.find("::", at);
    } else if (c == ' ' && kept.find("operator") == kept.npos) {
      kept.clear();  // that was what it returns
      ++at;
    } else if (c == '(' && is_operator(text, at)) {
      kept += "()";
      at += 2;
    } else if ((c == '(' || c == '<' || c == '{' || c == '[') &&
               !is_operator(text, at)) {
      const std::size_t end = group_end(text, at);
      if (end == text.npos) {
        return std::string(text);
      }
      const auto group = text.substr(at, end - at);
      behind_arguments = c == '(' && group != kAnonymous;
      if (c == '{') {  // {lambda(int)#1}
        kept += group.substr(0, group.find('('));
        kept += group.find('(') == group.npos ? "" : "}";
      } else if (c == '<' || group == kAnonymous) {
        kept += group;
      }
      at = end;
      continue;
    } else {
      kept += c;
      ++at;
    }
    behind_arguments = false;
  }
  return kept;
}

// "a<b<c>>::d" to "a<…>::d".
std::string without_templates(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '<' && !is_operator(text, at)) {
      const std::size_t end = group_end(text, at);
      if (end == text.npos) {
        break;
      }
      kept += "<…>";
      at = end;
    } else {
      kept += text[at++];
    }
  }
  return kept;
}

// "_RNv…", or as C++ with "17h0123456789abcdef" at the end.
bool is_rust(std::string_view mangled) {
  constexpr std::size_t kHash = 16;
  if (!mangled.starts_with("_ZN") || !mangled.ends_with('E')) {
    return mangled.starts_with("_R");
  }
  mangled.remove_suffix(1);
  const auto at = mangled.rfind("17h");
  return at != mangled.npos && mangled.size() == at + 3 + kHash;
}

std::string_view without_ending(std::string_view name) {
  for (const std::string_view ending :
       {".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".localalias",
        "._omp_fn.", ".llvm."}) {
    name = name.substr(0, name.find(ending));
  }
  return name;
}

// A name may refer to its own parts again and again, so a short one can stand
// for more text than there is memory. abi::__cxa_demangle would make it all;
// libiberty hands it out in pieces.
struct Output {
  std::string text;
  std::jmp_buf enough;

  // Called from C, which has nothing to undo.
  static void take(const char* piece, std::size_t size, void* self) {
    auto* output = static_cast<Output*>(self);
    if (output->text.size() + size > kMaxDemangled) {
      std::longjmp(output->enough, 1);
    }
    output->text.append(piece, size);
  }
};

std::optional<std::string> whole_name(const std::string& mangled) {
  Output output;
  if (setjmp(output.enough) != 0) {
    return {};
  }
  const auto unpack =
      is_rust(mangled) ? rust_demangle_callback : cplus_demangle_v3_callback;
  return unpack(mangled.c_str(), DMGL_NO_OPTS, &Output::take, &output) != 0
             ? std::optional(std::move(output.text))
             : std::nullopt;
}

}  // namespace

std::string demangle(const std::string& name) {
  const std::string plain(without_ending(name));
  if (!(plain.starts_with("_Z") || plain.starts_with("_R")) ||
      plain.size() > kMaxMangled) {
    return plain;
  }
  const auto whole = whole_name(plain);
  if (!whole) {
    return plain;
  }
  std::string shown = is_rust(plain) ? *whole : without_arguments(*whole);
  if (shown.size() > kMaxShown) {
    shown = without_templates(shown);
  }
  return shown.empty() ? plain : shown;
}

}  // namespace hangdbg
