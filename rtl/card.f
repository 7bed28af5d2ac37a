# The top of a card on PCI Express, in dependency order, on top of sources.f, processor.f, pcie.f and mac.f.
rtl/card/vireo_card_boot.sv
rtl/card/vireo_card_control.sv
rtl/card/vireo_card.sv
