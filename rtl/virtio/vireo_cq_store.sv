// SPDX-License-Identifier: Apache-2.0

// Output stage of vireo_cq_writer: forms the write of each state (used element, used index or flags, CQE, event,
// avail_event) and holds it until the write port takes it. Its address and data follow from the state and its job alone.
// Used indices, which vireo_cq_slots holds back, go in cycles without another write. It does not decide what is written
// when; the position behind the used buffer (next_*_o, span_o) is for the owner to keep.
module vireo_cq_store
  import vireo_spec_pkg::*;
  import vireo_cq_pkg::*;
#(
  parameter config_t Config
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 ring_packed_i,

  // What is written.
  input  state_e               state_i,
  input  logic                 is_event_i,      // else a CQE
  input  logic                 in_ring_i,       // to the ring of the work request, else to that of the CQ or for events
  input  logic                 in_batch_i,
  // verilator lint_off UNUSEDSIGNAL
  input  ring_t                ring_i,          // fields that a write needs
  input  batch_t               batch_i,
  input  position_t            position_i,
  input  completion_t          completion_i,
  input  cached_t              cached_i,        // buffer of the CQE
  input  cached_t              event_buffer_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [8*RdmaCqReqBytes-1:0] cqe_i,
  input  host_event_t          event_i,
  input  logic [31:0]          lost_i,          // events before it
  input  logic [15:0]          avail_i,
  input  logic [6:0]           slot_i,          // of the write

  output logic                 by_id_o,         // packed ring: used at the queue's own position, in any order
  output logic [15:0]          next_used_o,
  output logic [PlaceBits-1:0] next_place_o,
  output logic                 next_wrapped_o,
  output span_t                span_o,
  output dma_store_t           index_o,         // of StIndex, StFirst, StTargetIndex

  output logic                 free_o,
  input  logic                 load_i,
  input  logic                 publish_valid_i,
  output logic                 publish_ready_o,
  input  dma_store_t           publish_i,
  output logic                 store_valid_o,
  input  logic                 store_ready_i,
  output dma_store_t           store_o
);

  dma_store_t store_in;
  logic [63:0] element_address, index_address;
  logic [15:0] used_next, at;
  logic [15:0] target_head;
  logic [31:0] target_bytes;
  logic [15:0] head;                  // of the buffer that is returned
  logic [31:0] head_bytes;            // that were written to it
  logic has_id, by_id;
  logic [15:0] flags_head;            // of the used descriptor: wrap counter of its position, flag write
  logic flags_written;
  logic [15:0] flags;
  logic [PlaceBits-1:0] place_next;
  logic place_last;

  // The buffer that is returned, and where.
  always_comb begin
    target_head = is_event_i ? event_buffer_i.head : cached_i.head;
    target_bytes = is_event_i ? 32'(RdmaEventBytes) : 32'(RdmaCqReqBytes);
    head = target_head;
    head_bytes = target_bytes;
    has_id = 1'b0;
    by_id = Config.max_srqs != 0 && in_ring_i && ring_packed_i && completion_i.by_id;
    if (in_ring_i) begin
      head = by_id ? {!position_i.wrapped, position_i.place} : completion_i.head;
      head_bytes = completion_i.used_bytes;
      has_id = completion_i.has_id;
    end
    flags_head = state_i == StFirst ? batch_i.first : head;
    flags_written = state_i == StFirst ? batch_i.written : head_bytes != '0;

    used_next = ring_i.used + 16'd1;
    if (ring_packed_i) begin
      at = 16'(flags_head[PlaceBits-1:0]);
      index_address = ring_i.area + 64'(PvirtqDescBytes) * 64'(at) + 64'(PvirtqDescFlagsOffset);
      element_address = ring_i.area + 64'(PvirtqDescBytes) * 64'(at) + 64'(PvirtqDescLenOffset);
    end else begin
      at = ring_i.used & (ring_i.size - 16'd1);  // sizes are powers of two [virtio 1.3, 2.7]
      index_address = ring_i.area + 64'(VirtqUsedIdxOffset);
      element_address = ring_i.area + 64'(VirtqUsedBytes) + 64'(VirtqUsedElemBytes) * 64'(at);
    end
    // Avail and used bit equal the wrap counter; flag write: the length is valid [virtio 1.3, 2.8.1, 2.8.2 and 2.8.4].
    flags = flags_head[PlaceBits] ? VirtqDescFlagsAvail | VirtqDescFlagsUsed : '0;
    if (flags_written) flags |= VirtqDescFlagsWrite;
    place_last = 16'(head[PlaceBits-1:0]) == ring_i.size - 16'd1;
    place_next = place_last ? '0 : head[PlaceBits-1:0] + 1'b1;

    span_o = '{first: ring_i.used, next_position: used_next};
    if (ring_packed_i) begin
      span_o = '{first: head,
                 next_position: has_id ? completion_i.next_position : {head[PlaceBits] ^ place_last, place_next}};
    end
    if (in_batch_i) span_o.first = batch_i.first;
  end

  assign by_id_o = by_id;
  assign next_used_o = used_next;
  assign next_place_o = place_next;
  assign next_wrapped_o = !head[PlaceBits] ^ place_last;

  // Address and data of the write, or of the used index, by state.
  always_comb begin
    store_in = '{address: element_address, bytes: 7'(VirtqUsedElemBytes), notify: 1'b1,
                 tag: {1'b0, slot_i}, data: '0};
    unique case (state_i)
      StElement, StTargetElement: begin
        if (ring_packed_i) begin
          store_in.bytes = has_id || by_id ? 7'(PvirtqDescFlagsOffset - PvirtqDescLenOffset)
                                           : 7'(PvirtqDescIdOffset - PvirtqDescLenOffset);
          store_in.data[31:0] = head_bytes;
          if (has_id || by_id) store_in.data[47:32] = by_id ? completion_i.head : completion_i.id;
        end else begin
          store_in.data[63:0] = pack_virtq_used_elem('{len: head_bytes, id: 32'(head)});
        end
      end
      StData: begin
        if (is_event_i) begin
          store_in.address = event_buffer_i.address;
          store_in.bytes = 7'(RdmaEventBytes);
          store_in.data[8*RdmaEventBytes-1:0] =
              pack_rdma_event('{lost: lost_i, code: event_i.code, element: event_i.element,
                                event_type: 32'(event_i.event_type)});
        end else begin
          store_in.address = cached_i.address;
          store_in.bytes = 7'(RdmaCqReqBytes);
          store_in.data[8*RdmaCqReqBytes-1:0] = cqe_i;
        end
      end
      StAvail: begin
        store_in.address = ring_i.area + 64'(VirtqUsedBytes) + 64'(VirtqUsedElemBytes) * 64'(ring_i.size);
        store_in.bytes = 7'(VirtqAvailEventBytes);
        store_in.tag[TagSlotBits] = 1'b1;
        store_in.data[15:0] = avail_i;
      end
      default: begin
        store_in.address = index_address;
        store_in.bytes = 7'd2;
        store_in.data[15:0] = ring_packed_i ? flags : used_next;
      end
    endcase
  end
  assign index_o = store_in;

  // Other writes go first: there are cycles without one.
  assign publish_ready_o = free_o && !load_i;

  vireo_output #(
    .Width(DmaStoreBits)
  ) u_store (
    .clk_i,
    .rst_ni,
    .free_o,
    .load_i(load_i || (publish_valid_i && publish_ready_o)),
    .data_i(load_i ? store_in : publish_i),
    .m_valid_o(store_valid_o),
    .m_ready_i(store_ready_i),
    .m_data_o(store_o)
  );

endmodule
