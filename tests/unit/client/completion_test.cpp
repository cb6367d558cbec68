// What may come next on a command line, from a parser like hangdbg's.
#include "client/completion/completion.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hangdbg {
namespace {

using Words = std::vector<std::string>;

class Completion : public testing::Test {
 protected:
  Completion() {
    CLI::App& show = *app_.add_subcommand("show", "Shows it");
    show.add_option("PID", pids_, "The processes")->type_name("");
    show.add_option("-p,--pid", pid_, "The process")->type_name("PID");
    show.add_option("--job", job_, "The job")->type_name("JOB|auto");
    show.add_option("--ranks", ranks_, "Those alone")->type_name("SET|all");
    show.add_option("--thread", thread_)->type_name("TID|NAME|main");
    show.add_option("--secret", secret_)->group("");
    show.add_option("-c", commands_, "Run this")
        ->type_name("CMD")
        ->allow_extra_args(false);
    show.add_flag("--all", all_, "Every one");
    show.add_option("--color", colour_)->type_name("auto|always|never");
    CLI::App& open = *app_.add_subcommand("open", "Opens it");
    open.add_option("FILE", file_)->type_name("");
    app_.add_subcommand("run", "Runs it");
    app_.add_subcommand("hidden")->group("");
  }

  Completions at(const Words& words) {
    return complete(
        app_, words, [this](std::string_view kind, const TypedBefore& before) {
          asked_ = std::string(kind) + " of " + before.pid + before.job;
          return kind == "SET" || kind == "PID"
                     ? std::vector<Candidate>{{"12", "a"}, {"13", "b"}}
                     : std::vector<Candidate>();
        });
  }

  Words words_at(const Words& words) {
    Words found;
    for (const Candidate& each : at(words).candidates) {
      found.push_back(each.word);
    }
    return found;
  }

  CLI::App app_{"", "program"};
  std::string asked_;

 private:
  Words pids_, commands_;
  std::string pid_, job_, ranks_, thread_, secret_, colour_, file_;
  bool all_ = false;
};

TEST_F(Completion, OfTheCommand) {
  EXPECT_EQ(words_at({""}), (Words{"show", "open", "run"}));
  EXPECT_EQ(words_at({}), (Words{"show", "open", "run"}));
  EXPECT_EQ(at({"sh"}).candidates,
            (std::vector<Candidate>{{"show", "Shows it"}}));
  EXPECT_EQ(words_at({"nothing", ""}), Words{});
}

TEST_F(Completion, OfOptionsThatMayStillBeGiven) {
  EXPECT_EQ(words_at({"show", "-"}),
            (Words{"--help", "--pid", "--job", "--ranks", "--thread", "-c",
                   "--all", "--color"}));
  EXPECT_EQ(words_at({"show", "--all", "-p", "7", "-c", "x", "-"}),
            (Words{"--help", "--job", "--ranks", "--thread", "-c", "--color"}));
  EXPECT_EQ(words_at({"show", "--", "-"}), Words{});
}

TEST_F(Completion, OfValues) {
  EXPECT_EQ(words_at({"show", "--color", ""}),
            (Words{"auto", "always", "never"}));
  EXPECT_EQ(words_at({"show", "--color=a"}),
            (Words{"--color=auto", "--color=always"}));
  EXPECT_EQ(words_at({"show", "--job", ""}), Words{"auto"});
  EXPECT_EQ(words_at({"show", "--all=x"}), Words{});
  EXPECT_EQ(words_at({"show", "--nothing=x"}), Words{});
}

TEST_F(Completion, OfWhatThereIsNow) {
  EXPECT_EQ(words_at({"show", "1"}), (Words{"12", "13"}));
  EXPECT_EQ(words_at({"show", "12", "13"}), Words{"13"});  // one of many
  EXPECT_EQ(words_at({"show", "-p", "12"}), Words{"12"});
  EXPECT_EQ(words_at({"show", "--thread", "m"}), Words{"main"});
}

TEST_F(Completion, GoesByWhatWasTypedBefore) {
  at({"show", "77", "--thread", ""});
  EXPECT_EQ(asked_, "NAME of 77");
  at({"show", "-p77", "--ranks", ""});
  EXPECT_EQ(asked_, "SET of 77");
  at({"show", "--job=run-7", "--ranks", ""});
  EXPECT_EQ(asked_, "SET of run-7");
  at({"show", "--job", "run-7", "--ranks="});
  EXPECT_EQ(asked_, "SET of run-7");
}

TEST_F(Completion, OfASetItsLastPart) {
  EXPECT_EQ(words_at({"show", "--ranks", ""}), (Words{"12", "13", "all"}));
  EXPECT_EQ(words_at({"show", "--ranks", "0,3-5,1"}),
            (Words{"0,3-5,12", "0,3-5,13"}));
  EXPECT_EQ(words_at({"show", "--ranks=0,1"}),
            (Words{"--ranks=0,12", "--ranks=0,13"}));
}

TEST_F(Completion, OfFilesIsTheShells) {
  EXPECT_EQ(at({"open", "x"}), (Completions{{}, true}));
  EXPECT_EQ(at({"open", "x", "y"}), Completions{});
  EXPECT_EQ(at({"run", "x", "--y"}), (Completions{{}, true}));
  EXPECT_EQ(at({"run", "--", ""}), (Completions{{}, true}));
}

}  // namespace
}  // namespace hangdbg
