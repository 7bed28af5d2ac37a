# SPDX-License-Identifier: Apache-2.0
"""Writes the Markdown reference: one chapter per file of the contract."""

from specgen.names import camel


def emit(spec):
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 -->\n",
           "<!-- Generated from spec/*.toml by spec/generate.py. Do not edit: change the TOML, then run ./vireo spec. -->\n",
           "# Reference of the contract\n\nEach chapter is one file of [spec/](../README.md); `./vireo spec --where NAME` names file "
           "and line of any entry.\n\n"]
    out += [f"- [{title}](#{_anchor(title)}): {_text(doc)} (`{home}`)\n" for home, title, doc, _ in spec.chapters]
    for home, title, doc, source in spec.chapters:
        out.append(f"\n## {title}\n\n{_text(doc)}\n\nHome: `spec/{home}`. Source: {source}.\n")
        for emit_kind in (_profiles, _consts, _tables, _enums, _opcodes, _commands, _structs, _tokens, _registers, _configs):
            emit_kind(spec, home, out)
    return "".join(out)


def _anchor(title):
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _text(text):
    return " ".join(text.split()).replace("|", "\\|")


def _ref(entry):
    return f" *({_text(entry.ref)})*" if getattr(entry, "ref", "") else ""


def _at(store, home):
    return [entry for entry in store.values() if entry.home == home]


def _table(out, head, rows):
    if rows:
        out.append("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n")
        out += ["| " + " | ".join(str(cell) for cell in row) + " |\n" for row in rows]


def _number(value):
    return f"{value}" if value < 10 else f"{value} ({value:#x})"


def _profiles(spec, home, out):
    _table(out, ("profile", "number", ""), [(p.name.replace("_", "-"), p.value, _text(p.doc)) for p in _at(spec.profiles, home)])


def _consts(spec, home, out):
    rows = []
    for c in _at(spec.consts, home):
        value = (", ".join(f"{k.replace('_', '-')}: {_number(v)}" for k, v in c.value.items()) if isinstance(c.value, dict)
                 else _number(c.value))
        rows.append((f"`{c.name}`", value + (f" {c.unit}" if c.unit else ""), _text(c.doc) + _ref(c)))
    _table(out, ("constant", "value", ""), rows)


def _tables(spec, home, out):
    for t in _at(spec.tables, home):
        out.append(f"\n### `{t.name}`\n\n{_text(t.doc)}{_ref(t)}\n\n")
        out.append("`" + ", ".join(str(v) for v in t.data["values"]) + "`" + (f" {t.unit}" if t.unit else "") + "\n")


def _enums(spec, home, out):
    for store, number, label in ((spec.enums, "value", "value"), (spec.flags, "bit", "bit")):
        for e in _at(store, home):
            if e.name == "bth_opcode":
                continue  # the opcode table shows it
            out.append(f"\n### `{e.name}`: {label}s of {e.bits} bits\n\n{_text(e.doc)}{_ref(e)}\n")
            errno = any(row["errno"] for row in e.data["values"]) if store is spec.enums else False
            _table(out, (label, "name", "") + (("errno",) if errno else ()),
                   [(_number(row[number]), f"`{row['name']}`", _text(row["doc"]) + _profile(row["profile"]))
                    + ((row["errno"],) if errno else ()) for row in e.data["values"]])


def _profile(profile):
    return f" [{profile} only]" if profile else ""


def _opcodes(spec, home, out):
    rows = [(f"{o.value:#04x}", f"`{o.name}`", o.operation, o.position, ", ".join(o.headers), o.payload, ", ".join(o.does), o.response)
            for o in _at(spec.opcodes, home)]
    if rows:
        out.append("\n### BTH opcodes\n")
    _table(out, ("opcode", "name", "operation", "position", "headers", "payload", "does", "response"), rows)


def _commands(spec, home, out):
    rows = []
    for c in _at(spec.commands, home):
        enum, value = c.command.split(".")
        number = next(v["value"] for v in spec.enums[enum].data["values"] if v["name"] == value)
        rows.append((f"`{c.data['class']}`", number, f"`{value}`", f"`{c.request}`" if c.request else "", f"`{c.response}`" if c.response else "",
                     ", ".join(c.errors), _text(c.doc) + _profile(c.profile)))
    if rows:
        out.append("\n### Control commands\n")
    _table(out, ("class", "number", "command", "request", "response", "errors", ""), rows)


