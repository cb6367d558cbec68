// Of an interpreter that is not known: what the code objects that its threads
// run say of themselves, and the variables of the frames.
#include <algorithm>
#include <array>
#include <string_view>

#include "inspector/cpython/layout/text.h"
#include "inspector/cpython/runtime/proof.h"

namespace hangdbg {
namespace {

constexpr std::size_t kProofMaxName = 4096;
constexpr std::int32_t kMostLine = 10'000'000;
constexpr std::uint64_t kMostLineTable = 1U << 24;

// The text of a str in that field of a code object.
std::optional<std::string> text_in(Proof& proof, Address code, std::size_t i) {
  const auto object = proof.pointer(code + proof.word(i));
  if (!object || !*object || proof.type_name(*object) != "str" ||
      --proof.left < 0) {
    return {};
  }
  auto text = read_str(proof.memory, proof.at, *object, kProofMaxName);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

// Of all code objects; none where one has no text there.
std::optional<std::vector<std::string>> texts_in(Proof& proof, std::size_t i) {
  std::vector<std::string> found;
  if (!proof.is_pointer_in(proof.groups.code, i)) {
    return {};
  }
  for (const Address code : proof.codes) {
    auto text = text_in(proof, code, i);
    if (!text) {
      return {};
    }
    found.push_back(*std::move(text));
  }
  return found;
}

// "<module>" is a name.
bool is_path(const std::string& text) {
  return text.find('/') != text.npos || text.ends_with(".py") ||
         text.starts_with("<frozen ") || text.starts_with("<ipython") ||
         text == "<string>" || text == "<stdin>";
}

// "run" of "Thread.run".
bool is_end_of(const std::string& name, const std::string& qualname) {
  return qualname == name || qualname.ends_with("." + name);
}

// Programs make code objects of their own, and so does the interpreter: not
// each is as the compiler's are.
bool are_most(std::ptrdiff_t count, std::size_t of) {
  return count > 0 && static_cast<std::size_t>(count) * 2 > of;
}

bool go_together(const std::vector<std::string>& names,
                 const std::vector<std::string>& qualnames) {
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    count += is_end_of(names[i], qualnames[i]) ? 1 : 0;
  }
  return are_most(count, names.size());
}

// Whether it says of each instruction of the code where it is, and of no more:
// a byte's lower three bits and one are how many it speaks of, and bytes
// without the highest bit go with the one before.
// (InternalDocs/code_objects.md)
bool is_line_table(Proof& proof, Address code, std::size_t i) {
  const auto object = proof.pointer(code + proof.word(i));
  const auto units = proof.units_of(code);
  if (!object || !*object || !units || proof.type_name(*object) != "bytes") {
    return false;
  }
  const auto size = proof.value<std::uint64_t>(*object + proof.at.bytes_size);
  if (!size || *size > kMostLineTable) {
    return false;
  }
  std::vector<std::byte> bytes(*size);
  if (--proof.left < 0 ||
      !proof.memory.read(*object + proof.at.bytes_data, bytes)) {
    return false;
  }
  std::uint64_t covered = 0;
  for (const std::byte byte : bytes) {
    const auto bits = std::to_integer<unsigned>(byte);
    covered += (bits & 0x80) != 0 ? (bits & 7) + 1 : 0;
  }
  return covered == *units;
}

// A module's code is in its first line. Functions of one file begin in
// different lines, as a rule: two may be in one, and many programs may all be
// called "<string>".
bool are_first_lines(Proof& proof,
                     std::size_t i,
                     const std::vector<std::string>& names,
                     const std::vector<std::string>& files) {
  constexpr std::size_t kSynthetic = 8;  // of so many one may have no line
  std::vector<std::int32_t> lines;
  std::size_t none = 0;
  for (std::size_t c = 0; c < proof.codes.size(); ++c) {
    const auto line = proof.value<std::int32_t>(proof.codes[c] + proof.word(i));
    const bool of_module = names[c] == "<module>";
    if (!line || *line < 0 || *line > kMostLine || (of_module && *line != 1)) {
      return false;
    }
    none += *line == 0 ? 1 : 0;
    lines.push_back(*line);
  }
  std::size_t same = 0, different = 0;
  for (std::size_t a = 0; a < lines.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (files[a] == files[b] && names[a] != names[b] &&
          !files[a].starts_with('<')) {
        ++(lines[a] == lines[b] ? same : different);
      }
    }
  }
  return same <= different && none * kSynthetic <= lines.size();
}

// Which words those fields are, in the table's order.
struct CodeFields {
  std::size_t file, name, qualname, lines;

