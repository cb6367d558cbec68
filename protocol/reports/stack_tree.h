// What `dump --merge --json` and `merge --json` write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

using Numbers = std::optional<std::vector<int>>;  // of ranks, or PIDs

struct TreeNode {
  std::optional<std::string> frame;
  std::optional<std::string> function, file;
  std::optional<std::int64_t> line;
  Numbers ranks, pids;
  std::int64_t threads = 0;
  std::vector<TreeNode> children;

  template <class V>
  void fields(V& v) {
    v.nullable("frame", frame);
    v("function", function);
    v("file", file);
    v("line", line);
    v.nullable("ranks", ranks);
    v.nullable("pids", pids);
    v("threads", threads);
    v("children", children);
  }
};

struct TreeOutlier {
  Numbers ranks, pids;
  std::string why;

  template <class V>
  void fields(V& v) {
    v.nullable("ranks", ranks);
    v.nullable("pids", pids);
    v("why", why);
  }
};

struct TreeClass {
  Numbers ranks, pids;
  std::string state;
  std::vector<std::string> frames;  // innermost first

  template <class V>
  void fields(V& v) {
    v.nullable("ranks", ranks);
    v.nullable("pids", pids);
    v("state", state);
    v("frames", frames);
  }
};

struct TreeMissing {
  std::optional<std::int64_t> rank, pid;
  std::optional<std::string> host;
  std::string type, message;

  template <class V>
  void fields(V& v) {
    v.nullable("rank", rank);
    v.nullable("pid", pid);
    v("host", host);
    v("type", type);
    v("message", message);
  }
};

struct TreeValueOf {
  std::string repr;
  Numbers ranks, pids;

  template <class V>
  void fields(V& v) {
    v("repr", repr);
    v.nullable("ranks", ranks);
    v.nullable("pids", pids);
  }
};

struct TreeDifferences {
  std::string frame;
  std::map<std::string, std::vector<TreeValueOf>> locals;

  template <class V>
  void fields(V& v) {
    v("frame", frame);
    v("locals", locals);
  }
};

struct StackTree {
  TreeNode tree;
  std::vector<TreeOutlier> odd;
  std::vector<TreeClass> classes;
  std::vector<TreeMissing> missing;
  // The ranks of each, if there are several.
  std::optional<std::map<std::string, std::vector<int>>> hosts = {};
  std::optional<TreeDifferences> differences = {};  // if locals were asked for

  template <class V>
  void fields(V& v) {
    v("tree", tree);
    v("odd", odd);
    v("classes", classes);
    v("missing", missing);
    v("hosts", hosts);
    v("differences", differences);
  }
};

}  // namespace hangdbg::reports
