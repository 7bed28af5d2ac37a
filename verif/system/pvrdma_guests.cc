// SPDX-License-Identifier: Apache-2.0
#include "verif/system/pvrdma_guests.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/simulator/control_socket.h"
#include "sim/simulator/simulation_directory.h"
#include "verif/system/guest_line.h"

namespace vireo::sim {
namespace {

bool Has(const PvrdmaCases& cases, std::string_view name) {
  return std::ranges::any_of(cases, [&](std::string_view start) { return name.starts_with(start); });
}

std::string LossyTopology(unsigned nics) {
  std::string text;
  for (unsigned nic = 0; nic < nics; ++nic) text += "[[nic]]\n";
  for (unsigned nic = 0; nic < nics; ++nic) {
    text += "[[link]]\nends = [\"vireo" + std::to_string(nic) + "\", \"switch\"]\nfaults = \"drop rate=0.01\"\n";
  }
  return text;
}

}  // namespace

void PvrdmaGuests::SetUp() {
  const PvrdmaWorld& world = GetParam();
  const std::string_view name = testing::UnitTest::GetInstance()->current_test_info()->name();
  if (!Has(world.cases, name)) GTEST_SKIP() << "not in this world";
  if (!IsFullSystemTest() && world.usual.empty()) GTEST_SKIP() << "VIREO_SYSTEM=full runs this world";
  if (!IsFullSystemTest() && !Has(world.usual, name)) GTEST_SKIP() << "VIREO_SYSTEM=full runs this case here";
  if (Shared().is_unavailable.empty() && Shared().world != world.name) Begin(world);
  if (!Shared().is_unavailable.empty()) GTEST_SKIP() << Shared().is_unavailable;
  ASSERT_TRUE(Shared().is_running) << "the guests of this world do not run";
}

void PvrdmaGuests::TearDown() {
  if (!Shared().is_running || IsSkipped()) return;
  for (const unsigned guest : {0U, 1U}) {
    EXPECT_EQ(In(guest,
                 "dmesg | grep -iE 'pvrdma.*(fail|error|could not|cannot|invalid|timeout|not supported)|"
                 "infiniband.*(couldn|fail)|warning:|bug:|call trace|lockup' | grep -v 'module verification'; true"),
              "")
        << "guest " << guest;
  }
}

std::string PvrdmaGuests::In(unsigned guest, const std::string& line, milliseconds timeout) {
  if (!Shared().is_running) return "";
  return ExpectSuccess(*Shared().guests.at(guest), guest, line, timeout, Shared().is_running);
}

nlohmann::ordered_json PvrdmaGuests::ObjectsOf(unsigned guest) {
  const SimulationDirectory directory(Shared().simulator->directory());
  const auto all = ControlSocket::Ask(directory.control_socket(), {{"guests", "list"}});
  if (!all.ok()) {
    ADD_FAILURE() << host::ToString(all.error());
    return {};
  }
  return all->at(guest);
}

void PvrdmaGuests::AwaitObjects(unsigned guest, const nlohmann::ordered_json& wanted) {
  constexpr int kLooks = 1000, kLookUs = 20'000;  // there is no notification
  nlohmann::ordered_json now;
  for (int look = 0; look < kLooks; ++look) {
    now = ObjectsOf(guest);
    if (now == wanted) return;
    usleep(kLookUs);
  }
  EXPECT_EQ(now, wanted) << "guest " << guest;
}

void PvrdmaGuests::Serve(unsigned guest, const RdmaProgram& program, unsigned port) {
  In(guest, Limit() + program.server + program.Port(port) + " >/run/server 2>&1 & server=$!");
  // Poll: there is no notification of a listening port.
  In(guest, "until " + Listens(program, port) + " >/run/none || ! kill -0 $server; do usleep 20000; done");
}

std::string PvrdmaGuests::ServerOutput(unsigned guest) {
  return In(guest, "wait $server; status=$?; cat /run/server; (exit $status)");
}

unsigned PvrdmaGuests::NextPort() {
  static unsigned port = 20'000;
  return port++;
}

void PvrdmaGuests::BetweenGuests(const RdmaProgram& program) {
  SCOPED_TRACE(program.client);
  const unsigned port = NextPort();
  Serve(1, program, port);
  const std::string output = In(0, Limit() + ClientOf(program, AddressOf(1), port));
  EXPECT_NE(output.find(program.output), std::string::npos) << output;
  ServerOutput(1);
}

void PvrdmaGuests::FromGuest(const RdmaProgram& program, unsigned nic) {
  SCOPED_TRACE(program.client);
  const unsigned port = FreePort();
  Program server(WordsOf(program.server + program.Port(port)), On(nic), program.by_tcp);
  ASSERT_TRUE(program.by_tcp ? AwaitListener(port, server) : AwaitOutput("rdma_cm listens", server)) << server.Output();
  const std::string address = program.by_tcp ? Guest::kThisMachine : AddressOfNic(nic);
  const std::string output = In(0, Limit() + ClientOf(program, address, port));
  EXPECT_NE(output.find(program.output), std::string::npos) << output;
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

void PvrdmaGuests::ToGuest(const RdmaProgram& program, unsigned nic) {
  SCOPED_TRACE(program.client);
  const unsigned port = tcp_port(0);
  Serve(0, program, port);
  Program client(WordsOf(ClientOf(program, program.by_tcp ? "127.0.0.1" : AddressOf(0), port)), On(nic));
  EXPECT_EQ(client.Wait(), 0) << client.Output();
  EXPECT_NE(client.Output().find(program.output), std::string::npos) << client.Output();
  ServerOutput(0);
}

bool PvrdmaGuests::Boot(unsigned guest) {
  State& state = Shared();
  const std::string own = std::to_string(guest), peer = std::to_string(1 - guest), link = state.directory + "/link";
  std::filesystem::remove(link + own);
  std::filesystem::remove(state.directory + "/guest" + own + ".console");
  Guest::Booted started = Guest::Start({.directory = state.directory,
                                        .name = "guest" + own,
                                        .pvrdma = state.directory + "/pvrdma" + own,
                                        .link = link + own + "," + link + peer,
                                        .has_root = true,
                                        .host = kFirstHost + guest,
                                        .memory_mib = 384});
  if (started.is_unavailable) state.is_unavailable = started.reason;
  EXPECT_TRUE(started.guest != nullptr || started.is_unavailable) << started.reason;
  state.guests.at(guest) = std::move(started.guest);
  return state.guests.at(guest) != nullptr;
}

// A NIC's address is none of the guests' Ethernet link.
void PvrdmaGuests::SetUpNetwork(unsigned guest) {
  In(guest, "until ping -c 1 -W 1 " + AddressOf(1 - guest) + " >/run/none; do :; done");
  for (unsigned nic = 0; nic < GetParam().nics; ++nic) {
    In(guest, "ip neigh replace " + AddressOfNic(nic) + " lladdr 02:56:49:52:00:0" + std::to_string(nic + 1) +
                  " dev eth0 nud permanent");
  }
}

void PvrdmaGuests::StartAgain(unsigned guest) {
  Shared().is_running = false;
  if (!Boot(guest)) return;
  const auto reason = Shared().guests.at(guest)->AwaitBoot();
  ASSERT_FALSE(reason.has_value()) << *reason;
  Shared().is_running = true;
  SetUpNetwork(guest);
}

void PvrdmaGuests::ResetMachine(unsigned guest) {
  Shared().is_running = Shared().guests.at(guest)->Reboot("echo b >/proc/sysrq-trigger");
  ASSERT_TRUE(Shared().is_running) << Shared().guests.at(guest)->Log();
  SetUpNetwork(guest);
}

void PvrdmaGuests::Begin(const PvrdmaWorld& world) {
  End();
  State& state = Shared();
  state.world = world.name;
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo_pvrdma_XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  state.directory = pattern;
  std::vector<std::string> arguments = {"--nics", std::to_string(world.nics), "--device", world.device};
  if (world.has_loss) {
    const std::string topology = pattern + "/topology.toml";
    std::ofstream(topology) << LossyTopology(world.nics);
    arguments = {"--topology", topology, "--device", world.device};
  }
  for (const unsigned guest : {0U, 1U}) {
    const std::string number = std::to_string(guest);
    arguments.insert(arguments.end(), {"--pvrdma", "guest" + number + "=" + pattern + "/pvrdma" + number +
                                                       ",nic=" + std::to_string(guest % world.nics)});
  }
  state.simulator = std::make_unique<SimulatorProcess>(arguments);
  ASSERT_TRUE(state.simulator->is_ready()) << state.simulator->error();
  for (const unsigned guest : {0U, 1U}) {
    if (!Boot(guest)) return;
  }
  for (auto& guest : state.guests) {
    if (const auto reason = guest->AwaitBoot(); reason.has_value()) FAIL() << *reason;
  }
  state.is_running = true;
  std::printf("%s: the guests started in %.1f s\n", world.name,
              static_cast<double>(state.guests[1]->boot_time().count()) / 1000);
  for (const unsigned guest : {0U, 1U}) SetUpNetwork(guest);
}

// The simulator exits with another status than 0 for device errors: in lockstep, a difference.
void PvrdmaGuests::End() {
  State& state = Shared();
  for (auto& guest : state.guests) guest.reset();
  if (state.simulator != nullptr) {
    EXPECT_EQ(state.simulator->Stop(), 0) << state.world;
    state.simulator.reset();
    std::error_code error;
    std::filesystem::remove_all(state.directory, error);
  }
  state.is_running = false;
}

}  // namespace vireo::sim
