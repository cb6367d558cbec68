#include "inspector/cpython/runtime/unknown_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace hangdbg {
namespace {

constexpr std::size_t kHeaderWords = 3;       // cookie, version, free_threaded
constexpr std::size_t kMostTableWords = 160;  // 3.15 has 111
constexpr std::size_t kFewestWords = 64;
constexpr std::size_t kMostCuts = 64;  // ways to cut the words

// Structures' sizes, widely.
struct SizeRange {
  std::uint64_t least, most;
  bool has(std::uint64_t size) const {
    return size >= least && size <= most && size % 8 == 0;
  }
};
constexpr SizeRange kRuntimeSizes{10'000, 64U << 20};
constexpr SizeRange kThreadSizes{200, 16'384};
constexpr SizeRange kFrameSizes{64, 256};
constexpr SizeRange kCodeSizes{160, 2048};
constexpr SizeRange kObjectSizes{16, 64};
constexpr SizeRange kTypeSizes{300, 2048};
constexpr SizeRange kUnicodeSizes{40, 256};

// The first word from `begin` to `end` with that value; `end` if there is none.
std::size_t find_word(const std::vector<std::uint64_t>& words,
                      std::size_t begin,
                      std::size_t end,
                      std::uint64_t value) {
  while (begin < end && words[begin] != value) {
    ++begin;
  }
  return begin;
}

// PyObject ends with ob_type; PyTypeObject begins with a PyVarObject, and then
// has tp_name.
bool is_object_group(const std::vector<std::uint64_t>& words, std::size_t at) {
  return at + 4 < words.size() && kObjectSizes.has(words[at]) &&
         words[at + 1] == words[at] - 8 && kTypeSizes.has(words[at + 2]) &&
         words[at + 3] == words[at] + 8;
}

// struct _ts begins with prev, next and interp.
bool is_thread_group(const std::vector<std::uint64_t>& words, std::size_t at) {
  return at + 4 < words.size() && kThreadSizes.has(words[at]) &&
         words[at + 1] <= 64 && words[at + 1] % 8 == 0 &&
         words[at + 2] == words[at + 1] + 8 &&
         words[at + 3] == words[at + 2] + 8;
}

// The interpreters' own structure is in the runtime's.
bool is_interpreter_group(const std::vector<std::uint64_t>& words,
                          std::size_t at) {
  return kRuntimeSizes.has(words[at]) && words[at] <= words[kHeaderWords];
}

}  // namespace

Result<UnknownTable> read_unknown_table(const MemoryReader& memory,
                                        Address runtime) {
  struct Header {
    std::array<char, 8> cookie;
    std::uint64_t version, free_threaded;
  };
  const auto header = TRY(memory.read_value<Header>(runtime));
  if (std::memcmp(header.cookie.data(), "xdebugpy", 8) != 0) {
    return fail(ErrorId::UnsupportedPython,
                "_PyRuntime does not start with the debug offsets that python "
                "3.13 and later have");
  }
  UnknownTable table{header.version, header.free_threaded != 0, {}};
  table.words.resize(kMostTableWords);
  while (
      !memory.read(runtime, std::as_writable_bytes(std::span(table.words)))) {
    if (table.words.size() <= kFewestWords) {
      return fail(ErrorId::Unreadable, "the debug offsets cannot be read");
    }
    table.words.resize(table.words.size() - 8);
  }
  return table;
}

std::vector<TableGroups> possible_groups(const UnknownTable& table) {
  const auto& words = table.words;
  std::vector<TableGroups> found;
  // After a group's size come, of those that are asked for: finalizing and the
  // head; id, next, threads_head and six of the GIL; the thread's own four and
  // three; four of a frame; six of code.
  for (std::size_t object = kHeaderWords; object < words.size(); ++object) {
    if (!is_object_group(words, object)) {
      continue;
    }
    for (std::size_t thread = kHeaderWords + 3; thread < object; ++thread) {
      if (!is_thread_group(words, thread)) {
        continue;
      }
      for (std::size_t code = thread + 8; code < object; ++code) {
        const auto instructions =
            kCodeSizes.has(words[code])
                ? find_word(words, code + 5, object, words[code] - 8)
                : object;
        if (instructions == object) {
          continue;
        }
        for (std::size_t frame = thread + 5; frame < code; ++frame) {
          const auto locals =
              kFrameSizes.has(words[frame])
                  ? find_word(words, frame + 4, code, words[frame] - 8)
                  : code;
          if (locals == code) {
            continue;
          }
          for (std::size_t interpreter = kHeaderWords + 3; interpreter < thread;
               ++interpreter) {
            if (is_interpreter_group(words, interpreter) &&
                found.size() < kMostCuts) {
              found.push_back({kHeaderWords, interpreter, thread, frame, code,
                               object, locals, instructions});
            }
          }
        }
      }
    }
  }
  return found;
}

std::vector<TableTexts> possible_texts(const UnknownTable& table,
                                       const TableGroups& groups) {
  const auto& words = table.words;
  const std::uint64_t object = words[groups.object];
  std::vector<TableTexts> found;
  // PyBytesObject: the object, ob_size, ob_shash, ob_sval. PyASCIIObject: the
  // object, length, hash, state; the text of such is behind it.
  for (std::size_t at = groups.object + 5; at + 6 < words.size(); ++at) {
    const bool is_bytes = words[at + 1] == object &&
                          words[at + 2] > object + 8 &&
                          words[at] == (words[at + 2] + 8) / 8 * 8;
    if (!is_bytes) {
      continue;
    }
    for (std::size_t str = at + 3; str + 4 < words.size() && str < at + 8;
         ++str) {
      const std::uint64_t state = words[str + 1];
      const std::uint64_t length = words[str + 2];
      const std::uint64_t ascii = words[str + 3];
      const bool is_str = kUnicodeSizes.has(words[str]) && length == object &&
                          state > length && state <= length + 24 &&
                          ascii > state && ascii <= state + 16 &&
                          ascii % 8 == 0 && ascii < words[str];
      // From 3.15 on the next word is PyCompactUnicodeObject's size.
      const std::uint64_t next = words[str + 4];
      const bool says_compact = next > ascii && next < words[str];
      const TableTexts texts{words[at + 1], words[at + 2],
                             length,        state,
                             ascii,         says_compact ? next : ascii + 16};
      if (is_str && std::ranges::find(found, texts) == found.end()) {
        found.push_back(texts);
      }
    }
  }
  return found;
}

// Each by what holds of its structure, one behind the other: a tuple ends with
// its items, a list has them elsewhere and how many there is room for, a dict's
// keys and values lie side by side.
void take_told_objects(const UnknownTable& table,
                       const TableGroups& groups,
                       ObjectLayout& objects) {
  const auto& words = table.words;
  const std::uint64_t object = words[groups.object];
  const auto narrow = [](std::uint64_t word) {
    return static_cast<std::uint32_t>(word);
  };
  std::size_t at = groups.object + 4;
  const auto find = [&](std::size_t count, const auto& is) {
    std::size_t i = at;
    while (i + count <= words.size() && !is(&words[i])) {
      ++i;
    }
    const bool found = i + count <= words.size();
    at = found ? i + count : at;
    return found ? &words[i] : nullptr;
  };
  objects.type_flags = narrow(words[groups.object + 5]);
  if (const auto* tuple = find(3, [&](const std::uint64_t* word) {
        return word[2] == object && word[1] > object && word[1] <= 128 &&
               word[0] == word[1] + 8;
      })) {
    objects.tuple_items = narrow(tuple[1]);
  }
  if (const auto* list = find(3, [&](const std::uint64_t* word) {
        return word[2] == object && word[1] == object + 8 &&
               word[0] == word[1] + 16;
      })) {
    objects.list_items = narrow(list[1]);
  }
  if (const auto* dict = find(3, [&](const std::uint64_t* word) {
        return word[1] > object && word[2] == word[1] + 8 &&
               word[0] >= word[2] + 8 && word[0] <= 128;
      })) {
    objects.dict_keys = narrow(dict[1]);
    objects.dict_values = narrow(dict[2]);
  }
  if (const auto* number = find(2, [&](const std::uint64_t* word) {
        return word[1] == object && word[0] == object + 8;
      })) {
    objects.float_value = narrow(number[1]);
  }
  if (const auto* number = find(3, [&](const std::uint64_t* word) {
        return word[1] == object && word[2] == object + 8 &&
               word[0] == object + 16;
      })) {
    objects.int_size = narrow(number[1]);
    objects.int_digits = narrow(number[2]);
  }
}

}  // namespace hangdbg
