// A made-up process and its expected cause: a row each, by target
// (causes_*_test.cpp). causes_test.cpp checks them one by one, and
// causes_order_test.cpp by rules in another order.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tests/unit/support/made_up.h"

namespace hangdbg {

struct MadeUpCase {
  std::string name;
  // Of the first thread of process kOne.
  CauseId id = CauseId::Unknown;
  Progress progress = Progress::Blocked;
  Confidence confidence = Confidence::Likely;
  // Of the whole process, asleep for a minute, where ten seconds are a hang.
  bool stalled = false;
  std::string says;  // in its summary
  std::function<void(MadeUpSystem&)> make;
};

inline std::ostream& operator<<(std::ostream& out, const MadeUpCase& one) {
  return out << one.name;
}

const std::vector<MadeUpCase>& file_cases();
const std::vector<MadeUpCase>& pipe_cases();
const std::vector<MadeUpCase>& polled_cases();
const std::vector<MadeUpCase>& socket_cases();
const std::vector<MadeUpCase>& peer_cases();
const std::vector<MadeUpCase>& lock_cases();
const std::vector<MadeUpCase>& library_wait_cases();
const std::vector<MadeUpCase>& process_cases();
const std::vector<MadeUpCase>& native_cases();
const std::vector<MadeUpCase>& around_cases();
const std::vector<MadeUpCase>& time_cases();
const std::vector<MadeUpCase>& timed_cases();
const std::vector<MadeUpCase>& task_cases();
const std::vector<MadeUpCase>& inside_cases();
const std::vector<MadeUpCase>& sampled_cases();

std::vector<MadeUpCase> made_up_cases();  // all of them

class MadeUpCauses : public testing::TestWithParam<MadeUpCase> {};

inline std::string name_of_case(
    const testing::TestParamInfo<MadeUpCase>& info) {
  return info.param.name;
}

#define INSTANTIATE_MADE_UP(Target, cases)                                   \
  INSTANTIATE_TEST_SUITE_P(Target, MadeUpCauses, testing::ValuesIn(cases()), \
                           name_of_case)

}  // namespace hangdbg
