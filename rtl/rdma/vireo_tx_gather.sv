// SPDX-License-Identifier: Apache-2.0

// Reads the payload of packets from host memory and buffers it until they are sent. Of the runs of a packet, which
// come in one job or in several, it makes one train of beats without a gap, and passes the packet on when its payload
// is complete (store and forward). Jobs come on two streams, which alternate per packet; packets leave in the order in
// which their last jobs were taken, also those without payload. It checks nothing: it reads what the jobs specify.
//
// A packet that carries its payload with it passes like one without payload.
//
// Space for all of a packet is reserved before its first read is requested, so that every beat has its place.
// The packet joins the line when its last job is taken. Until then it is the newest one in the buffer, so that a drop
// only rewinds to its start, once the outstanding reads have returned.
//
// With Reserves, who sends the jobs has taken that space before, and place among the packets that wait: no job waits for
// the wire.
//
// Packets of a queue pair that is stopped while they wait, or requests of one that is flushed, are marked stale: they leave in their turn, without a report,
// and no frame of them is sent.
//
// The payload buffer has two banks, of the beats with even and with odd numbers: the last beat of the last run may
// end one beat of the payload and start another, and both are written in one cycle.
module vireo_tx_gather
  import vireo_spec_pkg::*;
  import vireo_common_pkg::waiting_packets;
  import vireo_common_pkg::wide_slice;
  import vireo_dma_pkg::*;
  import vireo_rdma_pkg::carries_inline;
  import vireo_rdma_pkg::job_without_inline;
