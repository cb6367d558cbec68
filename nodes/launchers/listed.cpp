#include "nodes/launchers/listed.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/text.h"
#include "nodes/processes/child.h"

namespace hangdbg {
namespace {

std::vector<std::string> own_variables() {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    all.emplace_back(*each);
  }
  return all;
}

}  // namespace

Result<std::string> output_of(const std::vector<std::string>& words) {
  const Deadline deadline = Deadline::in(std::chrono::seconds(10));
  std::signal(SIGCHLD, SIG_DFL);
  NodeChild child =
      TRY(start_child(words.front(), words, own_variables(), SIGKILL, false));
  std::string out, err;
  while ((child.out || child.err) && !deadline.expired()) {
    std::array<pollfd, 2> fds = {
        {{child.out.get(), POLLIN, 0}, {child.err.get(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), deadline.left_ms());
    out += read_available(child.out);
    err += read_available(child.err);
  }
  const bool late = deadline.expired();
  std::optional<int> code;
  while (!late && !(code = reap_child(child)) && !deadline.expired()) {
    ::poll(nullptr, 0, 1);
  }
  if (!code) {
    end_child(child, SIGTERM, Deadline::in(std::chrono::seconds(1)));
  }
  if (code != 0) {
    return fail(ErrorId::NodeFailed,
                fmt::format("{}: {}", printable(words.front()),
                            !code ? "no answer in 10 s"
                                  : printable(trim(err).substr(0, 300))),
                shell_quote(words));
  }
  return out;
}

}  // namespace hangdbg
