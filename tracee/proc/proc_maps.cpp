#include "tracee/proc/proc_maps.h"

#include <sys/sysmacros.h>

#include <charconv>

#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// Takes a number off the front of `text`; false when there is none.
bool take_number(std::string_view& text, int base, std::uint64_t& value) {
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return true;
}

bool take_field(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// "55d0-55e0 r-xp 00001000 08:01 1234   /usr/bin/python3"
bool parse_line(std::string_view line, Mapping& mapping) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!take_number(line, 16, mapping.start.value) || !take_field(line, '-') ||
      !take_number(line, 16, mapping.end.value) || !take_field(line, ' ') ||
      line.size() < 5) {
    return false;
  }
  mapping.readable = line[0] == 'r';
  mapping.writable = line[1] == 'w';
  mapping.executable = line[2] == 'x';
  mapping.shared = line[3] == 's';
  line.remove_prefix(5);
  if (!take_number(line, 16, mapping.offset) || !take_field(line, ' ') ||
      !take_number(line, 16, major) || !take_field(line, ':') ||
      !take_number(line, 16, minor) || !take_field(line, ' ') ||
      !take_number(line, 10, mapping.inode)) {
    return false;
  }
  mapping.device = makedev(major, minor);
  while (take_field(line, ' ')) {
  }
  mapping.path = line;
  return true;
}

}  // namespace

Result<std::vector<Mapping>> read_maps(int pid) {
  return parse_maps(TRY(read_proc_file(pid, "maps")));
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> maps;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Mapping mapping;
    if (parse_line(text.substr(0, end), mapping)) {
      maps.push_back(std::move(mapping));
    }
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return maps;
}

std::vector<Module> find_modules(const std::vector<Mapping>& maps) {
  std::vector<Module> modules;
  for (const Mapping& mapping : maps) {
    const bool vdso = mapping.path == "[vdso]";
    if (mapping.inode == 0 && !vdso) {
      continue;
    }
    if (vdso || mapping.offset == 0) {
      // The same file may be mapped twice over as data (offset 0 again, no
      // code); each start opens a module, and those without code are dropped.
      const bool continues = !modules.empty() &&
                             modules.back().path == mapping.path &&
                             modules.back().end == mapping.start && !vdso;
      if (!continues) {
        modules.push_back({mapping.path, mapping.start, mapping.end, {}});
      }
    }
    if (!modules.empty() && modules.back().path == mapping.path) {
      modules.back().end = mapping.end;
      modules.back().segments.push_back(mapping);
    }
  }
  std::erase_if(modules, [](const Module& module) {
    for (const Mapping& segment : module.segments) {
      if (segment.executable) {
        return false;
      }
    }
    return true;
  });
  return modules;
}

}  // namespace hangdbg
