// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace vireo::sim {
namespace {

using Outcomes = std::array<std::optional<Outcome>, kTransportNames.size()>;

constexpr Outcome kDelivered{};
// Without acknowledges each injected fault may lose one message.
constexpr Outcome kLoses{.lost = 1};
constexpr Outcome Ends(std::string_view reports) { return {.reports = reports}; }
constexpr std::nullopt_t kNone = std::nullopt;
// Of the near NIC.
constexpr std::string_view kStopsTheDevice =
    "far status retry_exc_err; near event device_fatal internal; near event "
    "device_needs_reset";

constexpr Fault kFaults[] = {
    {.name = "drop",
     .place = FaultPlace::kWire,
     .script = "drop nth=3; drop nth=11; drop rate=0.03",
     .does = "frames are lost",
     .outcomes = {kDelivered, kLoses, kLoses, kLoses},
     .counters = "retransmissions missing",
     .why = "RC retransmits after a sequence NAK or a timeout (9.7.6.1.3, 9.9.2); the others have no acknowledges "
            "(9.8.2, 9.8.3)"},
    {.name = "duplicate",
     .place = FaultPlace::kWire,
     .script = "duplicate 2 nth=4; duplicate 1 rate=0.05",
     .does = "frames arrive two or three times",
     .outcomes = {kDelivered, Outcome{.lost = 1, .repeated = 2}, Outcome{.repeated = 2}, Outcome{.repeated = 2}},
     .counters = "",
     .why = "an RC responder acknowledges a duplicate but executes it once; UC, UD and Ethernet cannot detect one"},
    {.name = "reorder",
     .place = FaultPlace::kWire,
     .script = "reorder 2 nth=5; reorder 1 rate=0.05",
     .does = "frames arrive after one or two later ones",
     .outcomes = {kDelivered, Outcome{.lost = 2, .reordered = true}, Outcome{.reordered = true},
                  Outcome{.reordered = true}},
     .counters = "",
     .why = "RC treats a gap as a loss, and the late packet then is a duplicate; UC drops a message whose PSNs have a "
            "gap (9.8.2)"},
    {.name = "delay",
     .place = FaultPlace::kWire,
     .script = "delay 30000 nth=6; delay 8000 rate=0.05",
     .does = "frames arrive 8 or 30 us late, others overtake them",
     .outcomes = {kDelivered, Outcome{.lost = 2, .reordered = true}, Outcome{.reordered = true},
                  Outcome{.reordered = true}},
     .counters = "",
     .why = "as reorder"},
    {.name = "corrupt_payload",
     .place = FaultPlace::kWire,
     .script = "corrupt part=payload nth=2; corrupt part=payload rate=0.04",
     .does = "a bit of a payload flips with a correct FCS, as in the memory of a switch",
     .outcomes = {kDelivered, kLoses, kLoses, kNone},
     .counters = "icrc",
     .why = "the ICRC detects it: counted and dropped (7.8.1, A17.3.3)"},
    {.name = "corrupt_header",
     .place = FaultPlace::kWire,
     .script = "corrupt part=header nth=2; corrupt part=header rate=0.05",
     .does = "a bit between IP header and BTH flips, likewise",
     .outcomes = {kDelivered, kLoses, kLoses, kNone},
     .counters = "icrc ip_header udp_length ip_fragment truncated transport_version opcode net",
     .why = "ICRC, header checksum and lengths cover all but the fields that routers change; a frame that is no longer "
            "RoCEv2 is a net frame"},
    {.name = "corrupt_icrc",
     .place = FaultPlace::kWire,
     .script = "corrupt part=icrc nth=2; corrupt part=icrc rate=0.04",
     .does = "a bit of the ICRC flips, likewise",
     .outcomes = {kDelivered, kLoses, kLoses, kNone},
     .counters = "icrc",
     .why = "a packet whose ICRC is wrong is dropped without a response (9.6)"},
    {.name = "bad_fcs",
     .place = FaultPlace::kWire,
     .script = "corrupt bad_fcs nth=2; corrupt bad_fcs rate=0.04",
     .does = "a bit flips on the line: the MAC reports a wrong FCS",
     .outcomes = {kDelivered, kLoses, kLoses, kLoses},
     .counters = "truncated",
     .why = "the parser drops frames that the MAC marks, whatever their contents (rx_verdict truncated)"},
    {.name = "truncate",
     .place = FaultPlace::kWire,
     .script = "truncate 40 nth=2; truncate 70 rate=0.04",
     .does = "a frame ends within its headers, with a correct FCS",
     .outcomes = {kDelivered, kLoses, kLoses, kNone},
     .counters = "truncated",
     .why = "shorter than its length fields: counted and dropped (rx_verdict truncated)"},
    {.name = "oversize",
     .place = FaultPlace::kWire,
     .script = "oversize 20000 nth=2; oversize 20000 rate=0.04",
     .does = "a frame is longer than the MAC accepts",
     .outcomes = {kDelivered, kLoses, kLoses, kLoses},
     .counters = "mac_drops",
     .why = "above max_frame_bytes: the MAC drops it before the core"},
    {.name = "trailer",
     .place = FaultPlace::kWire,
     .script = "oversize 2000 rate=0.2",
     .does = "zeros after the IP datagram",
     .outcomes = {kDelivered, kDelivered, kDelivered, kNone},
     .counters = "",
     .why = "padding of a lower layer is ignored: the IP length counts"},
    {.name = "pause_storm",
     .place = FaultPlace::kWire,
     .script = "pause 20 rate=0.1",
     .does = "20 MAC control frames that request the longest pause precede a frame",
     .outcomes = {kDelivered, kDelivered, kDelivered, kDelivered},
     .counters = "net_rx_filtered",
     .why = "Vireo has no link flow control: the receive filter drops them as unsubscribed multicast frames"},
    {.name = "ecn_mark",
     .place = FaultPlace::kWire,
     .script = "ecn_mark 1 rate=0.5",
     .does = "a switch marks congestion",
     .outcomes = {kDelivered, kDelivered, kDelivered, kDelivered},
     .counters = "",
     .why = "no congestion control in this version: the mark is ignored, and not covered by the ICRC"},
    {.name = "psn_gap",
     .place = FaultPlace::kWire,
     .script = "psn_gap 5 opcode=rc_send_last nth=1; psn_gap 5 opcode=rc_send_middle rate=0.05; psn_gap 5 "
               "opcode=rc_rdma_read_request rate=0.1; psn_gap 5 opcode=uc_send_last rate=0.5; psn_gap 5 "
               "opcode=ud_send_only rate=0.3",
     .does = "the PSN of a request is 5 too high, with a correct ICRC",
     .outcomes = {kDelivered, Outcome{.lost = 2}, kDelivered, kNone},
     .counters = "retransmissions missing",
     .why = "RC responds with a sequence NAK and waits for the retransmission; UC drops the message (9.8.2); UD "
            "ignores PSNs (9.8.3)"},
    {.name = "ghost_ack",
     .place = FaultPlace::kWire,
     .script = "ghost 16777000 opcode=rc_acknowledge",
     .does = "each acknowledge is followed by one that is 216 PSNs older",
     .outcomes = {kDelivered, kNone, kNone, kNone},
     .counters = "",
     .why = "a requester drops an acknowledge whose PSN is not outstanding"},
    {.name = "ghost_ack_ahead",
     .place = FaultPlace::kWire,
     .script = "ghost 1000 opcode=rc_acknowledge",
     .does = "each acknowledge is followed by one for a PSN that was never sent",
     .outcomes = {kDelivered, kNone, kNone, kNone},
     .counters = "",
     .why = "as ghost_ack"},
    {.name = "stale_read_response",
     .place = FaultPlace::kWire,
     .script = "stale 2 opcode=rc_rdma_read_response_only; stale 1 opcode=rc_rdma_read_response_first; stale 1 "
               "opcode=rc_rdma_read_response_last",
     .does = "responses of completed READs arrive again",
     .outcomes = {kDelivered, kNone, kNone, kNone},
     .counters = "",
     .why = "as ghost_ack: nothing is written to memory"},
    {.name = "link_flap",
     .place = FaultPlace::kWire,
     .script = "link_down 400000 nth=9 count=1",
     .does = "the link is down for 0.4 ms",
     .outcomes = {kDelivered, kLoses, kLoses, kLoses},
     .counters = "port_events retransmissions missing",
     .why = "shorter than all retries together; both hosts get port_err and port_active"},
    {.name = "link_down",
     .place = FaultPlace::kWire,
     .script = "link_down 4000000000 nth=9 count=1",
     .does = "the link is down for 4 s",
     .outcomes = {Ends("far status retry_exc_err; near status retry_exc_err"), kNone, kNone, kNone},
     .counters = "port_events retransmissions reports",
     .why = "longer than all retries together: the oldest work request completes with retry_exc_err, the rest flush "
            "(9.9.2)",
     .ends_all = true},
    {.name = "late_completion",
     .place = FaultPlace::kPcie,
     .script = "delay 20000 on=source nth=3; delay 40000 on=ring nth=2",
     .does = "completions arrive 20 and 40 us late, within the completion timeout",
     .outcomes = {kDelivered, kDelivered, kDelivered, kNone},
     .counters = "",
     .why = "every read has its own place in the buffer of the DMA reader; later reads wait and keep their order"},
    {.name = "split_completion",
     .place = FaultPlace::kPcie,
     .script = "split",
     .does = "every completion ends at the next 64-byte boundary",
     .outcomes = {kDelivered, kDelivered, kDelivered, kDelivered},
     .counters = "",
     .why = "PCIe allows it (5.0, 2.3.1.1)"},
    {.name = "reordered_completions",
     .place = FaultPlace::kPcie,
     .script = "spread 5000 rate=0.7",
     .does = "reads overtake each other by up to 5 us",
     .outcomes = {kDelivered, kDelivered, kDelivered, kDelivered},
     .counters = "",
     .why = "PCIe does not order reads (2.4.1); the DMA reader restores the order"},
    {.name = "latency_spike",
     .place = FaultPlace::kPcie,
     .script = "delay 10000 rate=0.1",
     .does = "one read in ten takes 10 us longer",
     .outcomes = {kDelivered, kDelivered, kDelivered, kDelivered},
     .counters = "",
     .why = "the device has no timer on its reads; acknowledges are later"},
    {.name = "poisoned_payload",
     .place = FaultPlace::kPcie,
     .script = "poison on=source nth=5",
     .does = "the payload of a send is poisoned",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal queue_dma_error"),
                  Ends("near status loc_qp_op_err"), Ends("near status loc_qp_op_err"), kNone},
     .counters = "dma_errors",
     .why = "no byte of it is sent; an RC queue pair stops (decision 0003), of UC and UD the send half (10.3.1.6)"},
    {.name = "unsupported_payload",
     .place = FaultPlace::kPcie,
     .script = "unsupported on=source nth=5",
     .does = "the host completes the read as an unsupported request",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal queue_dma_error"),
                  Ends("near status loc_qp_op_err"), Ends("near status loc_qp_op_err"), kNone},
     .counters = "dma_errors",
     .why = "as poisoned_payload"},
    {.name = "aborted_payload",
     .place = FaultPlace::kPcie,
     .script = "abort 64 on=source nth=5",
     .does = "the host aborts the completion after 64 bytes",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal queue_dma_error"),
                  Ends("near status loc_qp_op_err"), Ends("near status loc_qp_op_err"), kNone},
     .counters = "dma_errors",
     .why = "as poisoned_payload"},
    {.name = "missing_completion",
     .place = FaultPlace::kPcie,
     .script = "missing on=source nth=5",
     .does = "a completion never arrives: completion timeout",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal queue_dma_error"),
                  Ends("near status loc_qp_op_err"), Ends("near status loc_qp_op_err"), kNone},
     .counters = "dma_errors",
     .why = "the bus interface ends the read with an error after the completion timeout (PCIe 5.0, 2.8; "
            "docs/blocks/dma_reader.md)"},
    {.name = "partial_completion",
     .place = FaultPlace::kPcie,
     .script = "missing 64 on=source nth=5",
     .does = "the second part of a completion never arrives",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal queue_dma_error"),
                  Ends("near status loc_qp_op_err"), Ends("near status loc_qp_op_err"), kNone},
     .counters = "dma_errors",
     .why = "as missing_completion"},
    {.name = "failed_read_source",
     .place = FaultPlace::kPcie,
     .script = "unsupported on=read_source nth=2",
     .does = "the source of the peer's READ cannot be read",
     .outcomes = {Ends("far status rem_op_err; near event qp_fatal "
                       "queue_dma_error"),
                  kNone, kNone, kNone},
     .counters = "dma_errors",
     .why = "the responding queue pair sends NAK remote operational error (9.9.5.2) and stops (decision 0003)"},
    {.name = "failed_ring",
     .place = FaultPlace::kPcie,
     .script = "unsupported on=ring nth=4",
     .does = "a descriptor of the send queue cannot be read",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal "
                       "queue_dma_error; near event "
                       "vq_err queue_dma_error"),
                  Ends("near event qp_fatal queue_dma_error; near event vq_err queue_dma_error"),
                  Ends("near event qp_fatal queue_dma_error; near event vq_err queue_dma_error"), kNone},
     .counters = "dma_errors",
     .why = "a bus error on the ring stops that virtqueue (decision 0003, violation)"},
    {.name = "refused_payload_write",
     .place = FaultPlace::kPcie,
     .script = "refuse on=receives nth=5",
     .does = "the bus refuses a write of a SEND's payload",
     .outcomes = {Ends("far status rem_op_err; near status loc_qp_op_err"), Ends("near status loc_qp_op_err"),
                  Ends("near status loc_qp_op_err"), kNone},
     .counters = "dma_errors",
     .why = "nothing is acknowledged that the host did not take: the receive fails, the queue pair stops (decision "
            "0003), an RC peer gets NAK remote operational error (9.9.5.2)"},
    {.name = "refused_rdma_write",
     .place = FaultPlace::kPcie,
     .script = "refuse on=targets nth=2",
     .does = "the bus refuses a write of an RDMA WRITE's payload",
     .outcomes = {Ends("far status rem_op_err; near event qp_fatal queue_dma_error"),
                  Ends("near event qp_fatal queue_dma_error"), kNone, kNone},
     .counters = "dma_errors",
     .why = "as refused_payload_write, without a receive"},
    {.name = "refused_read_response",
     .place = FaultPlace::kPcie,
     .script = "refuse on=read_targets nth=2",
     .does = "the bus refuses a write of a READ response's payload",
     .outcomes = {Ends("far status retry_exc_err; near status loc_qp_op_err"), kNone, kNone, kNone},
     .counters = "dma_errors",
     .why = "the READ fails and the queue pair stops; its peer runs out of retries"},
    {.name = "refused_cqe_write",
     .place = FaultPlace::kPcie,
     .script = "refuse on=cqes nth=5",
     .does = "the bus refuses the write of a CQE",
     .outcomes = {Ends("far status retry_exc_err; near event cq_err queue_dma_error; near event qp_fatal cq_failed; "
                       "near event vq_err queue_dma_error"),
                  Ends("near event cq_err queue_dma_error; near event qp_fatal cq_failed; near event vq_err "
                       "queue_dma_error"),
                  Ends("near event cq_err queue_dma_error; near event qp_fatal cq_failed; near event vq_err "
                       "queue_dma_error"),
                  kNone},
     .counters = "dma_errors",
     .why = "no used index covers a CQE that is not in memory: the completion queue fails, its queue pairs stop "
            "(decision 0003, as CQ full)"},
    {.name = "refused_used_write",
     .place = FaultPlace::kPcie,
     .script = "refuse on=used nth=5",
     .does = "the bus refuses a write to a used ring: of the send queue, of the net queue that receives",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal queue_dma_error; near event vq_err "
                       "queue_dma_error"),
                  Ends("near event qp_fatal queue_dma_error; near event vq_err queue_dma_error"),
                  Ends("near event qp_fatal queue_dma_error; near event vq_err queue_dma_error"),
                  Ends("near event vq_err queue_dma_error")},
     .counters = "dma_errors",
     .why = "a bus error on the ring stops that virtqueue (decision 0003, violation)"},
    {.name = "refused_net_write",
     .place = FaultPlace::kPcie,
     .script = "refuse on=receives nth=5",
     .does = "the bus refuses a write of a received Ethernet frame",
     .outcomes = {kNone, kNone, kNone, Ends("near event vq_err queue_dma_error")},
     .counters = "dma_errors",
     .why = "the frame is not reported as received, and its virtqueue stops (decision 0003, refused writes); what the "
            "host sends is not affected"},
    {.name = "function_reset",
     .place = FaultPlace::kHost,
     .script = "function_reset after=6",
     .does = "the driver resets the device under traffic",
     .outcomes = {Ends("far status retry_exc_err"), Ends("far status retry_exc_err"), Ends("far status retry_exc_err"),
                  Ends("far status retry_exc_err")},
     .counters = "",
     .why = "status reads 0 when all DMA has ended (decision 0003, device reset); RC peers run out of retries",
     .ends_all = true},
    {.name = "context_flip",
     .place = FaultPlace::kHost,
     .script = "flip after=6",
     .does = "a bit flips in the device's memory: in the context of the send queue",
     .outcomes = {Ends(kStopsTheDevice), Ends(kStopsTheDevice), Ends(kStopsTheDevice), Ends(kStopsTheDevice)},
     .counters = "reports",
     .why = "parity: reading the entry stops the device, which reports it; nothing that the entry refers to is "
            "accessed (docs/parity.md); RC peers run out of retries",
     .ends_all = true},
    {.name = "looping_chain",
     .place = FaultPlace::kHost,
     .script = "loop after=4",
     .does = "a descriptor chain of the send queue loops",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal "
                       "bad_descriptor; near event "
                       "vq_err bad_descriptor"),
                  Ends("near event qp_fatal bad_descriptor; near event vq_err bad_descriptor"),
                  Ends("near event qp_fatal bad_descriptor; near event vq_err bad_descriptor"), kNone},
     .counters = "reports",
     .why = "a malformed ring stops its virtqueue and the queue pair that owns it (decision 0003, violation)"},
    {.name = "zero_length",
     .place = FaultPlace::kHost,
     .script = "zero_length after=4",
     .does = "a descriptor without bytes",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal "
                       "bad_descriptor; near event "
                       "vq_err bad_descriptor"),
                  Ends("near event qp_fatal bad_descriptor; near event vq_err bad_descriptor"),
                  Ends("near event qp_fatal bad_descriptor; near event vq_err bad_descriptor"), kNone},
     .counters = "reports",
     .why = "as looping_chain"},
    {.name = "oversize_descriptor",
     .place = FaultPlace::kHost,
     .script = "oversize after=4",
     .does = "a buffer that starts inside its window and ends far outside",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal "
                       "window_violation; near event "
                       "vq_err window_violation"),
                  Ends("near event qp_fatal window_violation; near event vq_err window_violation"),
                  Ends("near event qp_fatal window_violation; near event vq_err window_violation"), kNone},
     .counters = "window_violations",
     .why = "the device does not access a buffer unless the whole of it is inside the window (decision 0003, windows)"},
    {.name = "outside_window",
     .place = FaultPlace::kHost,
     .script = "outside after=4",
     .does = "a buffer below its window",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal "
                       "window_violation; near event "
                       "vq_err window_violation"),
                  Ends("near event qp_fatal window_violation; near event vq_err window_violation"),
                  Ends("near event qp_fatal window_violation; near event vq_err window_violation"), kNone},
     .counters = "window_violations",
     .why = "as oversize_descriptor"},
    {.name = "index_jump",
     .place = FaultPlace::kHost,
     .script = "index_jump after=4",
     .does = "the ring has more available entries than its size",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal "
                       "bad_descriptor; near event "
                       "vq_err bad_descriptor"),
                  Ends("near event qp_fatal bad_descriptor; near event vq_err bad_descriptor"),
                  Ends("near event qp_fatal bad_descriptor; near event vq_err bad_descriptor"), kNone},
     .counters = "reports",
     .why = "as looping_chain"},
    {.name = "doorbell_storm",
     .place = FaultPlace::kHost,
     .script = "doorbells 400 after=4",
     .does = "400 consecutive doorbells of the send queue, with wrong positions",
     .outcomes = {kDelivered, kDelivered, kDelivered, kDelivered},
     .counters = "",
     .why = "a doorbell only triggers a read of the ring; its position is not trusted"},
    {.name = "queue_reset",
     .place = FaultPlace::kHost,
     .script = "queue_reset after=4",
     .does = "the driver resets the send queue under traffic",
     .outcomes = {Ends("far status retry_exc_err; near event qp_fatal queue_reset"),
                  Ends("near event qp_fatal queue_reset"), Ends("near event qp_fatal queue_reset"), kNone},
     .counters = "reports",
     .why = "the queue pair goes to ERR (decision 0003, virtqueue)"},
    {.name = "cq_never_refilled",
     .place = FaultPlace::kHost,
     .script = "no_poll 16",
     .does = "the host takes no completions, so that the queue gets no buffers",
     .outcomes = {Ends("far event cq_err cq_overrun; far status retry_exc_err; near "
                       "event cq_err "
                       "cq_overrun; near event qp_fatal cq_failed"),
                  Ends("near event cq_err cq_overrun; near event qp_fatal cq_failed"),
                  Ends("near event cq_err cq_overrun; near event qp_fatal cq_failed"), kNone},
     .counters = "reports",
     .why = "IBTA's CQ overrun: nothing is overwritten, its queue pairs stop (decision 0003, CQ full); all receives of "
            "an RC peer flush at once into its equally small CQ"},
};

}  // namespace

