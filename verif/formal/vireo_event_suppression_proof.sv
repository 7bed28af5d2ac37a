// SPDX-License-Identifier: Apache-2.0

// Interrupt decision for a driver that names a used entry (event suppression): interrupt if that entry is among those
// just used. Expressed by counting: the entry lies `steps_q` entries behind the first used one, `used_q` were used, and
// both numbers are free, so that all sizes, positions, wraps and wrap counters are covered. A split ring counts modulo
// 2^16 [virtio 1.3, 2.7.7.2]; in a packed one a place and a wrap counter distinguish two passes over the ring, of which
// the nearer one counts, and sizes need not be powers of two [2.8.10]. A queue whose row has bad parity always
// interrupts, because its size is unknown. Bound to vireo_cq_control.
module vireo_event_suppression_proof (
  input logic        clk_i,
  input logic        corrupt_i,       // the size is unknown
  input logic        packed_i,
  input logic        event_idx_i,
  input logic [31:0] data_i,          // that the driver has written
  input logic [15:0] size_i,
  input logic [15:0] first_i,         // packed: bit 15 is the wrap counter
  input logic [15:0] behind_i,
  input logic        fire_i
);

  vireo_spec_pkg::pvirtq_event_suppress_t suppress;
  logic split_event;   // split ring, a used_event counts
  logic packed_event;  // packed ring, an event's place counts
  logic packed_other;  // packed ring: always or never
  assign suppress = vireo_spec_pkg::unpack_pvirtq_event_suppress(data_i);
  assign split_event = !corrupt_i && !packed_i && event_idx_i;
  assign packed_event = !corrupt_i && packed_i && event_idx_i
                     && suppress.desc_event_flags == vireo_spec_pkg::RingEventFlagsDesc;
  assign packed_other = !corrupt_i && packed_i && !packed_event;

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
               && 16'(first_i + steps_q[15:0]) == data_i[15:0];
    packed_meant = size_legal && used_q <= 17'(size_i) && steps_q < 17'(size_i) + 17'(size_i)
                && further(first_i, used_q, size_i) == behind_i && further(first_i, steps_q, size_i) == data_i[15:0];
    split: assert (!split_event || !split_meant || fire_i == (steps_q < used_q));
    packed_place: assert (!packed_event || !packed_meant || fire_i == (steps_q < used_q));
    packed_flags: assert (!packed_other || fire_i == (suppress.desc_event_flags != vireo_spec_pkg::RingEventFlagsDisable));
  end

endmodule

bind vireo_cq_control vireo_event_suppression_proof u_event_suppression_proof (
  .clk_i, .corrupt_i(queue_i.row_corrupt), .packed_i(ring_packed_i), .event_idx_i, .data_i(suppression_i.data),
  .size_i(queue_i.size), .first_i(question_i.span.first), .behind_i(question_i.span.next_position),
  .fire_i(interrupt_due));
