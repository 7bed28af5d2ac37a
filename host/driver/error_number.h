// SPDX-License-Identifier: Apache-2.0
// Errors as errno, for interfaces that have nothing else.
#pragma once

#include "host/driver/result.h"

namespace vireo::host {

// Of a refused command the errno that the contract gives for its reason. Never 0.
int ErrorNumber(const Error& error);

}  // namespace vireo::host
