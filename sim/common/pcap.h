// SPDX-License-Identifier: Apache-2.0
// Reads Ethernet capture files (pcap, pcapng: all that libpcap reads) into memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vireo::sim {

struct Frame {
  std::vector<uint8_t> bytes;  // from the destination MAC address, without FCS
  uint64_t time_ns = 0;        // as recorded
};

struct Capture {
  std::vector<Frame> frames;
  std::string error;  // empty: the whole file was read; else the error, with the file's name
};

// Frames in file order. Another link type or a truncated frame is an error.
Capture ReadPcap(const std::string& path);

// All *.pcap files of a folder in the order of their names; empty if there are none.
std::vector<std::string> ListCaptures(const std::string& folder);

}  // namespace vireo::sim
