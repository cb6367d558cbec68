// The stacks of many machines as one tree: for `merge`, and for `dump --merge`
// on the nodes of --via.
#pragma once

#include "base/result.h"
#include "client/nodes/gather.h"
#include "client/views/dump/gathered.h"
#include "client/views/dump/picture_file.h"

namespace hangdbg {

struct MergedTreeOptions {
  const CommonOptions& common;
  const PictureOptions& picture;
  bool full_filenames = false;
};

// 1 if some could not be read. Errors: Usage, of a picture.
Result<int> show_merged_tree(const GatheredDumps::Merged& merged,
                             const MergedTreeOptions& options);

// `dump --merge --via HOW`: the exit code.
Result<int> merge_from_nodes(const ViaOption& via,
                             const MergedTreeOptions& options);

}  // namespace hangdbg