  std::array<std::uint32_t, 4> offsets(const Proof& proof) const {
    return {proof.offset(file), proof.offset(name), proof.offset(qualname),
            proof.offset(lines)};
  }
};

std::vector<CodeFields> code_words(Proof& proof) {
  const TableGroups& groups = proof.groups;
  std::vector<std::size_t> texts, tables;
  std::vector<std::vector<std::string>> said;  // of `texts`
  for (std::size_t i = groups.code + 1; i < groups.instructions; ++i) {
    const auto is_table = [&](Address code) {
      return is_line_table(proof, code, i);
    };
    if (auto all = texts_in(proof, i)) {
      texts.push_back(i);
      said.push_back(*std::move(all));
    } else if (proof.is_pointer_in(groups.code, i) &&
               are_most(std::ranges::count_if(proof.codes, is_table),
                        proof.codes.size())) {
      tables.push_back(i);
    }
  }
  std::vector<CodeFields> found;
  for (std::size_t f = 0; f < texts.size(); ++f) {
    for (std::size_t n = f + 1; n < texts.size(); ++n) {
      for (std::size_t q = n + 1; q < texts.size(); ++q) {
        const bool differ = proof.word(texts[f]) != proof.word(texts[n]) &&
                            proof.word(texts[f]) != proof.word(texts[q]) &&
                            proof.word(texts[n]) != proof.word(texts[q]);
        if (!differ || std::ranges::none_of(said[f], is_path) ||
            !go_together(said[n], said[q])) {
          continue;
        }
        for (const std::size_t lines : tables) {
          if (lines > texts[q]) {
            found.push_back({texts[f], texts[n], texts[q], lines});
          }
        }
      }
    }
  }
  return found;
}

// How many, of an object that has its size behind it; -1 of another type.
std::int64_t size_of(Proof& proof, Address from, std::string_view type) {
  constexpr std::int64_t kMostVariables = 10'000;
  const auto object = proof.pointer(from).value_or(Address{});
  if (!object || proof.type_name(object) != type) {
    return -1;
  }
  const auto size =
      proof.value<std::int64_t>(object + proof.word(proof.groups.object));
  return size.value_or(-1) <= kMostVariables ? size.value_or(-1) : -1;
}

// The names of the variables are a tuple of str, their kinds as many bytes.
bool are_variables(Proof& proof, std::size_t i) {
  std::int64_t all = 0;
  for (const Address code : proof.codes) {
    const std::int64_t count = size_of(proof, code + proof.word(i), "tuple");
    if (count < 0 ||
        count != size_of(proof, code + proof.word(i + 1), "bytes")) {
      return false;
    }
    all += count;
    Address item = proof.pointer(code + proof.word(i)).value_or(Address{}) +
                   proof.objects.tuple_items;
    for (std::int64_t left = count; left > 0; --left, item = item + 8) {
      if (proof.type_name_at(item) != "str") {
        return false;
      }
    }
  }
  return all > 0;
}

}  // namespace

