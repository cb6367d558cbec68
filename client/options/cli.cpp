#include "client/options/cli.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

namespace hangdbg::cli {
namespace {

std::string joined(std::initializer_list<std::string_view> words);
std::string not_one_of(const std::string& word,
                       const std::vector<std::string>& all);
template <class T>
CLI::Validator range(T least, T most);
template <class T>
Option declare_option(CLI::App& app,
                      std::string_view names,
                      T& value,
                      std::string_view description);
template <class T>
Option declare_flag(CLI::App& app,
                    std::string_view names,
                    T& value,
                    std::string_view description);

}  // namespace

Option Option::type_name(std::string_view name) const {
  option_->type_name(std::string(name));
  return *this;
}

Option Option::bare() const {
  option_->type_name("")->option_text(" ");
  return *this;
}

Option Option::description(std::string_view text) const {
  option_->description(std::string(text));
  return *this;
}

Option Option::hidden() const {
  option_->group("");
  return *this;
}

Option Option::common() const {
  option_->group("Common options");
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::expected(int count) const {
  option_->expected(count);
  return *this;
}

Option Option::one_of(std::initializer_list<std::string_view> words) const {
  const std::vector<std::string> all(words.begin(), words.end());
  option_->type_name(joined(words))
      ->check(CLI::Validator(
          [all](std::string& word) {
            return std::ranges::find(all, word) != all.end()
                       ? std::string()
                       : not_one_of(word, all);
          },
          ""));
  return *this;
}

Option Option::in_range(double least, double most) const {
  option_->check(range<double>(least, most));
  return *this;
}

Option Option::in_range(std::size_t least, std::size_t most) const {
  option_->check(range<std::size_t>(least, most));
  return *this;
}

Option Option::in_shown_range(double least, double most) const {
  option_->check(range<double>(least, most))->capture_default_str();
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::one_at_a_time() const {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::take_all() const {
  option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Command Command::add_command(std::string_view name,
                             std::string_view description) const {
  return {*app_->add_subcommand(std::string(name), std::string(description)),
          *chosen_};
}

void Command::alias(std::string_view name) const {
  app_->alias(std::string(name));
}

void Command::footer(std::string_view text) const {
  app_->footer(std::string(text));
}

void Command::runs(Run run) const {
  app_->final_callback(
      [run = std::move(run), chosen = chosen_] { *chosen = run; });
}

Option Command::add_option(std::string_view names,
                           std::string& value,
                           std::string_view description) const {
  return declare_option(*app_, names, value, description);
}

Option Command::add_option(std::string_view names,
                           std::vector<std::string>& value,
                           std::string_view description) const {
  return declare_option(*app_, names, value, description);
}

Option Command::add_option(std::string_view names,
                           double& value,
                           std::string_view description) const {
  return declare_option(*app_, names, value, description);
}

Option Command::add_option(std::string_view names,
                           std::size_t& value,
                           std::string_view description) const {
  return declare_option(*app_, names, value, description);
}

Option Command::add_option(std::string_view names,
                           std::optional<double>& value,
                           std::string_view description) const {
  return declare_option(*app_, names, value, description);
}

Option Command::add_option(std::string_view names,
                           std::optional<std::size_t>& value,
                           std::string_view description) const {
  return declare_option(*app_, names, value, description);
}

Option Command::add_option(std::string_view names,
                           std::function<Status(const std::string&)> take,
                           std::string_view description) const {
  return Option(*app_->add_option_function<std::string>(
      std::string(names),
      [take = std::move(take)](const std::string& word) {
        if (const Status taken = take(word); !taken) {
          throw CLI::ValidationError(taken.error().message);
        }
      },
      std::string(description)));
}

Option Command::add_choice(std::string_view names,
                           std::initializer_list<std::string_view> words,
                           std::function<void(int)> take,
                           std::string_view description) const {
  const std::vector<std::string> all(words.begin(), words.end());
  return Option(*app_->add_option_function<std::string>(
                    std::string(names),
                    [all, take = std::move(take)](const std::string& word) {
                      const auto found = std::ranges::find(all, word);
                      take(static_cast<int>(found - all.begin()));
                    },
                    std::string(description)))
      .one_of(words);
}

Option Command::add_flag(std::string_view names,
                         bool& value,
                         std::string_view description) const {
  return declare_flag(*app_, names, value, description);
}

Option Command::add_flag(std::string_view names,
                         int& value,
                         std::string_view description) const {
  return declare_flag(*app_, names, value, description);
}

Option Command::add_flag(std::string_view names,
                         std::string& value,
                         std::string_view description) const {
  return declare_flag(*app_, names, value, description);
}

Option Command::option(std::string_view name) const {
  return Option(*app_->get_option(std::string(name)));
}

void Command::allow_extras() const {
  app_->allow_extras();
}

std::vector<std::string> Command::extras() const {
  return app_->remaining();
}

namespace {

std::string joined(std::initializer_list<std::string_view> words) {
  std::string all;
  for (const std::string_view word : words) {
    all += (all.empty() ? "" : "|") + std::string(word);
  }
  return all;
}

std::string not_one_of(const std::string& word,
                       const std::vector<std::string>& all) {
  return fmt::format("{} is not one of: {}", word, fmt::join(all, ", "));
}

template <class T>
CLI::Validator range(T least, T most) {
  return {[least, most](std::string& word) {
            T value{};
            return CLI::detail::lexical_cast(word, value) && value >= least &&
                           value <= most
                       ? std::string()
                       : fmt::format("{} is not a number from {} to {}", word,
                                     least, most);
          },
          ""};
}

template <class T>
Option declare_option(CLI::App& app,
                      std::string_view names,
                      T& value,
                      std::string_view description) {
  return Option(
      *app.add_option(std::string(names), value, std::string(description)));
}

template <class T>
Option declare_flag(CLI::App& app,
                    std::string_view names,
                    T& value,
                    std::string_view description) {
  return Option(
      *app.add_flag(std::string(names), value, std::string(description)));
}

}  // namespace
}  // namespace hangdbg::cli
