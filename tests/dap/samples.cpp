// Writes each message that there is, one a line: with all optional members, and
// with none. test_messages.py holds them against the specification.
#include <cstdio>

#include "tests/dap/filled.h"
#include "tests/dap/pairs.h"

using namespace hangdbg;
using namespace hangdbg::dap;

namespace {

void write(const Message& message) {
  std::puts(to_text(message).c_str());
}

}  // namespace

int main() {
  std::int64_t seq = 1;
  for (const bool optionals : {true, false}) {
    each_request([&]<class Pair>() {
      const Request request = make_request<Pair>(
          seq++, filled<typename Pair::Arguments>(optionals));
      write(request);
      write(make_response<Pair>(seq++, request,
                                filled<typename Pair::Body>(optionals)));
      write(make_failure(seq++, request,
                         {ErrorId::GilHeld, "thread 12 holds the GIL",
                          optionals ? "try dump" : ""}));
    });
    each_event([&]<class Kind>() {
      write(make_event<Kind>(seq++, filled<typename Kind::Body>(optionals)));
    });
  }
}