std::span<const Fault> Faults() { return kFaults; }

const Fault* FindFault(std::string_view name) {
  const auto fault = std::ranges::find(kFaults, name, &Fault::name);
  return fault == std::end(kFaults) ? nullptr : &*fault;
}

std::string Text(const Outcome& outcome) {
  if (outcome.ends()) return fmt::format("ends: {}", outcome.reports);
  std::vector<std::string> may;
  if (outcome.lost != 0) may.push_back(fmt::format("loses {}", outcome.lost));
  if (outcome.repeated != 0) may.push_back(fmt::format("repeats {}", outcome.repeated));
  if (outcome.reordered) may.emplace_back("reorders");
  return may.empty() ? "delivered" : fmt::format("{}", fmt::join(may, ", "));
}

std::string CatalogueTable() {
  std::string text =
      "| fault | where | script | what it does | rc | uc | ud | net | counted by | why "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Fault& fault : Faults()) {
    text += fmt::format("| `{}` | {} | `{}` | {} |", fault.name, kFaultPlaceNames.at(static_cast<size_t>(fault.place)),
                        fault.script, fault.does);
    for (const auto& outcome : fault.outcomes) text += fmt::format(" {} |", outcome ? Text(*outcome) : "");
    text += fmt::format(" {} | {} |\n", fault.counters, fault.why);
  }
  return text;
}

}  // namespace vireo::sim
