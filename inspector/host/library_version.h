// Which version of a library a process has: by what package it came in, by its
// file's name, or by what it says of itself in its constants.
#pragma once

#include <optional>
#include <string>

#include "inspector/host/libraries.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

std::optional<std::string> library_version(const Library& library,
                                           const Module& module,
                                           const TargetFiles& files);

// In a file's name: "libcudart.so.12.4.127" is "12.4.127". None, where there is
// only the number of its interface: "libnccl.so.2".
std::optional<std::string> version_in_name(std::string_view path);

// That of a package whose files lie in a folder, by the names of these:
// "nvidia_nccl_cu12-2.21.5.dist-info" for "nvidia_nccl_cu12" or the beginning
// "nvidia_nccl".
std::optional<std::string> version_in_entries(
    const std::vector<std::string>& entries,
    std::string_view package);

// What follows `marker` in some text.
std::optional<std::string> version_after(std::string_view text,
                                         std::string_view marker);

}  // namespace hangdbg
