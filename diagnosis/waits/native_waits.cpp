#include "diagnosis/waits/native_waits.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace hangdbg {
namespace native_table {
namespace {

using enum WaitKind;

// https://api.zeromq.org, https://www.postgresql.org/docs/current/libpq.html
constexpr NativeWait kRows[] = {
    {"ZeroMQ", "libzmq", "zmq_msg_recv", Messages,
     "waits for a message of a ZeroMQ socket"},
    {"ZeroMQ", "libzmq", "zmq_recv", Messages,
     "waits for a message of a ZeroMQ socket"},
    {"ZeroMQ", "libzmq", "zmq_msg_send", Reply,
     "waits until its ZeroMQ socket may send"},
    {"ZeroMQ", "libzmq", "zmq_send", Reply,
     "waits until its ZeroMQ socket may send"},
    {"ZeroMQ", "libzmq", "zmq_poll", Messages,
     "waits for messages of its ZeroMQ sockets"},
    {"libpq", "libpq", "PQexec", Reply, "waits for the reply of PostgreSQL"},
    {"libpq", "libpq", "PQexecParams", Reply,
     "waits for the reply of PostgreSQL"},
    {"libpq", "libpq", "PQgetResult", Reply,
     "waits for the reply of PostgreSQL"},
    {"libpq", "libpq", "PQconnectdbParams", Reply,
     "connects to PostgreSQL, and waits for its reply"},
};

bool is_in(const NativeSymbol& symbol, const NativeWait& row) {
  return symbol.function == row.function &&
         base_name(symbol.module).starts_with(row.module);
}

// To read a thread's C functions takes time: it is done only where one of
// these libraries is loaded.
bool any_is_loaded(const PythonProcess& process) {
  return std::ranges::any_of(process.modules, [](const Module& module) {
    const std::string_view name = base_name(module.path);
    return std::ranges::any_of(kRows, [name](const NativeWait& row) {
      return name.starts_with(row.module);
    });
  });
}

}  // namespace
}  // namespace native_table

std::span<const NativeWait> native_waits() {
  return native_table::kRows;
}

const NativeWait* native_wait(const ProcessSnapshot& of,
                              const ThreadSnapshot& thread) {
  using namespace native_table;
  const PythonProcess* const whole = thread.python ? of.whole() : nullptr;
  if (whole == nullptr || !any_is_loaded(*whole)) {
    return nullptr;
  }
  const auto calls = of.native_calls(thread);
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    for (const NativeWait& row : kRows) {
      if (is_in(call->native, row)) {
        return &row;
      }
    }
  }
  return nullptr;
}

}  // namespace hangdbg
