// SPDX-License-Identifier: Apache-2.0
// One line in the shell of a guest, as a part of a test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "verif/system/guest.h"

namespace vireo::sim {

// Returns its output; a non-zero status is a test failure. So is no answer: `is_running` becomes false, and the guest
// must not be used any more. `number`: of the guest, in messages.
inline std::string ExpectSuccess(Guest& guest, unsigned number, const std::string& line,
                                 std::chrono::milliseconds timeout, bool& is_running) {
  const auto answer = guest.Run(line, timeout);
  if (!answer.has_value()) {
    ADD_FAILURE() << "guest " << number << " does not answer: " << line << "\nIts kernel: " << guest.Log();
    is_running = false;
    return "";
  }
  EXPECT_EQ(answer->status, 0) << "guest " << number << ": " << line << "\n" << answer->output;
  return answer->output;
}

}  // namespace vireo::sim
