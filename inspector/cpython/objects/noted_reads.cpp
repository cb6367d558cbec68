#include "inspector/cpython/objects/noted_reads.h"

#include <algorithm>

namespace hangdbg {
namespace {

thread_local ReadNotes* t_notes = nullptr;

}  // namespace

void ReadNotes::add(Address from, std::span<const std::byte> bytes) {
  std::vector<std::byte>& noted = notes_[from];
  if (noted.size() < bytes.size()) {
    noted.assign(bytes.begin(), bytes.end());
  }
}

bool ReadNotes::hold(const MemoryReader& memory) const {
  std::size_t size = 0;
  for (const auto& [from, bytes] : notes_) {
    size += bytes.size();
  }
  std::vector<std::byte> now(size);
  std::vector<MemoryReader::Piece> pieces;
  pieces.reserve(notes_.size());
  std::size_t at = 0;
  for (const auto& [from, bytes] : notes_) {
    pieces.push_back({from, std::span(now).subspan(at, bytes.size())});
    at += bytes.size();
  }
  if (pieces.empty() || memory.read_each(pieces) != pieces.size()) {
    return false;
  }
  auto piece = pieces.begin();
  return std::ranges::all_of(notes_, [&](const auto& note) {
    return std::ranges::equal(note.second, (piece++)->out);
  });
}

NoteTaker::NoteTaker(ReadNotes& notes) {
  t_notes = &notes;
}

NoteTaker::~NoteTaker() {
  t_notes = nullptr;
}

void note_read(Address from, std::span<const std::byte> bytes) {
  if (t_notes != nullptr) {
    t_notes->add(from, bytes);
  }
}

}  // namespace hangdbg
