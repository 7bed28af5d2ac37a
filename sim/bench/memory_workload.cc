// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/memory_workload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include "sim/bench/rdma_workload.h"

namespace vireo::sim {
namespace {

constexpr Workload kOne = {kMemory, spec::IbWrOpcode::kRdmaWrite, 64, 1, 1, 1, spec::IbMtu::kMtu4096, 1, 1};
constexpr uint64_t kMemoryBytes = 4096;  // per side of a connection
constexpr uint64_t kMaxResidentBytes = 1'000'000'000;
constexpr size_t kQuickDivisor = 10;
// WRITEs at a time: what a NIC receives before it has worked it off must fit into its buffer (512 frames). A packet
// that is dropped is retransmitted after the ACK timeout, which is longer than kCompletionTimeout.
constexpr size_t kAtOnce = 256;

// 0: unknown.
uint64_t ResidentBytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"), &std::fclose);
  unsigned long long all = 0, resident = 0;  // pages
  if (file == nullptr || std::fscanf(file.get(), "%llu %llu", &all, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string RunMemory(const Options& options, const std::string& device, Row& row) {
  size_t queue_pairs = options.config->num_qps - kReservedQueuePairs;
  if (options.quick) queue_pairs = (queue_pairs + kQuickDivisor - 1) / kQuickDivisor;
  Bench bench;
  if (std::string error = bench.Open(options, device); !error.empty()) return error;
  if (std::string error = bench.Connect(queue_pairs, {.memory_bytes = kMemoryBytes,
                                                      .path_mtu = kOne.path_mtu,
                                                      .cqe = 2,
                                                      .interrupts = false,
                                                      .qp = {.max_send_wr = 2, .max_recv_wr = 2}});
      !error.empty()) {
    return error;
  }
  for (size_t i = 0; i < queue_pairs; ++i) {
    const host::Status posted = PostMessage(*bench.pairs[i], kOne, i, 0, true);
    if (!posted.ok()) return host::ToString(posted.error());
    if ((i + 1) % kAtOnce != 0 && i + 1 != queue_pairs) continue;
    if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
  }
  for (size_t i = 0; i < queue_pairs; ++i) {
    auto& [near, far] = bench.pairs[i]->side;
    std::array<spec::RdmaCqReq, 2> cqes;
    auto count = near.cq->Poll(cqes);
    if (!count.ok()) return host::ToString(count.error());
    if (*count != 1 || cqes[0].status != spec::IbWcStatus::kSuccess || cqes[0].wr_id != i ||
        std::memcmp(near.memory->data(), far.memory->data(), kOne.bytes) != 0) {
      return fmt::format("queue pair {}: its WRITE did not arrive", i);
    }
  }
  if (std::string violations = bench.system->Violations(); !violations.empty()) return violations;
  const uint64_t resident = ResidentBytes();
  if (resident > kMaxResidentBytes) {
    return fmt::format("{} bytes resident, the limit is {}", resident, kMaxResidentBytes);
  }
  row.metrics = {
      {"queue_pairs", static_cast<double>(queue_pairs), "1"},
      {"resident_mb", static_cast<double>(resident) * 1e-6, "MB", false},
  };
  return "";
}

void PrintMemory(const Row& row) {
  fmt::print("\n{}: two NICs with {:.0f} connections: {:.0f} MB resident\n", row.device, row.Value("queue_pairs"),
             row.Value("resident_mb"));
}

}  // namespace vireo::sim
