#include "client/manual.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "protocol/version.h"

namespace hangdbg {
namespace {

constexpr std::string_view kDescription = R"(.SH DESCRIPTION
.B hangdbg
attaches to a Python process that hangs, asks the hung frame any expression, and
leaves; the process goes on as if nobody had been there.
A thread that is blocked has released the GIL: hangdbg starts a thread of its own
in the process, which takes it.
Nothing is stopped, but for the moment in which one thread is borrowed to start
that.
.PP
.BR ps ", " dump ", " peek ", " dist ", " fds ", " around ", " threads ", "
.BR locks ", " net ", " tree " and " core
.BR ps ", " dump ", " peek ", " dist ", " fds ", " around ", " threads ", "
.BR locks ", " net ", " tree ", " report " and " core
only read: no code runs in the process.
.PP
Without a PID the only job here is meant, or the only process that hangs.
Without a COMMAND,
.B hangdbg ps
is meant.
)";

constexpr std::string_view kRest = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
The thing asked for failed: the expression raised, or is no Python; or some of
the processes could not be read.
.TP
.B 2
Wrong usage; no such process, thread or frame; or not Python.
.TP
.B 3
Not permitted.
.TP
.B 4
It cannot be reached now, or time is up; the message says what to try.
.TP
.B 130
Ctrl-C.
.SH JSON
With
.B \-\-json
standard output holds one document, or with
.BR trace " and " break
an object a line.
A command that has no answer, also one that is used wrongly, prints
.RS
{"error": {"type": ..., "message": ..., "hint": ...}}
.RE
in its place; where an answer is about several processes, the error is beside the
process that it is of.
The exit status is the same as without
.BR \-\-json .
What is only for people to read is on standard error.
.SH ENVIRONMENT
.TP
.B NO_COLOR
No colour, whatever is a terminal.
.TP
.B HANGDBG_TOKEN
The token of
.BR serve " and " connect .
.TP
.B PYTHONBREAKPOINT=hangdbg.breakpoint
In a program that has the package: breakpoint() waits for
.BR "hangdbg attach" .
.SH FILES
.TP
.I ~/.local/state/hangdbg/history
What was typed at the prompt (or below
.BR XDG_STATE_HOME ).
.SH NOTES
You need the right to trace the process: its user, or root.
.B hangdbg doctor
says what is missing, and what mends it.
.SH SEE ALSO
.BR gdb (1),
.BR ptrace (2),
.BR proc (5)
)";

std::string synopsis(const CLI::App& app);
std::string section(const CLI::App& command,
                    const std::set<std::string>& in_all);
std::string option_entry(const CLI::Option& option);
std::set<std::string> options_of_all(const CLI::App& app);
std::string footer(const std::string& text);
std::string escaped(std::string_view text);

}  // namespace

std::string manual(const CLI::App& app) {
  const auto in_all = options_of_all(app);
  std::string text = fmt::format(
      ".TH HANGDBG 1 \"\" \"hangdbg {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "hangdbg \\- a debugger for Python processes that hang\n",
      version());
  text += synopsis(app);
  text += kDescription;
  text += ".SH COMMANDS\n";
  const CLI::App* any = nullptr;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      text += section(*command, in_all);
      any = command->get_name() == "ps" ? command : any;
    }
  }
  text += ".SH OPTIONS OF ALL COMMANDS\n";
  for (const CLI::Option* option : any->get_options()) {
    if (in_all.contains(option->get_name())) {
      text += option_entry(*option);
    }
  }
  text += ".SH EXAMPLES\n" + footer(app.get_footer());
  return text + std::string(kRest);
}

namespace {

std::string synopsis(const CLI::App& app) {
  std::string text = ".SH SYNOPSIS\n.nf\n\\fBhangdbg\\fR\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      text += fmt::format("\\fBhangdbg {}\\fR ...\n", command->get_name());
    }
  }
  return text + ".fi\n";
}

// What it does, its own options, and then what its help says below them.
std::string section(const CLI::App& command,
                    const std::set<std::string>& in_all) {
  std::string usage;
  std::string options;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) {
      continue;
    }
    if (option->get_positional()) {
      const std::string name = escaped(option->get_single_name());
      const std::string many =
          option->get_items_expected_max() > 1 ? "..." : "";
      const std::string one = "\\fI" + name + "\\fR" + many;
      usage += option->get_required() ? " " + one : " [" + one + "]";
    }
    if (!in_all.contains(option->get_name())) {
      options += option_entry(*option);
    }
  }
  return fmt::format(
             ".SS hangdbg {}\n\\fBhangdbg {}\\fR [\\fIOPTIONS\\fR]{}\n"
             ".PP\n{}.\n",
             command.get_name(), command.get_name(), usage,
             escaped(command.get_description())) +
         options + footer(command.get_footer());
}

std::string option_entry(const CLI::Option& option) {
  std::string names;
  const auto add = [&](const std::string& dashes, const std::string& name) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ",
                         escaped(dashes + name));
  };
  if (option.get_positional()) {
    names = "\\fI" + escaped(option.get_single_name()) + "\\fR";
  }
  for (const std::string& name : option.get_snames()) {
    add("-", name);
  }
  for (const std::string& name : option.get_lnames()) {
    add("--", name);
  }
  // Without what CLI11 adds to it: "SECONDS:FLOAT in [1 - 9]".
  const std::string type = option.get_type_name();
  if (!option.get_positional() && option.get_items_expected_max() > 0) {
    const auto end = type.find(type.starts_with("AREA") ? '\0' : ':');
    names += " \\fI" + escaped(std::string_view(type).substr(0, end)) + "\\fR";
  }
  return fmt::format(".TP\n{}\n{}.\n", names,
                     escaped(option.get_description()));
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

// Sentences are filled; what is indented, and the commands, stays as it is.
std::string footer(const std::string& text) {
  std::string page = ".PP\n";
  bool as_is = false;
  for (const std::string_view line : split(text, '\n')) {
    const bool indented = line.starts_with("  ");
    if (line.empty() || line == "Examples:" || line == "Example:") {
      page += as_is ? ".fi\n" : "";
      as_is = false;
      page += line.empty() ? ".PP\n" : ".PP\nExamples:\n";
      continue;
    }
    if (indented != as_is) {
      page += indented ? ".PP\n.nf\n" : ".fi\n.PP\n";
      as_is = indented;
    }
    page += escaped(line) + "\n";
  }
  return page + (as_is ? ".fi\n" : "");
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
