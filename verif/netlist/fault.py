#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a copy of a flat ECP5 netlist in which the output of one LUT4 is inverted.

It prints the change; a netlist without that LUT is an error.
"""
import argparse
import pathlib
import re
import sys

# The first of the four multiplexers in Yosys' model of a LUT4; the two constants are its table.
TABLE = re.compile(r"(?P<name>assign \S+) .*\? 8'h[0-9a-f]+ : 8'h[0-9a-f]+ ?;")
CONSTANT = re.compile(r"8'h([0-9a-f]+)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("netlist", type=pathlib.Path, help="Verilog that fpga/synth.py --netlist has written")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--lut", type=int, required=True, help="which one, from 0, in the order of the file")
    args = parser.parse_args()
    lines = args.netlist.read_text().split("\n")
    tables = [i for i, line in enumerate(lines) if TABLE.search(line)]
    if not 0 <= args.lut < len(tables):
        sys.exit(f"{args.netlist}: LUT {args.lut} of {len(tables)} does not exist")
    at = tables[args.lut]
    name = TABLE.search(lines[at])["name"]
    lines[at] = CONSTANT.sub(lambda constant: f"8'h{int(constant[1], 16) ^ 0xff:02x}", lines[at])
    args.output.write_text("\n".join(lines))
    print(f"{args.output.name}: LUT {args.lut} of {len(tables)} inverted, {name.removeprefix('assign ')}")


if __name__ == "__main__":
    main()
