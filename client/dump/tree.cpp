#include "client/dump/tree.h"

#include <fmt/core.h>

#include <cstdint>
#include <numeric>

#include "base/text.h"

namespace hangdbg {
namespace {

std::string place(const StackNode& node, bool full) {
  return node.file.empty()
             ? printable(node.function)
             : listed_frame(node.function, node.file, node.line, full,
                            Palette(ColourChoice::Never, stdout));
}

std::string list(const std::vector<int>& pids) {
  std::string text;
  for (const int pid : pids) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", pid);
  }
  return text;
}

std::vector<int> pids_of(const StackNode& node) {
  std::vector<int> pids;
  for (const auto& [pid, threads] : node.threads) {
    pids.push_back(pid);
  }
  return pids;
}

int threads_of(const StackNode& node) {
  return std::accumulate(
      node.threads.begin(), node.threads.end(), 0,
      [](int sum, const auto& one) { return sum + one.second; });
}

struct Printer {
  const StackTree& tree;
  const DumpStyle& style;
  const Palette& out;
  std::string text = {};

  // "2 of 8 processes: 101, 102", "all 8 processes".
  std::string who(const StackNode& node) const {
    const std::size_t all = tree.root.threads.size();
    const std::size_t here = node.threads.size();
    std::string said = here == all && all > 1
                           ? fmt::format("all {} processes", all)
                       : here == 1 ? fmt::format("process {}", pids_of(node)[0])
                                   : fmt::format("{} of {} processes: {}", here,
                                                 all, list(pids_of(node)));
    const int threads = threads_of(node);
    return threads > static_cast<int>(here)
               ? fmt::format("{} ({} threads)", said, threads)
               : said;
  }

  // Frames that the same threads are in stand below each other; where they
  // part, each branch is set in and says who is in it.
  void branch(const StackNode& first, const std::string& indent) {
    text += indent + out.bold(who(first)) + "\n";
    const StackNode* node = &first;
    for (;;) {
      text += indent + "    " + place(*node, style.full_filenames) + "\n";
      if (node->children.size() != 1 ||
          node->children.front().threads != node->threads) {
        break;
      }
      node = &node->children.front();
    }
    for (const StackNode& child : node->children) {
      branch(child, indent + "  ");
    }
  }
};

struct JsonNode {
  std::optional<std::string> frame;
  std::optional<std::string> function, file;
  std::optional<std::int64_t> line;
  std::vector<int> pids;
  std::int64_t threads = 0;
  std::vector<JsonNode> children;

  template <class V>
  void fields(V& v) {
    v.nullable("frame", frame);
    v("function", function);
    v("file", file);
    v("line", line);
    v.nullable("ranks", std::optional<std::vector<int>>());
    v("pids", pids);
    v("threads", threads);
    v("children", children);
  }
};

struct JsonOdd {
  std::vector<int> pids;
  std::string why;

  template <class V>
  void fields(V& v) {
    v.nullable("ranks", std::optional<std::vector<int>>());
    v("pids", pids);
    v("why", why);
  }
};

struct JsonMissing {
  std::int64_t pid = 0;
  std::string type, message;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("type", type);
    v("message", message);
  }
};

struct JsonTree {
  JsonNode tree;
  std::vector<JsonOdd> odd;
  std::vector<JsonMissing> missing;

  template <class V>
  void fields(V& v) {
    v("tree", tree);
    v("odd", odd);
    v("missing", missing);
  }
};

JsonNode json_of(const StackNode& node) {
  JsonNode json{.pids = pids_of(node), .threads = threads_of(node)};
  if (!node.function.empty()) {
    json.frame = place(node, true);
    json.function = node.function;
    if (!node.file.empty()) {
      json.file = node.file;
      json.line = node.line;
    }
  }
  for (const StackNode& child : node.children) {
    json.children.push_back(json_of(child));
  }
  return json;
}

std::string why(const OddOnes& odd, bool full) {
  return fmt::format("in {}, where most are in {}", place(odd.here, full),
                     place(odd.there, full));
}

}  // namespace

std::string tree_text(const StackTree& tree,
                      const DumpStyle& style,
                      const Palette& out) {
  Printer printer{tree, style, out};
  for (const OddOnes& odd : tree.odd) {
    printer.text +=
        out.red(fmt::format(
            "{} {}: ", odd.pids.size() == 1 ? "process" : "processes",
            list(odd.pids))) +
        why(odd, style.full_filenames) + "\n";
  }
  for (const StackNode& child : tree.root.children) {
    printer.branch(child, "");
  }
  return printer.text;
}

Json tree_json(const StackTree& tree,
               const std::vector<std::pair<int, Error>>& missing) {
  JsonTree json{.tree = json_of(tree.root)};
  for (const OddOnes& odd : tree.odd) {
    json.odd.push_back({odd.pids, why(odd, true)});
  }
  for (const auto& [pid, error] : missing) {
    json.missing.push_back({pid, error_name(error.id), error.text()});
  }
  return encode(json);
}

}  // namespace hangdbg
