#include "client/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "client/commands/around.h"
#include "client/commands/attach.h"
#include "client/commands/break.h"
#include "client/commands/completion.h"
#include "client/commands/connect.h"
#include "client/commands/core.h"
#include "client/commands/dap.h"
#include "client/commands/diagnose.h"
#include "client/commands/diff.h"
#include "client/commands/dist.h"
#include "client/commands/doctor.h"
#include "client/commands/dump.h"
#include "client/commands/eval.h"
#include "client/commands/fds.h"
#include "client/commands/locks.h"
#include "client/commands/merge.h"
#include "client/commands/net.h"
#include "client/commands/peek.h"
#include "client/commands/ps.h"
#include "client/commands/report.h"
#include "client/commands/run.h"
#include "client/commands/serve.h"
#include "client/commands/threads.h"
#include "client/commands/trace.h"
#include "client/commands/tree.h"
#include "client/manual.h"
#include "client/options/cli.h"
#include "client/run/words.h"
#include "client/terminal/render.h"
#include "protocol/version.h"

namespace hangdbg {
namespace {

void set_up(CLI::App& app,
            cli::Run& chosen,
            std::string_view first,
            const RunWords& run_words);
bool is_json_asked_for(const CLI::App& app, std::span<char* const> words);
int explain(const CLI::App& app, const CLI::ParseError& error);
int exceptions_work();

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("Attach to a hung Python process and ask it anything.",
               "hangdbg");
  cli::Run chosen;
  const std::span words(argv, static_cast<std::size_t>(argc));
  const RunWords run_words = split_run_words(words);
  const std::string_view first = words.size() > 1 ? words[1] : "";
  set_up(app, chosen, first, run_words);
  if (first == "__complete") {
    return print_completions(app, words.subspan(2));
  }
  const auto ours = words.first(words.size() - run_words.program.size());
  const auto choose_answer = [&] {
    if (is_json_asked_for(app, ours)) {
      answer_as_json();
    }
  };
  try {
    app.parse(static_cast<int>(ours.size()), argv);
  } catch (const CLI::ParseError& error) {
    choose_answer();
    return explain(app, error);
  }
  choose_answer();
  return chosen ? chosen() : run_ps();
}

namespace {

// With the command that the first word names, or with all of them.
void set_up(CLI::App& app,
            cli::Run& chosen,
            std::string_view first,
            const RunWords& run_words) {
  app.footer(
      "Examples:\n"
      "  hangdbg                                     what hangs here\n"
      "  hangdbg attach 79655                        a prompt in its hung "
      "frame\n"
      "  hangdbg eval 79655 self.lock_file_path      one expression there\n"
      "  hangdbg dump 79655                          all stacks, nothing runs "
      "in "
      "it\n"
      "  hangdbg peek 79655 self.lock_file_path      one name, nothing runs in "
      "it\n"
      "  hangdbg doctor 79655                        can I attach to it?\n"
      "\n"
      "hangdbg COMMAND --help tells more.");
  app.set_version_flag("--version", std::string("hangdbg ") + version(),
                       "Print the version and leave");
  // One command at most, so that an expression called "attach" is none.
  app.require_subcommand(0, 1);
  app.add_flag_callback("--self-test-exception",
                        [&chosen] { chosen = exceptions_work; })
      ->group("");
  app.add_flag_callback("--manual",
                        [&] {
                          chosen = [&app] {
                            print_now(stdout, manual(app));
                            return 0;
                          };
                        })
      ->group("");
  const cli::Command program(app, chosen);
  const std::pair<std::string_view, std::function<void()>> commands[] = {
      {"ps", [&] { add_ps(program); }},
      {"eval", [&] { add_eval(program); }},
      {"attach", [&] { add_attach(program); }},
      {"dump", [&] { add_dump(program); }},
      {"peek", [&] { add_peek(program); }},
      {"merge", [&] { add_merge(program); }},
      {"break", [&] { add_break(program); }},
      {"dist", [&] { add_dist(program); }},
      {"diagnose", [&] { add_diagnose(program); }},
      {"fds", [&] { add_fds(program); }},
      {"threads", [&] { add_threads(program); }},
      {"around", [&] { add_around(program); }},
      {"locks", [&] { add_locks(program); }},
      {"tree", [&] { add_tree(program); }},
      {"net", [&] { add_net(program); }},
      {"report", [&] { add_report(program); }},
      {"diff", [&] { add_diff(program); }},
      {"trace", [&] { add_trace(program); }},
      {"connect", [&] { add_connect(program); }},
      {"core", [&] { add_core(program); }},
      {"dap", [&] { add_dap(program); }},
      {"doctor", [&] { add_doctor(program); }},
      {"serve", [&] { add_serve(program); }},
      {"run", [&] { add_run(program, run_words); }},
      {"completion", [&] { add_completion(program); }},
  };
  // To make those that nobody asks for takes a tenth of a small dump's time.
  const auto* const named = std::ranges::find(
      commands, first, [](const auto& each) { return each.first; });
  if (named != std::end(commands)) {
    named->second();
  } else {
    for (const auto& [name, add] : commands) {
      add();
    }
  }
}

// Also where the parser gave up before it came to that word.
bool is_json_asked_for(const CLI::App& app, std::span<char* const> words) {
  for (const CLI::App* const command : app.get_subcommands()) {
    const CLI::Option* const flag = command->get_option_no_throw("--json");
    if (flag != nullptr && flag->count() > 0) {
      return true;
    }
  }
  for (const std::string_view word : words) {
    if (word == "--json" || word == "-j") {
      return true;
    }
    if (word == "--") {
      break;  // what follows is no option
    }
  }
  return false;
}

// Help and version are "errors" to CLI11; the others are one line and a hint.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    return app.exit(error);
  }
  const auto commands = app.get_subcommands();
  const std::string name =
      commands.empty() ? "hangdbg" : "hangdbg " + commands[0]->get_name();
  return report({.id = ErrorId::Usage,
                 .message = printable(error.what()),
                 .hint = name + " --help"},
                Palette(ColourChoice::Auto, stderr));
}

[[gnu::noinline]] void raise() {
  throw std::runtime_error("raised");
}

// Whether an exception gets past a function of the static program: it would
// not if libunwind's unwinder had taken the place of libgcc's.
int exceptions_work() {
  try {
    raise();
  } catch (const std::runtime_error& error) {
    say("caught: {}\n", error.what());
    return 0;
  }
  return 1;
}

}  // namespace
}  // namespace hangdbg
