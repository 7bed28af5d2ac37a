# SPDX-License-Identifier: Apache-2.0
"""Writes the SystemVerilog package: the same numbers and structures as the C++ header."""

from specgen.names import banner, camel, sv_literal

INTRO = """
// The contract of Vireo as SystemVerilog: the same numbers as vireo_spec.h. Constants, types and pure functions only.
//
// A structure `x_t` holds fields by value. unpack_x and pack_x convert from and to its bytes as they lie in memory or on a
// stream: byte k in bits [8k +: 8]. Byte strings of network-order structures are vectors whose first byte is the most
// significant; arrays of little-endian structures are indexed, element 0 first in memory.

/* verilator lint_off UNUSEDPARAM */
package vireo_spec_pkg;
"""


def emit(spec):
    out = [banner("//", "spec/*.toml"), INTRO]
    _consts(spec, out)
    for enum in spec.enums.values():
        _enum(enum, out)
    for flags in spec.flags.values():
        _flags(flags, out)
    _profiles(spec, out)
    for struct in spec.structs.values():
        _struct(struct, out)
    for token in spec.tokens.values():
        _token(token, out)
    _opcodes(spec, out)
    _registers(spec, out)
    _configs(spec, out)
    out.append("\nendpackage\n/* verilator lint_on UNUSEDPARAM */\n")
    return "".join(out)


def _doc(entry):
    text = " ".join(entry.doc.split())
    ref = getattr(entry, "ref", "")
    return f"\n  // {text}" + (f" [{ref}]" if ref else "") + f" ({entry.home})\n"


def _range(bits):
    return "" if bits == 1 else f"[{bits - 1}:0] "


def _parameter(name, value, bits):
    return f"  localparam logic {_range(bits)}{name} = {sv_literal(value, bits)};\n"


def _consts(spec, out):
    for const in spec.consts.values():
        if not isinstance(const.value, dict):
            out.append(_doc(const) + _parameter(camel(const.name), const.value, const.bits))
    for table in spec.tables.values():
        values = table.data["values"]
        out.append(_doc(table) + f"  localparam logic [{len(values) - 1}:0][{table.bits - 1}:0] {camel(table.name)} = {{\n")
        out.append(",\n".join(f"    {sv_literal(v, table.bits)}" for v in reversed(values)) + "\n  };\n")


def _enum(enum, out):
    rows = enum.data["values"]
    out.append(_doc(enum) + f"  typedef enum logic {_range(enum.bits)}{{\n")
    out.append(",\n".join(f"    {camel(enum.name)}{camel(r['name'])} = {sv_literal(r['value'], enum.bits)}" for r in rows))
    out.append(f"\n  }} {enum.name}_e;\n")


def _flags(flags, out):
    out.append(_doc(flags))
    for row in flags.data["values"]:
        out.append(_parameter(camel(flags.name) + camel(row["name"]), 1 << row["bit"], flags.bits))


def _profiles(spec, out):
    if not spec.profiles:
        return
    varying = [c for c in spec.consts.values() if isinstance(c.value, dict)]
    out.append("\n  // Every number that differs between the ABI profiles. (profiles.toml)\n  typedef struct packed {\n")
    out += [f"    logic {_range(c.bits)}{c.name};\n" for c in varying]
    out.append("  } profile_constants_t;\n")
    for profile in spec.profiles.values():
        out.append(f"  localparam profile_constants_t {camel(profile.name)}Constants = '{{\n")
        out.append(",\n".join(f"    {c.name}: {sv_literal(c.value[profile.name], c.bits)}" for c in varying) + "\n  };\n")


def field_type(struct, field):
    """SystemVerilog type of a field, with a trailing space."""
    if field.struct:
        return f"{field.struct.name}_t " + (f"[{field.count - 1}:0] " if field.count else "")
    if not field.count:
        return f"logic {_range(field.bits)}"
    if struct.network:
        return f"logic [{field.width - 1}:0] "
    return f"logic [{field.count - 1}:0][{field.bits - 1}:0] "


def _swapped(value, count):
    """The bytes of a vector in the opposite order; {<<8{...}} is a loop over single bits in Verilated code."""
    parts = [f"{value}[{8 * i} +: 8]" for i in range(count)]
    lines = [", ".join(parts[at:at + 6]) for at in range(0, count, 6)]
    return "{" + ",\n            ".join(lines) + "}"


