// RankSet: some of a job's ranks, as ranges, so that a hundred thousand of them
// are as short as eight. Written "0-6,9".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

class RankSet {
 public:
  struct Range {
    int first;
    int last;  // included
    bool operator==(const Range&) const = default;
  };

  // In constant time if it is the highest so far.
  void add(int rank);
  void add(const RankSet& others);

  bool contains(int rank) const;
  std::size_t size() const { return size_; }
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }
  std::vector<int> numbers() const;
  std::string text() const;
  // At most so many ranges: "0-3,7,..." for a person.
  std::string text(std::size_t most) const;

  bool operator==(const RankSet& other) const {
    return ranges_ == other.ranges_;
  }

 private:
  std::vector<Range> ranges_;  // ascending, with gaps between them
  std::size_t size_ = 0;
};

// What `--ranks` says: "0", "0,3-5", "all", "!0".
class RankChoice {
 public:
  // All.
  RankChoice() = default;
  // Errors: Usage.
  static Result<RankChoice> parse(std::string_view text);

  bool includes(int rank) const { return ranks_.contains(rank) != others_; }
  // Those that are named, and not "all but"; empty of "all".
  const RankSet* named() const { return others_ ? nullptr : &ranks_; }

 private:
  RankSet ranks_;
  bool others_ = true;  // all but these
};

}  // namespace hangdbg
