// SPDX-License-Identifier: Apache-2.0

// The control processor: a RISC-V core (rv32imc) that runs the firmware beside the datapath, with its memory, its own
// registers, a watchdog, and a console. Its memory map is that of spec/processor.toml. It accesses the device through
// the management port only, one access at a time.
//
// The core is PicoRV32, a dependency. It has neither interrupts nor control registers here: the firmware sleeps by
// reading `wait`, which is answered when the interrupt is asserted and the console is idle.
//
// A failure (trap, access outside of the map, watchdog, the firmware's own) resets the core, takes firmware_ready away,
// which ends in DEVICE_NEEDS_RESET, and enables device_reset as the only interrupt. When the driver resets the device,
// the core starts again from the beginning. last_failure tells it why.
module vireo_control_processor
  import vireo_spec_pkg::*;
#(
  parameter int unsigned MemoryWords,   // of 32 bits, for stack, program and data
  parameter int unsigned WatchdogBits,  // it expires after 2^WatchdogBits cycles
  parameter int unsigned CyclesPerBit   // of the console
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  // A write of the memory, at any time; the core waits for it. The core starts when run_i is 1, and stops when it is 0.
  input  logic        load_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [31:0] load_address_i,  // in bytes, a multiple of 4 within the memory
  // verilator lint_on UNUSEDSIGNAL
  input  logic [31:0] load_data_i,
  input  logic        run_i,

  // The management port, see vireo_csr.
  output logic        csr_valid_o,
  output logic        csr_write_o,
  output logic [11:0] csr_address_o,
  output logic [31:0] csr_data_o,
  input  logic        csr_read_valid_i,
  input  logic [31:0] csr_read_data_i,
  input  logic        firmware_interrupt_i,

  output logic        console_tx_o,
  // For a simulation and a debugger. A byte is sent to the console.
  output logic        console_valid_o,
  output logic [7:0]  console_data_o,
  // Nothing changes before the interrupt is asserted: a read of `wait`, or stopped after a failure.
  output logic        waiting_o,
  // While it is stopped: why.
  output logic [7:0]  failure_o
);

  localparam int unsigned AddressBits = $clog2(MemoryWords);
  localparam logic [31:0] MemoryBytes = 32'(4 * MemoryWords);
  localparam mgmt_interrupt_cause_t ResetInterrupt = '{device_reset: 1'b1, default: '0};
  localparam mgmt_control_t FirmwareReady = '{firmware_ready: 1'b1, default: '0};
  // Cycles after the write of interrupt_enable in which the interrupt may still be that of another cause.
  localparam logic [3:0] InterruptCycles = 4'd8;

  if (MemoryBytes > ProcessorMemoryLimit || MemoryBytes <= ProcessorStackBytes) $fatal(1, "MemoryWords");

  typedef enum logic [2:0] {
    StRun,
    StReadControl,     // control is requested
    StWriteControl,    // and written without firmware_ready when it has come
    StWriteInterrupt,
    StSettle,
    StFailed           // until the interrupt
  } state_e;

  state_e state_q;
  logic [3:0] settle_q;
  processor_failure_e failure_q, failure;
  logic [31:0] failure_address_q;
  logic [WatchdogBits-1:0] watchdog_q;
  logic watchdog_restart, watchdog_expired;

  // --- Core ----------------------------------------------------------------------------------------------------------

  logic core_rst_nq;
  logic core_trap;
  logic bus_valid, bus_ready_q;
  logic [31:0] bus_address, bus_write_data, bus_read_data;
  logic [3:0] bus_strobes;

  // verilator lint_off PINCONNECTEMPTY
  picorv32 #(
    .ENABLE_COUNTERS(0),
    .ENABLE_COUNTERS64(0),
    .BARREL_SHIFTER(1),
    .COMPRESSED_ISA(1),
    .CATCH_MISALIGN(1),
    .CATCH_ILLINSN(1),
    .ENABLE_MUL(1),
    .ENABLE_DIV(1),
    .REGS_INIT_ZERO(1),
    .PROGADDR_RESET(ProcessorStackBytes)
  ) u_core (
    .clk(clk_i),
    .resetn(core_rst_nq),
    .trap(core_trap),
    .mem_valid(bus_valid),
    .mem_instr(),
    .mem_ready(bus_ready_q),
    .mem_addr(bus_address),
    .mem_wdata(bus_write_data),
    .mem_wstrb(bus_strobes),
    .mem_rdata(bus_read_data),
    .mem_la_read(),
    .mem_la_write(),
    .mem_la_addr(),
    .mem_la_wdata(),
    .mem_la_wstrb(),
    .pcpi_valid(),
    .pcpi_insn(),
    .pcpi_rs1(),
    .pcpi_rs2(),
    .pcpi_wr(1'b0),
    .pcpi_rd('0),
    .pcpi_wait(1'b0),
    .pcpi_ready(1'b0),
    .irq('0),
    .eoi(),
    .trace_valid(),
    .trace_data()
  );
  // verilator lint_on PINCONNECTEMPTY

  // --- Decoder: an access takes one cycle in memory and own registers, else until it is answered -----------------------

  logic starts;  // the first cycle of an access, or one more in which it must wait
  logic to_memory, to_own, to_management, is_write;
  logic takes_memory, takes_own, takes_management, is_outside;
  logic read_pending_q;  // of the management port
  logic console_ready;
  logic [7:0] own_offset;

  assign is_write = bus_strobes != '0;
  assign starts = bus_valid && core_rst_nq && !bus_ready_q && !read_pending_q && state_q == StRun;
  assign to_memory = bus_address < MemoryBytes;
  assign to_own = bus_address[31:8] == ProcessorRegistersBase[31:8];
  // Whole words only: a management register has no bytes.
  assign to_management = bus_address[31:12] == ProcessorManagementBase[31:12] && (!is_write || bus_strobes == '1);
  assign own_offset = {bus_address[7:2], 2'b00};

  assign takes_memory = starts && to_memory && !load_valid_i;
  assign takes_management = starts && to_management;
  assign is_outside = starts && !to_memory && !to_own && !to_management;
  always_comb begin
    takes_own = starts && to_own;
    if (own_offset == ProcessorConsoleRegister && is_write && !console_ready) takes_own = 1'b0;
    if (own_offset == ProcessorWaitRegister && !is_write && !(console_ready && firmware_interrupt_i)) takes_own = 1'b0;
  end

  assign console_valid_o = takes_own && is_write && own_offset == ProcessorConsoleRegister;
  assign console_data_o = bus_write_data[7:0];
  assign waiting_o = console_ready && ((starts && to_own && !is_write && own_offset == ProcessorWaitRegister) ||
                                       state_q == StFailed);
  assign failure_o = state_q == StRun ? ProcessorFailureNone : failure_q;

  // Data of the last access, by where it came from.
  logic [31:0] memory_data, other_data_q;
  logic from_memory_q;

  assign bus_read_data = from_memory_q ? memory_data : other_data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bus_ready_q <= 1'b0;
      read_pending_q <= 1'b0;
    end else begin
      bus_ready_q <= takes_memory || takes_own || (takes_management && is_write) ||
                     (read_pending_q && csr_read_valid_i && state_q == StRun);
      if (takes_management && !is_write) read_pending_q <= 1'b1;
      else if (csr_read_valid_i) read_pending_q <= 1'b0;
    end
    if (takes_memory) from_memory_q <= 1'b1;
    if (takes_own || csr_read_valid_i) from_memory_q <= 1'b0;
    if (takes_own) begin
      unique case (own_offset)
        ProcessorLastFailureRegister: other_data_q <= {24'b0, failure_q};
        ProcessorFailureAddressRegister: other_data_q <= failure_address_q;
        default: other_data_q <= '0;
      endcase
    end
    if (csr_read_valid_i) other_data_q <= csr_read_data_i;
  end

  // --- Memory --------------------------------------------------------------------------------------------------------

  for (genvar i = 0; i < 4; ++i) begin : g_lane
    (* no_rw_check *)
    logic [7:0] memory [MemoryWords];
    logic [7:0] read_q;
    logic write;

    assign write = load_valid_i || (takes_memory && bus_strobes[i]);
    always_ff @(posedge clk_i) begin
      if (write) begin
        memory[load_valid_i ? load_address_i[2+:AddressBits] : bus_address[2+:AddressBits]] <=
            load_valid_i ? load_data_i[8*i+:8] : bus_write_data[8*i+:8];
      end
      if (takes_memory && !is_write) read_q <= memory[bus_address[2+:AddressBits]];
    end
    assign memory_data[8*i+:8] = read_q;
  end

  // --- Management port -------------------------------------------------------------------------------------------------

  always_ff @(posedge clk_i) begin
    csr_valid_o <= 1'b0;
    csr_write_o <= is_write;
    csr_address_o <= bus_address[11:0];
    csr_data_o <= bus_write_data;
    unique case (state_q)
      StRun: csr_valid_o <= takes_management;
      StReadControl: begin
        csr_valid_o <= !read_pending_q;
        csr_write_o <= 1'b0;
        csr_address_o <= MgmtControlRegister;
      end
      StWriteControl: begin
        csr_valid_o <= csr_read_valid_i;
        csr_write_o <= 1'b1;
        csr_address_o <= MgmtControlRegister;
        csr_data_o <= csr_read_data_i & ~pack_mgmt_control(FirmwareReady);
      end
      StWriteInterrupt: begin
        csr_valid_o <= 1'b1;
        csr_write_o <= 1'b1;
        csr_address_o <= MgmtInterruptEnableRegister;
        csr_data_o <= pack_mgmt_interrupt_cause(ResetInterrupt);
      end
      default: ;
    endcase
    if (!rst_ni) csr_valid_o <= 1'b0;
  end

  // --- Failures --------------------------------------------------------------------------------------------------------

  logic starts_failing;

  assign watchdog_expired = watchdog_q == '1;
  assign watchdog_restart = takes_own && (own_offset == ProcessorWaitRegister || own_offset == ProcessorAliveRegister);
  always_comb begin
    failure = ProcessorFailureNone;
    if (core_trap) failure = ProcessorFailureTrap;
    else if (is_outside) failure = ProcessorFailureBus;
    else if (takes_own && is_write && own_offset == ProcessorStopRegister) failure = ProcessorFailureFirmware;
    else if (watchdog_expired) failure = ProcessorFailureWatchdog;
  end
  assign starts_failing = state_q == StRun && core_rst_nq && failure != ProcessorFailureNone;

  always_ff @(posedge clk_i) begin
    // While nothing happens until the interrupt, the processor is not hung.
    if (state_q != StRun || !core_rst_nq || watchdog_restart || waiting_o) watchdog_q <= '0;
    else watchdog_q <= watchdog_q + 1'b1;

    settle_q <= state_q == StSettle ? settle_q + 1'b1 : '0;
    core_rst_nq <= run_i && ((state_q == StRun && !starts_failing) || (state_q == StFailed && waiting_o && firmware_interrupt_i));
    if (starts_failing) failure_address_q <= bus_address;

    unique case (state_q)
      StRun: begin
        if (starts_failing) begin
          state_q <= StReadControl;
          failure_q <= failure;
        end
      end
      StReadControl: if (!read_pending_q) state_q <= StWriteControl;
      StWriteControl: if (csr_read_valid_i) state_q <= StWriteInterrupt;
      StWriteInterrupt: state_q <= StSettle;
      StSettle: if (settle_q == InterruptCycles) state_q <= StFailed;
      StFailed: if (waiting_o && firmware_interrupt_i) state_q <= StRun;
      default: state_q <= StRun;
    endcase
    if (!rst_ni || !run_i) state_q <= StRun;
    if (!rst_ni) begin
      core_rst_nq <= 1'b0;
      failure_q <= ProcessorFailureNone;
      failure_address_q <= '0;
    end
  end

  vireo_console #(
    .CyclesPerBit(CyclesPerBit)
  ) u_console (
    .clk_i,
    .rst_ni,
    .valid_i(console_valid_o),
    .ready_o(console_ready),
    .data_i(console_data_o),
    .tx_o(console_tx_o)
  );

endmodule
