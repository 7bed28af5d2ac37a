// SPDX-License-Identifier: Apache-2.0

// Packets of the four streams of AMD's UltraScale+ integrated blocks for PCI Express (PCIE4, PCIE4C), aligned to double
// words, without straddling. [AMD PG213, 3: descriptors and tuser of CQ, CC, RQ and RC] A module uses only some of
// these.
/* verilator lint_off UNUSEDPARAM */
package vireo_pcie_pkg;

  // Kind of a request, on CQ and RQ.
  typedef enum logic [3:0] {
    PcieRequestMemoryRead  = 4'h0,
    PcieRequestMemoryWrite = 4'h1,
    PcieRequestIoRead      = 4'h2,
    PcieRequestIoWrite     = 4'h3,
    PcieRequestFetchAdd    = 4'h4,
    PcieRequestSwap        = 4'h5,
    PcieRequestCompareSwap = 4'h6,
    PcieRequestLockedRead  = 4'h7
    // The rest: configuration requests, which CQ does not have, and messages, which are posted.
  } pcie_request_e;

  // Completion status. [PCIe 5.0, 2.2.9.1]
  typedef enum logic [2:0] {
    PcieStatusSuccess            = 3'd0,
    PcieStatusUnsupportedRequest = 3'd1,
    PcieStatusCompleterAbort     = 3'd4
  } pcie_status_e;

  // Error code of a completion on RC.
  typedef enum logic [3:0] {
    PcieErrorNone       = 4'h0,
    PcieErrorPoisoned   = 4'h1,
    PcieErrorStatus     = 4'h2,  // unsupported request, completer abort, retry
    PcieErrorLength     = 4'h3,  // no data, or more than expected
    PcieErrorMismatch   = 4'h4,  // requester, class or attributes are not those of the request with this tag
    PcieErrorAddress    = 4'h5,  // not that of the next byte
    PcieErrorTag        = 4'h6,  // no request has it
    PcieErrorReset      = 4'h8,  // a function level reset ended the request
    PcieErrorTimeout    = 4'h9
  } pcie_error_e;

  localparam int unsigned PcieRequestDwords = 4;     // descriptor of CQ and RQ
  localparam int unsigned PcieCompletionDwords = 3;  // of CC and RC

  typedef struct packed {
    logic         reserved1;
    logic [2:0]   attributes;
    logic [2:0]   traffic_class;
    logic [5:0]   bar_aperture;
    logic [2:0]   bar_id;
    logic [7:0]   target_function;
    logic [7:0]   tag;
    logic [15:0]  requester_id;
    logic         reserved0;
    logic [3:0]   request_type;  // pcie_request_e
    logic [10:0]  dwords;
    logic [61:0]  address;       // of a double word
    logic [1:0]   address_type;
  } pcie_cq_t;

  typedef struct packed {
    logic         force_ecrc;
    logic [2:0]   attributes;
    logic [2:0]   traffic_class;
    logic         requester_id_enable;
    logic [15:0]  completer_id;
    logic [7:0]   tag;
    logic [15:0]  requester_id;
    logic         poisoned;
    logic [3:0]   request_type;  // pcie_request_e
    logic [10:0]  dwords;
    logic [61:0]  address;       // of a double word
    logic [1:0]   address_type;
  } pcie_rq_t;

  typedef struct packed {
    logic         force_ecrc;
    logic [2:0]   attributes;
    logic [2:0]   traffic_class;
    logic         completer_id_enable;
    logic [15:0]  completer_id;
    logic [7:0]   tag;
    logic [15:0]  requester_id;
    logic         reserved3;
    logic         poisoned;
    logic [2:0]   status;        // pcie_status_e
    logic [10:0]  dwords;
    logic [1:0]   reserved2;
    logic         locked;
    logic [12:0]  byte_count;
    logic [5:0]   reserved1;
    logic [1:0]   address_type;
    logic         reserved0;
    logic [6:0]   lower_address;
  } pcie_cc_t;

  typedef struct packed {
    logic         reserved2;
    logic [2:0]   attributes;
    logic [2:0]   traffic_class;
    logic         reserved1;
    logic [15:0]  completer_id;
    logic [7:0]   tag;
    logic [15:0]  requester_id;
    logic         reserved0;
    logic         poisoned;
    logic [2:0]   status;        // pcie_status_e
    logic [10:0]  dwords;
    logic         reserved3;
    logic         completed;     // the request's last completion
    logic         locked;
    logic [12:0]  byte_count;
    logic [3:0]   error_code;    // pcie_error_e
    logic [11:0]  lower_address;
  } pcie_rc_t;

  // What a completion of a host's request says, besides the data.
  typedef struct packed {
    logic [2:0]  attributes;
    logic [2:0]  traffic_class;
    logic [7:0]  target_function;
    logic [7:0]  tag;
    logic [15:0] requester_id;
    logic        locked;
    logic [2:0]  status;         // pcie_status_e
    logic [10:0] dwords;         // of data
    logic [12:0] byte_count;
    logic [6:0]  lower_address;
  } pcie_answer_t;

  // An access of the BAR port that reads: where its bytes belong.
  typedef struct packed {
    logic       window;          // it was made by the window in configuration space
    logic [2:0] place;           // of the first byte in 8 bytes
    logic [3:0] bytes;
    logic       last;            // of these 8 bytes
    logic       ends;            // its request
  } pcie_part_t;

  // Of one host read: double words. Longer ones are aborted.
  localparam int unsigned PcieReadDwordsMax = 16;

  // tuser: its width, and where its fields are. At 512 bits there is a place for each of two packets; the first is used.
  function automatic int unsigned cq_user_bits(input int unsigned data_bits);
    return data_bits == 512 ? 183 : 88;
  endfunction
  function automatic int unsigned cc_user_bits(input int unsigned data_bits);
    return data_bits == 512 ? 81 : 33;
  endfunction
  function automatic int unsigned rq_user_bits(input int unsigned data_bits);
    return data_bits == 512 ? 137 : 62;
  endfunction
  function automatic int unsigned rc_user_bits(input int unsigned data_bits);
    return data_bits == 512 ? 161 : 75;
  endfunction
  // Byte enables of the first double word are at 0 on CQ and RQ.
  function automatic int unsigned last_be_at(input int unsigned data_bits);
    return data_bits == 512 ? 8 : 4;
  endfunction
  function automatic int unsigned cq_discontinue_at(input int unsigned data_bits);
    return data_bits == 512 ? 96 : 41;
  endfunction
  function automatic int unsigned rc_discontinue_at(input int unsigned data_bits);
    return data_bits == 512 ? 96 : 42;
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
