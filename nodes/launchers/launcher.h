// Launcher: what carries a command to the nodes and its output back: ssh, srun
// and others. hangdbg opens no connection of its own.
//
// A file a launcher; launchers.cpp has the table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

class Launcher {
 public:
  explicit Launcher(std::vector<std::string> nodes)
      : nodes_(std::move(nodes)) {}
  virtual ~Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  const std::vector<std::string>& nodes() const { return nodes_; }

  // One process carries all nodes, whose lines it labels or which name
  // themselves; else each has one.
  virtual bool one_for_all() const { return false; }
  // Standard input gets to the nodes: the program can be sent.
  virtual bool forwards_input() const { return true; }
  // The command line that has sh run `script` on these nodes: on one, unless
  // one_for_all().
  virtual std::vector<std::string> words(const std::vector<std::string>& nodes,
                                         const std::string& script) const = 0;
  // The same on one node, with the asking side's terminal; empty: it has no way
  // to give one.
  virtual std::vector<std::string> terminal_words(
      const std::string& /*node*/,
      const std::string& /*script*/) const {
    return {};
  }

 private:
  std::vector<std::string> nodes_;
};

// `how`: "ssh:n[1-3]", as --via takes it. Errors: Usage; System, where a
// launcher that is asked for its nodes has failed.
Result<std::unique_ptr<Launcher>> make_launcher(std::string_view how);

// "ssh:HOSTS, pdsh:HOSTS, ...", for the help.
std::string launcher_forms();

// ---- what the launchers' files have

using MadeLauncher = Result<std::unique_ptr<Launcher>>;
// Of what follows the colon.
MadeLauncher make_ssh(std::string_view hosts);
MadeLauncher make_pdsh(std::string_view hosts);
MadeLauncher make_clush(std::string_view hosts);
MadeLauncher make_srun(std::string_view job);
MadeLauncher make_mpirun(std::string_view hostfile);
MadeLauncher make_docker(std::string_view names);
MadeLauncher make_kubectl(std::string_view selector);
MadeLauncher make_template(std::string_view words);

// sh -c SCRIPT, as one word for a shell.
std::string as_one_word(const std::string& script);

}  // namespace hangdbg
