// SPDX-License-Identifier: Apache-2.0
// Runs a function in a process of its own. SystemC has one kernel per process, so a simulation is built once per
// process: a test case that builds one runs in a child, and one that compares two runs uses two children.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace vireo::sim {

struct ChildOptions {
  std::optional<uint64_t> seed;    // Seed() of the child; an error if the parent has drawn its own already
  unsigned timeout_seconds = 120;  // of real time; then the child is killed
};

struct ChildResult {
  bool ok = false;    // the function returned a reply
  std::string reply;  // what it returned
  std::string error;  // why not ok: "failed", "exit status 3", "signal 6 (Aborted)", …
};

// Calls fn in a forked child and waits. nullopt from fn means failure (it has printed why). The child ends without
// running destructors of the parent's objects and without exit handlers. Its output goes where the parent's goes. Fork
// before any SystemC object exists in this process, and with no other threads running.
//
// In GoogleTest: expectations work inside fn and print as usual, but the parent knows of them only by the result:
//   const auto child = RunInChild([]() -> std::optional<std::string> {
//     … EXPECT_EQ(a, b); …
//     return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
//   });
//   EXPECT_TRUE(child.ok) << child.error;
ChildResult RunInChild(const std::function<std::optional<std::string>()>& fn, const ChildOptions& options = {});

}  // namespace vireo::sim
