// SPDX-License-Identifier: Apache-2.0
// Two Linux guests, each with a PVRDMA function and vmxnet3, its partner. The driver is Linux' vmw_pvrdma, from the
// distribution's sources of its kernel; the programs are the distribution's. See docs/pvrdma.md.
//
// A world is one simulator with its guests; all cases of a world share it. VIREO_SYSTEM=full runs every case in every
// world that can run it, else a subset of both.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"
#include "verif/system/guest.h"
#include "verif/system/rdma_program.h"

namespace vireo::sim {

// Names of cases, or how they start.
using PvrdmaCases = std::span<const char* const>;

struct PvrdmaWorld {
  const char* name;
  const char* device;
  unsigned nics;      // 1: the guests share it
  bool has_loss;      // 1 % of the frames on each NIC's link, in both directions
  PvrdmaCases cases;  // that it can run
  PvrdmaCases usual;  // without VIREO_SYSTEM=full
  int ends = 1;       // how often a guest is killed, and how often reset
};
inline void PrintTo(const PvrdmaWorld& world, std::ostream* out) { *out << world.name; }

// A pingpong destroys its queue pair right after its last message, and rping its connection: with loss they may fail
// on any NIC (docs/interop.md).
inline const RdmaProgram& ReliableProgram(const PvrdmaWorld& world) { return world.has_loss ? kSendBw : kRcPingpong; }

class PvrdmaGuests : public testing::TestWithParam<PvrdmaWorld> {
 protected:
  using milliseconds = std::chrono::milliseconds;
  static constexpr unsigned kFirstHost = 101;  // of the guests' addresses
  // After the `timeout` of a program.
  static constexpr auto kCommandTimeout = std::chrono::seconds(kTimeoutSeconds + 60);

  static void TearDownTestSuite() { End(); }
  void SetUp() override;
  // No driver has complained: of a refused command, a time-out, a ring in an impossible state.
  void TearDown() override;

  // Returns the line's output; a non-zero status is a test failure.
  static std::string In(unsigned guest, const std::string& line, milliseconds timeout = kCommandTimeout);
  static std::string AddressOf(unsigned guest) { return "10.0.0." + std::to_string(kFirstHost + guest); }
  static std::string AddressOfNic(unsigned nic) { return "10.0.0." + std::to_string(nic + 1); }
  static unsigned NicOf(unsigned guest) { return guest % GetParam().nics; }
  static std::string Gids(unsigned guest) { return In(guest, "cat /sys/class/infiniband/vmw_pvrdma0/ports/1/gids/*"); }
  // The objects of its NIC that the guest has, by kind (sim/simulator/control_commands.h).
  static nlohmann::ordered_json ObjectsOf(unsigned guest);
  // Waits until it has these.
  static void AwaitObjects(unsigned guest, const nlohmann::ordered_json& wanted);

  // Starts a program's server in the guest, and returns when it listens.
  static void Serve(unsigned guest, const RdmaProgram& program, unsigned port);
  static std::string ServerOutput(unsigned guest);
  static std::string ClientOf(const RdmaProgram& program, const std::string& address, unsigned port) {
    return std::string(program.client) + program.Port(port) + " " + program.address + address;
  }
  // A guest's clock may be several times too fast, because its kernel measures it while the machine is busy.
  static std::string Limit() { return "timeout " + std::to_string(3 * kTimeoutSeconds) + " "; }
  static unsigned NextPort();

  // Guest 1 serves, guest 0 is the client.
  static void BetweenGuests(const RdmaProgram& program);
  // A program of this machine on the NIC `nic` serves, guest 0 is the client.
  static void FromGuest(const RdmaProgram& program, unsigned nic);
  // Guest 0 serves, a program of this machine on the NIC `nic` is the client.
  static void ToGuest(const RdmaProgram& program, unsigned nic);
  static Environment On(unsigned nic) { return Seeing(Shared().simulator->socket(nic), {{"VIREO_LOG", "1"}}); }
  static unsigned tcp_port(unsigned guest) { return Shared().guests.at(guest)->tcp_port(); }

  // Ends a guest's process at once, starts another one.
  static void Kill(unsigned guest) { Shared().guests.at(guest).reset(); }
  static void StartAgain(unsigned guest);
  // Resets the guest's machine, without a word to its drivers; returns when it is ready again.
  static void ResetMachine(unsigned guest);
  // Calls `end`, by which guest 1 ends, while guest 0 writes to its memory, and a program of this machine, on the NIC
  // of guest 1, exchanges messages with guest 0. These arrive, and guest 0's writes end with an error.
  static void EndInTraffic(const std::function<void()>& end);

 private:
  struct State {
    std::string world, directory, is_unavailable;
    std::unique_ptr<SimulatorProcess> simulator;
    std::array<std::unique_ptr<Guest>, 2> guests;
    bool is_running = false;
  };
  static State& Shared() {
    static State state;
    return state;
  }
  static bool Boot(unsigned guest);
  static void SetUpNetwork(unsigned guest);
  static void Begin(const PvrdmaWorld& world);
  static void End();
};

}  // namespace vireo::sim
