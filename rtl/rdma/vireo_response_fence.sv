// SPDX-License-Identifier: Apache-2.0

// Tells when the responses to READs that were accepted before a certain cycle are in memory, while others are received. A
// queue pair has changed its state, so the responder accepts no more of its responses from its next turn on; what it has
// accepted is in the receive scatter's places, which end in order. So an epoch passes when the responder was between two
// frames once, and the places of before have ended. Each start has an epoch of its own, or shares the next one with
// others: traffic, and other queue pairs, cannot defer it.
module vireo_response_fence #(
  parameter int unsigned Places,    // of the receive scatter
  parameter int unsigned CountBits  // epochs are numbered modulo 2 ** CountBits
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,              // the state was broadcast two cycles ago, or earlier
  input  logic                 responder_settled_i,  // level: it is between two frames
  input  logic                 place_begins_i,       // pulses
  input  logic                 place_ends_i,
  input  logic                 place_waits_i,        // a place is begun, but its pulse is still to come, or comes now
  output logic [CountBits-1:0] needed_o,             // the epoch that a start in this cycle needs
  output logic [CountBits-1:0] passed_o,             // the last epoch that has passed
  output logic                 changes_o,            // in the cycle before passed_o changes
  output logic                 busy_o
);

  typedef enum logic [1:0] {StIdle, StSettle, StPlaces} state_e;
  state_e state_d, state_q;
  logic again_d, again_q;  // an epoch was started meanwhile
  logic [CountBits-1:0] passed_q;
  logic fence_start, places_busy;

  always_comb begin
    state_d = state_q;
    again_d = again_q || (start_i && state_q != StIdle);
    fence_start = 1'b0;
    changes_o = 1'b0;
    unique case (state_q)
      StIdle: if (start_i) state_d = StSettle;
      StSettle: if (responder_settled_i) begin
        fence_start = 1'b1;
        state_d = StPlaces;
      end
      StPlaces: if (!places_busy) begin
        changes_o = 1'b1;
        state_d = again_d ? StSettle : StIdle;
        again_d = 1'b0;
      end
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      again_q <= 1'b0;
      passed_q <= '0;
    end else begin
      state_q <= state_d;
      again_q <= again_d;
      passed_q <= passed_q + CountBits'(changes_o);
    end
  end

  vireo_fence #(.CountBits($clog2(Places + 4))) u_places (
    .clk_i, .rst_ni, .begin_i(place_begins_i), .end_i({1'b0, place_ends_i}), .start_i(fence_start),
    .waits_i({1'b0, place_waits_i}), .busy_o(places_busy)
  );

  assign needed_o = passed_q + (state_q == StIdle ? CountBits'(1) : CountBits'(2));
  assign passed_o = passed_q;
  assign busy_o = state_q != StIdle;

endmodule
