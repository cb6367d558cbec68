#include "server/session/session.h"

#include "injector/inject.h"
#include "server/session/session_loop.h"

namespace hangdbg {
namespace {

constexpr auto kLeaveWithin = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<Session>> Session::attach(int pid,
                                                 Hooks hooks,
                                                 Deadline deadline) {
  auto made = TRY(inject_agent(pid, deadline));
  return std::unique_ptr<Session>(new Session(
      std::make_unique<SessionLoop>(std::move(made), std::move(hooks))));
}

Result<std::unique_ptr<Session>> Session::open_outside(int pid,
                                                       Hooks hooks,
                                                       Error why) {
  auto made = TRY(stay_outside(pid));
  std::unique_ptr<Session> session(new Session(
      std::make_unique<SessionLoop>(std::move(made), std::move(hooks))));
  session->loop_->agent().stay_outside(std::move(why));
  return session;
}

Session::Session(std::unique_ptr<SessionLoop> loop) : loop_(std::move(loop)) {}

Session::~Session() {
  forget_interrupt();
  // The agent leaves a little later where this fails.
  [[maybe_unused]] const auto left =
      loop_->run(loop_->agent().leave_interpreter(Deadline::in(kLeaveWithin)));
}

Result<std::optional<dap::Event>> Session::wait_event(Deadline deadline) {
  return loop_->run(loop_->wait_event(deadline));
}

Result<dap::Response> Session::call_raw(const std::string& command,
                                        Json arguments,
                                        Deadline deadline) {
  return loop_->run(
      loop_->agent().call_raw({0, command, std::move(arguments)}, deadline));
}

Result<dap::Hello::Body> Session::hello(Deadline deadline) {
  return loop_->run(loop_->agent().hello(deadline));
}

Result<dap::Threads::Body> Session::threads(Deadline deadline) {
  return loop_->run(loop_->agent().threads(deadline));
}

Result<dap::StackTrace::Body> Session::stack(std::int64_t tid,
                                             std::int64_t levels,
                                             Deadline deadline) {
  return loop_->run(loop_->agent().stack({tid, {}, levels}, deadline));
}

void Session::allow_outside(bool allowed) {
  loop_->agent().allow_outside(allowed);
}

bool Session::read_only() {
  loop_->catch_up();
  return loop_->run(loop_->agent().read_only());
}

bool Session::is_outside() const {
  return loop_->agent().is_outside();
}

Status Session::entered() const {
  return loop_->agent().entered();
}

std::string Session::why_read_only() {
  return loop_->run(loop_->agent().why_read_only());
}

Status Session::need(const std::string& module, Deadline deadline) {
  return loop_->run(loop_->agent().need(module, deadline));
}

Status Session::need_breakpoints(Deadline deadline) {
  return loop_->run(loop_->agent().need_breakpoints(deadline));
}

Result<bool> Session::follow_thread(int tid, Deadline deadline) {
  return loop_->run(loop_->agent().follow_thread(tid, deadline));
}

Status Session::enter_main(Deadline deadline) {
  return loop_->run(loop_->agent().enter_main(deadline));
}

bool Session::alive() const {
  return loop_->agent().alive();
}

bool Session::over() const {
  return !loop_->agent().alive() || loop_->agent().end().has_value();
}

int Session::descriptor() const {
  return loop_->agent().descriptor();
}

const AttachTarget& Session::target() const {
  return loop_->agent().target();
}

Result<GilState> Session::gil() const {
  return loop_->agent().gil();
}

Steps& Session::steps() {
  return loop_->agent().steps();
}

void Session::interrupt() {
  loop_->interrupt();
}

void Session::forget_interrupt() {
  loop_->forget_interrupt();
}

}  // namespace hangdbg
