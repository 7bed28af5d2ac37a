// SPDX-License-Identifier: Apache-2.0

// What several blocks need. The last member of an enumeration of ports is their number.
/* verilator lint_off UNUSEDPARAM */
package vireo_common_pkg;
  import vireo_spec_pkg::*;

  // Blocks that report parity errors of context memories.
  typedef enum int unsigned {
    ContextOwnerDescFetch,
    ContextOwnerMemoryCheck,
    ContextOwnerRequester,
    ContextOwnerResponder,
    ContextOwnerNetFilter,
    ContextOwnerModeration,
    ContextOwnerQpControl,
    ContextOwnerTxBuilder,
    ContextOwnerReadResponder,
    ContextOwnerCompleter,
    ContextOwnerCqWriter,
    ContextOwners
  } context_owner_e;

  // Ports of DMA that report errors.
  typedef enum int unsigned {
    DmaDirectionRead,
    DmaDirectionWrite,
    DmaDirections
  } dma_direction_e;

  // Blocks that drop net frames, received and to transmit.
  typedef enum int unsigned {
    NetRxDropFilter,
    NetRxDropRx,
    NetRxDrops
  } net_rx_drop_e;
  typedef enum int unsigned {
    NetTxDropChecksum,
    NetTxDropTx,
    NetTxDrops
  } net_tx_drop_e;

  // Clients of memory check.
  typedef enum int unsigned {
    MemoryClientRequester,
    MemoryClientResponder,
    MemoryClientReadResponder,
    MemoryClients
  } memory_client_e;

  // Blocks that report the end of an access that memory check granted.
  typedef enum int unsigned {
    GrantHolderRequester,
    GrantHolderResponder,
    GrantHolderTxGather,
    GrantHolderRxScatter,
    GrantHolderAtomic,
    GrantHolders
  } grant_holder_e;

  // Clients of descriptor fetch: buffer_client_e.
  localparam int unsigned BufferClients = 32'(BufferClientNetReceive) + 1;

  // A 16-bit field in network order, from its two bytes as they lie on the stream.
  function automatic logic [15:0] network16(input logic [15:0] bytes);
    return {bytes[7:0], bytes[15:8]};
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  // Virtqueues of all kinds: net queues, control queue, completion queues, queues of QPs, event queues.
  function automatic int unsigned queues_of(input config_t sizes);
    return 2 * sizes.net_queue_pairs + 1 + sizes.num_cqs + 2 * sizes.num_qps +
           32'(VireoConstants.rdma_event_queues);
  endfunction
  // verilator lint_on UNUSEDSIGNAL

endpackage
/* verilator lint_on UNUSEDPARAM */
