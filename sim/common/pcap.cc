// SPDX-License-Identifier: Apache-2.0
#include "sim/common/pcap.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace vireo::sim {

Capture ReadPcap(const std::string& path) {
  Capture capture;
  char error[PCAP_ERRBUF_SIZE] = {};
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> file(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error), &pcap_close);
  if (!file) {
    // libpcap names the file in some of its messages only.
    const std::string text = error;
    capture.error = text.starts_with(path) ? text : path + ": " + text;
    return capture;
  }
  if (pcap_datalink(file.get()) != DLT_EN10MB) {
    capture.error = path + ": not an Ethernet capture";
    return capture;
  }
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(file.get(), &header, &bytes)) == 1) {
    if (header->caplen != header->len) {
      capture.error =
          path + ": frame " + std::to_string(capture.frames.size() + 1) + " was cut off when it was recorded";
      return capture;
    }
    const auto seconds = static_cast<uint64_t>(header->ts.tv_sec);
    const auto nanoseconds = static_cast<uint64_t>(header->ts.tv_usec);
    capture.frames.push_back({{bytes, bytes + header->caplen}, seconds * 1'000'000'000 + nanoseconds});
  }
  if (result == PCAP_ERROR) capture.error = path + ": " + pcap_geterr(file.get());
  return capture;
}

std::vector<std::string> ListCaptures(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".pcap") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace vireo::sim
