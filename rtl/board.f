# The board top without PCIe, in dependency order, on top of sources.f and processor.f.
rtl/board/vireo_clock_gate.sv
rtl/board/vireo_uart_receiver.sv
rtl/board/vireo_link.sv
rtl/board/vireo_bridge.sv
rtl/board/vireo_board_front.sv
rtl/board/vireo_board.sv
