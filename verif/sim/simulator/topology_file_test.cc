// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/topology_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/simulator/toml_reader.h"

namespace vireo::sim {
namespace {

const std::string kTwo = "[[nic]]\nname = 'a'\n[[nic]]\nname = 'b'\n";       // four lines
const std::string kGuest = kTwo + "[[guest]]\nname = 'g'\nsocket = '/g'\n";  // seven lines

TEST(TopologyFile, ReadsEveryKey) {
  auto read = ParseTopology(R"(
seed = 0x7f
capture = "x.pcapng"
[[nic]]
name = "left"
device = "lockstep"
config = "nic1"
preset = "gen4x16"
profile = "rfc-v2"
mac = "02:00:5E:10:0a:ff"
ipv4 = "192.168.3.4"
gids = ["192.0.2.7", "2001:db8::7", "192.0.2.7 vlan 5"]
[[nic]]
pmem = "/tmp/../tmp"
export = "/tmp/right.sock"
[switch]
latency_ns = 7
queue_bytes = 10_000
hairpin = false
[[link]]
ends = ["left", "switch"]
rate_mbps = 100
delay_ns = 20
faults = "drop nth=3"
faults_forth = "corrupt rate=0.25"
faults_back = '''
duplicate 2  # both
delay 5'''
[[guest]]
name = "a"
socket = "a.pvrdma"
[[guest]]
name = "b"
socket = "/tmp/b.pvrdma"
nic = "left"
qps = 4
gids = 0
)",
                            "x.toml", {});
  ASSERT_TRUE(read.ok()) << read.error().text;
  const Simulation& simulation = read.value();
  ASSERT_EQ(simulation.size(), 2U);
  EXPECT_EQ(simulation.seed, 0x7fU);
  EXPECT_EQ(simulation.system.capture_path, "x.pcapng");
  EXPECT_EQ(simulation.system.fabric, Fabric::kSwitch);
  EXPECT_EQ(simulation.system.network_switch.latency_ns, 7U);
  EXPECT_EQ(simulation.system.network_switch.queue_bytes, 10'000U);
  EXPECT_FALSE(simulation.system.network_switch.hairpin);
  const HostOptions& left = simulation.system.hosts[0];
  EXPECT_EQ(left.nic.name, "left");
  EXPECT_EQ(left.device, "lockstep");
  EXPECT_EQ(left.nic.config, &spec::kNic1);
  EXPECT_EQ(left.nic.pcie.name, "gen4x16");
  EXPECT_EQ(left.profile, spec::Profile::kRfcV2);
  EXPECT_EQ(left.mac, (std::array<uint8_t, 6>{2, 0, 0x5e, 0x10, 0x0a, 0xff}));
  EXPECT_EQ(left.ipv4, (std::array<uint8_t, 4>{192, 168, 3, 4}));
  ASSERT_EQ(simulation.gids.size(), 2U);
  ASSERT_EQ(simulation.gids[0].size(), 3U);
  EXPECT_EQ(simulation.gids[0][0].gid,
            (std::array<uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7}));
  EXPECT_EQ(simulation.gids[0][1].gid,
            (std::array<uint8_t, 16>{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}));
  EXPECT_EQ(simulation.gids[0][1].vlan, std::nullopt);
  EXPECT_EQ(simulation.gids[0][2].vlan, 5);
  EXPECT_EQ(ToText(simulation.gids[0][2]), "192.0.2.7 vlan 5");
  EXPECT_EQ(ToText(simulation.gids[0][1]), "2001:db8::7");
  EXPECT_TRUE(simulation.gids[1].empty());
  EXPECT_EQ(left.nic.rate_mbps(), 100U);
  EXPECT_EQ(left.nic.wire_delay_ns, 20U);
  ASSERT_EQ(left.nic.faults_out.size(), 2U);  // forth: from the first end
  EXPECT_EQ(left.nic.faults_out[0].nth, 3U);
  EXPECT_EQ(left.nic.faults_out[1].per_million, 250'000U);
  ASSERT_EQ(left.nic.faults_in.size(), 3U);
  EXPECT_EQ(left.nic.faults_in[1].kind, FaultKind::kDuplicate);
  EXPECT_EQ(left.nic.faults_in[2].kind, FaultKind::kDelay);
  const HostOptions& right = simulation.system.hosts[1];
  EXPECT_EQ(right.nic.name, "vireo1");
  EXPECT_EQ(right.device, "model");
  EXPECT_FALSE(right.mac.has_value());
  EXPECT_EQ(right.nic.rate_mbps(), spec::kNic100.link_mbps);
  EXPECT_TRUE(simulation.is_exported(1));
  EXPECT_FALSE(simulation.is_exported(0));
  EXPECT_EQ(simulation.exports[1], "/tmp/right.sock");
  EXPECT_EQ(simulation.pmem, (std::vector<std::string>{"", "/tmp"}));
  ASSERT_EQ(simulation.guests.size(), 2U);
  EXPECT_EQ(simulation.guests[0].name, "a");
  EXPECT_EQ(simulation.guests[0].socket, "a.pvrdma");
  EXPECT_EQ(simulation.guests[0].nic, 0U);
  EXPECT_TRUE(simulation.guests[0].limits.empty());
  EXPECT_EQ(simulation.guests[1].name, "b");
  EXPECT_EQ(simulation.guests[1].socket, "/tmp/b.pvrdma");
  EXPECT_EQ(simulation.guests[1].nic, 0U);
  EXPECT_EQ(simulation.guests[1].limits, (pvrdma::Limits{{&verbs::Quota::qps, 4}, {&verbs::Quota::gids, 0}}));
}

TEST(TopologyFile, MissingKeysTakeDefaults) {
  HostOptions every;
  every.device = "rtl";
  every.nic.config = &spec::kNic1;
  every.nic.pcie = kPciePresets[2];
  auto read = ParseTopology("[[nic]]\n[[nic]]\ndevice = 'model'\n", "x.toml", every);
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read.value().system.hosts[0].device, "rtl");
  EXPECT_EQ(read.value().system.hosts[0].nic.config, &spec::kNic1);
  EXPECT_EQ(read.value().system.hosts[1].device, "model");
  EXPECT_EQ(read.value().system.hosts[1].nic.pcie.name, kPciePresets[2].name);
}

TEST(TopologyFile, DirectLinkHasSlowerRateAndFaultsBySender) {
  auto read = ParseTopology(
      "[[nic]]\nname = 'a'\n[[nic]]\nname = 'b'\nconfig = 'nic1'\n[[link]]\nends = ['b', 'a']\n"
      "delay_ns = 9\nfaults_forth = 'drop'\nfaults_back = 'drop nth=1; drop nth=2'\n",
      "x.toml", {});
  ASSERT_TRUE(read.ok()) << read.error().text;
  const auto& hosts = read.value().system.hosts;
  EXPECT_EQ(read.value().system.fabric, Fabric::kDirect);
  for (const HostOptions& host : hosts) {
    EXPECT_EQ(host.nic.rate_mbps(), spec::kNic1.link_mbps);
    EXPECT_EQ(host.nic.wire_delay_ns, 9U);
    EXPECT_TRUE(host.nic.faults_in.empty());
  }
  EXPECT_EQ(hosts[1].nic.faults_out.size(), 1U);
  EXPECT_EQ(hosts[0].nic.faults_out.size(), 2U);
}

TEST(TopologyFile, GuestsWithoutNicHaveThemInTurn) {
  std::string text = kTwo;
  for (const char* const name : {"g", "h", "i"}) {
    text += "[[guest]]\nname = '" + std::string(name) + "'\nsocket = '" + name + "'\n";
  }
  const auto read = ParseTopology(text, "x.toml", {});
  ASSERT_TRUE(read.ok()) << read.error().text;
  ASSERT_EQ(read.value().guests.size(), 3U);
  EXPECT_EQ(read.value().guests[0].nic, 0U);
  EXPECT_EQ(read.value().guests[1].nic, 1U);
  EXPECT_EQ(read.value().guests[2].nic, 0U);
}

// docs/topology.md starts with the example; run_test.cc runs it.
TEST(TopologyFile, ReadsExample) {
  auto read = ReadTopology(VIREO_EXAMPLE_TOPOLOGY, {});
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(read.value().size(), 3U);
}

struct Wrong {
  const char* name;
  std::string text;
  const char* place;    // "LINE:COLUMN"
  const char* message;  // a part of the message
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }
class TopologyFileRefuses : public testing::TestWithParam<Wrong> {};

TEST_P(TopologyFileRefuses, ReportsPositionAndAllowedValues) {
  const auto read = ParseTopology(GetParam().text, "x.toml", {});
  ASSERT_FALSE(read.ok());
  const std::string& error = read.error().text;
  EXPECT_TRUE(error.starts_with("x.toml:" + std::string(GetParam().place) + ": ")) << error;
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Files, TopologyFileRefuses,
    testing::Values(
        Wrong{"InvalidToml", "[[nic]\n", "1:7", "while parsing"},
        Wrong{"UnknownTopLevelKey", "\n  sed = 1\n" + kTwo, "2:3", "a topology has no 'sed'; did you mean 'seed'?"},
        Wrong{"FirstOfSeveralUnknownKeys", "zebra = 1\nalpha = 2\n" + kTwo, "1:1",
              "no 'zebra'; known: seed, capture, nic, switch, link, guest"},
        Wrong{"UnknownNicKey", "[[nic]]\nname = 'a'\ndevcie = 'rtl'\n", "3:1",
              "[[nic]] has no 'devcie'; did you mean 'device'?"},
        Wrong{"UnknownSwitchKey", kTwo + "[switch]\nqueue = 1\n", "6:1", "[switch] has no 'queue'; known: latency_ns"},
        Wrong{"UnknownLinkKey", kTwo + "[[link]]\nends = ['a', 'switch']\nloss = 0.5\n", "7:1",
              "[[link]] has no 'loss'"},
        Wrong{"NoNics", "seed = 1\n", "1:1", "1 to 64 [[nic]], not 0"},
        Wrong{"NicAsArrayOfIntegers", "nic = [3]\n", "1:8",
              "'nic' must be an array of tables, [[nic]]; this element is an"},
        Wrong{"NicAsTable", "[nic]\nname = 'a'\n", "1:1", "'nic' must be an array of tables, [[nic]], not a table"},
        Wrong{"DeviceAsInteger", "[[nic]]\ndevice = 3\n", "2:10", "'device' must be a string, not an integer"},
        Wrong{"UnknownDevice", "[[nic]]\ndevice = 'modle'\n", "2:10",
              "there is no device 'modle'; did you mean 'model'? Known: model, rtl, lockstep"},
        Wrong{"UnknownConfig", "[[nic]]\nconfig = 'nic400'\n", "2:10", "did you mean 'nic100'?"},
        Wrong{"VlanWithoutProfileVireo", "[[nic]]\nprofile = 'rfc-v2'\nvlan = 5\n", "3:8",
              "a NIC of profile rfc-v2 has no VLAN"},
        Wrong{"VlanOutOfRange", "[[nic]]\nvlan = 4095\n", "2:8", "4094"},
        Wrong{"GidNoAddress", "[[nic]]\ngids = ['192.0.2']\n", "2:8",
              "'192.0.2' is not an IP address; examples: 192.0.2.7"},
        Wrong{"GidMulticast", "[[nic]]\ngids = ['ff02::1']\n", "2:8", "is not the address of one host"},
        Wrong{"GidLoopback", "[[nic]]\ngids = ['127.0.0.1']\n", "2:8", "is not the address of one host"},
        Wrong{"GidUnspecified", "[[nic]]\ngids = ['::']\n", "2:8", "is not the address of one host"},
        Wrong{"GidVlanOutOfRange", "[[nic]]\ngids = ['192.0.2.7 vlan 4095']\n", "2:8", "needs a VLAN of 1 to 4094"},
        Wrong{"GidVlanWithMore", "[[nic]]\ngids = ['192.0.2.7 vlan 5 6']\n", "2:8", "needs a VLAN of 1 to 4094"},
        Wrong{"GidOfTwoNics", "[[nic]]\ngids = ['192.0.2.7']\n[[nic]]\ngids = ['192.0.2.7']\n", "4:8",
              "NIC 0 already has the gids 192.0.2.7"},
        Wrong{"UnknownProfile", "[[nic]]\nprofile = 'rfc'\n", "2:11", "known: rfc-v2, vireo"},
        Wrong{"UnknownPreset", "[[nic]]\npreset = 'usb'\n", "2:10", "known: gen3x8, gen3x16, gen4x16"},
        Wrong{"DuplicateName", "[[nic]]\nname = 'a'\n[[nic]]\nname = 'a'\n", "4:8", "NIC 0 already has the name a"},
        Wrong{"DuplicateOfDefaultName", "[[nic]]\nname = 'vireo1'\n[[nic]]\n", "3:1",
              "NIC 0 already has the name vireo1"},
        Wrong{"NameWithASpace", "[[nic]]\nname = 'a b'\n", "2:8", "is not a valid NIC name"},
        Wrong{"NameSwitch", "[[nic]]\nname = 'switch'\n", "2:8", "and not 'switch'"},
        Wrong{"InvalidMac", "[[nic]]\nmac = '02:00:5e:10:00'\n", "2:7", "example: 02:00:00:00:00:01"},
        Wrong{"GroupMac", "[[nic]]\nmac = '01:00:5e:10:00:01'\n", "2:7", "not a unicast MAC address"},
        Wrong{"InvalidIpv4", "[[nic]]\nipv4 = '10.0.0.256'\n", "2:8", "not an IPv4 address of a host"},
        Wrong{"MulticastIpv4", "[[nic]]\nipv4 = '224.0.0.1'\n", "2:8", "not an IPv4 address of a host"},
        Wrong{"DuplicateIpv4", "[[nic]]\n[[nic]]\nipv4 = '10.0.0.1'\n", "3:8", "NIC 0 already has the ipv4 10.0.0.1"},
        Wrong{"DuplicateExport", "[[nic]]\nexport = '/a'\n[[nic]]\nexport = '/a'\n", "4:10",
              "already has the export /a"},
        Wrong{"PmemIsNoDirectory", "[[nic]]\npmem = '/dev/null'\n", "2:8", "'/dev/null' is not a directory"},
        Wrong{"PmemIsNotThere", "[[nic]]\npmem = '/nonexistent'\n", "2:8", "'/nonexistent' is not a directory"},
        Wrong{"EmptyExport", "[[nic]]\nexport = ''\n", "2:10", "path of a socket"},
        Wrong{"NegativeSeed", "seed = -1\n" + kTwo, "1:8", "'seed' must be from 0 to 9223372036854775807, not -1"},
        Wrong{"SeedAsFloat", "seed = 1.5\n" + kTwo, "1:8", "'seed' must be an integer, not a floating-point number"},
        Wrong{"HairpinAsInteger", kTwo + "[switch]\nhairpin = 1\n", "6:11",
              "'hairpin' must be true or false, not an integer"},
        Wrong{"QueueOfZeroBytes", kTwo + "[switch]\nqueue_bytes = 0\n", "6:15", "from 1 to 1073741824, not 0"},
        Wrong{"LinkWithoutEnds", kTwo + "[[link]]\ndelay_ns = 1\n", "5:1", "two different 'ends'"},
        Wrong{"LinkToItself", kTwo + "[[link]]\nends = ['a', 'a']\n", "6:8", "two different 'ends'"},
        Wrong{"LinkToUnknownNic", kTwo + "[[link]]\nends = ['a', 'swich']\n", "6:8",
              "there is no NIC 'swich'; did you mean 'switch'? Known: a, b, switch"},
        Wrong{"EndAsInteger", kTwo + "[[link]]\nends = ['a', 7]\n", "6:14",
              "array of strings; this element is an integer"},
        Wrong{"SecondLink", kTwo + "[[link]]\nends = ['a', 'switch']\n[[link]]\nends = ['switch', 'a']\n", "8:8",
              "'a' already has a link"},
        Wrong{"DirectLinkWithThreeNics", kTwo + "[[nic]]\n[[link]]\nends = ['a', 'b']\n", "7:8", "and this has 3"},
        Wrong{"DirectLinkWithSwitch", kTwo + "[switch]\n[[link]]\nends = ['a', 'b']\n", "7:8",
              "direct link has no [switch]"},
        Wrong{"DelayTooLong", kTwo + "[[link]]\nends = ['a', 'switch']\ndelay_ns = 1_000_000_001\n", "7:12",
              "from 0 to 1000000000, not 1000000001"},
        Wrong{"RateAboveNic", kTwo + "[[link]]\nends = ['a', 'switch']\nrate_mbps = 100_001\n", "7:13",
              "from 1 to 100000, not 100001"},
        Wrong{"InvalidFault", kTwo + "[[link]]\nends = ['a', 'switch']\nfaults_back = 'lose rate=1'\n", "7:15",
              "fault script, line 1"},
        Wrong{"GuestAsTable", kTwo + "[guest]\nname = 'g'\n", "5:1", "'guest' must be an array of tables, [[guest]]"},
        Wrong{"UnknownGuestKey", kGuest + "qp = 1\n", "8:1", "[[guest]] has no 'qp'; did you mean 'qps'?"},
        Wrong{"GuestWithoutName", kTwo + "[[guest]]\nsocket = '/g'\n", "5:1", "a [[guest]] needs a 'name'"},
        Wrong{"GuestWithoutSocket", kTwo + "[[guest]]\nname = 'g'\n", "5:1", "a [[guest]] needs a 'socket'"},
        Wrong{"GuestNameWithAnEqualsSign", kTwo + "[[guest]]\nname = 'g=h'\nsocket = '/g'\n", "6:8",
              "'g=h' is not a valid guest name: a letter"},
        Wrong{"GuestNameAsInteger", kTwo + "[[guest]]\nname = 1\nsocket = '/g'\n", "6:8", "must be a string"},
        Wrong{"EmptyGuestSocket", kTwo + "[[guest]]\nname = 'g'\nsocket = ''\n", "7:10", "path of a socket"},
        Wrong{"GuestOfUnknownNic", kGuest + "nic = 'c'\n", "8:7", "there is no NIC 'c'; did you mean 'a'? Known: a, b"},
        Wrong{"GuestOfTheSwitch", kGuest + "nic = 'switch'\n", "8:7", "there is no NIC 'switch'; known: a, b"},
        Wrong{"GuestOfMisspelledNic", "[[nic]]\n[[guest]]\nname = 'g'\nsocket = '/g'\nnic = 'vireo1'\n", "5:7",
              "there is no NIC 'vireo1'; did you mean 'vireo0'? Known: vireo0"},
        Wrong{"GuestOfExportedNic",
              "[[nic]]\nname = 'a'\nexport = '/a'\n[[guest]]\nname = 'g'\nsocket = '/g'\nnic = 'a'\n", "7:7",
              "NIC 0 is exported and cannot be shared"},
        Wrong{"GuestInTurnOfExportedNic", "[[nic]]\nexport = '/a'\n[[guest]]\nname = 'g'\nsocket = '/g'\n", "3:1",
              "NIC 0 is exported and cannot be shared"},
        Wrong{"GuestAtAnExportsSocket", "[[nic]]\n[[nic]]\nexport = '/a'\n[[guest]]\nname = 'g'\nsocket = '/a'\n",
              "6:10", "a NIC is exported at this socket"},
        Wrong{"GuestsOfOneName", kGuest + "[[guest]]\nname = 'g'\nsocket = '/h'\n", "9:8",
              "there is a guest of this name already"},
        Wrong{"GuestsAtOneSocket", kGuest + "[[guest]]\nname = 'h'\nsocket = '/g'\n", "10:10",
              "another guest has this socket"},
        Wrong{"NegativeGuestShare", kGuest + "qps = -1\n", "8:7", "'qps' must be from 0 to 4294967295, not -1"},
        Wrong{"GuestShareTooLong", kGuest + "mrs = 4294967296\n", "8:7", "'mrs' must be from 0 to 4294967295"},
        Wrong{"GuestShareAsString", kGuest + "gids = '4'\n", "8:8", "'gids' must be an integer, not a string"}),
    [](const auto& info) { return info.param.name; });

TEST(TopologyFile, ReportsMissingFile) {
  for (const std::string path : {"/nonexistent/x.toml", "/tmp"}) {
    const auto read = ReadTopology(path, {});
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().text, path + ": cannot be read");
  }
}

TEST(NearestName, FindsMisspellingOrNothing) {
  EXPECT_EQ(NearestName("devcie", {"name", "device"}), "device");
  EXPECT_EQ(NearestName("ends", {"send", "end"}), "end");
  EXPECT_EQ(NearestName("loss", {"ends", "faults"}), "");
  EXPECT_EQ(NearestName("", {"a"}), "a");
  EXPECT_EQ(NearestName("x", {}), "");
}

}  // namespace
}  // namespace vireo::sim
