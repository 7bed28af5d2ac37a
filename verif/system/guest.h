// SPDX-License-Identifier: Apache-2.0
// A Linux with Soft-RoCE (rdma_rxe) in QEMU, at the other end of a wire that a simulator has at a socket
// (vireo_simulator --wire): a peer that nobody here wrote. verif/system/guest/ builds it.
//
// It has two interfaces: eth0, the wire, with 10.0.0.200 and a link-local IPv6 address, and rxe0 on it; and QEMU's user
// network, by which programs reach this machine's TCP ports at 10.0.2.2, and this machine reaches port tcp_port() of
// the guest at 127.0.0.1.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "host/driver/file_descriptor.h"
#include "sim/simulator/child_process.h"

namespace vireo::sim {

class Guest {
 public:
  static constexpr const char* kIpv4 = "10.0.0.200";
  static constexpr const char* kIpv6 = "fe80::56:49ff:fe52:ff01";  // of its MAC address
  static constexpr const char* kThisMachine = "10.0.2.2";

  struct Booted {
    std::unique_ptr<Guest> guest;  // null: see below
    bool cannot_be_had = false;    // no QEMU, or no kernel package: nobody's fault
    std::string reason;            // why there is no guest
  };
  // Builds the guest if there is none, and starts it, with its end of the wire at `wire`.peer. `directory`: for its
  // sockets and its log.
  static Booted Boot(const std::string& directory, const std::string& wire);
  ~Guest();  // the guest is gone
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  struct Answer {
    int status = 0;      // as a shell tells it
    std::string output;  // stdout and stderr
  };
  // One line for the guest's shell, which keeps its variables and children. None: no answer in time; then the guest is
  // of no more use.
  std::optional<Answer> Run(const std::string& line, std::chrono::milliseconds patience);

  std::string Log() const;  // what its kernel says
  unsigned tcp_port() const { return tcp_port_; }
  std::chrono::milliseconds boot_time() const { return boot_time_; }

 private:
  Guest() = default;
  std::optional<Answer> ReadAnswer(std::chrono::milliseconds patience);

  std::string log_;
  unsigned tcp_port_ = 0;
  std::chrono::milliseconds boot_time_{};
  host::FileDescriptor console_;
  std::string unread_;
  std::optional<ChildProcess> qemu_;
};

}  // namespace vireo::sim
