# SPDX-License-Identifier: Apache-2.0
# Alveo U50 (xcu50-fsvh2104-2-e). Pins: as in Corundum's design for the card (github.com/corundum/corundum,
# fpga/mqnic/AU50/fpga_100g/fpga.xdc), which runs on it; AMD's own list is alveo-u50-xdc.xdc (of UG1371's page), of which only the
# 100 MHz clock was compared: compare the others before use. Not run: there is no Vivado here.

# --- Configuration

set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
set_property BITSTREAM.CONFIG.SPI_FALL_EDGE YES [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 85.0 [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_operating_conditions -design_power_budget 63

# --- PCI Express, 16 lanes. The reference clock is that of the connector for all of them.

set_property PACKAGE_PIN AW27 [get_ports pcie_reset_n]
set_property IOSTANDARD LVCMOS18 [get_ports pcie_reset_n]
set_property PULLUP true [get_ports pcie_reset_n]
set_false_path -from [get_ports pcie_reset_n]
set_property PACKAGE_PIN AF9 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN AF8 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN AL2 [get_ports {pcie_rx_p[0]}]
set_property PACKAGE_PIN Y5 [get_ports {pcie_tx_p[0]}]
set_property PACKAGE_PIN AM4 [get_ports {pcie_rx_p[1]}]
set_property PACKAGE_PIN AA7 [get_ports {pcie_tx_p[1]}]
set_property PACKAGE_PIN AK4 [get_ports {pcie_rx_p[2]}]
set_property PACKAGE_PIN AB5 [get_ports {pcie_tx_p[2]}]
set_property PACKAGE_PIN AN2 [get_ports {pcie_rx_p[3]}]
set_property PACKAGE_PIN AC7 [get_ports {pcie_tx_p[3]}]
set_property PACKAGE_PIN AP4 [get_ports {pcie_rx_p[4]}]
set_property PACKAGE_PIN AD5 [get_ports {pcie_tx_p[4]}]
set_property PACKAGE_PIN AR2 [get_ports {pcie_rx_p[5]}]
set_property PACKAGE_PIN AF5 [get_ports {pcie_tx_p[5]}]
set_property PACKAGE_PIN AT4 [get_ports {pcie_rx_p[6]}]
set_property PACKAGE_PIN AE7 [get_ports {pcie_tx_p[6]}]
set_property PACKAGE_PIN AU2 [get_ports {pcie_rx_p[7]}]
set_property PACKAGE_PIN AH5 [get_ports {pcie_tx_p[7]}]
set_property PACKAGE_PIN AV4 [get_ports {pcie_rx_p[8]}]
set_property PACKAGE_PIN AG7 [get_ports {pcie_tx_p[8]}]
set_property PACKAGE_PIN AW2 [get_ports {pcie_rx_p[9]}]
set_property PACKAGE_PIN AJ7 [get_ports {pcie_tx_p[9]}]
set_property PACKAGE_PIN BA2 [get_ports {pcie_rx_p[10]}]
set_property PACKAGE_PIN AL7 [get_ports {pcie_tx_p[10]}]
set_property PACKAGE_PIN BC2 [get_ports {pcie_rx_p[11]}]
set_property PACKAGE_PIN AM9 [get_ports {pcie_tx_p[11]}]
set_property PACKAGE_PIN AY4 [get_ports {pcie_rx_p[12]}]
set_property PACKAGE_PIN AN7 [get_ports {pcie_tx_p[12]}]
set_property PACKAGE_PIN BB4 [get_ports {pcie_rx_p[13]}]
set_property PACKAGE_PIN AP9 [get_ports {pcie_tx_p[13]}]
set_property PACKAGE_PIN BD4 [get_ports {pcie_rx_p[14]}]
set_property PACKAGE_PIN AR7 [get_ports {pcie_tx_p[14]}]
set_property PACKAGE_PIN BE6 [get_ports {pcie_rx_p[15]}]
set_property PACKAGE_PIN AT9 [get_ports {pcie_tx_p[15]}]

# --- QSFP28. The reference clock is output 0 of the card's SI5394, 161.1328125 MHz; the MAC's core has a constraint on it.

set_property PACKAGE_PIN N36 [get_ports qsfp_refclk_p]
set_property PACKAGE_PIN N37 [get_ports qsfp_refclk_n]
set_property PACKAGE_PIN J45 [get_ports {qsfp_rx_p[0]}]
set_property PACKAGE_PIN D42 [get_ports {qsfp_tx_p[0]}]
set_property PACKAGE_PIN G45 [get_ports {qsfp_rx_p[1]}]
set_property PACKAGE_PIN C40 [get_ports {qsfp_tx_p[1]}]
set_property PACKAGE_PIN F43 [get_ports {qsfp_rx_p[2]}]
set_property PACKAGE_PIN B42 [get_ports {qsfp_tx_p[2]}]
set_property PACKAGE_PIN E45 [get_ports {qsfp_rx_p[3]}]
set_property PACKAGE_PIN A40 [get_ports {qsfp_tx_p[3]}]

# --- 100 MHz for what runs before both, the console, and HBM's over-temperature output, which must be driven: the card's
# controller cuts the power when it is 1.

set_property PACKAGE_PIN G17 [get_ports clk_100mhz_p]
set_property PACKAGE_PIN G16 [get_ports clk_100mhz_n]
set_property IOSTANDARD LVDS [get_ports {clk_100mhz_p clk_100mhz_n}]
create_clock -name clk_100mhz -period 10.000 [get_ports clk_100mhz_p]
set_property PACKAGE_PIN BE26 [get_ports console_tx]
set_property PACKAGE_PIN J18 [get_ports hbm_cattrip]
set_property PACKAGE_PIN E16 [get_ports led_link]
set_property IOSTANDARD LVCMOS18 [get_ports {console_tx hbm_cattrip led_link}]
set_false_path -to [get_ports {console_tx hbm_cattrip led_link}]

# --- Between clocks: Gray-coded counts, single bits and resets end in vireo_sync's first flip-flops. Bits of a count may differ by
# less than a period of the faster clock, 3.103 ns; docs/blocks/async_fifo.md.

set first [get_cells -hierarchical -filter {NAME =~ *meta_q_reg*}]
set_max_delay -datapath_only 3.0 -from [get_cells -hierarchical -filter {NAME =~ *gray_q_reg*}] -to $first
set_false_path -to [get_pins -of_objects $first -filter {REF_PIN_NAME == CLR}]
set_false_path -to [get_pins -of_objects [get_cells -hierarchical -filter {NAME =~ *u_reset/u_sync/sync_q_reg* || NAME =~ *_reset/u_sync/sync_q_reg*}] -filter {REF_PIN_NAME == CLR}]
set_false_path -to [get_pins -of_objects [get_cells -hierarchical -filter {NAME =~ *_link/meta_q_reg*}] -filter {REF_PIN_NAME == D}]
