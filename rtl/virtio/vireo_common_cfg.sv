// SPDX-License-Identifier: Apache-2.0

// Virtio configuration registers except doorbells and MSI-X: common configuration, interrupt status and device
// configuration [virtio 1.3, 4.1.4.3 to 4.1.4.6]. Holds the driver's fields of the queue table and broadcasts a queue's
// row when the queue is enabled, reset or disabled. Accesses no ring and checks no address.
//
// Accesses pass a pipeline of four stages, one access per cycle, without stalls:
//   1  decodes; writes queue_select; reads the state of the selected queue
//   2  all other reads and writes take effect
//   3  reads the fields of the selected queue
//   4  outputs read data and the row
//
// A queue is in reset while its two toggle bits differ: the host side toggles one when the driver resets the queue, the
// firmware side copies it to the other when the reset is done. Each bit has its own RAM, so neither side waits for a
// write port.
//
// A device reset disables all queues, one every two cycles, and ends when firmware has confirmed it as well. A hardware
// reset does the same, and ends when firmware is ready for the first time: what is offered depends on it. Until then, writes are ignored and device_status has device_needs_reset set.
module vireo_common_cfg
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned NumVectors,
  localparam int unsigned NetQueuePairs = Config.net_queue_pairs,
  localparam int unsigned NumCqs = Config.num_cqs,
  localparam int unsigned NumQps = Config.num_qps,
  localparam int unsigned MaxQueueEntries = Config.max_queue_entries,
  localparam int unsigned MaxNetQueueEntries = Config.max_net_queue_entries
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             bar_valid_i,
  input  bar_access_t      bar_i,
  input  logic [63:0]      other_read_data_i,  // 3 cycles after an access: read data of another block, else 0
  output logic             bar_read_valid_o,   // BarReadLatency cycles after every read
  output logic [63:0]      bar_read_data_o,
  input  logic             msix_ready_i,       // a reset ends only when this is 1
  // From firmware.
  input  logic             firmware_ready_i,
  input  logic             profile_i,          // 1: vireo; changes only while the device is reset
  input  logic             link_up_i,
  input  logic             announce_i,
  input  logic [47:0]      mac_i,              // byte 0 in bits 7:0
  input  logic [15:0]      mtu_i,
  input  logic             needs_reset_i,
  input  logic             reset_done_i,       // a pulse: all work from before the device reset has ended
  input  logic             queue_reset_done_valid_i,
  input  logic [15:0]      queue_reset_done_i,
  // To firmware.
  output logic [7:0]       device_status_o,    // as written by the driver
  output logic [127:0]     driver_features_o,
  output logic             roce_o,             // net_f_roce of the profile is among them
  output logic             device_reset_o,     // pulses
  output logic             features_written_o,
  output logic             driver_ok_o,
  output logic             queue_reset_valid_o,
  input  logic             queue_reset_ready_i,
  output doorbell_t        queue_reset_o,
  // Broadcast buses.
  output logic             reset_all_o,        // a pulse: all queues are disabled; their rows follow
  output logic             resetting_o,
  output logic             queue_row_write_valid_o,
  output queue_row_write_t queue_row_write_o,
  output logic             interrupt_valid_o,
  input  logic             interrupt_ready_i,
  output interrupt_t       interrupt_o,
  output logic             idle_o              // no row or interrupt is pending; a reset may wait for firmware
);

  localparam int unsigned NumQueues = queues_of(Config);
  localparam int unsigned BaseQueues = NumQueues - 32'(VireoConstants.rdma_event_queues);
  localparam int unsigned QueueBits = $clog2(NumQueues);
  localparam int unsigned DeviceBytes = 32'(VireoConstants.net_config_rdma_offset) + NetConfigRdmaBytes;
  localparam int unsigned DeviceWords = DeviceBytes / 8;
  localparam int unsigned CommonWords = VirtioPciCommonCfgBytes / 8;
  localparam int unsigned PageBits = $clog2(BarVirtioCfgBytes);
  localparam int unsigned FeatureWindows = 32'(VirtioFeatureBits) / 32;

  // --- Stage 1: address decoder; queue_select

  logic aligned, in_bar;
  logic [31:0] common_at, isr_at, device_at;
  logic valid1_q, common1_q, isr1_q, device1_q, write1_q;
  logic [PageBits-1:0] at1_q;
  logic [3:0] bytes1_q;
  logic [31:0] data1_q;  // no writable field is wider; wider writes are ignored
  logic [15:0] queue_select_d, queue_select_q;
  logic [15:0] num_queues;
  logic exists1;

  always_comb begin
    unique case (bar_i.bytes)
      4'd1: aligned = 1'b1;
      4'd2: aligned = !bar_i.offset[0];
      4'd4: aligned = bar_i.offset[1:0] == '0;
      4'd8: aligned = bar_i.offset[2:0] == '0;
      default: aligned = 1'b0;
    endcase
    in_bar = bar_valid_i && bar_i.bar_index == BarVirtio && aligned;
    common_at = bar_i.offset - BarVirtioCommonCfg;
    isr_at = bar_i.offset - BarVirtioIsrCfg;
    device_at = bar_i.offset - BarVirtioDeviceCfg;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      common1_q <= 1'b0;
      isr1_q <= 1'b0;
      device1_q <= 1'b0;
    end else begin
      valid1_q <= bar_valid_i;
      common1_q <= in_bar && common_at < 32'(VirtioPciCommonCfgBytes);
      isr1_q <= in_bar && isr_at == '0;
      device1_q <= in_bar && device_at < 32'(DeviceBytes);
    end
  end

  always_ff @(posedge clk_i) begin
    write1_q <= bar_i.write;
    at1_q <= bar_i.offset[PageBits-1:0];
    bytes1_q <= bar_i.bytes;
    data1_q <= bar_i.data[31:0];
  end

  // --- Stage 2: reads and writes take effect

  typedef struct packed {
    logic profile;
    logic needs_reset;
    logic link_up;
    logic announce;
    logic [47:0] mac;
    logic [15:0] mtu;
  } inputs_t;

  inputs_t inputs_q, shown_q;  // registered inputs; values visible to the host
  logic valid2_q, common2_q, isr2_q, device2_q, write2_q;
  logic [PageBits-1:0] at2_q;
  logic [3:0] bytes2_q;
  logic [31:0] data2_q;
  logic [15:0] select2_q;
  logic exists2_q;
  logic [QueueBits-1:0] queue2;
  logic state_read_enabled, state_read_reset_toggle, done_read;
  logic last_valid_q, last_enabled_q, last_reset_toggle_q;  // forwarding of the state written in the previous cycle
  logic [QueueBits-1:0] last_queue_q;
  logic enabled2, reset_toggle2, in_reset2;

  logic [31:0] device_select_d, device_select_q, driver_select_d, driver_select_q;
  logic [FeatureWindows-1:0][31:0] offered, accepted_d, accepted_q;
  logic [7:0] status_d, status_q, status_new;
  logic features_good, has_roce, ring_packed;
  logic is_net2;  // the queue is a receive or transmit queue
  logic [15:0] config_vector_d, config_vector_q;
  logic [7:0] generation_d, generation_q;
  logic isr_d, isr_q;  // device_config; the other bit is for INTx, which is not supported
  logic changed, event_now;
  profile_constants_t profile;

  logic resetting_d, resetting_q, sweep_d, sweep_q, firmware_d, firmware_q;
  logic started_d, started_q;  // firmware was ready since the hardware reset
  logic sweep_gap_d, sweep_gap_q;  // no row in this cycle, so that blocks can write their own queue state
  logic sweep_step;
  logic [QueueBits-1:0] sweep_queue_d, sweep_queue_q;
  logic device_reset_d, features_written_d, driver_ok_d;
  logic device_reset_q, features_written_q, driver_ok_q;

  logic write_common, set_up;
  logic write_size, write_vector, queue_enable, queue_reset;
  logic [2:0] write_low, write_high;  // descriptor, driver, device area
  logic write_state, write_enabled, write_reset_toggle;
  logic [QueueBits-1:0] write_queue;
  logic [15:0] size_value, vector_value;
  logic interrupt_pending_d, interrupt_pending_q, interrupt_valid_d, interrupt_valid_q;
  logic [15:0] interrupt_d, interrupt_q;
  logic queue_reset_empty;

  // A field is written only by an access of its own width and offset [virtio 1.3, 4.1.3.1].
  function automatic logic hits(input logic [PageBits-1:0] at, input logic [3:0] bytes, input int unsigned field,
                                input int unsigned field_bytes);
    return 32'(at) == field && 32'(bytes) == field_bytes;
  endfunction

  always_comb begin
    profile = shown_q.profile ? VireoConstants : RfcV2Constants;
    num_queues = 16'(BaseQueues) + 16'(profile.rdma_event_queues);
    exists1 = queue_select_q < num_queues;
    queue2 = QueueBits'(select2_q);

    enabled2 = last_valid_q && last_queue_q == queue2 ? last_enabled_q : state_read_enabled;
    reset_toggle2 = last_valid_q && last_queue_q == queue2 ? last_reset_toggle_q : state_read_reset_toggle;
    in_reset2 = reset_toggle2 != done_read;

    offered = OfferedFeatures;
    offered[1:0] &= ~(profile.net_features_withheld | features_withheld(Config));
    offered[profile.net_f_roce[6:5]][profile.net_f_roce[4:0]] = 1'b1;
    is_net2 = select2_q < 16'(accepted_q[NetFeatureMq / 32][NetFeatureMq % 32] ? 2 * NetQueuePairs : 2 * NetMqVqPairsMin);
    ring_packed = accepted_q[VirtioFeatureRingPacked / 32][VirtioFeatureRingPacked % 32];
    has_roce = accepted_q[profile.net_f_roce[6:5]][profile.net_f_roce[4:0]];
    // Dependencies between features [virtio 1.3, 2.2.2 and 5.1.3.1; profiles.toml, net_f_roce].
    features_good = (accepted_q & ~offered) == '0 && accepted_q[VirtioFeatureVersion1 / 32][VirtioFeatureVersion1 % 32];
    if (!accepted_q[NetFeatureCtrlVq / 32][NetFeatureCtrlVq % 32] &&
        (has_roce || accepted_q[NetFeatureMq / 32][NetFeatureMq % 32])) begin
      features_good = 1'b0;
    end
    if (has_roce && profile.rdma_needs_ring_reset &&
        !accepted_q[VirtioFeatureRingReset / 32][VirtioFeatureRingReset % 32]) begin
      features_good = 1'b0;
    end

    queue_select_d = queue_select_q;
    device_select_d = device_select_q;
    driver_select_d = driver_select_q;
    accepted_d = accepted_q;
    status_d = status_q;
    config_vector_d = config_vector_q;
    isr_d = isr_q;
    resetting_d = resetting_q;
    sweep_d = sweep_q;
    sweep_queue_d = sweep_queue_q;
    firmware_d = firmware_q && !reset_done_i;
    started_d = started_q || firmware_ready_i;
    device_reset_d = 1'b0;
    features_written_d = 1'b0;
    driver_ok_d = 1'b0;

    // End of a reset: only when no earlier interrupt or queue_reset is pending.
    sweep_step = sweep_q && !sweep_gap_q;
    sweep_gap_d = sweep_step;
    if (sweep_step) begin
      sweep_queue_d = sweep_queue_q + 1'b1;
      sweep_d = sweep_queue_q != QueueBits'(NumQueues - 1);
    end else if (!sweep_q && msix_ready_i && started_q && !firmware_q && queue_reset_empty && !interrupt_valid_q) begin
      resetting_d = 1'b0;
    end

    if (common1_q && write1_q && !resetting_q && hits(at1_q, bytes1_q, VirtioPciCommonCfgQueueSelectOffset, 2)) begin
      queue_select_d = data1_q[15:0];
    end

    // Writes are ignored until the driver has acknowledged the device [virtio 1.3, 3.1.1], so that a reset before that
    // has nothing to undo.
    write_common = common2_q && write2_q && !resetting_q;
    set_up = write_common && status_q != '0;
    status_new = status_q | (data2_q[7:0] & (VirtioDeviceStatusAcknowledge | VirtioDeviceStatusDriver |
                                             VirtioDeviceStatusFailed));
    if ((data2_q[7:0] & VirtioDeviceStatusFeaturesOk) != '0 && (status_new & VirtioDeviceStatusDriver) != '0 &&
        features_good) begin
      status_new |= VirtioDeviceStatusFeaturesOk;
    end
    if ((data2_q[7:0] & VirtioDeviceStatusDriverOk) != '0 && (status_new & VirtioDeviceStatusFeaturesOk) != '0) begin
      status_new |= VirtioDeviceStatusDriverOk;
    end
    size_value = data2_q[15:0];
    vector_value = data2_q[15:0] < 16'(NumVectors) ? data2_q[15:0] : VirtioMsiNoVector;

    if (write_common && hits(at2_q, bytes2_q, VirtioPciCommonCfgDeviceFeatureSelectOffset, 4)) begin
      device_select_d = data2_q;
    end
    if (write_common && hits(at2_q, bytes2_q, VirtioPciCommonCfgDriverFeatureSelectOffset, 4)) begin
      driver_select_d = data2_q;
    end
    if (set_up && hits(at2_q, bytes2_q, VirtioPciCommonCfgDriverFeatureOffset, 4) &&
        driver_select_q < 32'(FeatureWindows) && (status_q & VirtioDeviceStatusFeaturesOk) == '0) begin
      accepted_d[$clog2(FeatureWindows)'(driver_select_q)] = data2_q;
    end
    if (set_up && hits(at2_q, bytes2_q, VirtioPciCommonCfgConfigMsixVectorOffset, 2)) config_vector_d = vector_value;

    // A queue's fields are writable only while it is disabled, so a broadcast row stays valid until the queue is reset.
    write_size = 1'b0;
    write_vector = 1'b0;
    write_low = '0;
    write_high = '0;
    queue_enable = 1'b0;
    if (set_up && exists2_q && !enabled2 && !in_reset2) begin
      // A power of two for split rings [virtio 1.3, 2.7], any size for packed rings [2.8.10.1]. Others are ignored.
      write_size = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueSizeOffset, 2) && size_value != '0 &&
                   32'(size_value) <= MaxQueueEntries && !(is_net2 && 32'(size_value) > MaxNetQueueEntries) &&
                   ((size_value & (size_value - 16'd1)) == '0 || ring_packed);
      write_vector = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueMsixVectorOffset, 2);
      write_low[0] = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueDescOffset, 4);
      write_high[0] = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueDescOffset + 4, 4);
      write_low[1] = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueDriverOffset, 4);
      write_high[1] = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueDriverOffset + 4, 4);
      write_low[2] = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueDeviceOffset, 4);
      write_high[2] = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueDeviceOffset + 4, 4);
      queue_enable = hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueEnableOffset, 2) && data2_q[15:0] == 16'd1;
    end
    // [virtio 1.3, 2.6.1 and 4.1.4.3]
    queue_reset = set_up && exists2_q && !in_reset2 && (status_q & VirtioDeviceStatusFeaturesOk) != '0 &&
                  accepted_q[VirtioFeatureRingReset / 32][VirtioFeatureRingReset % 32] &&
                  hits(at2_q, bytes2_q, VirtioPciCommonCfgQueueResetOffset, 2) && data2_q[15:0] == 16'd1;

    // State and fields share a write port: during a device reset, writes of the host are ignored.
    write_state = sweep_step || (!sweep_q && (queue_enable || queue_reset));
    write_queue = sweep_q ? sweep_queue_q : queue2;
    write_enabled = queue_enable;
    write_reset_toggle = !sweep_q && (reset_toggle2 ^ queue_reset);

    if (isr2_q && !write2_q) isr_d = 1'b0;

    if (write_common && hits(at2_q, bytes2_q, VirtioPciCommonCfgDeviceStatusOffset, 1)) begin
      if (data2_q[7:0] != '0) begin
        status_d = status_new;
        features_written_d = (status_new & ~status_q & VirtioDeviceStatusFeaturesOk) != '0;
        driver_ok_d = (status_new & ~status_q & VirtioDeviceStatusDriverOk) != '0;
      end else if (status_q != '0 || shown_q.needs_reset) begin
        device_reset_d = 1'b1;
        resetting_d = 1'b1;
        sweep_d = 1'b1;
        sweep_queue_d = '0;
        firmware_d = 1'b1;
      end
    end

    // Configuration change notification: a field changed, or device_needs_reset was set [virtio 1.3, 2.4 and 2.1.2].
    changed = {inputs_q.profile, inputs_q.link_up, inputs_q.announce, inputs_q.mac, inputs_q.mtu} !=
              {shown_q.profile, shown_q.link_up, shown_q.announce, shown_q.mac, shown_q.mtu};
    event_now = (changed || (inputs_q.needs_reset && !shown_q.needs_reset)) &&
                (status_q & VirtioDeviceStatusDriverOk) != '0;
    generation_d = generation_q + 8'(changed);
    if (event_now) isr_d = 1'b1;

    interrupt_pending_d = interrupt_pending_q || event_now;
    interrupt_valid_d = interrupt_valid_q && !interrupt_ready_i;
    interrupt_d = interrupt_q;
    if (interrupt_pending_q && (!interrupt_valid_q || interrupt_ready_i)) begin
      interrupt_valid_d = config_vector_q != VirtioMsiNoVector;
      interrupt_d = config_vector_q;
      interrupt_pending_d = event_now;
    end

    if (device_reset_d) begin
      queue_select_d = '0;
      device_select_d = '0;
      driver_select_d = '0;
      accepted_d = '0;
      status_d = '0;
      config_vector_d = VirtioMsiNoVector;
      isr_d = 1'b0;
      interrupt_pending_d = 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid2_q <= 1'b0;
      common2_q <= 1'b0;
      isr2_q <= 1'b0;
      device2_q <= 1'b0;
      last_valid_q <= 1'b0;
      queue_select_q <= '0;
      device_select_q <= '0;
      driver_select_q <= '0;
      accepted_q <= '0;
      status_q <= '0;
      config_vector_q <= VirtioMsiNoVector;
      generation_q <= '0;
      isr_q <= 1'b0;
      inputs_q <= '0;
      shown_q <= '0;
      resetting_q <= 1'b1;
      sweep_q <= 1'b1;
      sweep_gap_q <= 1'b0;
      sweep_queue_q <= '0;
      firmware_q <= 1'b0;
      started_q <= 1'b0;
      device_reset_q <= 1'b0;
      features_written_q <= 1'b0;
      driver_ok_q <= 1'b0;
      interrupt_pending_q <= 1'b0;
      interrupt_valid_q <= 1'b0;
    end else begin
      valid2_q <= valid1_q && !write1_q;
      common2_q <= common1_q;
      isr2_q <= isr1_q;
      device2_q <= device1_q;
      last_valid_q <= write_state;
      queue_select_q <= queue_select_d;
      device_select_q <= device_select_d;
      driver_select_q <= driver_select_d;
      accepted_q <= accepted_d;
      status_q <= status_d;
      config_vector_q <= config_vector_d;
      generation_q <= generation_d;
      isr_q <= isr_d;
      inputs_q <= '{profile: profile_i, needs_reset: needs_reset_i, link_up: link_up_i, announce: announce_i,
                    mac: mac_i, mtu: mtu_i};
      shown_q <= inputs_q;
      resetting_q <= resetting_d;
      sweep_q <= sweep_d;
      sweep_gap_q <= sweep_gap_d;
      sweep_queue_q <= sweep_queue_d;
      firmware_q <= firmware_d;
      started_q <= started_d;
      device_reset_q <= device_reset_d;
      features_written_q <= features_written_d;
      driver_ok_q <= driver_ok_d;
      interrupt_pending_q <= interrupt_pending_d;
      interrupt_valid_q <= interrupt_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    write2_q <= write1_q;
    at2_q <= at1_q;
    bytes2_q <= bytes1_q;
    data2_q <= data1_q;
    select2_q <= queue_select_q;
    exists2_q <= exists1;
    last_queue_q <= write_queue;
    last_enabled_q <= write_enabled;
    last_reset_toggle_q <= write_reset_toggle;
    interrupt_q <= interrupt_d;
  end

  vireo_table #(
    .Width(2),
    .Depth(NumQueues)
  ) u_state (
    .clk_i,
    .rst_ni,
    .write_i(write_state),
    .write_address_i(write_queue),
    .write_data_i({write_enabled, write_reset_toggle}),
    .read_i(common1_q),
    .read_address_i(QueueBits'(queue_select_q)),
    .read_data_o({state_read_enabled, state_read_reset_toggle})
  );

  // --- Queue resets: requests to firmware and their completion

  logic done1_q, done2_q, done_reset_toggle;
  logic [QueueBits-1:0] done_queue1_q, done_queue2_q;
  logic [QueueBits-1:0] queue_reset_index, unused_load_index;
  logic unused_load;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done1_q <= 1'b0;
      done2_q <= 1'b0;
    end else begin
      done1_q <= queue_reset_done_valid_i && queue_reset_done_i < 16'(NumQueues);
      done2_q <= done1_q;
    end
  end

  always_ff @(posedge clk_i) begin
    done_queue1_q <= QueueBits'(queue_reset_done_i);
    done_queue2_q <= done_queue1_q;
  end

  vireo_table #(
    .Width(1),
    .Depth(NumQueues)
  ) u_reset_toggle (
    .clk_i,
    .rst_ni,
    .write_i(write_state),
    .write_address_i(write_queue),
    .write_data_i(write_reset_toggle),
    .read_i(done1_q),
    .read_address_i(done_queue1_q),
    .read_data_o(done_reset_toggle)
  );

  vireo_table #(
    .Width(1),
    .Depth(NumQueues)
  ) u_done (
    .clk_i,
    .rst_ni,
    .write_i(sweep_step || (done2_q && !resetting_q)),
    .write_address_i(sweep_q ? sweep_queue_q : done_queue2_q),
    .write_data_i(!sweep_q && done_reset_toggle),
    .read_i(common1_q),
    .read_address_i(QueueBits'(queue_select_q)),
    .read_data_o(done_read)
  );

  vireo_index_set #(
    .Entries(NumQueues),
    .Lookup(1'b1)
  ) u_queue_reset (
    .clk_i,
    .rst_ni,
    .push_valid_i(queue_reset),
    .push_i(queue2),
    .hold_i(1'b0),
    .clear_i(resetting_q),
    .pop_valid_o(queue_reset_valid_o),
    .pop_ready_i(queue_reset_ready_i),
    .pop_o(queue_reset_index),
    .load_o(unused_load),
    .load_index_o(unused_load_index),
    .empty_o(queue_reset_empty)
  );
  assign queue_reset_o.vq_index = 16'(queue_reset_index);

  // --- Stage 3: fields of the queue

  // Size and vector are stored as what differs from the default, so that a cleared table has defaults.
  localparam logic [15:0] DefaultSize = 16'(MaxQueueEntries);
  logic [15:0] size_changes3, vector_changes3, stored_size3, size3, vector3;
  logic [31:0] low3 [3], high3 [3];
  logic default_fields;
  logic valid3_q, queue3_q, is_net3_q, enabled3_q, in_reset3_q, row_on3_q, row_off3_q;
  logic [PageBits-1:0] at3_q;
  logic [3:0] bytes3_q;
  logic [15:0] select3_q;
  logic [63:0] word2, word3_q, word3, answer3;
  virtio_pci_common_cfg_t common2, common3;
  logic [CommonWords-1:0][63:0] common2_words, common3_words;
  net_config_t net2;
  net_config_rdma_t rdma2;
  logic [8*DeviceBytes-1:0] device2;
  logic [DeviceWords-1:0][63:0] device2_words;
  logic row_valid_d, row_valid_q;
  queue_row_write_t row_d, row_q;
  logic read_valid_q;
  logic [63:0] read_data_q;

  assign default_fields = sweep_q || queue_reset;

  vireo_table #(
    .Width(16),
    .Depth(NumQueues)
  ) u_size (
    .clk_i,
    .rst_ni,
    .write_i(default_fields || write_size),
    .write_address_i(write_queue),
    .write_data_i(default_fields ? '0 : size_value ^ DefaultSize),
    .read_i(common2_q),
    .read_address_i(queue2),
    .read_data_o(size_changes3)
  );

  vireo_table #(
    .Width(16),
    .Depth(NumQueues)
  ) u_vector (
    .clk_i,
    .rst_ni,
    .write_i(default_fields || write_vector),
    .write_address_i(write_queue),
    .write_data_i(default_fields ? '0 : vector_value ^ VirtioMsiNoVector),
    .read_i(common2_q),
    .read_address_i(queue2),
    .read_data_o(vector_changes3)
  );

  for (genvar a = 0; a < 3; a++) begin : gen_area
    vireo_table #(
      .Width(32),
      .Depth(NumQueues)
    ) u_low (
      .clk_i,
      .rst_ni,
      .write_i(default_fields || write_low[a]),
      .write_address_i(write_queue),
      .write_data_i(default_fields ? '0 : data2_q),
      .read_i(common2_q),
      .read_address_i(queue2),
      .read_data_o(low3[a])
    );
    vireo_table #(
      .Width(32),
      .Depth(NumQueues)
    ) u_high (
      .clk_i,
      .rst_ni,
      .write_i(default_fields || write_high[a]),
      .write_address_i(write_queue),
      .write_data_i(default_fields ? '0 : data2_q),
      .read_i(common2_q),
      .read_address_i(queue2),
      .read_data_o(high3[a])
    );
  end

  always_comb begin
    // Fields that do not belong to a queue are read in stage 2, so that they are consistent with each other.
    common2 = '0;
    common2_words = '0;
    net2 = '0;
    rdma2 = '0;
    device2 = '0;
    device2_words = '0;
    word2 = '0;
    if (valid2_q && common2_q) begin
      common2.device_feature_select = device_select_q;
      if (device_select_q < 32'(FeatureWindows)) begin
        common2.device_feature = offered[$clog2(FeatureWindows)'(device_select_q)];
      end
      common2.driver_feature_select = driver_select_q;
      if (driver_select_q < 32'(FeatureWindows)) begin
        common2.driver_feature = accepted_q[$clog2(FeatureWindows)'(driver_select_q)];
      end
      common2.config_msix_vector = config_vector_q;
      common2.num_queues = num_queues;
      common2.device_status = status_q;
      if (resetting_q || shown_q.needs_reset) common2.device_status |= VirtioDeviceStatusDeviceNeedsReset;
      common2.config_generation = generation_q;
      common2.queue_select = select2_q;
      common2_words = pack_virtio_pci_common_cfg(common2);
      word2 = common2_words[$clog2(CommonWords)'(at2_q >> 3)];
    end
    if (valid2_q && isr2_q) word2 = isr_q ? 64'(VirtioIsrDeviceConfig) : '0;
    if (valid2_q && device2_q) begin
      net2.mac = shown_q.mac;
      net2.status = (shown_q.link_up ? NetStatusLinkUp : '0) | (shown_q.announce ? NetStatusAnnounce : '0);
      net2.max_virtqueue_pairs = 16'(NetQueuePairs);
      net2.mtu = shown_q.mtu;
      rdma2.max_rdma_qps = 32'(NumQps);
      rdma2.max_rdma_cqs = 32'(NumCqs);
      device2[8*NetConfigBytes-1:0] = pack_net_config(net2);
      if (shown_q.profile) begin
        device2[8*VireoConstants.net_config_rdma_offset+:8*NetConfigRdmaBytes] = pack_net_config_rdma(rdma2);
      end else begin
        device2[8*RfcV2Constants.net_config_rdma_offset+:8*NetConfigRdmaBytes] = pack_net_config_rdma(rdma2);
      end
      device2_words = device2;
      word2 = device2_words[$clog2(DeviceWords)'(at2_q >> 3)];
    end

    stored_size3 = size_changes3 ^ DefaultSize;
    vector3 = vector_changes3 ^ VirtioMsiNoVector;
    // Which queues are net queues depends on a feature, which is not known when the default is stored.
    size3 = is_net3_q && 32'(stored_size3) > MaxNetQueueEntries ? 16'(MaxNetQueueEntries) : stored_size3;
    common3 = '0;
    common3_words = '0;
    word3 = word3_q;
    if (queue3_q) begin
      common3.queue_size = size3;
      common3.queue_msix_vector = vector3;
      common3.queue_enable = 16'(enabled3_q);
      common3.queue_notify_off = select3_q;
      common3.queue_desc = {high3[0], low3[0]};
      common3.queue_driver = {high3[1], low3[1]};
      common3.queue_device = {high3[2], low3[2]};
      common3.queue_reset = 16'(in_reset3_q);
      common3_words = pack_virtio_pci_common_cfg(common3);
      word3 |= common3_words[$clog2(CommonWords)'(at3_q >> 3)];
    end
    word3 = word3 >> {at3_q[2:0], 3'd0};
    unique case (bytes3_q)
      4'd1: answer3 = 64'(word3[7:0]);
      4'd2: answer3 = 64'(word3[15:0]);
      4'd4: answer3 = 64'(word3[31:0]);
      default: answer3 = word3;
    endcase

    row_valid_d = row_on3_q || row_off3_q || sweep_step;
    row_d = '0;
    if (row_on3_q) begin
      row_d.enabled = 1'b1;
      row_d.queue_size = size3;
      row_d.msix_vector = vector3;
      row_d.queue_desc = {high3[0], low3[0]};
      row_d.queue_driver = {high3[1], low3[1]};
      row_d.queue_device = {high3[2], low3[2]};
    end
    row_d.vq_index = row_on3_q || row_off3_q ? select3_q : 16'(sweep_queue_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid3_q <= 1'b0;
      word3_q <= '0;
      queue3_q <= 1'b0;
      row_on3_q <= 1'b0;
      row_off3_q <= 1'b0;
      row_valid_q <= 1'b0;
      read_valid_q <= 1'b0;
      read_data_q <= '0;
    end else begin
      valid3_q <= valid2_q;
      word3_q <= word2;
      queue3_q <= valid2_q && common2_q && exists2_q;
      row_on3_q <= queue_enable;
      row_off3_q <= queue_reset;
      row_valid_q <= row_valid_d;
      read_valid_q <= valid3_q;
      read_data_q <= valid3_q ? answer3 | other_read_data_i : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    at3_q <= at2_q;
    bytes3_q <= bytes2_q;
    select3_q <= select2_q;
    is_net3_q <= is_net2;
    enabled3_q <= enabled2;
    in_reset3_q <= in_reset2;
    if (row_valid_d) row_q <= row_d;
  end

  logic unused_bits;
  assign unused_bits = ^{bar_i.data[63:32], profile};

  assign bar_read_valid_o = read_valid_q;
  assign bar_read_data_o = read_data_q;
  assign device_status_o = status_q;
  assign driver_features_o = accepted_q;
  assign roce_o = has_roce;
  assign device_reset_o = device_reset_q;
  assign features_written_o = features_written_q;
  assign driver_ok_o = driver_ok_q;
  assign reset_all_o = device_reset_q;
  assign resetting_o = resetting_q;
  assign queue_row_write_valid_o = row_valid_q;
  assign queue_row_write_o = row_q;
  assign interrupt_valid_o = interrupt_valid_q;
  assign interrupt_o.msix_vector = interrupt_q;
  assign idle_o = !sweep_q && !row_valid_q && !interrupt_valid_q && !interrupt_pending_q;

endmodule
