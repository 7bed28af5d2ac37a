// SPDX-License-Identifier: Apache-2.0
// A PVRDMA function on the model of the NIC: registers, every command, and guests that break the rules.
#include "sim/pvrdma/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <vector>

#include "verif/sim/pvrdma/world.h"

namespace vireo::sim::pvrdma {
namespace {

constexpr uint32_t kErrno(int error) { return static_cast<uint32_t>(error); }

// --- Registers and bring-up

TEST(PvrdmaFunction, HasIdentityBarsAndVectors) {
  World world({});
  LocalGuest& guest = world.guest(0);
  EXPECT_EQ(guest.ReadConfig(0, 4), 0x0820'15adu);
  EXPECT_EQ(guest.ReadConfig(spec::PciHeader::kClassCodeOffset, 2), 0x8000u);
  EXPECT_EQ(guest.BarBytes(kMsixBar), 4096u);
  EXPECT_EQ(guest.BarBytes(kRegisterBar), 4096u);
  EXPECT_EQ(guest.BarBytes(kUarBar), 512u * 4096);
  for (const unsigned bar : {3U, 4U, 5U}) EXPECT_EQ(guest.BarBytes(bar), 0u);
  // Sizes as system software determines them; BAR 2 has 64 bits.
  const uint32_t expected[] = {0xffff'f000, 0xffff'f000, 0xffe0'0004, 0xffff'ffff, 0, 0};
  for (uint32_t bar = 0; bar < 6; ++bar) {
    const uint32_t at = spec::PciHeader::kBaseAddressOffset + 4 * bar;
    guest.WriteConfig(at, 4, ~0U);
    EXPECT_EQ(guest.ReadConfig(at, 4), expected[bar]) << "BAR " << bar;
  }
  // Only command bits are writable in the first dwords.
  guest.WriteConfig(0, 4, 0);
  guest.WriteConfig(4, 4, ~0U);
  EXPECT_EQ(guest.ReadConfig(0, 4), 0x0820'15adu);
  EXPECT_EQ(guest.ReadConfig(4, 4), 0x0010'0406u);
  const uint32_t capability = guest.ReadConfig(spec::PciHeader::kCapabilitiesPointerOffset, 1);
  EXPECT_EQ(guest.ReadConfig(capability, 1), static_cast<uint32_t>(spec::PciCapabilityId::kMsix));
  EXPECT_EQ(guest.ReadConfig(capability + 2, 2) & 0x7ff, kVectors - 1);
  EXPECT_EQ(guest.ReadConfig(4096 - 4, 4), 0u);
  guest.pci().Reset();
  EXPECT_EQ(guest.ReadConfig(4, 4), 0x0010'0000u);
}

TEST(PvrdmaDevice, RegistersHaveTheirValues) {
  World world({});
  Driver& driver = world.driver(0);
  EXPECT_EQ(driver.ReadRegister(kVersion), 20u);
  EXPECT_EQ(driver.ReadRegister(kErr), 0u);
  EXPECT_EQ(driver.ReadRegister(kIcr), 0u);
  EXPECT_EQ(driver.ReadRegister(kImr), ~0u);
  const auto mac = world.system().host(0).mac();
  EXPECT_EQ(driver.ReadRegister(kMacLow), uint32_t{mac[0]} | mac[1] << 8 | mac[2] << 16 | uint32_t{mac[3]} << 24);
  EXPECT_EQ(driver.ReadRegister(kMacHigh), uint32_t{mac[4]} | mac[5] << 8);
  // Unknown ones read 0, also as parts and pairs of registers.
  EXPECT_EQ(driver.ReadRegister(0x28), 0u);
  EXPECT_EQ(driver.function().ReadBar(kRegisterBar, kVersion, 1), 20u);
  EXPECT_EQ(driver.function().ReadBar(kRegisterBar, kVersion + 2, 2), 0u);
  EXPECT_EQ(driver.function().ReadBar(kRegisterBar, kIcr, 8), 0xffff'ffff'0000'0000u);
  EXPECT_EQ(driver.function().ReadBar(kUarBar, 0, 4), 0u);
  // A narrow write is none.
  driver.function().WriteBar(kRegisterBar, kImr, 2, 0);
  EXPECT_EQ(driver.ReadRegister(kImr), ~0u);
}

TEST(PvrdmaDevice, StartsWithLinuxSequenceAndOffersWhatTheNicHas) {
  World world({});
  world.Start();
  const DeviceCaps& caps = world.driver(0).caps();
  const spec::RdmaAckQueryDevice& nic = world.nic(0).device().attributes();
  EXPECT_EQ(caps.max_qp, 1024u - 1);  // without QP 0
  EXPECT_EQ(caps.max_cq, 1024u);
  EXPECT_LE(caps.max_qp_wr, nic.max_qp_wr);
  EXPECT_TRUE(std::has_single_bit(caps.max_qp_wr));
  EXPECT_TRUE(std::has_single_bit(caps.max_cqe));
  EXPECT_EQ(caps.max_sge, 16u);  // of 30, because the driver rounds up
  EXPECT_EQ(caps.max_pd, nic.max_pd);
  EXPECT_EQ(caps.max_mr, nic.max_mr);
  EXPECT_EQ(caps.max_srq, nic.max_srq);
  EXPECT_EQ(caps.max_srq_wr, caps.max_qp_wr);
  EXPECT_EQ(caps.max_srq_sge, caps.max_sge);
  EXPECT_EQ(caps.atomic_ops, kAtomicCompareSwap | kAtomicFetchAdd);
  EXPECT_EQ(caps.bmme_flags, 0);
  EXPECT_EQ(caps.gid_tbl_len, 16u);
  EXPECT_EQ(caps.phys_port_cnt, 1);
  EXPECT_EQ(caps.node_guid[0], 0x02);
  EXPECT_EQ(caps.node_guid[7], 0x01);
}

TEST(PvrdmaDevice, RefusesWrongSharedRegions) {
  World world({});
  Driver& driver = world.driver(0);
  driver.Prepare();
  const SharedRegion good = driver.region();
  const std::pair<const char*, std::function<void(SharedRegion&)>> rows[] = {
      {"command slot", [](SharedRegion& region) { region.cmd_slot = 0; }},
      {"slot at the end of memory", [](SharedRegion& region) { region.resp_slot += 8; }},
      {"wrapping slot", [](SharedRegion& region) { region.resp_slot = ~uint64_t{0} - 7; }},
      {"event directory", [](SharedRegion& region) { region.async_ring.directory += 1; }},
      {"no directory", [](SharedRegion& region) { region.cq_ring.directory = 0; }},
      {"no entries", [](SharedRegion& region) { region.cq_ring.pages = 1; }},
      {"no pages", [](SharedRegion& region) { region.async_ring.pages = 0; }},
      {"more pages than listed", [](SharedRegion& region) { region.async_ring.pages = 5; }},
      {"most pages", [](SharedRegion& region) { region.async_ring.pages = ~0U; }},
  };
  for (const auto& [name, change] : rows) {
    driver.region() = good;
    change(driver.region());
    EXPECT_EQ(driver.WriteRegion(), kErrno(EFAULT)) << name;
    driver.WriteRegister(kCtl, kActivate);
    EXPECT_EQ(driver.ReadRegister(kErr), kErrno(EINVAL)) << name;
  }
  // A driver that takes a queue pair's number for its handle.
  driver.region() = good;
  driver.region().driver_version = kDeviceVersion - 1;
  EXPECT_EQ(driver.WriteRegion(), kErrno(EOPNOTSUPP));
  driver.region() = good;
  driver.WriteRegister(kDsrLow, 0x1000);
  driver.WriteRegister(kDsrHigh, 0x7fff'ffff);
  EXPECT_EQ(driver.ReadRegister(kErr), kErrno(EFAULT));
  // Nothing is left behind.
  EXPECT_EQ(driver.WriteRegion(), 0u);
  EXPECT_EQ(driver.WriteRegion(), kErrno(EBUSY));  // once
  EXPECT_EQ(driver.region().caps.max_pd, driver.caps().max_pd);
}

TEST(PvrdmaDevice, ControlsAndCommandsNeedTheirState) {
  World world({});
  Driver& driver = world.driver(0);
  const auto control = [&](uint32_t value) {
    driver.WriteRegister(kCtl, value);
    return driver.ReadRegister(kErr);
  };
  driver.WriteRegister(kRequest, 0);
  EXPECT_EQ(driver.ReadRegister(kErr), kErrno(EINVAL));
  EXPECT_EQ(control(kActivate), kErrno(EINVAL));
  EXPECT_EQ(control(kUnquiesce), kErrno(EINVAL));
  EXPECT_EQ(control(3), kErrno(EINVAL));
  driver.Start();
  EXPECT_EQ(control(kActivate), kErrno(EINVAL));  // it is active
  EXPECT_EQ(control(kUnquiesce), 0u);
  driver.CreatePd();
  EXPECT_EQ(control(kReset), 0u);
  EXPECT_TRUE(world.guest(0).device().objects().pds.empty());
  driver.WriteRegister(kRequest, 0);
  EXPECT_EQ(driver.ReadRegister(kErr), kErrno(EINVAL));
  EXPECT_EQ(driver.ReadRegister(kImr), ~0u);
  // Doorbells of a device that is not active.
  driver.Ring(0, kQpDoorbell, kQpSend | 2);
  driver.Start();
}

TEST(PvrdmaDevice, MaskedInterruptsWait) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  host::PciFunction& function = driver.function();
  EXPECT_TRUE(function.TakeInterrupt(kResponseVector));  // of BIND
  EXPECT_FALSE(function.TakeInterrupt(kResponseVector));
  EXPECT_EQ(driver.ReadRegister(kIcr), 1u << kResponseVector);
  EXPECT_EQ(driver.ReadRegister(kIcr), 0u);  // reading clears it
  driver.WriteRegister(kImr, 1U << kResponseVector);
  driver.CreatePd();
  EXPECT_FALSE(function.TakeInterrupt(kResponseVector));
  EXPECT_EQ(driver.ReadRegister(kIcr), 1u << kResponseVector);
  driver.WriteRegister(kImr, 0);
  EXPECT_TRUE(function.TakeInterrupt(kResponseVector));
  EXPECT_FALSE(function.TakeInterrupt(kVectors));
}

// --- Commands

TEST(PvrdmaCommands, QueriesDescribePortAndKey) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  QueryPortResponse port;
  ASSERT_EQ(driver.Execute(Command::kQueryPort, QueryPort{.port = 1}, port), 0u);
  EXPECT_EQ(port.attributes.state, 4u);
  EXPECT_EQ(port.attributes.max_mtu, 5u);
  EXPECT_EQ(port.attributes.active_mtu, 5u);
  EXPECT_EQ(port.attributes.gid_tbl_len, 16u);
  EXPECT_EQ(port.attributes.pkey_tbl_len, 1u);
  EXPECT_EQ(port.attributes.active_width, 2);   // 4 lanes
  EXPECT_EQ(port.attributes.active_speed, 32);  // EDR
  EXPECT_GT(port.attributes.max_msg_sz, 1u << 20);
  QueryPkeyResponse pkey;
  ASSERT_EQ(driver.Execute(Command::kQueryPkey, QueryPkey{.port = 1}, pkey), 0u);
  EXPECT_EQ(pkey.pkey, 0xffff);
  EXPECT_EQ(driver.Execute(Command::kQueryPort, QueryPort{.port = 0}, port), kErrno(EINVAL));
  EXPECT_EQ(driver.Execute(Command::kQueryPort, QueryPort{.port = 2}, port), kErrno(EINVAL));
  EXPECT_EQ(driver.Execute(Command::kQueryPkey, QueryPkey{.port = 1, .index = 1}, pkey), kErrno(EINVAL));
}

TEST(PvrdmaCommands, WhatIsNotOfferedIsRefused) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  for (const uint32_t command : {7U, 21U, 0x7fff'ffffU}) {
    EXPECT_EQ(driver.Execute(static_cast<Command>(command), HandleCommand{}), kErrno(EOPNOTSUPP)) << command;
  }
  const uint32_t pd = driver.CreatePd();
  EXPECT_EQ(driver.Execute(Command::kCreateMr, CreateMr{.pd = pd, .flags = kMrDma}), kErrno(EOPNOTSUPP));
  EXPECT_EQ(driver.Execute(Command::kCreateMr, CreateMr{.pd = pd, .flags = kMrFastRegister}), kErrno(EOPNOTSUPP));
  DriverCq cq(driver, 16);
  DriverQpOptions gsi{.type = 1};
  EXPECT_EQ(driver.Execute(Command::kCreateQp, DriverQp::Request(pd, cq.handle(), cq.handle(), gsi)),
            kErrno(EOPNOTSUPP));
}

TEST(PvrdmaCommands, ObjectsAreCreatedAndDestroyedInOrder) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const auto busy = kErrno(EBUSY), invalid = kErrno(EINVAL);
  HandleResponse context;
  const uint64_t first = driver.region().uar_pfn;
  ASSERT_EQ(driver.Execute(Command::kCreateUc, CreateUc{.pfn = first + 3}, context), 0u);
  EXPECT_EQ(context.handle, 3u);
  EXPECT_EQ(driver.Execute(Command::kCreateUc, CreateUc{.pfn = first + 3}, context), busy);
  for (const uint64_t pfn : {first, first - 1, first + 512, ~uint64_t{0}, uint64_t{0}}) {
    EXPECT_EQ(driver.Execute(Command::kCreateUc, CreateUc{.pfn = pfn}, context), invalid) << pfn - first;
  }
  const uint32_t pd = driver.CreatePd(3);
  DriverCq cq(driver, 64, 3);
  const auto region = driver.CreateRegion(pd, 3);
  DriverQp qp(driver, pd, cq, cq, {.context = 3});
  EXPECT_LT(qp.handle(), driver.caps().max_qp);
  EXPECT_LT(cq.handle(), driver.caps().max_cq);

  EXPECT_EQ(driver.Destroy(Command::kDestroyUc, 3), busy);
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, pd), busy);
  EXPECT_EQ(cq.Destroy(), busy);
  EXPECT_EQ(qp.Destroy(), 0u);
  EXPECT_EQ(qp.Destroy(), invalid);
  EXPECT_EQ(cq.Destroy(), 0u);
  EXPECT_EQ(cq.Destroy(), invalid);
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, pd), busy);
  EXPECT_EQ(driver.Destroy(Command::kDestroyMr, region.handle), 0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyMr, region.handle), invalid);
  EXPECT_EQ(driver.Destroy(Command::kDestroyUc, 3), busy);
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, pd), 0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, pd), invalid);
  EXPECT_EQ(driver.Destroy(Command::kDestroyUc, 3), 0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyUc, 3), invalid);
  EXPECT_EQ(driver.Destroy(Command::kDestroyUc, 0), invalid);  // the kernel's
}

