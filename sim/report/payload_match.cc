// SPDX-License-Identifier: Apache-2.0
#include "sim/report/payload_match.h"

#include <algorithm>

namespace vireo::sim {

void PayloadReads::Forget(uint32_t tag) {
  std::erase_if(reads_, [&](const Read& read) { return read.tag == tag && !read.is_complete; });
}

void PayloadReads::OnRead(uint32_t tag, uint32_t bytes, EventMark mark) {
  Forget(tag);
  if (reads_.size() == kMaxReads) reads_.pop_front();
  Read& read = reads_.emplace_back();
  read.tag = tag;
  read.bytes = bytes;
  read.requested = mark;
  read.data.reserve(bytes);
}

void PayloadReads::OnData(uint32_t tag, std::span<const uint8_t> data, bool is_last, EventMark mark) {
  // Only the last read with this tag can be outstanding.
  const auto read = std::find_if(reads_.rbegin(), reads_.rend(), [&](const Read& entry) { return entry.tag == tag; });
  if (read == reads_.rend() || read->is_complete) return;
  read->data.insert(read->data.end(), data.begin(), data.end());
  if (!is_last) return;
  read->is_complete = true;
  read->completed = mark;
}

std::optional<PayloadReads::Found> PayloadReads::Take(std::span<const uint8_t> payload) {
  for (size_t start = 0; start < reads_.size(); ++start) {
    std::vector<size_t> used;
    size_t done = 0;
    for (size_t i = start; i < reads_.size() && done < payload.size(); ++i) {
      const Read& read = reads_[i];
      const bool fits = read.is_complete && !read.data.empty() && read.data.size() <= payload.size() - done &&
                        std::equal(read.data.begin(), read.data.end(), payload.begin() + static_cast<ptrdiff_t>(done));
      if (fits) {
        used.push_back(i);
        done += read.data.size();
      } else if (used.empty()) {
        break;
      }
    }
    if (done != payload.size() || used.empty()) continue;
    Found found = {reads_[used.front()].requested, reads_[used.front()].completed};
    for (const size_t i : used) {
      if (reads_[i].completed.cycle > found.last.cycle) found.last = reads_[i].completed;
    }
    // Packets are sent in the order in which their payload is requested, so older reads will not be sent.
    for (auto i = used.rbegin(); i != used.rend(); ++i) reads_.erase(reads_.begin() + static_cast<ptrdiff_t>(*i));
    reads_.erase(reads_.begin(), reads_.begin() + static_cast<ptrdiff_t>(start));
    return found;
  }
  return std::nullopt;
}

}  // namespace vireo::sim
