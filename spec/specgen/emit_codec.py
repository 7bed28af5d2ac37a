# SPDX-License-Identifier: Apache-2.0
"""Writes the two halves of the agreement test: a module that converts with the package and lists its numbers, and the same
list for C++. Structures and numbers are matched by their index."""

from specgen.names import banner, c_constant, camel


def numbers(spec):
    """Every constant as (name, SystemVerilog expression, C++ expression, value)."""
    rows = []
    for c in spec.consts.values():
        if isinstance(c.value, dict):
            for profile, value in c.value.items():
                p = camel(profile)
                rows.append((f"{profile}.{c.name}", f"{p}Constants.{c.name}", f"k{p}Constants.{c.name}", value))
        else:
            rows.append((c.name, camel(c.name), c_constant(c.name), c.value))
    for t in spec.tables.values():
        for i, value in enumerate(t.data["values"]):
            rows.append((f"{t.name}[{i}]", f"{camel(t.name)}[{i}]", f"{c_constant(t.name)}[{i}]", value))
    for e in spec.enums.values():
        for v in e.data["values"]:
            rows.append((f"{e.name}.{v['name']}", camel(e.name) + camel(v["name"]),
                         f"{camel(e.name)}::{c_constant(v['name'])}", v["value"]))
    for f in spec.flags.values():
        for v in f.data["values"]:
            rows.append((f"{f.name}.{v['name']}", camel(f.name) + camel(v["name"]),
                         f"{camel(f.name)}::{c_constant(v['name'])}", 1 << v["bit"]))
    for s in spec.structs.values():
        rows.append((f"{s.name}.bytes", camel(s.name) + "Bytes", camel(s.name) + "::kBytes", s.bytes))
        for f in s.fields:
            if f.byte is not None and not f.name.startswith("reserved"):
                rows.append((f"{s.name}.{f.name}", camel(s.name) + camel(f.name) + "Offset",
                             f"{camel(s.name)}::{c_constant(f.name)}Offset", f.byte))
    for t in spec.tokens.values():
        rows.append((f"{t.name}.bits", f"$bits({t.name}_t)", camel(t.name) + "::kBits", t.bits))
    for r in spec.registers.values():
        rows.append((r.name, camel(r.name) + "Register", c_constant(r.name) + "Register", r.at))
    for c in spec.configs.values():
        for name, value in c.data["values"].items():
            rows.append((f"{c.name}.{name}", f"{camel(c.name)}.{name}", f"{c_constant(c.name)}.{name}", value))
    return rows


def emit_sv(spec):
    width = max(s.bytes for s in spec.structs.values()) * 8
    columns = spec.opcode_columns()
    info_bits = sum(bits for _, bits, _, _ in columns)
    out = [banner("//", "spec/*.toml"), f"""
// For the test that the package and the C++ header agree: converts any structure with the package's functions and outputs
// every number of the package by index. Not part of the device.
/* verilator lint_off UNUSEDSIGNAL */
module vireo_spec_codec
  import vireo_spec_pkg::*;
(
  input  logic [15:0] struct_i,
  input  logic [{width - 1}:0] bytes_i,
  output logic [{width - 1}:0] fields_o,  // unpacked: fields in order, each least significant bit first
  input  logic [{width - 1}:0] fields_i,
  output logic [{width - 1}:0] bytes_o,   // packed
  output logic [{width - 1}:0] icrc_ones_o,
  input  logic [15:0] number_i,
  output logic [63:0] number_o,
  input  logic [7:0]  opcode_i,
  output logic [{info_bits - 1}:0] opcode_info_o
);
"""]
    for struct in spec.structs.values():
        _converter(struct, out)
    out.append("\n  always_comb begin\n    fields_o = '0;\n    bytes_o = '0;\n    icrc_ones_o = '0;\n    unique case (struct_i)\n")
    for index, struct in enumerate(spec.structs.values()):
        bits = struct.bytes * 8
        mask = f"        icrc_ones_o[{bits - 1}:0] = pack_{struct.name}({camel(struct.name)}IcrcOnes);\n" if struct.has_icrc_mask else ""
        out.append(f"      16'd{index}: begin\n"
                   f"        fields_o[{bits - 1}:0] = {struct.name}_fields(unpack_{struct.name}(bytes_i[{bits - 1}:0]));\n"
                   f"        bytes_o[{bits - 1}:0] = pack_{struct.name}({struct.name}_of(fields_i[{bits - 1}:0]));\n{mask}      end\n")
    out.append("      default: ;\n    endcase\n  end\n\n  always_comb begin\n    unique case (number_i)\n")
    for index, (_, sv, _, _) in enumerate(numbers(spec)):
        out.append(f"      16'd{index}: number_o = 64'({sv});\n")
    out.append("      default: number_o = '0;\n    endcase\n  end\n\n  opcode_info_t info;\n  assign info = opcode_info(opcode_i);\n")
    position = 0
    for column, bits, _, _ in columns:
        out.append(f"  assign opcode_info_o[{position} +: {bits}] = info.{column};\n")
        position += bits
    out.append("\nendmodule\n/* verilator lint_on UNUSEDSIGNAL */\n")
    return "".join(out)


def _converter(struct, out):
    """Two functions between a structure and its fields laid end to end, written field by field."""
    bits = struct.bytes * 8
    out.append(f"\n  function automatic logic [{bits - 1}:0] {struct.name}_fields(input {struct.name}_t s);\n")
    lines = []
    for field in struct.fields:
        target = f"[{field.position} +: {field.width}]"
        reverse = struct.network and field.count > 1
        value = f"{{<<{field.bits}{{s.{field.name}}}}}" if reverse else f"s.{field.name}"
        lines.append((target, field.name, value, reverse, field.bits))
    for target, name, value, _, _ in lines:
        out.append(f"    {struct.name}_fields{target} = {value};\n")
    out.append(f"  endfunction\n  function automatic {struct.name}_t {struct.name}_of(input logic [{bits - 1}:0] fields);\n")
    for target, name, _, reverse, element in lines:
        value = f"{{<<{element}{{fields{target}}}}}" if reverse else f"fields{target}"
        out.append(f"    {struct.name}_of.{name} = {value};\n")
    out.append("  endfunction\n")


def emit_cc(spec):
    out = [banner("//", "spec/*.toml"), """
// For the test that the package and the C++ header agree: every structure and every number, in the order of vireo_spec_codec.sv.
#pragma once

#include "spec/gen/vireo_spec.h"

namespace vireo::spec {

// Calls f.template operator()<Struct>("name") for every structure.
template <typename F>
void ForEachStruct(F&& f) {
"""]
    out += [f'  f.template operator()<{camel(s.name)}>("{s.name}");\n' for s in spec.structs.values()]
    out.append("}\n\nstruct NamedNumber {\n  const char* name;\n  uint64_t value;\n};\n\ninline constexpr NamedNumber kNumbers[] = {\n")
    out += [f'    {{"{name}", static_cast<uint64_t>({cc})}},\n' for name, _, cc, _ in numbers(spec)]
    out.append("};\n\n}  // namespace vireo::spec\n")
    return "".join(out)
