#include "client/question.h"

#include "client/ranks/job_options.h"

#include <CLI/CLI.hpp>

namespace hangdbg {

void add_question(CLI::App& command, Question& question, const char* language) {
  add_pid_option(command, question.target);
  command.add_option("EXPR", question.second, language)
      ->type_name("")
      ->option_text(" ");
  add_job_options(command, question.job);
  add_place_options(command, question.place);
  add_json_option(command, question.common);
  add_common_options(command, question.common);
}

}  // namespace hangdbg
