#include "client/manual.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "client/help.h"
#include "protocol/version.h"

namespace hangdbg {
namespace {

constexpr std::string_view kDescription = R"(.SH DESCRIPTION
.B hangdbg
inspects Python processes that hang.
It says why a process hangs, shows stacks, and evaluates expressions in the hung
frame; the process continues as before.
.PP
A blocked thread has released the GIL: hangdbg starts a thread of its own in the
process, which acquires it.
Nothing is stopped, except for the moment in which one thread is hijacked to
start that thread.
.PP
Without a PID, a command uses the only job on this machine, or else the only hung
process.
Without a COMMAND, hangdbg runs
.BR "hangdbg ps" .
)";

constexpr std::string_view kRest = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
The request failed: the expression raised an exception or is not valid Python, or
some of the processes could not be read.
.TP
.B 2
Usage error; no such process, thread or frame; or not a Python process.
.TP
.B 3
Not permitted.
.TP
.B 4
The process cannot be reached now, or the timeout expired; the message says what
to try.
.TP
.B 130
Ctrl-C.
.SH JSON
With
.B \-\-json
standard output contains one document, or with
.BR trace " and " break
one object per line.
A command that fails, also by a usage error, prints
.RS
{"error": {"type": ..., "message": ..., "hint": ...}}
.RE
instead; if the answer covers several processes, the error is part of the entry of
its process.
The exit status is the same as without
.BR \-\-json .
Messages for people go to standard error.
.SH ENVIRONMENT
.TP
.B NO_COLOR
Use no colour, even on a terminal.
.TP
.B HANGDBG_TOKEN
Token for
.BR serve " and " connect .
.TP
.B PYTHONBREAKPOINT=hangdbg.breakpoint
In a program that can import the package: breakpoint() waits for
.BR "hangdbg attach" .
.SH FILES
.TP
.I ~/.local/state/hangdbg/history
History of the prompt (or below
.BR XDG_STATE_HOME ).
.TP
.I $XDG_RUNTIME_DIR/hangdbg, /run/hangdbg, /tmp/hangdbg-UID
Since when threads wait that hangdbg has stopped meanwhile.
.SH NOTES
Only the user of a process, or root, may trace it.
.B hangdbg doctor
checks whether attaching is possible, and says how to fix it.
.SH SEE ALSO
.BR gdb (1),
.BR ptrace (2),
.BR proc (5)
)";

std::string overview(const CLI::App& app);
std::string section(const CLI::App& command,
                    const std::set<std::string>& in_all);
std::string option_entry(const CLI::Option& option);
std::set<std::string> options_of_all(const CLI::App& app);
std::string as_is(const std::vector<std::string>& lines);
std::string escaped(std::string_view text);

}  // namespace

std::string manual(const CLI::App& app) {
  const auto in_all = options_of_all(app);
  std::string text = fmt::format(
      ".TH HANGDBG 1 \"\" \"hangdbg {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "hangdbg \\- a debugger for Python processes that hang\n",
      version());
  text +=
      ".SH SYNOPSIS\n"
      "\\fBhangdbg\\fR [\\fICOMMAND\\fR] [\\fIOPTIONS\\fR] "
      "[\\fIARGUMENTS\\fR]\n";
  text += kDescription;
  text += ".SH COMMANDS\n" + overview(app);
  text += ".SH COMMAND REFERENCE\n";
  const CLI::App* any = find_command(app, "ps");
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      text += section(*command, in_all);
    }
  }
  text += ".SH COMMON OPTIONS\n";
  for (const CLI::Option* option : any->get_options()) {
    if (in_all.contains(option->get_name())) {
      text += option_entry(*option);
    }
  }
  text += ".SH EXAMPLES\n" + as_is(help_of(app).examples);
  return text + std::string(kRest);
}

namespace {

// Groups of commands, each with what it does.
std::string overview(const CLI::App& app) {
  std::string text;
  for (const std::string& group : groups_of(app)) {
    text += fmt::format(".SS {}\n", escaped(group));
    for (const CLI::App* command : app.get_subcommands({})) {
      if (command->get_group() == group) {
        text += fmt::format(".TP\n.B {}\n{}.\n", command->get_name(),
                            escaped(command->get_description()));
      }
    }
  }
  return text;
}

// What it does, examples, details, and its own options.
std::string section(const CLI::App& command,
                    const std::set<std::string>& in_all) {
  const CommandHelp help = help_of(command);
  std::string text = fmt::format(".SS hangdbg {}\n", command.get_name()) +
                     as_is(help.usage) +
                     fmt::format("{}.\n", escaped(command.get_description()));
  if (!help.examples.empty()) {
    text += ".PP\nExamples:\n" + as_is(help.examples);
  }
  for (const std::string& paragraph : help.details) {
    text += ".PP\n" + escaped(paragraph) + "\n";
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty() && !in_all.contains(option->get_name())) {
      text += option_entry(*option);
    }
  }
  return text;
}

std::string option_entry(const CLI::Option& option) {
  std::string names;
  const auto add = [&](const std::string& dashes, const std::string& name) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ",
                         escaped(dashes + name));
  };
  if (option.get_positional()) {
    names = "\\fI" + escaped(positional_name(option)) + "\\fR";
  }
  for (const std::string& name : option.get_snames()) {
    add("-", name);
  }
  for (const std::string& name : option.get_lnames()) {
    add("--", name);
  }
  if (const std::string value = value_name(option);
      !option.get_positional() && !value.empty()) {
    names += " \\fI" + escaped(value) + "\\fR";
  }
  return fmt::format(".TP\n{}\n{}.\n", names, escaped(option_help(option)));
}

// By their whole names, as CLI11 has them.
std::set<std::string> options_of_all(const CLI::App& app) {
  std::set<std::string> found;
  for (const std::string_view name :
       {"--help", "--color", "--timeout", "--json", "--log"}) {
    const auto* const option =
        app.get_subcommand("ps")->get_option_no_throw(std::string(name));
    if (option != nullptr) {
      found.insert(option->get_name());
    }
  }
  return found;
}

// Lines that are not filled.
std::string as_is(const std::vector<std::string>& lines) {
  std::string page = ".PP\n.nf\n";
  for (const std::string& line : lines) {
    page += "  " + escaped(line) + "\n";
  }
  return page + ".fi\n.PP\n";
}

// A line may not begin with what is a request to troff.
std::string escaped(std::string_view text) {
  std::string safe =
      text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char letter : text) {
    switch (letter) {
      case '\\':
        safe += "\\e";
        break;
      case '-':
        safe += "\\-";
        break;
      case '`':
        safe += "\\(ga";
        break;
      case '\'':
        safe += "\\(aq";
        break;
      case '^':
        safe += "\\(ha";
        break;
      case '~':
        safe += "\\(ti";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

}  // namespace
}  // namespace hangdbg
