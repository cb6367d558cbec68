#include "tracee/memory/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

constexpr std::size_t kPage = 4096;
constexpr Address kAt{0x10000};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// Text that ends where a page ends, behind which there is nothing.
FakeMemory page_that_ends_with(std::string_view text) {
  FakeMemory memory;
  memory.add(
      kAt, bytes_of(std::string(kPage - text.size(), 'x') + std::string(text)));
  return memory;
}

TEST(FakeMemory, ReadsWhatIsThereAndNotAByteMore) {
  FakeMemory memory;
  memory.add(kAt, bytes_of("0123456789"));
  const auto reads = [&](Address from, std::size_t size) {
    std::vector<std::byte> out(size);
    return memory.read(from, out).has_value();
  };
  EXPECT_TRUE(reads(kAt, 10));
  EXPECT_TRUE(reads(kAt + 9, 1));
  EXPECT_TRUE(reads(kAt + 10, 0));
  EXPECT_FALSE(reads(kAt, 11));
  EXPECT_FALSE(reads(kAt + 9, 2));
  EXPECT_FALSE(reads(kAt + 10, 1));
  EXPECT_FALSE(reads(kAt + 11, 0));
  EXPECT_FALSE(reads(kAt - 1, 1));
  EXPECT_FALSE(reads(Address{}, 1));
  EXPECT_FALSE(reads(Address{~std::uint64_t{0}}, 1));
  EXPECT_FALSE(reads(Address{~std::uint64_t{0}}, 10));
  EXPECT_EQ(memory.read_value<char>(kAt + 3), '3');
}

TEST(FakeMemory, SaysWhere) {
  const FakeMemory memory;
  const auto value = memory.read_value<int>(Address{0xabc});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().id, ErrorId::Unreadable);
  EXPECT_EQ(value.error().errno_value, EFAULT);
  EXPECT_NE(value.error().message.find("0xabc"), std::string::npos);
}

TEST(ReadString, UpToTheLastByteOfAPage) {
  const auto memory = page_that_ends_with(std::string_view("hello\0", 6));
  const Address at = kAt + kPage - 6;
  EXPECT_EQ(memory.read_string(at, 1000), "hello");
  EXPECT_EQ(memory.read_string(at + 5, 1000), "");
}

TEST(ReadString, IntoNothingFails) {
  const auto memory = page_that_ends_with("hello");
  const auto text = memory.read_string(kAt + kPage - 5, 1000);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().id, ErrorId::Unreadable);
}

TEST(ReadString, IsCutAtTheLimit) {
  const auto memory = page_that_ends_with("hello");
  const Address at = kAt + kPage - 5;
  EXPECT_EQ(memory.read_string(at, 5), "hello");
  EXPECT_EQ(memory.read_string(at, 2), "he");
  EXPECT_EQ(memory.read_string(at, 0), "");
}

TEST(ReadString, AcrossPagesAndChunks) {
  FakeMemory memory;
  std::string first(kPage, 'a');
  std::string second(kPage, 'b');
  second[700] = '\0';
  memory.add(kAt, bytes_of(first));
  memory.add(kAt + kPage, bytes_of(second));
  EXPECT_EQ(memory.read_string(kAt + kPage - 900, 10000),
            std::string(900, 'a') + std::string(700, 'b'));
  EXPECT_EQ(memory.read_string(kAt + kPage - 900, 1000),
            std::string(900, 'a') + std::string(100, 'b'));
}

// Two pages, of which only the first may be read.
class TwoPages : public testing::Test {
 protected:
  TwoPages()
      : pages_(static_cast<char*>(::mmap(nullptr,
                                         2 * kPage,
                                         PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS,
                                         -1,
                                         0))) {
    ::mprotect(pages_ + kPage, kPage, PROT_NONE);
  }
  ~TwoPages() override { ::munmap(pages_, 2 * kPage); }

  Address end() const {
    return Address{reinterpret_cast<std::uintptr_t>(pages_)} + kPage;
  }

  char* pages_;
  LiveMemory memory_{::getpid()};
};

TEST_F(TwoPages, AReadAcrossTheirBoundaryFailsAsAWhole) {
  std::array<std::byte, 16> out{};
  EXPECT_TRUE(memory_.read(end() - 16, out));
  const auto across = memory_.read(end() - 8, out);
  ASSERT_FALSE(across);
  EXPECT_EQ(across.error().id, ErrorId::Unreadable);
  EXPECT_EQ(across.error().errno_value, EFAULT);
  EXPECT_FALSE(memory_.read(Address{}, out));
}

TEST_F(TwoPages, AStringUpToTheBoundary) {
  std::memcpy(pages_ + kPage - 4, "end", 4);
  EXPECT_EQ(memory_.read_string(end() - 4, 1000), "end");
  pages_[kPage - 1] = '!';
  EXPECT_FALSE(memory_.read_string(end() - 4, 1000));
}

TEST_F(TwoPages, WritesOnlyWhereTheTargetMay) {
  const auto bytes = bytes_of("new");
  ASSERT_TRUE(memory_.write(end() - 3, bytes));
  EXPECT_EQ(std::string(pages_ + kPage - 3, 3), "new");
  EXPECT_FALSE(memory_.write(end() - 2, bytes));
  ::mprotect(pages_, kPage, PROT_READ);
  const auto denied = memory_.write(end() - 3, bytes);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().id, ErrorId::Unreadable);
}

TEST(LiveMemory, OfAnotherProcess) {
  static volatile std::uint64_t value = 1;
  const Child child([] {
    value = 0x1122334455667788;
    ::pause();
  });
  ASSERT_TRUE(sleeps_in(child.pid(), child.pid(), "pause"));
  const Address at{
      reinterpret_cast<std::uintptr_t>(const_cast<std::uint64_t*>(&value))};
  EXPECT_EQ(LiveMemory(child.pid()).read_value<std::uint64_t>(at),
            0x1122334455667788);
  EXPECT_EQ(value, 1);
}

TEST(LiveMemory, OfNobody) {
  int word = 0;
  const auto value =
      LiveMemory(dead_pid())
          .read_value<int>(Address{reinterpret_cast<std::uintptr_t>(&word)});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().id, ErrorId::Unreadable);
  EXPECT_EQ(value.error().errno_value, ESRCH);
}

}  // namespace
}  // namespace hangdbg
