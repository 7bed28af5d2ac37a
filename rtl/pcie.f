# The bridge to AMD's UltraScale+ block for PCI Express, in dependency order, on top of sources.f.
rtl/pcie/vireo_pcie_pkg.sv
rtl/pcie/vireo_pcie_align.sv
rtl/pcie/vireo_pcie_unpack.sv
rtl/pcie/vireo_pcie_answers.sv
rtl/pcie/vireo_pcie_completer.sv
rtl/pcie/vireo_pcie_requester.sv
rtl/pcie/vireo_pcie_read_data.sv
rtl/pcie/vireo_pcie_config.sv
rtl/pcie/vireo_pcie_bridge.sv