def _structs(spec, home, out):
    registers = {r.name for r in spec.registers.values()}
    for s in _at(spec.structs, home):
        if s.name in registers:
            continue
        order = "network order" if s.network else "little-endian"
        out.append(f"\n### `{s.name}`: {s.bytes} bytes, {order}{_profile(s.profile)}\n\n{_text(s.doc)}{_ref(s)}\n")
        _table(out, ("byte", "bits", "field", ""), [_field_row(s, f) for f in s.fields])
        if s.tail:
            what = f"`{s.tail['struct']}`" if s.tail["struct"] else f"{s.tail['bits']} bits each"
            out.append(f"\nFollowed by `{s.tail['name']}[]`: {what}.\n")


def _tokens(spec, home, out):
    for t in _at(spec.tokens, home):
        out.append(f"\n### `{t.name}`: token of {t.bits} bits\n\n{_text(t.doc)}\n")
        rows = []
        for f in t.fields:
            kind = f"`{f.nested.name}`" if f.nested else f"8 × {f.bytes}" if f.bytes else str(f.bits)
            rows.append((kind, f"`{f.name}`", _text(f.doc) + (f"; `{f.enum}`" if f.enum else "")))
        _table(out, ("bits", "field", ""), rows)


def _field_row(struct, field):
    bit = field.position % 8
    at = str(field.position // 8)
    if bit or field.bits % 8:
        at += f".{7 - bit if struct.network else bit}"
    kind = f"`{field.struct.name}`" if field.struct else str(field.bits)
    if field.count:
        kind += f" × {field.count}"
    notes = [_text(field.doc)]
    notes += [f"`{name}`" for name in (field.enum, field.flags) if name]
    if field.union:
        notes.append("one of " + ", ".join(f"`{u}`" for u in field.union))
    if field.icrc_ones:
        notes.append("ones for the ICRC")
    if field.profile:
        notes.append(f"[{field.profile}; else reserved]")
    return at, kind, f"`{field.name}`", "; ".join(n for n in notes if n)


def _registers(spec, home, out):
    for block in _at(spec.regblocks, home):
        registers = [r for r in spec.registers.values() if r.block == block.name]
        out.append(f"\n### Register block `{block.name}`: {block.bytes} bytes, {block.data_bits}-bit registers\n\n{_text(block.doc)}\n")
        rows = []
        for r in registers:
            count = f" × {r.count}" if r.count > 1 else ""
            rows.append((f"{r.at:#05x}{count}", f"`{r.name}`", r.access, "" if r.reset is None else f"{r.reset:#x}", _text(r.doc)))
        _table(out, ("offset", "register", "access", "reset", ""), rows)
        for r in registers:
            if r.fields:
                out.append(f"\n`{r.name}`\n")
                _table(out, ("bit", "bits", "field", ""),
                       [(f.position, f.bits, f"`{f.name}`", _text(f.doc)) for f in spec.structs[r.name].fields])


def _configs(spec, home, out):
    configs = _at(spec.configs, home)
    parameters = _at(spec.parameters, home)
    if not parameters:
        return
    out.append("\n### Parameters and named configurations\n\n")
    out += [f"- `{c.name}`: {_text(c.doc)}\n" for c in configs]
    _table(out, ("parameter", "unit", "range", *(c.name for c in configs), ""),
           [(f"`{p.name}`", p.unit, f"{p.min} … {p.max}", *(c.data["values"][p.name] for c in configs),
             _text(p.doc) + (f". Without it the device does not offer {', '.join(f'`{f}`' for f in p.features)}" if p.features else ""))
            for p in parameters])
    rules = _at(spec.rules, home)
    if rules:
        out.append("\nRules between parameters, which every configuration keeps:\n")
        _table(out, ("rule", "required", ""), [(f"`{r.name}`", f"`{r.require}`", _text(r.doc)) for r in rules])
