// What a node proposes, as typed on the coordinator's side.
#include "client/nodes/hints.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

std::string via(const std::string& text) {
  return hints_via(text, "ssh:n[1-8]", "n3");
}

TEST(Hints, AProcessIsAskedOnItsNodeAndAJobOnAll) {
  EXPECT_EQ(via("  try: hangdbg diagnose 79655    why it waits\n"),
            "  try: hangdbg diagnose 79655 --via ssh:n3    why it waits\n");
  EXPECT_EQ(via("try: hangdbg locks 5"), "try: hangdbg locks 5 --via ssh:n3");
  EXPECT_EQ(via("  try: hangdbg attach 5      a prompt"),
            "  try: hangdbg attach 5 --via ssh:n3      a prompt");
  EXPECT_EQ(via("  try: hangdbg dump --job auto --merge"),
            "  try: hangdbg dump --job auto --merge --via 'ssh:n[1-8]'");
  EXPECT_EQ(hints_via("try: hangdbg locks 5", "srun:4242", "n3"),
            "try: hangdbg locks 5 --via srun:4242");
}

TEST(Hints, WhatIsNoSuchCommandStays) {
  for (const char* const text :
       {"  try: hangdbg run train.py    start a script", "try: hangdbg help",
        "hangdbg locks 5 was here", "  try: kill 79655", "", "\n\n",
        "  try: hangdbg attach --job auto    a prompt"}) {
    EXPECT_EQ(via(text), text);
  }
}

}  // namespace
}  // namespace hangdbg
