// A function's name as people say it, from the one that the compiler gave it.
//
// "_ZN3c1013ThreadPoolBase3runERKSt8functionIFvvEE" is
// c10::ThreadPoolBase::run: C++ names lose their arguments and what they
// return, long template lists their content, Rust's their hash, and all of them
// what the compiler put behind (".cold", ".constprop.0").
#pragma once

#include <string>

namespace hangdbg {

// What is no mangled name comes back as it is, but for such an ending.
std::string demangle(const std::string& name);

}  // namespace hangdbg
