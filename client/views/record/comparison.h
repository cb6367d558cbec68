// What became slower or faster between two recordings.
//
// By shares of the samples, so that recordings of different lengths can be
// compared; and with the error that a share has which samples tell.
#pragma once

#include <string>
#include <vector>

#include "client/terminal/render.h"
#include "client/views/record/read_profile.h"
#include "protocol/reports/record_diff.h"

namespace hangdbg {

struct FunctionChange {
  ProfilePlace place;                    // its line is 0
  double own_before = 0, own_after = 0;  // shares, 0 to 1
  double total_before = 0, total_after = 0;
  double error = 0;  // standard, of the difference of its own shares

  double difference() const { return own_after - own_before; }
  // More than three standard errors: of 400 that are equal one looks so.
  bool is_certain() const;
};

// All functions of either, what became slower most first.
std::vector<FunctionChange> compare_functions(const ReadProfile& before,
                                              const ReadProfile& after);

// As text; as a report, with all functions; and as one page with the flame
// graph of the later one, coloured by what has changed.
std::string comparison_lines(const ReadProfile& before,
                             const ReadProfile& after,
                             const Palette& palette);
reports::RecordDiff comparison_report(const ReadProfile& before,
                                      const ReadProfile& after);
std::string write_flame_comparison(const ReadProfile& before,
                                   const ReadProfile& after);

}  // namespace hangdbg
