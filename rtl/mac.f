# Between the NIC's frame streams and a MAC with clocks of its own, in dependency order, on top of sources.f.
rtl/common/vireo_sync.sv
rtl/common/vireo_reset_sync.sv
rtl/common/vireo_ram_2clk.sv
rtl/common/vireo_async_fifo.sv
rtl/common/vireo_async_count.sv
rtl/mac/vireo_mac_pkg.sv
rtl/mac/vireo_mac_widen.sv
rtl/mac/vireo_mac_narrow.sv
rtl/mac/vireo_mac_tx.sv
rtl/mac/vireo_mac_rx.sv
rtl/mac/vireo_mac.sv