TEST(PvrdmaCommands, HandlesOfOthersAreNone) {
  World world({});
  world.Start();
  Driver &mine = world.driver(0), &theirs = world.driver(1);
  const uint32_t invalid = kErrno(EINVAL);
  const uint32_t their_pd = theirs.CreatePd();
  // Numbers may be equal; those that only the other guest has are not known here.
  const uint32_t unused_pd = mine.CreatePd();
  ASSERT_EQ(mine.Destroy(Command::kDestroyPd, unused_pd), 0u);
  EXPECT_EQ(mine.Destroy(Command::kDestroyPd, their_pd), invalid);
  DriverCq their_cq(theirs, 16);
  EXPECT_EQ(mine.Destroy(Command::kDestroyCq, their_cq.handle()), invalid);
  const auto region = theirs.CreateRegion(their_pd, 1);
  EXPECT_EQ(mine.Destroy(Command::kDestroyMr, region.handle), invalid);
  DriverQp their_qp(theirs, their_pd, their_cq, their_cq);
  EXPECT_EQ(mine.Destroy(Command::kDestroyQp, their_qp.handle()), invalid);
  EXPECT_EQ(mine.Execute(Command::kModifyQp, ModifyQp{.handle = their_qp.handle()}), invalid);
  QueryQpResponse state;
  EXPECT_EQ(mine.Execute(Command::kQueryQp, QueryQp{.handle = their_qp.handle()}, state), invalid);
  EXPECT_EQ(mine.Execute(Command::kCreateQp, DriverQp::Request(their_pd, their_cq.handle(), their_cq.handle(), {})),
            invalid);
  EXPECT_EQ(theirs.Execute(Command::kCreatePd, HandleCommand{.handle = 5}), invalid);  // no such context
  // Objects of two contexts do not mix.
  HandleResponse context;
  ASSERT_EQ(theirs.Execute(Command::kCreateUc, CreateUc{.pfn = theirs.region().uar_pfn + 1}, context), 0u);
  const uint32_t user_pd = theirs.CreatePd(1);
  EXPECT_EQ(theirs.Execute(Command::kCreateQp, DriverQp::Request(user_pd, their_cq.handle(), their_cq.handle(), {})),
            invalid);
}

