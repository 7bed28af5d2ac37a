// SPDX-License-Identifier: Apache-2.0

// Merges the transactions of several streams into one, round robin. It decides once per transaction, in the cycle in
// which the transaction's first beat leaves its input slice, and then stays with that input until the beat with last.
// Of the inputs that have a beat in that cycle, the first above the previous winner wins, counting
// upwards and around; after reset, input 0 comes first. Requests of one beat have last tied to 1.
//
// A beat passes in 2 cycles: 1 in the slice of its input, 1 in the slice of the output. Transactions follow each other
// without a gap, also those of one input. An input that pauses inside its transaction makes the others wait.
module vireo_arb_rr #(
  parameter int unsigned Inputs,  // 2 or more
  parameter int unsigned Width,
  // Bits that an input may set; its others are 0 and take no register and no multiplexer.
  parameter logic [Inputs-1:0][Width-1:0] Driven = '1,
  // Of an input and at the output a beat passes in every second cycle only, and half of the registers are saved: for wide
  // beats whose consumer takes longer.
  parameter bit HalfRate = 1'b0,
  localparam int unsigned IndexBits = $clog2(Inputs)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic [Inputs-1:0]             s_valid_i,
  output logic [Inputs-1:0]             s_ready_o,
  input  logic [Inputs-1:0][Width-1:0]  s_data_i,
  input  logic [Inputs-1:0]             s_last_i,
  output logic                          m_valid_o,
  input  logic                          m_ready_i,
  output logic [Width-1:0]              m_data_o,
  output logic                          m_last_o,
  output logic [IndexBits-1:0]          m_index_o,  // the input that a beat came from
  output logic                          idle_o      // it holds no beat
);

  if (Inputs < 2) $fatal(1, "Inputs is less than 2");

  localparam int unsigned SliceDepth = HalfRate ? 1 : 2;

  logic [Inputs-1:0] valid, ready, last;
  // Unpacked: of a packed array Verilator moves all beats into one word, and out of it, in every cycle.
  logic [Width:0] data [Inputs];  // with last above

  for (genvar i = 0; i < Inputs; i++) begin : gen_input
    logic [Width:0] s_data;
    assign s_data = {s_last_i[i], s_data_i[i] & Driven[i]};

    vireo_slice #(.Width(Width + 1), .Depth(SliceDepth)) u_slice (
      .clk_i, .rst_ni,
      .s_valid_i(s_valid_i[i]), .s_ready_o(s_ready_o[i]), .s_data_i(s_data),
      .m_valid_o(valid[i]), .m_ready_i(ready[i]), .m_data_o(data[i])
    );

    assign last[i] = data[i][Width];
  end

  logic busy_d, busy_q;                          // between the first and the last beat of a transaction
  logic [IndexBits-1:0] winner_d, winner_q;      // of the current transaction, else of the previous one
  logic [IndexBits-1:0] pick;                    // the next winner
  logic move, space;
  logic [Inputs-1:0] shown;                      // one of them
  logic [Width:0] winner_data;

  vireo_rr_pick #(.Inputs(Inputs)) u_pick (.requests_i(valid), .last_i(winner_q), .pick_o(pick));

  always_comb begin
    winner_d = winner_q;
    if (!busy_q && valid != '0) winner_d = pick;
    move = valid[winner_d] && space;
    // Without a move that of input 0, not zero: a mask over the multiplexer would cost as many LUTs again. Each bit is a
    // sum of products: of a chain of choices by index Yosys makes three times as many LUTs.
    for (int unsigned i = 0; i < Inputs; i++) shown[i] = move ? winner_d == IndexBits'(i) : i == 0;
    winner_data = '0;
    for (int unsigned i = 0; i < Inputs; i++) begin
      if (shown[i]) winner_data |= data[i];
    end
    for (int unsigned i = 0; i < Inputs; i++) ready[i] = space && winner_d == IndexBits'(i);
    busy_d = busy_q;
    if (move) busy_d = !last[winner_d];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      winner_q <= IndexBits'(Inputs - 1);
    end else begin
      busy_q <= busy_d;
      if (move) winner_q <= winner_d;
    end
  end

  vireo_slice #(.Width(IndexBits + 1 + Width), .Depth(SliceDepth)) u_output (
    .clk_i, .rst_ni,
    .s_valid_i(valid[winner_d]), .s_ready_o(space), .s_data_i({winner_d, winner_data}),
    .m_valid_o, .m_ready_i, .m_data_o({m_index_o, m_last_o, m_data_o})
  );

  assign idle_o = valid == '0 && !m_valid_o;

`ifndef SYNTHESIS
  for (genvar i = 0; i < Inputs; i++) begin : gen_driven
    only_driven: assert property (@(posedge clk_i) disable iff (!rst_ni)
      s_valid_i[i] |-> (s_data_i[i] & ~Driven[i]) == '0);
  end
`endif

endmodule
