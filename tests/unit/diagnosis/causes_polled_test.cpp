// The rules of the diagnosis about locks that a thread tries to take again and
// again, about SQLite's, and about calls to a manager, on processes that are
// made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "diagnosis/diagnose.h"
#include "diagnosis/waits/file_owner.h"
#include "diagnosis/waits/sqlite_locks.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kInode = 91;
constexpr std::uint64_t kLog = 92;
constexpr unsigned kDevice = 8;
constexpr std::uint64_t kReserved = 0x40000001;
constexpr std::uint64_t kShared = 0x40000002;
constexpr std::uint64_t kSocket = 42;

int alive() {
  return ::getpid();
}

void opens(MadeUpProcess& one, int fd, std::string name, std::uint64_t inode) {
  one.files[fd] = {.fd = fd,
                   .kind = FileKind::File,
                   .name = std::move(name),
                   .inode = inode,
                   .device = makedev(kDevice, 1)};
}
FileLock lock_of(int pid, std::uint64_t inode = kInode) {
  return {.number = 1,
          .type = "FLOCK",
          .write = true,
          .pid = pid,
          .major = kDevice,
          .minor = 1,
          .inode = inode};
}
FileLock sqlite_lock(int pid,
                     std::uint64_t first,
                     std::uint64_t last,
                     bool write = true,
                     std::uint64_t inode = kInode) {
  FileLock lock = lock_of(pid, inode);
  lock.type = "POSIX";
  lock.write = write;
  lock.start = first;
  lock.end = last;
  return lock;
}

// By hand: `while not flock(LOCK_NB): sleep()`, with the file open.
MadeUpProcess& tries(MadeUpSystem& system, bool knows_flock = true) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  opens(one, 5, "/home/ada/lock", kInode);
  if (knows_flock) {
    one.objects[{"load", "fcntl"}] = system.objects.of_class("module");
  }
  return one;
}
MadeUpProcess& sleeps(MadeUpSystem& system, int pid) {
  auto& one = system.process(pid);
  one.sleeps_in(SYS_clock_nanosleep, {});
  return one;
}

MadeUpProcess& in_sqlite(MadeUpSystem& system, bool logged = false) {
  auto& one = system.python(kOne);
  one.is_in(one.sleeps_in(SYS_clock_nanosleep, {}, own_frames()),
            {"clock_nanosleep", "sqlite3_step"}, "libsqlite3.so.0");
  opens(one, 5, "/home/ada/app.db", kInode);
  if (logged) {
    opens(one, 6, "/home/ada/app.db-shm", kLog);
  }
  sleeps(system, kOther);
  return one;
}

// kOne calls Queue.get() of a manager, kOther, whose thread for it is in
// `serves`.
MadeUpProcess& calls_manager(MadeUpSystem& system,
                             std::vector<PythonFrame> serves) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_read, {5},
                called({{"multiprocessing/connection.py", "_recv"},
                        {"multiprocessing/managers.py", "_callmethod"}}));
  one.open_socket(5, kSocket);
  one.texts[{"_callmethod", "methodname"}] = "get";
  one.texts[{"_callmethod", "self._token.typeid"}] = "Queue";
  one.texts[{"_callmethod", "self._id"}] = "7f00";
  system.peers[kSocket] = {kOther};
  auto& manager = system.python(kOther);
  manager.status.ppid = kOne;
  manager.sleeps_in(SYS_futex, {0, 0, 0, 0},
                    called({{"threading.py", "wait"},
                            {"multiprocessing/managers.py", "serve_forever"}}));
  manager.sleeps_in(SYS_accept4, {3},
                    called({{"socket.py", "accept"},
                            {"multiprocessing/managers.py", "accepter"}}));
  serves.push_back(
      frame("/usr/lib/python3.11/multiprocessing/managers.py", "serve_client"));
  manager.sleeps_in(SYS_futex, {0, 0, 0, 0}, std::move(serves));
  manager.texts[{"serve_client", "methodname"}] = "get";
  manager.texts[{"serve_client", "ident"}] = "7f00";
  system.parents = {{kOne, kOther}};
  return manager;
}
std::vector<PythonFrame> in_queue() {
  return {frame("/usr/lib/python3.11/threading.py", "wait"),
          frame("/usr/lib/python3.11/queue.py", "get")};
}

}  // namespace

