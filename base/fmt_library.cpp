// The fmt library, compiled once for the whole program: Debian has it as a
// shared library only, which a static program cannot use, and header-only it
// would cost every file of ours 2 s of compiling.
#include <fmt/format-inl.h>

// What <fmt/format.h> declares as instantiated elsewhere, that is, here.
namespace fmt::detail {
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float);
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double);
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
}  // namespace fmt::detail
