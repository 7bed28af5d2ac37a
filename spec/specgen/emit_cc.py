# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ header: constants, enums, structures with Decode/Encode, the opcode table, registers, configurations."""

from specgen.model import Struct, Token
from specgen.names import banner, c_constant, c_literal, c_storage, c_unsigned, camel

HELPERS = """
namespace detail {

// Bits [position, position + width) of `bytes`, in network order (first bit most significant) or little-endian order (first bit
// least significant). A field touches at most 8 bytes; the generator refuses others.
template <size_t position, size_t width>
constexpr uint64_t GetNetwork(const uint8_t* bytes) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8, spare = 7 - (position + width - 1) % 8;
  uint64_t value = 0;
  for (size_t i = first; i <= last; ++i) value = value << 8 | bytes[i];
  return value >> spare & (~uint64_t{0} >> (64 - width));
}

template <size_t position, size_t width>
constexpr void PutNetwork(uint8_t* bytes, uint64_t value) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8, spare = 7 - (position + width - 1) % 8;
  value = (value & (~uint64_t{0} >> (64 - width))) << spare;
  for (size_t i = last + 1; i-- > first; value >>= 8) bytes[i] = static_cast<uint8_t>(bytes[i] | (value & 0xff));
}

template <size_t position, size_t width>
constexpr uint64_t GetLittle(const uint8_t* bytes) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8;
  uint64_t value = 0;
  for (size_t i = last + 1; i-- > first;) value = value << 8 | bytes[i];
  return value >> position % 8 & (~uint64_t{0} >> (64 - width));
}

template <size_t position, size_t width>
constexpr void PutLittle(uint8_t* bytes, uint64_t value) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8;
  value = (value & (~uint64_t{0} >> (64 - width))) << position % 8;
  for (size_t i = first; i <= last; ++i, value >>= 8) bytes[i] = static_cast<uint8_t>(bytes[i] | (value & 0xff));
}

constexpr void Clear(uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = 0;
}

}  // namespace detail
"""

INTRO = """
// The contract of Vireo as C++: the same numbers as vireo_spec_pkg.sv, for model, firmware, host and tests. Freestanding; no
// state, no allocation, everything constexpr.
//
// A structure's Decode(bytes) reads kBytes bytes, Encode(bytes) writes kBytes bytes; both carry reserved bits. Neither checks
// values: an enum-typed field can hold a number that has no enumerator. Visit(self, f) calls f(name, field, bits) for every
// scalar in the order of the bytes, arrays element by element. Little-endian structures of up to 8 bytes also convert from and
// to one word.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace vireo::spec {
"""


def emit(spec):
    out = [banner("//", "spec/*.toml"), INTRO, HELPERS]
    _profiles(spec, out)
    _consts(spec, out)
    for enum in spec.enums.values():
        _enum(enum, out)
    for flags in spec.flags.values():
        _flags(flags, out)
    for struct in spec.structs.values():
        _struct(spec, struct, out)
    for token in spec.tokens.values():
        _token(token, out)
    _opcodes(spec, out)
    _commands(spec, out)
    _registers(spec, out)
    _configs(spec, out)
    out.append("\n}  // namespace vireo::spec\n")
    return "".join(out)


def _doc(entry, indent=""):
    text = " ".join(entry.doc.split())
    ref = getattr(entry, "ref", "")
    return f"{indent}// {text}" + (f" [{ref}]" if ref else "") + f" ({entry.home})\n"


def _profiles(spec, out):
    if not spec.profiles:
        return
    out.append("\n// ABI profiles: chosen when a device is created. (profiles.toml)\nenum class Profile : uint8_t {\n")
    out += [f"  {c_constant(p.name)} = {p.value},  // {' '.join(p.doc.split())}\n" for p in spec.profiles.values()]
    varying = [c for c in spec.consts.values() if isinstance(c.value, dict)]
    out.append("};\n\n// Every number that differs between the profiles.\nstruct ProfileConstants {\n")
    out += [f"  {c_unsigned(c.bits)} {c.name};  // {' '.join(c.doc.split())}\n" for c in varying]
    out.append("};\n")
    for profile in spec.profiles.values():
        values = ", ".join(f".{c.name} = {_value(c.value[profile.name], c.bits)}" for c in varying)
        out.append(f"inline constexpr ProfileConstants {c_constant(profile.name)}Constants = {{{values}}};\n")
    out.append("constexpr const ProfileConstants& ConstantsOf(Profile profile) {\n  switch (profile) {\n")
    out += [f"    case Profile::{c_constant(p.name)}: return {c_constant(p.name)}Constants;\n" for p in spec.profiles.values()]
    default = c_constant(next(iter(spec.profiles)))
    out.append(f"  }}\n  return {default}Constants;\n}}\n")


