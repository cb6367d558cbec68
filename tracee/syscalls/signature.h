// What the arguments of a system call are, one kind each.
#pragma once

#include <array>
#include <cstdint>

namespace hangdbg {

// "Out": the kernel fills it in, so it is read at the exit. What is said in
// brackets belongs to it.
enum class Arg : std::uint8_t {
  None,
  Int,      // 32 bits, signed
  Long,     // 64 bits, signed
  Size,     // 64 bits, unsigned
  Hex,      // flags that have no names here
  Pointer,  // to what is not shown
  // Descriptors and paths
  Fd,
  DirFd,  // AT_FDCWD
  FdPairOut,
  Path,
  PathOut,  // getcwd
  LinkOut,  // [the result: its length]
  // Bytes
  Bytes,     // [the next argument: how many]
  BytesOut,  // [the result]
  Vectors,   // struct iovec [the next argument: how many]
  VectorsOut,
  Message,  // struct msghdr
  MessageOut,
  Strings,      // argv
  Environment,  // how many
  // Sockets
  SocketAddress,     // [the next argument: how long]
  SocketAddressOut,  // [the next argument: where that is]
  LengthOut,         // socklen_t *
  SocketDomain,
  SocketType,
  SocketProtocol,  // [the first argument: the domain]
  MessageFlags,
  SocketLevel,
  SocketOption,    // [the one before: the level]
  OptionValue,     // [the next argument: how long]
  OptionValueOut,  // [the next argument: where that is]
  ShutdownHow,
  AcceptFlags,
  // Files
  OpenFlags,
  OpenHow,  // struct open_how
  Mode,     // [if O_CREAT is among the argument before]
  FileMode,
  AccessMode,
  AtFlags,
  Whence,
  FcntlCommand,
  FcntlValue,  // [the one before]
  IoctlRequest,
  IoctlValue,  // [the one before]
  FlockOperation,
  StatOut,
  StatxMask,
  StatxOut,
  PipeFlags,
  DupFlags,
  RenameFlags,
  // Memory
  Protection,
  MapFlags,
  Advice,
  MemfdFlags,
  // Time
  Timespec,
  TimespecOut,
  Timeval,
  Itimerspec,
  ItimerspecOut,
  Millis,
  ClockId,
  TimerFlags,
  TimerfdFlags,
  TimerfdSetFlags,
  // Waiting
  FutexOperation,
  FutexTimeout,  // or a number, for some operations
  PollSet,       // struct pollfd [the next argument: how many]
  FdSet,         // [the first argument: how many]
  EpollOperation,
  EpollEvent,
  EpollEventsOut,  // [the result]
  EpollFlags,
  EventfdFlags,
  SignalfdFlags,
  // Processes and signals
  CloneFlags,
  CloneArguments,  // struct clone_args
  WaitStatusOut,
  WaitOptions,
  IdType,
  SiginfoOut,
  Signal,
  SignalHow,
  SignalSet,
  SignalSetOut,
  MaskAndSize,  // of pselect6
  SignalAction,
  SignalActionOut,
  PrctlOption,
  ArchPrctlOption,
  Resource,
  Limit,
  LimitOut,
  SystemNameOut,
  RandomFlags,
  UsageWho,
};

// What a result is.
enum class ResultKind : std::uint8_t { Number, Fd, Address };

struct Signature {
  long number = -1;
  std::array<Arg, 6> args{};
  ResultKind result = ResultKind::Number;
};

// None of a call that is not known here: its arguments are numbers then.
const Signature* find_signature(long number);

}  // namespace hangdbg
