// SPDX-License-Identifier: Apache-2.0
// The activity of any process: whether a thread is runnable, and its CPU time. Read from the kernel, so it needs no
// support in the program and does not depend on the machine's load.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

namespace vireo::sim {

// A thread not in `except` is in state R (runnable) or D (uninterruptible, such as a page fault). False for a process
// that has exited, is stopped, or is not accessible.
bool IsRunning(pid_t process, std::span<const pid_t> except);

// CPU time of all its threads, in ns, up to now; 0 if unknown.
uint64_t ProcessorNs(pid_t process);

}  // namespace vireo::sim
