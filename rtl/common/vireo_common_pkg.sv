// SPDX-License-Identifier: Apache-2.0

// Functions of the contract that several blocks need.
package vireo_common_pkg;
  import vireo_spec_pkg::*;

  // verilator lint_off UNUSEDSIGNAL
  // Virtqueues of all kinds: net queues, control queue, completion queues, queues of QPs, event queues.
  function automatic int unsigned queues_of(input config_t sizes);
    return 2 * sizes.net_queue_pairs + 1 + sizes.num_cqs + 2 * sizes.num_qps +
           32'(VireoConstants.rdma_event_queues);
  endfunction
  // verilator lint_on UNUSEDSIGNAL

endpackage