def _value(value, bits):
    return ("true" if value else "false") if bits == 1 else c_literal(value, bits)


def _consts(spec, out):
    for const in spec.consts.values():
        if isinstance(const.value, dict):
            continue
        unit = f" Unit: {const.unit}." if const.unit else ""
        out.append("\n" + _doc(const).rstrip("\n") + unit + "\n")
        out.append(f"inline constexpr {c_storage(const.bits)} {c_constant(const.name)} = {c_literal(const.value, const.bits, decimal=const.value < 10000)};\n")
    for table in spec.tables.values():
        values = table.data["values"]
        out.append("\n" + _doc(table))
        out.append(f"inline constexpr {c_storage(table.bits)} {c_constant(table.name)}[{len(values)}] = {{\n")
        for i in range(0, len(values), 8):
            out.append("    " + ", ".join(c_literal(v, table.bits, decimal=True) for v in values[i:i + 8]) + ",\n")
        out.append("};\n")


def _enum(enum, out):
    name, rows = camel(enum.name), enum.data["values"]
    out.append(f"\n{_doc(enum)}enum class {name} : {c_storage(enum.bits)} {{\n")
    for row in rows:
        profile = f" [{row['profile']} profile]" if row["profile"] else ""
        comment = (row["doc"] + profile).strip()
        out.append(f"  {c_constant(row['name'])} = {c_literal(row['value'], enum.bits)}," + (f"  // {comment}" if comment else "") + "\n")
    out.append("};\n")
    out.append(f"// The contract's name of a value; null if it has none.\nconstexpr const char* ToString({name} value) {{\n  switch (value) {{\n")
    out += [f"    case {name}::{c_constant(row['name'])}: return \"{row['name']}\";\n" for row in rows]
    out.append("  }\n  return nullptr;\n}\n")
    if any(row["errno"] for row in rows):
        out.append(f"// The errno that a verbs call returns for it; null if it has none.\nconstexpr const char* ErrnoOf({name} value) {{\n"
                   "  switch (value) {\n")
        for row in rows:
            result = f'"{row["errno"]}"' if row["errno"] else "nullptr"
            out.append(f"    case {name}::{c_constant(row['name'])}: return {result};\n")
        out.append("  }\n  return nullptr;\n}\n")


def _flags(flags, out):
    kind = c_storage(flags.bits)
    out.append(f"\n{_doc(flags)}struct {camel(flags.name)} {{\n")
    for row in flags.data["values"]:
        profile = f" [{row['profile']} profile]" if row["profile"] else ""
        out.append(f"  static constexpr {kind} {c_constant(row['name'])} = {c_literal(1 << row['bit'], flags.bits)};"
                   f"  // {row['doc']}{profile}\n")
    out.append("};\n")


def _field_type(field):
    if field.struct:
        return camel(field.struct.name)
    if field.enum:
        return camel(field.enum)
    return c_unsigned(field.bits) if not field.count else c_storage(field.bits)


