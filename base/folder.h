// A folder that is open, to be read by readdir(3).
#pragma once

#include <dirent.h>

#include <memory>
#include <string>

#include "base/fd.h"

namespace hangdbg {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// Empty, with errno, if it cannot be opened.
inline Folder open_folder(const std::string& path) {
  Folder folder(::opendir(path.c_str()));
  if (!folder) {
    note_refused_descriptor();
  }
  return folder;
}

}  // namespace hangdbg
