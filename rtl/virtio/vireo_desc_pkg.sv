// SPDX-License-Identifier: Apache-2.0

// Types that the parts of vireo_desc_fetch share: the jobs that its stages pass on, and the read data that they use.
package vireo_desc_pkg;
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;

  // Not every part needs each.
  // verilator lint_off UNUSEDPARAM
  localparam int unsigned Clients = BufferClients;
  localparam int unsigned ClientBits = $clog2(Clients);
  localparam int unsigned CountBits = $bits(NetBuffersPerRequest);
  localparam int unsigned EntryBits = CountBits - 1;  // of one read of ring entries
  localparam int unsigned ReadsBits = 4;
  localparam int unsigned PlaceBits = 15;  // position in a packed ring; bit 15: wrap counter [2.8.14]
  // Packed descriptors per read. An aligned 64-byte read is a single cache line of the host.
  localparam logic [CountBits-1:0] DescriptorsPerRead = CountBits'(DmaFetchBytes / 8'(PvirtqDescBytes));
  // verilator lint_on UNUSEDPARAM

  typedef enum logic [2:0] {
    KindRead,     // needs the read of the next stage
    KindByIndex,  // reads one descriptor, at `index`
    KindEmpty,    // no buffer is available
    KindFailed,   // the queue was stopped earlier
    KindBroken,   // this job stops the queue, for the reason `code`
    KindWalked,   // packed ring: the job contains the descriptor
    KindPushed,   // the job contains the buffer, as the driver has pushed it
    KindKnown     // split ring: as KindRead, but so many entries are known to be available that no index is read
  } kind_e;

  typedef struct packed {
    kind_e kind;
    logic [ClientBits-1:0] client;
    logic [15:0] vq_index;
    logic [15:0] index;   // by_index: of the descriptor; pushed: position; otherwise entries that are known
    logic [CountBits-1:0] count;
    logic chains;         // packed ring whose buffers may be chains
    logic [63:0] area;    // address of available ring or packed ring; by_index: of the indirect table
    logic indirect;       // by_index: in an indirect table
    logic [15:0] entries; // descriptors in the table; pushed: head
    logic [6:0] bytes;    // pushed: of the buffer at `area`
  } index_job_t;

  typedef struct packed {
    kind_e kind;
    logic [ClientBits-1:0] client;
    logic [15:0] vq_index;
    logic [15:0] index;   // by_index: of the descriptor; otherwise position of the first entry, packed: with bit 15
    logic [CountBits-1:0] count;
    logic [ReadsBits-1:0] reads;
    logic chains;
    logic held;           // no further request of the queue is accepted until this job ends
    logic [7:0] code;
    logic indirect;       // by_index: in an indirect table
    logic [63:0] table_address;
    logic [15:0] entries;
    logic [6:0] bytes;
  } ring_job_t;

  typedef struct packed {
    kind_e kind;
    logic [ClientBits-1:0] client;
    logic [15:0] vq_index;
    logic [15:0] head;
    logic [15:0] next;    // packed ring: position after the descriptor
    logic [15:0] id;      // packed ring: buffer id
    logic [7:0] code;
    logic last;
    logic replay;         // the buffer may have been used since, so a fault does not stop the queue
    logic indirect;       // in an indirect table: `address` is the table's, `bytes` its number of descriptors
    logic [63:0] address;
    logic [31:0] bytes;
    logic [15:0] flags;
  } descriptor_job_t;

  // Fields of dma_fetched_t that are used.
  typedef struct packed {
    logic error;
    logic [8*PvirtqDescBytes-1:0] data;
  } index_data_t;
  typedef struct packed {
    logic error;
    logic [8*DmaFetchBytes-1:0] data;
  } ring_data_t;
  typedef struct packed {
    logic error;
    logic [8*VirtqDescBytes-1:0] data;
  } descriptor_data_t;

endpackage
