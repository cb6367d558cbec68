// Secrets, before others are given what a process was started with: passwords,
// tokens and keys in variables, arguments and texts become "***".
//
// What is secret is told by its name (API_KEY, --password), by its place
// (user:password@host, an Authorization header) and by its shape (AKIA...,
// ghp_..., a private key). A secret without any of these is not seen: commands
// that pass such texts on should say so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hangdbg {

constexpr std::string_view kMasked = "***";

// Whether what a variable, option or member of that name holds is likely to be
// one: "HF_TOKEN", "--db-password", "apiKey"; not "TOKENIZERS_PARALLELISM".
bool names_secret(std::string_view name);

// The value of an environment variable.
std::string masked_value(std::string_view name, std::string_view value);

// The words of a command line.
std::vector<std::string> masked_words(std::vector<std::string> words);

// Any text: URLs, headers, "name=value", {"name": "value"}.
std::string masked_text(std::string_view text);

}  // namespace hangdbg