#(
  parameter config_t Config,
  // Of payload; a power of two, 8192 or more, and twice what a packet has or more, or it holds one packet at a time and
  // wire and host memory take turns.
  parameter int unsigned BufferBytes,
  parameter bit Reserves,  // packets are begun with room that was given for them
  parameter bit Net,       // net frames: no responses, and of a job's packet only payload_bytes and reports count
  localparam int unsigned QpBits = $clog2(Config.num_qps),
  localparam int unsigned DataBits = Config.datapath_bits  // 64 ... 1024, a power of two
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 job_valid_i,
  output logic                 job_ready_o,
  input  tx_job_t              job_i,

  input  logic                 response_valid_i,  // of the read responder
  output logic                 response_ready_o,
  input  tx_job_t              response_i,

  // Pulses, with Reserves, of 0: job, 1: response.
  output logic [1:0]           room_o,         // room for one more packet
  input  logic [1:0]           room_used_i,    // one is begun: its first job, or room_unused_i, follows
  input  logic                 room_unused_i,  // one of `job` that was begun has no job

  output logic                 read_request_valid_o,
  input  logic                 read_request_ready_i,
  output dma_read_request_t    read_request_o,

  // Trains for the requests, in their order. Every beat is accepted.
  input  logic                 train_valid_i,   // from the first to the last beat of a train
  input  logic [DataBits-1:0]  train_data_i,    // from lane 0 on, zero after the last byte
  input  logic                 train_last_i,
  input  logic [7:0]           train_tag_i,     // of the request; these three are stable for the whole train
  input  logic [12:0]          train_bytes_i,
  input  axi_resp_e            train_resp_i,

  output logic                 packet_valid_o,
  input  logic                 packet_ready_i,
  output tx_packet_t           packet_o,

  // Payload of the packets that left, in their order, each from lane 0 of a beat on, zero after its last byte. The
  // first beat is valid as soon as its packet and all payload before it was taken; then one in every cycle.
  output logic                 payload_valid_o,
  input  logic                 payload_ready_i,
  output logic [DataBits-1:0]  payload_data_o,

  // Packets whose payload could not be read, except those that `sent` reports. They are not sent, except for a
  // response's NAK.
  output logic                 failed_valid_o,
  input  logic                 failed_ready_i,
  output qp_failure_t          failed_o,

  // Packets with `reports` that are sent: taken before the packet is output. Packets of UC and UD whose payload could
  // not be read: with a status.
  output logic                 sent_valid_o,
  input  logic                 sent_ready_i,
  output rx_ack_t              sent_o,

  input  logic                 stopped_valid_i,  // pulse: packets of this QP that are here are stale, or its requests only
  input  logic                 stopped_all_i,
  input  logic [23:0]          stopped_qpn_i,

  output logic                 response_ends_o, // pulse: a packet of `response` is taken whole, and a stop will mark it
  output memory_grant_t        grant_ended_o,  // pulse: the runs of a job are read
  // Packets of `job` that are read or dropped in the cycle before, in order: nothing that was taken before them reads any
  // more. They may still wait for the wire.
  output logic [1:0]           packets_read_o,
  output logic                 idle_o
);

  localparam bit CarriesInline = carries_inline(DataBits);
  localparam int unsigned JobDepth = waiting_packets(DataBits);  // packets between job and packet
  // One entry where a packet has several beats.
  localparam int unsigned JobSlice = wide_slice(DataBits);
  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned Beats = BufferBytes / BeatBytes;
  localparam int unsigned PlaceBits = $clog2(Beats);
  localparam int unsigned CountBits = 14 - LaneBits;  // of the beats of a packet
  localparam int unsigned JobsBits = $clog2(JobDepth);
  // Room for a packet, given before it is begun.
  localparam int unsigned RoomBeats = Reserves ? (Config.max_path_mtu + BeatBytes - 1) / BeatBytes : 0;
  localparam int unsigned RunBits = $clog2(BufferBytes) + 1;  // every outstanding run has a byte of the buffer or more

  // A request's tag: role of the train in its packet.
  localparam int unsigned TagFurther = 0;  // bit: not the first run
  localparam int unsigned TagLast = 1;     // bit: the last run
  localparam int unsigned TagGrant = 2;    // memory_grant_t, of a job's last run

  // --- Jobs: space, then one request per run.
  typedef struct packed {
    logic [CountBits-1:0] beats;
    tx_packet_t packet;
  } waiting_t;

  typedef enum logic [1:0] {
    StTake,   // takes a job for which there is space, or a drop
    StFirst,  // requests its first run
    StSecond  // requests its second run
  } fetch_e;

  logic [1:0] in_valid, in_ready;            // 0: job, 1: response
  tx_job_t in [2];
  logic winner_d, winner_q;                  // of the last packet, also of one that is not taken whole
  logic job_valid;
  tx_job_t job;
  fetch_e fetch_d, fetch_q;
  logic [63:0] address0_q, address1_q;
  logic [12:0] bytes0_q, bytes1_q;
  logic more_q, further_q;                   // of the job: another one of its packet follows; one came before
  memory_grant_t grant_q;                    // of the job
  logic part_d, part_q;                      // the next job continues the packet
  logic [CountBits-1:0] job_beats;           // of all of the packet
  logic [CountBits-1:0] part_beats_q;
  logic take, begins, ends, drop;
  logic waiting_space, waiting_valid, waiting_ready;
  waiting_t waiting, waiting_in;
  logic [PlaceBits:0] free_d, free_q;        // beats of the buffer that belong to no packet, nor to room that was given
  logic room_given, room_idle;
  logic [JobsBits:0] jobs_d, jobs_q;         // packets that were taken whole and not decided on
  logic [RunBits-1:0] runs_d, runs_q;        // that were requested and are not in the buffer
  logic run_done;                            // one more is from the next cycle on
  logic reads;                               // the oldest packet that is not read yet is
  logic reads_response;

  // Without what this device's jobs do not have, so that it takes no register and no memory.
  tx_job_t job_in, response_in;
  always_comb begin
    job_in = CarriesInline ? job_i : job_without_inline(job_i);
    response_in = job_without_inline(response_i);
    if (Net) begin
      job_in.packet = '{payload_bytes: job_i.packet.payload_bytes, reports: job_i.packet.reports, default: '0};
      job_in.grant = '0;
      response_in = '0;
    end
  end

  vireo_slice #(
    .Width(TxJobBits),
    .Depth(JobSlice)
  ) u_job (
    .clk_i, .rst_ni,
    .s_valid_i(job_valid_i),
    .s_ready_o(job_ready_o),
    .s_data_i(job_in),
    .m_valid_o(in_valid[0]),
    .m_ready_i(in_ready[0]),
    .m_data_o(in[0])
  );

  vireo_slice #(
    .Width(TxJobBits),
    .Depth(JobSlice)
  ) u_response (
    .clk_i, .rst_ni,
    .s_valid_i(!Net && response_valid_i),
    .s_ready_o(response_ready_o),
    .s_data_i(response_in),
    .m_valid_o(in_valid[1]),
    .m_ready_i(in_ready[1]),
    .m_data_o(in[1])
  );

  always_comb begin
    // Jobs of a packet are not mixed with another's. A packet that must wait for space keeps its turn.
    winner_d = !part_q && in_valid[!winner_q] ? !winner_q : winner_q;
    job_valid = in_valid[winner_d];
    job = '0;
    if (job_valid) job = winner_d ? in[1] : in[0];
  end

  always_comb begin
    job_beats = CountBits'((14'(job.packet.payload_bytes) + 14'(BeatBytes - 1)) >> LaneBits);
    if (job.packet.has_inline) job_beats = '0;
    take = 1'b0;
    fetch_d = fetch_q;
    unique case (fetch_q)
      StTake: begin
        if (job.drop) begin
          // Requested data arrives nevertheless, and needs its place until then.
          take = job_valid && (!part_q || runs_q == '0);
        end else begin
          take = job_valid && (job.more || waiting_space)
              && (Reserves || part_q || (PlaceBits + 1)'(job_beats) <= free_q);
          if (take && job.bytes0 != '0) fetch_d = StFirst;
        end
      end
      StFirst: if (read_request_ready_i) fetch_d = bytes1_q == '0 ? StTake : StSecond;
      StSecond: if (read_request_ready_i) fetch_d = StTake;
      default: fetch_d = StTake;
    endcase
    in_ready[0] = take && !winner_d;
    in_ready[1] = take && winner_d;
    begins = take && !job.drop && !part_q;
    ends = take && !job.drop && !job.more;
    drop = take && job.drop && part_q;
    waiting_in = '0;
    if (ends) waiting_in = {job_beats, job.packet};
    part_d = take ? !job.drop && job.more : part_q;
    runs_d = runs_q + RunBits'(read_request_valid_o && read_request_ready_i) - RunBits'(run_done);
  end

  always_comb begin
    read_request_valid_o = fetch_q == StFirst || fetch_q == StSecond;
    read_request_o = '{address: address0_q, bytes: bytes0_q, default: '0};
    read_request_o.tag[TagLast] = bytes1_q == '0 && !more_q;
    read_request_o.tag[TagFurther] = further_q;
    if (bytes1_q == '0) read_request_o.tag[TagGrant +: MemoryGrantBits] = grant_q;
    if (fetch_q == StSecond) begin
      read_request_o.address = address1_q;
      read_request_o.bytes = bytes1_q;
      read_request_o.tag[TagGrant +: MemoryGrantBits] = grant_q;
      read_request_o.tag[TagLast] = !more_q;
      read_request_o.tag[TagFurther] = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fetch_q <= StTake;
      part_q <= 1'b0;
      winner_q <= 1'b1;
      runs_q <= '0;
    end else begin
      fetch_q <= fetch_d;
      if (take) winner_q <= winner_d;
      part_q <= part_d;
      runs_q <= runs_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      address0_q <= job.address0;
      bytes0_q <= job.bytes0;
      address1_q <= job.address1;
      bytes1_q <= job.bytes1;
      more_q <= job.more;
      further_q <= part_q;
      grant_q <= job.grant;
    end
    if (begins) part_beats_q <= job_beats;
  end

  vireo_fifo #(
    .Width($bits(waiting_t)),
    .Depth(JobDepth),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .s_valid_i(ends),
    .s_ready_o(waiting_space),
    .s_data_i(waiting_in),
    .m_valid_o(waiting_valid),
    .m_ready_i(waiting_ready),
    .m_data_o(waiting)
  );

  // --- Trains, stage 1: the beat is rotated to where the run before ended.
  function automatic logic [DataBits-1:0] rotate(input logic [DataBits-1:0] data, input logic [LaneBits-1:0] bytes);
    rotate = data;
    for (int unsigned i = 0; i < LaneBits; i++) begin
      if (bytes[i]) rotate = (rotate << (8 << i)) | (rotate >> (DataBits - (8 << i)));
    end
  endfunction

  logic [LaneBits-1:0] end_lane_q;  // after the runs of the packet so far
  logic [LaneBits-1:0] shift;
  logic valid1_q, last1_q, further1_q, last_run1_q;
  memory_grant_t grant1_q;
  logic [LaneBits-1:0] shift1_q;
  logic [LaneBits:0] ends1_d, ends1_q;  // lanes that the train's last beat fills
  logic [DataBits-1:0] rotated1_q;
  axi_resp_e resp1_q;

  always_comb begin
    shift = train_tag_i[TagFurther] ? end_lane_q : '0;
    ends1_d = train_bytes_i[LaneBits-1:0] == '0 ? (LaneBits + 1)'(BeatBytes)
                                                : (LaneBits + 1)'(train_bytes_i[LaneBits-1:0]);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid1_q <= 1'b0;
    else valid1_q <= train_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (train_valid_i && train_last_i) end_lane_q <= shift + train_bytes_i[LaneBits-1:0];
    if (train_valid_i) begin
      last1_q <= train_last_i;
      further1_q <= train_tag_i[TagFurther];
      last_run1_q <= train_tag_i[TagLast];
      grant1_q <= train_tag_i[TagGrant +: MemoryGrantBits];
      shift1_q <= shift;
      ends1_q <= ends1_d;
      rotated1_q <= rotate(train_data_i, shift);
      resp1_q <= train_resp_i;
    end
  end

  // Stage 2: joined with the rest of the beat before, and written.
  logic [DataBits-1:0] left_d, left_q;  // its lanes below the shift are not written yet
  logic [DataBits-1:0] joined, rest;
  logic [LaneBits+1:0] filled;          // lanes from 0 to the end of the train's last beat, rotated
  logic joins;                          // the beat is not written: the next run continues in it
  logic write, write_rest;
  logic [PlaceBits-1:0] start_place_q;  // of the packet that comes
  logic [PlaceBits-1:0] write_place_d, write_place_q;
  logic bad_d, bad_q;                // a run of the packet failed
  logic done;
  logic done_space, done_valid, done_ready, done_bad;

  always_comb begin
    joined = '0;
    rest = '0;
    if (valid1_q) for (int unsigned i = 0; i < BeatBytes; i++) begin
      joined[8*i +: 8] = LaneBits'(i) < shift1_q ? left_q[8*i +: 8] : rotated1_q[8*i +: 8];
      rest[8*i +: 8] = LaneBits'(i) < shift1_q ? rotated1_q[8*i +: 8] : 8'h0;
    end
    filled = (LaneBits + 2)'(shift1_q) + (LaneBits + 2)'(ends1_q);
    joins = !last_run1_q && last1_q && filled < (LaneBits + 2)'(BeatBytes);
    left_d = '0;
    if (valid1_q) left_d = joins ? joined : rotated1_q;
    write = valid1_q && !joins;
    // Of other runs than the last, the next one's first beat joins it.
    write_rest = valid1_q && last1_q && last_run1_q && filled > (LaneBits + 2)'(BeatBytes);
    run_done = valid1_q && last1_q;
    write_place_d = write_place_q + PlaceBits'(write) + PlaceBits'(write_rest);
    // No run is outstanding then.
    if (drop) write_place_d = start_place_q;
    bad_d = resp1_q != AxiRespOkay || (further1_q && bad_q);
    done = run_done && last_run1_q;
    grant_ended_o = '0;
    if (run_done) grant_ended_o = grant1_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_place_q <= '0;
      start_place_q <= '0;
    end else begin
      write_place_q <= write_place_d;
      if (done) start_place_q <= write_place_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid1_q) begin
      left_q <= left_d;
      bad_q <= bad_d;
    end
  end

  // Never full (done_not_full): of every packet in it there is one in u_waiting.
  vireo_fifo #(
    .Width(1),
    .Depth(JobDepth),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_done (
    .clk_i,
    .rst_ni,
    .s_valid_i(done),
    .s_ready_o(done_space),
    .s_data_i(bad_d),
    .m_valid_o(done_valid),
    .m_ready_i(done_ready),
    .m_data_o(done_bad)
  );

  // --- Packets that are read, in order, whether or not they can leave.
  logic [JobsBits-1:0] read_in_q, read_out_q;
  logic [JobsBits:0] unread_d, unread_q;  // packets between them
  logic [JobsBits:0] dones_d, dones_q;    // of these, whose payload is complete
  logic [JobDepth-1:0] has_payload_q, is_response_q;

  always_comb begin
    reads = unread_q != '0 && (!has_payload_q[read_out_q] || dones_q != '0);
    reads_response = is_response_q[read_out_q];
    unread_d = unread_q + (JobsBits + 1)'(ends) - (JobsBits + 1)'(reads);
    dones_d = dones_q + (JobsBits + 1)'(done) - (JobsBits + 1)'(reads && has_payload_q[read_out_q]);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_in_q <= '0;
      read_out_q <= '0;
      unread_q <= '0;
      dones_q <= '0;
    end else begin
      if (ends) read_in_q <= read_in_q + 1'b1;
      if (reads) read_out_q <= read_out_q + 1'b1;
      unread_q <= unread_d;
      dones_q <= dones_d;
    end
  end

  always_ff @(posedge clk_i) if (ends) begin
    has_payload_q[read_in_q] <= job_beats != '0;
    is_response_q[read_in_q] <= job.packet.is_response;
  end

  // --- Packets: decided on in order.
  typedef enum logic [2:0] {
    StWait,   // for a packet and all of its payload
    StSent,   // reports that it is sent
    StStart,  // its first beat is being read
    StPacket,   // outputs the packet
    StFail,   // reports the failure
    StFailSent  // reports the failure to the completer
  } send_e;

  send_e send_d, send_q;
  tx_packet_t packet_d, packet_q;
  aeth_t nak;
  logic decide, release_beats, drop_beats;
  logic send_only;  // a packet of UC or UD: its failure stops the send half
  logic [PlaceBits:0] stored_d, stored_q;  // beats of packets that left, still in the banks
  logic payload_valid_d, payload_valid_q;
  logic stale;        // the packet that waits first
  logic [QpBits-1:0] stopped_qpn;

  assign stopped_qpn = stopped_qpn_i[QpBits-1:0];

  function automatic logic stops(input logic [QpBits-1:0] qpn, input logic is_response);
    return stopped_valid_i && qpn == stopped_qpn && (stopped_all_i || !is_response);
  endfunction

  vireo_stop_marks #(
    .Depth(JobDepth),
    .QpBits(QpBits)
  ) u_marks (
    .clk_i,
    .rst_ni,
    .push_i(ends),
    .push_qpn_i(job.packet.qpn[QpBits-1:0]),
    .push_response_i(job.packet.is_response),
    .pop_i(decide),
    .stopped_valid_i,
    .stopped_all_i,
    .stopped_qpn_i(stopped_qpn),
    .marked_o(stale)
  );

  always_comb begin
    decide = 1'b0;
    release_beats = 1'b0;
    drop_beats = 1'b0;
    send_d = send_q;
    send_only = !waiting.packet.is_response && (waiting.packet.opcode[7:5] == 3'(BthServiceUc) ||
                                                waiting.packet.opcode[7:5] == 3'(BthServiceUd));
    unique case (send_q)
      StWait: begin
        if (waiting_valid && (waiting.beats == '0 || done_valid)) begin
          if ((waiting.beats == '0 || !done_bad) && waiting.packet.reports && !stale) begin
            send_d = StSent;
          end else if (waiting.beats == '0 || !done_bad) begin
            decide = 1'b1;
            release_beats = 1'b1;
            send_d = StStart;
          end else if (stored_q == '0 && !payload_valid_q) begin
            // Dropping moves the read pointer, so nothing before it may remain.
            decide = 1'b1;
            drop_beats = 1'b1;
            // Nobody is told of the failure of a stale one.
            if (stale) send_d = waiting.packet.is_response ? StPacket : StWait;
            else send_d = send_only ? StFailSent : StFail;
          end
        end
      end
      StSent: begin
        // The packet is still the first one that waits.
        if (sent_ready_i) begin
          decide = 1'b1;
          release_beats = 1'b1;
          send_d = StStart;
        end
      end
      StStart: send_d = StPacket;
      StPacket: if (packet_ready_i) send_d = StWait;
      StFail: if (failed_ready_i) send_d = packet_q.is_response ? StPacket : StWait;
      StFailSent: if (sent_ready_i) send_d = StWait;
      default: send_d = StWait;
    endcase
    waiting_ready = decide;
    done_ready = decide && waiting.beats != '0;
  end

  // A response always has an AETH, though a middle one does not send it: if its payload cannot be read, a NAK
  // replaces it. [IBTA vol. 1, 9.7.5.2.2, 9.9.5.2]
  always_comb begin
    nak = unpack_aeth(waiting.packet.extension[8*AethBytes-1:0]);
    nak = aeth_t'({AethSyndromeNakRemoteOperationalError, nak.msn});
    packet_d = '0;
    if (waiting_valid) packet_d = waiting.packet;
    if (drop_beats && waiting.packet.is_response) begin
      packet_d = '0;
      packet_d.qpn = waiting.packet.qpn;
      packet_d.opcode = BthOpcodeRcAcknowledge;
      packet_d.psn = waiting.packet.psn;
      packet_d.extension[8*AethBytes-1:0] = pack_aeth(nak);
      packet_d.is_response = 1'b1;
    end else if (waiting.packet.is_response && waiting.packet.opcode == BthOpcodeRcRdmaReadResponseMiddle) begin
      packet_d.extension = '0;
    end
    packet_d.stale = stale || stops(waiting.packet.qpn[QpBits-1:0], waiting.packet.is_response);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) send_q <= StWait;
    else send_q <= send_d;
  end

  always_ff @(posedge clk_i) begin
    if (send_q == StWait && waiting_valid) packet_q <= packet_d;
    else if (stops(packet_q.qpn[QpBits-1:0], packet_q.is_response)) packet_q.stale <= 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) packets_read_o <= '0;
    else packets_read_o <= 2'(reads && !reads_response) + 2'(drop && !winner_d);
  end

  assign response_ends_o = ends && winner_d;

  assign packet_valid_o = send_q == StPacket;
  assign packet_o = packet_q;
  assign sent_valid_o = send_q == StSent || send_q == StFailSent;
  // UC and UD: without acknowledges from a peer, one is generated for the completer. [IBTA vol. 1, 9.8] A message of
  // which a packet is missing must not complete with success. [IBTA vol. 1, 11.6.2]
  always_comb begin
    sent_o = '{qpn: packet_q.qpn, psn: packet_q.psn, syndrome: 8'(AethSyndromeAckNoCredits), default: '0};
    if (send_q == StFailSent) begin
      sent_o.syndrome = 8'(RdmaErrorQueueDmaError);
      sent_o.status = 8'(IbWcStatusLocQpOpErr);
    end
  end
  assign failed_valid_o = send_q == StFail;
  assign failed_o = '{qpn: packet_q.qpn, event_type: 16'(RdmaEventTypeQpFatal), code: 32'(RdmaErrorQueueDmaError),
                     default: '0};

  // --- Payload: as in vireo_fifo, but packets make beats visible, not writes.
  logic [PlaceBits-1:0] read_place_d, read_place_q;
  logic bank_q;  // that the beat at the output is from
  logic read;
  logic [1:0] bank_write, bank_read;
  logic [PlaceBits-2:0] bank_write_address [2];
  logic [DataBits-1:0] bank_write_data [2], bank_data [2];

  always_comb begin
    read = stored_q != '0 && (!payload_valid_q || payload_ready_i);
    payload_valid_d = read || (payload_valid_q && !payload_ready_i);
    read_place_d = read_place_q + PlaceBits'(read);
    if (drop_beats) read_place_d = read_place_q + PlaceBits'(waiting.beats);
    stored_d = stored_q - (PlaceBits + 1)'(read);
    if (release_beats) stored_d = stored_d + (PlaceBits + 1)'(waiting.beats);
    free_d = free_q + (PlaceBits + 1)'(read);
    if (drop_beats) free_d = free_d + (PlaceBits + 1)'(waiting.beats);
    if (begins) free_d = free_d + (PlaceBits + 1)'(RoomBeats) - (PlaceBits + 1)'(job_beats);
    if (room_given) free_d = free_d - (PlaceBits + 1)'(RoomBeats);
    if (room_unused_i) free_d = free_d + (PlaceBits + 1)'(RoomBeats);
    if (drop) free_d = free_d + (PlaceBits + 1)'(part_beats_q);
    jobs_d = jobs_q + (JobsBits + 1)'(ends) - (JobsBits + 1)'(decide);

    for (int unsigned i = 0; i < 2; i++) begin
      if (write_place_q[0] == 1'(i)) begin
        bank_write[i] = write;
        bank_write_address[i] = write_place_q[PlaceBits-1:1];
        bank_write_data[i] = joined;
      end else begin
        bank_write[i] = write_rest;
        bank_write_address[i] = write_place_q[PlaceBits-1:1] + (PlaceBits - 1)'(write_place_q[0]);
        bank_write_data[i] = rest;
      end
      bank_read[i] = read && read_place_q[0] == 1'(i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_place_q <= '0;
      stored_q <= '0;
      payload_valid_q <= 1'b0;
      free_q <= (PlaceBits + 1)'(Beats);
      jobs_q <= '0;
    end else begin
      read_place_q <= read_place_d;
      stored_q <= stored_d;
      payload_valid_q <= payload_valid_d;
      free_q <= free_d;
      jobs_q <= jobs_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read) bank_q <= read_place_q[0];
  end

  for (genvar i = 0; i < 2; i++) begin : gen_bank
    vireo_ram_1r1w #(
      .Width(DataBits),
      .Depth(Beats / 2)
    ) u_bank (
      .clk_i,
      .write_i(bank_write[i]),
      .write_address_i(bank_write_address[i]),
      .write_data_i(bank_write_data[i]),
      .read_i(bank_read[i]),
      .read_address_i(read_place_q[PlaceBits-1:1]),
      .read_data_o(bank_data[i])
    );
  end

  assign payload_valid_o = payload_valid_q;
  assign payload_data_o = bank_q ? bank_data[1] : bank_data[0];

  if (Reserves) begin : gen_room
    vireo_tx_room #(
      .Beats(Beats),
      .MaxBeats(RoomBeats),
      .Packets(JobDepth)
    ) u_room (
      .clk_i,
      .rst_ni,
      .free_i(free_q),
      .ended_i(2'(decide) + 2'(drop)),
      .used_i(room_used_i),
      .unused_i(room_unused_i),
      .give_o(room_given),
      .room_o,
      .idle_o(room_idle)
    );
  end else begin : gen_no_room
    assign room_given = 1'b0;
    assign room_o = '0;
    assign room_idle = 1'b1;
  end

  assign idle_o = in_valid == '0 && fetch_q == StTake && !part_q && jobs_q == '0 && send_q == StWait && stored_q == '0
               && !payload_valid_q && room_idle;

  // Unused bits.
  logic unused;
  assign unused = ^{train_tag_i, train_bytes_i, room_used_i, stopped_qpn_i};

`ifndef SYNTHESIS
  logic [13:0] part_bytes_q;  // of the packet's jobs so far

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) part_bytes_q <= '0;
    else if (take) part_bytes_q <= part_d ? part_bytes_q + 14'(job.bytes0) + 14'(job.bytes1) : '0;
  end

  assert property (@(posedge clk_i) disable iff (!rst_ni)
                   ends |-> (job.packet.has_inline ? '0 : 14'(job.packet.payload_bytes))
                            == part_bytes_q + 14'(job.bytes0) + 14'(job.bytes1))
  else $error("the runs of a packet are not its payload");
  assert property (@(posedge clk_i) disable iff (!rst_ni) take && !job.drop
                   |-> job.bytes0 != '0 || (job.bytes1 == '0 && !job.more && !part_q))
  else $error("a run is missing");
  assert property (@(posedge clk_i) disable iff (!rst_ni) take && !job.drop && part_q |-> job_beats == part_beats_q)
  else $error("the packet changes from one of its jobs to the next");
  assert property (@(posedge clk_i) disable iff (!rst_ni) job_valid && !job.drop |-> 32'(job_beats) <= Beats)
  else $error("there is never room for the packet");
  if (Reserves) begin : gen_reserves
    assert property (@(posedge clk_i) disable iff (!rst_ni) begins |-> 32'(job_beats) <= RoomBeats)
    else $error("a packet is longer than its room");
    assert property (@(posedge clk_i) disable iff (!rst_ni) job_valid && !job.drop && fetch_q == StTake |-> take)
    else $error("a job waits for room");
    assert property (@(posedge clk_i) disable iff (!rst_ni) 32'(free_q) <= Beats)
    else $error("more beats are free than there are");
  end
  done_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) done |-> done_space);
`endif

endmodule
