// SPDX-License-Identifier: Apache-2.0
// A Linux guest in QEMU (verif/system/guest/), in one of four roles:
// - softroce: Soft-RoCE (rdma_rxe), an independent RoCE implementation, connected to a simulator's wire socket
//   (vireo_simulator --wire). Two interfaces: eth0, the wire, with 10.0.0.200, a link-local IPv6 address and rxe0; and
//   QEMU's user network, where this machine's TCP ports are at 10.0.2.2, and the guest's port tcp_port() is at
//   127.0.0.1 of this machine.
// - driver: eth0 is a NIC of a simulator (vireo_simulator --export) as a PCI function, driven by the kernel's own
//   virtio_net.
// - vfio: NICs of a simulator behind an IOMMU, at 0000:01:00.0 and following, for a program that drives them by VFIO.
//   Until it takes them they have virtio_net, as eth0 and following, which are down.
// - pvrdma: a PVRDMA function of a simulator (vireo_simulator --pvrdma), driven by Linux' vmw_pvrdma as vmw_pvrdma0.
//   Its partner is eth0, vmxnet3, on an Ethernet link to another guest. QEMU's user network as in role softroce.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "sim/simulator/child_process.h"

namespace vireo::sim {

// VIREO_SYSTEM=full: every case in every world; else a selection.
bool IsFullSystemTest();

struct GuestSetup {
  std::string directory;            // of its sockets and log
  std::string name = "guest";       // of its files in there
  std::string wire{};               // role softroce: path of the simulator's end of the wire
  std::string nic{};                // role driver: socket of the exported NIC
  std::vector<std::string> vfio{};  // role vfio: sockets of exported NICs
  std::string pvrdma{};             // role pvrdma: socket of the function
  std::string link{};               // role pvrdma: "OWN,PEER", the paths of both ends of the Ethernet link
  std::string kernel{};             // not of role pvrdma: of this release of Debian; "": of this machine's
  std::string program{};            // a program that the guest has in /bin
  bool has_peer = false;            // role softroce: verbs_peer (guest/verbs_peer.cc) is in /bin; needs kernel "trixie"
  bool has_root = false;            // role pvrdma: 9p file system "root": this machine's files, for reading
  unsigned host = 200;              // eth0 is 10.0.0.HOST
  unsigned cpus = 1, memory_mib = 256;
};

class Guest {
 public:
  static constexpr const char* kIpv4 = "10.0.0.200";
  static constexpr const char* kIpv6 = "fe80::56:49ff:fe52:ff01";  // from its MAC address
  static constexpr const char* kThisMachine = "10.0.2.2";

  struct Booted {
    std::unique_ptr<Guest> guest;  // null: see below
    bool is_unavailable = false;   // no QEMU, or no package: skip the test
    std::string reason;            // why there is no guest
  };
  // Builds the guest's files if needed, and starts it; AwaitBoot() before anything else. Several guests boot at once.
  static Booted Start(const GuestSetup& setup);
  // nullopt: it is ready. Else the reason why not.
  std::optional<std::string> AwaitBoot();
  ~Guest();  // kills the guest
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  static constexpr int kReady = -1;
  struct Answer {
    int status = 0;      // exit status as in a shell; kReady: it is ready after a start
    std::string output;  // stdout and stderr
  };
  // Runs one line in the guest's shell, which keeps its variables and children. None: timeout; the guest must not be
  // used any more; or it has started again.
  std::optional<Answer> Run(const std::string& line, std::chrono::milliseconds timeout);
  // Runs a line that suspends the machine, and wakes it by its power button. None: as above; or it has not slept. Role
  // driver only.
  std::optional<Answer> RunAndWake(const std::string& line, std::chrono::milliseconds timeout);
  // Starts the machine or its kernel again by `line`, for example "reboot -f", and waits until it is ready again;
  // false: it is not. Roles driver and pvrdma.
  bool Reboot(const std::string& line);

  std::string Log() const;  // its kernel log
  unsigned tcp_port() const { return tcp_port_; }
  std::chrono::milliseconds boot_time() const { return boot_time_; }

 private:
  Guest() = default;
  std::optional<Answer> ReadAnswer(std::chrono::milliseconds timeout);
  bool Write(const std::string& line);
  bool PressPowerButton();

  std::string log_, monitor_;
  host::FileDescriptor listener_;
  std::chrono::steady_clock::time_point begin_;
  unsigned tcp_port_ = 0;
  std::chrono::milliseconds boot_time_{};
  host::FileDescriptor console_;
  std::string unread_;
  std::optional<ChildProcess> qemu_;
};

}  // namespace vireo::sim
