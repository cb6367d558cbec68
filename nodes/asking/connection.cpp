#include "nodes/asking/connection.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "nodes/frames/messages.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

constexpr std::size_t kKeptErrors = 1 << 20;
constexpr std::size_t kMostSaid = 300;

std::string short_host(const std::string& name) {
  const auto at = name.find('@');
  const std::string host = at == std::string::npos ? name : name.substr(at + 1);
  return host.substr(0, host.find('.'));
}

}  // namespace

Connection::Connection(NodeChild child,
                       std::vector<OneAnswer*> nodes,
                       std::string launcher,
                       Deadline deadline)
    : child_(std::move(child)),
      nodes_(std::move(nodes)),
      launcher_(std::move(launcher)),
      deadline_(deadline) {
  for (OneAnswer* const node : nodes_) {
    by_name_.emplace(node->node(), node);
    by_name_.emplace(short_host(node->node()), node);
  }
}

bool Connection::over() const {
  return std::ranges::all_of(
      nodes_, [](const OneAnswer* node) { return node->over(); });
}

void Connection::read(const std::string& program) {
  take(reader_.feed(read_available(child_.out)), program);
  errors_ += read_available(child_.err);
  if (errors_.size() > kKeptErrors) {
    errors_.erase(0, errors_.size() - kKeptErrors / 2);
  }
}

bool Connection::wants_program() const {
  return !sent_ && std::ranges::any_of(nodes_, [](const OneAnswer* node) {
    return node->needs_program() && !node->over();
  });
}

void Connection::send(std::string_view program, Deadline deadline) {
  left_to_send_ = program;
  sent_ = true;
  deadline_ = deadline;
  for (OneAnswer* const node : nodes_) {
    node->program_sent();
  }
  write();
}

void Connection::order(std::string_view text) {
  orders_ += text;
  write();
}

void Connection::write() {
  while (child_.in && !orders_.empty()) {
    const auto size = ::write(child_.in.get(), orders_.data(), orders_.size());
    if (size > 0) {
      orders_.erase(0, static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      child_.in.reset();  // it has ended, and says why
    }
  }
  if (!sending()) {
    return;
  }
  while (sending()) {
    const auto size =
        ::write(child_.in.get(), left_to_send_.data(), left_to_send_.size());
    if (size > 0) {
      left_to_send_.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      break;  // it has ended, and says why
    }
  }
  left_to_send_ = {};
  child_.in.reset();
}

void Connection::end(std::optional<int> code, std::string_view time) {
  for (OneAnswer* const node : nodes_) {
    if (node->over()) {
      continue;
    }
    const std::string said = last_words(*node);
    const std::string tail = said.empty() ? "" : ": " + said;
    if (node->needs_program()) {
      node->end({.id = ErrorId::NodeFailed,
                 .message = "this hangdbg is not there, and " + launcher_ +
                            " cannot send it",
                 .hint = "--via ssh: or clush: can"});
    } else if (!code) {
      node->end({.id = ErrorId::TimedOut,
                 .message = fmt::format("no answer in {}{}", time, tail)});
    } else if (node->spoke()) {
      node->end({.id = ErrorId::ChannelClosed,
                 .message = "its answer stops in the middle" + tail});
    } else {
      node->end({.id = ErrorId::NodeFailed,
                 .message = said.empty()
                                ? fmt::format("{} ended with exit code {}",
                                              launcher_, *code)
                                : said});
    }
  }
}

void Connection::take(const std::vector<FromNode>& all,
                      const std::string& program) {
  for (const FromNode& one : all) {
    if (const auto* const frame = std::get_if<Frame>(&one)) {
      if (OneAnswer* const node = node_of(frame->label, frame)) {
        node->take(*frame, program);
      }
    } else if (const auto* const broken = std::get_if<BrokenFrame>(&one)) {
      if (OneAnswer* const node = node_of(broken->label, nullptr)) {
        node->break_off("a frame " + broken->why);
      }
    } else if (const auto& noise = std::get<NoiseLine>(one);
               nodes_.size() == 1) {
      nodes_.front()->take(noise);
    } else {
      // "n3: Welcome": of that node.
      const auto colon = noise.text.find(':');
      const auto found = by_name_.find(noise.text.substr(0, colon));
      if (found != by_name_.end()) {
        found->second->take({std::string(trim(noise.text.substr(colon + 1)))});
      }
    }
  }
}

// A launcher's label comes before what a node says of itself, for it may be
// known there by another name.
OneAnswer* Connection::node_of(const std::string& label, const Frame* frame) {
  if (nodes_.size() == 1) {
    return nodes_.front();
  }
  const auto named = by_name_.find(label);
  if (frame != nullptr && frame->type != FrameType::Need) {
    const auto known = by_stream_.find(frame->stream);
    if (known != by_stream_.end()) {
      return known->second;
    }
    if (frame->type == FrameType::Hello && by_stream_.size() < nodes_.size()) {
      auto found = named;
      if (found == by_name_.end()) {
        const auto json = Json::parse(frame->payload);
        const auto hello =
            json ? decode<NodeHello>(*json) : Result<NodeHello>(NodeHello{});
        found = hello ? by_name_.find(short_host(hello->host)) : found;
      }
      if (found != by_name_.end() && !found->second->spoke()) {
        by_stream_.emplace(frame->stream, found->second);
        return found->second;
      }
      return nullptr;
    }
  }
  return named == by_name_.end() ? nullptr : named->second;
}

// What the launcher, or else the node, has said at last of that.
std::string Connection::last_words(const OneAnswer& node) const {
  std::string words;
  for (const std::string_view line : split(errors_, '\n')) {
    const std::string_view text = trim(line);
    const bool its =
        nodes_.size() == 1 || text.find(node.node()) != std::string_view::npos;
    if (!text.empty() && its) {
      words = printable(text.substr(0, kMostSaid));
    }
  }
  return words;
}

}  // namespace hangdbg