const std::vector<MadeUpCase>& polled_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- by hand
      {"tries_for_a_lock", CauseId::FileLock, Blocked, Likely, true,
       "waits for the lock on /home/ada/lock, held by process",
       [](auto& system) {
         tries(system);
         system.locks = {lock_of(alive())};
         sleeps(system, alive());
       }},
      {"tries_for_a_lock_of_one_at_work", CauseId::FileLock, Blocked, Likely,
       false, "",
       [](auto& system) {
         tries(system);
         system.locks = {lock_of(alive())};
         system.process(alive()).sleeps_in(SYS_read, {}).wait = {
             .state = 'R', .call = {.running = true}};
       }},
      {"tries_for_the_lock_of_who_serves", CauseId::FileLock, Blocked, Likely,
       false, "",
       [](auto& system) {
         tries(system);
         system.locks = {lock_of(alive())};
         system.process(alive()).sleeps_in(SYS_accept4, {3});
       }},
      {"has_the_lock_itself", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         tries(system);
         system.locks = {lock_of(kOne), lock_of(alive())};
         sleeps(system, alive());
       }},
      {"has_the_lock_by_its_descriptor", CauseId::Sleeps, Idle, Certain, false,
       "",
       [](auto& system) {
         tries(system).files.at(5).locks = {{.type = "FLOCK", .write = true}};
         system.locks = {lock_of(kOther)};
       }},
      {"was_forked_from_who_has_the_lock", CauseId::Sleeps, Idle, Certain,
       false, "",
       [](auto& system) {
         tries(system).parent = alive();
         system.locks = {lock_of(alive())};
         opens(sleeps(system, alive()), 5, "/home/ada/lock", kInode);
       }},
      {"was_forked_and_has_opened_it_itself", CauseId::FileLock, Blocked,
       Likely, true, "waits for the lock on /home/ada/lock",
       [](auto& system) {
         tries(system).parent = alive();
         system.locks = {lock_of(alive())};
         sleeps(system, alive());
       }},
      {"locks_no_files", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         tries(system, /*knows_flock=*/false);
         system.locks = {lock_of(alive())};
         sleeps(system, alive());
       }},
      {"another_file_is_locked", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         tries(system);
         system.locks = {lock_of(alive(), kLog)};
         sleeps(system, alive());
       }},
      // ---- SQLite
      {"sqlite_is_written", CauseId::FileLock, Blocked, Certain, true,
       "waits for SQLite's lock on /home/ada/app.db, held by process 99999902",
       [](auto& system) {
         in_sqlite(system);
         system.locks = {sqlite_lock(kOther, 0x40000000, kShared + 509)};
       }},
      {"sqlite_is_read", CauseId::FileLock, Blocked, Certain, true,
       "/home/ada/app.db, held by process 99999902",
       [](auto& system) {
         in_sqlite(system);
         system.locks = {sqlite_lock(kOne, kReserved, kReserved),
                         sqlite_lock(kOther, kShared, kShared + 509, false)};
       }},
      {"sqlite_log_is_written", CauseId::FileLock, Blocked, Certain, true,
       "/home/ada/app.db, held by process 99999902",
       [](auto& system) {
         in_sqlite(system, /*logged=*/true);
         system.locks = {sqlite_lock(kThird, kShared, kShared + 509, false),
                         sqlite_lock(kOther, 120, 120, true, kLog)};
       }},
      {"sqlite_log_has_readers", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         in_sqlite(system, /*logged=*/true);
         system.locks = {sqlite_lock(kOther, kShared, kShared + 509, false),
                         sqlite_lock(kOther, 128, 128, false, kLog)};
       }},
      {"sqlite_twice_in_one_process", CauseId::FileLock, Blocked, Certain, true,
       "held by another connection of its own",
       [](auto& system) {
         in_sqlite(system);
         system.locks = {sqlite_lock(kOne, kReserved, kReserved)};
       }},
      {"sqlite_database_is_open_beside", CauseId::Sleeps, Idle, Certain, false,
       "",
       [](auto& system) {
         in_sqlite(system).calls.clear();
         system.locks = {sqlite_lock(kOther, kReserved, kReserved)};
       }},
      // ---- managers
      {"a_manager_without_another_client", CauseId::ManagerCall, Stuck, Likely,
       true,
       "waits for Queue.get() in its manager, process 99999902, which waits "
       "for another client and has none",
       [](auto& system) { calls_manager(system, in_queue()); }},
      {"a_manager_with_another_client", CauseId::ManagerCall, Blocked, Likely,
       false, "waits for Queue.get() in its manager, process 99999902",
       [](auto& system) {
         auto both = in_queue();
         both.push_back(frame("/usr/lib/python3.11/multiprocessing/managers.py",
                              "serve_client"));
         calls_manager(system, in_queue())
             .sleeps_in(SYS_futex, {0, 0, 0, 0}, std::move(both));
       }},
      {"a_manager_of_one_with_children", CauseId::ManagerCall, Blocked, Certain,
       false, "waits for Queue.get() in its manager, process 99999902",
       [](auto& system) {
         calls_manager(system, in_queue());
         sleeps(system, kThird);
         system.parents.emplace(kOne, kThird);
       }},
      {"a_manager_at_work", CauseId::ManagerCall, Blocked, Certain, false,
       "waits for Queue.get() in its manager, process 99999902",
       [](auto& system) {
         calls_manager(system, own_frames()).threads.back().wait = {
             .state = 'R', .call = {.running = true}};
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Polled, polled_cases);

namespace {

// Of a process that sees the test's own files, in that library's frame.
Cause tries_by(const std::string& path,
               const char* file,
               const char* function,
               const char* attribute) {
  struct stat found {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0);
  MadeUpSystem system;
  auto& one = system.python(::getpid());
  one.sleeps_in(SYS_clock_nanosleep, {},
                {frame(std::string("/usr/lib/python3/") + file, function),
                 frame("/home/ada/train.py", "load")});
  one.texts[{function, attribute}] = path;
  FileLock lock = lock_of(kOther, found.st_ino);
  lock.major = major(found.st_dev);
  lock.minor = minor(found.st_dev);
  system.locks = {lock};
  return cause_of(system, ::getpid());
}

TEST(CausesPolled, Libraries) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("polled." + std::to_string(::getpid()));
  std::ofstream(path) << "";
  for (const auto& [file, function, attribute] :
       {std::tuple("portalocker/utils.py", "_timeout_generator",
                   "self.filename"),
        std::tuple("portalocker/utils.py", "acquire", "self.filename"),
        std::tuple("fasteners/process_lock.py", "acquire", "self.path"),
        std::tuple("filelock/_api.py", "acquire", "lock_filename")}) {
    const Cause cause = tries_by(path, file, function, attribute);
    EXPECT_EQ(cause.id, CauseId::FileLock) << file;
    EXPECT_EQ(cause.progress, Progress::Blocked);
    EXPECT_THAT(cause.summary, HasSubstr("the lock on " + path));
    EXPECT_THAT(cause.evidence.front(), HasSubstr("tries again and again"));
  }
  EXPECT_EQ(tries_by(path, "another/utils.py", "acquire", "self.filename").id,
            CauseId::Sleeps);
  std::filesystem::remove(path);
}

TEST(CausesPolled, WhoMadeALockFile) {
  const auto owner = parse_file_owner("4242\nada\n");
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->pid, 4242);
  EXPECT_EQ(owner->host, "ada");
  EXPECT_EQ(parse_file_owner("4242\nada\n17\n")->host, "ada");
  const auto newer =
      parse_file_owner("filelock/2\npid=17\nhost=ada?pidns-f\nmode=lease\n");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->pid, 17);
  EXPECT_EQ(newer->host, "ada?pidns-f");
  for (const char* const none :
       {"", "\n", "4242", "4242\n", "x\nada\n", "-1\nada\n", "4242\nada",
        "filelock/2\npid=17\n", "filelock/2\nhost=a\n"}) {
    EXPECT_FALSE(parse_file_owner(none)) << none;
  }
}

