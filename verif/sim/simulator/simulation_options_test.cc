// SPDX-License-Identifier: Apache-2.0
// What options make of a simulation, and that Arguments() gives vireo_simulator the same one.
#include "sim/simulator/simulation_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace vireo::sim {
namespace {

struct Parsed {
  bool is_monitored = false;
  std::vector<std::string> arguments;
};

Parsed Parse(std::vector<std::string> words) {
  SimulationOptions options;
  CLI::App app;
  options.AddTo(app);
  std::ranges::reverse(words);  // as CLI11 wants them
  app.parse(words);
  const auto described = options.Describe();
  EXPECT_TRUE(described.ok());
  return {described.ok() && described.value().system.is_monitored, options.Arguments()};
}

void ExpectMonitored(const std::vector<std::string>& words, bool is_monitored) {
  const Parsed here = Parse(words);
  EXPECT_EQ(here.is_monitored, is_monitored);
  EXPECT_EQ(Parse(here.arguments).is_monitored, is_monitored) << "in the simulator";
}

TEST(SimulationOptions, NicsAreMonitoredUnlessToldOtherwise) {
  ExpectMonitored({}, true);
  for (const char* device : {"model", "rtl", "lockstep"}) ExpectMonitored({"--device", device}, true);
  ExpectMonitored({"--no-monitor"}, false);
  ExpectMonitored({"--monitor"}, true);
}

// The driver of an exported NIC may be at fault itself.
TEST(SimulationOptions, ExportedNicsAreMonitoredOnRequest) {
  ExpectMonitored({"--nics", "3", "--export", "2=/tmp/a.vfio"}, false);
  ExpectMonitored({"--nics", "3", "--export", "2=/tmp/a.vfio", "--monitor"}, true);
}

TEST(SimulationOptions, GuestsUseNicsOfATopologyFile) {
  SimulationOptions options;
  CLI::App app;
  options.AddTo(app);
  const std::string file = testing::TempDir() + "/guests.toml";
  std::ofstream(file) << "[[nic]]\nname = \"left\"\nconfig = \"nic1\"\n[[nic]]\nname = \"right\"\n";
  std::vector<std::string> words = {"--topology", file,       "--pvrdma", "a=/tmp/a,nic=right,qps=4,srqs=0",
                                    "--pvrdma",   "b=/tmp/b", "--pvrdma", "c=/tmp/c"};
  std::ranges::reverse(words);  // as CLI11 wants them
  app.parse(words);
  const auto described = options.Describe();
  ASSERT_TRUE(described.ok()) << described.error().text;
  const std::vector<Simulation::Guest>& guests = described.value().guests;
  ASSERT_EQ(guests.size(), 3u);
  EXPECT_EQ(guests[0].nic, 1u);
  EXPECT_EQ(guests[0].socket, "/tmp/a");
  EXPECT_EQ(guests[0].limits, (pvrdma::Limits{{&verbs::Quota::qps, 4}, {&verbs::Quota::srqs, 0}}));
  EXPECT_EQ(guests[1].nic, 1u);
  EXPECT_EQ(guests[2].nic, 0u);
  EXPECT_TRUE(guests[2].limits.empty());
}

// The command line's come after the file's, and are in conflict with them as with each other.
TEST(SimulationOptions, GuestsOfATopologyFileAndOfTheCommandLine) {
  const std::string file = testing::TempDir() + "/guest_in_file.toml";
  std::ofstream(file) << "[[nic]]\n[[nic]]\n[[guest]]\nname = 'a'\nsocket = '/tmp/a'\nnic = 'vireo1'\nqps = 4\n";
  const auto describe = [&file](const std::string& guest) {
    SimulationOptions options;
    CLI::App app;
    options.AddTo(app);
    app.parse(std::vector<std::string>{guest, "--pvrdma", file, "--topology"});  // backwards, as CLI11 wants them
    return options.Describe();
  };
  const auto described = describe("b=/tmp/b");
  ASSERT_TRUE(described.ok()) << described.error().text;
  const std::vector<Simulation::Guest>& guests = described.value().guests;
  ASSERT_EQ(guests.size(), 2u);
  EXPECT_EQ(guests[0].name, "a");
  EXPECT_EQ(guests[0].nic, 1u);
  EXPECT_EQ(guests[1].name, "b");
  EXPECT_EQ(guests[1].nic, 1u);
  const auto same_name = describe("a=/tmp/b");
  ASSERT_FALSE(same_name.ok());
  EXPECT_EQ(same_name.error().text, "--pvrdma a=/tmp/b: there is a guest of this name already");
  const auto same_socket = describe("b=/tmp/a");
  ASSERT_FALSE(same_socket.ok());
  EXPECT_EQ(same_socket.error().text, "--pvrdma b=/tmp/a: another guest has this socket; choose another path");
}

}  // namespace
}  // namespace vireo::sim
