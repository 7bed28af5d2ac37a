# SPDX-License-Identifier: Apache-2.0
# Builds the bitstream of an Alveo U50 with nic100, without a project file:
#
#   fpga/boards/image.py build/dev/firmware/rv32/firmware.bin build/u50/image.hex --mac 02:00:00:00:00:01
#   vivado -mode batch -source fpga/boards/u50/project.tcl
#
# Results are in build/u50. Not run here: README.md says what was checked instead. Names of properties: AMD PG213 (PCIE4C)
# and PG203 (CMAC). Places of CMAC and transceivers: Corundum's design for the card, as in vireo_u50.xdc.

set root [file normalize [file join [file dirname [info script]] ../../..]]
set out [file join $root build/u50]
set image [file join $out image.hex]
if {![file exists $image]} { error "no $image: make it with fpga/boards/image.py" }
file mkdir $out
create_project -in_memory -part xcu50-fsvh2104-2-e

# --- Sources, from the same lists as every other tool

set core [glob $root/build/venv/lib/python3*/site-packages/pythondata_cpu_picorv32/verilog/picorv32.v]
set sources [list $core [file join $root fpga/boards/u50/vireo_u50.sv]]
foreach list {sources.f processor.f pcie.f mac.f card.f} {
  set file [open [file join $root rtl $list]]
  foreach line [split [read $file] "\n"] {
    # A .vlt file is for Verilator only.
    if {$line ne "" && [string index $line 0] ne "#" && [file extension $line] ne ".vlt"} { lappend sources [file join $root $line] }
  }
  close $file
}
read_verilog -sv $sources
read_xdc [file join $root fpga/boards/u50/vireo_u50.xdc]

# --- AMD's blocks

# Addresses and sizes of virtio's structures are those of spec/pci.toml: BAR 0 has 32 MiB, BAR 2 the MSI-X table and pending bits.
create_ip -name pcie4c_uscale_plus -vendor xilinx.com -library ip -module_name pcie4c_uscale_plus_0 -dir $out
set_property -dict [list \
  CONFIG.PL_LINK_CAP_MAX_LINK_SPEED {8.0_GT/s} \
  CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH {X16} \
  CONFIG.axisten_if_width {512_bit} \
  CONFIG.axisten_freq {250} \
  CONFIG.axisten_if_enable_client_tag {true} \
  CONFIG.AXISTEN_IF_EXT_512_RQ_STRADDLE {false} \
  CONFIG.AXISTEN_IF_EXT_512_CQ_STRADDLE {false} \
  CONFIG.AXISTEN_IF_EXT_512_CC_STRADDLE {false} \
  CONFIG.AXISTEN_IF_EXT_512_RC_STRADDLE {false} \
  CONFIG.vendor_id {1AF4} \
  CONFIG.PF0_DEVICE_ID {1041} \
  CONFIG.PF0_REVISION_ID {01} \
  CONFIG.PF0_SUBSYSTEM_VENDOR_ID {1AF4} \
  CONFIG.PF0_SUBSYSTEM_ID {0041} \
  CONFIG.PF0_CLASS_CODE {020000} \
  CONFIG.pf0_bar0_64bit {true} \
  CONFIG.pf0_bar0_prefetchable {true} \
  CONFIG.pf0_bar0_scale {Megabytes} \
  CONFIG.pf0_bar0_size {32} \
  CONFIG.pf0_bar2_enabled {true} \
  CONFIG.pf0_bar2_64bit {true} \
  CONFIG.pf0_bar2_prefetchable {true} \
  CONFIG.pf0_bar2_scale {Kilobytes} \
  CONFIG.pf0_bar2_size {64} \
  CONFIG.pf0_msi_enabled {false} \
  CONFIG.pf0_msix_enabled {true} \
  CONFIG.PF0_MSIX_CAP_TABLE_SIZE {7FF} \
  CONFIG.PF0_MSIX_CAP_TABLE_BIR {BAR_3:2} \
  CONFIG.PF0_MSIX_CAP_TABLE_OFFSET {00000000} \
  CONFIG.PF0_MSIX_CAP_PBA_BIR {BAR_3:2} \
  CONFIG.PF0_MSIX_CAP_PBA_OFFSET {00008000} \
  CONFIG.extended_tag_field {true} \
  CONFIG.pf0_dev_cap_function_level_reset_capable {true} \
  CONFIG.legacy_ext_pcie_cfg_space_enabled {true} \
] [get_ips pcie4c_uscale_plus_0]

create_ip -name cmac_usplus -vendor xilinx.com -library ip -module_name cmac_usplus_0 -dir $out
set_property -dict [list \
  CONFIG.CMAC_CAUI4_MODE {1} \
  CONFIG.NUM_LANES {4x25} \
  CONFIG.GT_REF_CLK_FREQ {161.1328125} \
  CONFIG.GT_DRP_CLK {100} \
  CONFIG.USER_INTERFACE {AXIS} \
  CONFIG.TX_FLOW_CONTROL {0} \
  CONFIG.RX_FLOW_CONTROL {0} \
  CONFIG.TX_FRAME_CRC_CHECKING {Enable FCS Insertion} \
  CONFIG.RX_FRAME_CRC_CHECKING {Enable FCS Stripping} \
  CONFIG.RX_MIN_PACKET_LEN {64} \
  CONFIG.RX_MAX_PACKET_LEN {9732} \
  CONFIG.INCLUDE_RS_FEC {1} \
  CONFIG.ENABLE_PIPELINE_REG {1} \
  CONFIG.CMAC_CORE_SELECT {CMACE4_X0Y4} \
  CONFIG.GT_GROUP_SELECT {X0Y28~X0Y31} \
  CONFIG.LANE1_GT_LOC {X0Y28} \
  CONFIG.LANE2_GT_LOC {X0Y29} \
  CONFIG.LANE3_GT_LOC {X0Y30} \
  CONFIG.LANE4_GT_LOC {X0Y31} \
] [get_ips cmac_usplus_0]

generate_target all [get_ips]
synth_ip [get_ips]

# --- Bitstream

synth_design -top vireo_u50 -generic ImageFile=$image
report_utilization -hierarchical -file $out/utilization.rpt
opt_design
place_design
phys_opt_design
route_design
report_timing_summary -file $out/timing.rpt
report_cdc -details -file $out/cdc.rpt
report_drc -file $out/drc.rpt
if {[get_property SLACK [get_timing_paths -max_paths 1]] < 0} { puts "vireo_u50: timing is not met, see build/u50/timing.rpt" }
write_checkpoint -force $out/vireo_u50.dcp
write_bitstream -force $out/vireo_u50.bit