// Each row changes one thing of the good request: the command fails with the row's error and makes no object.
template <typename Request, typename Rows, typename Objects>
void ExpectRefused(Driver& driver, Command command, const Request& good, const Rows& rows, const Objects& objects) {
  int row = 0;
  for (const auto& [error, change] : rows) {
    Request request = good;
    change(request);
    EXPECT_EQ(driver.Execute(command, request), error) << "row " << row;
    ++row;
    EXPECT_TRUE(objects.empty());
  }
}

TEST(PvrdmaCommands, RegionsAreChecked) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const uint32_t pd = driver.CreatePd();
  const GuestBuffer buffer = driver.AllocateListed(3);
  const CreateMr good{.start = 0x5000'0010,
                      .length = 2 * kPageBytes,
                      .directory = buffer.directory->address(),
                      .pd = pd,
                      .access_flags = 7,
                      .pages = 3};
  const std::pair<uint32_t, std::function<void(CreateMr&)>> rows[] = {
      {EINVAL, [](CreateMr& mr) { mr.pd += 1; }},
      {EOPNOTSUPP, [](CreateMr& mr) { mr.access_flags = 16; }},  // memory windows
      {EINVAL, [](CreateMr& mr) { mr.access_flags = 2; }},       // IBTA: remote write and atomics need local write
      {EINVAL, [](CreateMr& mr) { mr.access_flags = 8; }},
      {EFAULT, [](CreateMr& mr) { mr.directory += 8; }},
      {EFAULT, [](CreateMr& mr) { mr.directory = 0; }},
      {EFAULT, [](CreateMr& mr) { mr.pages = 0; }},
      {EFAULT, [](CreateMr& mr) { mr.pages = 4; }},  // the fourth entry of the table is 0
      {ENOMEM, [](CreateMr& mr) { mr.pages = ~0U; }},
      {EINVAL, [](CreateMr& mr) { mr.pages = 2; }},  // the range touches three
      {EINVAL, [](CreateMr& mr) { mr.length = 0; }},
      {EINVAL, [](CreateMr& mr) { mr.length = ~uint64_t{0}; }},
      {EINVAL, [](CreateMr& mr) { mr.start = ~uint64_t{0} - 10; }},
  };
  ExpectRefused(driver, Command::kCreateMr, good, rows, world.guest(0).device().objects().mrs);
  // Rights that a device may ignore: relaxed ordering is bit 20.
  for (const uint32_t ignored : {1U << 20, 1U << 29}) {
    const auto region = driver.CreateRegion(pd, 1, 7 | ignored);
    EXPECT_EQ(driver.Destroy(Command::kDestroyMr, region.handle), 0u);
  }
  EXPECT_EQ(driver.Execute(Command::kCreateMr, CreateMr{.pd = pd, .access_flags = 1U << 30}), kErrno(EOPNOTSUPP));
  // Directories that name other memory: a table or a page outside, unaligned, at the end of a window.
  const uint64_t page = buffer.address(), gap = page + 3 * kPageBytes;
  for (const uint64_t wrong : {uint64_t{0}, page + 1, gap, ~uint64_t{0} << 12}) {
    const host::DmaBuffer pages = driver.MakeDirectory(std::array<uint64_t, 3>{page, page, wrong});
    CreateMr request = good;
    request.directory = pages->address();
    EXPECT_EQ(driver.Execute(Command::kCreateMr, request), kErrno(EFAULT)) << wrong;
    const host::DmaBuffer tables = driver.MakeDirectory(std::array<uint64_t, 3>{page, page, page});
    *reinterpret_cast<uint64_t*>(tables->data()) = wrong;
    request.directory = tables->address();
    EXPECT_EQ(driver.Execute(Command::kCreateMr, request), kErrno(EFAULT)) << wrong;
  }
  CreateMrResponse response;
  EXPECT_EQ(driver.Execute(Command::kCreateMr, good, response), 0u);
  EXPECT_EQ(response.lkey, response.rkey);
}

