// Opcodes: linux/filter.h, linux/bpf_common.h; which of them seccomp takes:
// kernel/seccomp.c, seccomp_check_filter.
#include "tracee/ptrace/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace hangdbg {
namespace {

using Word = std::optional<std::uint32_t>;

// struct seccomp_data, word by word.
using CallWords = std::array<Word, sizeof(seccomp_data) / 4>;

// A filter tests numbers one after the other and only then arguments, so that
// few of its jumps depend on what we do not know.
constexpr int kMaxSteps = 50'000;

struct Machine {
  std::size_t at = 0;
  Word a = 0;
  Word x = 0;
  std::array<Word, BPF_MEMWORDS> memory{};
};

class Run {
 public:
  Run(const FilterProgram& program, const CallWords& words)
      : program_(program), words_(words) {}

  // The worst of what the program may return.
  CallVerdict worst();

 private:
  // Until the program returns, or jumps by a word that is unknown.
  CallVerdict go_on(Machine machine);
  void jump(Machine& machine, const sock_filter& instruction);
  Word load(const Machine& machine, const sock_filter& instruction) const;

  const FilterProgram& program_;
  const CallWords& words_;
  std::vector<Machine> other_ways_;
  int steps_ = 0;
};

constexpr CallVerdict kKills{CallOutcome::Kills, 0};

CallVerdict worse(const CallVerdict& one, const CallVerdict& other) {
  if (one.outcome == CallOutcome::Fails && other.outcome == one.outcome &&
      one.errno_value != other.errno_value) {
    return {CallOutcome::Fails, 0};  // with the one or the other
  }
  return one.outcome >= other.outcome ? one : other;
}

CallVerdict verdict_of(Word returned) {
  if (!returned) {
    return kKills;
  }
  switch (*returned & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
      return {};
    case SECCOMP_RET_ERRNO:
      // The kernel's bound (MAX_ERRNO).
      return {CallOutcome::Fails, static_cast<int>(std::min<std::uint32_t>(
                                      *returned & SECCOMP_RET_DATA, 4095))};
    case SECCOMP_RET_USER_NOTIF:
      return {CallOutcome::Asks, 0};
    case SECCOMP_RET_TRACE:  // we trace, and do not ask for such events
      return {CallOutcome::Fails, ENOSYS};
    default:
      return kKills;
  }
}

Word compute(std::uint16_t operation, Word a, Word operand) {
  if (operation == BPF_NEG) {
    return a ? Word(-*a) : a;
  }
  if (!a || !operand) {
    return {};
  }
  const std::uint32_t value = *operand;
  switch (operation) {
    case BPF_ADD:
      return *a + value;
    case BPF_SUB:
      return *a - value;
    case BPF_MUL:
      return *a * value;
    case BPF_DIV:
      return value == 0 ? Word() : *a / value;
    case BPF_AND:
      return *a & value;
    case BPF_OR:
      return *a | value;
    case BPF_XOR:
      return *a ^ value;
    case BPF_LSH:
      return value > 31 ? Word() : *a << value;
    case BPF_RSH:
      return value > 31 ? Word() : *a >> value;
    default:
      return {};
  }
}

bool holds(std::uint16_t comparison, std::uint32_t a, std::uint32_t operand) {
  switch (comparison) {
    case BPF_JEQ:
      return a == operand;
    case BPF_JGT:
      return a > operand;
    case BPF_JGE:
      return a >= operand;
    default:
      return (a & operand) != 0;  // BPF_JSET
  }
}

CallVerdict Run::worst() {
  CallVerdict worst;
  other_ways_.push_back({});
  while (!other_ways_.empty() && worst.outcome != CallOutcome::Kills) {
    const Machine next = other_ways_.back();
    other_ways_.pop_back();
    worst = worse(worst, go_on(next));
  }
  return worst;
}

CallVerdict Run::go_on(Machine machine) {
  while (machine.at < program_.size() && steps_++ < kMaxSteps) {
    const sock_filter& instruction = program_[machine.at++];
    const std::uint32_t k = instruction.k;
    const std::uint16_t code = instruction.code;
    const Word operand = BPF_SRC(code) == BPF_X ? machine.x : Word(k);
    switch (BPF_CLASS(code)) {
      case BPF_LD:
        machine.a = load(machine, instruction);
        break;
      case BPF_LDX:
        machine.x = load(machine, instruction);
        break;
      case BPF_ST:
      case BPF_STX:
        if (k >= BPF_MEMWORDS) {
          return kKills;
        }
        machine.memory[k] = BPF_CLASS(code) == BPF_ST ? machine.a : machine.x;
        break;
      case BPF_ALU:
        machine.a = compute(BPF_OP(code), machine.a, operand);
        break;
      case BPF_JMP:
        jump(machine, instruction);
        break;
      case BPF_RET:
        return verdict_of(BPF_RVAL(code) == BPF_A ? machine.a : Word(k));
      case BPF_MISC:
        (BPF_MISCOP(code) == BPF_TXA ? machine.a : machine.x) =
            BPF_MISCOP(code) == BPF_TXA ? machine.x : machine.a;
        break;
      default:
        return kKills;
    }
  }
  return kKills;  // ran off its end, or took too long
}

// Forward only: an offset has no sign.
void Run::jump(Machine& machine, const sock_filter& instruction) {
  const std::uint16_t comparison = BPF_OP(instruction.code);
  if (comparison == BPF_JA) {
    machine.at += instruction.k;
    return;
  }
  const Word operand =
      BPF_SRC(instruction.code) == BPF_X ? machine.x : Word(instruction.k);
  if (machine.a && operand) {
    machine.at += holds(comparison, *machine.a, *operand) ? instruction.jt
                                                          : instruction.jf;
    return;
  }
  Machine other = machine;
  other.at += instruction.jf;
  machine.at += instruction.jt;
  if (other.at != machine.at) {
    other_ways_.push_back(other);
  }
}

Word Run::load(const Machine& machine, const sock_filter& instruction) const {
  const std::uint32_t k = instruction.k;
  switch (BPF_MODE(instruction.code)) {
    case BPF_IMM:
      return k;
    case BPF_ABS:
      return k % 4 == 0 && k / 4 < words_.size() ? words_[k / 4] : Word();
    case BPF_LEN:
      return sizeof(seccomp_data);
    case BPF_MEM:
      return k < BPF_MEMWORDS ? machine.memory[k] : Word();
    default:
      return {};
  }
}

}  // namespace

CallVerdict judge_call(std::span<const FilterProgram> filters,
                       long number,
                       const std::array<CallArgument, 6>& arguments) {
  CallWords words{};
  words[offsetof(seccomp_data, nr) / 4] = static_cast<std::uint32_t>(number);
  words[offsetof(seccomp_data, arch) / 4] = AUDIT_ARCH_X86_64;
  for (std::size_t i = 0; i < arguments.size(); i++) {
    const std::size_t first = offsetof(seccomp_data, args) / 4 + 2 * i;
    words[first] = arguments[i].low;
    words[first + 1] = arguments[i].high;
  }
  CallVerdict worst;
  for (const FilterProgram& filter : filters) {
    worst = worse(worst, Run(filter, words).worst());
  }
  return worst;
}

}  // namespace hangdbg
