// SPDX-License-Identifier: Apache-2.0

// Commands and events of spec/board.toml on one side, the pins of vireo_nic and vireo_control_processor on the other.
// The device behind it has its own clock, which runs only while step_o is 1: for one cycle at a time, at most every
// second cycle of clk_i. Inputs of the device change only while it stands still, and its outputs are registers: so an
// output is sent at leisure before the cycle in which it is valid ends.
//
// Its timing in cycles of the device is that of sim/device/axi_bridge.h, rules R1 to T3.
module vireo_bridge
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned HasProcessor,  // 1: it is there
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  // The link.
  input  logic                      hello_i,
  input  logic                      command_valid_i,
  output logic                      command_ready_o,
  input  logic [7:0]                command_data_i,
  output logic                      event_valid_o,
  input  logic                      event_ready_i,
  output logic [7:0]                event_data_o,

  // The device's clock and reset.
  output logic                      step_o,
  output logic                      device_rst_no,

  // vireo_nic.
  output logic [63:0]               time_ns_o,
  output board_controls_t           controls_o,
  output logic                      bar_valid_o,
  output board_bar_t                bar_o,
  input  logic                      bar_read_valid_i,
  input  logic [63:0]               bar_read_data_i,
  input  logic                      arvalid_i,
  input  logic [TagBits-1:0]        arid_i,
  input  logic [63:0]               araddr_i,
  input  logic [BurstBytesBits-1:0] aruser_i,
  output logic                      rvalid_o,
  output logic [TagBits-1:0]        rid_o,
  output logic [DataBits-1:0]       rdata_o,
  output logic [1:0]                rresp_o,
  output logic                      rlast_o,
  input  logic                      awvalid_i,
  output logic                      awready_o,
  input  logic [63:0]               awaddr_i,
  input  logic [7:0]                awlen_i,
  input  logic [BurstBytesBits-1:0] awuser_i,
  input  logic                      wvalid_i,
  output logic                      wready_o,
  input  logic [DataBits-1:0]       wdata_i,
  input  logic                      wlast_i,
  output logic                      bvalid_o,
  output logic [1:0]                bresp_o,
  input  logic                      msix_valid_i,
  input  logic [15:0]               msix_vector_i,
  input  logic                      tvalid_i,
  output logic                      tready_o,
  input  logic [DataBits-1:0]       tdata_i,
  input  logic [DataBits/8-1:0]     tkeep_i,
  input  logic                      tlast_i,
  output logic                      rx_valid_o,
  output logic [DataBits-1:0]       rx_data_o,
  output logic [DataBits/8-1:0]     rx_keep_o,
  output logic                      rx_last_o,
  output logic                      rx_error_o,
  output logic                      csr_valid_o,
  output board_csr_t                csr_o,
  input  logic                      csr_read_valid_i,
  input  logic [31:0]               csr_read_data_i,
  input  logic                      firmware_interrupt_i,
  input  logic                      idle_i,
  input  logic [63:0]               deadline_ns_i,

  // vireo_control_processor; without one: no access, and it waits.
  output logic                      load_valid_o,
  output board_load_t               load_o,
  output logic                      start_o,            // pulse
  input  logic                      access_valid_i,     // it accesses a register in this cycle
  input  board_csr_t                access_i,
  input  logic                      console_valid_i,
  input  logic [7:0]                console_data_i,
  input  logic                      processor_waiting_i,
  input  logic [7:0]                processor_failure_i
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned NsPerCycle = 1_000_000 / Config.core_clock_khz;
  localparam int unsigned ResetSteps = 16;
  // A frame waits for room for the longest one and for all beats that may be on their way (rule T1).
  localparam int unsigned TransmitReserve = 11;
  localparam logic [15:0] TransmitThreshold =
      16'((Config.max_frame_bytes + BeatBytes - 1) / BeatBytes + TransmitReserve);
  localparam int unsigned ArgumentsMax = BoardBarBytes;
  localparam int unsigned EventMax = 1 + BoardHelloBytes;

  if (DataBits != 64) $fatal(1, "beats on the link have 8 bytes");
  if (1_000_000 % Config.core_clock_khz != 0) $fatal(1, "a cycle is no whole number of ns");

  // FNV-1a over the parameters, the first one first. [RFC 9923]
  function automatic logic [31:0] config_hash();
    logic [$bits(config_t)-1:0] bits;
    logic [31:0] word;
    bits = Config;
    config_hash = 32'h811c9dc5;
    for (int i = $bits(config_t) / 32 - 1; i >= 0; --i) begin
      word = bits[32*i+:32];
      for (int k = 0; k < 4; ++k) config_hash = (config_hash ^ {24'b0, word[8*k+:8]}) * 32'h01000193;
    end
  endfunction
  localparam board_hello_t Hello = '{
    magic: BoardMagic, version: BoardVersion, has_processor: 8'(HasProcessor), reserved: '0, config_hash: config_hash()
  };

  typedef enum logic [3:0] {
    StCommand,    // its number
    StArguments,
    StBeat,       // of read_beats or frame_beats
    StPush,
    StLook,       // at the outputs of a cycle
    StStep,       // and then run it
    StEvent,      // send event_q, then back
    StReset,
    StHello,
    StDead        // after an unknown command
  } state_e;

  state_e state_q;

  // --- Commands ------------------------------------------------------------------------------------------------------

  board_command_e command_q;
  logic [3:0] arguments_left_q;
  logic [7:0] beats_left_q;
  // verilator lint_off UNUSEDSIGNAL
  logic [8*ArgumentsMax-1:0] arguments_q;  // of a beat the upper 8 bytes
  board_read_beats_t read_beats_q;         // without count, which beats_left_q counts down
  board_frame_beats_t frame_beats_q;
  // verilator lint_on UNUSEDSIGNAL
  logic take;
  logic [8*ArgumentsMax-1:0] arguments;

  assign command_ready_o = state_q inside {StCommand, StArguments, StBeat, StDead};
  assign take = command_valid_i && command_ready_o;
  // Bytes enter at the top: with the last one, the first is at the bottom of the last arguments_bytes.
  assign arguments = {command_data_i, arguments_q[8*ArgumentsMax-1:8]};
  board_credits_t credits;
  board_read_beats_t read_beats;
  board_frame_beats_t frame_beats;
  assign credits = arguments[8*ArgumentsMax-1-:8*BoardCreditsBytes];
  assign read_beats = arguments[8*ArgumentsMax-1-:8*BoardReadBeatsBytes];
  assign frame_beats = arguments[8*ArgumentsMax-1-:8*BoardFrameBeatsBytes];

  function automatic logic [3:0] arguments_of(input logic [7:0] command);
    unique case (command)
      BoardCommandRun: return 4'(BoardRunBytes);
      BoardCommandTime: return 4'(BoardTimeBytes);
      BoardCommandControls: return 4'(BoardControlsBytes);
      BoardCommandBar: return 4'(BoardBarBytes);
      BoardCommandCsr: return 4'(BoardCsrBytes);
      BoardCommandCredits: return 4'(BoardCreditsBytes);
      BoardCommandReadBeats: return 4'(BoardReadBeatsBytes);
      BoardCommandFrameBeats: return 4'(BoardFrameBeatsBytes);
      BoardCommandLoad: return 4'(BoardLoadBytes);
      default: return 4'd0;
    endcase
  endfunction
  function automatic logic is_known(input logic [7:0] command);
    return command >= BoardCommandReset && command <= BoardCommandAdmit;
  endfunction

  // --- The device's inputs -------------------------------------------------------------------------------------------

  logic bar_valid_q, csr_valid_q, refuse_q, admit_q, answer_write_q;
  board_bar_t bar_q;
  board_csr_t csr_q;
  logic [15:0] write_credits_q, transmit_credits_q;
  logic [15:0] open_writes_q;  // whose address was accepted, and whose last beat was not
  logic interrupt_q;           // as reported
  logic is_transmitting_q;
  logic device_rst_nq;

  assign device_rst_no = device_rst_nq;
  assign bar_valid_o = bar_valid_q;
  assign bar_o = bar_q;
  assign csr_valid_o = csr_valid_q;
  assign csr_o = csr_q;
  assign awready_o = awvalid_i && write_credits_q > {8'b0, awlen_i};
  assign wready_o = open_writes_q != '0;
  assign bvalid_o = answer_write_q;
  assign bresp_o = refuse_q ? AxiRespSlverr : AxiRespOkay;
  assign tready_o = transmit_credits_q >= TransmitThreshold;

  typedef struct packed {
    logic [TagBits-1:0] id;
    logic [1:0] resp;
    logic last;
    logic [DataBits-1:0] data;
  } read_beat_t;
  typedef struct packed {
    logic error;
    logic last;
    logic [BeatBytes-1:0] keep;
    logic [DataBits-1:0] data;
  } frame_beat_t;
  read_beat_t read_in, read_out;
  frame_beat_t frame_in, frame_out;
  logic read_push, frame_push, is_last_beat;
  // verilator lint_off UNUSEDSIGNAL
  logic read_ready, frame_ready;  // the host sends no more than board_beats_max
  // verilator lint_on UNUSEDSIGNAL

  assign is_last_beat = beats_left_q == 8'd1;
  assign read_push = state_q == StPush && command_q == BoardCommandReadBeats;
  assign frame_push = state_q == StPush && command_q == BoardCommandFrameBeats;
  // The beat's bytes are the upper ones.
  assign read_in = '{
    id: read_beats_q.tag[TagBits-1:0], resp: read_beats_q.resp, last: read_beats_q.last && is_last_beat,
    data: arguments_q[8*ArgumentsMax-1-:64]
  };
  assign frame_in = '{
    error: frame_beats_q.error && is_last_beat, last: frame_beats_q.last && is_last_beat,
    keep: is_last_beat ? frame_beats_q.keep : '1, data: arguments_q[8*ArgumentsMax-1-:64]
  };
  assign {rid_o, rresp_o, rlast_o, rdata_o} = read_out;
  assign {rx_error_o, rx_last_o, rx_keep_o, rx_data_o} = frame_out;

  vireo_fifo #(
    .Width($bits(read_beat_t)),
    .Depth(32'(BoardBeatsMax))
  ) u_read_beats (
    .clk_i,
    .rst_ni(rst_ni && state_q != StReset),
    .s_valid_i(read_push),
    .s_ready_o(read_ready),
    .s_data_i(read_in),
    .m_valid_o(rvalid_o),
    .m_ready_i(step_o),
    .m_data_o(read_out)
  );
  vireo_fifo #(
    .Width($bits(frame_beat_t)),
    .Depth(32'(BoardBeatsMax))
  ) u_frame_beats (
    .clk_i,
    .rst_ni(rst_ni && state_q != StReset),
    .s_valid_i(frame_push),
    .s_ready_o(frame_ready),
    .s_data_i(frame_in),
    .m_valid_o(rx_valid_o),
    .m_ready_i(step_o),
    .m_data_o(frame_out)
  );

  // --- A cycle of the device -------------------------------------------------------------------------------------------

  // What is to be sent before a cycle ends, in the order of board_event_e.
  typedef enum logic [3:0] {
    SayBar,
    SayCsr,
    SayInterrupt,
    SayRead,
    SayWriteBeat,
    SayWriteStart,
    SayMsix,
    SayTransmit,
    SayConsole,
    SayNothing
  } say_e;
  localparam int unsigned Says = 32'(SayNothing);

  logic [Says-1:0] due, said_q;
  say_e say;
  logic [15:0] cycles_q, limit_q;  // run so far, and at most
  logic stopping_q, stop_q;        // the run ends after this cycle; now
  logic announced_q;               // the access in this cycle
  logic is_quiet, must_wait, ends;
  logic [3:0] transmit_bytes;

  assign due[SayBar] = bar_read_valid_i;
  assign due[SayCsr] = csr_read_valid_i;
  assign due[SayInterrupt] = firmware_interrupt_i != interrupt_q;
  assign due[SayRead] = arvalid_i;
  assign due[SayWriteBeat] = wvalid_i && wready_o;
  assign due[SayWriteStart] = awready_o;
  assign due[SayMsix] = msix_valid_i;
  assign due[SayTransmit] = tvalid_i;
  assign due[SayConsole] = console_valid_i;

  always_comb begin
    say = SayNothing;
    for (int i = Says - 1; i >= 0; --i) if (due[i] && !said_q[i]) say = say_e'(i[3:0]);
    transmit_bytes = '0;
    for (int i = 0; i < BeatBytes; ++i) transmit_bytes += 4'(tkeep_i[i]);
  end

  assign is_quiet = idle_i && due == '0 && !awvalid_i && !wvalid_i && !rvalid_o && !rx_valid_o && !answer_write_q &&
                    !bar_valid_q && !csr_valid_q && !is_transmitting_q && !access_valid_i &&
                    processor_waiting_i && !firmware_interrupt_i;
  assign must_wait = access_valid_i && !admit_q;
  assign ends = stop_q || cycles_q == limit_q || must_wait || (cycles_q != '0 && is_quiet);
  assign step_o = state_q == StStep || (state_q == StReset && cycles_q[0]);

  // --- Events ----------------------------------------------------------------------------------------------------------

  localparam int unsigned EventBits = 8 * EventMax;
  logic [EventBits-1:0] event_q;  // the next byte at the bottom
  logic [3:0] event_left_q;       // bytes
  state_e after_event_q;
  logic [EventBits-1:0] said;     // the event of `say`
  logic [3:0] said_bytes;
  logic said_stops;

  assign event_valid_o = state_q == StEvent;
  assign event_data_o = event_q[7:0];

  board_read_t read;
  board_write_t write;
  board_transmit_t transmit;
  board_ran_t ran;

  assign read = '{address: araddr_i, length: 16'(aruser_i), tag: 16'(arid_i)};
  assign write = '{address: awaddr_i, length: 16'(awuser_i)};
  assign transmit = '{length: 7'(transmit_bytes), last: tlast_i, data: tdata_i};
  assign ran = '{
    cycles: cycles_q, is_quiet: is_quiet, is_waiting: processor_waiting_i, reserved: '0, failure: processor_failure_i, deadline_ns: deadline_ns_i
  };

  always_comb begin
    said_stops = 1'b1;
    unique case (say)
      SayBar: begin
        said = EventBits'({bar_read_data_i, BoardEventBarAnswer});
        said_bytes = 4'(1 + BoardBarAnswerBytes);
      end
      SayCsr: begin
        said = EventBits'({csr_read_data_i, BoardEventCsrAnswer});
        said_bytes = 4'(1 + BoardCsrAnswerBytes);
      end
      SayInterrupt: begin
        said = EventBits'({7'b0, firmware_interrupt_i, BoardEventInterrupt});
        said_bytes = 4'(1 + BoardInterruptBytes);
      end
      SayRead: begin
        said = EventBits'({read, BoardEventRead});
        said_bytes = 4'(1 + BoardReadBytes);
      end
      SayWriteBeat: begin
        said = EventBits'({wdata_i, BoardEventWriteBeat});
        said_bytes = 4'(1 + BeatBytes);
        said_stops = wlast_i;
      end
      SayWriteStart: begin
        said = EventBits'({write, BoardEventWriteStart});
        said_bytes = 4'(1 + BoardWriteBytes);
        said_stops = 1'b0;
      end
      SayMsix: begin
        said = EventBits'({msix_vector_i, BoardEventMsix});
        said_bytes = 4'(1 + BoardMsixBytes);
      end
      SayTransmit: begin
        said = EventBits'({transmit, BoardEventTransmit});
        said_bytes = 4'(1 + BoardTransmitBytes);
        said_stops = tlast_i;
      end
      default: begin
        said = EventBits'({console_data_i, BoardEventConsole});
        said_bytes = 4'd2;
        said_stops = 1'b0;
      end
    endcase
  end

  // --- Execution -------------------------------------------------------------------------------------------------------

  always_ff @(posedge clk_i) begin
    load_valid_o <= 1'b0;
    start_o <= 1'b0;

    if (take) arguments_q <= arguments;
    if (take && state_q != StCommand) arguments_left_q <= arguments_left_q - 1'b1;
    unique case (state_q)
      StCommand: begin
        if (take) begin
          command_q <= board_command_e'(command_data_i);
          arguments_left_q <= arguments_of(command_data_i);
          if (arguments_of(command_data_i) != '0) state_q <= StArguments;
          unique case (command_data_i)
            BoardCommandReset: begin
              state_q <= StReset;
              cycles_q <= '0;
            end
            BoardCommandRefuse: refuse_q <= 1'b1;
            BoardCommandAdmit: admit_q <= 1'b1;
            BoardCommandStart: start_o <= 1'b1;
            default: ;
          endcase
          if (!is_known(command_data_i)) begin
            event_q <= EventBits'({command_data_i, BoardEventRefused});
            event_left_q <= 4'd2;
            after_event_q <= StDead;
            state_q <= StEvent;
          end
        end
      end
      StArguments: begin
        if (take && arguments_left_q == 4'd1) begin
          state_q <= StCommand;
          unique case (command_q)
            BoardCommandRun: begin
              limit_q <= arguments[8*ArgumentsMax-1-:8*BoardRunBytes];
              cycles_q <= '0;
              announced_q <= 1'b0;
              state_q <= StLook;
            end
            BoardCommandTime: time_ns_o <= arguments[8*ArgumentsMax-1-:8*BoardTimeBytes];
            BoardCommandControls: controls_o <= arguments[8*ArgumentsMax-1-:8*BoardControlsBytes];
            BoardCommandBar: begin
              bar_q <= arguments[8*ArgumentsMax-1-:8*BoardBarBytes];
              bar_valid_q <= 1'b1;
            end
            BoardCommandCsr: begin
              csr_q <= arguments[8*ArgumentsMax-1-:8*BoardCsrBytes];
              csr_valid_q <= 1'b1;
            end
            BoardCommandCredits: begin
              write_credits_q <= write_credits_q + credits.dma_write;
              transmit_credits_q <= transmit_credits_q + credits.transmit;
            end
            BoardCommandReadBeats: begin
              read_beats_q <= read_beats;
              beats_left_q <= read_beats.count;
              arguments_left_q <= 4'(BeatBytes);
              state_q <= StBeat;
            end
            BoardCommandFrameBeats: begin
              frame_beats_q <= frame_beats;
              beats_left_q <= frame_beats.count;
              arguments_left_q <= 4'(BeatBytes);
              state_q <= StBeat;
            end
            BoardCommandLoad: begin
              load_o <= arguments[8*ArgumentsMax-1-:8*BoardLoadBytes];
              load_valid_o <= 1'b1;
            end
            default: ;
          endcase
        end
      end
      StBeat: if (take && arguments_left_q == 4'd1) state_q <= StPush;
      StPush: begin
        beats_left_q <= beats_left_q - 1'b1;
        arguments_left_q <= 4'(BeatBytes);
        state_q <= is_last_beat ? StCommand : StBeat;
      end
      StLook: begin
        state_q <= StEvent;
        after_event_q <= StLook;
        event_q <= said;
        event_left_q <= said_bytes;
        if (ends) begin
          if (must_wait && !announced_q) begin
            event_q <= EventBits'({access_i, BoardEventAccess});
            event_left_q <= 4'(1 + BoardCsrBytes);
            announced_q <= 1'b1;
          end else begin
            event_q <= EventBits'({ran, BoardEventRan});
            event_left_q <= 4'(1 + BoardRanBytes);
            after_event_q <= StCommand;
          end
        end else if (say != SayNothing) begin
          said_q[say] <= 1'b1;
          stopping_q <= stopping_q || said_stops;
          if (say == SayInterrupt) interrupt_q <= firmware_interrupt_i;
        end else begin
          state_q <= StStep;
        end
      end
      StStep: begin
        state_q <= StLook;
        cycles_q <= cycles_q + 1'b1;
        said_q <= '0;
        stop_q <= stopping_q;
        time_ns_o <= time_ns_o + 64'(NsPerCycle);
        bar_valid_q <= 1'b0;
        csr_valid_q <= 1'b0;
        refuse_q <= 1'b0;
        admit_q <= 1'b0;
        answer_write_q <= due[SayWriteBeat] && wlast_i;
        open_writes_q <= open_writes_q + 16'(awready_o) - 16'(due[SayWriteBeat] && wlast_i);
        if (awready_o) write_credits_q <= write_credits_q - 16'(awlen_i) - 1'b1;
        if (tvalid_i) begin
          transmit_credits_q <= transmit_credits_q - 1'b1;
          is_transmitting_q <= !tlast_i;
        end
      end
      StEvent: begin
        if (event_ready_i) begin
          event_q <= event_q >> 8;
          event_left_q <= event_left_q - 1'b1;
          if (event_left_q == 4'd1) begin
            state_q <= after_event_q;
            // The run is over.
            if (after_event_q == StCommand) {stop_q, stopping_q} <= '0;
          end
        end
      end
      StReset: begin
        // Every second cycle is one of the device.
        cycles_q <= cycles_q + 1'b1;
        time_ns_o <= '0;
        controls_o <= '{mac_link: 1'b1, default: '0};
        {bar_valid_q, csr_valid_q, refuse_q, admit_q, answer_write_q, interrupt_q, is_transmitting_q} <= '0;
        {write_credits_q, transmit_credits_q, open_writes_q} <= '0;
        {said_q, stop_q, stopping_q} <= '0;
        if (cycles_q == 16'(2 * ResetSteps)) state_q <= StCommand;
      end
      default: ;  // StDead
    endcase

    // The device's reset ends between two of its clock edges.
    if (state_q == StReset) device_rst_nq <= cycles_q == 16'(2 * ResetSteps);
    if (hello_i) begin
      event_q <= EventBits'(Hello);
      event_left_q <= 4'(BoardHelloBytes);
      after_event_q <= StCommand;
      state_q <= StEvent;
    end
    if (!rst_ni) begin
      state_q <= StCommand;
      device_rst_nq <= 1'b0;
      {said_q, stop_q, stopping_q} <= '0;
    end
  end

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) !(read_push && !read_ready) && !(frame_push && !frame_ready))
  else $error("more beats than board_beats_max");
`endif

endmodule
