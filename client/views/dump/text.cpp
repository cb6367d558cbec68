#include "client/views/dump/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "client/views/dump/greenlets.h"
#include "client/views/dump/tasks.h"

namespace hangdbg {
namespace {

// So many equal frames in a row are shown before the rest is counted.
constexpr int kRepeats = 3;

// C functions of a stack that could not be merged.
constexpr std::size_t kMostUnmerged = 64;

struct Printer {
  const DumpStyle& style;
  const Palette& out;
  SourceText source;
  std::string text = {};

  void head(const ProcessDump& dump);
  void thread(const DumpedThread& thread);
  void frames(const DumpedThread& thread);
  void entry(const DumpedThread& thread, const StackEntry& entry);
  void frame(const PythonFrame& frame);
  void native(const NativeSymbol& symbol);
  void locals(const std::vector<DumpedVariable>& variables);
  void source_of(const std::string& file,
                 int here,
                 const SourceSpan& span = {});
  void line(const std::string& one) { text += one + '\n'; }
};

std::string gil_text(const ProcessDump& dump) {
  if (!dump.gil) {
    return dump.free_threaded ? " · no GIL" : "";
  }
  if (!dump.gil->locked) {
    return " · GIL free";
  }
  return dump.gil->holder ? fmt::format(" · GIL held by {}", *dump.gil->holder)
                          : " · GIL held";
}

std::string rank_text(const ProcessDump& dump) {
  return dump.rank
             ? fmt::format(" · {}rank {}{}",
                           dump.rank->child ? "child of " : "", dump.rank->rank,
                           dump.rank->world_size
                               ? fmt::format(" of {}", *dump.rank->world_size)
                               : "")
             : "";
}

std::string call_text(const DumpedCall& call) {
  std::string text = call.name + "(";
  for (const std::string& argument : call.arguments) {
    text += (text.back() == '(' ? "" : ", ") + argument;
  }
  return text + ")";
}

// Equal frames are told apart by their locals, where those are shown.
bool is_same(const DumpedThread& thread,
             const StackEntry& one,
             const StackEntry& other) {
  if (one.kind != other.kind) {
    return false;
  }
  if (one.kind == StackEntry::Kind::Native) {
    return one.native.text() == other.native.text();
  }
  const PythonFrame& a = thread.stack.frames[one.frame];
  const PythonFrame& b = thread.stack.frames[other.frame];
  return std::min(one.frame, other.frame) >= thread.locals.size() &&
         a.line == b.line && a.first_line == b.first_line &&
         a.function == b.function && a.file == b.file;
}

// Which part of its line runs, unless that is all of it: "     ^^^^^^". Columns
// count bytes.
std::string marks_below(const SourceSpan& span, std::string_view line) {
  if (span.end_line != span.line || span.column < 0 ||
      span.end_column <= span.column ||
      static_cast<std::size_t>(span.end_column) > line.size()) {
    return {};
  }
  const auto part =
      line.substr(static_cast<std::size_t>(span.column),
                  static_cast<std::size_t>(span.end_column - span.column));
  if (part == trim(line)) {
    return {};
  }
  const auto is_letter = [](char byte) { return (byte & 0xc0) != 0x80; };
  std::string marks;
  for (const char byte :
       line.substr(0, static_cast<std::size_t>(span.column))) {
    if (is_letter(byte)) {
      marks += byte == '\t' ? '\t' : ' ';
    }
  }
  return marks.append(
      static_cast<std::size_t>(std::ranges::count_if(part, is_letter)), '^');
}

std::string end_text(const DumpedEnd& end) {
  return fmt::format(
      "{} in thread {}{}", end.signal, end.tid,
      end.address  ? fmt::format(", address {:#x}", end.address->value)
      : end.sender ? fmt::format(", sent by process {}", *end.sender)
                   : "");
}

}  // namespace

std::string dump_text(const ProcessDump& dump,
                      const DumpStyle& style,
                      const Palette& out) {
  Printer printer{
      style, out,
      style.sysroot.empty() ? SourceText(dump.pid) : SourceText(style.sysroot)};
  printer.head(dump);
  for (const DumpedThread& thread : dump.threads) {
    printer.thread(thread);
  }
  if (dump.tasks) {
    printer.text += tasks_text(*dump.tasks, style.full_filenames, out);
  }
  if (dump.greenlets) {
    printer.text += greenlets_text(*dump.greenlets, style.full_filenames, out);
  }
  return printer.text;
}

namespace {

void Printer::head(const ProcessDump& dump) {
  std::string command;
  for (const std::string& word : dump.command_line) {
    command += (command.empty() ? "" : " ") + word;
  }
  const std::string age =
      dump.age_s ? " · up " + human_duration(std::chrono::nanoseconds(
                                  static_cast<std::int64_t>(*dump.age_s * 1e9)))
                 : "";
  line(fmt::format("{}{} · python {}{} · {}{}{}",
                   out.bold(fmt::format("Process {}", dump.pid)),
                   rank_text(dump), dump.python, dump.free_threaded ? "t" : "",
                   printable(command), age, gil_text(dump)));
  if (!dump.note.empty()) {
    line(out.red(dump.note));
  }
  if (dump.end) {
    line("Ended by " + out.red(end_text(*dump.end)));
  }
}

void Printer::thread(const DumpedThread& thread) {
  std::string head =
      out.bold(thread.tid ? fmt::format("Thread {}", *thread.tid)
                          : fmt::format("Thread (ident {:#x})", thread.ident));
  if (!thread.name.empty()) {
    head += fmt::format(" \"{}\"", printable(thread.name));
  }
  if (thread.interpreter != 0) {
    head += fmt::format(" · interpreter {}", thread.interpreter);
  }
  if (!thread.state.empty()) {
    head += " · " + thread.state;
  }
  if (thread.has_gil) {
    head += " · " + out.cyan("holds the GIL");
  }
  if (thread.collects_garbage) {
    head += " · collecting garbage";
  }
  if (thread.call && !thread.call->arguments.empty()) {
    head += out.dim(" · " + call_text(*thread.call));
  }
  if (!thread.stack.exact && !thread.error) {
    head += " · " + out.red("was running: its frames may be inconsistent");
  } else if (!thread.locals.empty() && !thread.locals_exact) {
    head += " · " + out.red("resumed: its locals may be newer than its frames");
  }
  line(head);
  if (thread.exception) {
    line("    " + out.dim("while it handles ") + thread.exception->text);
  }
  if (thread.error) {
    line("    " + out.red("cannot be read: ") +
         printable(thread.error->text()));
  } else {
    frames(thread);
  }
}

void Printer::frames(const DumpedThread& thread) {
  const auto entries = thread.entries();
  if (entries.empty()) {
    line("    " + out.dim("(runs no Python)"));
  }
  if (thread.merged && !thread.merged->merged) {
    line("    " + out.red("not merged: ") + printable(thread.merged->reason));
  }
  const std::size_t most = thread.merged && !thread.merged->merged
                               ? thread.stack.frames.size() + kMostUnmerged
                               : entries.size();
  for (auto at = entries.begin(); at != entries.end();) {
    if (static_cast<std::size_t>(at - entries.begin()) >= most) {
      line("    " +
           out.dim(fmt::format("({} more C functions)", entries.end() - at)));
      break;
    }
    const auto end = std::find_if_not(
        at + 1, entries.end(),
        [&](const StackEntry& other) { return is_same(thread, *at, other); });
    const auto repeats = end - at;
    const auto shown = repeats > kRepeats + 1 ? at + kRepeats : end;
    std::for_each(at, shown, [&](const StackEntry& e) { entry(thread, e); });
    if (shown != end) {
      line("    " + out.dim(fmt::format("(repeated {} more times)",
                                        repeats - kRepeats)));
    }
    at = end;
  }
  if (thread.merged && thread.merged->merged && !thread.merged->complete) {
    line("    " +
         out.dim(fmt::format("({})", printable(thread.merged->reason))));
  }
  if (!thread.stack.complete) {
    line("    " + out.dim("(more omitted)"));
  }
}

void Printer::entry(const DumpedThread& thread, const StackEntry& entry) {
  if (entry.kind == StackEntry::Kind::Native) {
    native(entry.native);
    return;
  }
  frame(thread.stack.frames[entry.frame]);
  if (entry.frame < thread.locals.size()) {
    locals(thread.locals[entry.frame]);
  }
}

void Printer::frame(const PythonFrame& frame) {
  line("    " + listed_frame(frame.qualname, frame.file, frame.line,
                             style.full_filenames, out));
  source_of(frame.file, frame.line, frame.span);
}

// Where a library was built says nothing here.
void Printer::native(const NativeSymbol& symbol) {
  if (symbol.line == 0) {
    line("    " + out.dim(printable(symbol.text())));
    return;
  }
  const std::string file = style.full_filenames
                               ? symbol.file
                               : symbol.file.substr(symbol.file.rfind('/') + 1);
  line("    " + out.dim(fmt::format("{} ({}:{}, {})", printable(symbol.name()),
                                    printable(file), symbol.line,
                                    printable(symbol.module))));
  source_of(symbol.file, symbol.line);
}

void Printer::locals(const std::vector<DumpedVariable>& variables) {
  for (const DumpedVariable& variable : variables) {
    line(fmt::format("        {} = {}", out.dim(printable(variable.name)),
                     variable.text));
  }
}

void Printer::source_of(const std::string& file,
                        int here,
                        const SourceSpan& span) {
  if (style.source_lines == 0) {
    return;
  }
  const auto& lines = source.lines(file);
  const int count = static_cast<int>(lines.size());
  if (here < 1 || here > count) {
    return;
  }
  const int first = std::max(1, here - style.source_lines / 2);
  const int last = std::min(count, first + style.source_lines - 1);
  for (int number = first; number <= last; ++number) {
    const bool is_here = number == here;
    const std::string& source_line =
        lines[static_cast<std::size_t>(number) - 1];
    const std::string text = fmt::format("      {:>5} {} {}", number,
                                         is_here ? "->" : "  ", source_line);
    line(is_here ? text : out.dim(text));
    if (const std::string marks =
            is_here ? marks_below(span, source_line) : std::string();
        !marks.empty()) {
      line(std::string(15, ' ') + out.cyan(marks));
    }
  }
}

}  // namespace
}  // namespace hangdbg
