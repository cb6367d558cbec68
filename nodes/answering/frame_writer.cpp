#include "nodes/answering/frame_writer.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace hangdbg {
namespace {

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const auto size = ::write(STDOUT_FILENO, text.data(), text.size());
    if (size < 0 && errno != EINTR && errno != EAGAIN) {
      return false;
    }
    text.remove_prefix(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (size < 0 && errno == EAGAIN) {
      pollfd out{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&out, 1, -1);  // the alarm ends it
    }
  }
  return true;
}

}  // namespace

FrameWriter::FrameWriter() {
  std::uint32_t random = 0;
  (void)!::getrandom(&random, sizeof(random), GRND_NONBLOCK);
  stream_ = fmt::format("{:08x}{:x}", random, ::getpid());
}

bool FrameWriter::write(FrameType type, std::string_view payload) {
  return write_all(frame_line(stream_, next_++, type, payload));
}

bool FrameWriter::write_pieces(FrameType type, std::string_view bytes) {
  while (!bytes.empty()) {
    if (!write(type, bytes.substr(0, kFramePayload))) {
      return false;
    }
    bytes.remove_prefix(std::min(kFramePayload, bytes.size()));
  }
  return true;
}

}  // namespace hangdbg
