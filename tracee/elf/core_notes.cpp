#include "tracee/elf/core_notes.h"

#include <elf.h>
#include <signal.h>
#include <sys/procfs.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace hangdbg {
namespace {

using Bytes = std::span<const std::byte>;

// Its first part, even if the kernel's structure were longer or shorter.
template <class T>
std::optional<T> as(Bytes content) {
  T value{};
  if (content.size() < sizeof value) {
    return {};
  }
  std::memcpy(&value, content.data(), sizeof value);
  return value;
}

std::string text_in(const char* bytes, std::size_t size) {
  return {bytes, ::strnlen(bytes, size)};
}

CoreSignal signal_in(const siginfo_t& info) {
  CoreSignal signal{.number = info.si_signo, .code = info.si_code};
  switch (info.si_signo) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
      // Above 0: the CPU has found it (sigaction(2)).
      if (info.si_code > 0) {
        signal.address = Address{reinterpret_cast<std::uint64_t>(info.si_addr)};
      }
      break;
    default:
      break;
  }
  if (info.si_code <= 0) {
    signal.sender = info.si_pid;
  }
  return signal;
}

// NT_FILE: how many, the size of a page, then start, end and offset (in pages)
// of each, then their names.
std::vector<Mapping> mapped_files(Bytes content) {
  constexpr std::size_t kHead = 2 * sizeof(std::uint64_t);
  struct Entry {
    std::uint64_t start, end, page;
  };
  const auto count = as<std::uint64_t>(content);
  if (content.size() < kHead || !count ||
      *count > (content.size() - kHead) / sizeof(Entry)) {
    return {};
  }
  const auto page_size = *as<std::uint64_t>(content.subspan(8));
  const Bytes table = content.subspan(kHead);
  const Bytes bytes = table.subspan(*count * sizeof(Entry));
  std::string_view names(reinterpret_cast<const char*>(bytes.data()),
                         bytes.size());
  std::vector<Mapping> files;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto entry = *as<Entry>(table.subspan(i * sizeof(Entry)));
    const std::size_t end = std::min(names.find('\0'), names.size());
    files.push_back({.start = Address{entry.start},
                     .end = Address{entry.end},
                     .offset = entry.page * page_size,
                     .path = std::string(names.substr(0, end))});
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return files;
}

void take(CoreNotes& notes, std::uint32_t type, Bytes content) {
  switch (type) {
    case NT_PRSTATUS:
      if (const auto status = as<elf_prstatus>(content)) {
        CoreThread thread{.tid = status->pr_pid};
        static_assert(sizeof thread.registers == sizeof status->pr_reg);
        std::memcpy(&thread.registers, &status->pr_reg,
                    sizeof thread.registers);
        notes.threads.push_back(thread);
        if (!notes.signal && status->pr_cursig != 0) {
          notes.signal = CoreSignal{.number = status->pr_cursig};
        }
      }
      break;
    case NT_PRPSINFO:
      if (const auto info = as<elf_prpsinfo>(content)) {
        notes.pid = info->pr_pid;
        notes.program = text_in(info->pr_fname, sizeof info->pr_fname);
        notes.arguments =
            trim(text_in(info->pr_psargs, sizeof info->pr_psargs));
      }
      break;
    case NT_SIGINFO:
      if (const auto info = as<siginfo_t>(content);
          info && info->si_signo != 0) {
        notes.signal = signal_in(*info);
      }
      break;
    case NT_FILE:
      notes.files = mapped_files(content);
      break;
    default:
      break;
  }
}

}  // namespace

Result<CoreNotes> parse_core_notes(std::span<const std::byte> bytes) {
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~3ULL; };
  CoreNotes notes;
  while (const auto head = as<Elf64_Nhdr>(bytes)) {
    const std::uint64_t content_at = sizeof *head + padded(head->n_namesz);
    const std::uint64_t end = content_at + head->n_descsz;
    if (end > bytes.size()) {
      break;
    }
    const auto* const name =
        reinterpret_cast<const char*>(bytes.data()) + sizeof *head;
    if (std::string_view(name, head->n_namesz).starts_with("CORE")) {
      take(notes, head->n_type, bytes.subspan(content_at, head->n_descsz));
    }
    bytes = bytes.subspan(std::min<std::size_t>(padded(end), bytes.size()));
  }
  if (notes.threads.empty()) {
    return fail(ErrorId::Unreadable, "it names no threads");
  }
  if (notes.pid == 0) {
    notes.pid = notes.threads.front().tid;
  }
  return notes;
}

}  // namespace hangdbg