bool Proof::find_code_fields(const TableTexts& texts) {
  at.object_type = offset(groups.object + 1);
  at.bytes_size = static_cast<std::uint32_t>(texts.bytes_size);
  at.bytes_data = static_cast<std::uint32_t>(texts.bytes_data);
  at.str_length = static_cast<std::uint32_t>(texts.str_length);
  at.str_state = static_cast<std::uint32_t>(texts.str_state);
  at.str_ascii_data = static_cast<std::uint32_t>(texts.str_ascii);
  at.str_compact_data = static_cast<std::uint32_t>(texts.str_compact);
  // `interned` is a byte of its own in 3.14t, two bits elsewhere.
  for (const std::uint32_t shift : {2U, 8U}) {
    at.str_kind_shift = shift;
    const auto found = code_words(*this);
    if (!found.empty()) {
      // Where several words may be it, none is.
      const auto same = [&](const CodeFields& one) {
        return one.offsets(*this) == found.front().offsets(*this);
      };
      if (!std::ranges::all_of(found, same)) {
        return false;
      }
      const CodeFields& words = found.front();
      at.code_filename = offset(words.file);
      at.code_name = offset(words.name);
      at.code_qualname = offset(words.qualname);
      at.code_line_table = offset(words.lines);
      names = *texts_in(*this, words.name);
      return find_first_lines(words.lines, *texts_in(*this, words.file));
    }
  }
  return false;
}

bool Proof::find_first_lines(std::size_t after,
                             const std::vector<std::string>& files) {
  std::size_t argument_count = 0;
  for (std::size_t i = after + 1; i < groups.instructions; ++i) {
    if (word(i) + 4 <= word(groups.code) && word(i) % 4 == 0 &&
        are_first_lines(*this, i, names, files)) {
      if (argument_count == 0) {
        at.code_first_line = offset(i);
        argument_count = i + 1;
      } else {
        unproved.emplace_back("line numbers");
        break;
      }
    }
  }
  if (argument_count == 0) {
    return false;
  }
  objects.code_names = objects.code_kinds = ObjectLayout::kAbsent;
  for (std::size_t i = argument_count; i + 1 < groups.instructions; ++i) {
    if (is_pointer_in(groups.code, i) && is_pointer_in(groups.code, i + 1) &&
        are_variables(*this, i)) {
      objects.code_names = offset(i);
      objects.code_kinds = offset(i + 1);
      break;
    }
  }
  // _co_firsttraceable, an int, is before co_extra, a pointer, and what ends
  // the structure. (Include/cpython/code.h)
  const std::uint32_t end = at.code_bytecodes != CPythonLayout::kAbsent
                                ? at.code_bytecodes
                                : at.code_instructions;
  const bool all_are_inside = std::ranges::all_of(codes, [&](Address code) {
    const auto first = value<std::int32_t>(code + (end - 16));
    const auto units = units_of(code);
    return first && units && *first >= 0 &&
           static_cast<std::uint64_t>(*first) < *units;
  });
  if (all_are_inside) {
    at.code_first_traceable = end - 16;
  } else {
    unproved.emplace_back("which functions have not begun");
  }
  return true;
}

// The fields that the newest row has are taken if all frames and their code
// bear them out: globals and builtins are dicts, and only a function keeps its
// variables in the frame itself (CO_OPTIMIZED with CO_NEWLOCALS).
void Proof::find_variables() {
  constexpr std::uint32_t kOfFunction = 3;
  objects.frame_values = offset(groups.locals);
  std::size_t good = 0, all = 0;
  for (const SeenFrame& frame : frames) {
    const auto locals = pointer(frame.frame + objects.frame_locals);
    const bool holds =
        type_name_at(frame.frame + objects.frame_globals) == "dict" &&
        type_name_at(frame.frame + objects.frame_builtins) == "dict" &&
        locals && (!*locals || !type_name(*locals).empty());
    all += frame.code ? 1 : 0;
    good += frame.code && holds ? 1 : 0;
  }
  const bool are_dicts = good * 4 >= all * 3;  // some may be torn
  bool are_flags = true;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto flags =
        value<std::uint32_t>(codes[i] + objects.code_flags).value_or(1);
    const bool of_function = (flags & kOfFunction) == kOfFunction;
    are_flags &= (flags & kOfFunction) == 0 || of_function;
    are_flags &= names[i] != "<module>" || !of_function;
  }
  if (!are_dicts || !are_flags || objects.code_kinds == ObjectLayout::kAbsent) {
    objects.frame_globals = ObjectLayout::kAbsent;
  }
}

}  // namespace hangdbg