def _struct(struct, out):
    name = camel(struct.name)
    out.append(_doc(struct) + f"  localparam int unsigned {name}Bytes = {struct.bytes};\n")
    if struct.tail and not struct.tail["struct"]:
        out.append(f"  localparam int unsigned {name}{camel(struct.tail['name'])}EntryBytes = {struct.tail['bits'] // 8};\n")
    for field in struct.fields:
        if field.byte is not None and not field.name.startswith("reserved"):
            out.append(f"  localparam int unsigned {name}{camel(field.name)}Offset = {field.byte};\n")
    out.append("  typedef struct packed {\n")
    # A packed structure lists its most significant member first: the first field in network order, the last in little-endian.
    for field in struct.fields if struct.network else reversed(struct.fields):
        note = f"  // {field.enum}_e" if field.enum else ""
        out.append(f"    {field_type(struct, field)}{field.name};{note}\n")
    width = struct.bytes * 8
    out.append(f"  }} {struct.name}_t;\n")
    swapped = struct.network and struct.bytes > 1
    into, back = (_swapped(x, struct.bytes) if swapped else x for x in ("bytes", "fields"))
    out.append(f"  function automatic {struct.name}_t unpack_{struct.name}(input logic [{width - 1}:0] bytes);\n"
               f"    return {struct.name}_t'({into});\n  endfunction\n"
               f"  function automatic logic [{width - 1}:0] pack_{struct.name}(input {struct.name}_t fields);\n"
               f"    return {back};\n  endfunction\n")
    if struct.has_icrc_mask:
        members = ", ".join(f"{f.name}: {f.width}'h{((1 << f.width) - 1 if f.icrc_ones else 0):x}" for f in struct.fields)
        out.append(f"  // Bits that the ICRC calculation replaces with ones.\n"
                   f"  localparam {struct.name}_t {name}IcrcOnes = '{{{members}}};\n")


def _token(token, out):
    out.append(_doc(token) + "  typedef struct packed {\n")
    for field in token.fields:
        kind = f"{field.nested.name}_t " if field.nested else f"logic {_range(field.bits or 8 * field.bytes)}"
        note = f"  // {field.enum}_e" if field.enum else ""
        out.append(f"    {kind}{field.name};{note}\n")
    out.append(f"  }} {token.name}_t;\n  localparam int unsigned {camel(token.name)}Bits = {token.bits};\n")


def _opcodes(spec, out):
    if not spec.opcodes:
        return
    out.append("\n  // One row of the BTH opcode table. Offsets count from the first byte of the BTH. (opcodes.toml)\n"
               "  typedef struct packed {\n")
    columns = spec.opcode_columns()
    out += [f"    logic {_range(bits)}{column};" + (f"  // {enum}_e" if enum else "") + "\n" for column, bits, enum, _ in columns]
    out.append("  } opcode_info_t;\n\n  // The row of an opcode; all zero if the opcode is not supported.\n"
               "  function automatic opcode_info_t opcode_info(input logic [7:0] opcode);\n    unique case (opcode)\n")
    for opcode in spec.opcodes.values():
        cells = ", ".join(f"{column}: {sv_literal(cell, bits)}" for column, bits, _, cell in spec.opcode_columns(opcode) if cell)
        out.append(f"      BthOpcode{camel(opcode.name)}:\n        opcode_info = '{{{cells}, default: '0}};\n")
    out.append("      default: opcode_info = '0;\n    endcase\n  endfunction\n")


def _registers(spec, out):
    for block in spec.regblocks.values():
        out.append(f"\n  // Management registers: byte offsets and reset values. (csr.toml)\n"
                   f"  localparam int unsigned {camel(block.name)}Bytes = {block.bytes};\n")
        for register in spec.registers.values():
            if register.block != block.name:
                continue
            name = camel(register.name)
            bits = (block.bytes - 1).bit_length()
            out.append(f"  localparam logic [{bits - 1}:0] {name}Register = {sv_literal(register.at, bits)};\n")
            if register.reset is not None:
                out.append(f"  localparam logic [{block.data_bits - 1}:0] {name}Reset = {sv_literal(register.reset, block.data_bits)};\n")


def _configs(spec, out):
    if not spec.parameters:
        return
    out.append("\n  // Build parameters; a named configuration is one set of them. (configs.toml)\n  typedef struct packed {\n")
    out += [f"    int unsigned {name};\n" for name in spec.parameters]
    out.append("  } config_t;\n")
    for config in spec.configs.values():
        values = ",\n".join(f"    {name}: {config.data['values'][name]}" for name in spec.parameters)
        out.append(f"  // {' '.join(config.doc.split())}\n  localparam config_t {camel(config.name)} = '{{\n{values}\n  }};\n")
    switches = [p for p in spec.parameters.values() if p.features]
    if switches:
        out.append("  // Feature bits that a device of this configuration does not offer.\n"
                   "  // verilator lint_off UNUSEDSIGNAL\n"
                   "  function automatic logic [63:0] features_withheld(input config_t config_i);\n    features_withheld = '0;\n")
        for switch in switches:
            mask = sum(1 << spec.feature_bit(feature) for feature in switch.features)
            out.append(f"    if (config_i.{switch.name} == 0) features_withheld |= {sv_literal(mask, 64)};  // {', '.join(switch.features)}\n")
        out.append("  endfunction\n  // verilator lint_on UNUSEDSIGNAL\n")
    out.append("  // All of them, for a module whose parameter is a number.\n")
    out += [f"  localparam int unsigned {camel(config)}Index = {i};\n" for i, config in enumerate(spec.configs)]
    out.append(f"  localparam config_t [{len(spec.configs) - 1}:0] Configs = {{{', '.join(camel(c) for c in reversed(spec.configs))}}};\n")
