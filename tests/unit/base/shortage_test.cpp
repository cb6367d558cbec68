// Errors from a shortage of descriptors.
#include "base/shortage.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/fd.h"
#include "base/folder.h"

namespace hangdbg {
namespace {

class Shortage : public testing::Test {
 protected:
  void TearDown() override { descriptors_refused = 0; }

  static ErrorId cause_of(ErrorId id) {
    return with_its_cause({.id = id, .message = "this"}).id;
  }
};

TEST_F(Shortage, OnlyThatOfDescriptorsIsNoted) {
  errno = ENOENT;
  const Fd absent(-1);
  EXPECT_FALSE(open_folder("/no-such-folder"));
  EXPECT_EQ(descriptors_refused, 0);
  EXPECT_EQ(cause_of(ErrorId::NoSuchProcess), ErrorId::NoSuchProcess);
  errno = EMFILE;
  const Fd refused(-1);
  EXPECT_EQ(descriptors_refused, EMFILE);
}

TEST_F(Shortage, IsTheCauseOfWhatItMayHaveCaused) {
  descriptors_refused = EMFILE;
  for (const ErrorId id : {ErrorId::NoSuchProcess, ErrorId::OtherUser,
                           ErrorId::Unreadable, ErrorId::System}) {
    EXPECT_EQ(cause_of(id), ErrorId::OutOfResources) << error_name(id);
  }
  for (const ErrorId id : {ErrorId::Usage, ErrorId::ExpressionFailed,
                           ErrorId::OutputFailed, ErrorId::Interrupted}) {
    EXPECT_EQ(cause_of(id), id) << error_name(id);
  }
}

TEST_F(Shortage, IsToldByTheErrorNumberAsWell) {
  const Error ours{.message = "no pipe", .errno_value = EMFILE};
  EXPECT_EQ(with_its_cause(ours).id, ErrorId::OutOfResources);
  EXPECT_EQ(with_its_cause(ours).message.find('\n'), std::string::npos);
  const Error theirs{
      .id = ErrorId::NoRoom, .message = "no room", .errno_value = EMFILE};
  EXPECT_EQ(with_its_cause(theirs).id, ErrorId::NoRoom);
}

}  // namespace
}  // namespace hangdbg
