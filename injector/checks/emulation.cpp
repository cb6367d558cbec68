#include "injector/checks/emulation.h"

#include <elf.h>
#include <fmt/core.h>

#include <array>
#include <string_view>

#include "base/text.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_file.h"
#include "tracee/program/program_image.h"

namespace hangdbg {

Status check_not_emulated(int pid,
                          const std::vector<Module>& modules,
                          const DangerousCode& danger) {
  const auto started = TRY(read_started_images(pid));
  // "ld.so PROGRAM" starts the loader as a program; a static one has none.
  const Address first =
      started.loader ? started.loader : started.program_headers;
  const LiveMemory memory(pid);
  for (const std::size_t module : danger.loader_modules()) {
    // It may have begun another program since its modules were read.
    const auto magic =
        memory.read_value<std::array<char, SELFMAG>>(modules[module].base);
    if (modules[module].contains(first) || !magic ||
        std::string_view(magic->data(), SELFMAG) != ELFMAG) {
      return {};
    }
  }
  const auto program = read_proc_link(pid, "exe");
  return fail(
      ErrorId::Emulated,
      fmt::format("process {} is run by {}, which has mapped its loader as an "
                  "emulator does: its threads may be others than they seem",
                  pid,
                  program ? printable(*program) : "a program of another kind"),
      fmt::format("hangdbg dump {0} and hangdbg peek {0} read it out of "
                  "process",
                  pid));
}

}  // namespace hangdbg
