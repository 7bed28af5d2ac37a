// SPDX-License-Identifier: Apache-2.0

// Doorbells. Decodes writes to the notify region of the BAR into doorbell tokens by kind of queue, and writes to the
// arm register of a CQ's page into cq_arm. Several doorbells of one queue are merged, so BAR writes are never stalled.
// Doorbells of completion queues and of the event queue are ignored: the device reads these rings when it needs a
// buffer.
//
// A doorbell is valid only if its queue is enabled according to the local copy of queue_row_write. The row of a queue
// arrives three to four cycles after the access that enables it, so each access is delayed by Stages cycles before the
// copy is read. A doorbell raised by the device itself (internal_i) uses a free slot of this delay line and is then
// treated like one of the host.
//
// Writes of 8 bytes to the places of a send queue's page that take a pushed work request become push_write. They need no
// enabled queue: what is pushed counts only if the queue gives it out.
//
// While enable_i is 0, doorbells are held, because the driver may ring before firmware has started the datapath. While
// resetting_i is 1, they are discarded.
module vireo_notify
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NetQueuePairs = Config.net_queue_pairs,
  localparam int unsigned NumCqs = Config.num_cqs,
  localparam int unsigned NumQps = Config.num_qps
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             bar_valid_i,
  input  bar_access_t      bar_i,
  input  logic             internal_valid_i,
  output logic             internal_ready_o,
  input  doorbell_t        internal_i,
  input  logic             queue_row_write_valid_i,
  input  queue_row_write_t queue_row_write_i,
  input  logic             enable_i,     // mgmt.control.datapath_enable
  input  logic             resetting_i,  // a device reset is in progress
  input  logic             mq_i,         // net_feature.mq was accepted: NetQueuePairs pairs; otherwise one
  input  logic             profile_i,    // 1: vireo
  output logic             send_doorbell_valid_o,
  input  logic             send_doorbell_ready_i,
  output doorbell_t        send_doorbell_o,
  output logic             receive_doorbell_valid_o,
  input  logic             receive_doorbell_ready_i,
  output doorbell_t        receive_doorbell_o,
  output logic             control_doorbell_valid_o,
  input  logic             control_doorbell_ready_i,
  output doorbell_t        control_doorbell_o,
  output logic             net_doorbell_valid_o,
  input  logic             net_doorbell_ready_i,
  output doorbell_t        net_doorbell_o,
  output logic             cq_arm_valid_o,
  input  logic             cq_arm_ready_i,
  output cq_arm_t          cq_arm_o,
  output logic             push_write_valid_o,  // a pulse
  output push_write_t      push_write_o,
  output logic             idle_o
);

  localparam int unsigned NumQueues = queues_of(Config);
  localparam int unsigned QueueBits = $clog2(NumQueues);
  localparam int unsigned PageBits = $clog2(NotifyOffMultiplier);
  localparam int unsigned VqBits = $clog2(NotifyQueuesMax);  // of a page number
  localparam int unsigned NetBits = $clog2(2 * NetQueuePairs);
  localparam int unsigned ArmBits = $clog2(2 * NumCqs);
  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned Stages = 4;  // cycles from the access to the read of u_enabled

  // --- Address decoder and delay line

  typedef struct packed {
    logic ring;
    logic arm;
    logic [VqBits-1:0] vq;
    logic [31:0] value;
  } access_t;

  logic [PageBits-1:0] place;
  logic in_region, next_completion, solicited;
  access_t access_d;
  access_t [Stages-1:0] access_q;  // [k]: k + 1 cycles after the access
  access_t second;                 // input of access_q[1]: access_q[0] or an internal doorbell
  logic any_delayed;               // an access is in access_q
  logic internal_valid, internal_pop;
  // verilator lint_off UNUSEDSIGNAL
  doorbell_t internal_doorbell;                // the upper bits of vq_index are 0
  // verilator lint_on UNUSEDSIGNAL

  vireo_slice #(
    .Width(DoorbellBits)
  ) u_internal (
    .clk_i,
    .rst_ni,
    .s_valid_i(internal_valid_i),
    .s_ready_o(internal_ready_o),
    .s_data_i(internal_i),
    .m_valid_o(internal_valid),
    .m_ready_i(internal_pop),
    .m_data_o(internal_doorbell)
  );

  always_comb begin
    in_region = 1'b0;
    place = bar_i.offset[PageBits-1:0];
    access_d = '0;
    if (bar_valid_i) begin
      in_region = bar_i.write && bar_i.bar_index == BarVirtio && bar_i.offset >= BarVirtioNotify &&
                  bar_i.offset - BarVirtioNotify < BarVirtioNotifyBytes;
      access_d.vq = bar_i.offset[PageBits+:VqBits];
      access_d.value = bar_i.data[31:0];
      // 16 bits, or 32 with notification_data [virtio 1.3, 4.1.5.2]. The page alone determines the queue.
      access_d.ring = in_region && place == NotifyPageQueue && (bar_i.bytes == 4'd2 || bar_i.bytes == 4'd4);
      access_d.arm = in_region && place == PageBits'(RdmaCqArmOffset) && bar_i.bytes == 4'(RdmaCqArmBytes);
    end
    any_delayed = 1'b0;
    for (int unsigned i = 0; i < Stages; i++) any_delayed |= access_q[i].ring || access_q[i].arm;
    internal_pop = !access_q[0].ring && !access_q[0].arm;
    second = access_q[0];
    if (internal_pop && internal_valid) second = '{ring: 1'b1, vq: VqBits'(internal_doorbell.vq_index), default: '0};
  end

  // --- Kind of the queue and number among its kind [RFC v2, Virtqueues]

  typedef enum logic [2:0] {
    KindNone,
    KindNet,
    KindControl,
    KindCq,
    KindSend,
    KindReceive
  } kind_e;

  logic mq_q, enable_q, resetting_q, profile_q;
  logic [VqBits-1:0] control_index;  // index of the control queue
  logic [VqBits:0] from_cq, from_send, from_receive;
  kind_e kind;
  logic [VqBits-1:0] number;  // among the queues of its kind
  access_t at_read;
  logic decodes;      // the last stage of the delay line has an access

  always_comb begin
    at_read = access_q[Stages-1];
    decodes = at_read.ring || at_read.arm;
    next_completion = (at_read.value[31:16] & 16'(IbNotifyFlagsNextCompletion)) != '0;
    solicited = (at_read.value[31:16] & 16'(IbNotifyFlagsSolicited)) != '0;
    control_index = mq_q ? VqBits'(2 * NetQueuePairs) : VqBits'(2 * NetMqVqPairsMin);
    from_cq = '0;
    from_send = '0;
    from_receive = '0;
    if (decodes) begin
      from_cq = (VqBits + 1)'(at_read.vq) - (VqBits + 1)'(control_index) - (VqBits + 1)'(RdmaCompleteqOffset);
      from_send = (VqBits + 1)'(at_read.vq) - (VqBits + 1)'(control_index) -
                  (VqBits + 1)'(NumCqs + 32'(RdmaTransmitqOffset));
      from_receive = (VqBits + 1)'(at_read.vq) - (VqBits + 1)'(control_index) -
                     (VqBits + 1)'(NumCqs + 32'(RdmaReceiveqOffset));
    end
    kind = KindNone;
    number = '0;
    if (!decodes) begin
      number = '0;
    end else if (at_read.vq < control_index) begin
      if (at_read.ring) kind = KindNet;
      number = at_read.vq;
    end else if (at_read.vq == control_index) begin
      if (at_read.ring) kind = KindControl;
    end else if (from_cq < (VqBits + 1)'(NumCqs)) begin
      // rdma_cq_arm: a write without a flag is ignored. Each flag has its own entry, so that arming for solicited
      // completions does not replace an earlier, still pending arming for every completion.
      if (at_read.arm && profile_q && (next_completion || solicited)) kind = KindCq;
      number = VqBits'({from_cq[VqBits-2:0], next_completion});
    end else if (from_send < (VqBits + 1)'(2 * NumQps) && !from_send[0]) begin
      if (at_read.ring) kind = KindSend;
      number = from_send[VqBits:1];
    end else if (from_receive < (VqBits + 1)'(2 * NumQps) && !from_receive[0]) begin
      if (at_read.ring) kind = KindReceive;
      number = from_receive[VqBits:1];
    end
  end

  kind_e kind_q;
  logic [VqBits-1:0] number_q, control_index_q;
  logic [31:0] value_q;
  logic enabled, decide;
  logic arm_push_d, arm_push_q;
  logic [ArmBits-1:0] arm_number_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mq_q <= 1'b0;
      enable_q <= 1'b0;
      resetting_q <= 1'b1;
      profile_q <= 1'b0;
      access_q <= '0;
      kind_q <= KindNone;
      arm_push_q <= 1'b0;
    end else begin
      mq_q <= mq_i;
      enable_q <= enable_i;
      resetting_q <= resetting_i;
      profile_q <= profile_i;
      if (bar_valid_i || internal_valid || any_delayed) access_q <= {access_q[Stages-2:1], second, access_d};
      kind_q <= kind;
      arm_push_q <= arm_push_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (decodes) begin
      number_q <= number;
      value_q <= at_read.value;
    end
    control_index_q <= control_index;
    arm_number_q <= number_q[ArmBits-1:0];
  end

  vireo_table #(
    .Width(1),
    .Depth(NumQueues)
  ) u_enabled (
    .clk_i,
    .rst_ni,
    .write_i(queue_row_write_valid_i && queue_row_write_i.vq_index < 16'(NumQueues)),
    .write_address_i(QueueBits'(queue_row_write_i.vq_index)),
    .write_data_i(queue_row_write_i.enabled),
    .read_i(decodes),
    .read_address_i(QueueBits'(at_read.vq)),
    .read_data_o(enabled)
  );

  assign decide = enabled && !resetting_q;
  assign arm_push_d = decide && kind_q == KindCq;

  // --- Pending doorbells, one set per kind. The index of the control queue is registered with each output, because it
  // changes if the next driver negotiates other features.

  logic send_empty, receive_empty, control_empty, net_empty, arm_empty;
  logic send_load, receive_load, control_load, unused_net_load, arm_load;
  logic [QpBits-1:0] send_number, unused_send_load_number, receive_number, unused_receive_load_number;
  logic [NetBits-1:0] net_number, unused_net_load_number;
  logic unused_control_number, unused_control_load_number;
  logic [ArmBits-1:0] arm_number, arm_load_number;
  logic [VqBits-1:0] send_base_q, receive_base_q, control_base_q;
  logic [31:0] arm_value;

  always_ff @(posedge clk_i) begin
    if (send_load) send_base_q <= control_index_q;
    if (receive_load) receive_base_q <= control_index_q;
    if (control_load) control_base_q <= control_index_q;
  end

  vireo_index_set #(
    .Entries(NumQps),
    .Lookup(1'b1)
  ) u_send (
    .clk_i,
    .rst_ni,
    .push_valid_i(decide && kind_q == KindSend),
    .push_i(number_q[QpBits-1:0]),
    .hold_i(!enable_q),
    .clear_i(resetting_q),
    .pop_valid_o(send_doorbell_valid_o),
    .pop_ready_i(send_doorbell_ready_i),
    .pop_o(send_number),
    .load_o(send_load),
    .load_index_o(unused_send_load_number),
    .empty_o(send_empty)
  );
  assign send_doorbell_o.vq_index = 16'(send_base_q) + 16'(NumCqs) + RdmaTransmitqOffset + 16'({send_number, 1'b0});

  vireo_index_set #(
    .Entries(NumQps),
    .Lookup(1'b1)
  ) u_receive (
    .clk_i,
    .rst_ni,
    .push_valid_i(decide && kind_q == KindReceive),
    .push_i(number_q[QpBits-1:0]),
    .hold_i(!enable_q),
    .clear_i(resetting_q),
    .pop_valid_o(receive_doorbell_valid_o),
    .pop_ready_i(receive_doorbell_ready_i),
    .pop_o(receive_number),
    .load_o(receive_load),
    .load_index_o(unused_receive_load_number),
    .empty_o(receive_empty)
  );
  assign receive_doorbell_o.vq_index = 16'(receive_base_q) + 16'(NumCqs) + RdmaReceiveqOffset +
                                       16'({receive_number, 1'b0});

  vireo_index_set #(
    .Entries(2),
    .Lookup(1'b1)
  ) u_control (
    .clk_i,
    .rst_ni,
    .push_valid_i(decide && kind_q == KindControl),
    .push_i(1'b0),
    .hold_i(!enable_q),
    .clear_i(resetting_q),
    .pop_valid_o(control_doorbell_valid_o),
    .pop_ready_i(control_doorbell_ready_i),
    .pop_o(unused_control_number),
    .load_o(control_load),
    .load_index_o(unused_control_load_number),
    .empty_o(control_empty)
  );
  assign control_doorbell_o.vq_index = 16'(control_base_q);

  vireo_index_set #(
    .Entries(2 * NetQueuePairs),
    .Lookup(1'b1)
  ) u_net (
    .clk_i,
    .rst_ni,
    .push_valid_i(decide && kind_q == KindNet),
    .push_i(number_q[NetBits-1:0]),
    .hold_i(!enable_q),
    .clear_i(resetting_q),
    .pop_valid_o(net_doorbell_valid_o),
    .pop_ready_i(net_doorbell_ready_i),
    .pop_o(net_number),
    .load_o(unused_net_load),
    .load_index_o(unused_net_load_number),
    .empty_o(net_empty)
  );
  assign net_doorbell_o.vq_index = 16'(net_number);

  // The value is written one cycle before the push, so that a load with which the push is merged reads the new value.
  vireo_index_set #(
    .Entries(2 * NumCqs),
    .Lookup(1'b1)
  ) u_arm (
    .clk_i,
    .rst_ni,
    .push_valid_i(arm_push_q),
    .push_i(arm_number_q),
    .hold_i(!enable_q),
    .clear_i(resetting_q),
    .pop_valid_o(cq_arm_valid_o),
    .pop_ready_i(cq_arm_ready_i),
    .pop_o(arm_number),
    .load_o(arm_load),
    .load_index_o(arm_load_number),
    .empty_o(arm_empty)
  );

  vireo_table #(
    .Width(32),
    .Depth(2 * NumCqs)
  ) u_value (
    .clk_i,
    .rst_ni,
    .write_i(arm_push_d),
    .write_address_i(number_q[ArmBits-1:0]),
    .write_data_i(value_q),
    .read_i(arm_load),
    .read_address_i(arm_load_number),
    .read_data_o(arm_value)
  );
  assign cq_arm_o.cqn = 16'(arm_number) >> 1;
  assign cq_arm_o.value = arm_value;

  // --- Pushed work requests

  logic push_pending;  // a write is on its way

  if (Config.push_requests != 0) begin : gen_push
    localparam int unsigned WordBytes = RdmaPushBytes;
    localparam int unsigned Words = 1 + 32'(RdmaPushMost) / WordBytes;  // the address, and the work request

    typedef struct packed {
      logic [VqBits-1:0] vq;
      logic [3:0] place;
      logic [63:0] data;
    } push_t;

    push_t push_d, push_q;
    logic push_d_valid, push_taken_q;  // there is one
    logic is_end, is_word, known;
    logic [PageBits-1:0] behind;  // offset from the first place
    logic [VqBits:0] push_from_send;
    logic push_valid_q;
    push_write_t push_write_q;

    always_comb begin
      is_end = place == PageBits'(RdmaPushEndOffset);
      behind = place - PageBits'(RdmaPushOffset);
      is_word = place >= PageBits'(RdmaPushOffset) && behind < PageBits'(Words * WordBytes) && behind[2:0] == '0;
      push_d = push_q;
      push_d_valid = in_region && bar_i.bytes == 4'(WordBytes) && (is_end || is_word);
      if (push_d_valid) begin
        push_d.vq = bar_i.offset[PageBits+:VqBits];
        push_d.place = is_end ? '0 : behind[6:3] + 4'd1;
        push_d.data = bar_i.data;
      end
      push_from_send = (VqBits + 1)'(push_q.vq) - (VqBits + 1)'(control_index) -
                       (VqBits + 1)'(NumCqs + 32'(RdmaTransmitqOffset));
      known = push_taken_q && profile_q && !resetting_q && push_from_send < (VqBits + 1)'(2 * NumQps) &&
              !push_from_send[0];
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        push_taken_q <= 1'b0;
        push_valid_q <= 1'b0;
      end else begin
        push_taken_q <= push_d_valid;
        push_valid_q <= known;
      end
    end
    always_ff @(posedge clk_i) begin
      push_q <= push_d;
      push_write_q <= '{qpn: 24'(push_from_send[VqBits:1]), place: push_q.place, data: push_q.data};
    end

    assign push_write_valid_o = push_valid_q;
    assign push_write_o = push_write_q;
    assign push_pending = push_taken_q || push_valid_q;
  end else begin : gen_no_push
    assign push_write_valid_o = 1'b0;
    assign push_write_o = '0;
    assign push_pending = 1'b0;
  end

  logic unused_bits;
  assign unused_bits = ^{bar_i.data[63:32], queue_row_write_i, number_q};

  logic any_access;
  assign any_access = any_delayed || kind_q != KindNone || arm_push_q || push_pending;
  // Doorbells that are held while enable_q is 0 do not count: they cause no activity until enable_q is 1.
  assign idle_o = !any_access && !internal_valid && !send_doorbell_valid_o && !receive_doorbell_valid_o &&
                  !control_doorbell_valid_o && !net_doorbell_valid_o && !cq_arm_valid_o &&
                  (!enable_q || (send_empty && receive_empty && control_empty && net_empty && arm_empty));

endmodule
