// SPDX-License-Identifier: Apache-2.0
#include "sim/device/board/board_link.h"

#include <algorithm>

namespace vireo::sim {
namespace {

// Enough for lines on which most frames are damaged: of 64 in a row at least one comes through.
constexpr int kTries = 64;

}  // namespace

std::optional<BoardFrame> BoardLink::Ask(spec::BoardFrame kind, std::span<const uint8_t> payload) {
  if (!error_.empty()) return std::nullopt;
  const spec::BoardHeader header{.kind = kind, .serial = ++serial_};
  const std::vector<uint8_t> question = EncodeBoardFrame(header, payload);
  ++counters_.questions;
  for (int i = 0; i < kTries; ++i) {
    counters_.repeated += i != 0;
    counters_.sent += question.size();
    if (!line_->Send(question)) {
      error_ = "the line to the board is gone";
      return std::nullopt;
    }
    for (std::vector<uint8_t> bytes; line_->Receive(bytes); bytes.clear()) {
      counters_.received += bytes.size();
      // An answer that came later than its question was repeated may be followed by others: the last bytes decide.
      std::optional<BoardFrame> answer;
      for (const uint8_t byte : bytes) {
        std::optional<BoardFrame> frame = decoder_.Take(byte);
        if (!frame.has_value()) continue;
        if (frame->header.kind == spec::BoardFrame::kNoSession && kind != spec::BoardFrame::kHello) {
          error_ = "the board has lost its state: its power failed, or it was reset";
          return std::nullopt;
        }
        if (frame->header.serial == header.serial &&
            (frame->header.kind == spec::BoardFrame::kHello) == (kind == spec::BoardFrame::kHello)) {
          answer = std::move(frame);
        }
      }
      if (answer.has_value()) return answer;
    }
  }
  error_ = "the board does not answer";
  return std::nullopt;
}

std::string BoardLink::Open(const spec::Config& config) {
  error_.clear();
  const std::optional<BoardFrame> answer = Ask(spec::BoardFrame::kHello, {});
  if (!answer.has_value()) return error_;
  if (answer->payload.size() == spec::BoardHello::kBytes) hello_ = spec::BoardHello::Decode(answer->payload.data());
  if (answer->payload.size() != spec::BoardHello::kBytes || hello_.magic != spec::kBoardMagic) {
    error_ = "what answers is no board";
  } else if (hello_.version != spec::kBoardVersion) {
    error_ = "the board's link has version " + std::to_string(hello_.version) + ", this program's " +
             std::to_string(spec::kBoardVersion);
  } else if (hello_.config_hash != BoardConfigHash(config)) {
    error_ = std::string("the board has another configuration than ") + config.name;
  }
  return error_;
}

std::optional<std::vector<uint8_t>> BoardLink::Execute(std::span<const uint8_t> commands) {
  std::vector<uint8_t> events;
  while (!commands.empty()) {
    const size_t bytes = std::min<size_t>(commands.size(), spec::kBoardPayloadMax);
    std::optional<BoardFrame> answer = Ask(spec::BoardFrame::kData, commands.first(bytes));
    commands = commands.subspan(bytes);
    while (answer.has_value() && answer->header.kind == spec::BoardFrame::kMore) {
      events.insert(events.end(), answer->payload.begin(), answer->payload.end());
      answer = Ask(spec::BoardFrame::kData, {});
    }
    if (!answer.has_value()) return std::nullopt;
    events.insert(events.end(), answer->payload.begin(), answer->payload.end());
  }
  return events;
}

BoardLink::Counters BoardLink::counters() const {
  Counters all = counters_;
  all.damaged = decoder_.damaged();
  return all;
}

}  // namespace vireo::sim