def _struct(spec, struct, out):
    name = camel(struct.name)
    order = "Network order" if struct.network else "Little-endian"
    out.append(f"\n{_doc(struct)}// {order}, {struct.bytes} bytes.")
    if struct.profile:
        out.append(f" Only in the {struct.profile} profile.")
    if struct.tail:
        what = camel(struct.tail["struct"]) if struct.tail["struct"] else f"{struct.tail['bits'] // 8}-byte values"
        out.append(f" Followed by {struct.tail['name']}[]: {what}.")
    out.append(f"\nstruct {name} {{\n  static constexpr size_t kBytes = {struct.bytes};\n")
    if struct.tail and not struct.tail["struct"]:
        out.append(f"  static constexpr size_t {c_constant(struct.tail['name'])}EntryBytes = {struct.tail['bits'] // 8};\n")
    for field in struct.fields:
        if field.byte is not None and not field.name.startswith("reserved"):
            out.append(f"  static constexpr size_t {c_constant(field.name)}Offset = {field.byte};\n")
    if struct.has_icrc_mask:
        mask = _icrc_mask(struct)
        out.append("  // Bits that the ICRC calculation replaces with ones.\n"
                   f"  static constexpr uint8_t kIcrcOnes[kBytes] = {{{', '.join(f'{b:#04x}' for b in mask)}}};\n")
    for field in struct.fields:
        array = f"[{field.count}]" if field.count else ""
        notes = field.doc
        if field.flags:
            notes += f"; flags: {camel(field.flags)}"
        if field.union:
            notes += "; one of " + ", ".join(camel(u) for u in field.union)
        if field.profile:
            notes += f" [{field.profile} profile; else reserved]"
        out.append(f"  {_field_type(field)} {field.name}{array}{{}};  // {notes}\n")
    _codec(struct, name, out)
    out.append(f"\n  friend constexpr bool operator==(const {name}&, const {name}&) = default;\n}};\n")


def _icrc_mask(struct):
    bits = 0
    total = struct.bytes * 8
    for field in struct.fields:
        if field.icrc_ones:
            bits |= ((1 << field.width) - 1) << (total - field.position - field.width)
    return bits.to_bytes(struct.bytes, "big")


def _codec(struct, name, out):
    order = "Network" if struct.network else "Little"
    out.append(f"\n  static constexpr {name} Decode(const uint8_t* bytes) {{\n    {name} result;\n")
    for field in struct.fields:
        out.append("    " + _decode(field, order) + "\n")
    out.append("    return result;\n  }\n  constexpr void Encode(uint8_t* bytes) const {\n    detail::Clear(bytes, kBytes);\n")
    for field in struct.fields:
        out.append("    " + _encode(field, order) + "\n")
    out.append("  }\n  template <typename Self, typename F>\n  static constexpr void Visit(Self& self, F&& f) {\n")
    for field in struct.fields:
        element = f"self.{field.name}" + ("[i]" if field.count else "")
        visit = (f"{camel(field.struct.name)}::Visit({element}, f);" if field.struct
                 else f'f("{field.name}", {element}, {field.bits});')
        loop = f"for (size_t i = 0; i < {field.count}; ++i) " if field.count else ""
        out.append(f"    {loop}{visit}\n")
    out.append("  }\n")
    if not struct.network and struct.bytes in (1, 2, 4, 8):
        word = c_unsigned(struct.bytes * 8) if struct.bytes > 1 else "uint8_t"
        out.append(f"  static constexpr {name} FromWord({word} word) {{\n    uint8_t bytes[kBytes]{{}};\n"
                   f"    detail::PutLittle<0, {struct.bytes * 8}>(bytes, word);\n    return Decode(bytes);\n  }}\n"
                   f"  constexpr {word} ToWord() const {{\n    uint8_t bytes[kBytes]{{}};\n    Encode(bytes);\n"
                   f"    return static_cast<{word}>(detail::GetLittle<0, {struct.bytes * 8}>(bytes));\n  }}\n")


def _decode(field, order):
    if field.struct:
        step = field.struct.bytes
        if field.count:
            return (f"for (size_t i = 0; i < {field.count}; ++i) "
                    f"result.{field.name}[i] = {camel(field.struct.name)}::Decode(bytes + {field.byte} + i * {step});")
        return f"result.{field.name} = {camel(field.struct.name)}::Decode(bytes + {field.byte});"
    cast = _field_type(field)
    if field.count:
        return (f"for (size_t i = 0; i < {field.count}; ++i) result.{field.name}[i] = "
                f"static_cast<{cast}>(detail::Get{order}<0, {field.bits}>(bytes + {field.byte} + i * {field.bits // 8}));")
    return f"result.{field.name} = static_cast<{cast}>(detail::Get{order}<{field.position}, {field.bits}>(bytes));"


