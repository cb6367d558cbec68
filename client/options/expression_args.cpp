#include "client/options/expression_args.h"

#include "client/options/job_options.h"

namespace hangdbg {

const char* missing_words(const Question& question) {
  return question.pid().empty() ? "missing arguments: PID and EXPR"
                                : "missing argument: EXPR";
}

void add_question(cli::Command command,
                  Question& question,
                  const char* language) {
  add_pid_option(command, question.target);
  command.add_option("EXPR", question.second, language).bare();
  add_job_options(command, question.job);
  add_place_options(command, question.place);
  add_via_option(command, question.via);
  add_json_option(command, question.common);
  add_common_options(command, question.common);
}

}  // namespace hangdbg