TEST(PvrdmaCommands, RegionsMayHaveManyTables) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const uint32_t pd = driver.CreatePd();
  // The same page over and over: 513 entries need two tables.
  const host::DmaBuffer page = driver.Allocate(1);
  const std::vector<uint64_t> list(kEntriesPerPage + 1, page->address());
  const host::DmaBuffer directory = driver.MakeDirectory(list);
  CreateMrResponse response;
  EXPECT_EQ(driver.Execute(Command::kCreateMr,
                           CreateMr{.start = 0,
                                    .length = list.size() * kPageBytes,
                                    .directory = directory->address(),
                                    .pd = pd,
                                    .access_flags = 1,
                                    .pages = static_cast<uint32_t>(list.size())},
                           response),
            0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyMr, response.handle), 0u);
}

TEST(PvrdmaCommands, CompletionQueuesAreChecked) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const GuestBuffer buffer = driver.AllocateListed(3);
  const CreateCq good{.directory = buffer.directory->address(), .cqe = 128, .pages = 3};
  const std::pair<uint32_t, std::function<void(CreateCq&)>> rows[] = {
      {EINVAL, [](CreateCq& cq) { cq.context = 1; }},    {EINVAL, [](CreateCq& cq) { cq.cqe = 0; }},
      {EINVAL, [](CreateCq& cq) { cq.cqe = 100; }},                                  // no power of two
      {EINVAL, [](CreateCq& cq) { cq.cqe = 1U << 31; }}, {EINVAL, [](CreateCq& cq) { cq.cqe = 256; }},  // more than fit
      {EINVAL, [](CreateCq& cq) { cq.pages = 2; }},      {EFAULT, [](CreateCq& cq) { cq.pages = 4; }},
      {EFAULT, [](CreateCq& cq) { cq.directory = 0; }},
  };
  ExpectRefused(driver, Command::kCreateCq, good, rows, world.guest(0).device().objects().cqs);
  EXPECT_EQ(driver.Execute(Command::kCreateCq, good), 0u);
}

