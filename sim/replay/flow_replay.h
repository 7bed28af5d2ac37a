// SPDX-License-Identifier: Apache-2.0
// Common part of both replay roles: builds the NIC, creates the resources of each flow, and counts frames fed and sent.
// Playing and comparing are specific to each role (responder_replay.cc, requester_replay.cc).
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "sim/replay/conversation.h"
#include "sim/replay/peer_nic.h"
#include "sim/replay/replay.h"

namespace vireo::sim {

class FlowReplay {
 public:
  virtual ~FlowReplay() = default;
  FlowReplay(const FlowReplay&) = delete;
  FlowReplay& operator=(const FlowReplay&) = delete;

  // Call once.
  ReplayResult Run() {
    for (const std::string& line : conversation_.contradictions) result_.differences.Add(line);
    for (uint64_t i = 0; i < conversation_.flush_icrcs; ++i) result_.differences.Allow(Allowed::kFlushIcrc);
    auto built = PeerNic::Build(options_.device, *options_.config, options_.capture_path);
    nic_ = std::move(built.nic);
    result_.error = nic_ == nullptr ? built.error : MakeAll();
    if (!result_.error.empty()) return std::move(result_);
    Play();
    if (!result_.error.empty()) return std::move(result_);
    result_.fed = nic_->fed();
    result_.sent = nic_->sent().size();
    if (const std::string violations = nic_->Violations(); !violations.empty()) result_.differences.Add(violations);
    return std::move(result_);
  }

 protected:
  FlowReplay(const Conversation& conversation, const ReplayOptions& options)
      : conversation_(conversation), options_(options) {}

  // Called before Play; calls MakeSides(). Returns "" or an error.
  virtual std::string MakeAll() = 0;
  virtual std::string MakeSide(size_t index) = 0;  // of one flow; returns "" or an error
  virtual void Play() = 0;                         // on error sets result_.error and returns

  const Flow& flow(size_t index) const { return conversation_.flows[index]; }

  std::string MakeSides() {
    for (size_t i = 0; i < conversation_.flows.size(); ++i) {
      if (const std::string error = MakeSide(i); !error.empty()) {
        return fmt::format("queue pair {:#x}: {}", flow(i).responder_qpn, error);
      }
    }
    return "";
  }

  const Conversation& conversation_;
  const ReplayOptions& options_;
  ReplayResult result_;
  std::unique_ptr<PeerNic> nic_;
};

}  // namespace vireo::sim
