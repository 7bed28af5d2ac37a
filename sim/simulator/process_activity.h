// SPDX-License-Identifier: Apache-2.0
// What a process of this system does at the moment: whether any of its threads runs or wants to, and what processor
// time it has had. Both come from the system, so that they hold for programs that nothing was built into, and mean the
// same however busy the machine is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

namespace vireo::sim {

// A thread other than `except` is running, waits for a processor or for the end of a page fault. False too for a
// process that has ended, is stopped, or cannot be seen from here.
bool IsRunning(pid_t process, std::span<const pid_t> except);

// Nanoseconds of processor time of all its threads, those that run up to this moment; 0 if it cannot be known.
uint64_t ProcessorNs(pid_t process);

}  // namespace vireo::sim