def _encode(field, order):
    if field.struct:
        if field.count:
            return f"for (size_t i = 0; i < {field.count}; ++i) {field.name}[i].Encode(bytes + {field.byte} + i * {field.struct.bytes});"
        return f"{field.name}.Encode(bytes + {field.byte});"
    if field.count:
        return (f"for (size_t i = 0; i < {field.count}; ++i) "
                f"detail::Put{order}<0, {field.bits}>(bytes + {field.byte} + i * {field.bits // 8}, {field.name}[i]);")
    value = f"static_cast<uint64_t>({field.name})"
    return f"detail::Put{order}<{field.position}, {field.bits}>(bytes, {value});"


def _token(token, out):
    name = camel(token.name)
    out.append(f"\n{_doc(token)}struct {name} {{\n  static constexpr size_t kBits = {token.bits};\n")
    for field in token.fields:
        kind = camel(field.nested.name) if field.nested else camel(field.enum) if field.enum else c_unsigned(field.bits or 8)
        array = f"[{field.bytes}]" if field.bytes else ""
        out.append(f"  {kind} {field.name}{array}{{}};  // {field.doc}\n")
    out.append("  template <typename Self, typename F>\n  static constexpr void Visit(Self& self, F&& f) {\n")
    for field in token.fields:
        _visit_from_top(field.nested, field.bits, field.bytes, f"self.{field.name}", field.name, True, out)
    out.append(f"  }}\n\n  friend constexpr bool operator==(const {name}&, const {name}&) = default;\n}};\n")


def _visit_from_top(nested, bits, count, element, name, downwards, out):
    """Visits a field from its most significant end: arrays from the last element down, but for byte strings in network order."""
    if nested is None:
        if not count:
            out.append(f'    f("{name}", {element}, {bits});\n')
        elif downwards:
            out.append(f'    for (size_t i = {count}; i-- > 0;) f("{name}", {element}[i], {bits or 8});\n')
        else:
            out.append(f'    for (size_t i = 0; i < {count}; ++i) f("{name}", {element}[i], {bits or 8});\n')
        return
    if isinstance(nested, Token) or (isinstance(nested, Struct) and nested.network):
        out.append(f"    {camel(nested.name)}::Visit({element}, f);\n")
        return
    for field in reversed(nested.fields):
        if field.struct and field.count:
            raise ValueError(f"token with an array of structures: {nested.name}.{field.name}")
        _visit_from_top(field.struct, field.bits, field.count, f"{element}.{field.name}", field.name, True, out)


def _opcodes(spec, out):
    if not spec.opcodes:
        return
    out.append("\n// One row of the BTH opcode table. Offsets count from the first byte of the BTH. (opcodes.toml)\nstruct OpcodeInfo {\n")
    for column, bits, enum, _ in spec.opcode_columns():
        out.append(f"  {camel(enum) if enum else c_unsigned(bits)} {column}{{}};\n")
    out.append("  template <typename Self, typename F>\n  static constexpr void Visit(Self& self, F&& f) {\n")
    out += [f'    f("{column}", self.{column}, {bits});\n' for column, bits, _, _ in spec.opcode_columns()]
    out.append("  }\n};\n\n// By opcode; rows that are not valid are all zero.\ninline constexpr OpcodeInfo kOpcodeInfo[256] = {\n")
    by_value = {o.value: o for o in spec.opcodes.values()}
    for value in range(256):
        opcode = by_value.get(value)
        if opcode is None:
            out.append("    {},\n")
            continue
        cells = []
        for column, bits, enum, cell in spec.opcode_columns(opcode):
            if cell:
                text = f"{camel(enum)}{{{cell}}}" if enum else ("true" if bits == 1 else str(cell))
                cells.append(f".{column} = {text}")
        # Designated initializers in column order; what is not named is zero.
        out.append(f"    /* {opcode.name} */ {{{', '.join(cells)}}},\n")
    out.append("};\n")


