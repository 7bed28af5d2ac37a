// SPDX-License-Identifier: Apache-2.0

// Interrupt decision for a driver that names a used entry (event suppression): interrupt if that entry is among those
// just used. Expressed by counting: the entry lies `steps_q` entries behind the first used one, `used_q` were used, and
// both numbers are free, so that all sizes, positions, wraps and wrap counters are covered. A split ring counts modulo
// 2^16 [virtio 1.3, 2.7.7.2]; in a packed one a place and a wrap counter distinguish two passes over the ring, of which
// the nearer one counts, and sizes need not be powers of two [2.8.10]. A queue whose row has bad parity always
// interrupts, because its size is unknown. Bound to vireo_cq_writer.
module vireo_event_suppression_proof (
  input logic        clk_i,
  input logic        split_event_i,   // split ring, a used_event counts
  input logic        packed_event_i,  // packed ring, an event's place counts
  input logic        packed_other_i,  // packed ring: always or never
  input logic        never_i,         //   never
  input logic [15:0] size_i,
  input logic [15:0] first_i,         // packed: bit 15 is the wrap counter
  input logic [15:0] behind_i,
  input logic [15:0] event_i,
  input logic        fire_i
);

  logic [16:0] used_q, steps_q;
  always_ff @(posedge clk_i) begin
    used_q <= used_q + 1'b1;
    steps_q <= steps_q + 1'b1;
  end

  // A place of a packed ring this many entries further, less than two passes.
  function automatic logic [15:0] further(input logic [15:0] from, input logic [16:0] entries, input logic [15:0] size);
    logic [17:0] at = 18'(from[14:0]) + 18'(entries);
    if (at >= 18'(size) + 18'(size)) return {from[15], 15'(at - 18'(size) - 18'(size))};
    if (at >= 18'(size)) return {!from[15], 15'(at - 18'(size))};
    return {from[15], at[14:0]};
  endfunction

  logic size_legal, split_meant, packed_meant;

  always_comb begin
    size_legal = size_i != '0 && size_i <= 16'd32768 && 16'(first_i[14:0]) < size_i;
    split_meant = used_q < 17'h10000 && steps_q < 17'h10000 && 16'(first_i + used_q[15:0]) == behind_i
               && 16'(first_i + steps_q[15:0]) == event_i;
    packed_meant = size_legal && used_q <= 17'(size_i) && steps_q < 17'(size_i) + 17'(size_i)
                && further(first_i, used_q, size_i) == behind_i && further(first_i, steps_q, size_i) == event_i;
    split: assert (!split_event_i || !split_meant || fire_i == (steps_q < used_q));
    packed_place: assert (!packed_event_i || !packed_meant || fire_i == (steps_q < used_q));
    packed_flags: assert (!packed_other_i || fire_i == !never_i);
  end

endmodule

bind vireo_cq_writer vireo_event_suppression_proof u_event_suppression_proof (
  .clk_i, .split_event_i(!row_corrupt && !ring_packed_i && event_idx_i),
  .packed_event_i(!row_corrupt && ring_packed_i && event_idx_i && suppress.desc_event_flags == RingEventFlagsDesc),
  .packed_other_i(!row_corrupt && ring_packed_i && !(event_idx_i && suppress.desc_event_flags == RingEventFlagsDesc)),
  .never_i(suppress.desc_event_flags == RingEventFlagsDisable), .size_i(size), .first_i(question.span.first),
  .behind_i(question.span.next_position), .event_i(suppression.data[15:0]), .fire_i(interrupt_due));
