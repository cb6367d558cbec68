#include "client/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

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
#include "client/commands/node.h"
#include "client/commands/peek.h"
#include "client/commands/ps.h"
#include "client/commands/record.h"
#include "client/commands/report.h"
#include "client/commands/run.h"
#include "client/commands/serve.h"
#include "client/commands/threads.h"
#include "client/commands/top.h"
#include "client/commands/trace.h"
#include "client/commands/tree.h"
#include "client/help.h"
#include "client/manual.h"
#include "client/options/cli.h"
#include "client/run/words.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "client/usage_error.h"
#include "protocol/version.h"

namespace hangdbg {
namespace {

void set_up(CLI::App& app,
            cli::Run& chosen,
            std::string_view first,
            const RunWords& run_words);
void add_help(const cli::Command& program, const CLI::App& app);
void add_version(const cli::Command& program);
std::string help_here(const CLI::App& app);
std::string version_line();
bool is_json_asked_for(const CLI::App& app, std::span<char* const> words);
int explain(const CLI::App& app, const CLI::ParseError& error);
int exceptions_work();

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app(
      "hangdbg says why a Python process hangs, and opens a prompt inside it.",
      "hangdbg");
  cli::Run chosen;
  const std::span words(argv, static_cast<std::size_t>(argc));
  const RunWords run_words = split_run_words(words);
  const std::string_view first = words.size() > 1 ? words[1] : "";
  remember_typed(words);
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
  app.formatter_fn([](const CLI::App* one, const std::string&,
                      CLI::AppFormatMode) { return help_here(*one); });
  app.footer(
      "Examples:\n"
      "  hangdbg                                  list what hangs here\n"
      "  hangdbg diagnose 79655                   say why it hangs\n"
      "  hangdbg dump 79655                       show all stacks\n"
      "  hangdbg attach 79655                     open a prompt in the hung "
      "frame\n"
      "  hangdbg eval 79655 self.lock_file_path   evaluate one expression "
      "there\n"
      "  hangdbg doctor 79655                     check whether attaching is "
      "possible\n"
      "\n"
      "`hangdbg help COMMAND` shows the options and examples of a command.");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("-V,--version", version_line(),
                       "Print the version and exit");
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
  constexpr std::string_view kFind = "See what hangs";
  constexpr std::string_view kLook = "Look without running code in the process";
  constexpr std::string_view kAsk = "Ask and debug";
  constexpr std::string_view kJobs = "Jobs and ranks";
  constexpr std::string_view kKeep = "Record and hand on";
  constexpr std::string_view kServe = "Editors and servers";
  constexpr std::string_view kMore = "More";
  constexpr std::string_view kHidden;  // of other machines (--via)
  struct Row {
    std::string_view name;
    std::string_view group;
    std::function<void()> add;
    std::string_view alias = {};
  };
  const Row commands[] = {
      {"ps", kFind, [&] { add_ps(program); }},
      {"diagnose", kFind, [&] { add_diagnose(program); }},
      {"tree", kFind, [&] { add_tree(program); }},
      {"dump", kLook, [&] { add_dump(program); }},
      {"peek", kLook, [&] { add_peek(program); }},
      {"threads", kLook, [&] { add_threads(program); }},
      {"locks", kLook, [&] { add_locks(program); }},
      {"fds", kLook, [&] { add_fds(program); }},
      {"net", kLook, [&] { add_net(program); }},
      {"trace", kLook, [&] { add_trace(program); }},
      {"host", kLook, [&] { add_around(program); }, "around"},
      {"top", kLook, [&] { add_top(program); }},
      {"core", kLook, [&] { add_core(program); }},
      {"attach", kAsk, [&] { add_attach(program); }},
      {"eval", kAsk, [&] { add_eval(program); }},
      {"run", kAsk, [&] { add_run(program, run_words); }},
      {"break", kJobs, [&] { add_break(program); }},
      {"dist", kJobs, [&] { add_dist(program); }},
      {"merge", kJobs, [&] { add_merge(program); }},
      {"record", kKeep, [&] { add_record(program, run_words); }},
      {"report", kKeep, [&] { add_report(program); }},
      {"diff", kKeep, [&] { add_diff(program); }},
      {"dap", kServe, [&] { add_dap(program); }},
      {"serve", kServe, [&] { add_serve(program); }},
      {"connect", kServe, [&] { add_connect(program); }},
      {"doctor", kMore, [&] { add_doctor(program); }},
      {"completion", kMore, [&] { add_completion(program); }},
      {"node", kHidden, [&] { add_node(program); }},
      {"help", kMore, [&] { add_help(program, app); }},
      {"version", kMore, [&] { add_version(program); }},
  };
  const auto add = [&](const Row& row) {
    row.add();
    CLI::App* const added = app.get_subcommand(std::string(row.name));
    added->group(std::string(row.group));
    added->get_help_ptr()->group("Common options");
  };
  // To make those that are not needed takes a tenth of a small dump's time.
  const auto* const named = std::ranges::find_if(commands, [&](const Row& row) {
    return row.name == first || (row.alias == first && !first.empty());
  });
  if (named != std::end(commands) && named->name != "help") {
    add(*named);
  } else {
    std::ranges::for_each(commands, add);
  }
}

void add_help(const cli::Command& program, const CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  const cli::Command command =
      program.add_command("help", "Show the help of a command");
  command.add_option("COMMAND", *name, "Command to explain").type_name("HELP");
  command.footer(
      "Examples:\n"
      "  hangdbg help\n"
      "  hangdbg help diagnose");
  command.runs([name, &app] {
    const CLI::App* const asked =
        name->empty() ? &app : find_command(app, *name);
    if (asked == nullptr) {
      return report(unknown_command(app, *name),
                    Palette(ColourChoice::Auto, stderr));
    }
    print_now(stdout, help_here(*asked));
    return 0;
  });
}

void add_version(const cli::Command& program) {
  program.add_command("version", "Print the version").runs([] {
    print_now(stdout, version_line() + "\n");
    return 0;
  });
}

std::string help_here(const CLI::App& app) {
  return help_text(app, static_cast<std::size_t>(terminal_columns()),
                   Palette(ColourChoice::Auto, stdout));
}

std::string version_line() {
  return std::string("hangdbg ") + version();
}

// Also where the parser gave up before it reached that word.
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
  return report(usage_error(app, error), Palette(ColourChoice::Auto, stderr));
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
