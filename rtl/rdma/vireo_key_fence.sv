// SPDX-License-Identifier: Apache-2.0

// Orders changes of the table of memory regions against the accesses that were granted before: it counts granted
// accesses until they end, and says which have. Whoever changed a region, waits for what was begun with it; nobody else
// does. [docs/decisions/0019]
//
// Accesses have a side (key_side_e) and are of its current generation. A next one begins when somebody waits for the
// current one and the one before has ended, so two counters per side are enough, whoever waits and how many. Who waits
// keeps the number of the generation in which it began to: it is passed when it is neither the current one, nor the one
// before that has not ended.
module vireo_key_fence
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::key_generation_passed;
#(
  parameter int unsigned Holders,
  parameter logic [Holders-1:0] HolderSides,  // key_side_e of the accesses that each reports
  localparam int unsigned Sides = 2
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  input  logic [Sides-1:0]            taken_i,    // pulse: a check is granted, as far as is known
  input  memory_grant_t [Sides-1:0]   refused_i,  // pulse: it is not, so it ends
  input  memory_grant_t [Holders-1:0] ended_i,    // pulses
  input  logic [Sides-1:0]            waits_i,    // somebody waits for the current generation
  input  logic                        close_i,    // pulse: fence_o is for what was granted up to now

  output logic [Sides-1:0]            epoch_o,    // of a check that is granted now
  output logic                        fence_o,    // some granted up to the last close_i have not ended
  output key_fence_t                  state_o
);

  localparam int unsigned CountBits = 16;
  localparam int unsigned NumberBits = $bits(state_o.sent);

  logic [Sides-1:0][NumberBits-1:0] generation_d, generation_q, closing_d, closing_q;
  logic [Sides-1:0][1:0][CountBits-1:0] granted_d, granted_q;
  logic [Sides-1:0] open, advances, wanted_d, wanted_q, passed;
  logic closes_d, closes_q;

  always_comb begin
    granted_d = granted_q;
    for (int unsigned s = 0; s < Sides; s++) begin
      epoch_o[s] = generation_q[s][0];
      open[s] = granted_q[s][!epoch_o[s]] != '0;
      for (int unsigned e = 0; e < 2; e++) begin
        granted_d[s][e] = granted_q[s][e] + CountBits'(taken_i[s] && epoch_o[s] == 1'(e))
                        - CountBits'(refused_i[s].valid && refused_i[s].epoch == 1'(e));
        for (int unsigned i = 0; i < Holders; i++) begin
          granted_d[s][e] = granted_d[s][e]
                          - CountBits'(HolderSides[i] == 1'(s) && ended_i[i].valid && ended_i[i].epoch == 1'(e));
        end
      end
      wanted_d[s] = (wanted_q[s] || waits_i[s] || close_i) && open[s];
      advances[s] = (wanted_q[s] || waits_i[s] || close_i) && !open[s];
      generation_d[s] = generation_q[s] + NumberBits'(advances[s]);
      passed[s] = key_generation_passed(closing_q[s], generation_q[s], open[s]);
      closing_d[s] = close_i ? generation_q[s] : closing_q[s];
    end
    closes_d = close_i || (closes_q && passed != '1);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      generation_q <= '0;
      granted_q <= '0;
      wanted_q <= '0;
      closes_q <= 1'b0;
    end else begin
      generation_q <= generation_d;
      granted_q <= granted_d;
      wanted_q <= wanted_d;
      closes_q <= closes_d;
    end
  end

  always_ff @(posedge clk_i) closing_q <= closing_d;

  assign fence_o = closes_q && !(&passed);
  assign state_o = '{sent: generation_q[KeySideSent], sent_open: open[KeySideSent],
                     received: generation_q[KeySideReceived], received_open: open[KeySideReceived]};

`ifndef SYNTHESIS
  for (genvar s = 0; s < Sides; s++) begin : gen_side
    for (genvar e = 0; e < 2; e++) begin : gen_epoch
      not_below: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                  granted_q[s][e] == '0 |-> granted_d[s][e] <= CountBits'(1))
      else $error("an access ends that was not granted");
      not_above: assert property (@(posedge clk_i) disable iff (!rst_ni) granted_q[s][e] != '1);
    end
  end
`endif

endmodule
