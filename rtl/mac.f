# Cells between clocks, in dependency order, on top of sources.f.
rtl/common/vireo_sync.sv
rtl/common/vireo_reset_sync.sv
rtl/common/vireo_ram_2clk.sv
rtl/common/vireo_async_fifo.sv
rtl/common/vireo_async_count.sv
