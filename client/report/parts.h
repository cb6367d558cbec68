// What a report is made of: one row a part. Each is a command of hangdbg as one
// would type it.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg {

// One command for all processes, or one for each.
enum class PartOf { All, Each };

struct ReportPart {
  std::string name;  // and the file's
  std::string_view what;
  PartOf of;
  std::vector<std::string> words;  // of the command, behind "hangdbg"
  // In which forms: each is asked for by a run of its own.
  bool text, json;
  std::string_view file_type = ".txt";  // of the text
  bool of_jobs_only = false;
  bool code_is_answer = false;     // what it ends with is no failure
  std::chrono::seconds limit{15};  // for one run
};

// In the order of the archive. `locals`: those of each frame as well.
std::vector<ReportPart> report_parts(bool locals);

}  // namespace hangdbg
