// TRY (base/result.h) for coroutines. Statements, since g++ 12 cannot wait
// inside an expression. (Nor may what is waited for be given a braced list with
// strings in it: g++ 12 destroys those twice. Give it a name first.)
//
//   CO_TRY(const auto threads, co_await session.threads(deadline));
//   CO_CHECK(co_await session.enter_main(deadline));
#pragma once

#include <utility>

#include "base/result.h"

// NOLINTBEGIN(bugprone-macro-parentheses)
#define CO_TRY_NAMED_(result, declaration, expression)    \
  auto result = (expression);                             \
  if (!result) [[unlikely]]                               \
    co_return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
#define CO_TRY_NUMBERED_(number, declaration, expression) \
  CO_TRY_NAMED_(co_try_##number, declaration, expression)
#define CO_TRY_LINE_(number, declaration, expression) \
  CO_TRY_NUMBERED_(number, declaration, expression)
#define CO_TRY(declaration, expression) \
  CO_TRY_LINE_(__LINE__, declaration, expression)

#define CO_CHECK(expression)                                      \
  if (auto co_checked_ = (expression); !co_checked_) [[unlikely]] \
  co_return std::unexpected(std::move(co_checked_).error())
// NOLINTEND(bugprone-macro-parentheses)
