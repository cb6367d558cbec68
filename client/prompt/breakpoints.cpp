#include "client/prompt/breakpoints.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "protocol/requests/set_breakpoints.h"
#include "protocol/requests/set_exception_breakpoints.h"
#include "protocol/requests/set_function_breakpoints.h"

namespace hangdbg {
namespace {

// What the agent says of those that it was sent, in their order.
Status take_in(std::vector<PromptBreakpoint*> sent,
               const std::vector<dap::Breakpoint>& answers) {
  for (std::size_t i = 0; i < std::min(sent.size(), answers.size()); ++i) {
    PromptBreakpoint& one = *sent[i];
    const dap::Breakpoint& answer = answers[i];
    one.id = answer.id.value_or(0);
    one.hits = answer.hits.value_or(0);
    one.verified = answer.verified;
    one.message = answer.message.value_or("");
    one.line = answer.line.value_or(one.line);
    if (answer.source && answer.source->path) {
      one.file = *answer.source->path;
    }
    if (answer.reason == "failed") {
      return fail(ErrorId::ExpressionFailed, one.message);
    }
  }
  return {};
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

std::string PromptBreakpoint::place() const {
  if (!exception.empty()) {
    return fmt::format("{}exception {}", uncaught ? "uncaught " : "",
                       exception);
  }
  return function.empty()
             ? fmt::format("{}:{}", file.empty() ? path : file, line)
             : function;
}

Result<const PromptBreakpoint*> Breakpoints::add(Session& session,
                                                 PromptBreakpoint wanted,
                                                 Deadline deadline) {
  wanted.number = last_number_ + 1;
  all_.push_back(std::move(wanted));
  if (const Status sent = send(session, all_.back(), deadline); !sent) {
    const PromptBreakpoint failed = std::move(all_.back());
    all_.pop_back();
    [[maybe_unused]] const Status without = send(session, failed, deadline);
    return std::unexpected(sent.error());
  }
  ++last_number_;
  return &all_.back();
}

Status Breakpoints::remove(Session& session, int number, Deadline deadline) {
  const auto found = std::ranges::find(all_, number, &PromptBreakpoint::number);
  if (found == all_.end()) {
    return {};
  }
  const PromptBreakpoint gone = std::move(*found);
  all_.erase(found);
  return send(session, gone, deadline);
}

Result<const PromptBreakpoint*> Breakpoints::move(Session& session,
                                                  int number,
                                                  const std::string& path,
                                                  Deadline deadline) {
  PromptBreakpoint moved = *find(number);
  TRY(remove(session, number, deadline));
  moved.path = path;
  all_.push_back(std::move(moved));
  TRY(send(session, all_.back(), deadline));
  return &all_.back();
}

Status Breakpoints::update(Session& session, int number, Deadline deadline) {
  const PromptBreakpoint* const one = find(number);
  return one == nullptr ? Status() : send(session, *one, deadline);
}

Status Breakpoints::refresh(Session& session, Deadline deadline) {
  std::set<std::string> paths;
  bool functions = false;
  for (const PromptBreakpoint& one : all_) {
    if (!one.exception.empty()) {
      continue;  // its hits are not counted
    }
    if (one.function.empty()) {
      paths.insert(one.path);
    } else {
      functions = true;
    }
  }
  for (const std::string& path : paths) {
    TRY(send_lines(session, path, deadline));
  }
  return functions ? send_functions(session, deadline) : Status();
}

void Breakpoints::disable_all() {
  for (PromptBreakpoint& one : all_) {
    one.enabled = false;
  }
}

PromptBreakpoint* Breakpoints::find(int number) {
  const auto found = std::ranges::find(all_, number, &PromptBreakpoint::number);
  return found == all_.end() ? nullptr : &*found;
}

bool Breakpoints::any_enabled() const {
  return std::ranges::any_of(all_, &PromptBreakpoint::enabled);
}

const PromptBreakpoint* Breakpoints::hit_by(
    const dap::Stopped::Body& stop) const {
  for (const std::int64_t id :
       stop.hit_breakpoint_ids.value_or(std::vector<std::int64_t>())) {
    const auto found = std::ranges::find(all_, id, &PromptBreakpoint::id);
    if (found != all_.end()) {
      return &*found;
    }
  }
  return nullptr;
}

void Breakpoints::forget_if_temporary(const dap::Stopped::Body& stop) {
  const PromptBreakpoint* const hit = hit_by(stop);
  if (hit != nullptr && hit->temporary) {
    all_.erase(all_.begin() + (hit - all_.data()));
  }
}

Status Breakpoints::send(Session& session,
                         const PromptBreakpoint& like,
                         Deadline deadline) {
  if (!like.exception.empty()) {
    return send_exceptions(session, deadline);
  }
  return like.function.empty() ? send_lines(session, like.path, deadline)
                               : send_functions(session, deadline);
}

Status Breakpoints::send_lines(Session& session,
                               const std::string& path,
                               Deadline deadline) {
  TRY(session.need_breakpoints(deadline));
  dap::SetBreakpoints::Arguments wanted;
  wanted.source.path = path;
  wanted.breakpoints.emplace();
  std::vector<PromptBreakpoint*> sent;
  for (PromptBreakpoint& one : all_) {
    if (one.enabled && one.line > 0 && one.function.empty() &&
        one.path == path) {
      dap::SourceBreakpoint line;
      line.line = one.line;
      line.condition = unless_empty(one.condition);
      line.log_message = unless_empty(one.log);
      line.after = one.after;
      line.ignore = one.ignore;
      line.temporary = one.temporary;
      wanted.breakpoints->push_back(std::move(line));
      sent.push_back(&one);
    }
  }
  const auto body = TRY(session.call<dap::SetBreakpoints>(wanted, deadline));
  return take_in(std::move(sent), body.breakpoints);
}

Status Breakpoints::send_functions(Session& session, Deadline deadline) {
  TRY(session.need_breakpoints(deadline));
  dap::SetFunctionBreakpoints::Arguments wanted;
  std::vector<PromptBreakpoint*> sent;
  for (PromptBreakpoint& one : all_) {
    if (one.enabled && !one.function.empty()) {
      dap::FunctionBreakpoint function;
      function.name = one.function;
      function.condition = unless_empty(one.condition);
      function.path = unless_empty(one.path);
      function.log_message = unless_empty(one.log);
      function.after = one.after;
      function.ignore = one.ignore;
      function.temporary = one.temporary;
      wanted.breakpoints.push_back(std::move(function));
      sent.push_back(&one);
    }
  }
  const auto body =
      TRY(session.call<dap::SetFunctionBreakpoints>(wanted, deadline));
  return take_in(std::move(sent), body.breakpoints);
}

// The last one that an exception is under decides.
Status Breakpoints::send_exceptions(Session& session, Deadline deadline) {
  TRY(session.need_breakpoints(deadline));
  dap::SetExceptionBreakpoints::Arguments wanted;
  wanted.exception_options.emplace();
  std::vector<PromptBreakpoint*> sent;
  for (PromptBreakpoint& one : all_) {
    if (one.enabled && !one.exception.empty()) {
      dap::ExceptionOptions options;
      options.break_mode = one.uncaught ? "unhandled" : "always";
      if (!one.classes.empty()) {
        options.path.emplace().push_back({.names = one.classes});
      }
      wanted.exception_options->push_back(std::move(options));
      sent.push_back(&one);
    }
  }
  const auto body =
      TRY(session.call<dap::SetExceptionBreakpoints>(wanted, deadline));
  return take_in(std::move(sent),
                 body.breakpoints.value_or(std::vector<dap::Breakpoint>()));
}

}  // namespace hangdbg
