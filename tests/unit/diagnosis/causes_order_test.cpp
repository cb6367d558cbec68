// Which causes depend on the order of the rules: each rule of the diagnosis is
// run alone on each process that is made up in causes_*_test.cpp.
//
// Where two rules find different causes for one process, the order decides;
// kBefore has these pairs, and nothing else of the order matters. Rules that
// weigh what they know about a wait would leave no pair; a new rule should add
// few.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "diagnosis/causes/rules.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

// The first runs before the second, or another cause is named.
using Before = std::pair<std::string_view, std::string_view>;
const std::set<Before> kBefore = {
    // The thread cannot run: what it was doing does not matter then.
    {"frozen cgroup", "busy"},
    {"stopped", "terminal"},
    {"stopped", "events"},
    {"memory", "mount"},
    {"memory", "events"},
    {"mount", "events"},
    // What a library waits for by the means of another rule.
    {"exit", "time"},
    {"idle worker", "terminal"},
    {"launcher", "signal"},
    {"launcher", "time"},
    {"asyncio", "connection"},
    {"asyncio", "events"},
    {"asyncio", "time"},
    {"asyncio", "busy"},
    {"data loader", "events"},
    {"data loader", "time"},
    {"pool", "condition"},
    {"resource pool", "condition"},
    {"gRPC", "events"},
    {"store", "connection"},
    {"DNS", "connection"},
    {"DNS", "UDP"},
    {"manager", "connection"},
    {"manager", "events"},
    // "private futex" applies to any wait for a thread, if none is there.
    {"Python lock", "private futex"},
    {"condition", "private futex"},
    {"idle worker", "private futex"},
    {"join", "private futex"},
    {"native fork", "private futex"},
    {"resource pool", "private futex"},
    // "events" applies to any wait for descriptors.
    {"terminal", "pipe"},
    {"terminal", "events"},
    {"child", "events"},
    {"child", "time"},
    {"pseudo-terminal", "events"},
    {"PostgreSQL", "events"},
    {"pipe", "events"},
    {"DNS", "events"},
    {"connection", "events"},
    {"store", "events"},
    {"UDP", "events"},
    {"events", "time"},
    // "time" applies to any thread that sleeps between two tries.
    {"SQLite", "time"},
    {"file lock", "time"},
    // "busy" applies to any thread that has run while it was sampled.
    {"file lock", "busy"},
    {"condition", "busy"},
    {"Python lock", "busy"},
    {"resource pool", "busy"},
    {"events", "busy"},
    {"connection", "busy"},
    {"GIL", "busy"},
    // CUDA's rule knows the call in which the GIL is held.
    {"CUDA", "GIL"},
};

// The part of a cause that users read: "pipe-read blocked".
std::string outcome(const std::optional<Cause>& cause) {
  return cause ? fmt::format("{} {}", cause_name(cause->id),
                             progress_name(cause->progress))
               : "";
}

// Of the rules that call others (exit, asyncio, the GIL), these keep their
// order.
struct Answers {
  std::string name;
  std::map<std::string_view, std::string> by_rule;  // "" if it finds nothing
};

const std::vector<Answers>& all_answers() {
  static const std::vector<Answers> all = [] {
    std::vector<Answers> each;
    for (const MadeUpCase& made : made_up_cases()) {
      Answers answers{made.name, {}};
      for (const NamedRule& rule : rules()) {
        MadeUpSystem system;
        made.make(system);
        const ProcessSnapshot& of = system.at(kOne);
        answers.by_rule[rule.name] = outcome(rule.find(of, of.threads.front()));
      }
      each.push_back(std::move(answers));
    }
    return each;
  }();
  return all;
}

using Order = std::vector<std::string_view>;

Order as_is() {
  Order order;
  std::ranges::transform(rules(), std::back_inserter(order), &NamedRule::name);
  return order;
}

std::string first_of(const Order& order, const Answers& answers) {
  const auto rule = std::ranges::find_if(order, [&](std::string_view name) {
    return !answers.by_rule.at(name).empty();
  });
  return rule == order.end() ? "unknown" : answers.by_rule.at(*rule);
}

// At random, except for kBefore.
Order shuffled(unsigned seed) {
  std::mt19937 random(seed);
  Order left = as_is();
  Order order;
  while (!left.empty()) {
    std::ranges::shuffle(left, random);
    const auto next = std::ranges::find_if(left, [&](std::string_view name) {
      return std::ranges::none_of(left, [&](std::string_view other) {
        return kBefore.contains({other, name});
      });
    });
    if (next == left.end()) {
      ADD_FAILURE() << "kBefore has a circle";
      return order;
    }
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

TEST(CausesOrder, WhereItDecides) {
  std::map<Before, std::string> decides;
  const Order order = as_is();
  for (const Answers& answers : all_answers()) {
    const std::string said = first_of(order, answers);
    const auto first = std::ranges::find_if(order, [&](std::string_view name) {
      return !answers.by_rule.at(name).empty();
    });
    for (auto other = first; other != order.end(); ++other) {
      const std::string& says = answers.by_rule.at(*other);
      if (!says.empty() && says != said) {
        decides.try_emplace(
            {*first, *other},
            fmt::format("of {}: {}, {}", answers.name, said, says));
      }
    }
  }
  for (const auto& [pair, why] : decides) {
    EXPECT_TRUE(kBefore.contains(pair))
        << pair.first << " before " << pair.second << ", " << why;
  }
  for (const Before& pair : kBefore) {
    EXPECT_TRUE(decides.contains(pair))
        << pair.first << " before " << pair.second << ": no longer";
  }
}

TEST(CausesOrder, NothingElseOfItMatters) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Order order = shuffled(seed);
    ASSERT_EQ(order.size(), rules().size());
    for (const Answers& answers : all_answers()) {
      EXPECT_EQ(first_of(order, answers), first_of(as_is(), answers))
          << answers.name << ", in the order "
          << fmt::format("{}", fmt::join(order, ", "));
    }
  }
}

}  // namespace
}  // namespace hangdbg
