// SPDX-License-Identifier: Apache-2.0

// Types that the parts of vireo_read_responder share; model/rdma/read_responder.h has the same. Places and counts of READs
// have the width of the largest ring here, and only the bits that a configuration needs are ever set.
package vireo_read_responder_pkg;
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::AnswerOperandsBits;

  // Not every part needs each.
  // verilator lint_off UNUSEDPARAM
  localparam int unsigned SlotWidth = 7;
  localparam int unsigned AethBits = 8 * AethBytes;
  localparam int unsigned PacketBytesBits = 13;  // of a packet's payload
  // Jobs are counted modulo 2 to the power of this; far fewer than half of it are in flight at a time.
  localparam int unsigned JobBits = 16;
  // Of the value of an ATOMIC WRITE, in the operands: behind the RETH's length.
  localparam int unsigned StoreOffset = RethBytes - RethDmaLengthOffset;
  // verilator lint_on UNUSEDPARAM

  typedef struct packed {
    logic [15:0] pdn;
    logic [3:0] path_mtu;  // ib_mtu_e
  } attributes_t;

  // What a QP has here.
  typedef struct packed {
    logic halted;                     // a key check has failed: nothing leaves any more in this instance of the QP
    logic [7:0] ended;              // READs, as in qp_reads
    logic [JobBits-1:0] last;       // number of the last job issued
    logic held;                     // a response is held or waits: an acknowledge with the fields below
    logic [PsnBits-1:0] held_psn;
    logic [AethBits-1:0] held_aeth;
    logic [SlotWidth:0] count;      // READs
    logic [SlotWidth-1:0] oldest;
    logic parked;                   // the oldest one is an atomic operation that is being executed
    logic [31:0] done;              // bytes of the oldest READ
  } row_t;

  typedef struct packed {
    logic [PsnBits-1:0] psn;      // of the first response
    logic [AethBits-1:0] aeth;    // of every response that has one
    logic [63:0] address;
    logic [31:0] rkey;
    logic [31:0] bytes;
  } read_t;

  // What an atomic operation needs besides.
  typedef struct packed {
    logic is_atomic;
    logic is_duplicate;
    logic is_swap;
    logic is_write;               // ATOMIC WRITE
    logic is_flush;               // FLUSH
    // As in an AtomicETH, from swap_add_data on; of ATOMIC WRITE length and value, of FLUSH length and FETH.
    logic [AnswerOperandsBits-1:0] data;
  } operands_t;

  typedef enum logic [2:0] {
    StChoose,  // selects a response or a QP; its row is read
    StAnswer,  // a response passes through or is held
    StTurn,    // the QP's oldest READ is read, or all that it has is dropped
    StEntry,   // the packet is cut and its memory requested
    StIssue,    // it leaves
    StResult,   // the QP's atomic operation is read, whose result has come
    StRespond   // its response leaves
  } state_e;

  // The packet of a turn.
  typedef struct packed {
    logic checked;               // its key
    logic atomic;                // it is the response to an atomic operation
    logic last;
    logic [7:0] opcode;
    logic [PsnBits-1:0] psn;
    logic [PacketBytesBits-1:0] bytes;
  } cut_t;

  // What a state does in this cycle. Fields of an action that is 0 do not matter.
  typedef struct packed {
    state_e state;               // the next one
    row_t row;
    logic row_write;
    logic ring_write;            // the READ of the answer
    logic ring_read;             // the QP's oldest one
    cut_t cut;
    logic waits;                 // for the memory place: an answer of another QP may be processed
    logic answer_ends;
    logic place_ends;
    logic result_ends;
    logic again;                 // the QP has work for another turn
    logic ack_waits;             // or only a response that waits for the transmitter
    logic corrupt;               // the attributes of a turn with a READ: it ends
    logic packet;                // an answer leaves
    tx_packet_t packet_in;
    logic job;                   // a response behind READs, or of one
    tx_job_t job_in;
    logic check;
    memory_check_t check_in;
    logic operates;              // an atomic operation begins
    atomic_request_t operation;
    logic fails;
    qp_failure_t failure;
    logic reads_end;
  } step_t;

  // States in which a responder responds [IBTA vol. 1, 10.3.1]; also ERR, where no new request is accepted, but
  // responses to READs before the failed request, and its NAK after them, are still sent.
  function automatic logic responds_in(input logic [2:0] state);
    return state == 3'(IbQpStateRtr) || state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqd)
        || state == 3'(IbQpStateSqe) || state == 3'(IbQpStateErr);
  endfunction

endpackage
