# SPDX-License-Identifier: Apache-2.0
"""Names that a reader of the RTL knows for the registers and RAMs of a mapped netlist in Yosys' JSON."""

import re

# In names that Yosys has made from those of neighbors.
MADE = r"_(TRELLIS_FF|LUT4|CCU2C|PFUMX|L6MUX21|FD[CPRS]E|LUT[1-6]|MUXF[789]|CARRY8|INV)_"
# What mapping appends to a RAM's name.
MAPPED = r"(\.\d+\.\d+|_(DP16KD|PDPW16KD|TRELLIS_DPR16X4|MULT18X18D|RAM\w+|URAM288|DSP48E\d)\b.*)$"


def labels(module: dict, prefix: str = "") -> dict[str, str]:
    """Cell -> register, or RAM, with its line of the RTL where Yosys has kept that. `prefix` is removed from names."""
    nets: dict[int, tuple[str, int, str]] = {}
    for name, net in module["netnames"].items():
        if net.get("hide_name") or re.search(MADE, name):
            continue
        for index, bit in enumerate(net["bits"]):
            known = nets.get(bit)
            # The name of the declaration nearest to the register is the longest: outer levels have ports of the same net.
            if isinstance(bit, int) and (known is None or len(name) > len(known[0])):
                nets[bit] = (name, index if len(net["bits"]) > 1 else -1, net["attributes"].get("src", ""))
    found = {}
    for cell, content in module["cells"].items():
        bits = content["connections"].get("Q", [])
        if len(bits) == 1 and bits[0] in nets:
            name, index, source = nets[bits[0]]
            found[cell] = with_line(name.removeprefix(prefix) + (f"[{index}]" if index >= 0 else ""), source)
        else:
            cell_name = "a register" if cell.startswith("$") else re.split(MADE, cell)[0]
            found[cell] = with_line(re.sub(MAPPED, "", cell_name.removeprefix(prefix)), content["attributes"].get("src", ""))
    return found


def with_line(name: str, source: str) -> str:
    line = re.search(r"(vireo_\w+\.sv):(\d+)", source)
    return f"{name} ({line[1]}:{line[2]})" if line else name