TEST(CausesPolled, LocksOfSqlite) {
  const auto main = [](std::uint64_t first, std::uint64_t last, bool write) {
    return sqlite_lock_of(sqlite_lock(kOne, first, last, write), false);
  };
  EXPECT_EQ(main(0x40000000, 0x40000000, true), SqliteLock::Pending);
  EXPECT_EQ(main(0x40000000, kReserved, true), SqliteLock::Pending);
  EXPECT_EQ(main(kReserved, kReserved, true), SqliteLock::Writes);
  EXPECT_EQ(main(kShared, kShared + 509, false), SqliteLock::Reads);
  EXPECT_EQ(main(kShared, kShared + 509, true), SqliteLock::Exclusive);
  EXPECT_EQ(main(kShared + 510, kShared + 600, true), SqliteLock::Other);
  EXPECT_EQ(main(0, 100, true), SqliteLock::Other);
  EXPECT_EQ(sqlite_lock_of(lock_of(kOne), false), SqliteLock::Other);
  const auto log = [](std::uint64_t byte, bool write) {
    return sqlite_lock_of(sqlite_lock(kOne, byte, byte, write), true);
  };
  EXPECT_EQ(log(120, true), SqliteLock::Writes);
  EXPECT_EQ(log(121, true), SqliteLock::Checkpoint);
  EXPECT_EQ(log(124, false), SqliteLock::Reads);
  EXPECT_EQ(log(128, false), SqliteLock::Other);
}

}  // namespace
}  // namespace hangdbg
