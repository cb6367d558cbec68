// How `hangdbg tree` shows the processes around one.
#pragma once

#include <string>
#include <vector>

#include "client/terminal/render.h"
#include "diagnosis/evidence/tree.h"
#include "diagnosis/survey/survey.h"
#include "protocol/json.h"

namespace hangdbg {

// And which of those that run Python hang.
struct ShownTree {
  SeenTree tree;
  std::vector<SurveyedProcess> surveyed;
};

std::string process_tree_text(const ShownTree& shown, const Palette& out);
Json process_tree_json(const ShownTree& shown);

}  // namespace hangdbg
