// SPDX-License-Identifier: Apache-2.0

// Parts the packets of a stream from the PCI Express block into descriptor and payload, and moves the payload to the
// lanes of its address. The first word of both descriptors begins with an address.
//
// The owner looks at a descriptor (`look`) and says in the same cycle whether it wants its payload; one that it does
// not want is dropped, and one of no double words takes no beat.
module vireo_pcie_unpack #(
  parameter int unsigned DataBits,      // 64, 128, 256 or 512
  parameter int unsigned HeaderDwords,  // 3 or 4
  parameter int unsigned HeaderUserBits,
  localparam int unsigned LaneBits = $clog2(DataBits / 32),
  localparam int unsigned HeaderBits = 32 * HeaderDwords
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      s_valid_i,
  output logic                      s_ready_o,
  input  logic [DataBits-1:0]       s_data_i,
  input  logic [DataBits/32-1:0]    s_keep_i,
  input  logic                      s_last_i,
  input  logic [HeaderUserBits-1:0] s_user_i,     // valid in a packet's first beat
  input  logic                      s_damaged_i,  // valid in its last beat

  output logic [HeaderBits-1:0]     look_o,
  input  logic                      wanted_i,
  output logic                      header_valid_o,
  input  logic                      header_ready_i,
  output logic [HeaderBits-1:0]     header_o,
  output logic [HeaderUserBits-1:0] header_user_o,
  output logic                      header_payload_o,  // beats of payload come

  output logic                      payload_valid_o,
  input  logic                      payload_ready_i,
  output logic [DataBits-1:0]       payload_o,
  output logic                      payload_last_o,
  output logic                      payload_damaged_o,

  output logic                      idle_o             // no packet is here or half here
);

  localparam int unsigned Lanes = DataBits / 32;
  // The descriptor fills this many beats; what it has beyond is followed by payload in the same beat.
  localparam int unsigned FullBeats = HeaderDwords / Lanes;
  localparam int unsigned Rest = HeaderDwords % Lanes;
  // The beat in which it is complete: the first one, or at 64 bits the second one.
  localparam int unsigned LastBeat = Rest == 0 ? FullBeats - 1 : FullBeats;

  logic valid, ready, last, damaged;
  logic [DataBits-1:0] data;
  logic [Lanes-1:0] keep;
  logic [HeaderUserBits-1:0] user;
  logic [LaneBits-1:0] end_lane;

  vireo_slice #(.Width(DataBits + Lanes + 2 + HeaderUserBits)) u_input (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i({s_damaged_i, s_last_i, s_user_i, s_keep_i, s_data_i}),
    .m_valid_o(valid),
    .m_ready_i(ready),
    .m_data_o({damaged, last, user, keep, data})
  );

  always_comb begin
    end_lane = '0;
    for (int unsigned lane = 0; lane < Lanes; lane++) if (keep[lane]) end_lane = LaneBits'(lane);
  end

  logic begun_q;  // the descriptor
  logic payload_q, wanted_q;
  logic [LaneBits-1:0] shift_q;
  logic [HeaderBits-1:0] header;
  logic [HeaderUserBits-1:0] header_user;
  logic [LaneBits-1:0] lane, shift, payload_end;
  logic complete, has_payload, feed, skip, header_room, align_ready, fire;

  if (LastBeat > 0) begin : gen_two_beats
    logic [DataBits-1:0] data_q;
    logic [HeaderUserBits-1:0] user_q;
    always_ff @(posedge clk_i) begin
      if (fire && !payload_q && !begun_q) begin
        data_q <= data;
        user_q <= user;
      end
    end
    assign header = HeaderBits'({data, data_q});
    assign header_user = user_q;
    assign complete = !payload_q && begun_q;
  end else begin : gen_one_beat
    assign header = HeaderBits'(data);
    assign header_user = user;
    assign complete = !payload_q;
  end

  always_comb begin
    has_payload = Rest == 0 ? !last : !(last && 32'(end_lane) < Rest);
    lane = LaneBits'(header[2+:LaneBits]);
    shift = complete ? lane - LaneBits'(Rest) : shift_q;
    // The first payload is in a later beat than the descriptor's end.
    skip = !payload_q && (LaneBits + 1)'(Rest) + {1'b0, shift} >= (LaneBits + 1)'(Lanes);
  end

  // Whether this beat has payload that is wanted.
  assign feed = payload_q ? wanted_q : complete && Rest != 0 && has_payload && wanted_i;
  assign ready = (!complete || header_room) && (!feed || align_ready);
  assign fire = valid && ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      payload_q <= 1'b0;
    end else if (fire) begin
      begun_q <= !last && !complete && !payload_q;
      payload_q <= !last && (complete || payload_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (fire && complete) begin
      wanted_q <= wanted_i;
      shift_q <= shift;
    end
  end

  assign look_o = header;

  vireo_slice #(.Width(HeaderBits + HeaderUserBits + 1)) u_header (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid && complete && (!feed || align_ready)),
    .s_ready_o(header_room),
    .s_data_i({has_payload && wanted_i, header_user, header}),
    .m_valid_o(header_valid_o),
    .m_ready_i(header_ready_i),
    .m_data_o({header_payload_o, header_user_o, header_o})
  );

  vireo_pcie_align #(.DataBits(DataBits)) u_align (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid && feed && (!complete || header_room)),
    .s_ready_o(align_ready),
    .s_data_i(data),
    .s_last_i(last),
    .s_end_i(end_lane),
    .s_shift_i(shift),
    .s_skip_i(skip),
    .s_mark_i(damaged),
    .m_valid_o(payload_valid_o),
    .m_ready_i(payload_ready_i),
    .m_data_o(payload_o),
    .m_last_o(payload_last_o),
    .m_end_o(payload_end),
    .m_mark_o(payload_damaged_o)
  );

  logic unused;
  assign unused = ^payload_end;

  assign idle_o = !valid && !payload_q && !begun_q && !header_valid_o && !payload_valid_o;

endmodule
