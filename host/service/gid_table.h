// SPDX-License-Identifier: Apache-2.0
// The GID table of a NIC as its programs see it: a memory page that the service writes and its clients map, so that
// reading an entry needs no request, and a change is visible at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"
#include "host/service/protocol.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::service {

struct Gid {
  uint16_t index = 0;
  uint8_t gid[16]{};
  spec::RdmaGidType type = spec::RdmaGidType::kRoceV2;
};

// The service's end.
class GidTableWriter {
 public:
  static host::Result<std::unique_ptr<GidTableWriter>> Create();
  ~GidTableWriter();
  GidTableWriter(const GidTableWriter&) = delete;
  GidTableWriter& operator=(const GidTableWriter&) = delete;

  // Replaces all entries; indexes are less than kMaxGids.
  void Write(const std::vector<Gid>& gids);
  // A memory file that a client can map for reading only.
  int file() const { return file_.get(); }

 private:
  explicit GidTableWriter(host::FileDescriptor file) : file_(std::move(file)) {}

  host::FileDescriptor file_;
  GidPage* page_ = nullptr;
};

// A client's end. Thread-safe; works in a child of fork(), too.
class GidTable {
 public:
  static host::Result<std::shared_ptr<const GidTable>> Map(int file);
  ~GidTable();
  GidTable(const GidTable&) = delete;
  GidTable& operator=(const GidTable&) = delete;

  // Entries in use, by index; all of one moment.
  std::vector<Gid> Read() const;

 private:
  explicit GidTable(GidPage* page) : page_(page) {}

  GidPage* const page_;  // not writable
};

}  // namespace vireo::service
