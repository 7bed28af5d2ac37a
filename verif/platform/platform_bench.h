// SPDX-License-Identifier: Apache-2.0
// Fixtures of the SystemC module's tests: a program in a thread of a simulation in a child process, raw transactions,
// and a bus with faults and delays that checks ordering rules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/systemc.h"
#include "platform/vireo_nic.h"
#include "sim/common/run_in_child.h"

namespace vireo::sim {

// Runs a function in a thread of the simulation.
class Program final : public sc_core::sc_module {
 public:
  VIREO_SC_MODULE(Program)
  Program(const sc_core::sc_module_name& name, std::function<void()> body)
      : sc_core::sc_module(name), body_(std::move(body)) {
    SC_THREAD(Run);
    set_stack_size(size_t{1024} * 1024);
  }
  bool is_done() const { return is_done_; }

 private:
  void Run() {
    body_();
    is_done_ = true;
  }
  const std::function<void()> body_;
  bool is_done_ = false;
};

// build() creates a platform and returns its program; the child's reply is `reply` at the end. Fails if the program
// does not finish.
inline std::string Simulate(const std::function<std::function<void(std::string&)>()>& build) {
  const ChildResult child = RunInChild([&]() -> std::optional<std::string> {
    std::string reply;
    const auto body = build();
    Program program("program", [&] { body(reply); });
    sc_core::sc_start();
    EXPECT_TRUE(program.is_done()) << "no event is pending, and the program still waits";
    if (testing::Test::HasFailure()) return std::nullopt;
    return reply.empty() ? "ok" : reply;
  });
  EXPECT_TRUE(child.ok) << child.error;
  return child.reply;
}

struct Answer {
  tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
  uint64_t value = 0;
  sc_core::sc_time delay{};
};

struct Access {
  tlm::tlm_command command = tlm::TLM_READ_COMMAND;
  uint64_t address = 0;
  unsigned bytes = 4;
  uint64_t value = 0;
  std::optional<unsigned> streaming_width{};  // none: bytes
  bool has_byte_enables = false;
  sc_core::sc_time delay{};
};

template <typename Socket>
Answer Do(Socket& socket, const Access& access) {
  std::array<uint8_t, 64> data{};
  std::array<uint8_t, 64> enables;
  enables.fill(TLM_BYTE_ENABLED);
  for (unsigned i = 0; i < 8; ++i) data.at(i) = static_cast<uint8_t>(access.value >> 8 * i);
  tlm::tlm_generic_payload transaction;
  transaction.set_command(access.command);
  transaction.set_address(access.address);
  transaction.set_data_ptr(data.data());
  transaction.set_data_length(access.bytes);
  transaction.set_streaming_width(access.streaming_width.value_or(access.bytes));
  if (access.has_byte_enables) {
    transaction.set_byte_enable_ptr(enables.data());
    transaction.set_byte_enable_length(access.bytes);
  }
  Answer answer{.delay = access.delay};
  socket->b_transport(transaction, answer.delay);
  answer.status = transaction.get_response_status();
  for (unsigned i = 0; i < std::min(access.bytes, 8U); ++i) answer.value |= uint64_t{data.at(i)} << 8 * i;
  EXPECT_FALSE(transaction.is_dmi_allowed());
  return answer;
}

// A bus between a NIC and its host's memory.
class Bus final : public sc_core::sc_module {
 public:
  explicit Bus(const sc_core::sc_module_name& name)
      : sc_core::sc_module(name), from_nic("from_nic"), to_host("to_host") {
    from_nic.register_b_transport(this, &Bus::Transport);
  }

  tlm_utils::simple_target_socket<Bus> from_nic;
  tlm_utils::simple_initiator_socket<Bus> to_host;

  // Injected response; none: the host answers. kIncomplete: the target does nothing.
  std::function<std::optional<tlm::tlm_response_status>(const tlm::tlm_generic_payload&)> fault;
  bool waits = false;  // waits for the host's annotated delay; else forwards it

  uint64_t reads = 0, writes = 0, failed = 0;
  unsigned most_reads = 0;          // concurrent
  std::vector<std::string> broken;  // violated rules
  std::vector<uint64_t> write_log;  // addresses

 private:
  void Transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
    const uint64_t address = transaction.get_address();
    const unsigned bytes = transaction.get_data_length();
    if (bytes == 0 || bytes > spec::kPcieRequestBoundary ||
        address / spec::kPcieRequestBoundary != (address + bytes - 1) / spec::kPcieRequestBoundary) {
      broken.push_back("crosses a boundary: " + std::to_string(address) + ", " + std::to_string(bytes));
    }
    if (transaction.get_byte_enable_ptr() != nullptr || transaction.get_streaming_width() < bytes) {
      broken.emplace_back("byte enables or streaming");
    }
    // Posted requests do not pass earlier posted ones, and a read observes earlier writes.
    if (writes_now_ != 0) broken.emplace_back("a write was still in flight");
    const bool is_write = transaction.is_write();
    ++(is_write ? writes : reads);
    if (is_write) write_log.push_back(address);
    unsigned& now = is_write ? writes_now_ : reads_now_;
    ++now;
    most_reads = std::max(most_reads, reads_now_);
    if (const auto status = fault ? fault(transaction) : std::nullopt; status) {
      ++failed;
      transaction.set_response_status(*status);
    } else {
      to_host->b_transport(transaction, delay);
    }
    if (waits) {
      sc_core::wait(delay);
      delay = sc_core::SC_ZERO_TIME;
    }
    --now;
  }
  unsigned reads_now_ = 0, writes_now_ = 0;
};

}  // namespace vireo::sim
