// SPDX-License-Identifier: Apache-2.0

// Gives each client of tx_gather room for the packets that it will begin, before it begins them: a place among the packets
// that wait, and beats of the payload buffer for the longest packet. What a packet does not need of them returns with its
// first job. So a client that has room never waits for the wire afterwards.
//
// A client always has room for Ahead packets, if there is any: it begins one in every second cycle without waiting.
module vireo_tx_room #(
  parameter int unsigned Beats,     // of the payload buffer
  parameter int unsigned MaxBeats,  // of the longest packet; three times as many are not more than Beats
  parameter int unsigned Packets,   // that may wait
  localparam int unsigned Clients = 2,
  localparam int unsigned BeatsBits = $clog2(Beats) + 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [BeatsBits-1:0] free_i,    // beats that belong to no packet and to no room
  input  logic [1:0]           ended_i,   // packets that do not wait any more
  input  logic [Clients-1:0]   used_i,    // pulses: the client begins a packet
  input  logic                 unused_i,  // pulse: a packet that was begun has no job
  output logic                 give_o,    // room is given: MaxBeats less are free
  output logic [Clients-1:0]   room_o,    // pulses, one cycle later: the client has room for one more packet
  output logic                 idle_o     // every client has room for Ahead packets
);

  localparam int unsigned Ahead = 2;
  localparam int unsigned AheadBits = $clog2(Ahead + 1);
  localparam int unsigned PacketsBits = $clog2(Packets) + 1;

  logic [Clients-1:0][AheadBits-1:0] given_d, given_q;  // and not used
  logic [PacketsBits-1:0] packets_d, packets_q;         // that may wait and have no place yet
  logic [Clients-1:0] wants, give, room_q;
  logic last_q;  // client that had the last turn

  always_comb begin
    for (int unsigned i = 0; i < Clients; i++) begin
      given_d[i] = given_q[i] - AheadBits'(used_i[i]);
      wants[i] = given_d[i] != AheadBits'(Ahead);
    end
    give = '0;
    if (free_i >= BeatsBits'(MaxBeats) && packets_q != '0) begin
      give = wants;
      if (wants == '1) give[last_q] = 1'b0;
    end
    for (int unsigned i = 0; i < Clients; i++) given_d[i] = given_d[i] + AheadBits'(give[i]);
    packets_d = packets_q - PacketsBits'(give_o) + PacketsBits'(ended_i) + PacketsBits'(unused_i);
  end

  assign give_o = give != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      given_q <= '0;
      packets_q <= PacketsBits'(Packets);
      room_q <= '0;
      last_q <= 1'b1;
    end else begin
      given_q <= given_d;
      packets_q <= packets_d;
      room_q <= give;
      if (give_o) last_q <= give[1];
    end
  end

  assign room_o = room_q;
  assign idle_o = room_q == '0 && given_q == {Clients{AheadBits'(Ahead)}};

`ifndef SYNTHESIS
  // Otherwise one that begins nothing could have all of it.
  initial assert (MaxBeats * (Ahead * (Clients - 1) + 1) <= Beats) else $error("the buffer is too small");
  for (genvar i = 0; i < Clients; i++) begin : gen_client
    assert property (@(posedge clk_i) disable iff (!rst_ni) used_i[i] |-> given_q[i] != '0)
    else $error("a packet is begun without room");
  end
  assert property (@(posedge clk_i) disable iff (!rst_ni) 32'(packets_q) <= Packets)
  else $error("more places are free than there are");
`endif

endmodule
