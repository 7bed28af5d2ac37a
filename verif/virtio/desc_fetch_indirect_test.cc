// SPDX-License-Identifier: Apache-2.0
// Descriptor fetch: indirect tables.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "verif/virtio/desc_fetch_bench.h"

namespace vireo::verif {
namespace {

// --- Indirect tables

TEST(DescFetch, TableThatViolatesARuleStopsTheQueue) {
  struct Case {
    const char* text;
    RdmaError code;
    std::function<void(Bench&, const spec::TableWindow&, VirtqDesc&)> spoil;
    bool split_only = false;
  };
  const auto entry = [](Bench& b, const VirtqDesc& named, const std::function<void(VirtqDesc&)>& change) {
    // Address and length lie at the same place in both formats.
    auto& bytes = b.table_memory[named.addr];
    VirtqDesc first = VirtqDesc::Decode(bytes.data());
    change(first);
    first.Encode(bytes.data());
  };
  using Window = spec::TableWindow;
  const Case cases[] = {
      {"goes on", RdmaError::kBadDescriptor,
       [](Bench&, const Window&, VirtqDesc& d) { d.flags |= VirtqDescFlags::kNext; }},
      {"is empty", RdmaError::kBadDescriptor, [](Bench&, const Window&, VirtqDesc& d) { d.len = 0; }},
      {"is half a descriptor", RdmaError::kBadDescriptor, [](Bench&, const Window&, VirtqDesc& d) { d.len = 8; }},
      {"has no whole descriptors", RdmaError::kBadDescriptor, [](Bench&, const Window&, VirtqDesc& d) { d.len = 20; }},
      {"is too long", RdmaError::kBadDescriptor,
       [](Bench&, const Window&, VirtqDesc& d) { d.len = DescFetch::kTableBytesMost + VirtqDesc::kBytes; }},
      {"wraps", RdmaError::kBadDescriptor,
       [](Bench&, const Window&, VirtqDesc& d) { d.addr = ~uint64_t{0} - d.len + 2; }},
      {"begins outside", RdmaError::kWindowViolation,
       [](Bench&, const Window& w, VirtqDesc& d) { d.addr = w.base - VirtqDesc::kBytes; }},
      {"ends outside", RdmaError::kWindowViolation,
       [](Bench&, const Window& w, VirtqDesc& d) { d.addr = w.last + 2 - d.len; }},
      {"names what is outside", RdmaError::kWindowViolation,
       [&](Bench& b, const Window& w, VirtqDesc& d) {
         entry(b, d, [&](VirtqDesc& e) { e.addr = w.last, e.len = 2; });
       }},
      {"names nothing", RdmaError::kBadDescriptor,
       [&](Bench& b, const Window&, VirtqDesc& d) { entry(b, d, [](VirtqDesc& e) { e.len = 0; }); }},
      {"names what wraps", RdmaError::kBadDescriptor,
       [&](Bench& b, const Window&, VirtqDesc& d) {
         entry(b, d, [](VirtqDesc& e) { e.addr = ~uint64_t{0}, e.len = 2; });
       }},
      {"is nested", RdmaError::kBadDescriptor,
       [&](Bench& b, const Window&, VirtqDesc& d) {
         entry(b, d, [](VirtqDesc& e) { e.flags = VirtqDescFlags::kIndirect, e.len = VirtqDesc::kBytes; });
       },
       true},
  };
  for (const bool packed : {false, true}) {
    for (const Case& c : cases) {
      for (const size_t vq : {3u, 4u}) {
        if (packed && c.split_only) continue;
        SCOPED_TRACE(std::string(packed ? "packed: " : "split: ") + c.text);
        auto b = std::make_unique<Bench>();
        if (packed) b->UsePackedRings();
        b->AcceptTables();
        b->Enable(vq, 8);
        Ring& ring = b->rings[vq];
        b->SetWindow(vq, {.enable = true, .base = ring.window.base, .last = ring.window.base + 9999});
        ASSERT_EQ(b->bench.Run(50), "");
        VirtqDesc named = b->Table(vq, b->Random(vq));
        c.spoil(*b, ring.window, named);
        b->tables = false;  // made here
        if (packed) {
          b->MakePacked(vq, 1, 1);
          PvirtqDesc& place = ring.memory[0];
          place.addr = named.addr;
          place.len = named.len;
          place.flags |= named.flags & (VirtqDescFlags::kIndirect | VirtqDescFlags::kNext);
        } else {
          b->MakeAvailable(vq);
          ring.table[ring.available.front()] = named;
        }
        ring.defective = true;
        ring.defect = c.code == RdmaError::kWindowViolation ? Defect::kBelow : Defect::kIndirect;  // the code
        b->Ask(0, vq, 8);
        b->Ask(0, vq, 8);
        b->Settle();
        ASSERT_EQ(b->answers.size(), 2u);
        for (const Buffer& answer : b->answers) EXPECT_EQ(answer.status, BufferStatus::kFailed);
        EXPECT_EQ(b->codes[c.code], 1u);
        EXPECT_EQ(ring.failures, 1u);
      }
    }
  }
}

TEST(DescFetch, TableWithoutTheFeatureOrWithAFailedReadStopsTheQueue) {
  for (const bool packed : {false, true}) {
    for (const bool has_feature : {false, true}) {
      Bench b;
      if (packed) b.UsePackedRings();
      if (has_feature) b.AcceptTables();
      // The reads before that of the table.
      b.Enable(4, 8, has_feature ? Defect::kDmaError : Defect::kIndirect, has_feature ? (packed ? 1 : 3) : 0);
      ASSERT_EQ(b.bench.Run(50), "");
      if (packed) {
        b.MakePacked(4, 1);
        if (has_feature && (b.rings[4].memory[0].flags & VirtqDescFlags::kIndirect) == 0) {
          const VirtqDesc named = b.Table(4, b.Random(4));
          b.rings[4].memory[0].addr = named.addr;
          b.rings[4].memory[0].len = named.len;
          b.rings[4].memory[0].flags |= VirtqDescFlags::kIndirect;
        }
      } else {
        b.MakeAvailable(4);
        if (has_feature) b.rings[4].table[b.rings[4].available.front()] = b.Table(4, b.Random(4));
      }
      b.rings[4].defective = true;
      b.Ask(0, 4, 1);
      b.Settle();
      ASSERT_EQ(b.answers.size(), 1u);
      EXPECT_EQ(b.answers[0].status, BufferStatus::kFailed);
      EXPECT_EQ(b.codes[has_feature ? RdmaError::kQueueDmaError : RdmaError::kBadDescriptor], 1u);
      EXPECT_EQ(b.table_out.count, has_feature ? 1u : 0u);
    }
  }
}

TEST(DescFetch, IndexBehindATableStopsTheQueue) {
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    b.AcceptTables();
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    const VirtqDesc named = b.Table(3, b.Random(3));
    const Buffer table{.indirect = true,
                       .table_address = named.addr,
                       .table_entries = static_cast<uint16_t>(named.len / VirtqDesc::kBytes)};
    b.follow = false;
    for (uint16_t i = 0; i < table.table_entries; ++i) b.Ask(3, 3, 1, i, &table);
    b.Settle();
    EXPECT_EQ(b.answers.size(), table.table_entries);
    b.rings[3].defective = true;
    b.rings[3].defect = Defect::kIndirect;  // the code
    b.Ask(3, 3, 1, table.table_entries, &table);
    b.Settle();
    EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
  }
}

TEST(DescFetch, PackedTableIgnoresFlagsOtherThanWrite) {
  Bench b;
  b.UsePackedRings();
  b.AcceptTables();
  b.Enable(3, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.tables = false;
  b.MakePacked(3, 1, 1);
  const uint64_t address = b.rings[3].window.base;
  for (unsigned i = 0; i < 3; ++i) {
    PvirtqDesc{
        .addr = address + 1000, .len = 1 + i, .id = 0xffff, .flags = static_cast<uint16_t>(i == 1 ? 0xffff : 0xfffd)}
        .Encode(b.table_memory[address + i * PvirtqDesc::kBytes].data());
  }
  b.rings[3].memory[0].addr = address;
  b.rings[3].memory[0].len = 3 * PvirtqDesc::kBytes;
  b.rings[3].memory[0].flags |= VirtqDescFlags::kIndirect;
  b.rings[3].buffers.front().table = true;
  b.Ask(3, 3, 8);
  b.Settle();
  ASSERT_EQ(b.answers.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(b.answers[i].status, BufferStatus::kOk);
    EXPECT_EQ(b.answers[i].bytes, 1 + i);
    EXPECT_EQ(b.answers[i].writable, i == 1);
    EXPECT_EQ(b.answers[i].more, i < 2);
  }
}

// [virtio 1.3, 2.7.5.3.2]
TEST(DescFetch, SplitChainMayEndInATable) {
  Bench b;
  b.AcceptTables();
  b.Enable(3, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  Ring& ring = b.rings[3];
  ring.table[2].flags |= VirtqDescFlags::kNext;
  ring.table[2].next = 5;
  VirtqDesc last = b.Random(3);
  ring.table[5] = b.Table(3, last);
  b.Ask(3, 3, 1, uint16_t{2});
  b.Settle();
  b.Ask(3, 3, 1, uint16_t{5});
  b.Settle();
  const unsigned entries = ring.table[5].len / VirtqDesc::kBytes;
  EXPECT_EQ(b.answers.size(), 2 + b.followed);
  EXPECT_EQ(b.followed > 0, entries > 1);
  EXPECT_EQ(b.answers[1].address, last.addr);
  EXPECT_EQ(b.table_out.count, 1u);
}

TEST(DescFetch, PackedChainWithATableStopsTheQueue) {
  for (const unsigned at : {0u, 1u, 2u}) {
    Bench b;
    b.UsePackedRings();
    b.AcceptTables();
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakePacked(3, 1, 3);
    const VirtqDesc named = b.Table(3, b.Random(3));
    b.rings[3].memory[at].addr = named.addr;
    b.rings[3].memory[at].len = named.len;
    b.rings[3].memory[at].flags |= VirtqDescFlags::kIndirect;
    b.rings[3].defective = true;
    b.rings[3].defect = Defect::kIndirect;  // the code
    b.Ask(3, 3, 1);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 1u);
    EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
    EXPECT_EQ(b.table_out.count, 0u);
  }
}

TEST(DescFetch, TablesMeetDocumentedLatencies) {
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    b.AcceptTables();
    b.Enable(4, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.rings[4].table[2] = b.Table(4, b.Random(4));
    b.rings[4].memory[2].addr = b.rings[4].table[2].addr;
    b.rings[4].memory[2].len = b.rings[4].table[2].len;
    b.rings[4].memory[2].flags = VirtqDescFlags::kIndirect;
    b.follow = false;
    b.descriptor_in.rate = b.table_in_memory.rate = 0;
    b.Ask(0, 4, 1, uint16_t{2});
    ASSERT_EQ(b.bench.Run(30), "");
    b.descriptor_in.rate = 16;
    ASSERT_EQ(b.bench.Run(DescFetch::kDescriptorToTableRead), "");
    EXPECT_EQ(b.table_out.count, 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.table_out.count, 1u);
    ASSERT_EQ(b.bench.Run(30), "");
    b.table_in_memory.rate = 16;
    ASSERT_EQ(b.bench.Run(DescFetch::kTableToBuffer), "");
    EXPECT_EQ(b.answers.size(), 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.answers.size(), 1u);
  }
}

}  // namespace
}  // namespace vireo::verif