TEST(PvrdmaCommands, QueuePairsAreChecked) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const uint32_t pd = driver.CreatePd();
  DriverCq cq(driver, 64);
  CreateQp good = DriverQp::Request(pd, cq.handle(), cq.handle(), {.send_wr = 32, .recv_wr = 256});
  const GuestBuffer buffer = driver.AllocateListed(good.pages);
  good.directory = buffer.directory->address();
  const std::pair<uint32_t, std::function<void(CreateQp&)>> rows[] = {
      {EINVAL, [](CreateQp& qp) { qp.pd += 1; }},
      {EINVAL, [](CreateQp& qp) { qp.send_cq += 1; }},
      {EINVAL, [](CreateQp& qp) { qp.recv_cq += 1; }},
      {EINVAL, [](CreateQp& qp) { qp.type = 0; }},
      {EINVAL, [](CreateQp& qp) { qp.type = 8; }},
      {EINVAL, [](CreateQp& qp) { qp.max_send_wr = 0; }},
      {EINVAL, [](CreateQp& qp) { qp.max_recv_wr = 3; }},
      {EINVAL, [](CreateQp& qp) { qp.max_send_wr = 1U << 31; }},
      {EINVAL, [](CreateQp& qp) { qp.max_send_wr = 64; }},  // more than fit
      {EINVAL, [](CreateQp& qp) { qp.max_recv_wr = 512; }},
      {EINVAL, [](CreateQp& qp) { qp.max_send_sge = 4; }},
      {EINVAL, [](CreateQp& qp) { qp.max_send_sge = 17; }},  // more than there are
      {EINVAL, [](CreateQp& qp) { qp.max_recv_sge = ~0U; }},
      {EINVAL, [](CreateQp& qp) { qp.send_pages = 0; }},
      {EINVAL, [](CreateQp& qp) { qp.send_pages = 0xffff; }},
      {EINVAL, [](CreateQp& qp) { qp.pages -= 1; }},
      {EFAULT, [](CreateQp& qp) { qp.pages += 1; }},
      {EFAULT, [](CreateQp& qp) { qp.directory = 0; }},
  };
  ExpectRefused(driver, Command::kCreateQp, good, rows, world.guest(0).device().objects().qps);
  CreateQpResponse response;
  EXPECT_EQ(driver.Execute(Command::kCreateQp, good, response), 0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyQp, response.handle), 0u);
}

