// SPDX-License-Identifier: Apache-2.0
// A Linux guest with Soft-RoCE (rdma_rxe) in QEMU, connected to a simulator's wire socket (vireo_simulator --wire): an
// independent RoCE implementation. Built by verif/system/guest/.
//
// Two interfaces: eth0, the wire, with 10.0.0.200, a link-local IPv6 address and rxe0; and QEMU's user network, where
// this machine's TCP ports are at 10.0.2.2, and the guest's port tcp_port() is at 127.0.0.1 of this machine.
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
  static constexpr const char* kIpv6 = "fe80::56:49ff:fe52:ff01";  // from its MAC address
  static constexpr const char* kThisMachine = "10.0.2.2";

  struct Booted {
    std::unique_ptr<Guest> guest;  // null: see below
    bool is_unavailable = false;   // no QEMU, or no kernel package: skip the test
    std::string reason;            // why there is no guest
  };
  // Builds the guest if needed, and boots it, with its end of the wire at `wire`.peer. `directory`: for its sockets and
  // its log.
  static Booted Boot(const std::string& directory, const std::string& wire);
  ~Guest();  // kills the guest
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  struct Answer {
    int status = 0;      // exit status as in a shell
    std::string output;  // stdout and stderr
  };
  // Runs one line in the guest's shell, which keeps its variables and children. None: timeout; the guest must not be
  // used any more.
  std::optional<Answer> Run(const std::string& line, std::chrono::milliseconds timeout);

  std::string Log() const;  // its kernel log
  unsigned tcp_port() const { return tcp_port_; }
  std::chrono::milliseconds boot_time() const { return boot_time_; }

 private:
  Guest() = default;
  std::optional<Answer> ReadAnswer(std::chrono::milliseconds timeout);

  std::string log_;
  unsigned tcp_port_ = 0;
  std::chrono::milliseconds boot_time_{};
  host::FileDescriptor console_;
  std::string unread_;
  std::optional<ChildProcess> qemu_;
};

}  // namespace vireo::sim
