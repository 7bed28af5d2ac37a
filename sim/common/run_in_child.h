// SPDX-License-Identifier: Apache-2.0
// Runs a function in a child process. SystemC has one kernel per process, so each simulation needs its own process: a
// test case that builds one runs it in a child; a test case that compares two runs uses two children.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace vireo::sim {

struct ChildOptions {
  std::optional<uint64_t> seed;    // Seed() of the child; an error if the parent has already used its own
  unsigned timeout_seconds = 120;  // of real time; then the child is killed
};

struct ChildResult {
  bool ok = false;    // the function returned a reply
  std::string reply;  // what it returned
  std::string error;  // the reason if not ok: "failed", "exit status 3", "signal 6 (Aborted)", …
};

// Calls fn in a forked child and waits for it. If fn fails, it prints the reason and returns nullopt. The child runs
// neither destructors of the parent's objects nor exit handlers, and shares the parent's stdout and stderr. Call it
// before any SystemC object exists in this process, and with no other threads running.
//
// In GoogleTest: expectations inside fn print as usual, but the parent sees only the result:
//   const auto child = RunInChild([]() -> std::optional<std::string> {
//     … EXPECT_EQ(a, b); …
//     return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
//   });
//   EXPECT_TRUE(child.ok) << child.error;
ChildResult RunInChild(const std::function<std::optional<std::string>()>& fn, const ChildOptions& options = {});

}  // namespace vireo::sim
