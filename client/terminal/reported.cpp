#include "client/terminal/reported.h"

#include "base/shortage.h"
#include "client/terminal/typed.h"

namespace hangdbg {

reports::ReportedError reported(const Error& noticed) {
  const Error error = with_its_cause(noticed);
  return {error_name(error.id), error.text(), as_typed(error.hint)};
}

}  // namespace hangdbg
