// Translation: what is called otherwise at the editor than in the target -
// threads (the target's PID namespace), files (pathMappings), lines and columns
// (some editors count from 0).
//
//   translation.inward(arguments);  // from the editor
//   translation.outward(body);      // for it
//
// It goes through the fields of any typed message, whatever their places. A
// file that the editor cannot see gets a reference, for the request `source`.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/debug_options.h"
#include "protocol/json.h"
#include "protocol/module.h"
#include "protocol/types.h"

namespace hangdbg {

namespace dap {
struct Event;
}

class Translation {
 public:
  struct Editor {
    bool lines_start_at_1 = true;
    bool columns_start_at_1 = true;
    std::vector<dap::PathMapping> mappings;
  };

  Translation(int pid, Editor editor);

  template <class T>
  void inward(T& message) {
    Walk(*this, true).visit("", message);
  }
  template <class T>
  void outward(T& message) {
    Walk(*this, false).visit("", message);
  }

  // Of one that the agent says unasked.
  void outward_event(dap::Event& event);

  // The path, in the target, of a source that outward() gave a reference.
  std::optional<std::string> path_of(std::int64_t reference) const;
  // The path in the target of a file that the editor was shown by that path.
  std::optional<std::string> path_of(const std::string& shown) const;

 private:
  // As fields() wants it: called with each member.
  class Walk {
   public:
    Walk(Translation& translation, bool inward)
        : translation_(translation), inward_(inward) {}

    template <class T>
    void operator()(std::string_view key, T& member) {
      visit(key, member);
    }
    template <class T>
    void nullable(std::string_view key, T& member) {
      visit(key, member);
    }
    void constant(std::string_view, std::string_view) {}

    template <class T>
    void visit(std::string_view key, T& member) {
      if constexpr (std::same_as<T, dap::Source>) {
        translation_.source(member, inward_);
      } else if constexpr (std::same_as<T, dap::Module>) {
        translation_.module(member);
      } else if constexpr (std::same_as<T, std::int64_t>) {
        translation_.number(key, member, inward_);
      } else if constexpr (Record<T>) {
        member.fields(*this);
      }
    }
    template <class T>
    void visit(std::string_view key, std::optional<T>& member) {
      if (member) {
        visit(key, *member);
      }
    }
    template <class T>
    void visit(std::string_view key, std::vector<T>& members) {
      for (T& member : members) {
        visit(key, member);
      }
    }

   private:
    Translation& translation_;
    bool inward_;
  };

  void number(std::string_view key, std::int64_t& value, bool inward) const;
  void source(dap::Source& source, bool inward);
  void module(dap::Module& module);
  dap::Source for_editor(const std::string& path);

  int pid_;
  Editor editor_;
  std::map<std::string, dap::Source> known_;  // by path in the target
  std::vector<std::string> references_;       // number - 1: the path
};

}  // namespace hangdbg
