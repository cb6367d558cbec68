#include "inspector/host/library_version.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/folder.h"
#include "base/text.h"
#include "tracee/elf/elf_file.h"

namespace hangdbg {
namespace {

// What precedes its version in a library's constants.
struct Marker {
  std::string_view family;
  std::string_view text;
};
constexpr std::array kMarkers = {
    Marker{"NCCL", "NCCL version "},
    Marker{"OpenBLAS", "OpenBLAS "},
    Marker{"MPI", "Open MPI v"},
    Marker{"libc", "release version "},
};

// Whose files carry their version in their names. Others have there that of
// their interface.
constexpr std::array<std::string_view, 6> kNamed = {
    "NCCL", "CUDA runtime", "CUDA driver", "cuDNN", "cuBLAS", "HIP"};

constexpr std::size_t kLibraryVersionMostEntries = 20000;  // of a folder

bool is_version_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_version(char c) {
  return is_version_digit(c) || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '.' || c == '+' || c == '_';
}

std::optional<std::string> by_package(const Library& library,
                                      const TargetFiles& files);
std::optional<std::string> by_content(const Library& library,
                                      const Module& module,
                                      const TargetFiles& files);
std::optional<std::string> marked(const ElfFile& elf, const Marker& marker);

}  // namespace

std::optional<std::string> library_version(const Library& library,
                                           const Module& module,
                                           const TargetFiles& files) {
  if (std::ranges::find(kNamed, library.family) != kNamed.end()) {
    if (auto named = version_in_name(library.path)) {
      return named;
    }
  }
  // What lies beside a file that is gone is of another.
  if (!library.deleted) {
    if (auto packed = by_package(library, files)) {
      return packed;
    }
  }
  return by_content(library, module, files);
}

std::optional<std::string> version_in_name(std::string_view path) {
  const auto so = path.rfind(".so.");
  if (so == path.npos) {
    return {};
  }
  const std::string_view version = path.substr(so + 4);
  const bool only = std::ranges::all_of(
      version, [](char c) { return is_version_digit(c) || c == '.'; });
  return only && version.find('.') != version.npos
             ? std::optional(std::string(version))
             : std::nullopt;
}

std::optional<std::string> version_in_entries(
    const std::vector<std::string>& entries,
    std::string_view package) {
  for (const std::string_view entry : entries) {
    const bool wheel = entry.ends_with(".dist-info");
    const bool conda = entry.ends_with(".json");
    if ((!wheel && !conda) || !entry.starts_with(package)) {
      continue;
    }
    std::string_view rest = entry.substr(package.size());
    if (wheel && rest.starts_with("_cu")) {
      rest.remove_prefix(std::min(rest.size(), rest.find('-')));
    }
    if (rest.size() < 2 || rest[0] != '-' || !is_version_digit(rest[1])) {
      continue;
    }
    rest.remove_prefix(1);
    // "2.21.5.dist-info", "2.21.5-h6b2a3_0.json"
    const std::size_t end = rest.find_first_of('-');
    return std::string(wheel ? rest.substr(0, rest.rfind(".dist-info"))
                             : rest.substr(0, end));
  }
  return {};
}

std::optional<std::string> version_after(std::string_view text,
                                         std::string_view marker) {
  for (auto at = text.find(marker); at != text.npos;
       at = text.find(marker, at + 1)) {
    const std::string_view rest = text.substr(at + marker.size());
    const auto end = std::ranges::find_if_not(rest, is_version);
    std::string_view version(rest.begin(), end);
    while (version.ends_with('.')) {
      version.remove_suffix(1);
    }
    if (!version.empty() && is_version_digit(version[0]) &&
        version.size() < 40) {
      return std::string(version);
    }
  }
  return {};
}

namespace {

std::vector<std::string> entries_of(const std::string& folder,
                                    const TargetFiles& files) {
  for (const std::string& root : files.roots()) {
    const Folder open = open_folder(root + folder);
    std::vector<std::string> entries;
    while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
      if (entries.size() == kLibraryVersionMostEntries) {
        break;
      }
      entries.emplace_back(entry->d_name);
    }
    if (open) {
      std::ranges::sort(entries);
      return entries;
    }
  }
  return {};
}

// In site-packages by the folder that a wheel's files are in: "torch/lib" is of
// torch, "nvidia/nccl/lib" of nvidia_nccl_cu12. In a conda environment by names
// that it uses.
std::optional<std::string> by_package(const Library& library,
                                      const TargetFiles& files) {
  const std::string_view path = library.path;
  for (const std::string_view site : {"/site-packages/", "/dist-packages/"}) {
    const auto at = path.rfind(site);
    if (at == path.npos) {
      continue;
    }
    const auto below = split(path.substr(at + site.size()), '/');
    std::string package(below[0]);
    if (package == "nvidia" && below.size() > 1) {
      package += "_" + std::string(below[1]);
    }
    auto version = version_in_entries(
        entries_of(std::string(path.substr(0, at + site.size())), files),
        package);
    // numpy's own version is not that of the OpenBLAS in it, nor torch's that
    // of its OpenMP.
    const bool own = package.starts_with("nvidia_") ||
                     (package == "torch" && library.family == "torch") ||
                     (package == "tensorflow" && library.name == "TensorFlow");
    return own ? version : std::nullopt;
  }
  const auto lib = path.rfind("/lib/");
  if (lib == path.npos) {
    return {};
  }
  const auto entries =
      entries_of(std::string(path.substr(0, lib)) + "/conda-meta", files);
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::string_view plain = file.substr(0, file.find_first_of(".-"));
  for (const std::string_view package :
       {plain, plain.substr(std::min<std::size_t>(plain.size(), 3)),
        std::string_view(plain.starts_with("libmkl")    ? "mkl"
                         : plain.starts_with("libiomp") ? "intel-openmp"
                         : plain.starts_with("libomp")  ? "llvm-openmp"
                         : plain.starts_with("libmpi")  ? "openmpi"
                                                        : "?")}) {
    if (auto version = version_in_entries(entries, package)) {
      return version;
    }
  }
  return {};
}

std::optional<std::string> by_content(const Library& library,
                                      const Module& module,
                                      const TargetFiles& files) {
  const auto marker =
      std::ranges::find(kMarkers, library.family, &Marker::family);
  if (marker == kMarkers.end()) {
    return {};
  }
  for (const std::string& way : files.ways_to(module)) {
    const auto bytes = open_file(way);
    if (!bytes || !bytes->is_of(module.segments.front())) {
      continue;
    }
    const auto elf = ElfFile::read(*bytes);
    return elf ? marked(*elf, *marker) : std::nullopt;
  }
  return {};
}

// Piece by piece, each with the end of the one before it.
std::optional<std::string> marked(const ElfFile& elf, const Marker& marker) {
  constexpr std::size_t kPiece = 1U << 20;
  constexpr std::size_t kOverlap = 256;
  auto reader = elf.open_section(".rodata");
  if (!reader || reader->left() > kMostConstants) {
    return {};
  }
  std::string text;
  while (reader->left() > 0) {
    text.erase(0, text.size() - std::min(text.size(), kOverlap));
    const std::size_t kept = text.size();
    text.resize(kept + std::min<std::size_t>(kPiece, reader->left()));
    if (!reader->read(std::as_writable_bytes(std::span(text).subspan(kept)))) {
      return {};
    }
    if (auto version = version_after(text, marker.text)) {
      return version;
    }
  }
  return {};
}

}  // namespace
}  // namespace hangdbg
