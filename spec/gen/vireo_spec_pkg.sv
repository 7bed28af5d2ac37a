// SPDX-License-Identifier: Apache-2.0
// Generated from spec/*.toml by spec/generate.py. Do not edit: change the TOML, then run ./vireo spec.

// The contract of Vireo as SystemVerilog: the same numbers as vireo_spec.h. Constants, types and pure functions only.
//
// A structure `x_t` holds fields by value. unpack_x and pack_x convert from and to its bytes as they lie in memory or on a
// stream: byte k in bits [8k +: 8]. Byte strings of network-order structures are vectors whose first byte is the most
// significant; arrays of little-endian structures are indexed, element 0 first in memory.

/* verilator lint_off UNUSEDPARAM */
package vireo_spec_pkg;

  // Of everything in this file; a host refuses another one (board.toml)
  localparam logic [15:0] BoardVersion = 16'h1;

  // "BVRD" as bytes (board.toml)
  localparam logic [31:0] BoardMagic = 32'h44525642;

  // Before and after every frame; one between two frames is enough [RFC 1662, 4.1] (board.toml)
  localparam logic [7:0] BoardFlag = 8'h7e;

  // Within a frame `board_flag` and `board_escape` are sent as this byte and the byte itself exclusive-or `board_escape_bit` [RFC 1662, 4.2] (board.toml)
  localparam logic [7:0] BoardEscape = 8'h7d;

  // See `board_escape` (board.toml)
  localparam logic [7:0] BoardEscapeBit = 8'h20;

  // Payload of a frame, between `board_header` and the CRC of 4 bytes over both, least significant byte first. This is the only credit: one frame each way (board.toml)
  localparam logic [15:0] BoardPayloadMax = 16'h400;

  // The board holds this many beats of each of `read_beats` and `frame_beats`. One of each enters the device in every cycle that is run, as long as there are any (board.toml)
  localparam logic [7:0] BoardBeatsMax = 8'h40;

  // Fewest queue pairs; in use after reset. [virtio 1.3, 5.1.6.5.6; linux/virtio_net.h] (net.toml)
  localparam logic [15:0] NetMqVqPairsMin = 16'h1;

  // Most queue pairs. [virtio 1.3, 5.1.6.5.6; linux/virtio_net.h] (net.toml)
  localparam logic [15:0] NetMqVqPairsMax = 16'h8000;

  // Largest speed; 0 to this are valid. [virtio 1.3, 5.1.4] (net.toml)
  localparam logic [31:0] NetSpeedMax = 32'h7fffffff;

  // Speed not known; the same applies to every value above net_speed_max. [virtio 1.3, 5.1.4] (net.toml)
  localparam logic [31:0] NetSpeedUnknown = 32'hffffffff;

  // Smallest value of net_config.mtu (the largest is 65535). [virtio 1.3, 5.1.4.1] (net.toml)
  localparam logic [15:0] NetMtuMin = 16'h44;

  // net_config.mtu should not be smaller. [virtio 1.3, 5.1.4.1] (net.toml)
  localparam logic [15:0] NetMtuRecommended = 16'h500;

  // Smallest rss_max_key_size with rss or hash_report. [virtio 1.3, 5.1.4.1] (net.toml)
  localparam logic [7:0] NetRssKeyBytesMin = 8'h28;

  // Smallest rss_max_indirection_table_length with rss. [virtio 1.3, 5.1.4.1] (net.toml)
  localparam logic [15:0] NetRssTableEntriesMin = 16'h80;

  // Largest received frame without feature mtu and without merging: 14 + 1500, header structure not counted. [virtio 1.3, 5.1.6.3] (net.toml)
  localparam logic [31:0] NetPacketBytesMax = 32'h5ea;

  // Largest received frame with merging: 14 + 40 + 65535, header structure not counted. [virtio 1.4, 5.1.6.3 (before: 65550)] (net.toml)
  localparam logic [31:0] NetPacketBytesMaxGso = 32'h10035;

  // PCI vendor of every virtio device. [virtio 1.3, 4.1.2.1] (pci.toml)
  localparam logic [15:0] PciVendorId = 16'h1af4;

  // Plus a virtio device number (virtio_device_id): the PCI device number of a device without legacy interface. [virtio 1.3, 4.1.2.1] (pci.toml)
  localparam logic [15:0] PciDeviceIdBase = 16'h1040;

  // virtio-net: pci_device_id_base + 1. [virtio 1.3, 4.1.2.1] (pci.toml)
  localparam logic [15:0] PciDeviceId = 16'h1041;

  // virtio-net with legacy interface. Vireo never presents it: it has no I/O BAR and no legacy registers. [virtio 1.3, 4.1.2.1] (pci.toml)
  localparam logic [15:0] PciDeviceIdTransitional = 16'h1000;

  // 1 or more keeps legacy drivers away. [virtio 1.3, 4.1.2.1] (pci.toml)
  localparam logic [7:0] PciRevisionId = 8'h1;

  // Informational; a driver does not match on it. [virtio 1.3, 4.1.2.1] (pci.toml)
  localparam logic [15:0] PciSubsystemVendorId = 16'h1af4;

  // 0x40 + virtio device number: high enough to keep legacy drivers away, and not assigned. [virtio 1.3, 4.1.2.1; the value is Vireo's choice] (pci.toml)
  localparam logic [15:0] PciSubsystemId = 16'h41;

  // Base class 2 network controller, subclass 0 Ethernet, programming interface 0. [PCI Code and ID Assignment, 1.3] (pci.toml)
  localparam logic [23:0] PciClassCode = 24'h20000;

  // Conventional configuration space: header and capabilities. [PCIe 5.0, 7.2] (pci.toml)
  localparam logic [15:0] PciConfigBytes = 16'h100;

  // Configuration space of a PCI Express function; extended capabilities begin at pci_config_bytes. [PCIe 5.0, 7.2] (pci.toml)
  localparam logic [15:0] PcieConfigBytes = 16'h1000;

  // virtio_pci_cap for the common configuration; the first capability (pci_header.capabilities_pointer). (pci.toml)
  localparam logic [7:0] PciCapAtCommonCfg = 8'h40;

  // virtio_pci_notify_cap. (pci.toml)
  localparam logic [7:0] PciCapAtNotifyCfg = 8'h50;

  // virtio_pci_cap for the interrupt status byte. (pci.toml)
  localparam logic [7:0] PciCapAtIsrCfg = 8'h64;

  // virtio_pci_cap for net_config and what follows it. (pci.toml)
  localparam logic [7:0] PciCapAtDeviceCfg = 8'h74;

  // virtio_pci_cfg_cap: BAR access through configuration space. (pci.toml)
  localparam logic [7:0] PciCapAtPciCfg = 8'h84;

  // msix_cap. (pci.toml)
  localparam logic [7:0] PciCapAtMsix = 8'h98;

  // pcie_cap. (pci.toml)
  localparam logic [7:0] PciCapAtPcie = 8'ha4;

  // pci_pm_cap; the last one, it ends at 0xe8. (pci.toml)
  localparam logic [7:0] PciCapAtPm = 8'he0;

  // Size of pcie_size 0; each step doubles it. [PCIe 5.0, 7.5.3.4] (pci.toml)
  localparam logic [7:0] PcieSizeUnit = 8'h80;

  // No memory request may cross a multiple of this address. [PCIe 5.0, 2.2.7] (pci.toml)
  localparam logic [15:0] PcieRequestBoundary = 16'h1000;

  // Maximum vectors of a function; a build parameter sets the number of this device, at least 2. [PCIe 5.0, 7.7.2.2; virtio 1.3, 4.1.5.1.2.1] (pci.toml)
  localparam logic [15:0] MsixVectorsMax = 16'h800;

  // BAR register of the virtio regions: 64-bit, not prefetchable; takes register 1 too. (pci.toml)
  localparam logic [2:0] BarVirtio = 3'h0;

  // 32 MiB: registers in the lower half, doorbells in the upper half. (pci.toml)
  localparam logic [31:0] BarVirtioBytes = 32'h2000000;

  // Offset of virtio_pci_common_cfg. (pci.toml)
  localparam logic [31:0] BarVirtioCommonCfg = 32'h0;

  // Offset of the interrupt status byte. (pci.toml)
  localparam logic [31:0] BarVirtioIsrCfg = 32'h1000;

  // Offset of net_config; the RoCE configuration of the profile follows inside this page. (pci.toml)
  localparam logic [31:0] BarVirtioDeviceCfg = 32'h2000;

  // Length of each of the three register regions. Unused bytes read 0 and ignore writes. (pci.toml)
  localparam logic [31:0] BarVirtioCfgBytes = 32'h1000;

  // Offset of the doorbell pages. (pci.toml)
  localparam logic [31:0] BarVirtioNotify = 32'h1000000;

  // 16 MiB: notify_queues_max pages of notify_off_multiplier bytes. (pci.toml)
  localparam logic [31:0] BarVirtioNotifyBytes = 32'h1000000;

  // Distance of two queues' doorbells: one page each, so that a process can map the doorbell of a single queue. [virtio 1.3, 4.1.4.4.1 (a power of 2 and a multiple of 4); the value is Vireo's choice] (pci.toml)
  localparam logic [31:0] NotifyOffMultiplier = 32'h1000;

  // Doorbell pages. nic100 needs 3,106: 32 net queues, 1 control, 1024 CQs, 2 * 1024 queues of QPs, 1 event queue. (pci.toml)
  localparam logic [15:0] NotifyQueuesMax = 16'h1000;

  // Offset in a queue's page: its doorbell, 2 bytes, with notification_data 4. After it: rdma_cq_arm_offset. Reads return 0. [virtio 1.3, 4.1.5.2] (pci.toml)
  localparam logic [11:0] NotifyPageQueue = 12'h0;

  // BAR register of the MSI-X structures: 64-bit, not prefetchable; takes register 3 too. (pci.toml)
  localparam logic [2:0] BarMsix = 3'h2;

  // 64 KiB: room for msix_vectors_max table entries and their pending bits, each on pages of its own. (pci.toml)
  localparam logic [31:0] BarMsixBytes = 32'h10000;

  // Offset of the table: msix_table_entry[vectors], at most 32 KiB. (pci.toml)
  localparam logic [31:0] BarMsixTable = 32'h0;

  // Offset of the pending bit array: msix_pba_entry[vectors / 64, rounded up], at most 256 bytes. (pci.toml)
  localparam logic [31:0] BarMsixPba = 32'h8000;

  // The stack is at the lowest addresses of the memory and grows down to 0: an overflow leaves the map. The firmware's image follows it, and starts with its entry. (processor.toml)
  localparam logic [31:0] ProcessorStackBytes = 32'h2000;

  // Memory is below this address. How much there is depends on the board. (processor.toml)
  localparam logic [31:0] ProcessorMemoryLimit = 32'h40000000;

  // Address of the register block `processor` (processor.toml)
  localparam logic [31:0] ProcessorRegistersBase = 32'h40000000;

  // Address of the register block `mgmt`, for whole words only (processor.toml)
  localparam logic [31:0] ProcessorManagementBase = 32'h80000000;

  // Of `processor_settings` in the firmware's image (processor.toml)
  localparam logic [31:0] ProcessorSettingsOffset = 32'h8;

  // "VERI" as bytes: an image with other bytes here is no firmware for this processor (processor.toml)
  localparam logic [31:0] ProcessorSettingsMagic = 32'h49524556;

  // Profile of a device that was created without a profile: vireo. (profiles.toml)
  localparam logic [7:0] ProfileDefault = 8'h1;

  // Virtqueue of CQ `cqn` (0 … M - 1): 2N + rdma_completeq_offset + cqn. [RFC v2, Virtqueues] (roce.toml)
  localparam logic [15:0] RdmaCompleteqOffset = 16'h1;

  // Send queue of QP `qpn` (0 … L - 1): 2N + M + rdma_transmitq_offset + 2 qpn. [RFC v2, Virtqueues] (roce.toml)
  localparam logic [15:0] RdmaTransmitqOffset = 16'h1;

  // Receive queue of QP `qpn`: 2N + M + rdma_receiveq_offset + 2 qpn. [RFC v2, Virtqueues] (roce.toml)
  localparam logic [15:0] RdmaReceiveqOffset = 16'h2;

  // Event queue (vireo only): 2N + M + 2L + rdma_eventq_offset, after the last QP's receive queue. [docs/decisions/0003] (roce.toml)
  localparam logic [15:0] RdmaEventqOffset = 16'h1;

  // Lowest number that create_qp assigns to an RC, UC or UD QP. The same number is used on the wire and for the virtqueues. 0 (SMI) is never assigned, gsi_qpn only to the GSI QP; the virtqueues of both count in max_rdma_qps nevertheless. [IBTA vol. 1, 3.5.1] (roce.toml)
  localparam logic [23:0] RdmaFirstQpn = 24'h2;

  // Lowest legal max_rdma_qps; useful from rdma_first_qpn + 1. [RFC v2, Device configuration layout] (roce.toml)
  localparam logic [15:0] RdmaQpsMin = 16'h1;

  // Highest legal max_rdma_qps: a quarter of 65536 virtqueues, as two belong to each QP. [RFC v2, Device configuration layout] (roce.toml)
  localparam logic [15:0] RdmaQpsMax = 16'h4000;

  // Lowest legal max_rdma_cqs. [RFC v2, Device configuration layout] (roce.toml)
  localparam logic [15:0] RdmaCqsMin = 16'h1;

  // Highest legal max_rdma_cqs. [RFC v2, Device configuration layout] (roce.toml)
  localparam logic [15:0] RdmaCqsMax = 16'h4000;

  // Highest legal gid_tbl_len: add_gid has 16 bits for the index, but rdma_global_route.sgid_index has 8. [RFC v2, MODIFY_QP and ADD_GID] (roce.toml)
  localparam logic [15:0] RdmaGidsMax = 16'h100;

  // Room for inline data in rdma_sq_req; every device accepts a max_inline_data up to this. [RFC v2, RoCE Support] (roce.toml)
  localparam logic [15:0] RdmaInlineBytes = 16'h200;

  // Bytes in front of the payload of every UD receive, part of byte_len: the GRH (an IPv6 header). For IPv4 the header is in the last 20 of them, the first 20 are 0. [IBTA Annex A17; as libibverbs programs expect] (roce.toml)
  localparam logic [7:0] RdmaUdGrhBytes = 8'h28;

  // Page size of reg_user_mr if page_shift is 0, and always in rfc-v2: 4096 bytes. (roce.toml)
  localparam logic [7:0] RdmaPageShiftDefault = 8'hc;

  // Smallest page_shift other than 0. (roce.toml)
  localparam logic [7:0] RdmaPageShiftMin = 8'hc;

  // Largest page_shift: 1 GiB. page_size_cap lists the sizes that a device supports. (roce.toml)
  localparam logic [7:0] RdmaPageShiftMax = 8'h1e;

  // Number of the only port, as in port events. (roce.toml)
  localparam logic [7:0] RdmaPortNum = 8'h1;

  // Offset of the register that arms a CQ without a command (vireo only): after the notification word in its notify page. [docs/decisions/0003] (roce.toml)
  localparam logic [7:0] RdmaCqArmOffset = 8'h4;

  // The version of rdma_sq_base, and of the elements after it. [docs/decisions/0024] (roce.toml)
  localparam logic [7:0] RdmaSqVersion = 8'h1;

  // Offset in a send queue's notify page of what is pushed, in writes of 8 bytes in the order of their addresses: the device address of the work request's memory, then the work request, padded with zeros to a multiple of 8 bytes. A write of rdma_push ends it. [docs/decisions/0029] (roce.toml)
  localparam logic [11:0] RdmaPushOffset = 12'h40;

  // Offset of rdma_push in a send queue's notify page. [docs/decisions/0029] (roce.toml)
  localparam logic [11:0] RdmaPushEndOffset = 12'h8;

  // The longest work request that can be pushed. [docs/decisions/0029] (roce.toml)
  localparam logic [7:0] RdmaPushMost = 8'h40;

  // rdma_cq_base.version of a completion with elements; 0: it is an rdma_cq_req [docs/decisions/0039] (roce.toml)
  localparam logic [7:0] RdmaCqVersion = 8'h1;

  // Length of mac_filter. If more addresses are needed, firmware sets mgmt.rx_mode's all_unicast or all_multicast instead. (tables.toml)
  localparam logic [15:0] TableMacFilterEntries = 16'h40;

  // VLAN identifiers in an entry of vlan_filter: entry v / 32, bit v % 32. (tables.toml)
  localparam logic [7:0] TableVlanFilterBits = 8'h20;

  // Longest hash key: rss_max_key_size. (tables.toml)
  localparam logic [7:0] TableRssKeyBytes = 8'h28;

  // Longest indirection table: rss_max_indirection_table_length. (tables.toml)
  localparam logic [15:0] TableRssQueues = 16'h80;

  // Maximum length of a small read or write (dma_fetch, dma_store). (tokens.toml)
  localparam logic [7:0] DmaFetchBytes = 8'h40;

  // Small reads that a client may have outstanding: response slots. (tokens.toml)
  localparam logic [7:0] DmaFetchDepth = 8'h20;

  // Latency from a BAR read access to its response, for every address. (tokens.toml)
  localparam logic [7:0] BarReadLatency = 8'h4;

  // Most buffers that one buffer_request of send asks for, if other queue pairs ask, too. (tokens.toml)
  localparam logic [5:0] BuffersPerRequest = 6'h8;

  // Most buffers that one buffer_request of receive asks for. (tokens.toml)
  localparam logic [5:0] ReceiveBuffersPerRequest = 6'h20;

  // Most buffers that one buffer_request of send asks for, if no other queue pair asks. (tokens.toml)
  localparam logic [5:0] SendBuffersPerRequest = 6'h20;

  // Most buffers that one buffer_request of net_transmit, net_receive or completion asks for: the entries of a split ring that one read brings. (tokens.toml)
  localparam logic [5:0] NetBuffersPerRequest = 6'h20;

  // A received net frame is written in runs that end at multiples of this, or with their descriptor. The write port serves its clients in turn, a write of each, so a longer one would delay every used element and used index by as much. (tokens.toml)
  localparam logic [15:0] NetWriteBytes = 16'h200;

  // Generations are numbered modulo this. An older one that has the number of one in progress by chance is waited for without need. (tokens.toml)
  localparam logic [7:0] KeyGenerations = 8'h10;

  // Payload that a packet may carry with it, from an extensible work request, where that is one beat of the data path. (tokens.toml)
  localparam logic [7:0] TxInlineBytes = 8'h20;

  // A request packet sets ack_req if it is the last of its message or its PSN + 1 is a multiple of this. (tokens.toml)
  localparam logic [7:0] SendAckPackets = 8'h40;

  // Work requests that are read and go between two bursts of long messages, if they are there. (tokens.toml)
  localparam logic [1:0] SendReadsPerBurst = 2'h2;

  // Length and alignment of the operand of an atomic operation. (tokens.toml)
  localparam logic [7:0] AtomicBytes = 8'h8;

  // Atomic operations that are being executed at a time; no two of them at one address. (tokens.toml)
  localparam logic [7:0] AtomicsInFlight = 8'h10;

  // Net frames that are being read from host memory or wait for it. (tokens.toml)
  localparam logic [7:0] NetTxFrames = 8'h40;

  // Longest chain of a net buffer; also the maximum number of buffers of one received frame. (tokens.toml)
  localparam logic [7:0] NetChainDescriptors = 8'h40;

  // Receive buffers of a net queue pair that are prefetched. (tokens.toml)
  localparam logic [7:0] NetReceivesAhead = 8'h40;

  // Feature bits that device and driver exchange: four 32-bit windows. 128 and above are reserved. [virtio 1.3, 2.2] (virtio.toml)
  localparam logic [7:0] VirtioFeatureBits = 8'h80;

  // Feature bits 0 to 23 belong to the device type (net_feature); 24 to 41 are virtio_feature, 42 to 49 reserved. [virtio 1.3, 2.2] (virtio.toml)
  localparam logic [7:0] VirtioFeatureDeviceLowEnd = 8'h18;

  // Feature bits 50 to 127 belong to the device type, too. [virtio 1.3, 2.2] (virtio.toml)
  localparam logic [7:0] VirtioFeatureDeviceHigh = 8'h32;

  // No vector: no interrupt for this event. All vectors read so after reset. [virtio 1.3, 4.1.5.1.2; linux/virtio_pci.h] (virtio.toml)
  localparam logic [15:0] VirtioMsiNoVector = 16'hffff;

  // Queue indices are 0 to 65535. Vireo stays below notify_queues_max. [virtio 1.3, 2.6] (virtio.toml)
  localparam logic [31:0] VirtioQueuesMax = 32'h10000;

  // Largest split queue; sizes are powers of 2, indices count modulo 65536. [virtio 1.3, 2.7] (virtio.toml)
  localparam logic [15:0] VirtqSizeMax = 16'h8000;

  // Alignment of the descriptor table, which has 16 * size bytes. [virtio 1.3, 2.7; linux/virtio_ring.h] (virtio.toml)
  localparam logic [7:0] VirtqDescAlign = 8'h10;

  // Alignment of the available ring, which has 6 + 2 * size bytes. [virtio 1.3, 2.7; linux/virtio_ring.h] (virtio.toml)
  localparam logic [7:0] VirtqAvailAlign = 8'h2;

  // Alignment of the used ring, which has 6 + 8 * size bytes. [virtio 1.3, 2.7; linux/virtio_ring.h] (virtio.toml)
  localparam logic [7:0] VirtqUsedAlign = 8'h4;

  // Largest packed queue; any size, not only powers of 2. [virtio 1.3, 2.8 and 2.8.10.1] (virtio.toml)
  localparam logic [15:0] PvirtqSizeMax = 16'h8000;

  // Alignment of a descriptor ring, which has 16 * size bytes. [virtio 1.3, 2.8.10.1] (virtio.toml)
  localparam logic [7:0] PvirtqDescAlign = 8'h10;

  // Alignment of each event suppression structure. [virtio 1.3, 2.8.10.1] (virtio.toml)
  localparam logic [7:0] PvirtqEventSuppressAlign = 8'h4;

  // Shortest frame without FCS; shorter ones are padded with zeros. [IEEE 802.3, 3.2.8] (wire.toml)
  localparam logic [7:0] EthernetFrameBytesMin = 8'h3c;

  // Destination port of every RoCEv2 datagram. [IANA service names; IBTA A17.4.3] (wire.toml)
  localparam logic [15:0] UdpPortRocev2 = 16'h12b7;

  // Source ports are this plus 14 bits of flow entropy, so that switches spread flows over paths. [IBTA A17.4.3 (dynamic port range); Linux rxe does the same] (wire.toml)
  localparam logic [15:0] UdpSourcePortBase = 16'hc000;

  // A local ACK timeout code T (1 … 31) means this times 2^T; 0 switches the timer off. [IBTA vol. 1, 9.7.6.1.3] (wire.toml)
  localparam logic [15:0] LocalAckTimeoutUnitNs = 16'h1000;

  // Invariant CRC after payload and pad: the last bytes of the IP datagram, least significant byte first. [IBTA vol. 1, 7.8.1; A17.3.3] (wire.toml)
  localparam logic [7:0] IcrcBytes = 8'h4;

  // Reflected CRC-32 of IEEE 802.3; state starts as all ones and is inverted at the end. [IBTA vol. 1, 7.8.1] (wire.toml)
  localparam logic [31:0] IcrcPolynomial = 32'hedb88320;

  // All-ones bytes in place of the (absent) local route header before the IP header. [IBTA A17.3.3] (wire.toml)
  localparam logic [7:0] IcrcPrefixBytes = 8'h8;

  // CRC state after a correct packet with its ICRC, before the final inversion. [follows from the polynomial; proved by verif/rdma/icrc_test.cc] (wire.toml)
  localparam logic [31:0] IcrcResidue = 32'hdebb20e3;

  // Default partition, full member: the only entry of Vireo's P_Key table. [IBTA vol. 1, 10.9.1.2] (wire.toml)
  localparam logic [15:0] PkeyDefault = 16'hffff;

  // Width of PSN and MSN; half of the range is valid ahead of the expected PSN. [IBTA vol. 1, 9.7.1] (wire.toml)
  localparam logic [7:0] PsnBits = 8'h18;

  // Queue pair of the general services interface (CM). [IBTA vol. 1, 3.9] (wire.toml)
  localparam logic [23:0] GsiQpn = 24'h1;

  // Q_Key of QP1. [IBTA vol. 1, 10.2.5] (wire.toml)
  localparam logic [31:0] GsiQkey = 32'h80010000;

  // Destination QP of multicast datagrams. [IBTA vol. 1, 9.2.4] (wire.toml)
  localparam logic [23:0] MulticastQpn = 24'hffffff;

  // Words of 64 bits that the management block keeps of an entry, from its first byte on, by `mgmt_table`: what firmware reads to change it, or when it removes the object. 0: a read is an error. Of rss only entry 0 is kept. (tables.toml)
  localparam logic [11:0][7:0] TableKeptWords = {
    8'h0,
    8'h7,
    8'h1,
    8'h0,
    8'h3,
    8'h1,
    8'h0,
    8'h4,
    8'h1,
    8'ha,
    8'h0,
    8'h3
  };

  // Features that the device offers, 32 bits to a word: ring_indirect_desc, ring_event_idx, version_1, access_platform, ring_packed, ring_reset; csum, guest_csum, ctrl_guest_offloads, mtu, mac, mrg_rxbuf, status, ctrl_vq, ctrl_rx, ctrl_vlan, ctrl_rx_extra, mq, ctrl_mac_addr, vq_notf_coal and notf_coal of a net device, except those in the profile's net_features_withheld. The profile's net_f_roce is added. [virtio 1.3, 2.2 and 6; the choice is Vireo's] (virtio.toml)
  localparam logic [3:0][31:0] OfferedFeatures = {
    32'h0,
    32'h0,
    32'h300107,
    32'h30df802f
  };

  // Credit count of an acknowledge by its 5-bit code; 31 means that credits are not used, here 0xffff. [IBTA vol. 1, table 46] (wire.toml)
  localparam logic [31:0][15:0] AethCredits = {
    16'hffff,
    16'h8000,
    16'h6000,
    16'h4000,
    16'h3000,
    16'h2000,
    16'h1800,
    16'h1000,
    16'hc00,
    16'h800,
    16'h600,
    16'h400,
    16'h300,
    16'h200,
    16'h180,
    16'h100,
    16'hc0,
    16'h80,
    16'h60,
    16'h40,
    16'h30,
    16'h20,
    16'h18,
    16'h10,
    16'hc,
    16'h8,
    16'h6,
    16'h4,
    16'h3,
    16'h2,
    16'h1,
    16'h0
  };

  // How long a requester waits after an RNR NAK, by its 5-bit timer code. [IBTA vol. 1, table 47] (wire.toml)
  localparam logic [31:0][31:0] RnrTimerNs = {
    32'h1d4c0000,
    32'h13880000,
    32'hea60000,
    32'h9c40000,
    32'h7530000,
    32'h4e20000,
    32'h3a98000,
    32'h2710000,
    32'h1d4c000,
    32'h1388000,
    32'hea6000,
    32'h9c4000,
    32'h753000,
    32'h4e2000,
    32'h3a9800,
    32'h271000,
    32'h1d4c00,
    32'h138800,
    32'hea600,
    32'h9c400,
    32'h75300,
    32'h4e200,
    32'h3a980,
    32'h27100,
    32'h1d4c0,
    32'h13880,
    32'hea60,
    32'h9c40,
    32'h7530,
    32'h4e20,
    32'h2710,
    32'h27100000
  };

  // Kinds of frames. A frame with a wrong CRC, an unknown kind or an unexpected sequence number is ignored; a repeated question is answered again and not executed again. (board.toml)
  typedef enum logic [7:0] {
    BoardFrameHello = 8'h1,
    BoardFrameData = 8'h2,
    BoardFrameMore = 8'h3,
    BoardFrameNoSession = 8'h4
  } board_frame_e;

  // Commands, each followed by its structure. What enters the device enters in the next cycle that is run, for that cycle. An unknown command ends execution of its session: its frame is answered by `refused`. (board.toml)
  typedef enum logic [7:0] {
    BoardCommandReset = 8'h1,
    BoardCommandRun = 8'h2,
    BoardCommandTime = 8'h3,
    BoardCommandControls = 8'h4,
    BoardCommandBar = 8'h5,
    BoardCommandCsr = 8'h6,
    BoardCommandCredits = 8'h7,
    BoardCommandRefuse = 8'h8,
    BoardCommandReadBeats = 8'h9,
    BoardCommandFrameBeats = 8'ha,
    BoardCommandLoad = 8'hb,
    BoardCommandStart = 8'hc,
    BoardCommandAdmit = 8'hd
  } board_command_e;

  // Events, each followed by its structure. Those of a run come in the order of their cycles, within a cycle in the order of their numbers; the last is `ran`. (board.toml)
  typedef enum logic [7:0] {
    BoardEventBarAnswer = 8'h1,
    BoardEventCsrAnswer = 8'h2,
    BoardEventInterrupt = 8'h3,
    BoardEventRead = 8'h4,
    BoardEventWriteBeat = 8'h5,
    BoardEventWriteStart = 8'h6,
    BoardEventMsix = 8'h7,
    BoardEventTransmit = 8'h8,
    BoardEventAccess = 8'h9,
    BoardEventRan = 8'ha,
    BoardEventConsole = 8'hb,
    BoardEventRefused = 8'hc
  } board_event_e;

  // Tables of the datapath that firmware fills through table_command. (csr.toml)
  typedef enum logic [7:0] {
    MgmtTableVirtqueue = 8'h0,
    MgmtTableWindow = 8'h1,
    MgmtTableQpContext = 8'h2,
    MgmtTableCqContext = 8'h3,
    MgmtTableMr = 8'h4,
    MgmtTableTranslation = 8'h5,
    MgmtTableAh = 8'h6,
    MgmtTableGid = 8'h7,
    MgmtTableMacFilter = 8'h8,
    MgmtTableVlanFilter = 8'h9,
    MgmtTableRss = 8'ha,
    MgmtTableMcast = 8'hb
  } mgmt_table_e;

  // What table_command does with the entry. (csr.toml)
  typedef enum logic [1:0] {
    MgmtTableOperationRead = 2'h0,
    MgmtTableOperationWrite = 2'h1,
    MgmtTableOperationClear = 2'h2
  } mgmt_table_operation_e;

  // Operation that qp_command requests. (csr.toml)
  typedef enum logic [2:0] {
    QpOperationStart = 3'h0,
    QpOperationDrain = 3'h1,
    QpOperationFlush = 3'h2,
    QpOperationStop = 3'h3
  } qp_operation_e;

  // Memories whose entries have a parity bit: firmware's contexts in the management block, and what the datapath uses. (csr.toml)
  typedef enum logic [7:0] {
    ContextRamManagementContext = 8'h0,
    ContextRamManagementQueueRow = 8'hb,
    ContextRamManagementEngineState = 8'hc,
    ContextRamMemoryCheckMr = 8'hd,
    ContextRamMemoryCheckTranslation = 8'he,
    ContextRamDescFetchServed = 8'hf,
    ContextRamDescFetchArea = 8'h10,
    ContextRamDescFetchSize = 8'h11,
    ContextRamDescFetchDescriptors = 8'h12,
    ContextRamDescFetchWindow = 8'h13,
    ContextRamRequesterQp = 8'h14,
    ContextRamRequesterAh = 8'h15,
    ContextRamResponderQp = 8'h16,
    ContextRamNetFilterMac = 8'h17,
    ContextRamNetFilterVlan = 8'h18,
    ContextRamModerationLimits = 8'h19,
    ContextRamModerationCount = 8'h1a,
    ContextRamQpControlQueue = 8'h1b,
    ContextRamQpControlCqs = 8'h1c,
    ContextRamQpControlRequested = 8'h1d,
    ContextRamQpControlState = 8'h1e,
    ContextRamTxBuilderQp = 8'h1f,
    ContextRamTxBuilderAh = 8'h20,
    ContextRamReadResponderQp = 8'h21,
    ContextRamCompleterQp = 8'h22,
    ContextRamCqWriterRow = 8'h23,
    ContextRamCqWriterKind = 8'h24,
    ContextRamCqWriterCq = 8'h25,
    ContextRamManagementMrBinding = 8'h26
  } context_ram_e;

  // Result of the receive parser: the first check that applies, in this order. Everything but `roce` and `net` is counted and dropped. [IBTA vol. 1, 9.6 and A17.4 for the checks of RoCEv2 packets] (csr.toml)
  typedef enum logic [3:0] {
    RxVerdictRoce = 4'h0,
    RxVerdictNet = 4'h1,
    RxVerdictTruncated = 4'h2,
    RxVerdictIpHeader = 4'h3,
    RxVerdictIpFragment = 4'h4,
    RxVerdictUdpLength = 4'h5,
    RxVerdictIcrc = 4'h6,
    RxVerdictTransportVersion = 4'h7,
    RxVerdictOpcode = 4'h8,
    RxVerdictLength = 4'h9
  } rx_verdict_e;

  // Why the device stopped and needs a reset. A failure of a virtqueue, the control queue included, is none: it stops that queue alone. 2 was the control queue's. (csr.toml)
  typedef enum logic [3:0] {
    FatalCauseNone = 4'h0,
    FatalCauseFirmware = 4'h1,
    FatalCauseBus = 4'h3,
    FatalCauseMemory = 4'h4
  } fatal_cause_e;

  // Ack byte of RoCE commands in profile `vireo`, and `code` of events. 0 and 1 are net_ctrl_ack's own values. [docs/decisions/0003] (errors.toml)
  typedef enum logic [7:0] {
    RdmaErrorOk = 8'h0,
    RdmaErrorErr = 8'h1,
    RdmaErrorUnsupportedCommand = 8'h2,
    RdmaErrorFeatureNotNegotiated = 8'h3,
    RdmaErrorRequestTooShort = 8'h4,
    RdmaErrorResponseTooShort = 8'h5,
    RdmaErrorDmaError = 8'h6,
    RdmaErrorInternal = 8'h7,
    RdmaErrorBadPdn = 8'h10,
    RdmaErrorBadCqn = 8'h11,
    RdmaErrorBadQpn = 8'h12,
    RdmaErrorBadMrn = 8'h13,
    RdmaErrorBadAh = 8'h14,
    RdmaErrorBadGidIndex = 8'h15,
    RdmaErrorBadVqIndex = 8'h16,
    RdmaErrorHandleBusy = 8'h17,
    RdmaErrorBadSrqn = 8'h18,
    RdmaErrorInvalidParameter = 8'h30,
    RdmaErrorUnsupportedQpType = 8'h31,
    RdmaErrorBadAccessFlags = 8'h32,
    RdmaErrorCapCqeExceeded = 8'h33,
    RdmaErrorCapWrExceeded = 8'h34,
    RdmaErrorCapSgeExceeded = 8'h35,
    RdmaErrorCapInlineExceeded = 8'h36,
    RdmaErrorUnsupportedCqElement = 8'h37,
    RdmaErrorNotAUdQp = 8'h38,
    RdmaErrorCurStateMismatch = 8'h40,
    RdmaErrorInvalidStateTransition = 8'h41,
    RdmaErrorMissingAttribute = 8'h42,
    RdmaErrorAttributeNotAllowed = 8'h43,
    RdmaErrorInvalidAttribute = 8'h44,
    RdmaErrorInvalidAddress = 8'h45,
    RdmaErrorQueueNotReady = 8'h46,
    RdmaErrorInvalidLength = 8'h50,
    RdmaErrorInvalidPageSize = 8'h51,
    RdmaErrorPageListTooLong = 8'h52,
    RdmaErrorPageCountMismatch = 8'h53,
    RdmaErrorUnalignedPage = 8'h54,
    RdmaErrorUnsupportedGidType = 8'h60,
    RdmaErrorInvalidVlan = 8'h61,
    RdmaErrorInvalidGid = 8'h62,
    RdmaErrorGidIndexInUse = 8'h63,
    RdmaErrorGidDuplicate = 8'h64,
    RdmaErrorInvalidWindow = 8'h65,
    RdmaErrorNotAttached = 8'h66,
    RdmaErrorNoFreePd = 8'h70,
    RdmaErrorNoFreeCq = 8'h71,
    RdmaErrorNoFreeQp = 8'h72,
    RdmaErrorNoFreeMr = 8'h73,
    RdmaErrorNoFreeAh = 8'h74,
    RdmaErrorNoFreePages = 8'h75,
    RdmaErrorNoFreeSrq = 8'h76,
    RdmaErrorNoFreeMcast = 8'h77,
    RdmaErrorWindowViolation = 8'h80,
    RdmaErrorBadDescriptor = 8'h81,
    RdmaErrorBadWqe = 8'h82,
    RdmaErrorCqOverrun = 8'h83,
    RdmaErrorCqFailed = 8'h84,
    RdmaErrorQueueReset = 8'h85,
    RdmaErrorQueueDmaError = 8'h86,
    RdmaErrorRetryExceeded = 8'h87,
    RdmaErrorRnrRetryExceeded = 8'h88,
    RdmaErrorRemoteInvalidRequest = 8'h89,
    RdmaErrorRemoteAccessError = 8'h8a,
    RdmaErrorRemoteOperationalError = 8'h8b,
    RdmaErrorBadResponse = 8'h8c
  } rdma_error_e;

  // Numbers of the feature bits of a network device. Not assigned: 4, 58 and everything above 70. [virtio 1.3, 5.1.3 (50, 64 to 70: 1.4); linux/virtio_net.h (not 51, 64, 69, 70)] (net.toml)
  typedef enum logic [7:0] {
    NetFeatureCsum = 8'h0,
    NetFeatureGuestCsum = 8'h1,
    NetFeatureCtrlGuestOffloads = 8'h2,
    NetFeatureMtu = 8'h3,
    NetFeatureMac = 8'h5,
    NetFeatureGso = 8'h6,
    NetFeatureGuestTso4 = 8'h7,
    NetFeatureGuestTso6 = 8'h8,
    NetFeatureGuestEcn = 8'h9,
    NetFeatureGuestUfo = 8'ha,
    NetFeatureHostTso4 = 8'hb,
    NetFeatureHostTso6 = 8'hc,
    NetFeatureHostEcn = 8'hd,
    NetFeatureHostUfo = 8'he,
    NetFeatureMrgRxbuf = 8'hf,
    NetFeatureStatus = 8'h10,
    NetFeatureCtrlVq = 8'h11,
    NetFeatureCtrlRx = 8'h12,
    NetFeatureCtrlVlan = 8'h13,
    NetFeatureCtrlRxExtra = 8'h14,
    NetFeatureGuestAnnounce = 8'h15,
    NetFeatureMq = 8'h16,
    NetFeatureCtrlMacAddr = 8'h17,
    NetFeatureGuestRsc4 = 8'h29,
    NetFeatureGuestRsc6 = 8'h2a,
    NetFeatureDeviceStats = 8'h32,
    NetFeatureHashTunnel = 8'h33,
    NetFeatureVqNotfCoal = 8'h34,
    NetFeatureNotfCoal = 8'h35,
    NetFeatureGuestUso4 = 8'h36,
    NetFeatureGuestUso6 = 8'h37,
    NetFeatureHostUso = 8'h38,
    NetFeatureHashReport = 8'h39,
    NetFeatureGuestHdrlen = 8'h3b,
    NetFeatureRss = 8'h3c,
    NetFeatureRscExt = 8'h3d,
    NetFeatureStandby = 8'h3e,
    NetFeatureSpeedDuplex = 8'h3f,
    NetFeatureRssContext = 8'h40,
    NetFeatureGuestUdpTunnelGso = 8'h41,
    NetFeatureGuestUdpTunnelGsoCsum = 8'h42,
    NetFeatureHostUdpTunnelGso = 8'h43,
    NetFeatureHostUdpTunnelGsoCsum = 8'h44,
    NetFeatureOutNetHeader = 8'h45,
    NetFeatureIpsec = 8'h46
  } net_feature_e;

  // Duplex mode. Every other value means unknown as well. [virtio 1.3, 5.1.4 (5.1.4.1 has half and full the wrong way round); linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetDuplexHalf = 8'h0,
    NetDuplexFull = 8'h1,
    NetDuplexUnknown = 8'hff
  } net_duplex_e;

  // Segmentation of a packet to send, or merging of a received one. Others are invalid. [virtio 1.3, 5.1.6; linux/virtio_net.h (VIRTIO_NET_HDR_GSO)] (net.toml)
  typedef enum logic [4:0] {
    NetHdrGsoNone = 5'h0,
    NetHdrGsoTcpv4 = 5'h1,
    NetHdrGsoUdp = 5'h3,
    NetHdrGsoTcpv6 = 5'h4,
    NetHdrGsoUdpL4 = 5'h5
  } net_hdr_gso_e;

  // Input of hash_value. [virtio 1.3, 5.1.6.4.5; linux/virtio_net.h] (net.toml)
  typedef enum logic [15:0] {
    NetHashReportNone = 16'h0,
    NetHashReportIpv4 = 16'h1,
    NetHashReportTcpv4 = 16'h2,
    NetHashReportUdpv4 = 16'h3,
    NetHashReportIpv6 = 16'h4,
    NetHashReportTcpv6 = 16'h5,
    NetHashReportUdpv6 = 16'h6,
    NetHashReportIpv6Ex = 16'h7,
    NetHashReportTcpv6Ex = 16'h8,
    NetHashReportUdpv6Ex = 16'h9
  } net_hash_report_e;

  // First byte that the device writes for a command. [virtio 1.3, 5.1.6.5; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlAckOk = 8'h0,
    NetCtrlAckErr = 8'h1
  } net_ctrl_ack_e;

  // Command classes that virtio assigned. The RoCE class differs between profiles and is not here. [virtio 1.3, 5.1.6.5 (8 and 9: 1.4); linux/virtio_net.h (not 7 and 9)] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlClassRx = 8'h0,
    NetCtrlClassMac = 8'h1,
    NetCtrlClassVlan = 8'h2,
    NetCtrlClassAnnounce = 8'h3,
    NetCtrlClassMq = 8'h4,
    NetCtrlClassGuestOffloads = 8'h5,
    NetCtrlClassNotfCoal = 8'h6,
    NetCtrlClassHashTunnel = 8'h7,
    NetCtrlClassStats = 8'h8,
    NetCtrlClassRssCtx = 8'h9
  } net_ctrl_class_e;

  // Commands of class rx. 0 and 1 come with ctrl_rx, the others with ctrl_rx_extra. [virtio 1.3, 5.1.6.5.1; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlRxCmdPromisc = 8'h0,
    NetCtrlRxCmdAllmulti = 8'h1,
    NetCtrlRxCmdAlluni = 8'h2,
    NetCtrlRxCmdNomulti = 8'h3,
    NetCtrlRxCmdNouni = 8'h4,
    NetCtrlRxCmdNobcast = 8'h5
  } net_ctrl_rx_cmd_e;

  // Commands of class mac. [virtio 1.3, 5.1.6.5.2; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlMacCmdTableSet = 8'h0,
    NetCtrlMacCmdAddrSet = 8'h1
  } net_ctrl_mac_cmd_e;

  // Commands of class vlan. The filter is empty after ctrl_vlan was accepted and applies to tagged packets only. [virtio 1.3, 5.1.6.5.3; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlVlanCmdAdd = 8'h0,
    NetCtrlVlanCmdDel = 8'h1
  } net_ctrl_vlan_cmd_e;

  // Commands of class announce. [virtio 1.3, 5.1.6.5.4; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlAnnounceCmdAck = 8'h0
  } net_ctrl_announce_cmd_e;

  // Commands of class mq; the last one sent decides how packets are steered. [virtio 1.3, 5.1.6.5.5; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlMqCmdVqPairsSet = 8'h0,
    NetCtrlMqCmdRssConfig = 8'h1,
    NetCtrlMqCmdHashConfig = 8'h2
  } net_ctrl_mq_cmd_e;

  // Commands of class guest_offloads. [virtio 1.3, 5.1.6.5.8; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlGuestOffloadsCmdSet = 8'h0
  } net_ctrl_guest_offloads_cmd_e;

  // Commands of class notf_coal. The last setting of a queue applies; 0 after reset, tx_set's and rx_set's after re-enabling. [virtio 1.3, 5.1.6.5.9; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlNotfCoalCmdTxSet = 8'h0,
    NetCtrlNotfCoalCmdRxSet = 8'h1,
    NetCtrlNotfCoalCmdVqSet = 8'h2,
    NetCtrlNotfCoalCmdVqGet = 8'h3
  } net_ctrl_notf_coal_cmd_e;

  // Commands of class hash_tunnel. [virtio 1.3, 5.1.6.4.4] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlHashTunnelCmdSet = 8'h0
  } net_ctrl_hash_tunnel_cmd_e;

  // Commands of class rss_ctx. [virtio 1.4, 5.1.6.5, RSS Context (VIRTNET_RSS_CTX_CTRL)] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlRssCtxCmdCapGet = 8'h0,
    NetCtrlRssCtxCmdAdd = 8'h1,
    NetCtrlRssCtxCmdMod = 8'h2,
    NetCtrlRssCtxCmdDel = 8'h3
  } net_ctrl_rss_ctx_cmd_e;

  // Commands of class stats. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  typedef enum logic [7:0] {
    NetCtrlStatsCmdQuery = 8'h0,
    NetCtrlStatsCmdGet = 8'h1
  } net_ctrl_stats_cmd_e;

  // Kind of statistics in a reply. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h (VIRTIO_NET_STATS_TYPE_REPLY)] (net.toml)
  typedef enum logic [7:0] {
    NetStatsReplyTypeRxBasic = 8'h0,
    NetStatsReplyTypeRxCsum = 8'h1,
    NetStatsReplyTypeRxGso = 8'h2,
    NetStatsReplyTypeRxSpeed = 8'h3,
    NetStatsReplyTypeTxBasic = 8'h10,
    NetStatsReplyTypeTxCsum = 8'h11,
    NetStatsReplyTypeTxGso = 8'h12,
    NetStatsReplyTypeTxSpeed = 8'h13,
    NetStatsReplyTypeCvq = 8'h20
  } net_stats_reply_type_e;

  // High 3 bits of a BTH opcode. [IBTA vol. 1, table 38] (opcodes.toml)
  typedef enum logic [2:0] {
    BthServiceRc = 3'h0,
    BthServiceUc = 3'h1,
    BthServiceRd = 3'h2,
    BthServiceUd = 3'h3,
    BthServiceCnp = 3'h4,
    BthServiceXrc = 3'h5
  } bth_service_e;

  // Operation of a packet; Vireo's own numbering, not on the wire. (opcodes.toml)
  typedef enum logic [3:0] {
    BthOperationNone = 4'h0,
    BthOperationSend = 4'h1,
    BthOperationRdmaWrite = 4'h2,
    BthOperationRdmaReadRequest = 4'h3,
    BthOperationRdmaReadResponse = 4'h4,
    BthOperationAcknowledge = 4'h5,
    BthOperationAtomicAcknowledge = 4'h6,
    BthOperationCompareSwap = 4'h7,
    BthOperationFetchAdd = 4'h8,
    BthOperationFlush = 4'h9,
    BthOperationAtomicWrite = 4'ha,
    BthOperationCongestionNotification = 4'hb
  } bth_operation_e;

  // Position of a packet in its message; Vireo's own numbering. Bit 0: starts a message, bit 1: ends it. (opcodes.toml)
  typedef enum logic [1:0] {
    PacketPositionMiddle = 2'h0,
    PacketPositionFirst = 2'h1,
    PacketPositionLast = 2'h2,
    PacketPositionOnly = 2'h3
  } packet_position_e;

  // How many payload bytes a packet carries; Vireo's own numbering for the column `payload`. (opcodes.toml)
  typedef enum logic [2:0] {
    PayloadRuleNone = 3'h0,
    PayloadRuleMtu = 3'h1,
    PayloadRuleOneToMtu = 3'h2,
    PayloadRuleZeroToMtu = 3'h3,
    PayloadRuleExact = 3'h4
  } payload_rule_e;

  // Address width of a memory BAR. [PCIe 5.0, 7.5.1.2.1] (pci.toml)
  typedef enum logic [1:0] {
    PciBarMemoryTypeMemory32 = 2'h0,
    PciBarMemoryTypeMemoryBelow = 2'h1,
    PciBarMemoryTypeMemory64 = 2'h2
  } pci_bar_memory_type_e;

  // First byte of a capability. Vireo has five vendor_specific, one msix and one pci_express; the rest is skipped by drivers. [PCI Code and ID Assignment, 2; linux/pci_regs.h] (pci.toml)
  typedef enum logic [7:0] {
    PciCapabilityIdPowerManagement = 8'h1,
    PciCapabilityIdVpd = 8'h3,
    PciCapabilityIdMsi = 8'h5,
    PciCapabilityIdVendorSpecific = 8'h9,
    PciCapabilityIdPciExpress = 8'h10,
    PciCapabilityIdMsix = 8'h11,
    PciCapabilityIdAdvancedFeatures = 8'h13
  } pci_capability_id_e;

  // Capabilities above pci_config_bytes. None is required; a word of 0 there ends the list. [PCI Code and ID Assignment, 3; linux/pci_regs.h] (pci.toml)
  typedef enum logic [15:0] {
    PcieExtendedCapabilityIdAdvancedErrorReporting = 16'h1,
    PcieExtendedCapabilityIdDeviceSerialNumber = 16'h3,
    PcieExtendedCapabilityIdVendorSpecific = 16'hb,
    PcieExtendedCapabilityIdAccessControlServices = 16'hd,
    PcieExtendedCapabilityIdAlternativeRoutingId = 16'he,
    PcieExtendedCapabilityIdAddressTranslation = 16'hf,
    PcieExtendedCapabilityIdSrIov = 16'h10,
    PcieExtendedCapabilityIdPageRequest = 16'h13,
    PcieExtendedCapabilityIdResizableBar = 16'h15,
    PcieExtendedCapabilityIdTphRequester = 16'h17,
    PcieExtendedCapabilityIdPasid = 16'h1b,
    PcieExtendedCapabilityIdDesignatedVendorSpecific = 16'h23
  } pcie_extended_capability_id_e;

  // Encoding of max payload size and max read request size: 128 bytes << value. 6 and 7 are reserved. [PCIe 5.0, 7.5.3.3 and 7.5.3.4] (pci.toml)
  typedef enum logic [2:0] {
    PcieSizeBytes128 = 3'h0,
    PcieSizeBytes256 = 3'h1,
    PcieSizeBytes512 = 3'h2,
    PcieSizeBytes1024 = 3'h3,
    PcieSizeBytes2048 = 3'h4,
    PcieSizeBytes4096 = 3'h5
  } pcie_size_e;

  // Device or port type. [PCIe 5.0, 7.5.3.2] (pci.toml)
  typedef enum logic [3:0] {
    PciePortTypeEndpoint = 4'h0,
    PciePortTypeLegacyEndpoint = 4'h1,
    PciePortTypeRootPort = 4'h4,
    PciePortTypeUpstreamPort = 4'h5,
    PciePortTypeDownstreamPort = 4'h6,
    PciePortTypePciBridge = 4'h7,
    PciePortTypePcieBridge = 4'h8,
    PciePortTypeRcEndpoint = 4'h9,
    PciePortTypeRcEventCollector = 4'ha
  } pcie_port_type_e;

  // Speed of one lane. [PCIe 5.0, 7.5.3.6; linux/pci_regs.h] (pci.toml)
  typedef enum logic [3:0] {
    PcieLinkSpeedGen1 = 4'h1,
    PcieLinkSpeedGen2 = 4'h2,
    PcieLinkSpeedGen3 = 4'h3,
    PcieLinkSpeedGen4 = 4'h4,
    PcieLinkSpeedGen5 = 4'h5,
    PcieLinkSpeedGen6 = 4'h6
  } pcie_link_speed_e;

  // Which structure a virtio_pci_cap locates. Others are reserved and skipped by drivers. [virtio 1.3, 4.1.4] (pci.toml)
  typedef enum logic [7:0] {
    VirtioPciCfgTypeCommonCfg = 8'h1,
    VirtioPciCfgTypeNotifyCfg = 8'h2,
    VirtioPciCfgTypeIsrCfg = 8'h3,
    VirtioPciCfgTypeDeviceCfg = 8'h4,
    VirtioPciCfgTypePciCfg = 8'h5,
    VirtioPciCfgTypeSharedMemoryCfg = 8'h8,
    VirtioPciCfgTypeVendorCfg = 8'h9
  } virtio_pci_cfg_type_e;

  // Why the control processor stopped. It takes firmware_ready away, so that the host learns that the device needs a reset, and starts again with it. (processor.toml)
  typedef enum logic [7:0] {
    ProcessorFailureNone = 8'h0,
    ProcessorFailureTrap = 8'h1,
    ProcessorFailureBus = 8'h2,
    ProcessorFailureWatchdog = 8'h3,
    ProcessorFailureFirmware = 8'h4
  } processor_failure_e;

  // Commands of class net_ctrl_class_roce. 32 … 127 are reserved for later versions of Vireo, 128 … 255 for experiments. [RFC v2, RoCE Configuration] (roce.toml)
  typedef enum logic [7:0] {
    RdmaCtrlCmdQueryDevice = 8'h0,
    RdmaCtrlCmdQueryPort = 8'h1,
    RdmaCtrlCmdCreateCq = 8'h2,
    RdmaCtrlCmdDestroyCq = 8'h3,
    RdmaCtrlCmdCreatePd = 8'h4,
    RdmaCtrlCmdDestroyPd = 8'h5,
    RdmaCtrlCmdGetDmaMr = 8'h6,
    RdmaCtrlCmdRegUserMr = 8'h7,
    RdmaCtrlCmdDeregMr = 8'h8,
    RdmaCtrlCmdCreateQp = 8'h9,
    RdmaCtrlCmdModifyQp = 8'ha,
    RdmaCtrlCmdQueryQp = 8'hb,
    RdmaCtrlCmdDestroyQp = 8'hc,
    RdmaCtrlCmdCreateAh = 8'hd,
    RdmaCtrlCmdDestroyAh = 8'he,
    RdmaCtrlCmdAddGid = 8'hf,
    RdmaCtrlCmdDelGid = 8'h10,
    RdmaCtrlCmdReqNotifyCq = 8'h11,
    RdmaCtrlCmdSetWindow = 8'h12,
    RdmaCtrlCmdCreateSrq = 8'h13,
    RdmaCtrlCmdModifySrq = 8'h14,
    RdmaCtrlCmdQuerySrq = 8'h15,
    RdmaCtrlCmdDestroySrq = 8'h16,
    RdmaCtrlCmdReregMr = 8'h17,
    RdmaCtrlCmdAllocMw = 8'h18,
    RdmaCtrlCmdDeallocMw = 8'h19,
    RdmaCtrlCmdAllocMr = 8'h1a,
    RdmaCtrlCmdQueryMr = 8'h1b,
    RdmaCtrlCmdCreateExtendedCq = 8'h1c,
    RdmaCtrlCmdQueryClock = 8'h1d,
    RdmaCtrlCmdAttachMcast = 8'h1e,
    RdmaCtrlCmdDetachMcast = 8'h1f
  } rdma_ctrl_cmd_e;

  // Type of a memory window. [IBTA vol. 1, 10.6.7.2; same numbers as enum ibv_mw_type] (roce.toml)
  typedef enum logic [7:0] {
    RdmaMwTypeType1 = 8'h1,
    RdmaMwTypeType2 = 8'h2
  } rdma_mw_type_e;

  // What an atomic operation of a peer excludes between its read and its write. [IBTA vol. 1, 9.4.5, 11.2.1.2; same numbers as enum ibv_atomic_cap] (roce.toml)
  typedef enum logic [7:0] {
    RdmaAtomicCapNone = 8'h0,
    RdmaAtomicCapHca = 8'h1,
    RdmaAtomicCapGlob = 8'h2
  } rdma_atomic_cap_e;

  // Transport service of a QP. 5 … 255 are reserved. [RFC v2, CREATE_QP; same numbers as enum ib_qp_type of Linux] (roce.toml)
  typedef enum logic [7:0] {
    IbQpTypeSmi = 8'h0,
    IbQpTypeGsi = 8'h1,
    IbQpTypeRc = 8'h2,
    IbQpTypeUc = 8'h3,
    IbQpTypeUd = 8'h4
  } ib_qp_type_e;

  // State of a QP. [RFC v2, MODIFY_QP; IBTA vol. 1, 10.3.1; same numbers as enum ibv_qp_state] (roce.toml)
  typedef enum logic [7:0] {
    IbQpStateReset = 8'h0,
    IbQpStateInit = 8'h1,
    IbQpStateRtr = 8'h2,
    IbQpStateRts = 8'h3,
    IbQpStateSqd = 8'h4,
    IbQpStateSqe = 8'h5,
    IbQpStateErr = 8'h6
  } ib_qp_state_e;

  // Path MTU: payload bytes of a full packet. [RFC v2, MODIFY_QP; same numbers as enum ibv_mtu] (roce.toml)
  typedef enum logic [7:0] {
    IbMtuMtu256 = 8'h1,
    IbMtuMtu512 = 8'h2,
    IbMtuMtu1024 = 8'h3,
    IbMtuMtu2048 = 8'h4,
    IbMtuMtu4096 = 8'h5
  } ib_mtu_e;

  // Operation of a send work request. 10 … 13 are reserved for verbs' numbers, 16 … 31 and 33 … 255 are reserved; all of these fail with loc_qp_op_err, and so do 5 and 6 on a device that is built without atomic operations, 7 and 9 on one without invalidation, 8 on one without memory windows, 14 on one without FLUSH, 15 on one without ATOMIC WRITE, 32 on one without fast registration. Drivers post 5 and 6 only if atomic_cap is not none, 7 and 9 only if invalidation is not 0, 8 only if max_mw is not 0, 14 only if flush has the placement, 15 only if atomic_write is not 0, 32 only if max_fast_mr_pages is not 0. [RFC v2, RoCE Support; same numbers as enum ibv_wr_opcode] (roce.toml)
  typedef enum logic [7:0] {
    IbWrOpcodeRdmaWrite = 8'h0,
    IbWrOpcodeRdmaWriteWithImm = 8'h1,
    IbWrOpcodeSend = 8'h2,
    IbWrOpcodeSendWithImm = 8'h3,
    IbWrOpcodeRdmaRead = 8'h4,
    IbWrOpcodeAtomicCmpAndSwp = 8'h5,
    IbWrOpcodeAtomicFetchAndAdd = 8'h6,
    IbWrOpcodeLocalInv = 8'h7,
    IbWrOpcodeBindMw = 8'h8,
    IbWrOpcodeSendWithInv = 8'h9,
    IbWrOpcodeFlush = 8'he,
    IbWrOpcodeAtomicWrite = 8'hf,
    IbWrOpcodeRegMr = 8'h20
  } ib_wr_opcode_e;

  // What completed. Not verbs' numbers. 11 … 15 are reserved for the opcodes that ib_wr_opcode reserves. [RFC v2, RoCE Support] (roce.toml)
  typedef enum logic [7:0] {
    IbWcOpcodeSend = 8'h0,
    IbWcOpcodeRdmaWrite = 8'h1,
    IbWcOpcodeRdmaRead = 8'h2,
    IbWcOpcodeRecv = 8'h3,
    IbWcOpcodeRecvRdmaWithImm = 8'h4,
    IbWcOpcodeCompSwap = 8'h5,
    IbWcOpcodeFetchAdd = 8'h6,
    IbWcOpcodeLocalInv = 8'h7,
    IbWcOpcodeAtomicWrite = 8'h8,
    IbWcOpcodeFlush = 8'h9,
    IbWcOpcodeBindMw = 8'ha,
    IbWcOpcodeRegMr = 8'h10
  } ib_wc_opcode_e;

  // Completion status of a work request. Not verbs' numbers: the RFC omits codes that it cannot cause. 17 … 31 are reserved for these. [RFC v2, RoCE Support; IBTA vol. 1, 11.6.2] (roce.toml)
  typedef enum logic [7:0] {
    IbWcStatusSuccess = 8'h0,
    IbWcStatusLocLenErr = 8'h1,
    IbWcStatusLocQpOpErr = 8'h2,
    IbWcStatusLocProtErr = 8'h3,
    IbWcStatusWrFlushErr = 8'h4,
    IbWcStatusBadRespErr = 8'h5,
    IbWcStatusLocAccessErr = 8'h6,
    IbWcStatusRemInvReqErr = 8'h7,
    IbWcStatusRemAccessErr = 8'h8,
    IbWcStatusRemOpErr = 8'h9,
    IbWcStatusRetryExcErr = 8'ha,
    IbWcStatusRnrRetryExcErr = 8'hb,
    IbWcStatusRemAbortErr = 8'hc,
    IbWcStatusFatalErr = 8'hd,
    IbWcStatusRespTimeoutErr = 8'he,
    IbWcStatusGeneralErr = 8'hf,
    IbWcStatusMwBindErr = 8'h10
  } ib_wc_status_e;

  // Protocol of a GID (vireo only). Values are enum ibv_gid_type's and Linux ib_gid_type's; 0, InfiniBand there, cannot occur on Ethernet and means RoCE v2 here, so that a driver that writes only the RFC's padding gets RoCE v2. [infiniband/verbs.h, enum ibv_gid_type] (roce.toml)
  typedef enum logic [7:0] {
    RdmaGidTypeUnspecified = 8'h0,
    RdmaGidTypeIbRoceV1 = 8'h1,
    RdmaGidTypeRoceV2 = 8'h2
  } rdma_gid_type_e;

  // Asynchronous events (vireo only). Below 0x100 the numbers of enum ibv_event_type, from 0x100 Vireo's own. [infiniband/verbs.h, enum ibv_event_type; IBTA vol. 1, 11.6.3] (roce.toml)
  typedef enum logic [31:0] {
    RdmaEventTypeCqErr = 32'h0,
    RdmaEventTypeQpFatal = 32'h1,
    RdmaEventTypeQpReqErr = 32'h2,
    RdmaEventTypeQpAccessErr = 32'h3,
    RdmaEventTypeCommEst = 32'h4,
    RdmaEventTypeSqDrained = 32'h5,
    RdmaEventTypePathMig = 32'h6,
    RdmaEventTypePathMigErr = 32'h7,
    RdmaEventTypeDeviceFatal = 32'h8,
    RdmaEventTypePortActive = 32'h9,
    RdmaEventTypePortErr = 32'ha,
    RdmaEventTypeLidChange = 32'hb,
    RdmaEventTypePkeyChange = 32'hc,
    RdmaEventTypeSmChange = 32'hd,
    RdmaEventTypeSrqErr = 32'he,
    RdmaEventTypeSrqLimitReached = 32'hf,
    RdmaEventTypeQpLastWqeReached = 32'h10,
    RdmaEventTypeClientReregister = 32'h11,
    RdmaEventTypeGidChange = 32'h12,
    RdmaEventTypeWqFatal = 32'h13,
    RdmaEventTypeVqErr = 32'h100
  } rdma_event_type_e;

  // Owner of a virtqueue, as set by firmware. `none`: not served. (tables.toml)
  typedef enum logic [7:0] {
    TableQueueKindNone = 8'h0,
    TableQueueKindReceive = 8'h1,
    TableQueueKindTransmit = 8'h2,
    TableQueueKindControl = 8'h3,
    TableQueueKindCq = 8'h4,
    TableQueueKindSq = 8'h5,
    TableQueueKindRq = 8'h6,
    TableQueueKindEvent = 8'h7
  } table_queue_kind_e;

  // Requester of buffers from descriptor fetch. (tokens.toml)
  typedef enum logic [2:0] {
    BufferClientSend = 3'h0,
    BufferClientReceive = 3'h1,
    BufferClientCompletion = 3'h2,
    BufferClientControl = 3'h3,
    BufferClientNetTransmit = 3'h4,
    BufferClientNetReceive = 3'h5
  } buffer_client_e;

  // Result of a buffer_request, in a `buffer` token. (tokens.toml)
  typedef enum logic [1:0] {
    BufferStatusOk = 2'h0,
    BufferStatusEmpty = 2'h1,
    BufferStatusFailed = 2'h2,
    BufferStatusPending = 2'h3
  } buffer_status_e;

  // Purpose of a QP's timer. (tokens.toml)
  typedef enum logic [1:0] {
    TimerKindOff = 2'h0,
    TimerKindAck = 2'h1,
    TimerKindRnr = 2'h2
  } timer_kind_e;

  // Outcome of a memory_check: the first that applies. (tokens.toml)
  typedef enum logic [2:0] {
    MemoryStatusOk = 3'h0,
    MemoryStatusKey = 3'h1,
    MemoryStatusPd = 3'h2,
    MemoryStatusRights = 3'h3,
    MemoryStatusBounds = 3'h4
  } memory_status_e;

  // Accesses by who makes them. Those of a side end without waiting for any of the other. (tokens.toml)
  typedef enum logic {
    KeySideSent = 1'h0,
    KeySideReceived = 1'h1
  } key_side_e;

  // Outcome of an atomic_request. (tokens.toml)
  typedef enum logic [1:0] {
    AtomicStatusOk = 2'h0,
    AtomicStatusUnknown = 2'h1,
    AtomicStatusFailed = 2'h2
  } atomic_status_e;

  // Virtio device number; added to pci_device_id_base it is the PCI device number. Vireo is a net device. [virtio 1.3, 5; linux/virtio_ids.h] (virtio.toml)
  typedef enum logic [15:0] {
    VirtioDeviceIdInvalid = 16'h0,
    VirtioDeviceIdNet = 16'h1,
    VirtioDeviceIdBlock = 16'h2,
    VirtioDeviceIdConsole = 16'h3,
    VirtioDeviceIdEntropy = 16'h4,
    VirtioDeviceIdBalloon = 16'h5,
    VirtioDeviceIdIomem = 16'h6,
    VirtioDeviceIdRpmsg = 16'h7,
    VirtioDeviceIdScsi = 16'h8,
    VirtioDeviceIdP9 = 16'h9,
    VirtioDeviceIdMac80211Wlan = 16'ha,
    VirtioDeviceIdRprocSerial = 16'hb,
    VirtioDeviceIdCaif = 16'hc,
    VirtioDeviceIdMemoryBalloon = 16'hd,
    VirtioDeviceIdGpu = 16'h10,
    VirtioDeviceIdClock = 16'h11,
    VirtioDeviceIdInput = 16'h12,
    VirtioDeviceIdVsock = 16'h13,
    VirtioDeviceIdCrypto = 16'h14,
    VirtioDeviceIdSignalDist = 16'h15,
    VirtioDeviceIdPstore = 16'h16,
    VirtioDeviceIdIommu = 16'h17,
    VirtioDeviceIdMem = 16'h18,
    VirtioDeviceIdSound = 16'h19,
    VirtioDeviceIdFs = 16'h1a,
    VirtioDeviceIdPmem = 16'h1b,
    VirtioDeviceIdRpmb = 16'h1c,
    VirtioDeviceIdMac80211Hwsim = 16'h1d,
    VirtioDeviceIdVideoEncoder = 16'h1e,
    VirtioDeviceIdVideoDecoder = 16'h1f,
    VirtioDeviceIdScmi = 16'h20,
    VirtioDeviceIdNitroSecMod = 16'h21,
    VirtioDeviceIdI2cAdapter = 16'h22,
    VirtioDeviceIdWatchdog = 16'h23,
    VirtioDeviceIdCan = 16'h24,
    VirtioDeviceIdDmabuf = 16'h25,
    VirtioDeviceIdParamServ = 16'h26,
    VirtioDeviceIdAudioPolicy = 16'h27,
    VirtioDeviceIdBluetooth = 16'h28,
    VirtioDeviceIdGpio = 16'h29,
    VirtioDeviceIdRdma = 16'h2a,
    VirtioDeviceIdCamera = 16'h2b,
    VirtioDeviceIdIsm = 16'h2c,
    VirtioDeviceIdSpi = 16'h2d,
    VirtioDeviceIdTee = 16'h2e,
    VirtioDeviceIdCpuBalloon = 16'h2f
  } virtio_device_id_e;

  // Numbers of the feature bits that do not depend on the device type. [virtio 1.3, 6; linux/virtio_config.h, linux/virtio_ring.h] (virtio.toml)
  typedef enum logic [7:0] {
    VirtioFeatureNotifyOnEmpty = 8'h18,
    VirtioFeatureAnyLayout = 8'h1b,
    VirtioFeatureRingIndirectDesc = 8'h1c,
    VirtioFeatureRingEventIdx = 8'h1d,
    VirtioFeatureUnused = 8'h1e,
    VirtioFeatureVersion1 = 8'h20,
    VirtioFeatureAccessPlatform = 8'h21,
    VirtioFeatureRingPacked = 8'h22,
    VirtioFeatureInOrder = 8'h23,
    VirtioFeatureOrderPlatform = 8'h24,
    VirtioFeatureSrIov = 8'h25,
    VirtioFeatureNotificationData = 8'h26,
    VirtioFeatureNotifConfigData = 8'h27,
    VirtioFeatureRingReset = 8'h28,
    VirtioFeatureAdminVq = 8'h29
  } virtio_feature_e;

  // Event suppression of one side of a packed ring. 3 is reserved. [virtio 1.3, 2.8.10; linux/virtio_ring.h] (virtio.toml)
  typedef enum logic [1:0] {
    RingEventFlagsEnable = 2'h0,
    RingEventFlagsDisable = 2'h1,
    RingEventFlagsDesc = 2'h2
  } ring_event_flags_e;

  // Protocol after an Ethernet header or an 802.1Q tag. [IEEE 802 numbers] (wire.toml)
  typedef enum logic [15:0] {
    EthertypeIpv4 = 16'h800,
    EthertypeArp = 16'h806,
    EthertypeVlan = 16'h8100,
    EthertypeIpv6 = 16'h86dd,
    EthertypePause = 16'h8808,
    EthertypeRoceV1 = 16'h8915
  } ethertype_e;

  // IPv4 protocol, IPv6 next header. [IANA protocol numbers] (wire.toml)
  typedef enum logic [7:0] {
    IpProtocolIcmp = 8'h1,
    IpProtocolTcp = 8'h6,
    IpProtocolUdp = 8'h11,
    IpProtocolIcmpv6 = 8'h3a
  } ip_protocol_e;

  // Congestion field of IPv4 and IPv6. [RFC 3168, 5] (wire.toml)
  typedef enum logic [1:0] {
    IpEcnNotEct = 2'h0,
    IpEcnEct1 = 2'h1,
    IpEcnEct0 = 2'h2,
    IpEcnCe = 2'h3
  } ip_ecn_e;

  // Bits 6:5 of the AETH syndrome. [IBTA vol. 1, table 44] (wire.toml)
  typedef enum logic [1:0] {
    AethKindAck = 2'h0,
    AethKindRnrNak = 2'h1,
    AethKindReserved = 2'h2,
    AethKindNak = 2'h3
  } aeth_kind_e;

  // Reason of a NAK; 5 … 31 are reserved. [IBTA vol. 1, table 45] (wire.toml)
  typedef enum logic [4:0] {
    NakCodePsnSequenceError = 5'h0,
    NakCodeInvalidRequest = 5'h1,
    NakCodeRemoteAccessError = 5'h2,
    NakCodeRemoteOperationalError = 5'h3,
    NakCodeInvalidRdRequest = 5'h4
  } nak_code_e;

  // Whole first byte of the AETH for the cases that carry no parameter. [IBTA vol. 1, tables 44, 45] (wire.toml)
  typedef enum logic [7:0] {
    AethSyndromeAckNoCredits = 8'h1f,
    AethSyndromeRnrNak = 8'h20,
    AethSyndromeNakPsnSequenceError = 8'h60,
    AethSyndromeNakInvalidRequest = 8'h61,
    AethSyndromeNakRemoteAccessError = 8'h62,
    AethSyndromeNakRemoteOperationalError = 8'h63,
    AethSyndromeNakInvalidRdRequest = 8'h64
  } aeth_syndrome_e;

  // Extent of a FLUSH. [IBTA vol. 1 (1.6), A19.4.1] (wire.toml)
  typedef enum logic [1:0] {
    FlushSelectivityRange = 2'h0,
    FlushSelectivityMemoryRegion = 2'h1
  } flush_selectivity_e;

  // BTH opcodes; their meaning: the opcode table. (opcodes.toml)
  typedef enum logic [7:0] {
    BthOpcodeRcSendFirst = 8'h0,
    BthOpcodeRcSendMiddle = 8'h1,
    BthOpcodeRcSendLast = 8'h2,
    BthOpcodeRcSendLastWithImmediate = 8'h3,
    BthOpcodeRcSendOnly = 8'h4,
    BthOpcodeRcSendOnlyWithImmediate = 8'h5,
    BthOpcodeRcRdmaWriteFirst = 8'h6,
    BthOpcodeRcRdmaWriteMiddle = 8'h7,
    BthOpcodeRcRdmaWriteLast = 8'h8,
    BthOpcodeRcRdmaWriteLastWithImmediate = 8'h9,
    BthOpcodeRcRdmaWriteOnly = 8'ha,
    BthOpcodeRcRdmaWriteOnlyWithImmediate = 8'hb,
    BthOpcodeRcRdmaReadRequest = 8'hc,
    BthOpcodeRcRdmaReadResponseFirst = 8'hd,
    BthOpcodeRcRdmaReadResponseMiddle = 8'he,
    BthOpcodeRcRdmaReadResponseLast = 8'hf,
    BthOpcodeRcRdmaReadResponseOnly = 8'h10,
    BthOpcodeRcAcknowledge = 8'h11,
    BthOpcodeRcAtomicAcknowledge = 8'h12,
    BthOpcodeRcCompareSwap = 8'h13,
    BthOpcodeRcFetchAdd = 8'h14,
    BthOpcodeRcSendLastWithInvalidate = 8'h16,
    BthOpcodeRcSendOnlyWithInvalidate = 8'h17,
    BthOpcodeRcFlush = 8'h1c,
    BthOpcodeRcAtomicWrite = 8'h1d,
    BthOpcodeUcSendFirst = 8'h20,
    BthOpcodeUcSendMiddle = 8'h21,
    BthOpcodeUcSendLast = 8'h22,
    BthOpcodeUcSendLastWithImmediate = 8'h23,
    BthOpcodeUcSendOnly = 8'h24,
    BthOpcodeUcSendOnlyWithImmediate = 8'h25,
    BthOpcodeUcRdmaWriteFirst = 8'h26,
    BthOpcodeUcRdmaWriteMiddle = 8'h27,
    BthOpcodeUcRdmaWriteLast = 8'h28,
    BthOpcodeUcRdmaWriteLastWithImmediate = 8'h29,
    BthOpcodeUcRdmaWriteOnly = 8'h2a,
    BthOpcodeUcRdmaWriteOnlyWithImmediate = 8'h2b,
    BthOpcodeUdSendOnly = 8'h64,
    BthOpcodeUdSendOnlyWithImmediate = 8'h65,
    BthOpcodeCnp = 8'h81
  } bth_opcode_e;

  // Link status. [virtio 1.3, 5.1.4; linux/virtio_net.h] (net.toml)
  localparam logic [15:0] NetStatusLinkUp = 16'h1;
  localparam logic [15:0] NetStatusAnnounce = 16'h2;

  // Packets to hash, most specific first. Bit n is net_hash_report n + 1. Input: addresses, then ports, network order. [virtio 1.3, 5.1.6.4.3; linux/virtio_net.h (VIRTIO_NET_RSS_HASH_TYPE)] (net.toml)
  localparam logic [31:0] NetHashTypesIpv4 = 32'h1;
  localparam logic [31:0] NetHashTypesTcpv4 = 32'h2;
  localparam logic [31:0] NetHashTypesUdpv4 = 32'h4;
  localparam logic [31:0] NetHashTypesIpv6 = 32'h8;
  localparam logic [31:0] NetHashTypesTcpv6 = 32'h10;
  localparam logic [31:0] NetHashTypesUdpv6 = 32'h20;
  localparam logic [31:0] NetHashTypesIpEx = 32'h40;
  localparam logic [31:0] NetHashTypesTcpEx = 32'h80;
  localparam logic [31:0] NetHashTypesUdpEx = 32'h100;

  // Tunnels whose inner headers are hashed instead of the outer ones (one level). [virtio 1.3, 5.1.6.4.4] (net.toml)
  localparam logic [31:0] NetHashTunnelTypesGre2784 = 32'h1;
  localparam logic [31:0] NetHashTunnelTypesGre2890 = 32'h2;
  localparam logic [31:0] NetHashTunnelTypesGre7676 = 32'h4;
  localparam logic [31:0] NetHashTunnelTypesGreUdp = 32'h8;
  localparam logic [31:0] NetHashTunnelTypesVxlan = 32'h10;
  localparam logic [31:0] NetHashTunnelTypesVxlanGpe = 32'h20;
  localparam logic [31:0] NetHashTunnelTypesGeneve = 32'h40;
  localparam logic [31:0] NetHashTunnelTypesIpip = 32'h80;
  localparam logic [31:0] NetHashTunnelTypesNvgre = 32'h100;

  // State of a packet's checksum. IPsec (feature 70) uses more bits. [virtio 1.3, 5.1.6.2 and 5.1.6.4; linux/virtio_net.h] (net.toml)
  localparam logic [7:0] NetHdrFlagsNeedsCsum = 8'h1;
  localparam logic [7:0] NetHdrFlagsDataValid = 8'h2;
  localparam logic [7:0] NetHdrFlagsRscInfo = 8'h4;
  localparam logic [7:0] NetHdrFlagsUdpTunnelCsum = 8'h8;

  // Receive offloads. A bit has the number of its feature; features above 63 have a number of their own. [virtio 1.3, 5.1.6.5.8.1; 46 and 47: virtio 1.4 and linux/virtio_net.h 7.2 (_MAPPED)] (net.toml)
  localparam logic [63:0] NetGuestOffloadsGuestCsum = 64'h2;
  localparam logic [63:0] NetGuestOffloadsGuestTso4 = 64'h80;
  localparam logic [63:0] NetGuestOffloadsGuestTso6 = 64'h100;
  localparam logic [63:0] NetGuestOffloadsGuestEcn = 64'h200;
  localparam logic [63:0] NetGuestOffloadsGuestUfo = 64'h400;
  localparam logic [63:0] NetGuestOffloadsGuestUdpTunnelGsoMapped = 64'h400000000000;
  localparam logic [63:0] NetGuestOffloadsGuestUdpTunnelGsoCsumMapped = 64'h800000000000;
  localparam logic [63:0] NetGuestOffloadsGuestUso4 = 64'h40000000000000;
  localparam logic [63:0] NetGuestOffloadsGuestUso6 = 64'h80000000000000;

  // Kinds of statistics. Bit n is net_stats_reply_type n. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h (VIRTIO_NET_STATS_TYPE)] (net.toml)
  localparam logic [63:0] NetStatsTypesRxBasic = 64'h1;
  localparam logic [63:0] NetStatsTypesRxCsum = 64'h2;
  localparam logic [63:0] NetStatsTypesRxGso = 64'h4;
  localparam logic [63:0] NetStatsTypesRxSpeed = 64'h8;
  localparam logic [63:0] NetStatsTypesTxBasic = 64'h10000;
  localparam logic [63:0] NetStatsTypesTxCsum = 64'h20000;
  localparam logic [63:0] NetStatsTypesTxGso = 64'h40000;
  localparam logic [63:0] NetStatsTypesTxSpeed = 64'h80000;
  localparam logic [63:0] NetStatsTypesCvq = 64'h100000000;

  // Command register: what the function may do on the bus. [PCIe 5.0, 7.5.1.1.3] (pci.toml)
  localparam logic [15:0] PciCommandIoSpace = 16'h1;
  localparam logic [15:0] PciCommandMemorySpace = 16'h2;
  localparam logic [15:0] PciCommandBusMaster = 16'h4;
  localparam logic [15:0] PciCommandSpecialCycles = 16'h8;
  localparam logic [15:0] PciCommandMemoryInvalidate = 16'h10;
  localparam logic [15:0] PciCommandVgaPaletteSnoop = 16'h20;
  localparam logic [15:0] PciCommandParityErrorResponse = 16'h40;
  localparam logic [15:0] PciCommandAddressStepping = 16'h80;
  localparam logic [15:0] PciCommandSerrEnable = 16'h100;
  localparam logic [15:0] PciCommandFastBackToBack = 16'h200;
  localparam logic [15:0] PciCommandInterruptDisable = 16'h400;

  // Status register. Bits 9 and 10 (DEVSEL timing) are 0 on PCI Express; error bits are cleared by writing 1. [PCIe 5.0, 7.5.1.1.4] (pci.toml)
  localparam logic [15:0] PciStatusImmediateReadiness = 16'h1;
  localparam logic [15:0] PciStatusInterruptStatus = 16'h8;
  localparam logic [15:0] PciStatusCapabilitiesList = 16'h10;
  localparam logic [15:0] PciStatusCapable66mhz = 16'h20;
  localparam logic [15:0] PciStatusFastBackToBack = 16'h80;
  localparam logic [15:0] PciStatusMasterDataParityError = 16'h100;
  localparam logic [15:0] PciStatusSignaledTargetAbort = 16'h800;
  localparam logic [15:0] PciStatusReceivedTargetAbort = 16'h1000;
  localparam logic [15:0] PciStatusReceivedMasterAbort = 16'h2000;
  localparam logic [15:0] PciStatusSignaledSystemError = 16'h4000;
  localparam logic [15:0] PciStatusDetectedParityError = 16'h8000;

  // Optional capabilities of the device. Numbers are the RFC's, not those of verbs; 1 … 63 are reserved for capabilities that the RFC lacks. [RFC v2, QUERY_DEVICE] (roce.toml)
  localparam logic [63:0] IbDeviceCapRcRnrNakGen = 64'h1;

  // Access rights of a memory region or of the peer of a QP; local read is always allowed. Bits 6, 7 and 10 … 31 are reserved for verbs' flags. [RFC v2, GET_DMA_MR; same numbers as enum ibv_access_flags] (roce.toml)
  localparam logic [31:0] IbAccessFlagsLocalWrite = 32'h1;
  localparam logic [31:0] IbAccessFlagsRemoteWrite = 32'h2;
  localparam logic [31:0] IbAccessFlagsRemoteRead = 32'h4;
  localparam logic [31:0] IbAccessFlagsRemoteAtomic = 32'h8;
  localparam logic [31:0] IbAccessFlagsMwBind = 32'h10;
  localparam logic [31:0] IbAccessFlagsZeroBased = 32'h20;
  localparam logic [31:0] IbAccessFlagsFlushGlobal = 32'h100;
  localparam logic [31:0] IbAccessFlagsFlushPersistent = 32'h200;

  // What REREG_MR changes. The rest of the region stays, and fields of what is not selected are ignored. [IBTA vol. 1, 11.2.8.4; same numbers as enum ibv_rereg_mr_flags] (roce.toml)
  localparam logic [31:0] RdmaReregFlagsTranslation = 32'h1;
  localparam logic [31:0] RdmaReregFlagsPd = 32'h2;
  localparam logic [31:0] RdmaReregFlagsAccess = 32'h4;

  // Placements that a FLUSH may request. Same numbers as flush_placement; bits 2 … 7 are reserved. [IBTA vol. 1 (1.6), A19.4] (roce.toml)
  localparam logic [7:0] RdmaFlushCapGlobalVisibility = 8'h1;
  localparam logic [7:0] RdmaFlushCapPersistence = 8'h2;

  // Attributes that modify_qp changes. Not verbs' numbers: the RFC closed the gaps. Bits 17 … 31 are reserved. [RFC v2, MODIFY_QP] (roce.toml)
  localparam logic [31:0] IbQpAttrMaskState = 32'h1;
  localparam logic [31:0] IbQpAttrMaskCurState = 32'h2;
  localparam logic [31:0] IbQpAttrMaskAccessFlags = 32'h4;
  localparam logic [31:0] IbQpAttrMaskQkey = 32'h8;
  localparam logic [31:0] IbQpAttrMaskAv = 32'h10;
  localparam logic [31:0] IbQpAttrMaskPathMtu = 32'h20;
  localparam logic [31:0] IbQpAttrMaskTimeout = 32'h40;
  localparam logic [31:0] IbQpAttrMaskRetryCnt = 32'h80;
  localparam logic [31:0] IbQpAttrMaskRnrRetry = 32'h100;
  localparam logic [31:0] IbQpAttrMaskRqPsn = 32'h200;
  localparam logic [31:0] IbQpAttrMaskMaxQpRdAtomic = 32'h400;
  localparam logic [31:0] IbQpAttrMaskMinRnrTimer = 32'h800;
  localparam logic [31:0] IbQpAttrMaskSqPsn = 32'h1000;
  localparam logic [31:0] IbQpAttrMaskMaxDestRdAtomic = 32'h2000;
  localparam logic [31:0] IbQpAttrMaskCap = 32'h4000;
  localparam logic [31:0] IbQpAttrMaskDestQpn = 32'h8000;
  localparam logic [31:0] IbQpAttrMaskRateLimit = 32'h10000;

  // Properties of a send work request. Bits 4 … 7 are reserved. [RFC v2, RoCE Support; same numbers as enum ibv_send_flags] (roce.toml)
  localparam logic [7:0] IbSendFlagsFence = 8'h1;
  localparam logic [7:0] IbSendFlagsSignaled = 8'h2;
  localparam logic [7:0] IbSendFlagsSolicited = 8'h4;
  localparam logic [7:0] IbSendFlagsInline = 8'h8;

  // Contents of a completion. Bits 2 and 4 … 31 are reserved for verbs' flags. [RFC v2, RoCE Support; same numbers as enum ibv_wc_flags] (roce.toml)
  localparam logic [31:0] IbWcFlagsGrh = 32'h1;
  localparam logic [31:0] IbWcFlagsWithImm = 32'h2;
  localparam logic [31:0] IbWcFlagsWithInv = 32'h8;

  // When an armed CQ notifies; once, then it must be rearmed. With both flags, or armed twice, next_completion applies. [RFC v2, REQ_NOTIFY_CQ; IBTA vol. 1, 11.4.2.2] (roce.toml)
  localparam logic [31:0] IbNotifyFlagsSolicited = 32'h1;
  localparam logic [31:0] IbNotifyFlagsNextCompletion = 32'h2;

  // Properties of a GID (vireo only). (roce.toml)
  localparam logic [7:0] RdmaGidFlagsVlanPresent = 8'h1;

  // Properties of a window (vireo only). (roce.toml)
  localparam logic [7:0] RdmaWindowFlagsEnable = 8'h1;

  // Elements of an extensible send work request, each of 16 bytes or a multiple, in the order of their bits. Each operation has exactly those of rdma and atomic, each datagram exactly that of ud; inline_data or sg_list is the last one. Bits 5 … 7 are reserved. [docs/decisions/0024] (roce.toml)
  localparam logic [7:0] RdmaSqElementRdma = 8'h1;
  localparam logic [7:0] RdmaSqElementUd = 8'h2;
  localparam logic [7:0] RdmaSqElementAtomic = 8'h4;
  localparam logic [7:0] RdmaSqElementInlineData = 8'h8;
  localparam logic [7:0] RdmaSqElementSgList = 8'h10;

  // Elements of a completion, which follow its base in the order of their bits. A later version adds higher bits, and never reuses one. [docs/decisions/0039] (roce.toml)
  localparam logic [31:0] RdmaCqElementTimestamp = 32'h1;

  // Progress of driver initialization. The driver only sets bits; writing 0 resets the device, which reads 0 once that is done. [virtio 1.3, 2.1; linux/virtio_config.h] (virtio.toml)
  localparam logic [7:0] VirtioDeviceStatusAcknowledge = 8'h1;
  localparam logic [7:0] VirtioDeviceStatusDriver = 8'h2;
  localparam logic [7:0] VirtioDeviceStatusDriverOk = 8'h4;
  localparam logic [7:0] VirtioDeviceStatusFeaturesOk = 8'h8;
  localparam logic [7:0] VirtioDeviceStatusDeviceNeedsReset = 8'h40;
  localparam logic [7:0] VirtioDeviceStatusFailed = 8'h80;

  // Interrupt status byte. Reading clears it and deasserts INTx. With MSI-X on, only device_config is maintained. [virtio 1.3, 4.1.4.5] (virtio.toml)
  localparam logic [7:0] VirtioIsrQueue = 8'h1;
  localparam logic [7:0] VirtioIsrDeviceConfig = 8'h2;

  // Descriptor flags; avail and used exist in packed rings only. [virtio 1.3, 2.7.5 and 2.8.1; linux/virtio_ring.h] (virtio.toml)
  localparam logic [15:0] VirtqDescFlagsNext = 16'h1;
  localparam logic [15:0] VirtqDescFlagsWrite = 16'h2;
  localparam logic [15:0] VirtqDescFlagsIndirect = 16'h4;
  localparam logic [15:0] VirtqDescFlagsAvail = 16'h80;
  localparam logic [15:0] VirtqDescFlagsUsed = 16'h8000;

  // Flags of an available ring; 0 if ring_event_idx was accepted. [virtio 1.3, 2.7.6 and 2.7.7; linux/virtio_ring.h] (virtio.toml)
  localparam logic [15:0] VirtqAvailFlagsNoInterrupt = 16'h1;

  // Flags of a used ring; 0 if ring_event_idx was accepted. [virtio 1.3, 2.7.8 and 2.7.10; linux/virtio_ring.h] (virtio.toml)
  localparam logic [15:0] VirtqUsedFlagsNoNotify = 16'h1;

  // Placement guarantee that a FLUSH requests. [IBTA vol. 1 (1.6), A19.4.1] (wire.toml)
  localparam logic [3:0] FlushPlacementGlobalVisibility = 4'h1;
  localparam logic [3:0] FlushPlacementPersistence = 4'h2;

  // Every number that differs between the ABI profiles. (profiles.toml)
  typedef struct packed {
    logic [7:0] net_f_roce;
    logic [7:0] net_ctrl_class_roce;
    logic [15:0] net_config_rdma_offset;
    logic [63:0] net_features_withheld;
    logic [7:0] rdma_event_queues;
    logic [7:0] rdma_last_command;
    logic rdma_has_error_codes;
    logic rdma_has_additions;
    logic rdma_has_cq_arm;
    logic rdma_needs_ring_reset;
  } profile_constants_t;
  localparam profile_constants_t RfcV2Constants = '{
    net_f_roce: 8'h37,
    net_ctrl_class_roce: 8'h6,
    net_config_rdma_offset: 16'h18,
    net_features_withheld: 64'hb8000000000000,
    rdma_event_queues: 8'h0,
    rdma_last_command: 8'h11,
    rdma_has_error_codes: 1'h0,
    rdma_has_additions: 1'h0,
    rdma_has_cq_arm: 1'h0,
    rdma_needs_ring_reset: 1'h0
  };
  localparam profile_constants_t VireoConstants = '{
    net_f_roce: 8'h3a,
    net_ctrl_class_roce: 8'h80,
    net_config_rdma_offset: 16'h40,
    net_features_withheld: 64'h0,
    rdma_event_queues: 8'h1,
    rdma_last_command: 8'h1f,
    rdma_has_error_codes: 1'h1,
    rdma_has_additions: 1'h1,
    rdma_has_cq_arm: 1'h1,
    rdma_needs_ring_reset: 1'h1
  };

  // Start of every frame (board.toml)
  localparam int unsigned BoardHeaderBytes = 2;
  localparam int unsigned BoardHeaderKindOffset = 0;
  localparam int unsigned BoardHeaderSerialOffset = 1;
  typedef struct packed {
    logic [7:0] serial;
    logic [7:0] kind;  // board_frame_e
  } board_header_t;
  function automatic board_header_t unpack_board_header(input logic [15:0] bytes);
    return board_header_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_board_header(input board_header_t fields);
    return fields;
  endfunction

  // What the board is (board.toml)
  localparam int unsigned BoardHelloBytes = 12;
  localparam int unsigned BoardHelloMagicOffset = 0;
  localparam int unsigned BoardHelloVersionOffset = 4;
  localparam int unsigned BoardHelloHasProcessorOffset = 6;
  localparam int unsigned BoardHelloConfigHashOffset = 8;
  typedef struct packed {
    logic [31:0] config_hash;
    logic [7:0] reserved;
    logic [7:0] has_processor;
    logic [15:0] version;
    logic [31:0] magic;
  } board_hello_t;
  function automatic board_hello_t unpack_board_hello(input logic [95:0] bytes);
    return board_hello_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_board_hello(input board_hello_t fields);
    return fields;
  endfunction

  // Runs at most `cycles` cycles, and ends early: after a cycle with an event that a host must know of (all but `write_start`, `write_beat` and beats within a frame), in front of a cycle with an access of the control processor, and when nothing is left to do. (board.toml)
  localparam int unsigned BoardRunBytes = 2;
  localparam int unsigned BoardRunCyclesOffset = 0;
  typedef struct packed {
    logic [15:0] cycles;
  } board_run_t;
  function automatic board_run_t unpack_board_run(input logic [15:0] bytes);
    return board_run_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_board_run(input board_run_t fields);
    return fields;
  endfunction

  // Device time of the next cycle; it goes on by itself, and stands still between two runs (board.toml)
  localparam int unsigned BoardTimeBytes = 8;
  localparam int unsigned BoardTimeNsOffset = 0;
  typedef struct packed {
    logic [63:0] ns;
  } board_time_t;
  function automatic board_time_t unpack_board_time(input logic [63:0] bytes);
    return board_time_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_board_time(input board_time_t fields);
    return fields;
  endfunction

  // From configuration space and MAC, until changed (board.toml)
  localparam int unsigned BoardControlsBytes = 2;
  typedef struct packed {
    logic [3:0] max_read_request_size;
    logic [3:0] max_payload_size;
    logic [3:0] reserved;
    logic mac_link;
    logic msix_mask;
    logic msix_enable;
    logic bus_master;
  } board_controls_t;
  function automatic board_controls_t unpack_board_controls(input logic [15:0] bytes);
    return board_controls_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_board_controls(input board_controls_t fields);
    return fields;
  endfunction

  // An access of a BAR (board.toml)
  localparam int unsigned BoardBarBytes = 14;
  localparam int unsigned BoardBarLengthOffset = 1;
  localparam int unsigned BoardBarOffsetOffset = 2;
  localparam int unsigned BoardBarValueOffset = 6;
  typedef struct packed {
    logic [63:0] value;
    logic [31:0] offset;
    logic [7:0] length;
    logic [3:0] is_write;
    logic [3:0] bar;
  } board_bar_t;
  function automatic board_bar_t unpack_board_bar(input logic [111:0] bytes);
    return board_bar_t'(bytes);
  endfunction
  function automatic logic [111:0] pack_board_bar(input board_bar_t fields);
    return fields;
  endfunction

  // An access of the management port, beside the control processor (board.toml)
  localparam int unsigned BoardCsrBytes = 6;
  localparam int unsigned BoardCsrValueOffset = 2;
  typedef struct packed {
    logic [31:0] value;
    logic is_write;
    logic [14:0] offset;
  } board_csr_t;
  function automatic board_csr_t unpack_board_csr(input logic [47:0] bytes);
    return board_csr_t'(bytes);
  endfunction
  function automatic logic [47:0] pack_board_csr(input board_csr_t fields);
    return fields;
  endfunction

  // Credits in beats; they count from the next cycle that is run (board.toml)
  localparam int unsigned BoardCreditsBytes = 4;
  localparam int unsigned BoardCreditsDmaWriteOffset = 0;
  localparam int unsigned BoardCreditsTransmitOffset = 2;
  typedef struct packed {
    logic [15:0] transmit;
    logic [15:0] dma_write;
  } board_credits_t;
  function automatic board_credits_t unpack_board_credits(input logic [31:0] bytes);
    return board_credits_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_board_credits(input board_credits_t fields);
    return fields;
  endfunction

  // Beats of 8 bytes of a DMA read's data, as they are on the bus (lane: address modulo 8) (board.toml)
  localparam int unsigned BoardReadBeatsBytes = 4;
  localparam int unsigned BoardReadBeatsCountOffset = 0;
  localparam int unsigned BoardReadBeatsTagOffset = 1;
  typedef struct packed {
    logic [7:0] reserved1;
    logic [4:0] reserved;
    logic last;
    logic [1:0] resp;
    logic [7:0] tag;
    logic [7:0] count;
  } board_read_beats_t;
  function automatic board_read_beats_t unpack_board_read_beats(input logic [31:0] bytes);
    return board_read_beats_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_board_read_beats(input board_read_beats_t fields);
    return fields;
  endfunction

  // Beats of 8 bytes of a received frame (board.toml)
  localparam int unsigned BoardFrameBeatsBytes = 3;
  localparam int unsigned BoardFrameBeatsCountOffset = 0;
  localparam int unsigned BoardFrameBeatsKeepOffset = 2;
  typedef struct packed {
    logic [7:0] keep;
    logic [5:0] reserved;
    logic error;
    logic last;
    logic [7:0] count;
  } board_frame_beats_t;
  function automatic board_frame_beats_t unpack_board_frame_beats(input logic [23:0] bytes);
    return board_frame_beats_t'(bytes);
  endfunction
  function automatic logic [23:0] pack_board_frame_beats(input board_frame_beats_t fields);
    return fields;
  endfunction

  // A word of the control processor's memory; takes effect at once, and takes no cycle (board.toml)
  localparam int unsigned BoardLoadBytes = 8;
  localparam int unsigned BoardLoadAddressOffset = 0;
  localparam int unsigned BoardLoadValueOffset = 4;
  typedef struct packed {
    logic [31:0] value;
    logic [31:0] address;
  } board_load_t;
  function automatic board_load_t unpack_board_load(input logic [63:0] bytes);
    return board_load_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_board_load(input board_load_t fields);
    return fields;
  endfunction

  // Answer of the oldest BAR read (board.toml)
  localparam int unsigned BoardBarAnswerBytes = 8;
  localparam int unsigned BoardBarAnswerValueOffset = 0;
  typedef struct packed {
    logic [63:0] value;
  } board_bar_answer_t;
  function automatic board_bar_answer_t unpack_board_bar_answer(input logic [63:0] bytes);
    return board_bar_answer_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_board_bar_answer(input board_bar_answer_t fields);
    return fields;
  endfunction

  // Answer of a read at the management port (board.toml)
  localparam int unsigned BoardCsrAnswerBytes = 4;
  localparam int unsigned BoardCsrAnswerValueOffset = 0;
  typedef struct packed {
    logic [31:0] value;
  } board_csr_answer_t;
  function automatic board_csr_answer_t unpack_board_csr_answer(input logic [31:0] bytes);
    return board_csr_answer_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_board_csr_answer(input board_csr_answer_t fields);
    return fields;
  endfunction

  // The interrupt of the management registers has changed (board.toml)
  localparam int unsigned BoardInterruptBytes = 1;
  localparam int unsigned BoardInterruptLevelOffset = 0;
  typedef struct packed {
    logic [7:0] level;
  } board_interrupt_t;
  function automatic board_interrupt_t unpack_board_interrupt(input logic [7:0] bytes);
    return board_interrupt_t'(bytes);
  endfunction
  function automatic logic [7:0] pack_board_interrupt(input board_interrupt_t fields);
    return fields;
  endfunction

  // A DMA read (board.toml)
  localparam int unsigned BoardReadBytes = 12;
  localparam int unsigned BoardReadAddressOffset = 0;
  localparam int unsigned BoardReadLengthOffset = 8;
  localparam int unsigned BoardReadTagOffset = 10;
  typedef struct packed {
    logic [15:0] tag;
    logic [15:0] length;
    logic [63:0] address;
  } board_read_t;
  function automatic board_read_t unpack_board_read(input logic [95:0] bytes);
    return board_read_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_board_read(input board_read_t fields);
    return fields;
  endfunction

  // A DMA write (board.toml)
  localparam int unsigned BoardWriteBytes = 10;
  localparam int unsigned BoardWriteAddressOffset = 0;
  localparam int unsigned BoardWriteLengthOffset = 8;
  typedef struct packed {
    logic [15:0] length;
    logic [63:0] address;
  } board_write_t;
  function automatic board_write_t unpack_board_write(input logic [79:0] bytes);
    return board_write_t'(bytes);
  endfunction
  function automatic logic [79:0] pack_board_write(input board_write_t fields);
    return fields;
  endfunction

  // A message (board.toml)
  localparam int unsigned BoardMsixBytes = 2;
  localparam int unsigned BoardMsixNumberOffset = 0;
  typedef struct packed {
    logic [15:0] number;
  } board_msix_t;
  function automatic board_msix_t unpack_board_msix(input logic [15:0] bytes);
    return board_msix_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_board_msix(input board_msix_t fields);
    return fields;
  endfunction

  // A beat of a transmitted frame (board.toml)
  localparam int unsigned BoardTransmitBytes = 9;
  localparam int unsigned BoardTransmitDataOffset = 1;
  typedef struct packed {
    logic [7:0][7:0] data;
    logic last;
    logic [6:0] length;
  } board_transmit_t;
  function automatic board_transmit_t unpack_board_transmit(input logic [71:0] bytes);
    return board_transmit_t'(bytes);
  endfunction
  function automatic logic [71:0] pack_board_transmit(input board_transmit_t fields);
    return fields;
  endfunction

  // The end of a run (board.toml)
  localparam int unsigned BoardRanBytes = 12;
  localparam int unsigned BoardRanCyclesOffset = 0;
  localparam int unsigned BoardRanFailureOffset = 3;
  localparam int unsigned BoardRanDeadlineNsOffset = 4;
  typedef struct packed {
    logic [63:0] deadline_ns;
    logic [7:0] failure;  // processor_failure_e
    logic [5:0] reserved;
    logic is_waiting;
    logic is_quiet;
    logic [15:0] cycles;
  } board_ran_t;
  function automatic board_ran_t unpack_board_ran(input logic [95:0] bytes);
    return board_ran_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_board_ran(input board_ran_t fields);
    return fields;
  endfunction

  // Device configuration, read-only. A field exists if its feature is offered and reads 0 otherwise. [virtio 1.3, 5.1.4; linux/virtio_net.h (without the last field)] (net.toml)
  localparam int unsigned NetConfigBytes = 28;
  localparam int unsigned NetConfigMacOffset = 0;
  localparam int unsigned NetConfigStatusOffset = 6;
  localparam int unsigned NetConfigMaxVirtqueuePairsOffset = 8;
  localparam int unsigned NetConfigMtuOffset = 10;
  localparam int unsigned NetConfigSpeedOffset = 12;
  localparam int unsigned NetConfigDuplexOffset = 16;
  localparam int unsigned NetConfigRssMaxKeySizeOffset = 17;
  localparam int unsigned NetConfigRssMaxIndirectionTableLengthOffset = 18;
  localparam int unsigned NetConfigSupportedHashTypesOffset = 20;
  localparam int unsigned NetConfigSupportedTunnelTypesOffset = 24;
  typedef struct packed {
    logic [31:0] supported_tunnel_types;
    logic [31:0] supported_hash_types;
    logic [15:0] rss_max_indirection_table_length;
    logic [7:0] rss_max_key_size;
    logic [7:0] duplex;  // net_duplex_e
    logic [31:0] speed;
    logic [15:0] mtu;
    logic [15:0] max_virtqueue_pairs;
    logic [15:0] status;
    logic [5:0][7:0] mac;
  } net_config_t;
  function automatic net_config_t unpack_net_config(input logic [223:0] bytes);
    return net_config_t'(bytes);
  endfunction
  function automatic logic [223:0] pack_net_config(input net_config_t fields);
    return fields;
  endfunction

  // Precedes every packet in transmit and receive buffers; a packet's second and later receive buffers have none. [virtio 1.3, 5.1.6; linux/virtio_net.h (virtio_net_hdr_v1)] (net.toml)
  localparam int unsigned NetHdrBytes = 12;
  localparam int unsigned NetHdrFlagsOffset = 0;
  localparam int unsigned NetHdrHdrLenOffset = 2;
  localparam int unsigned NetHdrGsoSizeOffset = 4;
  localparam int unsigned NetHdrCsumStartOffset = 6;
  localparam int unsigned NetHdrCsumOffsetOffset = 8;
  localparam int unsigned NetHdrNumBuffersOffset = 10;
  typedef struct packed {
    logic [15:0] num_buffers;
    logic [15:0] csum_offset;
    logic [15:0] csum_start;
    logic [15:0] gso_size;
    logic [15:0] hdr_len;
    logic gso_ecn;
    logic gso_udp_tunnel_ipv6;
    logic gso_udp_tunnel_ipv4;
    logic [4:0] gso_type;  // net_hdr_gso_e
    logic [7:0] flags;
  } net_hdr_t;
  function automatic net_hdr_t unpack_net_hdr(input logic [95:0] bytes);
    return net_hdr_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_net_hdr(input net_hdr_t fields);
    return fields;
  endfunction

  // Packet header if hash_report was accepted, in both directions. [virtio 1.3, 5.1.6; linux/virtio_net.h (virtio_net_hdr_v1_hash)] (net.toml)
  localparam int unsigned NetHdrHashBytes = 20;
  localparam int unsigned NetHdrHashHdrOffset = 0;
  localparam int unsigned NetHdrHashHashValueOffset = 12;
  localparam int unsigned NetHdrHashHashReportOffset = 16;
  localparam int unsigned NetHdrHashPaddingReservedOffset = 18;
  typedef struct packed {
    logic [15:0] padding_reserved;
    logic [15:0] hash_report;  // net_hash_report_e
    logic [31:0] hash_value;
    net_hdr_t hdr;
  } net_hdr_hash_t;
  function automatic net_hdr_hash_t unpack_net_hdr_hash(input logic [159:0] bytes);
    return net_hdr_hash_t'(bytes);
  endfunction
  function automatic logic [159:0] pack_net_hdr_hash(input net_hdr_hash_t fields);
    return fields;
  endfunction

  // Packet header if *_udp_tunnel_gso was accepted; the hash fields keep their place even without hash_report. [virtio 1.4, 5.1.6; linux/virtio_net.h 7.2 (virtio_net_hdr_v1_hash_tunnel)] (net.toml)
  localparam int unsigned NetHdrHashTunnelBytes = 24;
  localparam int unsigned NetHdrHashTunnelHashHdrOffset = 0;
  localparam int unsigned NetHdrHashTunnelOuterThOffsetOffset = 20;
  localparam int unsigned NetHdrHashTunnelInnerNhOffsetOffset = 22;
  typedef struct packed {
    logic [15:0] inner_nh_offset;
    logic [15:0] outer_th_offset;
    net_hdr_hash_t hash_hdr;
  } net_hdr_hash_tunnel_t;
  function automatic net_hdr_hash_tunnel_t unpack_net_hdr_hash_tunnel(input logic [191:0] bytes);
    return net_hdr_hash_tunnel_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_net_hdr_hash_tunnel(input net_hdr_hash_tunnel_t fields);
    return fields;
  endfunction

  // Packet header if out_net_header was accepted. [virtio 1.4, 5.1.6; Linux patch series of 2025-10-08 (in no released header)] (net.toml)
  localparam int unsigned NetHdrHashTunnelOutNetHdrBytes = 32;
  localparam int unsigned NetHdrHashTunnelOutNetHdrTnlHdrOffset = 0;
  localparam int unsigned NetHdrHashTunnelOutNetHdrOuterNhOffsetOffset = 24;
  localparam int unsigned NetHdrHashTunnelOutNetHdrPaddingReserved2Offset = 26;
  typedef struct packed {
    logic [5:0][7:0] padding_reserved_2;
    logic [15:0] outer_nh_offset;
    net_hdr_hash_tunnel_t tnl_hdr;
  } net_hdr_hash_tunnel_out_net_hdr_t;
  function automatic net_hdr_hash_tunnel_out_net_hdr_t unpack_net_hdr_hash_tunnel_out_net_hdr(input logic [255:0] bytes);
    return net_hdr_hash_tunnel_out_net_hdr_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_net_hdr_hash_tunnel_out_net_hdr(input net_hdr_hash_tunnel_out_net_hdr_t fields);
    return fields;
  endfunction

  // Head of every command: header, request, then the part that the device writes: ack (net_ctrl_ack), response. [virtio 1.3, 5.1.6.5; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetCtrlHdrBytes = 2;
  localparam int unsigned NetCtrlHdrCtrlClassOffset = 0;
  localparam int unsigned NetCtrlHdrCommandOffset = 1;
  typedef struct packed {
    logic [7:0] command;
    logic [7:0] ctrl_class;  // net_ctrl_class_e
  } net_ctrl_hdr_t;
  function automatic net_ctrl_hdr_t unpack_net_ctrl_hdr(input logic [15:0] bytes);
    return net_ctrl_hdr_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_net_ctrl_hdr(input net_ctrl_hdr_t fields);
    return fields;
  endfunction

  // Request of every command of class rx. [virtio 1.3, 5.1.6.5.1] (net.toml)
  localparam int unsigned NetCtrlRxBytes = 1;
  localparam int unsigned NetCtrlRxOnOffset = 0;
  typedef struct packed {
    logic [7:0] on;
  } net_ctrl_rx_t;
  function automatic net_ctrl_rx_t unpack_net_ctrl_rx(input logic [7:0] bytes);
    return net_ctrl_rx_t'(bytes);
  endfunction
  function automatic logic [7:0] pack_net_ctrl_rx(input net_ctrl_rx_t fields);
    return fields;
  endfunction

  // A MAC address: request of mac_addr_set, element of net_ctrl_mac. [virtio 1.3, 5.1.6.5.2] (net.toml)
  localparam int unsigned NetCtrlMacAddrBytes = 6;
  localparam int unsigned NetCtrlMacAddrMacOffset = 0;
  typedef struct packed {
    logic [5:0][7:0] mac;
  } net_ctrl_mac_addr_t;
  function automatic net_ctrl_mac_addr_t unpack_net_ctrl_mac_addr(input logic [47:0] bytes);
    return net_ctrl_mac_addr_t'(bytes);
  endfunction
  function automatic logic [47:0] pack_net_ctrl_mac_addr(input net_ctrl_mac_addr_t fields);
    return fields;
  endfunction

  // Address table. mac_table_set has two of them, one directly after the other: unicast, then multicast. [virtio 1.3, 5.1.6.5.2; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetCtrlMacBytes = 4;
  localparam int unsigned NetCtrlMacEntriesOffset = 0;
  typedef struct packed {
    logic [31:0] entries;
  } net_ctrl_mac_t;
  function automatic net_ctrl_mac_t unpack_net_ctrl_mac(input logic [31:0] bytes);
    return net_ctrl_mac_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_net_ctrl_mac(input net_ctrl_mac_t fields);
    return fields;
  endfunction

  // Request of every command of class vlan. [virtio 1.3, 5.1.6.5.3] (net.toml)
  localparam int unsigned NetCtrlVlanBytes = 2;
  localparam int unsigned NetCtrlVlanVlanIdOffset = 0;
  typedef struct packed {
    logic [15:0] vlan_id;
  } net_ctrl_vlan_t;
  function automatic net_ctrl_vlan_t unpack_net_ctrl_vlan(input logic [15:0] bytes);
    return net_ctrl_vlan_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_net_ctrl_vlan(input net_ctrl_vlan_t fields);
    return fields;
  endfunction

  // Request of mq_vq_pairs_set. [virtio 1.3, 5.1.6.5.6; linux/virtio_net.h (virtio_net_ctrl_mq)] (net.toml)
  localparam int unsigned NetCtrlMqPairsSetBytes = 2;
  localparam int unsigned NetCtrlMqPairsSetVirtqueuePairsOffset = 0;
  typedef struct packed {
    logic [15:0] virtqueue_pairs;
  } net_ctrl_mq_pairs_set_t;
  function automatic net_ctrl_mq_pairs_set_t unpack_net_ctrl_mq_pairs_set(input logic [15:0] bytes);
    return net_ctrl_mq_pairs_set_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_net_ctrl_mq_pairs_set(input net_ctrl_mq_pairs_set_t fields);
    return fields;
  endfunction

  // A receive queue. [virtio 1.3, 5.1.6.5.7.1] (net.toml)
  localparam int unsigned RssRqIdBytes = 2;
  typedef struct packed {
    logic reserved;
    logic [14:0] vq_index_1_16;
  } rss_rq_id_t;
  function automatic rss_rq_id_t unpack_rss_rq_id(input logic [15:0] bytes);
    return rss_rq_id_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_rss_rq_id(input rss_rq_id_t fields);
    return fields;
  endfunction

  // Request of mq_rss_config, first part; net_rss_config_trailer follows the table. [virtio 1.3, 5.1.6.5.7.1; linux/virtio_net.h (virtio_net_rss_config_hdr)] (net.toml)
  localparam int unsigned NetRssConfigHdrBytes = 8;
  localparam int unsigned NetRssConfigHdrHashTypesOffset = 0;
  localparam int unsigned NetRssConfigHdrIndirectionTableMaskOffset = 4;
  localparam int unsigned NetRssConfigHdrUnclassifiedQueueOffset = 6;
  typedef struct packed {
    rss_rq_id_t unclassified_queue;
    logic [15:0] indirection_table_mask;
    logic [31:0] hash_types;
  } net_rss_config_hdr_t;
  function automatic net_rss_config_hdr_t unpack_net_rss_config_hdr(input logic [63:0] bytes);
    return net_rss_config_hdr_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_net_rss_config_hdr(input net_rss_config_hdr_t fields);
    return fields;
  endfunction

  // Request of mq_rss_config, second part: hash_key_length key bytes follow. [virtio 1.3, 5.1.6.5.7.1; linux/virtio_net.h (virtio_net_rss_config_trailer)] (net.toml)
  localparam int unsigned NetRssConfigTrailerBytes = 3;
  localparam int unsigned NetRssConfigTrailerHashKeyDataEntryBytes = 1;
  localparam int unsigned NetRssConfigTrailerMaxTxVqOffset = 0;
  localparam int unsigned NetRssConfigTrailerHashKeyLengthOffset = 2;
  typedef struct packed {
    logic [7:0] hash_key_length;
    logic [15:0] max_tx_vq;
  } net_rss_config_trailer_t;
  function automatic net_rss_config_trailer_t unpack_net_rss_config_trailer(input logic [23:0] bytes);
    return net_rss_config_trailer_t'(bytes);
  endfunction
  function automatic logic [23:0] pack_net_rss_config_trailer(input net_rss_config_trailer_t fields);
    return fields;
  endfunction

  // Request of mq_hash_config: hash_key_length key bytes follow. Has the shape of an RSS configuration with one entry. [virtio 1.3, 5.1.6.5.6.4; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetHashConfigBytes = 13;
  localparam int unsigned NetHashConfigHashKeyDataEntryBytes = 1;
  localparam int unsigned NetHashConfigHashTypesOffset = 0;
  localparam int unsigned NetHashConfigHashKeyLengthOffset = 12;
  typedef struct packed {
    logic [7:0] hash_key_length;
    logic [3:0][15:0] reserved;
    logic [31:0] hash_types;
  } net_hash_config_t;
  function automatic net_hash_config_t unpack_net_hash_config(input logic [103:0] bytes);
    return net_hash_config_t'(bytes);
  endfunction
  function automatic logic [103:0] pack_net_hash_config(input net_hash_config_t fields);
    return fields;
  endfunction

  // Request of guest_offloads_set. [virtio 1.3, 5.1.6.5.8.1] (net.toml)
  localparam int unsigned NetCtrlGuestOffloadsBytes = 8;
  localparam int unsigned NetCtrlGuestOffloadsOffloadsOffset = 0;
  typedef struct packed {
    logic [63:0] offloads;
  } net_ctrl_guest_offloads_t;
  function automatic net_ctrl_guest_offloads_t unpack_net_ctrl_guest_offloads(input logic [63:0] bytes);
    return net_ctrl_guest_offloads_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_net_ctrl_guest_offloads(input net_ctrl_guest_offloads_t fields);
    return fields;
  endfunction

  // Interrupt after this many packets or this time since the first one, whichever comes first; 0 in either: after every packet. [virtio 1.3, 5.1.6.5.9; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetCtrlCoalBytes = 8;
  localparam int unsigned NetCtrlCoalMaxPacketsOffset = 0;
  localparam int unsigned NetCtrlCoalMaxUsecsOffset = 4;
  typedef struct packed {
    logic [31:0] max_usecs;
    logic [31:0] max_packets;
  } net_ctrl_coal_t;
  function automatic net_ctrl_coal_t unpack_net_ctrl_coal(input logic [63:0] bytes);
    return net_ctrl_coal_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_net_ctrl_coal(input net_ctrl_coal_t fields);
    return fields;
  endfunction

  // Request of notf_coal_vq_set. [virtio 1.3, 5.1.6.5.9; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetCtrlCoalVqBytes = 12;
  localparam int unsigned NetCtrlCoalVqVqIndexOffset = 0;
  localparam int unsigned NetCtrlCoalVqCoalOffset = 4;
  typedef struct packed {
    net_ctrl_coal_t coal;
    logic [15:0] reserved;
    logic [15:0] vq_index;
  } net_ctrl_coal_vq_t;
  function automatic net_ctrl_coal_vq_t unpack_net_ctrl_coal_vq(input logic [95:0] bytes);
    return net_ctrl_coal_vq_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_net_ctrl_coal_vq(input net_ctrl_coal_vq_t fields);
    return fields;
  endfunction

  // Device-readable part of notf_coal_vq_get: net_ctrl_coal_vq without coal, which the device writes. [virtio 1.3, 5.1.6.5.9] (net.toml)
  localparam int unsigned NetCtrlCoalVqGetBytes = 4;
  localparam int unsigned NetCtrlCoalVqGetVqIndexOffset = 0;
  typedef struct packed {
    logic [15:0] reserved;
    logic [15:0] vq_index;
  } net_ctrl_coal_vq_get_t;
  function automatic net_ctrl_coal_vq_get_t unpack_net_ctrl_coal_vq_get(input logic [31:0] bytes);
    return net_ctrl_coal_vq_get_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_net_ctrl_coal_vq_get(input net_ctrl_coal_vq_get_t fields);
    return fields;
  endfunction

  // Request of hash_tunnel set. [virtio 1.3, 5.1.6.4.4 (virtnet_hash_tunnel)] (net.toml)
  localparam int unsigned NetHashTunnelBytes = 4;
  localparam int unsigned NetHashTunnelEnabledTunnelTypesOffset = 0;
  typedef struct packed {
    logic [31:0] enabled_tunnel_types;
  } net_hash_tunnel_t;
  function automatic net_hash_tunnel_t unpack_net_hash_tunnel(input logic [31:0] bytes);
    return net_hash_tunnel_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_net_hash_tunnel(input net_hash_tunnel_t fields);
    return fields;
  endfunction

  // Response of cap_get. [virtio 1.4, 5.1.6.5, RSS Context (virtnet_rss_ctx_cap)] (net.toml)
  localparam int unsigned NetRssCtxCapBytes = 2;
  localparam int unsigned NetRssCtxCapMaxRssContextsOffset = 0;
  typedef struct packed {
    logic [15:0] max_rss_contexts;
  } net_rss_ctx_cap_t;
  function automatic net_rss_ctx_cap_t unpack_net_rss_ctx_cap(input logic [15:0] bytes);
    return net_rss_ctx_cap_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_net_rss_ctx_cap(input net_rss_ctx_cap_t fields);
    return fields;
  endfunction

  // Request of add and mod; net_rss_config_trailer follows the table. [virtio 1.4, 5.1.6.5, RSS Context (virtnet_rss_ctx_add_modify)] (net.toml)
  localparam int unsigned NetRssCtxAddModifyBytes = 16;
  localparam int unsigned NetRssCtxAddModifyRssCtxIdOffset = 0;
  localparam int unsigned NetRssCtxAddModifyRssOffset = 8;
  typedef struct packed {
    net_rss_config_hdr_t rss;
    logic [5:0][7:0] reserved;
    logic [15:0] rss_ctx_id;
  } net_rss_ctx_add_modify_t;
  function automatic net_rss_ctx_add_modify_t unpack_net_rss_ctx_add_modify(input logic [127:0] bytes);
    return net_rss_ctx_add_modify_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_net_rss_ctx_add_modify(input net_rss_ctx_add_modify_t fields);
    return fields;
  endfunction

  // Request of del. [virtio 1.4, 5.1.6.5, RSS Context (virtnet_rss_ctx_del)] (net.toml)
  localparam int unsigned NetRssCtxDelBytes = 2;
  localparam int unsigned NetRssCtxDelRssCtxIdOffset = 0;
  typedef struct packed {
    logic [15:0] rss_ctx_id;
  } net_rss_ctx_del_t;
  function automatic net_rss_ctx_del_t unpack_net_rss_ctx_del(input logic [15:0] bytes);
    return net_rss_ctx_del_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_net_rss_ctx_del(input net_rss_ctx_del_t fields);
    return fields;
  endfunction

  // Response of query. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsCapabilitiesBytes = 8;
  localparam int unsigned NetStatsCapabilitiesSupportedStatsTypesOffset = 0;
  typedef struct packed {
    logic [63:0] supported_stats_types;
  } net_stats_capabilities_t;
  function automatic net_stats_capabilities_t unpack_net_stats_capabilities(input logic [63:0] bytes);
    return net_stats_capabilities_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_net_stats_capabilities(input net_stats_capabilities_t fields);
    return fields;
  endfunction

  // Element of the request of get; one error refuses the whole command. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetCtrlQueueStatsBytes = 16;
  localparam int unsigned NetCtrlQueueStatsVqIndexOffset = 0;
  localparam int unsigned NetCtrlQueueStatsTypesBitmapOffset = 8;
  typedef struct packed {
    logic [63:0] types_bitmap;
    logic [2:0][15:0] reserved;
    logic [15:0] vq_index;
  } net_ctrl_queue_stats_t;
  function automatic net_ctrl_queue_stats_t unpack_net_ctrl_queue_stats(input logic [127:0] bytes);
    return net_ctrl_queue_stats_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_net_ctrl_queue_stats(input net_ctrl_queue_stats_t fields);
    return fields;
  endfunction

  // Head of every net_stats_* of a response. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsReplyHdrBytes = 8;
  localparam int unsigned NetStatsReplyHdrStatsTypeOffset = 0;
  localparam int unsigned NetStatsReplyHdrVqIndexOffset = 2;
  localparam int unsigned NetStatsReplyHdrSizeOffset = 6;
  typedef struct packed {
    logic [15:0] size;
    logic [15:0] reserved1;
    logic [15:0] vq_index;
    logic [7:0] reserved;
    logic [7:0] stats_type;  // net_stats_reply_type_e
  } net_stats_reply_hdr_t;
  function automatic net_stats_reply_hdr_t unpack_net_stats_reply_hdr(input logic [63:0] bytes);
    return net_stats_reply_hdr_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_net_stats_reply_hdr(input net_stats_reply_hdr_t fields);
    return fields;
  endfunction

  // Statistics of the control queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsCvqBytes = 24;
  localparam int unsigned NetStatsCvqHdrOffset = 0;
  localparam int unsigned NetStatsCvqCommandNumOffset = 8;
  localparam int unsigned NetStatsCvqOkNumOffset = 16;
  typedef struct packed {
    logic [63:0] ok_num;
    logic [63:0] command_num;
    net_stats_reply_hdr_t hdr;
  } net_stats_cvq_t;
  function automatic net_stats_cvq_t unpack_net_stats_cvq(input logic [191:0] bytes);
    return net_stats_cvq_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_net_stats_cvq(input net_stats_cvq_t fields);
    return fields;
  endfunction

  // Statistics of a receive queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsRxBasicBytes = 56;
  localparam int unsigned NetStatsRxBasicHdrOffset = 0;
  localparam int unsigned NetStatsRxBasicRxNotificationsOffset = 8;
  localparam int unsigned NetStatsRxBasicRxPacketsOffset = 16;
  localparam int unsigned NetStatsRxBasicRxBytesOffset = 24;
  localparam int unsigned NetStatsRxBasicRxInterruptsOffset = 32;
  localparam int unsigned NetStatsRxBasicRxDropsOffset = 40;
  localparam int unsigned NetStatsRxBasicRxDropOverrunsOffset = 48;
  typedef struct packed {
    logic [63:0] rx_drop_overruns;
    logic [63:0] rx_drops;
    logic [63:0] rx_interrupts;
    logic [63:0] rx_bytes;
    logic [63:0] rx_packets;
    logic [63:0] rx_notifications;
    net_stats_reply_hdr_t hdr;
  } net_stats_rx_basic_t;
  function automatic net_stats_rx_basic_t unpack_net_stats_rx_basic(input logic [447:0] bytes);
    return net_stats_rx_basic_t'(bytes);
  endfunction
  function automatic logic [447:0] pack_net_stats_rx_basic(input net_stats_rx_basic_t fields);
    return fields;
  endfunction

  // Statistics of a transmit queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsTxBasicBytes = 56;
  localparam int unsigned NetStatsTxBasicHdrOffset = 0;
  localparam int unsigned NetStatsTxBasicTxNotificationsOffset = 8;
  localparam int unsigned NetStatsTxBasicTxPacketsOffset = 16;
  localparam int unsigned NetStatsTxBasicTxBytesOffset = 24;
  localparam int unsigned NetStatsTxBasicTxInterruptsOffset = 32;
  localparam int unsigned NetStatsTxBasicTxDropsOffset = 40;
  localparam int unsigned NetStatsTxBasicTxDropMalformedOffset = 48;
  typedef struct packed {
    logic [63:0] tx_drop_malformed;
    logic [63:0] tx_drops;
    logic [63:0] tx_interrupts;
    logic [63:0] tx_bytes;
    logic [63:0] tx_packets;
    logic [63:0] tx_notifications;
    net_stats_reply_hdr_t hdr;
  } net_stats_tx_basic_t;
  function automatic net_stats_tx_basic_t unpack_net_stats_tx_basic(input logic [447:0] bytes);
    return net_stats_tx_basic_t'(bytes);
  endfunction
  function automatic logic [447:0] pack_net_stats_tx_basic(input net_stats_tx_basic_t fields);
    return fields;
  endfunction

  // Checksum statistics of a receive queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsRxCsumBytes = 40;
  localparam int unsigned NetStatsRxCsumHdrOffset = 0;
  localparam int unsigned NetStatsRxCsumRxCsumValidOffset = 8;
  localparam int unsigned NetStatsRxCsumRxNeedsCsumOffset = 16;
  localparam int unsigned NetStatsRxCsumRxCsumNoneOffset = 24;
  localparam int unsigned NetStatsRxCsumRxCsumBadOffset = 32;
  typedef struct packed {
    logic [63:0] rx_csum_bad;
    logic [63:0] rx_csum_none;
    logic [63:0] rx_needs_csum;
    logic [63:0] rx_csum_valid;
    net_stats_reply_hdr_t hdr;
  } net_stats_rx_csum_t;
  function automatic net_stats_rx_csum_t unpack_net_stats_rx_csum(input logic [319:0] bytes);
    return net_stats_rx_csum_t'(bytes);
  endfunction
  function automatic logic [319:0] pack_net_stats_rx_csum(input net_stats_rx_csum_t fields);
    return fields;
  endfunction

  // Checksum statistics of a transmit queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsTxCsumBytes = 24;
  localparam int unsigned NetStatsTxCsumHdrOffset = 0;
  localparam int unsigned NetStatsTxCsumTxCsumNoneOffset = 8;
  localparam int unsigned NetStatsTxCsumTxNeedsCsumOffset = 16;
  typedef struct packed {
    logic [63:0] tx_needs_csum;
    logic [63:0] tx_csum_none;
    net_stats_reply_hdr_t hdr;
  } net_stats_tx_csum_t;
  function automatic net_stats_tx_csum_t unpack_net_stats_tx_csum(input logic [191:0] bytes);
    return net_stats_tx_csum_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_net_stats_tx_csum(input net_stats_tx_csum_t fields);
    return fields;
  endfunction

  // Merging statistics of a receive queue; bytes include headers. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsRxGsoBytes = 40;
  localparam int unsigned NetStatsRxGsoHdrOffset = 0;
  localparam int unsigned NetStatsRxGsoRxGsoPacketsOffset = 8;
  localparam int unsigned NetStatsRxGsoRxGsoBytesOffset = 16;
  localparam int unsigned NetStatsRxGsoRxGsoPacketsCoalescedOffset = 24;
  localparam int unsigned NetStatsRxGsoRxGsoBytesCoalescedOffset = 32;
  typedef struct packed {
    logic [63:0] rx_gso_bytes_coalesced;
    logic [63:0] rx_gso_packets_coalesced;
    logic [63:0] rx_gso_bytes;
    logic [63:0] rx_gso_packets;
    net_stats_reply_hdr_t hdr;
  } net_stats_rx_gso_t;
  function automatic net_stats_rx_gso_t unpack_net_stats_rx_gso(input logic [319:0] bytes);
    return net_stats_rx_gso_t'(bytes);
  endfunction
  function automatic logic [319:0] pack_net_stats_rx_gso(input net_stats_rx_gso_t fields);
    return fields;
  endfunction

  // Segmentation statistics of a transmit queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsTxGsoBytes = 56;
  localparam int unsigned NetStatsTxGsoHdrOffset = 0;
  localparam int unsigned NetStatsTxGsoTxGsoPacketsOffset = 8;
  localparam int unsigned NetStatsTxGsoTxGsoBytesOffset = 16;
  localparam int unsigned NetStatsTxGsoTxGsoSegmentsOffset = 24;
  localparam int unsigned NetStatsTxGsoTxGsoSegmentsBytesOffset = 32;
  localparam int unsigned NetStatsTxGsoTxGsoPacketsNosegOffset = 40;
  localparam int unsigned NetStatsTxGsoTxGsoBytesNosegOffset = 48;
  typedef struct packed {
    logic [63:0] tx_gso_bytes_noseg;
    logic [63:0] tx_gso_packets_noseg;
    logic [63:0] tx_gso_segments_bytes;
    logic [63:0] tx_gso_segments;
    logic [63:0] tx_gso_bytes;
    logic [63:0] tx_gso_packets;
    net_stats_reply_hdr_t hdr;
  } net_stats_tx_gso_t;
  function automatic net_stats_tx_gso_t unpack_net_stats_tx_gso(input logic [447:0] bytes);
    return net_stats_tx_gso_t'(bytes);
  endfunction
  function automatic logic [447:0] pack_net_stats_tx_gso(input net_stats_tx_gso_t fields);
    return fields;
  endfunction

  // Rate limit statistics of a receive queue. Linux: rx_ratelimit_packets, rx_ratelimit_bytes. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsRxSpeedBytes = 24;
  localparam int unsigned NetStatsRxSpeedHdrOffset = 0;
  localparam int unsigned NetStatsRxSpeedRxPacketsAllowanceExceededOffset = 8;
  localparam int unsigned NetStatsRxSpeedRxBytesAllowanceExceededOffset = 16;
  typedef struct packed {
    logic [63:0] rx_bytes_allowance_exceeded;
    logic [63:0] rx_packets_allowance_exceeded;
    net_stats_reply_hdr_t hdr;
  } net_stats_rx_speed_t;
  function automatic net_stats_rx_speed_t unpack_net_stats_rx_speed(input logic [191:0] bytes);
    return net_stats_rx_speed_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_net_stats_rx_speed(input net_stats_rx_speed_t fields);
    return fields;
  endfunction

  // Rate limit statistics of a transmit queue. Linux: tx_ratelimit_packets, tx_ratelimit_bytes. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
  localparam int unsigned NetStatsTxSpeedBytes = 24;
  localparam int unsigned NetStatsTxSpeedHdrOffset = 0;
  localparam int unsigned NetStatsTxSpeedTxPacketsAllowanceExceededOffset = 8;
  localparam int unsigned NetStatsTxSpeedTxBytesAllowanceExceededOffset = 16;
  typedef struct packed {
    logic [63:0] tx_bytes_allowance_exceeded;
    logic [63:0] tx_packets_allowance_exceeded;
    net_stats_reply_hdr_t hdr;
  } net_stats_tx_speed_t;
  function automatic net_stats_tx_speed_t unpack_net_stats_tx_speed(input logic [191:0] bytes);
    return net_stats_tx_speed_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_net_stats_tx_speed(input net_stats_tx_speed_t fields);
    return fields;
  endfunction

  // Type 0 header: the first bytes of configuration space. [PCIe 5.0, 7.5.1.1 and 7.5.1.2] (pci.toml)
  localparam int unsigned PciHeaderBytes = 64;
  localparam int unsigned PciHeaderVendorIdOffset = 0;
  localparam int unsigned PciHeaderDeviceIdOffset = 2;
  localparam int unsigned PciHeaderCommandOffset = 4;
  localparam int unsigned PciHeaderStatusOffset = 6;
  localparam int unsigned PciHeaderRevisionIdOffset = 8;
  localparam int unsigned PciHeaderClassCodeOffset = 9;
  localparam int unsigned PciHeaderCacheLineSizeOffset = 12;
  localparam int unsigned PciHeaderLatencyTimerOffset = 13;
  localparam int unsigned PciHeaderHeaderTypeOffset = 14;
  localparam int unsigned PciHeaderBistOffset = 15;
  localparam int unsigned PciHeaderBaseAddressOffset = 16;
  localparam int unsigned PciHeaderCardbusCisPointerOffset = 40;
  localparam int unsigned PciHeaderSubsystemVendorIdOffset = 44;
  localparam int unsigned PciHeaderSubsystemIdOffset = 46;
  localparam int unsigned PciHeaderExpansionRomBaseAddressOffset = 48;
  localparam int unsigned PciHeaderCapabilitiesPointerOffset = 52;
  localparam int unsigned PciHeaderInterruptLineOffset = 60;
  localparam int unsigned PciHeaderInterruptPinOffset = 61;
  localparam int unsigned PciHeaderMinGntOffset = 62;
  localparam int unsigned PciHeaderMaxLatOffset = 63;
  typedef struct packed {
    logic [7:0] max_lat;
    logic [7:0] min_gnt;
    logic [7:0] interrupt_pin;
    logic [7:0] interrupt_line;
    logic [6:0][7:0] reserved;
    logic [7:0] capabilities_pointer;
    logic [31:0] expansion_rom_base_address;
    logic [15:0] subsystem_id;
    logic [15:0] subsystem_vendor_id;
    logic [31:0] cardbus_cis_pointer;
    logic [5:0][31:0] base_address;
    logic [7:0] bist;
    logic [7:0] header_type;
    logic [7:0] latency_timer;
    logic [7:0] cache_line_size;
    logic [23:0] class_code;
    logic [7:0] revision_id;
    logic [15:0] status;
    logic [15:0] command;
    logic [15:0] device_id;
    logic [15:0] vendor_id;
  } pci_header_t;
  function automatic pci_header_t unpack_pci_header(input logic [511:0] bytes);
    return pci_header_t'(bytes);
  endfunction
  function automatic logic [511:0] pack_pci_header(input pci_header_t fields);
    return fields;
  endfunction

  // Low half of a memory BAR register. The address bits below the BAR's size read 0, so that software can determine the size. [PCIe 5.0, 7.5.1.2.1] (pci.toml)
  localparam int unsigned PciMemoryBarBytes = 4;
  typedef struct packed {
    logic [27:0] base_address;
    logic prefetchable;
    logic [1:0] memory_type;  // pci_bar_memory_type_e
    logic io_space;
  } pci_memory_bar_t;
  function automatic pci_memory_bar_t unpack_pci_memory_bar(input logic [31:0] bytes);
    return pci_memory_bar_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_pci_memory_bar(input pci_memory_bar_t fields);
    return fields;
  endfunction

  // Head of every capability; each begins on a multiple of 4 bytes. [PCIe 5.0, 7.5.1.1.11] (pci.toml)
  localparam int unsigned PciCapabilityBytes = 2;
  localparam int unsigned PciCapabilityCapIdOffset = 0;
  localparam int unsigned PciCapabilityCapNextOffset = 1;
  typedef struct packed {
    logic [7:0] cap_next;
    logic [7:0] cap_id;  // pci_capability_id_e
  } pci_capability_t;
  function automatic pci_capability_t unpack_pci_capability(input logic [15:0] bytes);
    return pci_capability_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_pci_capability(input pci_capability_t fields);
    return fields;
  endfunction

  // Head of every extended capability. [PCIe 5.0, 7.6.3] (pci.toml)
  localparam int unsigned PcieExtendedCapabilityBytes = 4;
  localparam int unsigned PcieExtendedCapabilityCapIdOffset = 0;
  typedef struct packed {
    logic [11:0] cap_next;
    logic [3:0] version;
    logic [15:0] cap_id;  // pcie_extended_capability_id_e
  } pcie_extended_capability_t;
  function automatic pcie_extended_capability_t unpack_pcie_extended_capability(input logic [31:0] bytes);
    return pcie_extended_capability_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_pcie_extended_capability(input pcie_extended_capability_t fields);
    return fields;
  endfunction

  // Power management: mandatory in PCI Express. Vireo has D0 and D3hot; leaving D3hot resets nothing. [PCI Express Base 5.0, 7.5.2] (pci.toml)
  localparam int unsigned PciPmCapBytes = 8;
  localparam int unsigned PciPmCapCapabilityIdOffset = 0;
  localparam int unsigned PciPmCapNextOffset = 1;
  localparam int unsigned PciPmCapBridgeExtensionsOffset = 6;
  localparam int unsigned PciPmCapDataOffset = 7;
  typedef struct packed {
    logic [7:0] data;
    logic [7:0] bridge_extensions;
    logic pme_status;
    logic [1:0] data_scale;
    logic [3:0] data_select;
    logic pme_enable;
    logic [3:0] reserved1;
    logic no_soft_reset;
    logic reserved;
    logic [1:0] power_state;
    logic [4:0] pme_support;
    logic d2_support;
    logic d1_support;
    logic [2:0] aux_current;
    logic device_specific_initialization;
    logic immediate_readiness;
    logic pme_clock;
    logic [2:0] pm_version;
    logic [7:0] next;
    logic [7:0] capability_id;  // pci_capability_id_e
  } pci_pm_cap_t;
  function automatic pci_pm_cap_t unpack_pci_pm_cap(input logic [63:0] bytes);
    return pci_pm_cap_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_pci_pm_cap(input pci_pm_cap_t fields);
    return fields;
  endfunction

  // PCI Express capability, version 2. Slot and root registers read 0 in an endpoint. [PCIe 5.0, 7.5.3; linux/pci_regs.h] (pci.toml)
  localparam int unsigned PcieCapBytes = 60;
  localparam int unsigned PcieCapCapIdOffset = 0;
  localparam int unsigned PcieCapCapNextOffset = 1;
  localparam int unsigned PcieCapPortNumberOffset = 15;
  localparam int unsigned PcieCapLinkControlOffset = 16;
  localparam int unsigned PcieCapSlotCapabilitiesOffset = 20;
  localparam int unsigned PcieCapSlotControlOffset = 24;
  localparam int unsigned PcieCapSlotStatusOffset = 26;
  localparam int unsigned PcieCapRootControlOffset = 28;
  localparam int unsigned PcieCapRootCapabilitiesOffset = 30;
  localparam int unsigned PcieCapRootStatusOffset = 32;
  localparam int unsigned PcieCapDeviceCapabilities2Offset = 36;
  localparam int unsigned PcieCapDeviceControl2Offset = 40;
  localparam int unsigned PcieCapDeviceStatus2Offset = 42;
  localparam int unsigned PcieCapLinkCapabilities2Offset = 44;
  localparam int unsigned PcieCapLinkControl2Offset = 48;
  localparam int unsigned PcieCapLinkStatus2Offset = 50;
  localparam int unsigned PcieCapSlotCapabilities2Offset = 52;
  localparam int unsigned PcieCapSlotControl2Offset = 56;
  localparam int unsigned PcieCapSlotStatus2Offset = 58;
  typedef struct packed {
    logic [15:0] slot_status2;
    logic [15:0] slot_control2;
    logic [31:0] slot_capabilities2;
    logic [15:0] link_status2;
    logic [15:0] link_control2;
    logic [31:0] link_capabilities2;
    logic [15:0] device_status2;
    logic [15:0] device_control2;
    logic [31:0] device_capabilities2;
    logic [31:0] root_status;
    logic [15:0] root_capabilities;
    logic [15:0] root_control;
    logic [15:0] slot_status;
    logic [15:0] slot_control;
    logic [31:0] slot_capabilities;
    logic link_autonomous_bandwidth;
    logic link_bandwidth_management;
    logic link_active;
    logic slot_clock_configuration;
    logic link_training;
    logic reserved6;
    logic [5:0] link_width;
    logic [3:0] link_speed;  // pcie_link_speed_e
    logic [15:0] link_control;
    logic [7:0] port_number;
    logic [1:0] reserved5;
    logic link_bandwidth_notification;
    logic link_active_reporting;
    logic surprise_down_error_reporting;
    logic clock_power_management;
    logic [2:0] l1_exit_latency;
    logic [2:0] l0s_exit_latency;
    logic [1:0] aspm_support;
    logic [5:0] max_link_width;
    logic [3:0] max_link_speed;  // pcie_link_speed_e
    logic [9:0] reserved4;
    logic transactions_pending;
    logic aux_power_detected;
    logic unsupported_request_detected;
    logic fatal_error_detected;
    logic non_fatal_error_detected;
    logic correctable_error_detected;
    logic initiate_function_level_reset;
    logic [2:0] max_read_request_size;  // pcie_size_e
    logic no_snoop;
    logic aux_power_pm;
    logic phantom_functions;
    logic extended_tag;
    logic [2:0] max_payload_size;  // pcie_size_e
    logic relaxed_ordering;
    logic unsupported_request_reporting;
    logic fatal_error_reporting;
    logic non_fatal_error_reporting;
    logic correctable_error_reporting;
    logic [2:0] reserved3;
    logic function_level_reset_capable;
    logic [1:0] slot_power_limit_scale;
    logic [7:0] slot_power_limit_value;
    logic [1:0] reserved2;
    logic role_based_error_reporting;
    logic [2:0] reserved1;
    logic [2:0] l1_acceptable_latency;
    logic [2:0] l0s_acceptable_latency;
    logic extended_tag_supported;
    logic [1:0] phantom_functions_supported;
    logic [2:0] max_payload_size_supported;  // pcie_size_e
    logic [1:0] reserved;
    logic [4:0] interrupt_message_number;
    logic slot_implemented;
    logic [3:0] port_type;  // pcie_port_type_e
    logic [3:0] version;
    logic [7:0] cap_next;
    logic [7:0] cap_id;  // pci_capability_id_e
  } pcie_cap_t;
  function automatic pcie_cap_t unpack_pcie_cap(input logic [479:0] bytes);
    return pcie_cap_t'(bytes);
  endfunction
  function automatic logic [479:0] pack_pcie_cap(input pcie_cap_t fields);
    return fields;
  endfunction

  // MSI-X capability. Reset state: disabled, not masked. [PCIe 5.0, 7.7.2; linux/pci_regs.h] (pci.toml)
  localparam int unsigned MsixCapBytes = 12;
  localparam int unsigned MsixCapCapIdOffset = 0;
  localparam int unsigned MsixCapCapNextOffset = 1;
  typedef struct packed {
    logic [28:0] pba_offset;
    logic [2:0] pba_bir;
    logic [28:0] table_offset;
    logic [2:0] table_bir;
    logic msix_enable;
    logic function_mask;
    logic [2:0] reserved;
    logic [10:0] table_size;
    logic [7:0] cap_next;
    logic [7:0] cap_id;  // pci_capability_id_e
  } msix_cap_t;
  function automatic msix_cap_t unpack_msix_cap(input logic [95:0] bytes);
    return msix_cap_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_msix_cap(input msix_cap_t fields);
    return fields;
  endfunction

  // One vector of the MSI-X table. A masked vector's message is kept in the pending bits and sent when the mask is cleared. [PCIe 5.0, 7.7.2; linux/pci_regs.h] (pci.toml)
  localparam int unsigned MsixTableEntryBytes = 16;
  localparam int unsigned MsixTableEntryMessageAddressOffset = 0;
  localparam int unsigned MsixTableEntryMessageUpperAddressOffset = 4;
  localparam int unsigned MsixTableEntryMessageDataOffset = 8;
  typedef struct packed {
    logic [30:0] reserved;
    logic mask;
    logic [31:0] message_data;
    logic [31:0] message_upper_address;
    logic [31:0] message_address;
  } msix_table_entry_t;
  function automatic msix_table_entry_t unpack_msix_table_entry(input logic [127:0] bytes);
    return msix_table_entry_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_msix_table_entry(input msix_table_entry_t fields);
    return fields;
  endfunction

  // One element of the pending bit array: vectors 64 * i to 64 * i + 63. Read-only. [PCIe 5.0, 7.7.2] (pci.toml)
  localparam int unsigned MsixPbaEntryBytes = 8;
  localparam int unsigned MsixPbaEntryPendingOffset = 0;
  typedef struct packed {
    logic [63:0] pending;
  } msix_pba_entry_t;
  function automatic msix_pba_entry_t unpack_msix_pba_entry(input logic [63:0] bytes);
    return msix_pba_entry_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_msix_pba_entry(input msix_pba_entry_t fields);
    return fields;
  endfunction

  // Location of a virtio structure. Read-only, except in virtio_pci_cfg_cap. [virtio 1.3, 4.1.4] (pci.toml)
  localparam int unsigned VirtioPciCapBytes = 16;
  localparam int unsigned VirtioPciCapCapVndrOffset = 0;
  localparam int unsigned VirtioPciCapCapNextOffset = 1;
  localparam int unsigned VirtioPciCapCapLenOffset = 2;
  localparam int unsigned VirtioPciCapCfgTypeOffset = 3;
  localparam int unsigned VirtioPciCapBarOffset = 4;
  localparam int unsigned VirtioPciCapIdOffset = 5;
  localparam int unsigned VirtioPciCapPaddingOffset = 6;
  localparam int unsigned VirtioPciCapOffsetOffset = 8;
  localparam int unsigned VirtioPciCapLengthOffset = 12;
  typedef struct packed {
    logic [31:0] length;
    logic [31:0] offset;
    logic [1:0][7:0] padding;
    logic [7:0] id;
    logic [7:0] bar;
    logic [7:0] cfg_type;  // virtio_pci_cfg_type_e
    logic [7:0] cap_len;
    logic [7:0] cap_next;
    logic [7:0] cap_vndr;  // pci_capability_id_e
  } virtio_pci_cap_t;
  function automatic virtio_pci_cap_t unpack_virtio_pci_cap(input logic [127:0] bytes);
    return virtio_pci_cap_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_virtio_pci_cap(input virtio_pci_cap_t fields);
    return fields;
  endfunction

  // virtio_pci_cap for offsets or lengths of 4 GiB and more. [virtio 1.3, 4.1.4] (pci.toml)
  localparam int unsigned VirtioPciCap64Bytes = 24;
  localparam int unsigned VirtioPciCap64CapOffset = 0;
  localparam int unsigned VirtioPciCap64OffsetHiOffset = 16;
  localparam int unsigned VirtioPciCap64LengthHiOffset = 20;
  typedef struct packed {
    logic [31:0] length_hi;
    logic [31:0] offset_hi;
    virtio_pci_cap_t cap;
  } virtio_pci_cap64_t;
  function automatic virtio_pci_cap64_t unpack_virtio_pci_cap64(input logic [191:0] bytes);
    return virtio_pci_cap64_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_virtio_pci_cap64(input virtio_pci_cap64_t fields);
    return fields;
  endfunction

  // Location of the doorbells: that of a queue is at cap.offset + queue_notify_off * notify_off_multiplier. [virtio 1.3, 4.1.4.4] (pci.toml)
  localparam int unsigned VirtioPciNotifyCapBytes = 20;
  localparam int unsigned VirtioPciNotifyCapCapOffset = 0;
  localparam int unsigned VirtioPciNotifyCapNotifyOffMultiplierOffset = 16;
  typedef struct packed {
    logic [31:0] notify_off_multiplier;
    virtio_pci_cap_t cap;
  } virtio_pci_notify_cap_t;
  function automatic virtio_pci_notify_cap_t unpack_virtio_pci_notify_cap(input logic [159:0] bytes);
    return virtio_pci_notify_cap_t'(bytes);
  endfunction
  function automatic logic [159:0] pack_virtio_pci_notify_cap(input virtio_pci_notify_cap_t fields);
    return fields;
  endfunction

  // Window into the BARs: cap.bar, cap.offset and cap.length (1, 2 or 4; offset a multiple of it) are writable and choose it. [virtio 1.3, 4.1.4.9] (pci.toml)
  localparam int unsigned VirtioPciCfgCapBytes = 20;
  localparam int unsigned VirtioPciCfgCapCapOffset = 0;
  localparam int unsigned VirtioPciCfgCapPciCfgDataOffset = 16;
  typedef struct packed {
    logic [3:0][7:0] pci_cfg_data;
    virtio_pci_cap_t cap;
  } virtio_pci_cfg_cap_t;
  function automatic virtio_pci_cfg_cap_t unpack_virtio_pci_cfg_cap(input logic [159:0] bytes);
    return virtio_pci_cfg_cap_t'(bytes);
  endfunction
  function automatic logic [159:0] pack_virtio_pci_cfg_cap(input virtio_pci_cfg_cap_t fields);
    return fields;
  endfunction

  // Vendor data for debugging; the whole is a multiple of 4 bytes long. [virtio 1.3, 4.1.4.8] (pci.toml)
  localparam int unsigned VirtioPciVndrDataBytes = 6;
  localparam int unsigned VirtioPciVndrDataDataEntryBytes = 1;
  localparam int unsigned VirtioPciVndrDataCapVndrOffset = 0;
  localparam int unsigned VirtioPciVndrDataCapNextOffset = 1;
  localparam int unsigned VirtioPciVndrDataCapLenOffset = 2;
  localparam int unsigned VirtioPciVndrDataCfgTypeOffset = 3;
  localparam int unsigned VirtioPciVndrDataVendorIdOffset = 4;
  typedef struct packed {
    logic [15:0] vendor_id;
    logic [7:0] cfg_type;  // virtio_pci_cfg_type_e
    logic [7:0] cap_len;
    logic [7:0] cap_next;
    logic [7:0] cap_vndr;  // pci_capability_id_e
  } virtio_pci_vndr_data_t;
  function automatic virtio_pci_vndr_data_t unpack_virtio_pci_vndr_data(input logic [47:0] bytes);
    return virtio_pci_vndr_data_t'(bytes);
  endfunction
  function automatic logic [47:0] pack_virtio_pci_vndr_data(input virtio_pci_vndr_data_t fields);
    return fields;
  endfunction

  // What the firmware is told about its board (processor.toml)
  localparam int unsigned ProcessorSettingsBytes = 16;
  localparam int unsigned ProcessorSettingsMagicOffset = 0;
  localparam int unsigned ProcessorSettingsAbiProfileOffset = 4;
  localparam int unsigned ProcessorSettingsHasMacOffset = 5;
  localparam int unsigned ProcessorSettingsMacOffset = 6;
  localparam int unsigned ProcessorSettingsMtuOffset = 12;
  typedef struct packed {
    logic [31:0] mtu;
    logic [5:0][7:0] mac;
    logic [7:0] has_mac;
    logic [7:0] abi_profile;
    logic [31:0] magic;
  } processor_settings_t;
  function automatic processor_settings_t unpack_processor_settings(input logic [127:0] bytes);
    return processor_settings_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_processor_settings(input processor_settings_t fields);
    return fields;
  endfunction

  // Fields of the device configuration at net_config_rdma_offset; present if the device offers net_f_roce. [RFC v2, Device configuration layout] (roce.toml)
  localparam int unsigned NetConfigRdmaBytes = 8;
  localparam int unsigned NetConfigRdmaMaxRdmaQpsOffset = 0;
  localparam int unsigned NetConfigRdmaMaxRdmaCqsOffset = 4;
  typedef struct packed {
    logic [31:0] max_rdma_cqs;
    logic [31:0] max_rdma_qps;
  } net_config_rdma_t;
  function automatic net_config_rdma_t unpack_net_config_rdma(input logic [63:0] bytes);
    return net_config_rdma_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_net_config_rdma(input net_config_rdma_t fields);
    return fields;
  endfunction

  // Attributes of the device; constant until it is reset. [RFC v2, QUERY_DEVICE] (roce.toml)
  localparam int unsigned RdmaAckQueryDeviceBytes = 128;
  localparam int unsigned RdmaAckQueryDeviceDeviceCapFlagsOffset = 0;
  localparam int unsigned RdmaAckQueryDeviceMaxMrSizeOffset = 8;
  localparam int unsigned RdmaAckQueryDevicePageSizeCapOffset = 16;
  localparam int unsigned RdmaAckQueryDeviceHwVerOffset = 24;
  localparam int unsigned RdmaAckQueryDeviceMaxQpWrOffset = 28;
  localparam int unsigned RdmaAckQueryDeviceMaxSendSgeOffset = 32;
  localparam int unsigned RdmaAckQueryDeviceMaxRecvSgeOffset = 36;
  localparam int unsigned RdmaAckQueryDeviceMaxSgeRdOffset = 40;
  localparam int unsigned RdmaAckQueryDeviceMaxCqeOffset = 44;
  localparam int unsigned RdmaAckQueryDeviceMaxMrOffset = 48;
  localparam int unsigned RdmaAckQueryDeviceMaxPdOffset = 52;
  localparam int unsigned RdmaAckQueryDeviceMaxQpRdAtomOffset = 56;
  localparam int unsigned RdmaAckQueryDeviceMaxQpInitRdAtomOffset = 60;
  localparam int unsigned RdmaAckQueryDeviceMaxAhOffset = 64;
  localparam int unsigned RdmaAckQueryDeviceLocalCaAckDelayOffset = 68;
  localparam int unsigned RdmaAckQueryDeviceMaxMrPagesOffset = 72;
  localparam int unsigned RdmaAckQueryDeviceAtomicCapOffset = 76;
  localparam int unsigned RdmaAckQueryDeviceInvalidationOffset = 77;
  localparam int unsigned RdmaAckQueryDeviceSqVersionOffset = 78;
  localparam int unsigned RdmaAckQueryDeviceAtomicWriteOffset = 79;
  localparam int unsigned RdmaAckQueryDeviceMaxSrqOffset = 80;
  localparam int unsigned RdmaAckQueryDeviceFlushOffset = 84;
  localparam int unsigned RdmaAckQueryDeviceMaxPushOffset = 85;
  localparam int unsigned RdmaAckQueryDeviceMaxMwOffset = 88;
  localparam int unsigned RdmaAckQueryDeviceMaxFastMrPagesOffset = 92;
  localparam int unsigned RdmaAckQueryDeviceCqElementsOffset = 96;
  localparam int unsigned RdmaAckQueryDeviceMaxMcastAttachOffset = 100;
  typedef struct packed {
    logic [23:0][7:0] reserved3;
    logic [31:0] max_mcast_attach;
    logic [31:0] cq_elements;
    logic [31:0] max_fast_mr_pages;
    logic [31:0] max_mw;
    logic [1:0][7:0] reserved2;
    logic [7:0] max_push;
    logic [7:0] flush;
    logic [31:0] max_srq;
    logic [7:0] atomic_write;
    logic [7:0] sq_version;
    logic [7:0] invalidation;
    logic [7:0] atomic_cap;  // rdma_atomic_cap_e
    logic [31:0] max_mr_pages;
    logic [2:0][7:0] reserved;
    logic [7:0] local_ca_ack_delay;
    logic [31:0] max_ah;
    logic [31:0] max_qp_init_rd_atom;
    logic [31:0] max_qp_rd_atom;
    logic [31:0] max_pd;
    logic [31:0] max_mr;
    logic [31:0] max_cqe;
    logic [31:0] max_sge_rd;
    logic [31:0] max_recv_sge;
    logic [31:0] max_send_sge;
    logic [31:0] max_qp_wr;
    logic [31:0] hw_ver;
    logic [63:0] page_size_cap;
    logic [63:0] max_mr_size;
    logic [63:0] device_cap_flags;
  } rdma_ack_query_device_t;
  function automatic rdma_ack_query_device_t unpack_rdma_ack_query_device(input logic [1023:0] bytes);
    return rdma_ack_query_device_t'(bytes);
  endfunction
  function automatic logic [1023:0] pack_rdma_ack_query_device(input rdma_ack_query_device_t fields);
    return fields;
  endfunction

  // Attributes of the port. Link state, speed and MTU are virtio-net's own configuration fields. [RFC v2, QUERY_PORT] (roce.toml)
  localparam int unsigned RdmaAckQueryPortBytes = 32;
  localparam int unsigned RdmaAckQueryPortGidTblLenOffset = 0;
  localparam int unsigned RdmaAckQueryPortMaxMsgSzOffset = 4;
  typedef struct packed {
    logic [5:0][31:0] reserved;
    logic [31:0] max_msg_sz;
    logic [31:0] gid_tbl_len;
  } rdma_ack_query_port_t;
  function automatic rdma_ack_query_port_t unpack_rdma_ack_query_port(input logic [255:0] bytes);
    return rdma_ack_query_port_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_ack_query_port(input rdma_ack_query_port_t fields);
    return fields;
  endfunction

  // The clock of the device, which timestamps completions, read between command and response. [docs/decisions/0039] (roce.toml)
  localparam int unsigned RdmaAckQueryClockBytes = 8;
  localparam int unsigned RdmaAckQueryClockTimeNsOffset = 0;
  typedef struct packed {
    logic [63:0] time_ns;
  } rdma_ack_query_clock_t;
  function automatic rdma_ack_query_clock_t unpack_rdma_ack_query_clock(input logic [63:0] bytes);
    return rdma_ack_query_clock_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_ack_query_clock(input rdma_ack_query_clock_t fields);
    return fields;
  endfunction

  // Create a completion queue. Its capacity is the number of buffers that the driver posts on its virtqueue. [RFC v2, CREATE_CQ] (roce.toml)
  localparam int unsigned RdmaCmdCreateCqBytes = 4;
  localparam int unsigned RdmaCmdCreateCqCqeOffset = 0;
  typedef struct packed {
    logic [31:0] cqe;
  } rdma_cmd_create_cq_t;
  function automatic rdma_cmd_create_cq_t unpack_rdma_cmd_create_cq(input logic [31:0] bytes);
    return rdma_cmd_create_cq_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_create_cq(input rdma_cmd_create_cq_t fields);
    return fields;
  endfunction

  // The new completion queue. [RFC v2, CREATE_CQ] (roce.toml)
  localparam int unsigned RdmaAckCreateCqBytes = 4;
  localparam int unsigned RdmaAckCreateCqCqnOffset = 0;
  typedef struct packed {
    logic [31:0] cqn;
  } rdma_ack_create_cq_t;
  function automatic rdma_ack_create_cq_t unpack_rdma_ack_create_cq(input logic [31:0] bytes);
    return rdma_ack_create_cq_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_ack_create_cq(input rdma_ack_create_cq_t fields);
    return fields;
  endfunction

  // Create a completion queue whose completions are an rdma_cq_base with elements. The response is that of create_cq. [docs/decisions/0039] (roce.toml)
  localparam int unsigned RdmaCmdCreateExtendedCqBytes = 8;
  localparam int unsigned RdmaCmdCreateExtendedCqCqeOffset = 0;
  localparam int unsigned RdmaCmdCreateExtendedCqElementsOffset = 4;
  typedef struct packed {
    logic [31:0] elements;
    logic [31:0] cqe;
  } rdma_cmd_create_extended_cq_t;
  function automatic rdma_cmd_create_extended_cq_t unpack_rdma_cmd_create_extended_cq(input logic [63:0] bytes);
    return rdma_cmd_create_extended_cq_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cmd_create_extended_cq(input rdma_cmd_create_extended_cq_t fields);
    return fields;
  endfunction

  // Destroy a completion queue. [RFC v2, DESTROY_CQ] (roce.toml)
  localparam int unsigned RdmaCmdDestroyCqBytes = 4;
  localparam int unsigned RdmaCmdDestroyCqCqnOffset = 0;
  typedef struct packed {
    logic [31:0] cqn;
  } rdma_cmd_destroy_cq_t;
  function automatic rdma_cmd_destroy_cq_t unpack_rdma_cmd_destroy_cq(input logic [31:0] bytes);
    return rdma_cmd_destroy_cq_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_destroy_cq(input rdma_cmd_destroy_cq_t fields);
    return fields;
  endfunction

  // Arm a completion queue for CQEs after the response; the driver must poll once more for earlier ones. [RFC v2, REQ_NOTIFY_CQ] (roce.toml)
  localparam int unsigned RdmaCmdReqNotifyBytes = 8;
  localparam int unsigned RdmaCmdReqNotifyCqnOffset = 0;
  localparam int unsigned RdmaCmdReqNotifyFlagsOffset = 4;
  typedef struct packed {
    logic [31:0] flags;
    logic [31:0] cqn;
  } rdma_cmd_req_notify_t;
  function automatic rdma_cmd_req_notify_t unpack_rdma_cmd_req_notify(input logic [63:0] bytes);
    return rdma_cmd_req_notify_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cmd_req_notify(input rdma_cmd_req_notify_t fields);
    return fields;
  endfunction

  // 32-bit write that arms a CQ. If a CQE that the flags select lies between seen_used_idx and the device's position, the device notifies at once; this closes the race between the last poll and arming. Without a flag the write is ignored. [docs/decisions/0003] (roce.toml)
  localparam int unsigned RdmaCqArmBytes = 4;
  localparam int unsigned RdmaCqArmSeenUsedIdxOffset = 0;
  typedef struct packed {
    logic [13:0] reserved;
    logic next_completion;
    logic solicited;
    logic [15:0] seen_used_idx;
  } rdma_cq_arm_t;
  function automatic rdma_cq_arm_t unpack_rdma_cq_arm(input logic [31:0] bytes);
    return rdma_cq_arm_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cq_arm(input rdma_cq_arm_t fields);
    return fields;
  endfunction

  // The new protection domain. [RFC v2, CREATE_PD] (roce.toml)
  localparam int unsigned RdmaAckCreatePdBytes = 4;
  localparam int unsigned RdmaAckCreatePdPdnOffset = 0;
  typedef struct packed {
    logic [31:0] pdn;
  } rdma_ack_create_pd_t;
  function automatic rdma_ack_create_pd_t unpack_rdma_ack_create_pd(input logic [31:0] bytes);
    return rdma_ack_create_pd_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_ack_create_pd(input rdma_ack_create_pd_t fields);
    return fields;
  endfunction

  // Destroy a protection domain. The RFC spells the command's name DESTORY_PD once. [RFC v2, DESTROY_PD] (roce.toml)
  localparam int unsigned RdmaCmdDestroyPdBytes = 4;
  localparam int unsigned RdmaCmdDestroyPdPdnOffset = 0;
  typedef struct packed {
    logic [31:0] pdn;
  } rdma_cmd_destroy_pd_t;
  function automatic rdma_cmd_destroy_pd_t unpack_rdma_cmd_destroy_pd(input logic [31:0] bytes);
    return rdma_cmd_destroy_pd_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_destroy_pd(input rdma_cmd_destroy_pd_t fields);
    return fields;
  endfunction

  // Memory region over the whole address space: keys work on DMA addresses. For a trusted driver's own PD only. [RFC v2, GET_DMA_MR] (roce.toml)
  localparam int unsigned RdmaCmdGetDmaMrBytes = 8;
  localparam int unsigned RdmaCmdGetDmaMrPdnOffset = 0;
  localparam int unsigned RdmaCmdGetDmaMrAccessFlagsOffset = 4;
  typedef struct packed {
    logic [31:0] access_flags;
    logic [31:0] pdn;
  } rdma_cmd_get_dma_mr_t;
  function automatic rdma_cmd_get_dma_mr_t unpack_rdma_cmd_get_dma_mr(input logic [63:0] bytes);
    return rdma_cmd_get_dma_mr_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cmd_get_dma_mr(input rdma_cmd_get_dma_mr_t fields);
    return fields;
  endfunction

  // The new memory region. [RFC v2, GET_DMA_MR] (roce.toml)
  localparam int unsigned RdmaAckGetDmaMrBytes = 12;
  localparam int unsigned RdmaAckGetDmaMrMrnOffset = 0;
  localparam int unsigned RdmaAckGetDmaMrLkeyOffset = 4;
  localparam int unsigned RdmaAckGetDmaMrRkeyOffset = 8;
  typedef struct packed {
    logic [31:0] rkey;
    logic [31:0] lkey;
    logic [31:0] mrn;
  } rdma_ack_get_dma_mr_t;
  function automatic rdma_ack_get_dma_mr_t unpack_rdma_ack_get_dma_mr(input logic [95:0] bytes);
    return rdma_ack_get_dma_mr_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_rdma_ack_get_dma_mr(input rdma_ack_get_dma_mr_t fields);
    return fields;
  endfunction

  // Memory region over a list of pages. The region is [virt_addr, virt_addr + length); page i of the list backs the i-th page that it overlaps, in pages of 2^page_shift bytes. npages is exactly their number, and the list is part of the request. [RFC v2, REG_USER_MR] (roce.toml)
  localparam int unsigned RdmaCmdRegUserMrBytes = 32;
  localparam int unsigned RdmaCmdRegUserMrPagesEntryBytes = 8;
  localparam int unsigned RdmaCmdRegUserMrPdnOffset = 0;
  localparam int unsigned RdmaCmdRegUserMrAccessFlagsOffset = 4;
  localparam int unsigned RdmaCmdRegUserMrVirtAddrOffset = 8;
  localparam int unsigned RdmaCmdRegUserMrLengthOffset = 16;
  localparam int unsigned RdmaCmdRegUserMrNpagesOffset = 24;
  localparam int unsigned RdmaCmdRegUserMrPageShiftOffset = 28;
  localparam int unsigned RdmaCmdRegUserMrInvalidatableOffset = 29;
  localparam int unsigned RdmaCmdRegUserMrIsPmemOffset = 30;
  typedef struct packed {
    logic [7:0] reserved;
    logic [7:0] is_pmem;
    logic [7:0] invalidatable;
    logic [7:0] page_shift;
    logic [31:0] npages;
    logic [63:0] length;
    logic [63:0] virt_addr;
    logic [31:0] access_flags;
    logic [31:0] pdn;
  } rdma_cmd_reg_user_mr_t;
  function automatic rdma_cmd_reg_user_mr_t unpack_rdma_cmd_reg_user_mr(input logic [255:0] bytes);
    return rdma_cmd_reg_user_mr_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_cmd_reg_user_mr(input rdma_cmd_reg_user_mr_t fields);
    return fields;
  endfunction

  // The new memory region. [RFC v2, REG_USER_MR] (roce.toml)
  localparam int unsigned RdmaAckRegUserMrBytes = 12;
  localparam int unsigned RdmaAckRegUserMrMrnOffset = 0;
  localparam int unsigned RdmaAckRegUserMrLkeyOffset = 4;
  localparam int unsigned RdmaAckRegUserMrRkeyOffset = 8;
  typedef struct packed {
    logic [31:0] rkey;
    logic [31:0] lkey;
    logic [31:0] mrn;
  } rdma_ack_reg_user_mr_t;
  function automatic rdma_ack_reg_user_mr_t unpack_rdma_ack_reg_user_mr(input logic [95:0] bytes);
    return rdma_ack_reg_user_mr_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_rdma_ack_reg_user_mr(input rdma_ack_reg_user_mr_t fields);
    return fields;
  endfunction

  // Deregister a memory region. [RFC v2, DEREG_MR] (roce.toml)
  localparam int unsigned RdmaCmdDeregMrBytes = 4;
  localparam int unsigned RdmaCmdDeregMrMrnOffset = 0;
  typedef struct packed {
    logic [31:0] mrn;
  } rdma_cmd_dereg_mr_t;
  function automatic rdma_cmd_dereg_mr_t unpack_rdma_cmd_dereg_mr(input logic [31:0] bytes);
    return rdma_cmd_dereg_mr_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_dereg_mr(input rdma_cmd_dereg_mr_t fields);
    return fields;
  endfunction

  // Change a memory region in place. With the flag translation it becomes the region that reg_user_mr would make of virt_addr, length, npages, page_shift and the list, which is part of the request; without it there is no list. (roce.toml)
  localparam int unsigned RdmaCmdReregMrBytes = 40;
  localparam int unsigned RdmaCmdReregMrPagesEntryBytes = 8;
  localparam int unsigned RdmaCmdReregMrMrnOffset = 0;
  localparam int unsigned RdmaCmdReregMrFlagsOffset = 4;
  localparam int unsigned RdmaCmdReregMrPdnOffset = 8;
  localparam int unsigned RdmaCmdReregMrAccessFlagsOffset = 12;
  localparam int unsigned RdmaCmdReregMrVirtAddrOffset = 16;
  localparam int unsigned RdmaCmdReregMrLengthOffset = 24;
  localparam int unsigned RdmaCmdReregMrNpagesOffset = 32;
  localparam int unsigned RdmaCmdReregMrPageShiftOffset = 36;
  localparam int unsigned RdmaCmdReregMrIsPmemOffset = 37;
  typedef struct packed {
    logic [1:0][7:0] reserved;
    logic [7:0] is_pmem;
    logic [7:0] page_shift;
    logic [31:0] npages;
    logic [63:0] length;
    logic [63:0] virt_addr;
    logic [31:0] access_flags;
    logic [31:0] pdn;
    logic [31:0] flags;
    logic [31:0] mrn;
  } rdma_cmd_rereg_mr_t;
  function automatic rdma_cmd_rereg_mr_t unpack_rdma_cmd_rereg_mr(input logic [319:0] bytes);
    return rdma_cmd_rereg_mr_t'(bytes);
  endfunction
  function automatic logic [319:0] pack_rdma_cmd_rereg_mr(input rdma_cmd_rereg_mr_t fields);
    return fields;
  endfunction

  // The keys from now on: those of before, or new ones if the region is invalidatable, so that a key that was invalidated stays dead. (roce.toml)
  localparam int unsigned RdmaAckReregMrBytes = 8;
  localparam int unsigned RdmaAckReregMrLkeyOffset = 0;
  localparam int unsigned RdmaAckReregMrRkeyOffset = 4;
  typedef struct packed {
    logic [31:0] rkey;
    logic [31:0] lkey;
  } rdma_ack_rereg_mr_t;
  function automatic rdma_ack_rereg_mr_t unpack_rdma_ack_rereg_mr(input logic [63:0] bytes);
    return rdma_ack_rereg_mr_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_ack_rereg_mr(input rdma_ack_rereg_mr_t fields);
    return fields;
  endfunction

  // Allocate a memory window, which is bound to no region. (roce.toml)
  localparam int unsigned RdmaCmdAllocMwBytes = 8;
  localparam int unsigned RdmaCmdAllocMwPdnOffset = 0;
  localparam int unsigned RdmaCmdAllocMwMwTypeOffset = 4;
  typedef struct packed {
    logic [2:0][7:0] reserved;
    logic [7:0] mw_type;  // rdma_mw_type_e
    logic [31:0] pdn;
  } rdma_cmd_alloc_mw_t;
  function automatic rdma_cmd_alloc_mw_t unpack_rdma_cmd_alloc_mw(input logic [63:0] bytes);
    return rdma_cmd_alloc_mw_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cmd_alloc_mw(input rdma_cmd_alloc_mw_t fields);
    return fields;
  endfunction

  // The new memory window. (roce.toml)
  localparam int unsigned RdmaAckAllocMwBytes = 8;
  localparam int unsigned RdmaAckAllocMwMwnOffset = 0;
  localparam int unsigned RdmaAckAllocMwRkeyOffset = 4;
  typedef struct packed {
    logic [31:0] rkey;
    logic [31:0] mwn;
  } rdma_ack_alloc_mw_t;
  function automatic rdma_ack_alloc_mw_t unpack_rdma_ack_alloc_mw(input logic [63:0] bytes);
    return rdma_ack_alloc_mw_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_ack_alloc_mw(input rdma_ack_alloc_mw_t fields);
    return fields;
  endfunction

  // Free a memory window. (roce.toml)
  localparam int unsigned RdmaCmdDeallocMwBytes = 4;
  localparam int unsigned RdmaCmdDeallocMwMwnOffset = 0;
  typedef struct packed {
    logic [31:0] mwn;
  } rdma_cmd_dealloc_mw_t;
  function automatic rdma_cmd_dealloc_mw_t unpack_rdma_cmd_dealloc_mw(input logic [31:0] bytes);
    return rdma_cmd_dealloc_mw_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_dealloc_mw(input rdma_cmd_dealloc_mw_t fields);
    return fields;
  endfunction

  // Allocate a memory region that work requests reg_mr register, with any DMA addresses as pages. For a trusted driver's own PD only, as get_dma_mr: no QP of another PD can register it. [IBTA vol. 1, 10.6.3, 11.2.8.1: Allocate L_Key] (roce.toml)
  localparam int unsigned RdmaCmdAllocMrBytes = 8;
  localparam int unsigned RdmaCmdAllocMrPdnOffset = 0;
  localparam int unsigned RdmaCmdAllocMrMaxPagesOffset = 4;
  typedef struct packed {
    logic [31:0] max_pages;
    logic [31:0] pdn;
  } rdma_cmd_alloc_mr_t;
  function automatic rdma_cmd_alloc_mr_t unpack_rdma_cmd_alloc_mr(input logic [63:0] bytes);
    return rdma_cmd_alloc_mr_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cmd_alloc_mr(input rdma_cmd_alloc_mr_t fields);
    return fields;
  endfunction

  // The new memory region, which is not registered. Its keys are of no use before; a registration chooses their low 8 bits. (roce.toml)
  localparam int unsigned RdmaAckAllocMrBytes = 12;
  localparam int unsigned RdmaAckAllocMrMrnOffset = 0;
  localparam int unsigned RdmaAckAllocMrLkeyOffset = 4;
  localparam int unsigned RdmaAckAllocMrRkeyOffset = 8;
  typedef struct packed {
    logic [31:0] rkey;
    logic [31:0] lkey;
    logic [31:0] mrn;
  } rdma_ack_alloc_mr_t;
  function automatic rdma_ack_alloc_mr_t unpack_rdma_ack_alloc_mr(input logic [95:0] bytes);
    return rdma_ack_alloc_mr_t'(bytes);
  endfunction
  function automatic logic [95:0] pack_rdma_ack_alloc_mr(input rdma_ack_alloc_mr_t fields);
    return fields;
  endfunction

  // Attributes of a memory region. [IBTA vol. 1, 11.2.8.3: Query Memory Region] (roce.toml)
  localparam int unsigned RdmaCmdQueryMrBytes = 4;
  localparam int unsigned RdmaCmdQueryMrMrnOffset = 0;
  typedef struct packed {
    logic [31:0] mrn;
  } rdma_cmd_query_mr_t;
  function automatic rdma_cmd_query_mr_t unpack_rdma_cmd_query_mr(input logic [31:0] bytes);
    return rdma_cmd_query_mr_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_query_mr(input rdma_cmd_query_mr_t fields);
    return fields;
  endfunction

  // A memory region as it is now. Of one of alloc_mr the device keeps range and rights for itself: access_flags, virt_addr, length and page_shift are 0. (roce.toml)
  localparam int unsigned RdmaAckQueryMrBytes = 40;
  localparam int unsigned RdmaAckQueryMrLkeyOffset = 0;
  localparam int unsigned RdmaAckQueryMrRkeyOffset = 4;
  localparam int unsigned RdmaAckQueryMrPdnOffset = 8;
  localparam int unsigned RdmaAckQueryMrAccessFlagsOffset = 12;
  localparam int unsigned RdmaAckQueryMrVirtAddrOffset = 16;
  localparam int unsigned RdmaAckQueryMrLengthOffset = 24;
  localparam int unsigned RdmaAckQueryMrNpagesOffset = 32;
  localparam int unsigned RdmaAckQueryMrPageShiftOffset = 36;
  localparam int unsigned RdmaAckQueryMrIsAliveOffset = 37;
  localparam int unsigned RdmaAckQueryMrInvalidatableOffset = 38;
  localparam int unsigned RdmaAckQueryMrIsFastOffset = 39;
  typedef struct packed {
    logic [7:0] is_fast;
    logic [7:0] invalidatable;
    logic [7:0] is_alive;
    logic [7:0] page_shift;
    logic [31:0] npages;
    logic [63:0] length;
    logic [63:0] virt_addr;
    logic [31:0] access_flags;
    logic [31:0] pdn;
    logic [31:0] rkey;
    logic [31:0] lkey;
  } rdma_ack_query_mr_t;
  function automatic rdma_ack_query_mr_t unpack_rdma_ack_query_mr(input logic [319:0] bytes);
    return rdma_ack_query_mr_t'(bytes);
  endfunction
  function automatic logic [319:0] pack_rdma_ack_query_mr(input rdma_ack_query_mr_t fields);
    return fields;
  endfunction

  // Sizes of a QP. [RFC v2, CREATE_QP] (roce.toml)
  localparam int unsigned RdmaQpCapBytes = 24;
  localparam int unsigned RdmaQpCapMaxSendWrOffset = 0;
  localparam int unsigned RdmaQpCapMaxRecvWrOffset = 4;
  localparam int unsigned RdmaQpCapMaxSendSgeOffset = 8;
  localparam int unsigned RdmaQpCapMaxRecvSgeOffset = 12;
  localparam int unsigned RdmaQpCapMaxInlineDataOffset = 16;
  typedef struct packed {
    logic [31:0] reserved;
    logic [31:0] max_inline_data;
    logic [31:0] max_recv_sge;
    logic [31:0] max_send_sge;
    logic [31:0] max_recv_wr;
    logic [31:0] max_send_wr;
  } rdma_qp_cap_t;
  function automatic rdma_qp_cap_t unpack_rdma_qp_cap(input logic [191:0] bytes);
    return rdma_qp_cap_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_rdma_qp_cap(input rdma_qp_cap_t fields);
    return fields;
  endfunction

  // Create a queue pair, in RESET. [RFC v2, CREATE_QP] (roce.toml)
  localparam int unsigned RdmaCmdCreateQpBytes = 56;
  localparam int unsigned RdmaCmdCreateQpPdnOffset = 0;
  localparam int unsigned RdmaCmdCreateQpQpTypeOffset = 4;
  localparam int unsigned RdmaCmdCreateQpSqSigAllOffset = 5;
  localparam int unsigned RdmaCmdCreateQpHasSrqOffset = 6;
  localparam int unsigned RdmaCmdCreateQpSendCqnOffset = 8;
  localparam int unsigned RdmaCmdCreateQpRecvCqnOffset = 12;
  localparam int unsigned RdmaCmdCreateQpCapOffset = 16;
  localparam int unsigned RdmaCmdCreateQpSrqnOffset = 40;
  typedef struct packed {
    logic [2:0][31:0] reserved1;
    logic [31:0] srqn;
    rdma_qp_cap_t cap;
    logic [31:0] recv_cqn;
    logic [31:0] send_cqn;
    logic [7:0] reserved;
    logic [7:0] has_srq;
    logic [7:0] sq_sig_all;
    logic [7:0] qp_type;  // ib_qp_type_e
    logic [31:0] pdn;
  } rdma_cmd_create_qp_t;
  function automatic rdma_cmd_create_qp_t unpack_rdma_cmd_create_qp(input logic [447:0] bytes);
    return rdma_cmd_create_qp_t'(bytes);
  endfunction
  function automatic logic [447:0] pack_rdma_cmd_create_qp(input rdma_cmd_create_qp_t fields);
    return fields;
  endfunction

  // The new queue pair. [RFC v2, CREATE_QP] (roce.toml)
  localparam int unsigned RdmaAckCreateQpBytes = 4;
  localparam int unsigned RdmaAckCreateQpQpnOffset = 0;
  typedef struct packed {
    logic [31:0] qpn;
  } rdma_ack_create_qp_t;
  function automatic rdma_ack_create_qp_t unpack_rdma_ack_create_qp(input logic [31:0] bytes);
    return rdma_ack_create_qp_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_ack_create_qp(input rdma_ack_create_qp_t fields);
    return fields;
  endfunction

  // Layer 3 of a path. [RFC v2, MODIFY_QP; as struct ibv_global_route] (roce.toml)
  localparam int unsigned RdmaGlobalRouteBytes = 24;
  localparam int unsigned RdmaGlobalRouteDgidOffset = 0;
  localparam int unsigned RdmaGlobalRouteFlowLabelOffset = 16;
  localparam int unsigned RdmaGlobalRouteSgidIndexOffset = 20;
  localparam int unsigned RdmaGlobalRouteHopLimitOffset = 21;
  localparam int unsigned RdmaGlobalRouteTrafficClassOffset = 22;
  typedef struct packed {
    logic [7:0] reserved;
    logic [7:0] traffic_class;
    logic [7:0] hop_limit;
    logic [7:0] sgid_index;
    logic [31:0] flow_label;
    logic [15:0][7:0] dgid;
  } rdma_global_route_t;
  function automatic rdma_global_route_t unpack_rdma_global_route(input logic [191:0] bytes);
    return rdma_global_route_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_rdma_global_route(input rdma_global_route_t fields);
    return fields;
  endfunction

  // Address vector: the path to a peer. Fields from the GID table are copied when the command is executed. [RFC v2, MODIFY_QP] (roce.toml)
  localparam int unsigned RdmaAhAttrBytes = 40;
  localparam int unsigned RdmaAhAttrGrhOffset = 0;
  localparam int unsigned RdmaAhAttrDmacOffset = 24;
  typedef struct packed {
    logic [9:0][7:0] reserved;
    logic [5:0][7:0] dmac;
    rdma_global_route_t grh;
  } rdma_ah_attr_t;
  function automatic rdma_ah_attr_t unpack_rdma_ah_attr(input logic [319:0] bytes);
    return rdma_ah_attr_t'(bytes);
  endfunction
  function automatic logic [319:0] pack_rdma_ah_attr(input rdma_ah_attr_t fields);
    return fields;
  endfunction

  // Change state and attributes of a queue pair. Only fields that attr_mask selects are read. [RFC v2, MODIFY_QP; IBTA vol. 1, 11.2.5.2] (roce.toml)
  localparam int unsigned RdmaCmdModifyQpBytes = 128;
  localparam int unsigned RdmaCmdModifyQpQpnOffset = 0;
  localparam int unsigned RdmaCmdModifyQpAttrMaskOffset = 4;
  localparam int unsigned RdmaCmdModifyQpQpStateOffset = 8;
  localparam int unsigned RdmaCmdModifyQpCurQpStateOffset = 9;
  localparam int unsigned RdmaCmdModifyQpPathMtuOffset = 10;
  localparam int unsigned RdmaCmdModifyQpMaxRdAtomicOffset = 11;
  localparam int unsigned RdmaCmdModifyQpMaxDestRdAtomicOffset = 12;
  localparam int unsigned RdmaCmdModifyQpMinRnrTimerOffset = 13;
  localparam int unsigned RdmaCmdModifyQpTimeoutOffset = 14;
  localparam int unsigned RdmaCmdModifyQpRetryCntOffset = 15;
  localparam int unsigned RdmaCmdModifyQpRnrRetryOffset = 16;
  localparam int unsigned RdmaCmdModifyQpQkeyOffset = 24;
  localparam int unsigned RdmaCmdModifyQpRqPsnOffset = 28;
  localparam int unsigned RdmaCmdModifyQpSqPsnOffset = 32;
  localparam int unsigned RdmaCmdModifyQpDestQpNumOffset = 36;
  localparam int unsigned RdmaCmdModifyQpQpAccessFlagsOffset = 40;
  localparam int unsigned RdmaCmdModifyQpRateLimitOffset = 44;
  localparam int unsigned RdmaCmdModifyQpCapOffset = 48;
  localparam int unsigned RdmaCmdModifyQpAhAttrOffset = 72;
  typedef struct packed {
    logic [3:0][31:0] reserved1;
    rdma_ah_attr_t ah_attr;
    rdma_qp_cap_t cap;
    logic [31:0] rate_limit;
    logic [31:0] qp_access_flags;
    logic [31:0] dest_qp_num;
    logic [31:0] sq_psn;
    logic [31:0] rq_psn;
    logic [31:0] qkey;
    logic [6:0][7:0] reserved;
    logic [7:0] rnr_retry;
    logic [7:0] retry_cnt;
    logic [7:0] timeout;
    logic [7:0] min_rnr_timer;
    logic [7:0] max_dest_rd_atomic;
    logic [7:0] max_rd_atomic;
    logic [7:0] path_mtu;  // ib_mtu_e
    logic [7:0] cur_qp_state;  // ib_qp_state_e
    logic [7:0] qp_state;  // ib_qp_state_e
    logic [31:0] attr_mask;
    logic [31:0] qpn;
  } rdma_cmd_modify_qp_t;
  function automatic rdma_cmd_modify_qp_t unpack_rdma_cmd_modify_qp(input logic [1023:0] bytes);
    return rdma_cmd_modify_qp_t'(bytes);
  endfunction
  function automatic logic [1023:0] pack_rdma_cmd_modify_qp(input rdma_cmd_modify_qp_t fields);
    return fields;
  endfunction

  // Ask for state and attributes of a queue pair. [RFC v2, QUERY_QP] (roce.toml)
  localparam int unsigned RdmaCmdQueryQpBytes = 8;
  localparam int unsigned RdmaCmdQueryQpQpnOffset = 0;
  localparam int unsigned RdmaCmdQueryQpAttrMaskOffset = 4;
  typedef struct packed {
    logic [31:0] attr_mask;
    logic [31:0] qpn;
  } rdma_cmd_query_qp_t;
  function automatic rdma_cmd_query_qp_t unpack_rdma_cmd_query_qp(input logic [63:0] bytes);
    return rdma_cmd_query_qp_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cmd_query_qp(input rdma_cmd_query_qp_t fields);
    return fields;
  endfunction

  // State and attributes of a queue pair, a consistent snapshot. Fields without meaning for the QP's type are 0. [RFC v2, QUERY_QP] (roce.toml)
  localparam int unsigned RdmaAckQueryQpBytes = 120;
  localparam int unsigned RdmaAckQueryQpQpStateOffset = 0;
  localparam int unsigned RdmaAckQueryQpPathMtuOffset = 1;
  localparam int unsigned RdmaAckQueryQpSqDrainingOffset = 2;
  localparam int unsigned RdmaAckQueryQpMaxRdAtomicOffset = 3;
  localparam int unsigned RdmaAckQueryQpMaxDestRdAtomicOffset = 4;
  localparam int unsigned RdmaAckQueryQpMinRnrTimerOffset = 5;
  localparam int unsigned RdmaAckQueryQpTimeoutOffset = 6;
  localparam int unsigned RdmaAckQueryQpRetryCntOffset = 7;
  localparam int unsigned RdmaAckQueryQpRnrRetryOffset = 8;
  localparam int unsigned RdmaAckQueryQpQkeyOffset = 16;
  localparam int unsigned RdmaAckQueryQpRqPsnOffset = 20;
  localparam int unsigned RdmaAckQueryQpSqPsnOffset = 24;
  localparam int unsigned RdmaAckQueryQpDestQpNumOffset = 28;
  localparam int unsigned RdmaAckQueryQpQpAccessFlagsOffset = 32;
  localparam int unsigned RdmaAckQueryQpRateLimitOffset = 36;
  localparam int unsigned RdmaAckQueryQpCapOffset = 40;
  localparam int unsigned RdmaAckQueryQpAhAttrOffset = 64;
  typedef struct packed {
    logic [3:0][31:0] reserved1;
    rdma_ah_attr_t ah_attr;
    rdma_qp_cap_t cap;
    logic [31:0] rate_limit;
    logic [31:0] qp_access_flags;
    logic [31:0] dest_qp_num;
    logic [31:0] sq_psn;
    logic [31:0] rq_psn;
    logic [31:0] qkey;
    logic [6:0][7:0] reserved;
    logic [7:0] rnr_retry;
    logic [7:0] retry_cnt;
    logic [7:0] timeout;
    logic [7:0] min_rnr_timer;
    logic [7:0] max_dest_rd_atomic;
    logic [7:0] max_rd_atomic;
    logic [7:0] sq_draining;
    logic [7:0] path_mtu;  // ib_mtu_e
    logic [7:0] qp_state;  // ib_qp_state_e
  } rdma_ack_query_qp_t;
  function automatic rdma_ack_query_qp_t unpack_rdma_ack_query_qp(input logic [959:0] bytes);
    return rdma_ack_query_qp_t'(bytes);
  endfunction
  function automatic logic [959:0] pack_rdma_ack_query_qp(input rdma_ack_query_qp_t fields);
    return fields;
  endfunction

  // Destroy a queue pair. [RFC v2, DESTROY_QP] (roce.toml)
  localparam int unsigned RdmaCmdDestroyQpBytes = 4;
  localparam int unsigned RdmaCmdDestroyQpQpnOffset = 0;
  typedef struct packed {
    logic [31:0] qpn;
  } rdma_cmd_destroy_qp_t;
  function automatic rdma_cmd_destroy_qp_t unpack_rdma_cmd_destroy_qp(input logic [31:0] bytes);
    return rdma_cmd_destroy_qp_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_destroy_qp(input rdma_cmd_destroy_qp_t fields);
    return fields;
  endfunction

  // Create a shared receive queue. [libibverbs, ibv_create_srq(3)] (roce.toml)
  localparam int unsigned RdmaCmdCreateSrqBytes = 16;
  localparam int unsigned RdmaCmdCreateSrqPdnOffset = 0;
  localparam int unsigned RdmaCmdCreateSrqMaxWrOffset = 4;
  localparam int unsigned RdmaCmdCreateSrqMaxSgeOffset = 8;
  typedef struct packed {
    logic [31:0] reserved;
    logic [31:0] max_sge;
    logic [31:0] max_wr;
    logic [31:0] pdn;
  } rdma_cmd_create_srq_t;
  function automatic rdma_cmd_create_srq_t unpack_rdma_cmd_create_srq(input logic [127:0] bytes);
    return rdma_cmd_create_srq_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_cmd_create_srq(input rdma_cmd_create_srq_t fields);
    return fields;
  endfunction

  // The new shared receive queue. (roce.toml)
  localparam int unsigned RdmaAckCreateSrqBytes = 4;
  localparam int unsigned RdmaAckCreateSrqSrqnOffset = 0;
  typedef struct packed {
    logic [31:0] srqn;
  } rdma_ack_create_srq_t;
  function automatic rdma_ack_create_srq_t unpack_rdma_ack_create_srq(input logic [31:0] bytes);
    return rdma_ack_create_srq_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_ack_create_srq(input rdma_ack_create_srq_t fields);
    return fields;
  endfunction

  // Arm the limit event: it is sent once, when fewer than srq_limit of the first `posted` receives have not been taken; at once, if this is the case already. A driver that has posted more in the meantime arms it again. [libibverbs, ibv_modify_srq(3)] (roce.toml)
  localparam int unsigned RdmaCmdModifySrqBytes = 16;
  localparam int unsigned RdmaCmdModifySrqSrqnOffset = 0;
  localparam int unsigned RdmaCmdModifySrqSrqLimitOffset = 4;
  localparam int unsigned RdmaCmdModifySrqPostedOffset = 8;
  typedef struct packed {
    logic [31:0] reserved;
    logic [31:0] posted;
    logic [31:0] srq_limit;
    logic [31:0] srqn;
  } rdma_cmd_modify_srq_t;
  function automatic rdma_cmd_modify_srq_t unpack_rdma_cmd_modify_srq(input logic [127:0] bytes);
    return rdma_cmd_modify_srq_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_cmd_modify_srq(input rdma_cmd_modify_srq_t fields);
    return fields;
  endfunction

  // Ask for the attributes of a shared receive queue. [libibverbs, ibv_query_srq(3)] (roce.toml)
  localparam int unsigned RdmaCmdQuerySrqBytes = 4;
  localparam int unsigned RdmaCmdQuerySrqSrqnOffset = 0;
  typedef struct packed {
    logic [31:0] srqn;
  } rdma_cmd_query_srq_t;
  function automatic rdma_cmd_query_srq_t unpack_rdma_cmd_query_srq(input logic [31:0] bytes);
    return rdma_cmd_query_srq_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_query_srq(input rdma_cmd_query_srq_t fields);
    return fields;
  endfunction

  // Attributes of a shared receive queue. (roce.toml)
  localparam int unsigned RdmaAckQuerySrqBytes = 16;
  localparam int unsigned RdmaAckQuerySrqMaxWrOffset = 0;
  localparam int unsigned RdmaAckQuerySrqMaxSgeOffset = 4;
  localparam int unsigned RdmaAckQuerySrqSrqLimitOffset = 8;
  localparam int unsigned RdmaAckQuerySrqQpsOffset = 12;
  typedef struct packed {
    logic [31:0] qps;
    logic [31:0] srq_limit;
    logic [31:0] max_sge;
    logic [31:0] max_wr;
  } rdma_ack_query_srq_t;
  function automatic rdma_ack_query_srq_t unpack_rdma_ack_query_srq(input logic [127:0] bytes);
    return rdma_ack_query_srq_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_ack_query_srq(input rdma_ack_query_srq_t fields);
    return fields;
  endfunction

  // Destroy a shared receive queue. [libibverbs, ibv_destroy_srq(3)] (roce.toml)
  localparam int unsigned RdmaCmdDestroySrqBytes = 4;
  localparam int unsigned RdmaCmdDestroySrqSrqnOffset = 0;
  typedef struct packed {
    logic [31:0] srqn;
  } rdma_cmd_destroy_srq_t;
  function automatic rdma_cmd_destroy_srq_t unpack_rdma_cmd_destroy_srq(input logic [31:0] bytes);
    return rdma_cmd_destroy_srq_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_cmd_destroy_srq(input rdma_cmd_destroy_srq_t fields);
    return fields;
  endfunction

  // Create an address handle. [RFC v2, CREATE_AH] (roce.toml)
  localparam int unsigned RdmaCmdCreateAhBytes = 48;
  localparam int unsigned RdmaCmdCreateAhPdnOffset = 0;
  localparam int unsigned RdmaCmdCreateAhAhAttrOffset = 8;
  typedef struct packed {
    rdma_ah_attr_t ah_attr;
    logic [31:0] reserved;
    logic [31:0] pdn;
  } rdma_cmd_create_ah_t;
  function automatic rdma_cmd_create_ah_t unpack_rdma_cmd_create_ah(input logic [383:0] bytes);
    return rdma_cmd_create_ah_t'(bytes);
  endfunction
  function automatic logic [383:0] pack_rdma_cmd_create_ah(input rdma_cmd_create_ah_t fields);
    return fields;
  endfunction

  // The new address handle. [RFC v2, CREATE_AH] (roce.toml)
  localparam int unsigned RdmaAckCreateAhBytes = 4;
  localparam int unsigned RdmaAckCreateAhAhOffset = 0;
  typedef struct packed {
    logic [31:0] ah;
  } rdma_ack_create_ah_t;
  function automatic rdma_ack_create_ah_t unpack_rdma_ack_create_ah(input logic [31:0] bytes);
    return rdma_ack_create_ah_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_ack_create_ah(input rdma_ack_create_ah_t fields);
    return fields;
  endfunction

  // Destroy an address handle. [RFC v2, DESTROY_AH] (roce.toml)
  localparam int unsigned RdmaCmdDestroyAhBytes = 8;
  localparam int unsigned RdmaCmdDestroyAhPdnOffset = 0;
  localparam int unsigned RdmaCmdDestroyAhAhOffset = 4;
  typedef struct packed {
    logic [31:0] ah;
    logic [31:0] pdn;
  } rdma_cmd_destroy_ah_t;
  function automatic rdma_cmd_destroy_ah_t unpack_rdma_cmd_destroy_ah(input logic [63:0] bytes);
    return rdma_cmd_destroy_ah_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cmd_destroy_ah(input rdma_cmd_destroy_ah_t fields);
    return fields;
  endfunction

  // Write an entry of the GID table. An IPv4 address is written as its IPv4-mapped GID and makes packets IPv4. [RFC v2, ADD_GID] (roce.toml)
  localparam int unsigned RdmaCmdAddGidBytes = 24;
  localparam int unsigned RdmaCmdAddGidIndexOffset = 0;
  localparam int unsigned RdmaCmdAddGidGidTypeOffset = 2;
  localparam int unsigned RdmaCmdAddGidFlagsOffset = 3;
  localparam int unsigned RdmaCmdAddGidVlanOffset = 4;
  localparam int unsigned RdmaCmdAddGidGidOffset = 8;
  typedef struct packed {
    logic [15:0][7:0] gid;
    logic [15:0] reserved;
    logic [15:0] vlan;
    logic [7:0] flags;
    logic [7:0] gid_type;  // rdma_gid_type_e
    logic [15:0] index;
  } rdma_cmd_add_gid_t;
  function automatic rdma_cmd_add_gid_t unpack_rdma_cmd_add_gid(input logic [191:0] bytes);
    return rdma_cmd_add_gid_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_rdma_cmd_add_gid(input rdma_cmd_add_gid_t fields);
    return fields;
  endfunction

  // Clear an entry of the GID table. [RFC v2, DEL_GID] (roce.toml)
  localparam int unsigned RdmaCmdDelGidBytes = 2;
  localparam int unsigned RdmaCmdDelGidIndexOffset = 0;
  typedef struct packed {
    logic [15:0] index;
  } rdma_cmd_del_gid_t;
  function automatic rdma_cmd_del_gid_t unpack_rdma_cmd_del_gid(input logic [15:0] bytes);
    return rdma_cmd_del_gid_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_rdma_cmd_del_gid(input rdma_cmd_del_gid_t fields);
    return fields;
  endfunction

  // Attach a UD QP to a multicast group: it receives a copy of each datagram to the group that has its Q_Key. [IBTA vol. 1, 10.5.2, 11.3.1; docs/decisions/0044] (roce.toml)
  localparam int unsigned RdmaCmdAttachMcastBytes = 20;
  localparam int unsigned RdmaCmdAttachMcastQpnOffset = 0;
  localparam int unsigned RdmaCmdAttachMcastMgidOffset = 4;
  typedef struct packed {
    logic [15:0][7:0] mgid;
    logic [31:0] qpn;
  } rdma_cmd_attach_mcast_t;
  function automatic rdma_cmd_attach_mcast_t unpack_rdma_cmd_attach_mcast(input logic [159:0] bytes);
    return rdma_cmd_attach_mcast_t'(bytes);
  endfunction
  function automatic logic [159:0] pack_rdma_cmd_attach_mcast(input rdma_cmd_attach_mcast_t fields);
    return fields;
  endfunction

  // Detach a UD QP from a multicast group. [IBTA vol. 1, 11.3.2] (roce.toml)
  localparam int unsigned RdmaCmdDetachMcastBytes = 20;
  localparam int unsigned RdmaCmdDetachMcastQpnOffset = 0;
  localparam int unsigned RdmaCmdDetachMcastMgidOffset = 4;
  typedef struct packed {
    logic [15:0][7:0] mgid;
    logic [31:0] qpn;
  } rdma_cmd_detach_mcast_t;
  function automatic rdma_cmd_detach_mcast_t unpack_rdma_cmd_detach_mcast(input logic [159:0] bytes);
    return rdma_cmd_detach_mcast_t'(bytes);
  endfunction
  function automatic logic [159:0] pack_rdma_cmd_detach_mcast(input rdma_cmd_detach_mcast_t fields);
    return fields;
  endfunction

  // Limits what a virtqueue's descriptors may point to: every buffer and every indirect table must lie in [base, base + length). The ring itself is placed by common configuration, which only a trusted driver can access. Applies to every descriptor fetched after the response, until set again; a reset of the queue or device removes it. [docs/decisions/0003] (roce.toml)
  localparam int unsigned RdmaCmdSetWindowBytes = 24;
  localparam int unsigned RdmaCmdSetWindowVqIndexOffset = 0;
  localparam int unsigned RdmaCmdSetWindowFlagsOffset = 2;
  localparam int unsigned RdmaCmdSetWindowBaseOffset = 8;
  localparam int unsigned RdmaCmdSetWindowLengthOffset = 16;
  typedef struct packed {
    logic [63:0] length;
    logic [63:0] base;
    logic [4:0][7:0] reserved;
    logic [7:0] flags;
    logic [15:0] vq_index;
  } rdma_cmd_set_window_t;
  function automatic rdma_cmd_set_window_t unpack_rdma_cmd_set_window(input logic [191:0] bytes);
    return rdma_cmd_set_window_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_rdma_cmd_set_window(input rdma_cmd_set_window_t fields);
    return fields;
  endfunction

  // Asynchronous event. The driver posts device-writable buffers of this size on rdma_eventq; each event uses one. [docs/decisions/0003] (roce.toml)
  localparam int unsigned RdmaEventBytes = 16;
  localparam int unsigned RdmaEventEventTypeOffset = 0;
  localparam int unsigned RdmaEventElementOffset = 4;
  localparam int unsigned RdmaEventCodeOffset = 8;
  localparam int unsigned RdmaEventLostOffset = 12;
  typedef struct packed {
    logic [31:0] lost;
    logic [31:0] code;
    logic [31:0] element;
    logic [31:0] event_type;  // rdma_event_type_e
  } rdma_event_t;
  function automatic rdma_event_t unpack_rdma_event(input logic [127:0] bytes);
    return rdma_event_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_event(input rdma_event_t fields);
    return fields;
  endfunction

  // Scatter/gather element. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaSgeBytes = 16;
  localparam int unsigned RdmaSgeAddrOffset = 0;
  localparam int unsigned RdmaSgeLengthOffset = 8;
  localparam int unsigned RdmaSgeLkeyOffset = 12;
  typedef struct packed {
    logic [31:0] lkey;
    logic [31:0] length;
    logic [63:0] addr;
  } rdma_sge_t;
  function automatic rdma_sge_t unpack_rdma_sge(input logic [127:0] bytes);
    return rdma_sge_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sge(input rdma_sge_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.wr for RDMA READ and WRITE. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaSqReqRdmaBytes = 32;
  localparam int unsigned RdmaSqReqRdmaRemoteAddrOffset = 0;
  localparam int unsigned RdmaSqReqRdmaRkeyOffset = 8;
  typedef struct packed {
    logic [4:0][31:0] reserved;
    logic [31:0] rkey;
    logic [63:0] remote_addr;
  } rdma_sq_req_rdma_t;
  function automatic rdma_sq_req_rdma_t unpack_rdma_sq_req_rdma(input logic [255:0] bytes);
    return rdma_sq_req_rdma_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_sq_req_rdma(input rdma_sq_req_rdma_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.wr for FLUSH. [Vireo; IBTA vol. 1 (1.6), A19.4.1] (roce.toml)
  localparam int unsigned RdmaSqReqFlushBytes = 32;
  localparam int unsigned RdmaSqReqFlushRemoteAddrOffset = 0;
  localparam int unsigned RdmaSqReqFlushLengthOffset = 8;
  localparam int unsigned RdmaSqReqFlushPlacementOffset = 12;
  localparam int unsigned RdmaSqReqFlushSelectivityOffset = 13;
  localparam int unsigned RdmaSqReqFlushRkeyOffset = 24;
  typedef struct packed {
    logic [31:0] reserved2;
    logic [31:0] rkey;
    logic [63:0] reserved1;
    logic [15:0] reserved;
    logic [7:0] selectivity;
    logic [7:0] placement;
    logic [31:0] length;
    logic [63:0] remote_addr;
  } rdma_sq_req_flush_t;
  function automatic rdma_sq_req_flush_t unpack_rdma_sq_req_flush(input logic [255:0] bytes);
    return rdma_sq_req_flush_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_sq_req_flush(input rdma_sq_req_flush_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.wr for bind_mw. [Vireo; IBTA vol. 1, 11.4.1.1; members as in struct ibv_send_wr] (roce.toml)
  localparam int unsigned RdmaSqReqBindBytes = 32;
  localparam int unsigned RdmaSqReqBindAddrOffset = 0;
  localparam int unsigned RdmaSqReqBindLengthOffset = 8;
  localparam int unsigned RdmaSqReqBindAccessFlagsOffset = 16;
  localparam int unsigned RdmaSqReqBindRkeyOffset = 24;
  localparam int unsigned RdmaSqReqBindLkeyOffset = 28;
  typedef struct packed {
    logic [31:0] lkey;
    logic [31:0] rkey;
    logic [31:0] reserved;
    logic [31:0] access_flags;
    logic [63:0] length;
    logic [63:0] addr;
  } rdma_sq_req_bind_t;
  function automatic rdma_sq_req_bind_t unpack_rdma_sq_req_bind(input logic [255:0] bytes);
    return rdma_sq_req_bind_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_sq_req_bind(input rdma_sq_req_bind_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.wr for reg_mr, whose elements are rdma_page_pair, one or more. Fields are where rdma_sq_req_bind has its own. [Vireo; IBTA vol. 1, 11.4.1.1: Fast Register Physical MR; as struct ib_reg_wr] (roce.toml)
  localparam int unsigned RdmaSqReqRegBytes = 32;
  localparam int unsigned RdmaSqReqRegVirtAddrOffset = 0;
  localparam int unsigned RdmaSqReqRegLengthOffset = 8;
  localparam int unsigned RdmaSqReqRegAccessFlagsOffset = 16;
  localparam int unsigned RdmaSqReqRegKeyOffset = 24;
  localparam int unsigned RdmaSqReqRegPageShiftOffset = 28;
  typedef struct packed {
    logic [2:0][7:0] reserved1;
    logic [7:0] page_shift;
    logic [31:0] key;
    logic [31:0] reserved;
    logic [31:0] access_flags;
    logic [63:0] length;
    logic [63:0] virt_addr;
  } rdma_sq_req_reg_t;
  function automatic rdma_sq_req_reg_t unpack_rdma_sq_req_reg(input logic [255:0] bytes);
    return rdma_sq_req_reg_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_sq_req_reg(input rdma_sq_req_reg_t fields);
    return fields;
  endfunction

  // Two pages of a reg_mr, in the place of an rdma_sge. [docs/decisions/0036] (roce.toml)
  localparam int unsigned RdmaPagePairBytes = 16;
  localparam int unsigned RdmaPagePairFirstOffset = 0;
  localparam int unsigned RdmaPagePairSecondOffset = 8;
  typedef struct packed {
    logic [63:0] second;
    logic [63:0] first;
  } rdma_page_pair_t;
  function automatic rdma_page_pair_t unpack_rdma_page_pair(input logic [127:0] bytes);
    return rdma_page_pair_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_page_pair(input rdma_page_pair_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.wr for atomic operations and ATOMIC WRITE. The elements take 8 bytes; more are not written. [Vireo; members and order as in struct ibv_send_wr] (roce.toml)
  localparam int unsigned RdmaSqReqAtomicBytes = 32;
  localparam int unsigned RdmaSqReqAtomicRemoteAddrOffset = 0;
  localparam int unsigned RdmaSqReqAtomicCompareAddOffset = 8;
  localparam int unsigned RdmaSqReqAtomicSwapOffset = 16;
  localparam int unsigned RdmaSqReqAtomicRkeyOffset = 24;
  typedef struct packed {
    logic [31:0] reserved;
    logic [31:0] rkey;
    logic [63:0] swap;
    logic [63:0] compare_add;
    logic [63:0] remote_addr;
  } rdma_sq_req_atomic_t;
  function automatic rdma_sq_req_atomic_t unpack_rdma_sq_req_atomic(input logic [255:0] bytes);
    return rdma_sq_req_atomic_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_sq_req_atomic(input rdma_sq_req_atomic_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.wr for UD. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaSqReqUdBytes = 32;
  localparam int unsigned RdmaSqReqUdRemoteQpnOffset = 0;
  localparam int unsigned RdmaSqReqUdRemoteQkeyOffset = 4;
  localparam int unsigned RdmaSqReqUdAhOffset = 8;
  typedef struct packed {
    logic [4:0][31:0] reserved;
    logic [31:0] ah;
    logic [31:0] remote_qkey;
    logic [31:0] remote_qpn;
  } rdma_sq_req_ud_t;
  function automatic rdma_sq_req_ud_t unpack_rdma_sq_req_ud(input logic [255:0] bytes);
    return rdma_sq_req_ud_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_rdma_sq_req_ud(input rdma_sq_req_ud_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.size without the inline flag. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaSqReqNumSgeBytes = 4;
  localparam int unsigned RdmaSqReqNumSgeNumSgeOffset = 0;
  typedef struct packed {
    logic [31:0] num_sge;
  } rdma_sq_req_num_sge_t;
  function automatic rdma_sq_req_num_sge_t unpack_rdma_sq_req_num_sge(input logic [31:0] bytes);
    return rdma_sq_req_num_sge_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_sq_req_num_sge(input rdma_sq_req_num_sge_t fields);
    return fields;
  endfunction

  // Variant of rdma_sq_req.size with the inline flag. The upper half is undefined: it must not be read. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaSqReqInlineLenBytes = 4;
  localparam int unsigned RdmaSqReqInlineLenInlineLenOffset = 0;
  typedef struct packed {
    logic [15:0] reserved;
    logic [15:0] inline_len;
  } rdma_sq_req_inline_len_t;
  function automatic rdma_sq_req_inline_len_t unpack_rdma_sq_req_inline_len(input logic [31:0] bytes);
    return rdma_sq_req_inline_len_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_sq_req_inline_len(input rdma_sq_req_inline_len_t fields);
    return fields;
  endfunction

  // Send work request: one device-readable descriptor. The device may skip inline_data when it reads. The descriptor is returned as used, length 0 and in order, when the WR is complete, before the CQE of that WR if it has one. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaSqReqBytes = 576;
  localparam int unsigned RdmaSqReqWrIdOffset = 0;
  localparam int unsigned RdmaSqReqOpcodeOffset = 8;
  localparam int unsigned RdmaSqReqSendFlagsOffset = 9;
  localparam int unsigned RdmaSqReqImmDataOffset = 12;
  localparam int unsigned RdmaSqReqWrOffset = 16;
  localparam int unsigned RdmaSqReqInlineDataOffset = 48;
  localparam int unsigned RdmaSqReqSizeOffset = 560;
  typedef struct packed {
    logic [2:0][31:0] reserved1;
    logic [3:0][7:0] size;
    logic [511:0][7:0] inline_data;
    logic [31:0][7:0] wr;
    logic [3:0][7:0] imm_data;
    logic [15:0] reserved;
    logic [7:0] send_flags;
    logic [7:0] opcode;  // ib_wr_opcode_e
    logic [63:0] wr_id;
  } rdma_sq_req_t;
  function automatic rdma_sq_req_t unpack_rdma_sq_req(input logic [4607:0] bytes);
    return rdma_sq_req_t'(bytes);
  endfunction
  function automatic logic [4607:0] pack_rdma_sq_req(input rdma_sq_req_t fields);
    return fields;
  endfunction

  // Start of an extensible send work request: one device-readable descriptor of less than 576 bytes, with a work request of exactly its length. A longer one is an rdma_sq_req, whose first 16 bytes are the same. Used like that one. [docs/decisions/0024] (roce.toml)
  localparam int unsigned RdmaSqBaseBytes = 16;
  localparam int unsigned RdmaSqBaseWrIdOffset = 0;
  localparam int unsigned RdmaSqBaseOpcodeOffset = 8;
  localparam int unsigned RdmaSqBaseSendFlagsOffset = 9;
  localparam int unsigned RdmaSqBaseVersionOffset = 10;
  localparam int unsigned RdmaSqBaseElementsOffset = 11;
  localparam int unsigned RdmaSqBaseImmDataOffset = 12;
  typedef struct packed {
    logic [3:0][7:0] imm_data;
    logic [7:0] elements;
    logic [7:0] version;
    logic [7:0] send_flags;
    logic [7:0] opcode;  // ib_wr_opcode_e
    logic [63:0] wr_id;
  } rdma_sq_base_t;
  function automatic rdma_sq_base_t unpack_rdma_sq_base(input logic [127:0] bytes);
    return rdma_sq_base_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_base(input rdma_sq_base_t fields);
    return fields;
  endfunction

  // 64-bit write that ends the push of a send work request and is a doorbell. The driver has made the work request available before, as if it were not pushed. [docs/decisions/0029] (roce.toml)
  localparam int unsigned RdmaPushBytes = 8;
  localparam int unsigned RdmaPushPositionOffset = 0;
  localparam int unsigned RdmaPushHeadOffset = 2;
  localparam int unsigned RdmaPushLengthOffset = 4;
  typedef struct packed {
    logic [15:0] reserved;
    logic [15:0] length;
    logic [15:0] head;
    logic [15:0] position;
  } rdma_push_t;
  function automatic rdma_push_t unpack_rdma_push(input logic [63:0] bytes);
    return rdma_push_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_push(input rdma_push_t fields);
    return fields;
  endfunction

  // Element of an extensible send work request: the peer's memory. [docs/decisions/0024] (roce.toml)
  localparam int unsigned RdmaSqRdmaBytes = 16;
  localparam int unsigned RdmaSqRdmaRemoteAddrOffset = 0;
  localparam int unsigned RdmaSqRdmaRkeyOffset = 8;
  typedef struct packed {
    logic [31:0] reserved;
    logic [31:0] rkey;
    logic [63:0] remote_addr;
  } rdma_sq_rdma_t;
  function automatic rdma_sq_rdma_t unpack_rdma_sq_rdma(input logic [127:0] bytes);
    return rdma_sq_rdma_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_rdma(input rdma_sq_rdma_t fields);
    return fields;
  endfunction

  // Element of an extensible send work request: the peer of a datagram. [docs/decisions/0024] (roce.toml)
  localparam int unsigned RdmaSqUdBytes = 16;
  localparam int unsigned RdmaSqUdRemoteQpnOffset = 0;
  localparam int unsigned RdmaSqUdRemoteQkeyOffset = 4;
  localparam int unsigned RdmaSqUdAhOffset = 8;
  typedef struct packed {
    logic [31:0] reserved;
    logic [31:0] ah;
    logic [31:0] remote_qkey;
    logic [31:0] remote_qpn;
  } rdma_sq_ud_t;
  function automatic rdma_sq_ud_t unpack_rdma_sq_ud(input logic [127:0] bytes);
    return rdma_sq_ud_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_ud(input rdma_sq_ud_t fields);
    return fields;
  endfunction

  // Element of an extensible send work request: operands. [docs/decisions/0024] (roce.toml)
  localparam int unsigned RdmaSqAtomicBytes = 16;
  localparam int unsigned RdmaSqAtomicCompareAddOffset = 0;
  localparam int unsigned RdmaSqAtomicSwapOffset = 8;
  typedef struct packed {
    logic [63:0] swap;
    logic [63:0] compare_add;
  } rdma_sq_atomic_t;
  function automatic rdma_sq_atomic_t unpack_rdma_sq_atomic(input logic [127:0] bytes);
    return rdma_sq_atomic_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_atomic(input rdma_sq_atomic_t fields);
    return fields;
  endfunction

  // Element of an extensible send work request, in the place of rdma_sq_atomic: what a FLUSH requests. [docs/decisions/0028] (roce.toml)
  localparam int unsigned RdmaSqFlushBytes = 16;
  localparam int unsigned RdmaSqFlushLengthOffset = 0;
  localparam int unsigned RdmaSqFlushPlacementOffset = 4;
  localparam int unsigned RdmaSqFlushSelectivityOffset = 5;
  typedef struct packed {
    logic [63:0] reserved1;
    logic [15:0] reserved;
    logic [7:0] selectivity;
    logic [7:0] placement;
    logic [31:0] length;
  } rdma_sq_flush_t;
  function automatic rdma_sq_flush_t unpack_rdma_sq_flush(input logic [127:0] bytes);
    return rdma_sq_flush_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_flush(input rdma_sq_flush_t fields);
    return fields;
  endfunction

  // Element of an extensible send work request, in the place of rdma_sq_rdma: keys and address of a bind_mw. [docs/decisions/0032] (roce.toml)
  localparam int unsigned RdmaSqBindBytes = 16;
  localparam int unsigned RdmaSqBindAddrOffset = 0;
  localparam int unsigned RdmaSqBindRkeyOffset = 8;
  localparam int unsigned RdmaSqBindLkeyOffset = 12;
  typedef struct packed {
    logic [31:0] lkey;
    logic [31:0] rkey;
    logic [63:0] addr;
  } rdma_sq_bind_t;
  function automatic rdma_sq_bind_t unpack_rdma_sq_bind(input logic [127:0] bytes);
    return rdma_sq_bind_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_bind(input rdma_sq_bind_t fields);
    return fields;
  endfunction

  // Element of an extensible send work request, in the place of rdma_sq_rdma: address, key and page size of a reg_mr. [docs/decisions/0036] (roce.toml)
  localparam int unsigned RdmaSqRegBytes = 16;
  localparam int unsigned RdmaSqRegVirtAddrOffset = 0;
  localparam int unsigned RdmaSqRegKeyOffset = 8;
  localparam int unsigned RdmaSqRegPageShiftOffset = 12;
  typedef struct packed {
    logic [2:0][7:0] reserved;
    logic [7:0] page_shift;
    logic [31:0] key;
    logic [63:0] virt_addr;
  } rdma_sq_reg_t;
  function automatic rdma_sq_reg_t unpack_rdma_sq_reg(input logic [127:0] bytes);
    return rdma_sq_reg_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_reg(input rdma_sq_reg_t fields);
    return fields;
  endfunction

  // Element of an extensible send work request, in the place of rdma_sq_atomic: length and rights of a bind_mw or reg_mr. [docs/decisions/0032] (roce.toml)
  localparam int unsigned RdmaSqBindRangeBytes = 16;
  localparam int unsigned RdmaSqBindRangeLengthOffset = 0;
  localparam int unsigned RdmaSqBindRangeAccessFlagsOffset = 8;
  typedef struct packed {
    logic [31:0] reserved;
    logic [31:0] access_flags;
    logic [63:0] length;
  } rdma_sq_bind_range_t;
  function automatic rdma_sq_bind_range_t unpack_rdma_sq_bind_range(input logic [127:0] bytes);
    return rdma_sq_bind_range_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_rdma_sq_bind_range(input rdma_sq_bind_range_t fields);
    return fields;
  endfunction

  // Receive work request: one device-readable descriptor, which is returned as used, length 0 and in order, before its CQE. Data fills the elements in order; for UD it starts after rdma_ud_grh_bytes. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaRqReqBytes = 24;
  localparam int unsigned RdmaRqReqWrIdOffset = 0;
  localparam int unsigned RdmaRqReqNumSgeOffset = 8;
  typedef struct packed {
    logic [2:0][31:0] reserved;
    logic [31:0] num_sge;
    logic [63:0] wr_id;
  } rdma_rq_req_t;
  function automatic rdma_rq_req_t unpack_rdma_rq_req(input logic [191:0] bytes);
    return rdma_rq_req_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_rdma_rq_req(input rdma_rq_req_t fields);
    return fields;
  endfunction

  // Completion: written to a device-writable buffer of at least this size, used length 48. On error only wr_id, status, vendor_err and qp_num are valid, as in verbs. [RFC v2, RoCE Support] (roce.toml)
  localparam int unsigned RdmaCqReqBytes = 48;
  localparam int unsigned RdmaCqReqWrIdOffset = 0;
  localparam int unsigned RdmaCqReqStatusOffset = 8;
  localparam int unsigned RdmaCqReqOpcodeOffset = 9;
  localparam int unsigned RdmaCqReqVendorErrOffset = 12;
  localparam int unsigned RdmaCqReqByteLenOffset = 16;
  localparam int unsigned RdmaCqReqImmDataOffset = 20;
  localparam int unsigned RdmaCqReqQpNumOffset = 24;
  localparam int unsigned RdmaCqReqSrcQpOffset = 28;
  localparam int unsigned RdmaCqReqWcFlagsOffset = 32;
  typedef struct packed {
    logic [2:0][31:0] reserved1;
    logic [31:0] wc_flags;
    logic [31:0] src_qp;
    logic [31:0] qp_num;
    logic [3:0][7:0] imm_data;
    logic [31:0] byte_len;
    logic [31:0] vendor_err;
    logic [15:0] reserved;
    logic [7:0] opcode;  // ib_wc_opcode_e
    logic [7:0] status;  // ib_wc_status_e
    logic [63:0] wr_id;
  } rdma_cq_req_t;
  function automatic rdma_cq_req_t unpack_rdma_cq_req(input logic [383:0] bytes);
    return rdma_cq_req_t'(bytes);
  endfunction
  function automatic logic [383:0] pack_rdma_cq_req(input rdma_cq_req_t fields);
    return fields;
  endfunction

  // Base of a completion with elements: the fields of an rdma_cq_req, where that has them. The used length is that of base and elements; the buffer must have room for all that the CQ was created with. A reader takes what it knows: base_bytes tells where the elements begin, and those of a later version come behind the others. [docs/decisions/0039] (roce.toml)
  localparam int unsigned RdmaCqBaseBytes = 40;
  localparam int unsigned RdmaCqBaseWrIdOffset = 0;
  localparam int unsigned RdmaCqBaseStatusOffset = 8;
  localparam int unsigned RdmaCqBaseOpcodeOffset = 9;
  localparam int unsigned RdmaCqBaseVersionOffset = 10;
  localparam int unsigned RdmaCqBaseBaseBytesOffset = 11;
  localparam int unsigned RdmaCqBaseVendorErrOffset = 12;
  localparam int unsigned RdmaCqBaseByteLenOffset = 16;
  localparam int unsigned RdmaCqBaseImmDataOffset = 20;
  localparam int unsigned RdmaCqBaseQpNumOffset = 24;
  localparam int unsigned RdmaCqBaseSrcQpOffset = 28;
  localparam int unsigned RdmaCqBaseWcFlagsOffset = 32;
  localparam int unsigned RdmaCqBaseElementsOffset = 36;
  typedef struct packed {
    logic [31:0] elements;
    logic [31:0] wc_flags;
    logic [31:0] src_qp;
    logic [31:0] qp_num;
    logic [3:0][7:0] imm_data;
    logic [31:0] byte_len;
    logic [31:0] vendor_err;
    logic [7:0] base_bytes;
    logic [7:0] version;
    logic [7:0] opcode;  // ib_wc_opcode_e
    logic [7:0] status;  // ib_wc_status_e
    logic [63:0] wr_id;
  } rdma_cq_base_t;
  function automatic rdma_cq_base_t unpack_rdma_cq_base(input logic [319:0] bytes);
    return rdma_cq_base_t'(bytes);
  endfunction
  function automatic logic [319:0] pack_rdma_cq_base(input rdma_cq_base_t fields);
    return fields;
  endfunction

  // Element of a completion: when the device wrote it. Later than that of the completion before it in the same CQ. [docs/decisions/0039] (roce.toml)
  localparam int unsigned RdmaCqTimestampBytes = 8;
  localparam int unsigned RdmaCqTimestampTimeNsOffset = 0;
  typedef struct packed {
    logic [63:0] time_ns;
  } rdma_cq_timestamp_t;
  function automatic rdma_cq_timestamp_t unpack_rdma_cq_timestamp(input logic [63:0] bytes);
    return rdma_cq_timestamp_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_rdma_cq_timestamp(input rdma_cq_timestamp_t fields);
    return fields;
  endfunction

  // A virtqueue, by its index. Second group: what common configuration set, and the positions in the ring. (tables.toml)
  localparam int unsigned TableVirtqueueBytes = 64;
  localparam int unsigned TableVirtqueueKindOffset = 0;
  localparam int unsigned TableVirtqueueLimitOffset = 2;
  localparam int unsigned TableVirtqueueOwnerOffset = 4;
  localparam int unsigned TableVirtqueueCoalMaxPacketsOffset = 8;
  localparam int unsigned TableVirtqueueCoalMaxUsecsOffset = 12;
  localparam int unsigned TableVirtqueueGuestOffloadsOffset = 16;
  localparam int unsigned TableVirtqueueQueueSizeOffset = 26;
  localparam int unsigned TableVirtqueueMsixVectorOffset = 28;
  localparam int unsigned TableVirtqueueNextAvailOffset = 30;
  localparam int unsigned TableVirtqueueNextUsedOffset = 32;
  localparam int unsigned TableVirtqueueQueueDescOffset = 40;
  localparam int unsigned TableVirtqueueQueueDriverOffset = 48;
  localparam int unsigned TableVirtqueueQueueDeviceOffset = 56;
  typedef struct packed {
    logic [63:0] queue_device;
    logic [63:0] queue_driver;
    logic [63:0] queue_desc;
    logic [31:0] reserved5;
    logic [15:0] reserved4;
    logic [15:0] next_used;
    logic [15:0] next_avail;
    logic [15:0] msix_vector;
    logic [15:0] queue_size;
    logic [7:0] reserved3;
    logic [3:0] reserved2;
    logic used_wrap;
    logic avail_wrap;
    logic failed;
    logic enabled;
    logic [63:0] guest_offloads;
    logic [31:0] coal_max_usecs;
    logic [31:0] coal_max_packets;
    logic [7:0] reserved1;
    logic [23:0] owner;
    logic [15:0] limit;
    logic [5:0] reserved;
    logic reset_positions;
    logic stopped;
    logic [7:0] kind;  // table_queue_kind_e
  } table_virtqueue_t;
  function automatic table_virtqueue_t unpack_table_virtqueue(input logic [511:0] bytes);
    return table_virtqueue_t'(bytes);
  endfunction
  function automatic logic [511:0] pack_table_virtqueue(input table_virtqueue_t fields);
    return fields;
  endfunction

  // Address window of the virtqueue of this index (rdma_cmd_set_window). A reset of queue or device clears it. (tables.toml)
  localparam int unsigned TableWindowBytes = 24;
  localparam int unsigned TableWindowBaseOffset = 8;
  localparam int unsigned TableWindowLastOffset = 16;
  typedef struct packed {
    logic [63:0] last;
    logic [63:0] base;
    logic [6:0][7:0] reserved1;
    logic [6:0] reserved;
    logic enable;
  } table_window_t;
  function automatic table_window_t unpack_table_window(input logic [191:0] bytes);
    return table_window_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_table_window(input table_window_t fields);
    return fields;
  endfunction

  // Path to a peer, fully resolved. GIDs in network order; IPv4 as ::ffff:a.b.c.d. (tables.toml)
  localparam int unsigned TablePathBytes = 48;
  localparam int unsigned TablePathDgidOffset = 0;
  localparam int unsigned TablePathSgidOffset = 16;
  localparam int unsigned TablePathDmacOffset = 32;
  localparam int unsigned TablePathVlanOffset = 38;
  localparam int unsigned TablePathTrafficClassOffset = 43;
  localparam int unsigned TablePathHopLimitOffset = 44;
  localparam int unsigned TablePathSgidIndexOffset = 45;
  typedef struct packed {
    logic [15:0] reserved1;
    logic [7:0] sgid_index;
    logic [7:0] hop_limit;
    logic [7:0] traffic_class;
    logic [1:0] reserved;
    logic vlan_present;
    logic ipv4;
    logic [19:0] flow_label;
    logic [15:0] vlan;
    logic [5:0][7:0] dmac;
    logic [15:0][7:0] sgid;
    logic [15:0][7:0] dgid;
  } table_path_t;
  function automatic table_path_t unpack_table_path(input logic [383:0] bytes);
    return table_path_t'(bytes);
  endfunction
  function automatic logic [383:0] pack_table_path(input table_path_t fields);
    return fields;
  endfunction

  // A QP, by its number. First group: attributes, second: transport state (state of the message in progress is not visible to firmware). State: firmware writes the requested state and then starts the qp_operation that makes it the engine's state: start takes it over, drain moves RTS to SQD at once, flush any state to ERR, stop any state to RESET and clears the second group. Once the engine's state is ERR only stop changes it: a command in flight never overwrites an error that the engine detected. A drain may never end (rnr_retry 7): another operation may be written meanwhile, then the end of the drain is not reported, but the QP stays in SQD; a new drain reports it. (tables.toml)
  localparam int unsigned TableQpContextBytes = 128;
  localparam int unsigned TableQpContextStateOffset = 0;
  localparam int unsigned TableQpContextQpTypeOffset = 1;
  localparam int unsigned TableQpContextPathMtuOffset = 2;
  localparam int unsigned TableQpContextMaxRdAtomicOffset = 4;
  localparam int unsigned TableQpContextMaxDestRdAtomicOffset = 5;
  localparam int unsigned TableQpContextPdnOffset = 8;
  localparam int unsigned TableQpContextSendCqnOffset = 10;
  localparam int unsigned TableQpContextRecvCqnOffset = 12;
  localparam int unsigned TableQpContextMaxInlineDataOffset = 14;
  localparam int unsigned TableQpContextQkeyOffset = 16;
  localparam int unsigned TableQpContextDestQpnOffset = 20;
  localparam int unsigned TableQpContextMaxSendSgeOffset = 23;
  localparam int unsigned TableQpContextMaxSendWrOffset = 24;
  localparam int unsigned TableQpContextMaxRecvWrOffset = 26;
  localparam int unsigned TableQpContextMaxRecvSgeOffset = 28;
  localparam int unsigned TableQpContextSrqOffset = 29;
  localparam int unsigned TableQpContextPathOffset = 32;
  localparam int unsigned TableQpContextEngineStateOffset = 80;
  localparam int unsigned TableQpContextSendOutstandingOffset = 82;
  localparam int unsigned TableQpContextNextPsnOffset = 84;
  localparam int unsigned TableQpContextUnackedPsnOffset = 88;
  localparam int unsigned TableQpContextReadsOutstandingOffset = 91;
  localparam int unsigned TableQpContextMessagesSentOffset = 92;
  localparam int unsigned TableQpContextCreditLimitOffset = 96;
  localparam int unsigned TableQpContextDeadlineNsOffset = 100;
  localparam int unsigned TableQpContextExpectedPsnOffset = 108;
  localparam int unsigned TableQpContextReadsHeldOffset = 111;
  localparam int unsigned TableQpContextMsnOffset = 112;
  typedef struct packed {
    logic [2:0][31:0] reserved6;
    logic [2:0] reserved5;
    logic communication_established;
    logic ack_due;
    logic nak_sent;
    logic receive_taken;
    logic in_message;
    logic [23:0] msn;
    logic [7:0] reads_held;
    logic [23:0] expected_psn;
    logic [63:0] deadline_ns;
    logic [7:0] reserved4;
    logic [23:0] credit_limit;
    logic [7:0] reserved3;
    logic [23:0] messages_sent;
    logic [7:0] reads_outstanding;
    logic [23:0] unacked_psn;
    logic timer_is_rnr;
    logic timer_running;
    logic [2:0] rnr_retries_left;
    logic [2:0] retries_left;
    logic [23:0] next_psn;
    logic [15:0] send_outstanding;
    logic [7:0] reserved2;
    logic [7:0] engine_state;  // ib_qp_state_e
    table_path_t path;
    logic [2:0] reserved1;
    logic flush_persistent;
    logic flush_global;
    logic limit_armed;
    logic is_srq;
    logic has_srq;
    logic [15:0] srq;
    logic [7:0] max_recv_sge;
    logic [15:0] max_recv_wr;
    logic [15:0] max_send_wr;
    logic [7:0] max_send_sge;
    logic [23:0] dest_qpn;
    logic [31:0] qkey;
    logic [15:0] max_inline_data;
    logic [15:0] recv_cqn;
    logic [15:0] send_cqn;
    logic [15:0] pdn;
    logic [2:0] rnr_retry;
    logic [4:0] timeout;
    logic [2:0] retry_cnt;
    logic [4:0] min_rnr_timer;
    logic [7:0] max_dest_rd_atomic;
    logic [7:0] max_rd_atomic;
    logic remote_atomic;
    logic local_write;
    logic remote_read;
    logic remote_write;
    logic load_responder;
    logic load_requester;
    logic sq_sig_all;
    logic valid;
    logic [7:0] path_mtu;  // ib_mtu_e
    logic [7:0] qp_type;  // ib_qp_type_e
    logic [7:0] state;  // ib_qp_state_e
  } table_qp_context_t;
  function automatic table_qp_context_t unpack_table_qp_context(input logic [1023:0] bytes);
    return table_qp_context_t'(bytes);
  endfunction
  function automatic logic [1023:0] pack_table_qp_context(input table_qp_context_t fields);
    return fields;
  endfunction

  // A CQ, by its index. Its vector is that of its virtqueue. (tables.toml)
  localparam int unsigned TableCqContextBytes = 16;
  localparam int unsigned TableCqContextElementsOffset = 1;
  localparam int unsigned TableCqContextVqIndexOffset = 2;
  localparam int unsigned TableCqContextCqeOffset = 4;
  typedef struct packed {
    logic [6:0][7:0] reserved2;
    logic [4:0] reserved1;
    logic failed;
    logic armed_next_completion;
    logic armed_solicited;
    logic [31:0] cqe;
    logic [15:0] vq_index;
    logic [7:0] elements;
    logic [3:0] reserved;
    logic set_failed;
    logic set_next_completion;
    logic set_solicited;
    logic valid;
  } table_cq_context_t;
  function automatic table_cq_context_t unpack_table_cq_context(input logic [127:0] bytes);
    return table_cq_context_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_table_cq_context(input table_cq_context_t fields);
    return fields;
  endfunction

  // A memory region, by its index. Its lkey and rkey are rdma_key: this index and `key`. Page i of the region, counted from the page that holds virt_addr, is at translation[first_translation + i]. Or a memory window: a write makes it unbound, and binds change key, range, rights and translation in the device. Or a region that work requests register, which sets key, range, rights and pages in the device. Second group: the entry as it is in the device. (tables.toml)
  localparam int unsigned TableMrBytes = 40;
  localparam int unsigned TableMrKeyOffset = 1;
  localparam int unsigned TableMrPageShiftOffset = 2;
  localparam int unsigned TableMrNpagesOffset = 4;
  localparam int unsigned TableMrFirstTranslationOffset = 8;
  localparam int unsigned TableMrPdnOffset = 12;
  localparam int unsigned TableMrVirtAddrOffset = 16;
  localparam int unsigned TableMrLengthOffset = 24;
  localparam int unsigned TableMrBoundToOffset = 33;
  localparam int unsigned TableMrBoundByOffset = 36;
  localparam int unsigned TableMrDeviceKeyOffset = 39;
  typedef struct packed {
    logic [7:0] device_key;
    logic [23:0] bound_by;
    logic [23:0] bound_to;
    logic [5:0] reserved3;
    logic is_alive;
    logic is_bound;
    logic [63:0] length;
    logic [63:0] virt_addr;
    logic [15:0] reserved2;
    logic [15:0] pdn;
    logic [31:0] first_translation;
    logic [31:0] npages;
    logic reserved1;
    logic is_fast;
    logic is_type_2;
    logic is_window;
    logic mw_bind;
    logic is_pmem;
    logic flush_persistent;
    logic flush_global;
    logic [7:0] page_shift;
    logic [7:0] key;
    logic reserved;
    logic invalidatable;
    logic remote_atomic;
    logic remote_read;
    logic remote_write;
    logic local_write;
    logic dma;
    logic valid;
  } table_mr_t;
  function automatic table_mr_t unpack_table_mr(input logic [319:0] bytes);
    return table_mr_t'(bytes);
  endfunction
  function automatic logic [319:0] pack_table_mr(input table_mr_t fields);
    return fields;
  endfunction

  // Composition of lkey and rkey. Opaque to the driver. (tables.toml)
  localparam int unsigned RdmaKeyBytes = 4;
  localparam int unsigned RdmaKeyKeyOffset = 0;
  localparam int unsigned RdmaKeyIndexOffset = 1;
  typedef struct packed {
    logic [23:0] index;
    logic [7:0] key;
  } rdma_key_t;
  function automatic rdma_key_t unpack_rdma_key(input logic [31:0] bytes);
    return rdma_key_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_rdma_key(input rdma_key_t fields);
    return fields;
  endfunction

  // One page of a memory region. (tables.toml)
  localparam int unsigned TableTranslationBytes = 8;
  localparam int unsigned TableTranslationAddressOffset = 0;
  typedef struct packed {
    logic [63:0] address;
  } table_translation_t;
  function automatic table_translation_t unpack_table_translation(input logic [63:0] bytes);
    return table_translation_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_table_translation(input table_translation_t fields);
    return fields;
  endfunction

  // An address handle, by its number. (tables.toml)
  localparam int unsigned TableAhBytes = 56;
  localparam int unsigned TableAhPdnOffset = 2;
  localparam int unsigned TableAhPathOffset = 8;
  typedef struct packed {
    table_path_t path;
    logic [31:0] reserved2;
    logic [15:0] pdn;
    logic [7:0] reserved1;
    logic [6:0] reserved;
    logic valid;
  } table_ah_t;
  function automatic table_ah_t unpack_table_ah(input logic [447:0] bytes);
    return table_ah_t'(bytes);
  endfunction
  function automatic logic [447:0] pack_table_ah(input table_ah_t fields);
    return fields;
  endfunction

  // An entry of the GID table. All entries are RoCE v2. (tables.toml)
  localparam int unsigned TableGidBytes = 24;
  localparam int unsigned TableGidVlanOffset = 2;
  localparam int unsigned TableGidGidOffset = 8;
  typedef struct packed {
    logic [15:0][7:0] gid;
    logic [31:0] reserved2;
    logic [15:0] vlan;
    logic [7:0] reserved1;
    logic [4:0] reserved;
    logic ipv4;
    logic vlan_present;
    logic valid;
  } table_gid_t;
  function automatic table_gid_t unpack_table_gid(input logic [191:0] bytes);
    return table_gid_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_table_gid(input table_gid_t fields);
    return fields;
  endfunction

  // An attachment of a UD queue pair to a multicast group. No two entries are alike. (tables.toml)
  localparam int unsigned TableMcastBytes = 24;
  localparam int unsigned TableMcastQpnOffset = 1;
  localparam int unsigned TableMcastMgidOffset = 8;
  typedef struct packed {
    logic [15:0][7:0] mgid;
    logic [31:0] reserved1;
    logic [23:0] qpn;
    logic [6:0] reserved;
    logic valid;
  } table_mcast_t;
  function automatic table_mcast_t unpack_table_mcast(input logic [191:0] bytes);
    return table_mcast_t'(bytes);
  endfunction
  function automatic logic [191:0] pack_table_mcast(input table_mcast_t fields);
    return fields;
  endfunction

  // A MAC address that the net path accepts besides its own and broadcast. (tables.toml)
  localparam int unsigned TableMacFilterBytes = 8;
  localparam int unsigned TableMacFilterMacOffset = 2;
  typedef struct packed {
    logic [5:0][7:0] mac;
    logic [7:0] reserved1;
    logic [6:0] reserved;
    logic valid;
  } table_mac_filter_t;
  function automatic table_mac_filter_t unpack_table_mac_filter(input logic [63:0] bytes);
    return table_mac_filter_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_table_mac_filter(input table_mac_filter_t fields);
    return fields;
  endfunction

  // Membership of VLANs. (tables.toml)
  localparam int unsigned TableVlanFilterBytes = 4;
  localparam int unsigned TableVlanFilterMembersOffset = 0;
  typedef struct packed {
    logic [31:0] members;
  } table_vlan_filter_t;
  function automatic table_vlan_filter_t unpack_table_vlan_filter(input logic [31:0] bytes);
    return table_vlan_filter_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_table_vlan_filter(input table_vlan_filter_t fields);
    return fields;
  endfunction

  // Entry 0 of table rss: hashing and steering of received packets. (tables.toml)
  localparam int unsigned TableRssConfigBytes = 56;
  localparam int unsigned TableRssConfigUnclassifiedPairOffset = 1;
  localparam int unsigned TableRssConfigIndirectionTableMaskOffset = 2;
  localparam int unsigned TableRssConfigHashTypesOffset = 4;
  localparam int unsigned TableRssConfigHashKeyDataOffset = 8;
  localparam int unsigned TableRssConfigHashKeyLengthOffset = 48;
  typedef struct packed {
    logic [6:0][7:0] reserved1;
    logic [7:0] hash_key_length;
    logic [39:0][7:0] hash_key_data;
    logic [31:0] hash_types;
    logic [15:0] indirection_table_mask;
    logic [7:0] unclassified_pair;
    logic [6:0] reserved;
    logic steer;
  } table_rss_config_t;
  function automatic table_rss_config_t unpack_table_rss_config(input logic [447:0] bytes);
    return table_rss_config_t'(bytes);
  endfunction
  function automatic logic [447:0] pack_table_rss_config(input table_rss_config_t fields);
    return fields;
  endfunction

  // Entries 1 and up of table rss: 32 elements of the indirection table each, in order. (tables.toml)
  localparam int unsigned TableRssBytes = 32;
  localparam int unsigned TableRssPairOffset = 0;
  typedef struct packed {
    logic [31:0][7:0] pair;
  } table_rss_t;
  function automatic table_rss_t unpack_table_rss(input logic [255:0] bytes);
    return table_rss_t'(bytes);
  endfunction
  function automatic logic [255:0] pack_table_rss(input table_rss_t fields);
    return fields;
  endfunction

  // Common configuration, 1.3 size. Fields are accessed at their own width; a 64-bit field as two independent 32-bit halves. [virtio 1.3, 4.1.4.3; linux/virtio_pci.h (virtio_pci_modern_common_cfg)] (virtio.toml)
  localparam int unsigned VirtioPciCommonCfgBytes = 64;
  localparam int unsigned VirtioPciCommonCfgDeviceFeatureSelectOffset = 0;
  localparam int unsigned VirtioPciCommonCfgDeviceFeatureOffset = 4;
  localparam int unsigned VirtioPciCommonCfgDriverFeatureSelectOffset = 8;
  localparam int unsigned VirtioPciCommonCfgDriverFeatureOffset = 12;
  localparam int unsigned VirtioPciCommonCfgConfigMsixVectorOffset = 16;
  localparam int unsigned VirtioPciCommonCfgNumQueuesOffset = 18;
  localparam int unsigned VirtioPciCommonCfgDeviceStatusOffset = 20;
  localparam int unsigned VirtioPciCommonCfgConfigGenerationOffset = 21;
  localparam int unsigned VirtioPciCommonCfgQueueSelectOffset = 22;
  localparam int unsigned VirtioPciCommonCfgQueueSizeOffset = 24;
  localparam int unsigned VirtioPciCommonCfgQueueMsixVectorOffset = 26;
  localparam int unsigned VirtioPciCommonCfgQueueEnableOffset = 28;
  localparam int unsigned VirtioPciCommonCfgQueueNotifyOffOffset = 30;
  localparam int unsigned VirtioPciCommonCfgQueueDescOffset = 32;
  localparam int unsigned VirtioPciCommonCfgQueueDriverOffset = 40;
  localparam int unsigned VirtioPciCommonCfgQueueDeviceOffset = 48;
  localparam int unsigned VirtioPciCommonCfgQueueNotifConfigDataOffset = 56;
  localparam int unsigned VirtioPciCommonCfgQueueResetOffset = 58;
  localparam int unsigned VirtioPciCommonCfgAdminQueueIndexOffset = 60;
  localparam int unsigned VirtioPciCommonCfgAdminQueueNumOffset = 62;
  typedef struct packed {
    logic [15:0] admin_queue_num;
    logic [15:0] admin_queue_index;
    logic [15:0] queue_reset;
    logic [15:0] queue_notif_config_data;
    logic [63:0] queue_device;
    logic [63:0] queue_driver;
    logic [63:0] queue_desc;
    logic [15:0] queue_notify_off;
    logic [15:0] queue_enable;
    logic [15:0] queue_msix_vector;
    logic [15:0] queue_size;
    logic [15:0] queue_select;
    logic [7:0] config_generation;
    logic [7:0] device_status;
    logic [15:0] num_queues;
    logic [15:0] config_msix_vector;
    logic [31:0] driver_feature;
    logic [31:0] driver_feature_select;
    logic [31:0] device_feature;
    logic [31:0] device_feature_select;
  } virtio_pci_common_cfg_t;
  function automatic virtio_pci_common_cfg_t unpack_virtio_pci_common_cfg(input logic [511:0] bytes);
    return virtio_pci_common_cfg_t'(bytes);
  endfunction
  function automatic logic [511:0] pack_virtio_pci_common_cfg(input virtio_pci_common_cfg_t fields);
    return fields;
  endfunction

  // Descriptor of a split ring, also in its indirect tables: one contiguous part of a buffer. [virtio 1.3, 2.7.5; linux/virtio_ring.h (vring_desc)] (virtio.toml)
  localparam int unsigned VirtqDescBytes = 16;
  localparam int unsigned VirtqDescAddrOffset = 0;
  localparam int unsigned VirtqDescLenOffset = 8;
  localparam int unsigned VirtqDescFlagsOffset = 12;
  localparam int unsigned VirtqDescNextOffset = 14;
  typedef struct packed {
    logic [15:0] next;
    logic [15:0] flags;
    logic [31:0] len;
    logic [63:0] addr;
  } virtq_desc_t;
  function automatic virtq_desc_t unpack_virtq_desc(input logic [127:0] bytes);
    return virtq_desc_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_virtq_desc(input virtq_desc_t fields);
    return fields;
  endfunction

  // Available ring, written by the driver: heads of descriptor chains, one per queue entry, then virtq_used_event. [virtio 1.3, 2.7.6; linux/virtio_ring.h (vring_avail)] (virtio.toml)
  localparam int unsigned VirtqAvailBytes = 4;
  localparam int unsigned VirtqAvailRingEntryBytes = 2;
  localparam int unsigned VirtqAvailFlagsOffset = 0;
  localparam int unsigned VirtqAvailIdxOffset = 2;
  typedef struct packed {
    logic [15:0] idx;
    logic [15:0] flags;
  } virtq_avail_t;
  function automatic virtq_avail_t unpack_virtq_avail(input logic [31:0] bytes);
    return virtq_avail_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_virtq_avail(input virtq_avail_t fields);
    return fields;
  endfunction

  // After an available ring, at 4 + 2 * size. Always present; used if ring_event_idx was accepted. [virtio 1.3, 2.7.6 and 2.7.7; linux/virtio_ring.h (vring_used_event)] (virtio.toml)
  localparam int unsigned VirtqUsedEventBytes = 2;
  localparam int unsigned VirtqUsedEventUsedEventOffset = 0;
  typedef struct packed {
    logic [15:0] used_event;
  } virtq_used_event_t;
  function automatic virtq_used_event_t unpack_virtq_used_event(input logic [15:0] bytes);
    return virtq_used_event_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_virtq_used_event(input virtq_used_event_t fields);
    return fields;
  endfunction

  // Entry of a used ring: a used buffer. [virtio 1.3, 2.7.8; linux/virtio_ring.h (vring_used_elem)] (virtio.toml)
  localparam int unsigned VirtqUsedElemBytes = 8;
  localparam int unsigned VirtqUsedElemIdOffset = 0;
  localparam int unsigned VirtqUsedElemLenOffset = 4;
  typedef struct packed {
    logic [31:0] len;
    logic [31:0] id;
  } virtq_used_elem_t;
  function automatic virtq_used_elem_t unpack_virtq_used_elem(input logic [63:0] bytes);
    return virtq_used_elem_t'(bytes);
  endfunction
  function automatic logic [63:0] pack_virtq_used_elem(input virtq_used_elem_t fields);
    return fields;
  endfunction

  // Used ring, written by the device: used buffers, one entry per queue entry, then virtq_avail_event. [virtio 1.3, 2.7.8; linux/virtio_ring.h (vring_used)] (virtio.toml)
  localparam int unsigned VirtqUsedBytes = 4;
  localparam int unsigned VirtqUsedFlagsOffset = 0;
  localparam int unsigned VirtqUsedIdxOffset = 2;
  typedef struct packed {
    logic [15:0] idx;
    logic [15:0] flags;
  } virtq_used_t;
  function automatic virtq_used_t unpack_virtq_used(input logic [31:0] bytes);
    return virtq_used_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_virtq_used(input virtq_used_t fields);
    return fields;
  endfunction

  // After a used ring, at 4 + 8 * size. Always present; used if ring_event_idx was accepted. [virtio 1.3, 2.7.8 and 2.7.10; linux/virtio_ring.h (vring_avail_event)] (virtio.toml)
  localparam int unsigned VirtqAvailEventBytes = 2;
  localparam int unsigned VirtqAvailEventAvailEventOffset = 0;
  typedef struct packed {
    logic [15:0] avail_event;
  } virtq_avail_event_t;
  function automatic virtq_avail_event_t unpack_virtq_avail_event(input logic [15:0] bytes);
    return virtq_avail_event_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_virtq_avail_event(input virtq_avail_event_t fields);
    return fields;
  endfunction

  // Descriptor of a packed ring, read and overwritten in place. In an indirect table only addr, len and flag write count. [virtio 1.3, 2.8.13; linux/virtio_ring.h (vring_packed_desc)] (virtio.toml)
  localparam int unsigned PvirtqDescBytes = 16;
  localparam int unsigned PvirtqDescAddrOffset = 0;
  localparam int unsigned PvirtqDescLenOffset = 8;
  localparam int unsigned PvirtqDescIdOffset = 12;
  localparam int unsigned PvirtqDescFlagsOffset = 14;
  typedef struct packed {
    logic [15:0] flags;
    logic [15:0] id;
    logic [31:0] len;
    logic [63:0] addr;
  } pvirtq_desc_t;
  function automatic pvirtq_desc_t unpack_pvirtq_desc(input logic [127:0] bytes);
    return pvirtq_desc_t'(bytes);
  endfunction
  function automatic logic [127:0] pack_pvirtq_desc(input pvirtq_desc_t fields);
    return fields;
  endfunction

  // Event suppression: the driver area controls interrupts and is read by the device, the device area controls doorbells. [virtio 1.3, 2.8.14; linux/virtio_ring.h (vring_packed_desc_event)] (virtio.toml)
  localparam int unsigned PvirtqEventSuppressBytes = 4;
  typedef struct packed {
    logic [13:0] reserved;
    logic [1:0] desc_event_flags;  // ring_event_flags_e
    logic desc_event_wrap;
    logic [14:0] desc_event_off;
  } pvirtq_event_suppress_t;
  function automatic pvirtq_event_suppress_t unpack_pvirtq_event_suppress(input logic [31:0] bytes);
    return pvirtq_event_suppress_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_pvirtq_event_suppress(input pvirtq_event_suppress_t fields);
    return fields;
  endfunction

  // Doorbell without notification_data: a 2-byte write. [virtio 1.3, 2.9 and 4.1.5.2] (virtio.toml)
  localparam int unsigned VirtqNotificationBytes = 2;
  localparam int unsigned VirtqNotificationVqIndexOffset = 0;
  typedef struct packed {
    logic [15:0] vq_index;
  } virtq_notification_t;
  function automatic virtq_notification_t unpack_virtq_notification(input logic [15:0] bytes);
    return virtq_notification_t'(bytes);
  endfunction
  function automatic logic [15:0] pack_virtq_notification(input virtq_notification_t fields);
    return fields;
  endfunction

  // Doorbell of a split queue with notification_data: a 4-byte write. [virtio 1.3, 2.9 and 4.1.5.2] (virtio.toml)
  localparam int unsigned VirtqNotificationDataBytes = 4;
  localparam int unsigned VirtqNotificationDataVqIndexOffset = 0;
  localparam int unsigned VirtqNotificationDataNextIdxOffset = 2;
  typedef struct packed {
    logic [15:0] next_idx;
    logic [15:0] vq_index;
  } virtq_notification_data_t;
  function automatic virtq_notification_data_t unpack_virtq_notification_data(input logic [31:0] bytes);
    return virtq_notification_data_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_virtq_notification_data(input virtq_notification_data_t fields);
    return fields;
  endfunction

  // Doorbell of a packed queue with notification_data: a 4-byte write. [virtio 1.3, 2.9 and 4.1.5.2] (virtio.toml)
  localparam int unsigned PvirtqNotificationDataBytes = 4;
  localparam int unsigned PvirtqNotificationDataVqIndexOffset = 0;
  typedef struct packed {
    logic next_wrap;
    logic [14:0] next_off;
    logic [15:0] vq_index;
  } pvirtq_notification_data_t;
  function automatic pvirtq_notification_data_t unpack_pvirtq_notification_data(input logic [31:0] bytes);
    return pvirtq_notification_data_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_pvirtq_notification_data(input pvirtq_notification_data_t fields);
    return fields;
  endfunction

  // Ethernet II header. The frame check sequence belongs to the MAC and is not visible here. [IEEE 802.3, 3.2] (wire.toml)
  localparam int unsigned EthernetBytes = 14;
  localparam int unsigned EthernetDestinationOffset = 0;
  localparam int unsigned EthernetSourceOffset = 6;
  localparam int unsigned EthernetEthertypeOffset = 12;
  typedef struct packed {
    logic [47:0] destination;
    logic [47:0] source;
    logic [15:0] ethertype;  // ethertype_e
  } ethernet_t;
  function automatic ethernet_t unpack_ethernet(input logic [111:0] bytes);
    return ethernet_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8], bytes[64 +: 8], bytes[72 +: 8], bytes[80 +: 8], bytes[88 +: 8],
            bytes[96 +: 8], bytes[104 +: 8]});
  endfunction
  function automatic logic [111:0] pack_ethernet(input ethernet_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8], fields[64 +: 8], fields[72 +: 8], fields[80 +: 8], fields[88 +: 8],
            fields[96 +: 8], fields[104 +: 8]};
  endfunction

  // 802.1Q tag; follows an `ethernet` header whose ethertype is `vlan`. [IEEE 802.1Q, 9.6] (wire.toml)
  localparam int unsigned VlanTagBytes = 4;
  localparam int unsigned VlanTagEthertypeOffset = 2;
  typedef struct packed {
    logic [2:0] pcp;
    logic dei;
    logic [11:0] vid;
    logic [15:0] ethertype;  // ethertype_e
  } vlan_tag_t;
  function automatic vlan_tag_t unpack_vlan_tag(input logic [31:0] bytes);
    return vlan_tag_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8]});
  endfunction
  function automatic logic [31:0] pack_vlan_tag(input vlan_tag_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8]};
  endfunction

  // IPv4 header without options (RoCEv2 packets carry none: ihl = 5). [RFC 791, 3.1; which fields the ICRC masks: IBTA A17.3.3] (wire.toml)
  localparam int unsigned Ipv4Bytes = 20;
  localparam int unsigned Ipv4TotalLengthOffset = 2;
  localparam int unsigned Ipv4IdentificationOffset = 4;
  localparam int unsigned Ipv4TimeToLiveOffset = 8;
  localparam int unsigned Ipv4ProtocolOffset = 9;
  localparam int unsigned Ipv4HeaderChecksumOffset = 10;
  localparam int unsigned Ipv4SourceOffset = 12;
  localparam int unsigned Ipv4DestinationOffset = 16;
  typedef struct packed {
    logic [3:0] version;
    logic [3:0] ihl;
    logic [5:0] dscp;
    logic [1:0] ecn;  // ip_ecn_e
    logic [15:0] total_length;
    logic [15:0] identification;
    logic reserved;
    logic dont_fragment;
    logic more_fragments;
    logic [12:0] fragment_offset;
    logic [7:0] time_to_live;
    logic [7:0] protocol;  // ip_protocol_e
    logic [15:0] header_checksum;
    logic [31:0] source;
    logic [31:0] destination;
  } ipv4_t;
  function automatic ipv4_t unpack_ipv4(input logic [159:0] bytes);
    return ipv4_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8], bytes[64 +: 8], bytes[72 +: 8], bytes[80 +: 8], bytes[88 +: 8],
            bytes[96 +: 8], bytes[104 +: 8], bytes[112 +: 8], bytes[120 +: 8], bytes[128 +: 8], bytes[136 +: 8],
            bytes[144 +: 8], bytes[152 +: 8]});
  endfunction
  function automatic logic [159:0] pack_ipv4(input ipv4_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8], fields[64 +: 8], fields[72 +: 8], fields[80 +: 8], fields[88 +: 8],
            fields[96 +: 8], fields[104 +: 8], fields[112 +: 8], fields[120 +: 8], fields[128 +: 8], fields[136 +: 8],
            fields[144 +: 8], fields[152 +: 8]};
  endfunction
  // Bits that the ICRC calculation replaces with ones.
  localparam ipv4_t Ipv4IcrcOnes = '{version: 4'h0, ihl: 4'h0, dscp: 6'h3f, ecn: 2'h3, total_length: 16'h0, identification: 16'h0, reserved: 1'h0, dont_fragment: 1'h0, more_fragments: 1'h0, fragment_offset: 13'h0, time_to_live: 8'hff, protocol: 8'h0, header_checksum: 16'hffff, source: 32'h0, destination: 32'h0};

  // IPv6 header; extension headers are never RoCEv2. [RFC 8200, 3; which fields the ICRC masks: IBTA A17.3.3] (wire.toml)
  localparam int unsigned Ipv6Bytes = 40;
  localparam int unsigned Ipv6PayloadLengthOffset = 4;
  localparam int unsigned Ipv6NextHeaderOffset = 6;
  localparam int unsigned Ipv6HopLimitOffset = 7;
  localparam int unsigned Ipv6SourceOffset = 8;
  localparam int unsigned Ipv6DestinationOffset = 24;
  typedef struct packed {
    logic [3:0] version;
    logic [5:0] dscp;
    logic [1:0] ecn;  // ip_ecn_e
    logic [19:0] flow_label;
    logic [15:0] payload_length;
    logic [7:0] next_header;  // ip_protocol_e
    logic [7:0] hop_limit;
    logic [127:0] source;
    logic [127:0] destination;
  } ipv6_t;
  function automatic ipv6_t unpack_ipv6(input logic [319:0] bytes);
    return ipv6_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8], bytes[64 +: 8], bytes[72 +: 8], bytes[80 +: 8], bytes[88 +: 8],
            bytes[96 +: 8], bytes[104 +: 8], bytes[112 +: 8], bytes[120 +: 8], bytes[128 +: 8], bytes[136 +: 8],
            bytes[144 +: 8], bytes[152 +: 8], bytes[160 +: 8], bytes[168 +: 8], bytes[176 +: 8], bytes[184 +: 8],
            bytes[192 +: 8], bytes[200 +: 8], bytes[208 +: 8], bytes[216 +: 8], bytes[224 +: 8], bytes[232 +: 8],
            bytes[240 +: 8], bytes[248 +: 8], bytes[256 +: 8], bytes[264 +: 8], bytes[272 +: 8], bytes[280 +: 8],
            bytes[288 +: 8], bytes[296 +: 8], bytes[304 +: 8], bytes[312 +: 8]});
  endfunction
  function automatic logic [319:0] pack_ipv6(input ipv6_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8], fields[64 +: 8], fields[72 +: 8], fields[80 +: 8], fields[88 +: 8],
            fields[96 +: 8], fields[104 +: 8], fields[112 +: 8], fields[120 +: 8], fields[128 +: 8], fields[136 +: 8],
            fields[144 +: 8], fields[152 +: 8], fields[160 +: 8], fields[168 +: 8], fields[176 +: 8], fields[184 +: 8],
            fields[192 +: 8], fields[200 +: 8], fields[208 +: 8], fields[216 +: 8], fields[224 +: 8], fields[232 +: 8],
            fields[240 +: 8], fields[248 +: 8], fields[256 +: 8], fields[264 +: 8], fields[272 +: 8], fields[280 +: 8],
            fields[288 +: 8], fields[296 +: 8], fields[304 +: 8], fields[312 +: 8]};
  endfunction
  // Bits that the ICRC calculation replaces with ones.
  localparam ipv6_t Ipv6IcrcOnes = '{version: 4'h0, dscp: 6'h3f, ecn: 2'h3, flow_label: 20'hfffff, payload_length: 16'h0, next_header: 8'h0, hop_limit: 8'hff, source: 128'h0, destination: 128'h0};

  // UDP header. [RFC 768; IBTA A17.4.3] (wire.toml)
  localparam int unsigned UdpBytes = 8;
  localparam int unsigned UdpSourcePortOffset = 0;
  localparam int unsigned UdpDestinationPortOffset = 2;
  localparam int unsigned UdpLengthOffset = 4;
  localparam int unsigned UdpChecksumOffset = 6;
  typedef struct packed {
    logic [15:0] source_port;
    logic [15:0] destination_port;
    logic [15:0] length;
    logic [15:0] checksum;
  } udp_t;
  function automatic udp_t unpack_udp(input logic [63:0] bytes);
    return udp_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8]});
  endfunction
  function automatic logic [63:0] pack_udp(input udp_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8]};
  endfunction
  // Bits that the ICRC calculation replaces with ones.
  localparam udp_t UdpIcrcOnes = '{source_port: 16'h0, destination_port: 16'h0, length: 16'h0, checksum: 16'hffff};

  // Global Route Header in a UD receive: the first 40 bytes of its buffer. For IPv4 the last 20 of them hold the IPv4 header and the first 20 are undefined. [IBTA vol. 1, 8.3; A17.4.5.1] (wire.toml)
  localparam int unsigned GrhBytes = 40;
  localparam int unsigned GrhPayloadLengthOffset = 4;
  localparam int unsigned GrhNextHeaderOffset = 6;
  localparam int unsigned GrhHopLimitOffset = 7;
  localparam int unsigned GrhSgidOffset = 8;
  localparam int unsigned GrhDgidOffset = 24;
  typedef struct packed {
    logic [3:0] ip_version;
    logic [7:0] traffic_class;
    logic [19:0] flow_label;
    logic [15:0] payload_length;
    logic [7:0] next_header;
    logic [7:0] hop_limit;
    logic [127:0] sgid;
    logic [127:0] dgid;
  } grh_t;
  function automatic grh_t unpack_grh(input logic [319:0] bytes);
    return grh_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8], bytes[64 +: 8], bytes[72 +: 8], bytes[80 +: 8], bytes[88 +: 8],
            bytes[96 +: 8], bytes[104 +: 8], bytes[112 +: 8], bytes[120 +: 8], bytes[128 +: 8], bytes[136 +: 8],
            bytes[144 +: 8], bytes[152 +: 8], bytes[160 +: 8], bytes[168 +: 8], bytes[176 +: 8], bytes[184 +: 8],
            bytes[192 +: 8], bytes[200 +: 8], bytes[208 +: 8], bytes[216 +: 8], bytes[224 +: 8], bytes[232 +: 8],
            bytes[240 +: 8], bytes[248 +: 8], bytes[256 +: 8], bytes[264 +: 8], bytes[272 +: 8], bytes[280 +: 8],
            bytes[288 +: 8], bytes[296 +: 8], bytes[304 +: 8], bytes[312 +: 8]});
  endfunction
  function automatic logic [319:0] pack_grh(input grh_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8], fields[64 +: 8], fields[72 +: 8], fields[80 +: 8], fields[88 +: 8],
            fields[96 +: 8], fields[104 +: 8], fields[112 +: 8], fields[120 +: 8], fields[128 +: 8], fields[136 +: 8],
            fields[144 +: 8], fields[152 +: 8], fields[160 +: 8], fields[168 +: 8], fields[176 +: 8], fields[184 +: 8],
            fields[192 +: 8], fields[200 +: 8], fields[208 +: 8], fields[216 +: 8], fields[224 +: 8], fields[232 +: 8],
            fields[240 +: 8], fields[248 +: 8], fields[256 +: 8], fields[264 +: 8], fields[272 +: 8], fields[280 +: 8],
            fields[288 +: 8], fields[296 +: 8], fields[304 +: 8], fields[312 +: 8]};
  endfunction

  // Base Transport Header: first header after UDP in every RoCEv2 packet. [IBTA vol. 1, 9.2; FECN and BECN: A17.9] (wire.toml)
  localparam int unsigned BthBytes = 12;
  localparam int unsigned BthOpcodeOffset = 0;
  localparam int unsigned BthPkeyOffset = 2;
  localparam int unsigned BthDestQpOffset = 5;
  localparam int unsigned BthPsnOffset = 9;
  typedef struct packed {
    logic [7:0] opcode;  // bth_opcode_e
    logic solicited_event;
    logic mig_req;
    logic [1:0] pad_count;
    logic [3:0] transport_version;
    logic [15:0] pkey;
    logic fecn;
    logic becn;
    logic [5:0] reserved;
    logic [23:0] dest_qp;
    logic ack_req;
    logic [6:0] reserved1;
    logic [23:0] psn;
  } bth_t;
  function automatic bth_t unpack_bth(input logic [95:0] bytes);
    return bth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8], bytes[64 +: 8], bytes[72 +: 8], bytes[80 +: 8], bytes[88 +: 8]});
  endfunction
  function automatic logic [95:0] pack_bth(input bth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8], fields[64 +: 8], fields[72 +: 8], fields[80 +: 8], fields[88 +: 8]};
  endfunction
  // Bits that the ICRC calculation replaces with ones.
  localparam bth_t BthIcrcOnes = '{opcode: 8'h0, solicited_event: 1'h0, mig_req: 1'h0, pad_count: 2'h0, transport_version: 4'h0, pkey: 16'h0, fecn: 1'h1, becn: 1'h1, reserved: 6'h3f, dest_qp: 24'h0, ack_req: 1'h0, reserved1: 7'h0, psn: 24'h0};

  // RDMA Extended Transport Header. [IBTA vol. 1, 9.3.3] (wire.toml)
  localparam int unsigned RethBytes = 16;
  localparam int unsigned RethVirtualAddressOffset = 0;
  localparam int unsigned RethRkeyOffset = 8;
  localparam int unsigned RethDmaLengthOffset = 12;
  typedef struct packed {
    logic [63:0] virtual_address;
    logic [31:0] rkey;
    logic [31:0] dma_length;
  } reth_t;
  function automatic reth_t unpack_reth(input logic [127:0] bytes);
    return reth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8], bytes[64 +: 8], bytes[72 +: 8], bytes[80 +: 8], bytes[88 +: 8],
            bytes[96 +: 8], bytes[104 +: 8], bytes[112 +: 8], bytes[120 +: 8]});
  endfunction
  function automatic logic [127:0] pack_reth(input reth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8], fields[64 +: 8], fields[72 +: 8], fields[80 +: 8], fields[88 +: 8],
            fields[96 +: 8], fields[104 +: 8], fields[112 +: 8], fields[120 +: 8]};
  endfunction

  // ACK Extended Transport Header. [IBTA vol. 1, 9.3.5] (wire.toml)
  localparam int unsigned AethBytes = 4;
  localparam int unsigned AethMsnOffset = 1;
  typedef struct packed {
    logic reserved;
    logic [1:0] kind;  // aeth_kind_e
    logic [4:0] value;
    logic [23:0] msn;
  } aeth_t;
  function automatic aeth_t unpack_aeth(input logic [31:0] bytes);
    return aeth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8]});
  endfunction
  function automatic logic [31:0] pack_aeth(input aeth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8]};
  endfunction

  // Datagram Extended Transport Header. [IBTA vol. 1, 9.3.2] (wire.toml)
  localparam int unsigned DethBytes = 8;
  localparam int unsigned DethQkeyOffset = 0;
  localparam int unsigned DethSourceQpOffset = 5;
  typedef struct packed {
    logic [31:0] qkey;
    logic [7:0] reserved;
    logic [23:0] source_qp;
  } deth_t;
  function automatic deth_t unpack_deth(input logic [63:0] bytes);
    return deth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8]});
  endfunction
  function automatic logic [63:0] pack_deth(input deth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8]};
  endfunction

  // Immediate data: four opaque bytes, delivered in the receiver's completion in wire order. [IBTA vol. 1, 9.3.6] (wire.toml)
  localparam int unsigned ImmdtBytes = 4;
  localparam int unsigned ImmdtImmediateDataOffset = 0;
  typedef struct packed {
    logic [31:0] immediate_data;
  } immdt_t;
  function automatic immdt_t unpack_immdt(input logic [31:0] bytes);
    return immdt_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8]});
  endfunction
  function automatic logic [31:0] pack_immdt(input immdt_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8]};
  endfunction

  // Invalidate Extended Transport Header. [IBTA vol. 1, 9.3.7] (wire.toml)
  localparam int unsigned IethBytes = 4;
  localparam int unsigned IethRkeyOffset = 0;
  typedef struct packed {
    logic [31:0] rkey;
  } ieth_t;
  function automatic ieth_t unpack_ieth(input logic [31:0] bytes);
    return ieth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8]});
  endfunction
  function automatic logic [31:0] pack_ieth(input ieth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8]};
  endfunction

  // Atomic Extended Transport Header. [IBTA vol. 1, 9.3.4] (wire.toml)
  localparam int unsigned AtomicEthBytes = 28;
  localparam int unsigned AtomicEthVirtualAddressOffset = 0;
  localparam int unsigned AtomicEthRkeyOffset = 8;
  localparam int unsigned AtomicEthSwapAddDataOffset = 12;
  localparam int unsigned AtomicEthCompareDataOffset = 20;
  typedef struct packed {
    logic [63:0] virtual_address;
    logic [31:0] rkey;
    logic [63:0] swap_add_data;
    logic [63:0] compare_data;
  } atomic_eth_t;
  function automatic atomic_eth_t unpack_atomic_eth(input logic [223:0] bytes);
    return atomic_eth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8], bytes[64 +: 8], bytes[72 +: 8], bytes[80 +: 8], bytes[88 +: 8],
            bytes[96 +: 8], bytes[104 +: 8], bytes[112 +: 8], bytes[120 +: 8], bytes[128 +: 8], bytes[136 +: 8],
            bytes[144 +: 8], bytes[152 +: 8], bytes[160 +: 8], bytes[168 +: 8], bytes[176 +: 8], bytes[184 +: 8],
            bytes[192 +: 8], bytes[200 +: 8], bytes[208 +: 8], bytes[216 +: 8]});
  endfunction
  function automatic logic [223:0] pack_atomic_eth(input atomic_eth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8], fields[64 +: 8], fields[72 +: 8], fields[80 +: 8], fields[88 +: 8],
            fields[96 +: 8], fields[104 +: 8], fields[112 +: 8], fields[120 +: 8], fields[128 +: 8], fields[136 +: 8],
            fields[144 +: 8], fields[152 +: 8], fields[160 +: 8], fields[168 +: 8], fields[176 +: 8], fields[184 +: 8],
            fields[192 +: 8], fields[200 +: 8], fields[208 +: 8], fields[216 +: 8]};
  endfunction

  // Atomic Acknowledge Extended Transport Header. [IBTA vol. 1, 9.3.5.3] (wire.toml)
  localparam int unsigned AtomicAckEthBytes = 8;
  localparam int unsigned AtomicAckEthOriginalDataOffset = 0;
  typedef struct packed {
    logic [63:0] original_data;
  } atomic_ack_eth_t;
  function automatic atomic_ack_eth_t unpack_atomic_ack_eth(input logic [63:0] bytes);
    return atomic_ack_eth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8], bytes[32 +: 8], bytes[40 +: 8],
            bytes[48 +: 8], bytes[56 +: 8]});
  endfunction
  function automatic logic [63:0] pack_atomic_ack_eth(input atomic_ack_eth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8], fields[32 +: 8], fields[40 +: 8],
            fields[48 +: 8], fields[56 +: 8]};
  endfunction

  // FLUSH Extended Transport Header. [IBTA vol. 1 (1.6), A19.4.1] (wire.toml)
  localparam int unsigned FethBytes = 4;
  typedef struct packed {
    logic [23:0] reserved;
    logic [1:0] reserved1;
    logic [1:0] selectivity;  // flush_selectivity_e
    logic [3:0] placement;
  } feth_t;
  function automatic feth_t unpack_feth(input logic [31:0] bytes);
    return feth_t'({bytes[0 +: 8], bytes[8 +: 8], bytes[16 +: 8], bytes[24 +: 8]});
  endfunction
  function automatic logic [31:0] pack_feth(input feth_t fields);
    return {fields[0 +: 8], fields[8 +: 8], fields[16 +: 8], fields[24 +: 8]};
  endfunction

  // Version of this register block; firmware refuses another major number (csr.toml)
  localparam int unsigned MgmtVersionBytes = 4;
  localparam int unsigned MgmtVersionMinorOffset = 0;
  localparam int unsigned MgmtVersionMajorOffset = 2;
  typedef struct packed {
    logic [15:0] major;
    logic [15:0] minor;
  } mgmt_version_t;
  function automatic mgmt_version_t unpack_mgmt_version(input logic [31:0] bytes);
    return mgmt_version_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_version(input mgmt_version_t fields);
    return fields;
  endfunction

  // ABI profile towards the host; may change only while the virtio device is reset (csr.toml)
  localparam int unsigned MgmtAbiProfileBytes = 4;
  typedef struct packed {
    logic [30:0] reserved;
    logic profile;
  } mgmt_abi_profile_t;
  function automatic mgmt_abi_profile_t unpack_mgmt_abi_profile(input logic [31:0] bytes);
    return mgmt_abi_profile_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_abi_profile(input mgmt_abi_profile_t fields);
    return fields;
  endfunction

  // Switches that firmware sets (csr.toml)
  localparam int unsigned MgmtControlBytes = 4;
  typedef struct packed {
    logic [26:0] reserved;
    logic pause;
    logic announce;
    logic link_up;
    logic datapath_enable;
    logic firmware_ready;
  } mgmt_control_t;
  function automatic mgmt_control_t unpack_mgmt_control(input logic [31:0] bytes);
    return mgmt_control_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_control(input mgmt_control_t fields);
    return fields;
  endfunction

  // State of the datapath (csr.toml)
  localparam int unsigned MgmtStatusBytes = 4;
  localparam int unsigned MgmtStatusDeviceStatusOffset = 1;
  localparam int unsigned MgmtStatusDmaOutstandingOffset = 2;
  typedef struct packed {
    logic [15:0] dma_outstanding;
    logic [7:0] device_status;
    logic [3:0] reserved;
    logic event_full;
    logic quiet;
    logic mac_link;
    logic idle;
  } mgmt_status_t;
  function automatic mgmt_status_t unpack_mgmt_status(input logic [31:0] bytes);
    return mgmt_status_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_status(input mgmt_status_t fields);
    return fields;
  endfunction

  // Interrupt causes for firmware (csr.toml)
  localparam int unsigned MgmtInterruptCauseBytes = 4;
  typedef struct packed {
    logic [23:0] reserved;
    logic fatal;
    logic qp_done;
    logic link_change;
    logic queue_reset;
    logic driver_ok;
    logic features_written;
    logic device_reset;
    logic mailbox_request;
  } mgmt_interrupt_cause_t;
  function automatic mgmt_interrupt_cause_t unpack_mgmt_interrupt_cause(input logic [31:0] bytes);
    return mgmt_interrupt_cause_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_interrupt_cause(input mgmt_interrupt_cause_t fields);
    return fields;
  endfunction

  // The command at the head of the control queue (csr.toml)
  localparam int unsigned MgmtMailboxStatusBytes = 4;
  typedef struct packed {
    logic [28:0] reserved;
    logic dma_error;
    logic busy;
    logic request;
  } mgmt_mailbox_status_t;
  function automatic mgmt_mailbox_status_t unpack_mgmt_mailbox_status(input logic [31:0] bytes);
    return mgmt_mailbox_status_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_mailbox_status(input mgmt_mailbox_status_t fields);
    return fields;
  endfunction

  // A write starts the operation on table_index; busy until it is done, in order with the datapath's own accesses; of a memory region, until accesses that the old entry granted have ended (csr.toml)
  localparam int unsigned MgmtTableCommandBytes = 4;
  localparam int unsigned MgmtTableCommandTableIdOffset = 0;
  typedef struct packed {
    logic busy;
    logic error;
    logic [19:0] reserved;
    logic [1:0] operation;  // mgmt_table_operation_e
    logic [7:0] table_id;  // mgmt_table_e
  } mgmt_table_command_t;
  function automatic mgmt_table_command_t unpack_mgmt_table_command(input logic [31:0] bytes);
    return mgmt_table_command_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_table_command(input mgmt_table_command_t fields);
    return fields;
  endfunction

  // A write starts an operation on one QP; one at a time (csr.toml)
  localparam int unsigned MgmtQpCommandBytes = 4;
  localparam int unsigned MgmtQpCommandQpnOffset = 0;
  typedef struct packed {
    logic busy;
    logic [3:0] reserved;
    logic [2:0] operation;  // qp_operation_e
    logic [23:0] qpn;
  } mgmt_qp_command_t;
  function automatic mgmt_qp_command_t unpack_mgmt_qp_command(input logic [31:0] bytes);
    return mgmt_qp_command_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_qp_command(input mgmt_qp_command_t fields);
    return fields;
  endfunction

  // The entry for flip_bit (csr.toml)
  localparam int unsigned MgmtFlipEntryBytes = 4;
  localparam int unsigned MgmtFlipEntryIndexOffset = 0;
  localparam int unsigned MgmtFlipEntryRamOffset = 3;
  typedef struct packed {
    logic [7:0] ram;  // context_ram_e
    logic [23:0] index;
  } mgmt_flip_entry_t;
  function automatic mgmt_flip_entry_t unpack_mgmt_flip_entry(input logic [31:0] bytes);
    return mgmt_flip_entry_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_flip_entry(input mgmt_flip_entry_t fields);
    return fields;
  endfunction

  // Receive modes of the net path, as set by the RX control class (csr.toml)
  localparam int unsigned MgmtRxModeBytes = 4;
  typedef struct packed {
    logic [24:0] reserved;
    logic vlan_filter;
    logic no_broadcast;
    logic no_unicast;
    logic no_multicast;
    logic all_unicast;
    logic all_multicast;
    logic promiscuous;
  } mgmt_rx_mode_t;
  function automatic mgmt_rx_mode_t unpack_mgmt_rx_mode(input logic [31:0] bytes);
    return mgmt_rx_mode_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_mgmt_rx_mode(input mgmt_rx_mode_t fields);
    return fields;
  endfunction

  // Sends a byte to the console; stands still while the one before is being sent (processor.toml)
  localparam int unsigned ProcessorConsoleBytes = 4;
  localparam int unsigned ProcessorConsoleCharacterOffset = 0;
  typedef struct packed {
    logic [23:0] reserved;
    logic [7:0] character;
  } processor_console_t;
  function automatic processor_console_t unpack_processor_console(input logic [31:0] bytes);
    return processor_console_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_processor_console(input processor_console_t fields);
    return fields;
  endfunction

  // Why the processor stopped last, since its power came up (processor.toml)
  localparam int unsigned ProcessorLastFailureBytes = 4;
  localparam int unsigned ProcessorLastFailureCauseOffset = 0;
  typedef struct packed {
    logic [23:0] reserved;
    logic [7:0] cause;  // processor_failure_e
  } processor_last_failure_t;
  function automatic processor_last_failure_t unpack_processor_last_failure(input logic [31:0] bytes);
    return processor_last_failure_t'(bytes);
  endfunction
  function automatic logic [31:0] pack_processor_last_failure(input processor_last_failure_t fields);
    return fields;
  endfunction

  // A client's read: 1 to 4096 bytes at any address. The tag returns with the data. (tokens.toml)
  typedef struct packed {
    logic [63:0] address;
    logic [12:0] bytes;
    logic [7:0] tag;
  } dma_read_request_t;
  localparam int unsigned DmaReadRequestBits = 85;

  // Response to a small read. (tokens.toml)
  typedef struct packed {
    logic [7:0] tag;
    logic [1:0] resp;
    logic [511:0] data;
  } dma_fetched_t;
  localparam int unsigned DmaFetchedBits = 522;

  // A small write. (tokens.toml)
  typedef struct packed {
    logic [63:0] address;
    logic [6:0] bytes;
    logic notify;
    logic [7:0] tag;
    logic [511:0] data;
  } dma_store_t;
  localparam int unsigned DmaStoreBits = 592;

  // A client's write, sent with the first beat of its data: 1 to 4096 bytes at any address. (tokens.toml)
  typedef struct packed {
    logic [63:0] address;
    logic [12:0] bytes;
    logic notify;
    logic [7:0] tag;
  } dma_write_request_t;
  localparam int unsigned DmaWriteRequestBits = 86;

  // A write of this client has completed: it was requested with notify, or it failed. (tokens.toml)
  typedef struct packed {
    logic [7:0] tag;
    logic [1:0] resp;
  } dma_done_t;
  localparam int unsigned DmaDoneBits = 10;

  // Host access to a BAR: one per cycle, always accepted. Read data returns in order, after bar_read_latency. (tokens.toml)
  typedef struct packed {
    logic write;
    logic [2:0] bar_index;
    logic [31:0] offset;
    logic [3:0] bytes;
    logic [63:0] data;
  } bar_access_t;
  localparam int unsigned BarAccessBits = 104;

  // Firmware's write of a table entry, broadcast to all blocks in one cycle. An entry shorter than 128 bytes occupies the low ones. (tokens.toml)
  typedef struct packed {
    logic [7:0] table_id;  // mgmt_table_e
    logic [23:0] index;
    logic [1023:0] data;
  } table_write_t;
  localparam int unsigned TableWriteBits = 1056;

  // Request to flip one bit of a context memory, broadcast to all blocks in one cycle (mgmt.flip_bit). (tokens.toml)
  typedef struct packed {
    logic [7:0] ram;  // context_ram_e
    logic [23:0] index;
    logic [9:0] bit_index;
  } context_flip_t;
  localparam int unsigned ContextFlipBits = 42;

  // The host's configuration of a virtqueue, broadcast to all blocks when the queue is enabled and when it is reset (queue or device reset). (tokens.toml)
  typedef struct packed {
    logic [15:0] vq_index;
    logic enabled;
    logic [15:0] queue_size;
    logic [15:0] msix_vector;
    logic [63:0] queue_desc;
    logic [63:0] queue_driver;
    logic [63:0] queue_device;
  } queue_row_write_t;
  localparam int unsigned QueueRowWriteBits = 241;

  // New state of a QP, effective at once, broadcast to all blocks in one cycle. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [2:0] state;  // ib_qp_state_e
    logic clear;
  } qp_state_write_t;
  localparam int unsigned QpStateWriteBits = 28;

  // Firmware initializes one half of a QP: all its state is as after RESET, with this PSN. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [23:0] psn;
  } qp_load_t;
  localparam int unsigned QpLoadBits = 48;

  // A qp_command of firmware, passed to QP control. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [2:0] operation;  // qp_operation_e
  } qp_order_t;
  localparam int unsigned QpOrderBits = 27;

  // A pulse: a qp_order has completed, or a drain has finished. (tokens.toml)
  typedef struct packed {
    logic is_drain;
  } qp_done_t;
  localparam int unsigned QpDoneBits = 1;

  // A pulse: how many send work requests of a QP the send queue has started to fetch and are not complete. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [15:0] outstanding;
  } qp_sends_t;
  localparam int unsigned QpSendsBits = 40;

  // A pulse: a packet with ack_req leaves for the wire; a response to everything up to `psn` can be expected from now on. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [23:0] psn;
    logic [7:0] epoch;
  } qp_sent_t;
  localparam int unsigned QpSentBits = 56;

  // A pulse: position of one half of a QP: PSN of the requester's next new packet, or the responder's expected PSN. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [23:0] psn;
  } qp_psn_t;
  localparam int unsigned QpPsnBits = 48;

  // A block detected an error that moves a QP to ERR; or, with comm_est and qp_last_wqe_reached, an event that leaves its state as it is. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [15:0] event_type;  // rdma_event_type_e
    logic [31:0] code;
    logic send_only;
    logic reported;
  } qp_failure_t;
  localparam int unsigned QpFailureBits = 74;

  // A write of 8 bytes to a place of a send queue's notify page that takes a pushed work request: a pulse. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [3:0] place;
    logic [63:0] data;
  } push_write_t;
  localparam int unsigned PushWriteBits = 92;

  // Requests the next buffers of a virtqueue from descriptor fetch, or one descriptor by its index. In a packed ring an index is a position in the ring, with the wrap counter in bit 15; by_index ignores that bit. (tokens.toml)
  typedef struct packed {
    logic [2:0] client;  // buffer_client_e
    logic [15:0] vq_index;
    logic by_index;
    logic [15:0] index;
    logic [5:0] count;
    logic indirect;
    logic [63:0] table_address;
    logic [15:0] table_entries;
    logic pushed;
    logic [6:0] bytes;
  } buffer_request_t;
  localparam int unsigned BufferRequestBits = 131;

  // Response to a buffer_request: one token per buffer, in ring order, the last one marked; one token without a buffer if there is none. Fewer than requested means that the ring has no more. `head` identifies the buffer in the device. In a packed ring it is the position of the buffer's first descriptor, not its buffer id; the last descriptor of a chain returns the id and, as `next_index`, the position after it, and the client copies both into its completion. For a buffer in an indirect table the token holds the table's first descriptor; a client that follows chains requests the next one with `indirect` and the table. (tokens.toml)
  typedef struct packed {
    logic [1:0] status;  // buffer_status_e
    logic last;
    logic [15:0] vq_index;
    logic [15:0] head;
    logic [63:0] address;
    logic [31:0] bytes;
    logic writable;
    logic more;
    logic [15:0] next_index;
    logic has_id;
    logic [15:0] id;
    logic indirect;
    logic [63:0] table_address;
    logic [15:0] table_entries;
  } buffer_t;
  localparam int unsigned BufferBits = 247;

  // A pulse, with ring_event_idx in split rings: descriptor fetch has reported a ring as empty at this index. The driver must ring the doorbell when it adds to that; after avail_event is written the ring has to be polled once more. (tokens.toml)
  typedef struct packed {
    logic [15:0] vq_index;
    logic [15:0] idx;
  } avail_event_t;
  localparam int unsigned AvailEventBits = 32;

  // A virtqueue was stopped because it is broken; or a shared receive queue has reached its limit. (tokens.toml)
  typedef struct packed {
    logic [15:0] vq_index;
    logic [7:0] code;  // rdma_error_e
  } queue_failure_t;
  localparam int unsigned QueueFailureBits = 24;

  // A completed work request: its buffer is returned as used, then its CQE is written, if it has one. (tokens.toml)
  typedef struct packed {
    logic [15:0] vq_index;
    logic [15:0] head;
    logic [31:0] used_bytes;
    logic more;
    logic has_id;
    logic [15:0] id;
    logic [15:0] next_position;
    logic by_id;
    logic has_cqe;
    logic [15:0] cqn;
    logic solicited;
    logic [383:0] cqe;
  } completion_t;
  localparam int unsigned CompletionBits = 501;

  // Written to the host's event queue as an rdma_event; the writer fills its field `lost`. (tokens.toml)
  typedef struct packed {
    logic [15:0] event_type;  // rdma_event_type_e
    logic [31:0] element;
    logic [31:0] code;
  } host_event_t;
  localparam int unsigned HostEventBits = 80;

  // Interrupt request of a virtqueue, through its vector. Moderation may delay it to merge more of the same queue. (tokens.toml)
  typedef struct packed {
    logic [15:0] vq_index;
    logic [15:0] msix_vector;
  } queue_interrupt_t;
  localparam int unsigned QueueInterruptBits = 32;

  // Sends the message of an MSI-X vector, unless it is masked. (tokens.toml)
  typedef struct packed {
    logic [15:0] msix_vector;
  } interrupt_t;
  localparam int unsigned InterruptBits = 16;

  // Doorbell of a virtqueue. While one is pending, further doorbells of the same virtqueue merge into it. (tokens.toml)
  typedef struct packed {
    logic [15:0] vq_index;
  } doorbell_t;
  localparam int unsigned DoorbellBits = 16;

  // The driver armed a CQ (rdma_cq_arm). (tokens.toml)
  typedef struct packed {
    logic [15:0] cqn;
    logic [31:0] value;
  } cq_arm_t;
  localparam int unsigned CqArmBits = 48;

  // A send work request as read from memory: of an rdma_sq_req bytes 0 to 47 and 560 to 591, with the first element from 576 on, if there is one; of an extensible one, with less than 576 `bytes`, bytes 0 to 63. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [15:0] head;
    logic [7:0] failed;  // rdma_error_e
    logic [63:0] address;
    logic [31:0] bytes;
    logic [383:0] head_bytes;
    logic [255:0] tail_bytes;
    logic is_replay;
    logic resume;
    logic [7:0] epoch;
    logic [7:0] slot;
    logic [23:0] psn;
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic [15:0] packets;
    logic first_transmission;
    logic [7:0] number;
    logic [6:0] serial;
  } work_request_t;
  localparam int unsigned WorkRequestBits = 906;

  // A pulse: from now on the requester sends only replays of this QP. New work requests still get PSNs and records (`unsent`); the rest of a message in progress is skipped. A replay with `resume` and the same generation ends the hold. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [7:0] epoch;
  } qp_hold_t;
  localparam int unsigned QpHoldBits = 32;

  // The completer requests retransmission of a record's packets, or their first transmission if they were held back: the work request is read again. Replays of a QP are executed in order. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic resume;
    logic [7:0] epoch;
    logic [15:0] head;
    logic [7:0] slot;
    logic [23:0] psn;
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic [15:0] packets;
    logic first_transmission;
    logic [7:0] number;
    logic [6:0] serial;
  } replay_t;
  localparam int unsigned ReplayBits = 161;

  // Restarts or stops the one timer of a QP. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [1:0] kind;  // timer_kind_e
    logic [4:0] code;
    logic [7:0] epoch;
  } timer_set_t;
  localparam int unsigned TimerSetBits = 39;

  // A QP's timer has expired and is stopped. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [7:0] epoch;
  } timer_expired_t;
  localparam int unsigned TimerExpiredBits = 32;

  // Checks whether a key allows an access, and translates its address if it has at most 4096 bytes. (tokens.toml)
  typedef struct packed {
    logic [31:0] key;
    logic [15:0] pdn;
    logic local_write;
    logic remote_write;
    logic remote_read;
    logic remote_atomic;
    logic flush_global;
    logic flush_persistent;
    logic whole;
    logic [63:0] address;
    logic [31:0] bytes;
    logic invalidate;
    logic [23:0] qpn;
    logic binds;
    logic zero_based;
    logic [31:0] lkey;
    logic [31:0] bytes_high;
    logic maps;
    logic registers;
  } memory_check_t;
  localparam int unsigned MemoryCheckBits = 244;

  // A pulse: an entry of the mr table was written. What it is in the device, for firmware; is_bound, bound_to and bound_by are 0 of others than memory windows. (tokens.toml)
  typedef struct packed {
    logic [23:0] index;
    logic is_bound;
    logic [23:0] bound_to;
    logic [23:0] bound_by;
    logic is_alive;
    logic [7:0] device_key;
  } mr_binding_t;
  localparam int unsigned MrBindingBits = 82;

  // An access that memory_check allowed, from the check until it has ended: the last byte is read, the last write is answered, or the access is not made. (tokens.toml)
  typedef struct packed {
    logic valid;
    logic epoch;
  } memory_grant_t;
  localparam int unsigned MemoryGrantBits = 2;

  // Which granted accesses have not ended. Every access is of the current generation of its side. Another one begins when somebody waits for the current one, and the one before has ended: so there are two at most. (tokens.toml)
  typedef struct packed {
    logic [3:0] sent;
    logic sent_open;
    logic [3:0] received;
    logic received_open;
  } key_fence_t;
  localparam int unsigned KeyFenceBits = 10;

  // Result of a memory_check: at most two runs of bus addresses, because pages have 4096 bytes or more. Not ok, or a check of more than 4096 bytes: the other fields are 0. (tokens.toml)
  typedef struct packed {
    logic [2:0] status;  // memory_status_e
    logic [63:0] address0;
    logic [12:0] bytes0;
    logic [63:0] address1;
    logic [12:0] bytes1;
    memory_grant_t grant;
  } memory_place_t;
  localparam int unsigned MemoryPlaceBits = 159;

  // A packet to send, without its path; the path builder and the framer add the other headers. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [7:0] opcode;  // bth_opcode_e
    logic solicited_event;
    logic ack_req;
    logic [23:0] psn;
    logic [223:0] extension;
    logic [13:0] payload_bytes;
    logic has_ah;
    logic [15:0] ah;
    logic [23:0] dest_qpn;
    logic reports;
    logic is_response;
    logic [23:0] last_psn;
    logic [7:0] epoch;
    logic stale;
    logic has_inline;
    logic [255:0] inline_data;
  } tx_packet_t;
  localparam int unsigned TxPacketBits = 629;

  // A packet to send and the location of its payload: at most two runs of bus addresses per job, in one job or several. The runs total payload_bytes. (tokens.toml)
  typedef struct packed {
    tx_packet_t packet;
    logic [63:0] address0;
    logic [12:0] bytes0;
    logic [63:0] address1;
    logic [12:0] bytes1;
    logic more;
    logic drop;
    memory_grant_t grant;
  } tx_job_t;
  localparam int unsigned TxJobBits = 787;

  // A send work request whose packets start to leave, or that failed: kept until it completes, in order. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [7:0] opcode;  // ib_wc_opcode_e
    logic [7:0] status;  // ib_wc_status_e
    logic [31:0] vendor_err;
    logic signaled;
    logic [23:0] last_psn;
    logic [23:0] first_psn;
    logic replaces;
    logic is_replay;
    logic [7:0] slot;
    logic unsent;
    logic fence;
    logic [31:0] bytes;
    logic no_completion;
    logic [15:0] packets;
    logic [7:0] epoch;
    logic recovers;
    logic is_local;
  } send_record_t;
  localparam int unsigned SendRecordBits = 272;

  // A pulse: number of RDMA READs of a QP that have ended since the hardware reset, modulo 256. The block that starts them counts starts likewise, so the difference is the number outstanding; neither counter is ever reset. Sent by the completer (record retired, with any status) to the requester, and by the read responder (answered or dropped) to the responder. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [7:0] ended;
  } qp_reads_t;
  localparam int unsigned QpReadsBits = 32;

  // Destination of the responses of an RDMA READ of ours. Sent before its request leaves, also on retransmission, in PSN order; a duplicate changes nothing. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [7:0] number;
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic [31:0] bytes;
    logic [63:0] elements;
    logic [7:0] num_sge;
    logic [127:0] sge;
    logic is_atomic;
  } read_record_t;
  localparam int unsigned ReadRecordBits = 313;

  // Progress of our packets, for the completer: an acknowledge or a READ response that arrived, or UC and UD packets that have left (`syndrome` is then an acknowledge without credits) or cannot be sent. The data of a READ response is already on its way to memory. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [23:0] psn;
    logic [7:0] syndrome;
    logic [23:0] msn;
    logic is_read;
    logic [7:0] status;  // ib_wc_status_e
  } rx_ack_t;
  localparam int unsigned RxAckBits = 89;

  // Response to a request, in request order: a packet, or the responses of a READ. For a READ `packet` holds the QP, the PSN of the first response and, as AETH, syndrome and MSN of every response that has one; its other fields are 0. An atomic operation comes as a READ of 8 bytes whose `packet` has also the request's opcode and, behind the AETH, the rest of the AtomicETH from swap_add_data on; so does ATOMIC WRITE, with what is behind the key there: length and value; and FLUSH as a READ of 1 byte, with length and FETH there. A FLUSH of no bytes is a READ of none. (tokens.toml)
  typedef struct packed {
    logic is_read;
    tx_packet_t packet;
    logic [63:0] address;
    logic [31:0] rkey;
    logic [31:0] bytes;
    logic is_duplicate;
  } rx_answer_t;
  localparam int unsigned RxAnswerBits = 759;

  // Disposition of the oldest frame in the receive buffer: bytes of it go to host memory, and after them a completion, a response and an acknowledge may leave; or the frame is dropped. Several tokens may belong to one frame, and a token may belong to none. (tokens.toml)
  typedef struct packed {
    logic no_frame;
    logic more;
    logic copied;
    logic [13:0] net_bytes;
    logic zeros;
    logic has_value;
    logic [63:0] value;
    logic [12:0] offset;
    logic [63:0] address0;
    logic [12:0] bytes0;
    logic [63:0] address1;
    logic [12:0] bytes1;
    memory_grant_t grant;
    logic request;
    logic acknowledged;
    logic uses_receive;
    logic ends_message;
    logic fence;
    logic has_completion;
    completion_t completion;
    logic has_answer;
    rx_answer_t answer;
    logic has_ack;
    rx_ack_t ack;
  } rx_place_t;
  localparam int unsigned RxPlaceBits = 1609;

  // The responder requests the next receive work request of a receive queue, or an element of its current one. One is outstanding at a time. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic is_element;
    logic no_wait;
    logic [63:0] address;
    logic [7:0] elements;
    logic is_new;
  } receive_request_t;
  localparam int unsigned ReceiveRequestBits = 99;

  // After a receive_request that was answered `pending`: request once more. None follows if the queue had no receive when it was requested, or was cleared since. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
  } receive_retry_t;
  localparam int unsigned ReceiveRetryBits = 24;

  // A pulse to recv_queue: the doorbell of a receive queue rang. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
  } queue_rung_t;
  localparam int unsigned QueueRungBits = 24;

  // Response to a receive_request. Failed with a code: the work request or the element's read was bad, and head and wr_id are valid as far as known. Otherwise not ok: the other fields are 0. (tokens.toml)
  typedef struct packed {
    logic [1:0] status;  // buffer_status_e
    logic [7:0] code;  // rdma_error_e
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [63:0] elements;
    logic [7:0] num_sge;
    logic [127:0] sge;
  } receive_t;
  localparam int unsigned ReceiveBits = 290;

  // An atomic operation to execute, or whose result is wanted again. A QP has at most one of them without an atomic_result. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [23:0] psn;
    logic is_duplicate;
    logic is_swap;
    logic is_write;
    logic is_flush;
    logic [63:0] address;
    memory_grant_t grant;
    logic [63:0] swap_add;
    logic [63:0] compare;
  } atomic_request_t;
  localparam int unsigned AtomicRequestBits = 246;

  // The outcome of an atomic_request. If something was written, it is in memory. (tokens.toml)
  typedef struct packed {
    logic [23:0] qpn;
    logic [1:0] status;  // atomic_status_e
    logic [63:0] value;
  } atomic_result_t;
  localparam int unsigned AtomicResultBits = 90;

  // Classification of a received frame: a pulse, a fixed latency after its headers, and one for checksum_valid after its last beat. (tokens.toml)
  typedef struct packed {
    logic [47:0] destination_mac;
    logic vlan_present;
    logic [11:0] vlan_id;
    logic [15:0] flow_hash;
    logic checksum_valid;
  } net_class_t;
  localparam int unsigned NetClassBits = 78;

  // A received frame that passed the filter; frames are in the net store in the order of these tokens. (tokens.toml)
  typedef struct packed {
    logic [13:0] bytes;
    logic [7:0] pair_index;
  } net_frame_t;
  localparam int unsigned NetFrameBits = 22;

  // One row of the BTH opcode table. Offsets count from the first byte of the BTH. (opcodes.toml)
  typedef struct packed {
    logic valid;
    logic [3:0] operation;  // bth_operation_e
    logic [1:0] position;  // packet_position_e
    logic [3:0] response;  // bth_operation_e
    logic [2:0] payload;  // payload_rule_e
    logic [4:0] payload_exact;
    logic starts_message;
    logic ends_message;
    logic may_pad;
    logic is_response;
    logic consumes_recv;
    logic completes_recv;
    logic may_solicit;
    logic [5:0] extension_bytes;
    logic has_immdt;
    logic [5:0] immdt_offset;
    logic has_reth;
    logic [5:0] reth_offset;
    logic has_aeth;
    logic [5:0] aeth_offset;
    logic has_atomic_ack_eth;
    logic [5:0] atomic_ack_eth_offset;
    logic has_atomic_eth;
    logic [5:0] atomic_eth_offset;
    logic has_ieth;
    logic [5:0] ieth_offset;
    logic has_feth;
    logic [5:0] feth_offset;
    logic has_deth;
    logic [5:0] deth_offset;
  } opcode_info_t;

  // The row of an opcode; all zero if the opcode is not supported.
  function automatic opcode_info_t opcode_info(input logic [7:0] opcode);
    unique case (opcode)
      BthOpcodeRcSendFirst:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h1, response: 4'h5, payload: 3'h1, starts_message: 1'h1, consumes_recv: 1'h1, default: '0};
      BthOpcodeRcSendMiddle:
        opcode_info = '{valid: 1'h1, operation: 4'h1, response: 4'h5, payload: 3'h1, default: '0};
      BthOpcodeRcSendLast:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h2, response: 4'h5, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, default: '0};
      BthOpcodeRcSendLastWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h2, response: 4'h5, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_immdt: 1'h1, immdt_offset: 6'hc, default: '0};
      BthOpcodeRcSendOnly:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h3, response: 4'h5, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, default: '0};
      BthOpcodeRcSendOnlyWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h3, response: 4'h5, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_immdt: 1'h1, immdt_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaWriteFirst:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h1, response: 4'h5, payload: 3'h1, starts_message: 1'h1, extension_bytes: 6'h10, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaWriteMiddle:
        opcode_info = '{valid: 1'h1, operation: 4'h2, response: 4'h5, payload: 3'h1, default: '0};
      BthOpcodeRcRdmaWriteLast:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h2, response: 4'h5, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, default: '0};
      BthOpcodeRcRdmaWriteLastWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h2, response: 4'h5, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_immdt: 1'h1, immdt_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaWriteOnly:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h3, response: 4'h5, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, extension_bytes: 6'h10, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaWriteOnlyWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h3, response: 4'h5, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h14, has_immdt: 1'h1, immdt_offset: 6'h1c, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaReadRequest:
        opcode_info = '{valid: 1'h1, operation: 4'h3, position: 2'h3, response: 4'h4, starts_message: 1'h1, ends_message: 1'h1, extension_bytes: 6'h10, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaReadResponseFirst:
        opcode_info = '{valid: 1'h1, operation: 4'h4, position: 2'h1, payload: 3'h1, starts_message: 1'h1, is_response: 1'h1, extension_bytes: 6'h4, has_aeth: 1'h1, aeth_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaReadResponseMiddle:
        opcode_info = '{valid: 1'h1, operation: 4'h4, payload: 3'h1, is_response: 1'h1, default: '0};
      BthOpcodeRcRdmaReadResponseLast:
        opcode_info = '{valid: 1'h1, operation: 4'h4, position: 2'h2, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, is_response: 1'h1, extension_bytes: 6'h4, has_aeth: 1'h1, aeth_offset: 6'hc, default: '0};
      BthOpcodeRcRdmaReadResponseOnly:
        opcode_info = '{valid: 1'h1, operation: 4'h4, position: 2'h3, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, is_response: 1'h1, extension_bytes: 6'h4, has_aeth: 1'h1, aeth_offset: 6'hc, default: '0};
      BthOpcodeRcAcknowledge:
        opcode_info = '{valid: 1'h1, operation: 4'h5, position: 2'h3, starts_message: 1'h1, ends_message: 1'h1, is_response: 1'h1, extension_bytes: 6'h4, has_aeth: 1'h1, aeth_offset: 6'hc, default: '0};
      BthOpcodeRcAtomicAcknowledge:
        opcode_info = '{valid: 1'h1, operation: 4'h6, position: 2'h3, starts_message: 1'h1, ends_message: 1'h1, is_response: 1'h1, extension_bytes: 6'hc, has_aeth: 1'h1, aeth_offset: 6'hc, has_atomic_ack_eth: 1'h1, atomic_ack_eth_offset: 6'h10, default: '0};
      BthOpcodeRcCompareSwap:
        opcode_info = '{valid: 1'h1, operation: 4'h7, position: 2'h3, response: 4'h6, starts_message: 1'h1, ends_message: 1'h1, extension_bytes: 6'h1c, has_atomic_eth: 1'h1, atomic_eth_offset: 6'hc, default: '0};
      BthOpcodeRcFetchAdd:
        opcode_info = '{valid: 1'h1, operation: 4'h8, position: 2'h3, response: 4'h6, starts_message: 1'h1, ends_message: 1'h1, extension_bytes: 6'h1c, has_atomic_eth: 1'h1, atomic_eth_offset: 6'hc, default: '0};
      BthOpcodeRcSendLastWithInvalidate:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h2, response: 4'h5, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_ieth: 1'h1, ieth_offset: 6'hc, default: '0};
      BthOpcodeRcSendOnlyWithInvalidate:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h3, response: 4'h5, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_ieth: 1'h1, ieth_offset: 6'hc, default: '0};
      BthOpcodeRcFlush:
        opcode_info = '{valid: 1'h1, operation: 4'h9, position: 2'h3, response: 4'h4, starts_message: 1'h1, ends_message: 1'h1, extension_bytes: 6'h14, has_reth: 1'h1, reth_offset: 6'h10, has_feth: 1'h1, feth_offset: 6'hc, default: '0};
      BthOpcodeRcAtomicWrite:
        opcode_info = '{valid: 1'h1, operation: 4'ha, position: 2'h3, response: 4'h4, payload: 3'h4, payload_exact: 5'h8, starts_message: 1'h1, ends_message: 1'h1, extension_bytes: 6'h10, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeUcSendFirst:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h1, payload: 3'h1, starts_message: 1'h1, consumes_recv: 1'h1, default: '0};
      BthOpcodeUcSendMiddle:
        opcode_info = '{valid: 1'h1, operation: 4'h1, payload: 3'h1, default: '0};
      BthOpcodeUcSendLast:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h2, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, default: '0};
      BthOpcodeUcSendLastWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h2, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_immdt: 1'h1, immdt_offset: 6'hc, default: '0};
      BthOpcodeUcSendOnly:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h3, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, default: '0};
      BthOpcodeUcSendOnlyWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h3, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_immdt: 1'h1, immdt_offset: 6'hc, default: '0};
      BthOpcodeUcRdmaWriteFirst:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h1, payload: 3'h1, starts_message: 1'h1, extension_bytes: 6'h10, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeUcRdmaWriteMiddle:
        opcode_info = '{valid: 1'h1, operation: 4'h2, payload: 3'h1, default: '0};
      BthOpcodeUcRdmaWriteLast:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h2, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, default: '0};
      BthOpcodeUcRdmaWriteLastWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h2, payload: 3'h2, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h4, has_immdt: 1'h1, immdt_offset: 6'hc, default: '0};
      BthOpcodeUcRdmaWriteOnly:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h3, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, extension_bytes: 6'h10, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeUcRdmaWriteOnlyWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h2, position: 2'h3, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h14, has_immdt: 1'h1, immdt_offset: 6'h1c, has_reth: 1'h1, reth_offset: 6'hc, default: '0};
      BthOpcodeUdSendOnly:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h3, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'h8, has_deth: 1'h1, deth_offset: 6'hc, default: '0};
      BthOpcodeUdSendOnlyWithImmediate:
        opcode_info = '{valid: 1'h1, operation: 4'h1, position: 2'h3, payload: 3'h3, starts_message: 1'h1, ends_message: 1'h1, may_pad: 1'h1, consumes_recv: 1'h1, completes_recv: 1'h1, may_solicit: 1'h1, extension_bytes: 6'hc, has_immdt: 1'h1, immdt_offset: 6'h14, has_deth: 1'h1, deth_offset: 6'hc, default: '0};
      BthOpcodeCnp:
        opcode_info = '{valid: 1'h1, operation: 4'hb, position: 2'h3, payload: 3'h4, payload_exact: 5'h10, starts_message: 1'h1, ends_message: 1'h1, default: '0};
      default: opcode_info = '0;
    endcase
  endfunction

  // Management registers: byte offsets and reset values. (csr.toml)
  localparam int unsigned MgmtBytes = 4096;
  localparam logic [11:0] MgmtIdRegister = 12'h0;
  localparam logic [31:0] MgmtIdReset = 32'h4f524956;
  localparam logic [11:0] MgmtVersionRegister = 12'h4;
  localparam logic [31:0] MgmtVersionReset = 32'h20000;
  localparam logic [11:0] MgmtAbiProfileRegister = 12'h8;
  localparam logic [31:0] MgmtAbiProfileReset = 32'h1;
  localparam logic [11:0] MgmtScratchRegister = 12'hc;
  localparam logic [31:0] MgmtScratchReset = 32'h0;
  localparam logic [11:0] MgmtTimeLowRegister = 12'h70;
  localparam logic [11:0] MgmtTimeHighRegister = 12'h74;
  localparam logic [11:0] MgmtControlRegister = 12'h80;
  localparam logic [31:0] MgmtControlReset = 32'h0;
  localparam logic [11:0] MgmtStatusRegister = 12'h84;
  localparam logic [11:0] MgmtInterruptCauseRegister = 12'h88;
  localparam logic [31:0] MgmtInterruptCauseReset = 32'h0;
  localparam logic [11:0] MgmtInterruptEnableRegister = 12'h8c;
  localparam logic [31:0] MgmtInterruptEnableReset = 32'h0;
  localparam logic [11:0] MgmtQueueResetIndexRegister = 12'h90;
  localparam logic [11:0] MgmtQueueResetDoneRegister = 12'h94;
  localparam logic [11:0] MgmtFatalCauseRegister = 12'h98;
  localparam logic [31:0] MgmtFatalCauseReset = 32'h0;
  localparam logic [11:0] MgmtMailboxStatusRegister = 12'hc0;
  localparam logic [31:0] MgmtMailboxStatusReset = 32'h0;
  localparam logic [11:0] MgmtMailboxRequestBytesRegister = 12'hc4;
  localparam logic [11:0] MgmtMailboxResponseBytesRegister = 12'hc8;
  localparam logic [11:0] MgmtMailboxFetchRegister = 12'hcc;
  localparam logic [11:0] MgmtMailboxCompleteRegister = 12'hd0;
  localparam logic [11:0] MgmtMailboxDataRegister = 12'h200;
  localparam logic [11:0] MgmtTableCommandRegister = 12'h100;
  localparam logic [31:0] MgmtTableCommandReset = 32'h0;
  localparam logic [11:0] MgmtTableIndexRegister = 12'h104;
  localparam logic [31:0] MgmtTableIndexReset = 32'h0;
  localparam logic [11:0] MgmtTableDataRegister = 12'h180;
  localparam logic [11:0] MgmtQpCommandRegister = 12'h110;
  localparam logic [31:0] MgmtQpCommandReset = 32'h0;
  localparam logic [11:0] MgmtEventPushRegister = 12'h118;
  localparam logic [11:0] MgmtEventDataRegister = 12'h120;
  localparam logic [11:0] MgmtFlipEntryRegister = 12'h130;
  localparam logic [31:0] MgmtFlipEntryReset = 32'h0;
  localparam logic [11:0] MgmtFlipBitRegister = 12'h134;
  localparam logic [11:0] MgmtMacLowRegister = 12'h400;
  localparam logic [11:0] MgmtMacHighRegister = 12'h404;
  localparam logic [11:0] MgmtRxModeRegister = 12'h408;
  localparam logic [31:0] MgmtRxModeReset = 32'h0;
  localparam logic [11:0] MgmtActiveQueuePairsRegister = 12'h40c;
  localparam logic [31:0] MgmtActiveQueuePairsReset = 32'h1;
  localparam logic [11:0] MgmtMtuRegister = 12'h410;
  localparam logic [31:0] MgmtMtuReset = 32'h5dc;
  localparam logic [11:0] MgmtRxVerdictCountRegister = 12'h440;
  localparam logic [31:0] MgmtRxVerdictCountReset = 32'h0;
  localparam logic [11:0] MgmtTxFramesRegister = 12'h480;
  localparam logic [31:0] MgmtTxFramesReset = 32'h0;
  localparam logic [11:0] MgmtRxBufferDropsRegister = 12'h484;
  localparam logic [31:0] MgmtRxBufferDropsReset = 32'h0;
  localparam logic [11:0] MgmtRetransmissionsRegister = 12'h488;
  localparam logic [31:0] MgmtRetransmissionsReset = 32'h0;
  localparam logic [11:0] MgmtDmaErrorsRegister = 12'h48c;
  localparam logic [31:0] MgmtDmaErrorsReset = 32'h0;
  localparam logic [11:0] MgmtWindowViolationsRegister = 12'h490;
  localparam logic [31:0] MgmtWindowViolationsReset = 32'h0;
  localparam logic [11:0] MgmtNetRxFilteredRegister = 12'h494;
  localparam logic [31:0] MgmtNetRxFilteredReset = 32'h0;
  localparam logic [11:0] MgmtNetRxDropsRegister = 12'h498;
  localparam logic [31:0] MgmtNetRxDropsReset = 32'h0;
  localparam logic [11:0] MgmtNetTxDropsRegister = 12'h49c;
  localparam logic [31:0] MgmtNetTxDropsReset = 32'h0;
  localparam logic [11:0] MgmtParameterRegister = 12'h500;
  localparam logic [11:0] MgmtDriverFeaturesRegister = 12'ha0;

  // Management registers: byte offsets and reset values. (csr.toml)
  localparam int unsigned ProcessorBytes = 256;
  localparam logic [7:0] ProcessorWaitRegister = 8'h0;
  localparam logic [31:0] ProcessorWaitReset = 32'h0;
  localparam logic [7:0] ProcessorConsoleRegister = 8'h4;
  localparam logic [7:0] ProcessorAliveRegister = 8'h8;
  localparam logic [7:0] ProcessorStopRegister = 8'hc;
  localparam logic [7:0] ProcessorLastFailureRegister = 8'h10;
  localparam logic [31:0] ProcessorLastFailureReset = 32'h0;
  localparam logic [7:0] ProcessorFailureAddressRegister = 8'h14;
  localparam logic [31:0] ProcessorFailureAddressReset = 32'h0;

  // Build parameters; a named configuration is one set of them. (configs.toml)
  typedef struct packed {
    int unsigned datapath_bits;
    int unsigned core_clock_khz;
    int unsigned link_mbps;
    int unsigned net_queue_pairs;
    int unsigned num_cqs;
    int unsigned num_qps;
    int unsigned num_pds;
    int unsigned num_mrs;
    int unsigned num_translations;
    int unsigned num_ahs;
    int unsigned num_gids;
    int unsigned max_queue_entries;
    int unsigned max_net_queue_entries;
    int unsigned max_send_sge;
    int unsigned max_recv_sge;
    int unsigned max_inline_bytes;
    int unsigned max_rd_atomic;
    int unsigned atomics;
    int unsigned atomic_write;
    int unsigned flush;
    int unsigned invalidation;
    int unsigned memory_windows;
    int unsigned fast_registration;
    int unsigned extensible_requests;
    int unsigned cqe_elements;
    int unsigned push_requests;
    int unsigned known_entries;
    int unsigned max_srqs;
    int unsigned max_mcast_attach;
    int unsigned parity;
    int unsigned net_offloads;
    int unsigned packed_rings;
    int unsigned event_index;
    int unsigned moderation;
    int unsigned max_path_mtu;
    int unsigned max_frame_bytes;
    int unsigned dma_tags;
    int unsigned rx_buffer_bytes;
    int unsigned tx_buffer_bytes;
    int unsigned net_buffer_bytes;
    int unsigned dma_read_buffer_bytes;
    int unsigned dma_writes;
    int unsigned send_records;
    int unsigned send_queue_requests;
    int unsigned send_queue_buffers;
    int unsigned send_queue_fetches;
    int unsigned receives_ahead;
    int unsigned send_requests_kept;
    int unsigned send_burst_bytes;
    int unsigned num_msix_vectors;
  } config_t;
  // 100 Gb/s SmartNIC boards (UltraScale+ class), and the default of every command
  localparam config_t Nic100 = '{
    datapath_bits: 512,
    core_clock_khz: 250000,
    link_mbps: 100000,
    net_queue_pairs: 16,
    num_cqs: 1024,
    num_qps: 1024,
    num_pds: 1024,
    num_mrs: 4096,
    num_translations: 65536,
    num_ahs: 1024,
    num_gids: 128,
    max_queue_entries: 32768,
    max_net_queue_entries: 1024,
    max_send_sge: 30,
    max_recv_sge: 30,
    max_inline_bytes: 512,
    max_rd_atomic: 16,
    atomics: 1,
    atomic_write: 1,
    flush: 1,
    invalidation: 1,
    memory_windows: 1,
    fast_registration: 1,
    extensible_requests: 1,
    cqe_elements: 1,
    push_requests: 1,
    known_entries: 1,
    max_srqs: 256,
    max_mcast_attach: 16,
    parity: 1,
    net_offloads: 1,
    packed_rings: 1,
    event_index: 1,
    moderation: 1,
    max_path_mtu: 4096,
    max_frame_bytes: 9728,
    dma_tags: 256,
    rx_buffer_bytes: 524288,
    tx_buffer_bytes: 524288,
    net_buffer_bytes: 32768,
    dma_read_buffer_bytes: 32768,
    dma_writes: 256,
    send_records: 64,
    send_queue_requests: 32,
    send_queue_buffers: 64,
    send_queue_fetches: 32,
    receives_ahead: 64,
    send_requests_kept: 1024,
    send_burst_bytes: 16384,
    num_msix_vectors: 2048
  };
  // 1 Gb/s boards with a small FPGA (ECP5 class)
  localparam config_t Nic1 = '{
    datapath_bits: 64,
    core_clock_khz: 125000,
    link_mbps: 1000,
    net_queue_pairs: 1,
    num_cqs: 16,
    num_qps: 16,
    num_pds: 16,
    num_mrs: 64,
    num_translations: 1024,
    num_ahs: 16,
    num_gids: 8,
    max_queue_entries: 256,
    max_net_queue_entries: 256,
    max_send_sge: 4,
    max_recv_sge: 4,
    max_inline_bytes: 256,
    max_rd_atomic: 4,
    atomics: 1,
    atomic_write: 1,
    flush: 1,
    invalidation: 1,
    memory_windows: 1,
    fast_registration: 0,
    extensible_requests: 1,
    cqe_elements: 0,
    push_requests: 0,
    known_entries: 0,
    max_srqs: 4,
    max_mcast_attach: 4,
    parity: 1,
    net_offloads: 1,
    packed_rings: 1,
    event_index: 1,
    moderation: 1,
    max_path_mtu: 4096,
    max_frame_bytes: 9728,
    dma_tags: 16,
    rx_buffer_bytes: 32768,
    tx_buffer_bytes: 32768,
    net_buffer_bytes: 16384,
    dma_read_buffer_bytes: 8192,
    dma_writes: 16,
    send_records: 16,
    send_queue_requests: 8,
    send_queue_buffers: 16,
    send_queue_fetches: 8,
    receives_ahead: 16,
    send_requests_kept: 16,
    send_burst_bytes: 4096,
    num_msix_vectors: 64
  };
  // 1 Gb/s boards with the smallest FPGAs: RC with SEND, WRITE and READ, the datagrams of connection setup, one net queue pair without offloads
  localparam config_t Nic1Rc = '{
    datapath_bits: 64,
    core_clock_khz: 62500,
    link_mbps: 1000,
    net_queue_pairs: 1,
    num_cqs: 8,
    num_qps: 8,
    num_pds: 8,
    num_mrs: 32,
    num_translations: 512,
    num_ahs: 8,
    num_gids: 4,
    max_queue_entries: 128,
    max_net_queue_entries: 128,
    max_send_sge: 4,
    max_recv_sge: 4,
    max_inline_bytes: 256,
    max_rd_atomic: 2,
    atomics: 0,
    atomic_write: 0,
    flush: 0,
    invalidation: 0,
    memory_windows: 0,
    fast_registration: 0,
    extensible_requests: 0,
    cqe_elements: 0,
    push_requests: 0,
    known_entries: 0,
    max_srqs: 0,
    max_mcast_attach: 0,
    parity: 0,
    net_offloads: 0,
    packed_rings: 0,
    event_index: 0,
    moderation: 0,
    max_path_mtu: 4096,
    max_frame_bytes: 9728,
    dma_tags: 8,
    rx_buffer_bytes: 16384,
    tx_buffer_bytes: 16384,
    net_buffer_bytes: 16384,
    dma_read_buffer_bytes: 8192,
    dma_writes: 8,
    send_records: 8,
    send_queue_requests: 4,
    send_queue_buffers: 8,
    send_queue_fetches: 8,
    receives_ahead: 8,
    send_requests_kept: 0,
    send_burst_bytes: 4096,
    num_msix_vectors: 8
  };
  // Feature bits that a device of this configuration does not offer.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [63:0] features_withheld(input config_t config_i);
    features_withheld = '0;
    if (config_i.net_offloads == 0) features_withheld |= 64'h7;  // net_feature.csum, net_feature.guest_csum, net_feature.ctrl_guest_offloads
    if (config_i.packed_rings == 0) features_withheld |= 64'h400000000;  // virtio_feature.ring_packed
    if (config_i.event_index == 0) features_withheld |= 64'h20000000;  // virtio_feature.ring_event_idx
    if (config_i.moderation == 0) features_withheld |= 64'h30000000000000;  // net_feature.notf_coal, net_feature.vq_notf_coal
  endfunction
  // verilator lint_on UNUSEDSIGNAL
  // All of them, for a module whose parameter is a number.
  localparam int unsigned Nic100Index = 0;
  localparam int unsigned Nic1Index = 1;
  localparam int unsigned Nic1RcIndex = 2;
  localparam config_t [2:0] Configs = {Nic1Rc, Nic1, Nic100};

endpackage
/* verilator lint_on UNUSEDPARAM */
