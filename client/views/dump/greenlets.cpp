#include "client/views/dump/greenlets.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace hangdbg {
namespace {

using ByAddress = std::map<Address, const Greenlet*>;

std::string head_of(const Greenlet& greenlet,
                    const ByAddress& all,
                    const Palette& out);
std::string name_of(const Greenlet& greenlet);

}  // namespace

// Dead ones are counted only: a program may keep very many.
std::string greenlets_text(const Greenlets& greenlets,
                           bool full_filenames,
                           const Palette& out) {
  ByAddress all;
  for (const Greenlet& greenlet : greenlets.greenlets) {
    all.emplace(greenlet.address, &greenlet);
  }
  std::string text;
  std::size_t dead = 0;
  for (const Greenlet& greenlet : greenlets.greenlets) {
    if (greenlet.state == "dead") {
      ++dead;
      continue;
    }
    text += head_of(greenlet, all, out) + "\n";
    for (const PythonFrame& one : greenlet.stack.frames) {
      text +=
          "    " +
          listed_frame(one.qualname, one.file, one.line, full_filenames, out) +
          "\n";
    }
    if (!greenlet.stack.complete) {
      text += "    " + out.dim("(more omitted)") + "\n";
    }
  }
  if (dead > 0) {
    text += out.dim(fmt::format("({} dead greenlets)", dead)) + "\n";
  }
  if (!greenlets.missing.empty()) {
    text += out.red("(not all greenlets could be found: " + greenlets.missing +
                    ")") +
            "\n";
  }
  return text;
}

namespace {

std::string head_of(const Greenlet& greenlet,
                    const ByAddress& all,
                    const Palette& out) {
  std::string head = out.bold(name_of(greenlet));
  if (greenlet.type != "greenlet" && greenlet.type != "Greenlet") {
    head += " · a " + printable(greenlet.type);
  }
  head += " · " + greenlet.state;
  if (greenlet.tid) {
    head += fmt::format(" {} thread {}", greenlet.state == "runs" ? "as" : "in",
                        *greenlet.tid);
  }
  const auto parent = all.find(greenlet.parent);
  if (parent != all.end()) {
    head += out.dim(" · parent " + name_of(*parent->second));
  }
  if (!greenlet.stack.exact) {
    head += " · " + out.red("was running: its frames may be inconsistent");
  }
  return head;
}

std::string name_of(const Greenlet& greenlet) {
  return greenlet.main ? "Main greenlet"
         : greenlet.name.empty()
             ? fmt::format("Greenlet {:#x}", greenlet.address.value)
             : fmt::format("Greenlet \"{}\"", printable(greenlet.name));
}

}  // namespace
}  // namespace hangdbg
