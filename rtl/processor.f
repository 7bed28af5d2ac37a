# The control processor, in dependency order, on top of sources.f. Its core is a dependency: picorv32.v of the package
# pythondata-cpu-picorv32.
rtl/ctrl/picorv32.vlt
rtl/ctrl/vireo_console.sv
rtl/ctrl/vireo_control_processor.sv