TEST(PvrdmaCommands, SharedReceiveQueuesAreChecked) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const uint32_t pd = driver.CreatePd(), other_pd = driver.CreatePd();
  const uint32_t invalid = kErrno(EINVAL), busy = kErrno(EBUSY);
  CreateSrq good = DriverSrq::Request(pd, 128, 2);
  const GuestBuffer buffer = driver.AllocateListed(good.pages);
  good.directory = buffer.directory->address();
  const std::pair<uint32_t, std::function<void(CreateSrq&)>> rows[] = {
      {EINVAL, [](CreateSrq& srq) { srq.pd += 2; }},
      {EINVAL, [](CreateSrq& srq) { srq.type = 1; }},
      {EINVAL, [](CreateSrq& srq) { srq.attributes.max_wr = 0; }},
      {EINVAL, [](CreateSrq& srq) { srq.attributes.max_wr = 100; }},  // no power of two
      {EINVAL, [](CreateSrq& srq) { srq.attributes.max_wr = 256; }},  // more than fit
      {EINVAL, [](CreateSrq& srq) { srq.attributes.max_wr = 1U << 31; }},
      {EINVAL, [](CreateSrq& srq) { srq.attributes.max_sge = 0; }},
      {EINVAL, [](CreateSrq& srq) { srq.attributes.max_sge = 17; }},
      {EINVAL, [](CreateSrq& srq) { srq.attributes.max_sge = ~0U; }},
      {EINVAL, [](CreateSrq& srq) { srq.pages -= 1; }},
      {EFAULT, [](CreateSrq& srq) { srq.pages += 1; }},
      {EFAULT, [](CreateSrq& srq) { srq.directory = 0; }},
  };
  ExpectRefused(driver, Command::kCreateSrq, good, rows, world.guest(0).device().objects().srqs);

  DriverSrq srq(driver, pd, 128, 2);
  EXPECT_LT(srq.handle(), driver.caps().max_srq);
  EXPECT_EQ(srq.Modify(kMaskSrqLimit, 100), 0u);
  for (const auto& [mask, limit] :
       {std::pair{0U, 1U}, {kMaskSrqMaxWr | 0U, 64U}, {3U, 1U}, {kMaskSrqLimit | 0U, 129U}}) {
    EXPECT_EQ(srq.Modify(mask, limit), invalid) << mask << " " << limit;
  }
  const SrqAttributes attributes = srq.Query();
  EXPECT_EQ(attributes.max_wr, 128u);
  EXPECT_EQ(attributes.max_sge, 2u);
  // 100 receives are more than there are: the event is due at once, and the limit not armed any more.
  ASSERT_TRUE(driver.Await([&] { return driver.function().TakeInterrupt(kAsyncVector); }));
  const auto events = driver.TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::kSrqLimitReached);
  EXPECT_EQ(events[0].info, srq.handle());
  EXPECT_EQ(srq.Query().srq_limit, 0u);

  // A queue pair uses one of its own PD.
  DriverCq cq(driver, 64);
  const auto create = [&](uint32_t of, uint32_t handle) {
    return driver.Execute(Command::kCreateQp,
                          DriverQp::Request(of, cq.handle(), cq.handle(), DriverQpOptions{.srq = handle}));
  };
  EXPECT_EQ(create(other_pd, srq.handle()), invalid);
  EXPECT_EQ(create(pd, srq.handle() + 1), invalid);
  DriverQp qp(driver, pd, cq, cq, {.srq = srq.handle()});
  EXPECT_EQ(srq.Destroy(), busy);
  EXPECT_EQ(qp.Destroy(), 0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, pd), busy);
  EXPECT_EQ(world.driver(1).Destroy(Command::kDestroySrq, srq.handle()), invalid);
  EXPECT_EQ(srq.Destroy(), 0u);
  EXPECT_EQ(srq.Destroy(), invalid);
  EXPECT_EQ(srq.Modify(kMaskSrqLimit, 0), invalid);
  QuerySrqResponse none;
  EXPECT_EQ(driver.Execute(Command::kQuerySrq, HandleCommand{.handle = srq.handle()}, none), invalid);
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, pd), 0u);
}