def _commands(spec, out):
    if not spec.commands:
        return
    out.append("\n// One command of the control virtqueue. (net.toml, roce.toml)\nstruct CommandInfo {\n"
               "  const char* name;\n  uint8_t command;\n  uint16_t request_bytes;   // fixed part after the 2-byte header\n"
               "  uint16_t response_bytes;  // after the ack byte\n  bool request_has_tail;\n  bool vireo_only;\n};\n")
    classes = dict.fromkeys(c.data["class"] for c in spec.commands.values())
    for cls in classes:
        rows = [c for c in spec.commands.values() if c.data["class"] == cls]
        name = camel(cls.replace("net_ctrl_class", "net_ctrl").replace(".", "_"))
        out.append(f"inline constexpr CommandInfo k{name}Commands[{len(rows)}] = {{\n")
        for row in rows:
            enum, value = row.command.split(".")
            number = next(v["value"] for v in spec.enums[enum].data["values"] if v["name"] == value)
            request = spec.structs[row.request] if row.request else None
            response = spec.structs[row.response] if row.response else None
            out.append(f'    {{"{value}", {number}, {request.bytes if request else 0}, {response.bytes if response else 0}, '
                       f"{'true' if request and request.tail else 'false'}, {'true' if row.profile else 'false'}}},\n")
        out.append("};\n")


def _registers(spec, out):
    if not spec.regblocks:
        return
    out.append("\n// Management registers. (csr.toml)\nenum class Access : uint8_t { kRo, kRw, kWo, kW1c, kRc };\n"
               "struct RegisterInfo {\n  const char* name;\n  uint32_t offset;  // bytes in the block\n  uint32_t count;\n  Access access;\n"
               "  bool has_reset;\n  uint32_t reset;\n};\n")
    for block in spec.regblocks.values():
        registers = [r for r in spec.registers.values() if r.block == block.name]
        out.append(f"inline constexpr uint32_t {c_constant(block.name)}Bytes = {block.bytes:#x}u;\n")
        for register in registers:
            out.append(f"inline constexpr uint32_t {c_constant(register.name)}Register = {register.at:#x}u;"
                       f"  // {' '.join(register.doc.split())}\n")
        out.append(f"inline constexpr RegisterInfo {c_constant(block.name)}Registers[{len(registers)}] = {{\n")
        for r in registers:
            reset = r.reset is not None
            out.append(f'    {{"{r.name}", {r.at:#x}u, {r.count}u, Access::k{r.access.capitalize()}, '
                       f"{'true' if reset else 'false'}, {r.reset if reset else 0:#x}u}},\n")
        out.append("};\n")


def _configs(spec, out):
    if not spec.parameters:
        return
    out.append("\n// Build parameters; a named configuration is one set of them. (configs.toml)\nstruct Config {\n  const char* name;\n")
    for parameter in spec.parameters.values():
        unit = f" [{parameter.unit}]" if parameter.unit else ""
        out.append(f"  uint32_t {parameter.name};  // {' '.join(parameter.doc.split())}{unit}\n")
    out.append("};\n")
    for config in spec.configs.values():
        values = "".join(f"    .{name} = {config.data['values'][name]}u,\n" for name in spec.parameters)
        out.append(f"// {' '.join(config.doc.split())}\ninline constexpr Config {c_constant(config.name)} = {{\n"
                   f'    .name = "{config.name}",\n{values}}};\n')
    switches = [p for p in spec.parameters.values() if p.features]
    if switches:
        out.append("// Feature bits that a device of this configuration does not offer.\n"
                   "constexpr uint64_t FeaturesWithheld(const Config& config) {\n  uint64_t bits = 0;\n")
        for switch in switches:
            mask = sum(1 << spec.feature_bit(feature) for feature in switch.features)
            out.append(f"  if (config.{switch.name} == 0) bits |= {mask:#x}u;  // {', '.join(switch.features)}\n")
        out.append("  return bits;\n}\n")
    names = ", ".join(f"&{c_constant(c)}" for c in spec.configs)
    out.append(f"inline constexpr const Config* kConfigs[{len(spec.configs)}] = {{{names}}};\n")
