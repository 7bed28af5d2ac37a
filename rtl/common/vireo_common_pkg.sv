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

  // Entries of each table that firmware writes, and of their words that are kept for it (vireo_context_store).
  localparam int unsigned Tables = $size(TableKeptWords);
  localparam int unsigned Vlans = 4096;  // IEEE 802.1Q, 9.6: VID has 12 bits
  typedef logic [Tables-1:0][31:0] table_entries_t;
  function automatic table_entries_t entries_of_tables(input config_t sizes);
    table_entries_t entries;
    entries = '0;
    entries[MgmtTableVirtqueue] = queues_of(sizes);
    entries[MgmtTableWindow] = queues_of(sizes);
    entries[MgmtTableQpContext] = sizes.num_qps;
    entries[MgmtTableCqContext] = sizes.num_cqs;
    entries[MgmtTableMr] = sizes.num_mrs;
    entries[MgmtTableTranslation] = sizes.num_translations;
    entries[MgmtTableAh] = sizes.num_ahs;
    entries[MgmtTableGid] = sizes.num_gids;
    entries[MgmtTableMacFilter] = 32'(TableMacFilterEntries);
    entries[MgmtTableVlanFilter] = Vlans / 32'(TableVlanFilterBits);
    entries[MgmtTableRss] = 1 + 32'(TableRssQueues) / TableRssBytes;
    entries[MgmtTableMcast] = sizes.max_mcast_attach;
    return entries;
  endfunction
  // Addresses of each table's first word, and behind the last one.
  typedef logic [Tables:0][31:0] table_words_t;
  function automatic table_words_t first_words_of_tables(input config_t sizes);
    table_words_t first;
    table_entries_t entries;
    entries = entries_of_tables(sizes);
    first = '0;
    for (int unsigned t = 0; t < Tables; t++) begin
      first[t+1] = first[t] + 32'(TableKeptWords[t]) * (t == 32'(MgmtTableRss) ? 1 : entries[t]);
    end
    return first;
  endfunction

  // No vireo_table is deeper: after so many cycles behind a reset each of them is clear.
  function automatic int unsigned sweep_cycles_of(input config_t sizes);
    table_words_t words;
    int unsigned most, depth;
    words = first_words_of_tables(sizes);
    most = words[Tables];
    for (int unsigned i = 0; i < 7; i++) begin
      unique case (i)
        0: depth = queues_of(sizes);
        1: depth = sizes.num_qps * (sizes.max_rd_atomic < 2 ? 2 : sizes.max_rd_atomic);  // READs, results of atomics
        2: depth = sizes.num_mrs;
        3: depth = sizes.num_translations / 2;  // in two banks
        4: depth = sizes.num_ahs;
        5: depth = sizes.send_requests_kept;
        default: depth = sizes.num_msix_vectors;
      endcase
      if (depth > most) most = depth;
    end
    return most;
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // What a signal is while nobody uses it: zero in simulation, which then passes by what follows from it, and anything in
  // hardware, where zero would be a LUT for each bit. `if (used || Synthesis)` computes it.
`ifdef SYNTHESIS
  localparam bit Synthesis = 1'b1;
`else
  localparam bit Synthesis = 1'b0;
`endif

  // What small reads and writes are as one beat takes several of a narrow data path.
  function automatic bit is_narrow(input int unsigned data_bits);
    return data_bits < 8 * 32'(vireo_spec_pkg::DmaFetchBytes);
  endfunction
  // Entries of a slice for tokens that, or what belongs to them, take several beats of a narrow data path: vireo_slice.
  function automatic int unsigned wide_slice(input int unsigned data_bits);
    return is_narrow(data_bits) ? 1 : 2;
  endfunction
  // Packets or used elements that wait for host memory: on a narrow data path a quarter, because that many fewer come in its latency.
  function automatic int unsigned waiting_packets(input int unsigned data_bits);
    return is_narrow(data_bits) ? 16 : 64;
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