TEST(PvrdmaCommands, QueuePairsMayHaveAnySizeThatIsOffered) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const uint32_t pd = driver.CreatePd();
  DriverCq cq(driver, 128);
  for (uint32_t wr = 1; wr <= driver.caps().max_qp_wr; wr *= 2) {
    for (uint32_t sge = 1; sge <= driver.caps().max_sge; ++sge) {
      SCOPED_TRACE(testing::Message() << wr << " work requests of " << sge << " elements");
      const uint32_t small = std::max(1U, driver.caps().max_qp_wr / wr);
      const uint32_t recv_sge = driver.caps().max_sge + 1 - sge;
      DriverQp qp(driver, pd, cq, cq, {.send_wr = wr, .recv_wr = small, .send_sge = sge, .recv_sge = recv_sge});
      EXPECT_EQ(qp.Destroy(), 0u);
    }
  }
}

TEST(PvrdmaCommands, QueuePairStateIsSetAndRead) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const uint32_t pd = driver.CreatePd();
  DriverCq cq(driver, 64);
  DriverQp qp(driver, pd, cq, cq, {.send_sge = 2});
  EXPECT_EQ(qp.Query().qp_state, 0u);
  qp.Connect({.dest_qpn = 0x1234, .dgid = World::GidOf(1)});
  const QpAttributes state = qp.Query();
  EXPECT_EQ(state.qp_state, 3u);
  EXPECT_EQ(state.path_mtu, 3u);
  EXPECT_EQ(state.dest_qp_num, 0x1234u);
  EXPECT_EQ(state.rq_psn, 0x12'3456u);
  EXPECT_EQ(state.sq_psn, 0x12'3456u);
  EXPECT_EQ(state.qp_access_flags, 7u);
  EXPECT_EQ(state.timeout, 14);
  EXPECT_EQ(state.retry_cnt, 7);
  EXPECT_EQ(state.rnr_retry, 7);
  EXPECT_EQ(state.min_rnr_timer, 12);
  EXPECT_EQ(state.max_rd_atomic, 1);
  EXPECT_EQ(state.max_dest_rd_atomic, 1);
  EXPECT_EQ(state.port, 1);
  EXPECT_EQ(state.cap.max_send_wr, 16u);
  EXPECT_EQ(state.cap.max_send_sge, 2u);
  EXPECT_EQ(std::to_array(state.path.grh.dgid), World::GidOf(1));
  EXPECT_EQ(state.path.grh.sgid_index, 0);
  EXPECT_EQ(state.path.grh.hop_limit, 64);
  // The peer's GID is bound on NIC 1.
  EXPECT_EQ(std::to_array(state.path.dmac), world.system().host(1).mac());

  const auto refused = [&](uint32_t mask, const QpAttributes& attributes) {
    EXPECT_EQ(qp.Modify(mask, attributes), kErrno(EINVAL)) << mask;
    EXPECT_EQ(qp.Query().qp_state, 3u);
  };
  refused(kMaskState, {.qp_state = 7});
  refused(kMaskState, {.qp_state = 1});  // no such transition
  refused(kMaskState | kMaskCurState, {.qp_state = 6, .cur_qp_state = 7});
  refused(kMaskState | kMaskPkeyIndex, {.qp_state = 6, .pkey_index = 1});
  refused(kMaskState | kMaskPort, {.qp_state = 6, .port = 2});
  refused(kMaskAltPath, {});
  refused(kMaskMigration, {});
  refused(kMaskCap, {});
  refused(1U << 21, {});
  QpAttributes path;
  path.path.grh.sgid_index = 1;  // not bound
  refused(kMaskPath, path);
  EXPECT_EQ(qp.Modify(kMaskState, {.qp_state = 6}), 0u);
  EXPECT_EQ(qp.Query().qp_state, 6u);
  EXPECT_EQ(qp.Modify(kMaskState, {.qp_state = 0}), 0u);
  EXPECT_EQ(qp.Query().qp_state, 0u);
}

TEST(PvrdmaCommands, GidsAreBoundPerGuest) {
  World world({.guests = {0, 0, 1}});
  world.Start();
  Driver &first = world.driver(0), &second = world.driver(1), &other_nic = world.driver(2);
  const auto bind = [](Driver& driver, uint32_t index, const Gid& gid, uint8_t type = kGidRoceV2,
                       uint32_t vlan = kNoVlan) {
    CreateBind request{.vlan = vlan, .index = index, .gid_type = type};
    std::ranges::copy(gid, request.gid);
    return driver.Execute(Command::kCreateBind, request);
  };
  const auto unbind = [](Driver& driver, uint32_t index) {
    return driver.Execute(Command::kDestroyBind, DestroyBind{.index = index});
  };
  const uint32_t exists = kErrno(EEXIST), invalid = kErrno(EINVAL);
  EXPECT_EQ(bind(first, 0, World::GidOf(9)), exists);  // the index is in use
  EXPECT_EQ(bind(first, 16, World::GidOf(9)), invalid);
  EXPECT_EQ(bind(first, 1, World::GidOf(9), 1), invalid);
  EXPECT_EQ(bind(first, 1, World::GidOf(9), kGidRoceV2, 0x1000), invalid);
  EXPECT_EQ(bind(first, 1, Gid{}), invalid);
  // A GID of another guest, also on another NIC, and the NIC's own.
  EXPECT_EQ(bind(first, 1, World::GidOf(1)), exists);
  EXPECT_EQ(bind(first, 1, World::GidOf(2)), exists);
  EXPECT_EQ(bind(first, 1, world.system().host(0).gid()), exists);
  // The same indices of two guests are different entries of the NIC.
  EXPECT_EQ(bind(first, 15, World::GidOf(0, 1)), 0u);
  EXPECT_EQ(bind(second, 15, World::GidOf(1, 1)), 0u);
  EXPECT_EQ(bind(first, 3, World::GidOf(0, 2), kGidRoceV2, 100), 0u);
  EXPECT_EQ(world.directory().Find(World::GidOf(1, 1)), world.system().host(0).mac());
  EXPECT_EQ(world.directory().Find(World::GidOf(2)), world.system().host(1).mac());
  EXPECT_EQ(unbind(first, 15), 0u);
  EXPECT_EQ(unbind(first, 15), invalid);
  EXPECT_EQ(world.directory().Find(World::GidOf(0, 1)), std::nullopt);
  EXPECT_EQ(bind(other_nic, 1, World::GidOf(0, 1)), 0u);
  // A reset unbinds.
  world.guest(1).device().Reset();
  EXPECT_EQ(world.directory().Find(World::GidOf(1)), std::nullopt);
  EXPECT_EQ(bind(first, 1, World::GidOf(1)), 0u);
}

TEST(PvrdmaCommands, GidInUseStaysBound) {
  World world({});
  world.Start();
  Driver& driver = world.driver(0);
  const uint32_t pd = driver.CreatePd();
  DriverCq cq(driver, 64);
  DriverQp qp(driver, pd, cq, cq);
  qp.Connect({.dest_qpn = 2, .dgid = World::GidOf(1)});
  EXPECT_EQ(driver.Execute(Command::kDestroyBind, DestroyBind{.index = 0}), kErrno(EBUSY));
  EXPECT_EQ(qp.Modify(kMaskState, {.qp_state = 0}), 0u);
  EXPECT_EQ(driver.Execute(Command::kDestroyBind, DestroyBind{.index = 0}), 0u);
}

}  // namespace
}  // namespace vireo::sim::pvrdma
