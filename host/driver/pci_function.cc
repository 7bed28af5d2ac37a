// SPDX-License-Identifier: Apache-2.0
#include "host/driver/pci_function.h"

namespace vireo::host {

Result<DmaBuffer> PciFunction::MapForeign(std::unique_ptr<ForeignMemory> /*memory*/, uint64_t /*like*/,
                                          size_t /*bytes*/) {
  return Error{ErrorCode::kUnsupported, "this kind of function cannot map memory of other processes for its device"};
}

}  // namespace vireo::host
