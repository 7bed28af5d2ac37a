# SPDX-License-Identifier: Apache-2.0
"""The contract in memory: reads spec/*.toml, refuses contradictions, resolves references.

Every refusal is a SpecError that names file, entry and field. Nothing here knows an output language.
"""

import dataclasses
import pathlib
import re
import tomllib

from specgen import expression
from specgen.names import RESERVED_WORDS

SNAKE = re.compile(r"[a-z][a-z0-9_]*\Z")
ACCESS = ("ro", "rw", "wo", "w1c", "rc")
PAYLOAD_RULES = {"none": "none", "mtu": "mtu", "1..mtu": "one_to_mtu", "0..mtu": "zero_to_mtu"}
TRAITS = ("is_response", "consumes_recv", "completes_recv", "may_solicit")


class SpecError(Exception):
    """A contradiction in the contract: 'file: entry: field: what is wrong'."""


@dataclasses.dataclass
class Field:
    name: str
    position: int  # in bits from the start of the structure, in the order of the structure
    bits: int  # of one element
    count: int  # 0: a scalar
    doc: str
    struct: "Struct | None" = None
    union: list = dataclasses.field(default_factory=list)
    enum: str = ""
    flags: str = ""
    icrc_ones: bool = False
    profile: str = ""

    @property
    def width(self):
        return self.bits * max(1, self.count)

    @property
    def byte(self):
        """Byte offset, or None if the field does not start on a byte."""
        return self.position // 8 if self.position % 8 == 0 and self.bits % 8 == 0 else None


@dataclasses.dataclass
class Struct:
    name: str
    network: bool
    bytes: int
    fields: list
    doc: str
    ref: str
    home: str
    tail: dict | None = None
    profile: str = ""

    @property
    def has_icrc_mask(self):
        return any(f.icrc_ones for f in self.fields)


@dataclasses.dataclass
class TokenField:
    name: str
    bits: int  # of a scalar, else 0
    bytes: int  # of a byte string, else 0
    nested: "Struct | Token | None"
    enum: str
    doc: str


@dataclasses.dataclass
class Token:
    """Data passed between blocks: shared by RTL and model, never in memory or on a wire."""

    name: str
    fields: list
    bits: int
    doc: str
    home: str


@dataclasses.dataclass
class Entry:
    """Any other table of the contract; `data` holds its keys as written, defaults filled in."""

    name: str
    home: str
    data: dict

    def __getattr__(self, key):
        try:
            return self.data[key]
        except KeyError:
            raise AttributeError(key) from None


# Keys that a table may have: name -> (type, default); a default of ... makes the key mandatory.
KEYS = {
    "profile": {"value": (int, ...), "doc": (str, ...)},
    "const": {"value": ((int, dict), ...), "bits": (int, ...), "unit": (str, ""), "doc": (str, ...), "ref": (str, "")},
    "table": {"values": (list, ...), "bits": (int, ...), "unit": (str, ""), "doc": (str, ...), "ref": (str, "")},
    "enum": {"bits": (int, ...), "values": (list, ...), "doc": (str, ...), "ref": (str, "")},
    "flags": {"bits": (int, ...), "values": (list, ...), "doc": (str, ...), "ref": (str, "")},
    "struct": {"order": (str, ...), "bytes": (int, ...), "fields": (list, ...), "doc": (str, ...), "ref": (str, ""),
               "tail": (dict, {}), "profile": (str, "")},
    "token": {"fields": (list, ...), "doc": (str, ...)},
    "opcode": {"value": (int, ...), "operation": (str, ...), "position": (str, ...), "headers": (list, ...),
               "payload": (str, ...), "does": (list, ...), "response": (str, ...)},
    "command": {"class": (str, ...), "command": (str, ...), "request": (str, ...), "response": (str, ...),
                "errors": (list, []), "profile": (str, ""), "doc": (str, ...)},
    "regblock": {"bytes": (int, ...), "data_bits": (int, ...), "doc": (str, ...)},
    "register": {"block": (str, ...), "at": (int, ...), "access": (str, ...), "reset": (int, None), "count": (int, 1),
                 "doc": (str, ...), "fields": (list, [])},
    "parameter": {"min": (int, ...), "max": (int, ...), "pow2": (bool, False), "unit": (str, ""), "features": (list, []),
                  "doc": (str, ...)},
    "config": {"doc": (str, ...), "values": (dict, ...)},
    "rule": {"require": (str, ...), "doc": (str, ...)},
}
VALUE_KEYS = {"enum": {"value": (int, ...), "doc": (str, ...), "profile": (str, ""), "errno": (str, "")},
              "flags": {"bit": (int, ...), "doc": (str, ...), "profile": (str, "")}}
FIELD_KEYS = {"at": ((int, str), ...), "bits": (int, 0), "bytes": (int, 0), "count": (int, 0), "struct": (str, ""),
              "union": (list, []), "enum": (str, ""), "flags": (str, ""), "icrc": (str, ""), "profile": (str, ""),
              "doc": (str, ...)}
TOKEN_FIELD_KEYS = {"bits": (int, 0), "bytes": (int, 0), "struct": (str, ""), "token": (str, ""), "enum": (str, ""),
                    "doc": (str, ...)}
TAIL_KEYS = {"struct": (str, ""), "bits": (int, 0), "doc": (str, "")}

# A configuration withholds only features below this.
FEATURE_BITS = 64


class Spec:
    """The whole contract. Attributes are dicts by name in the order of the files."""

    def __init__(self, folder):
        self.chapters = []  # (file name, title, doc, source)
        self.profiles, self.consts, self.tables, self.enums, self.flags = {}, {}, {}, {}, {}
        self.structs, self.tokens, self.opcodes, self.commands = {}, {}, {}, {}
        self.regblocks, self.registers, self.parameters, self.configs, self.rules = {}, {}, {}, {}, {}
        raw = []
        files = sorted(pathlib.Path(folder).glob("*.toml"))
        if not files:
            raise SpecError(f"{folder}: no *.toml files here")
        for path in files:
            try:
                document = tomllib.loads(path.read_text(encoding="utf-8"))
            except tomllib.TOMLDecodeError as error:
                raise SpecError(f"{path.name}: {error}") from error
            raw.append((path.name, document))
        for home, document in raw:
            self._load_chapter(home, document)
        self._derive_opcode_enum()
        self._resolve_structs()
        self._resolve_tokens()
        self._check_references()

    # --- reading -----------------------------------------------------------------------------------------------------

    def _load_chapter(self, home, document):
        for key in ("title", "doc", "source"):
            if not isinstance(document.get(key), str):
                raise SpecError(f"{home}: needs a string `{key}` at its head")
        self.chapters.append((home, document["title"], document["doc"], document["source"]))
        for kind, rows in document.items():
            if kind in ("title", "doc", "source"):
                continue
            if kind not in KEYS:
                raise SpecError(f"{home}: unknown table [[{kind}]]")
            for row in rows:
                row = dict(row)
                name = row.pop("name", None)
                if kind == "command":
                    name = str(row.get("class")) + ":" + str(row.get("command"))
                elif kind == "register":
                    name = f"{row.get('block')}_{name}"
                elif kind == "profile":
                    name = str(name).replace("-", "_")
                if not isinstance(name, str) or (kind != "command" and not SNAKE.match(name)):
                    raise SpecError(f"{home}: [[{kind}]] needs a snake_case name, not {name!r}")
                where = f"{home}: {kind} {name}"
                data = _with_defaults(where, row, KEYS[kind])
                home_of = self._store(kind)
                if name in home_of:
                    raise SpecError(f"{where}: the name is taken in {home_of[name].home}")
                home_of[name] = Entry(name, home, data)
                check = getattr(self, f"_check_{kind}", None)
                if check:
                    check(where, home_of[name])

    def _store(self, kind):
        return getattr(self, {"opcode": "opcodes", "command": "commands", "flags": "flags"}.get(kind, kind + "s"))

    def _check_const(self, where, const):
        values = const.value.values() if isinstance(const.value, dict) else [const.value]
        for value in values:
            _fits(where, value, const.bits)

    def _check_table(self, where, table):
        for index, value in enumerate(table.values):
            _fits(f"{where}: [{index}]", value, table.bits)

    def _check_enum(self, where, enum):
        self._check_values(where, enum, "enum", lambda v: v["value"], 1 << enum.bits)

    def _check_flags(self, where, flags):
        self._check_values(where, flags, "flags", lambda v: v["bit"], flags.bits)

    def _check_values(self, where, entry, kind, number, limit):
        names, numbers = set(), {}
        rows = []
        for row in entry.data["values"]:
            row = dict(row)
            name = row.pop("name", "")
            here = f"{where}: {name or row}"
            if not SNAKE.match(name):
                raise SpecError(f"{here}: needs a snake_case name")
            row = _with_defaults(here, row, VALUE_KEYS[kind]) | {"name": name}
            if name in names:
                raise SpecError(f"{here}: the name appears twice")
            if number(row) in numbers:
                raise SpecError(f"{here}: has the same number {number(row)} as {numbers[number(row)]}")
            if not 0 <= number(row) < limit:
                raise SpecError(f"{here}: {number(row)} does not fit in {entry.bits} bits")
            names.add(name)
            numbers[number(row)] = name
            rows.append(row)
        entry.data["values"] = rows

    def _check_opcode(self, where, opcode):
        _fits(where, opcode.value, 8)
        for other in self.opcodes.values():
            if other is not opcode and other.value == opcode.value:
                raise SpecError(f"{where}: has the same number {opcode.value:#04x} as {other.name}")
        for trait in opcode.does:
            if trait not in TRAITS:
                raise SpecError(f"{where}: does: unknown trait {trait!r}")
        rule = PAYLOAD_RULES.get(opcode.payload)
        if rule is None and not opcode.payload.isdigit():
            raise SpecError(f"{where}: payload: {opcode.payload!r} is none of {sorted(PAYLOAD_RULES)} or a number")
        opcode.data["payload_rule"] = rule or "exact"
        opcode.data["payload_exact"] = 0 if rule else int(opcode.payload)

    def _check_register(self, where, register):
        if register.access not in ACCESS:
            raise SpecError(f"{where}: access: {register.access!r} is none of {ACCESS}")

    def _check_parameter(self, where, parameter):
        if not 0 <= parameter.min <= parameter.max < 1 << 32:
            raise SpecError(f"{where}: needs 0 <= min <= max < 2^32")

    def _derive_opcode_enum(self):
        if self.opcodes:
            home = next(iter(self.opcodes.values())).home
            values = [{"name": o.name, "value": o.value, "doc": "", "profile": "", "errno": ""} for o in self.opcodes.values()]
            self.enums["bth_opcode"] = Entry("bth_opcode", home, {"bits": 8, "values": values, "ref": "",
                                                                  "doc": "BTH opcodes; their meaning: the opcode table."})

    # --- resolving ---------------------------------------------------------------------------------------------------

    def _resolve_structs(self):
        rows, self.structs = self.structs, {}

        def resolve(name, user):
            if name in self.structs:
                return self.structs[name]
            if name not in rows:
                raise SpecError(f"{user}: no structure is called {name!r}")
            entry = rows[name]
            where = f"{entry.home}: struct {name}"
            if entry.order not in ("network", "little"):
                raise SpecError(f"{where}: order: {entry.order!r} is neither network nor little")
            fields = self._layout(where, entry.fields, entry.order == "network", entry.bytes, resolve)
            tail = dict(entry.tail)
            if tail:
                tail_name = tail.pop("name", "")
                tail = _with_defaults(f"{where}: tail {tail_name}", tail, TAIL_KEYS) | {"name": tail_name}
                if tail["struct"]:
                    resolve(tail["struct"], f"{where}: tail {tail_name}")
            self.structs[name] = Struct(name, entry.order == "network", entry.bytes, fields, entry.doc, entry.ref,
                                        entry.home, tail or None, entry.profile)
            return self.structs[name]

        for name in rows:
            resolve(name, "")
        for register in self.registers.values():
            where = f"{register.home}: register {register.name}"
            block = self.regblocks.get(register.block)
            if block is None:
                raise SpecError(f"{where}: no register block is called {register.block!r}")
            if register.fields:
                fields = self._layout(where, [f | {"at": _bit_position(where, f)} for f in register.fields], False,
                                      block.data_bits // 8, resolve)
                if register.name in self.structs:
                    raise SpecError(f"{where}: a structure has this name already")
                self.structs[register.name] = Struct(register.name, False, block.data_bits // 8, fields, register.doc,
                                                     "", register.home)

    def _resolve_tokens(self):
        """Tokens have no layout to check: fields follow each other from the most significant end, and tokens that a token
        holds come before it."""
        rows, self.tokens = self.tokens, {}
        for name, entry in rows.items():
            where = f"{entry.home}: token {name}"
            fields, bits = [], 0
            for row in entry.fields:
                row = dict(row)
                field_name = row.pop("name", "")
                here = f"{where}: field {field_name or row}"
                if not SNAKE.match(field_name) or field_name in RESERVED_WORDS:
                    raise SpecError(f"{here}: needs a snake_case name that no language reserves")
                if any(f.name == field_name for f in fields):
                    raise SpecError(f"{here}: the name appears twice")
                row = _with_defaults(here, row, TOKEN_FIELD_KEYS)
                if sum(bool(row[key]) for key in ("bits", "bytes", "struct", "token")) != 1:
                    raise SpecError(f"{here}: needs exactly one of bits, bytes, struct, token")
                if not 0 <= row["bits"] <= 64:
                    raise SpecError(f"{here}: bits must be 1 to 64")
                nested = None
                for kind, store in (("struct", self.structs), ("token", self.tokens)):
                    if row[kind]:
                        nested = store.get(row[kind])
                        if nested is None:
                            raise SpecError(f"{here}: no {kind} of this name comes before: {row[kind]!r}")
                if row["enum"]:
                    target = self.enums.get(row["enum"])
                    if target is None:
                        raise SpecError(f"{here}: no enum is called {row['enum']!r}")
                    if row["bits"] < max(v["value"] for v in target.data["values"]).bit_length():
                        raise SpecError(f"{here}: enum {row['enum']} does not fit in {row['bits']} bits")
                width = row["bits"] or 8 * row["bytes"] or (nested.bits if row["token"] else 8 * nested.bytes)
                fields.append(TokenField(field_name, row["bits"], row["bytes"], nested, row["enum"], row["doc"]))
                bits += width
            self.tokens[name] = Token(name, fields, bits, entry.doc, entry.home)

    def _layout(self, where, rows, network, size, resolve):
        """Fields of one structure, with every position checked against the end of the field before."""
        fields, cursor, names = [], 0, set()
        for row in rows:
            row = dict(row)
            name = row.pop("name", "")
            here = f"{where}: field {name or row}"
            if not SNAKE.match(name):
                raise SpecError(f"{here}: needs a snake_case name")
            if name in RESERVED_WORDS:
                raise SpecError(f"{here}: is a reserved word of C++ or SystemVerilog; choose another name")
            row = _with_defaults(here, row, FIELD_KEYS)
            if name in names:
                raise SpecError(f"{here}: the name appears twice")
            names.add(name)
            field = self._field(here, name, row, network, resolve)
            if field.position < cursor:
                raise SpecError(f"{here}: overlaps the field before by {cursor - field.position} bits")
            if field.position > cursor:
                raise SpecError(f"{here}: leaves a gap of {field.position - cursor} bits before it")
            cursor = field.position + field.width
            fields.append(field)
        if cursor != size * 8:
            raise SpecError(f"{where}: fields fill {cursor / 8:g} bytes, but the total is {size}")
        return fields

    def _field(self, here, name, row, network, resolve):
        nested = None
        bits, count = row["bits"], row["count"]
        if sum(bool(row[key]) for key in ("bits", "struct", "union")) != 1:
            raise SpecError(f"{here}: needs exactly one of bits, struct, union")
        if row["struct"]:
            nested = resolve(row["struct"], here)
            if nested.network != network:
                raise SpecError(f"{here}: {nested.name} has the other byte order")
            bits = nested.bytes * 8
        elif row["union"]:
            bits, count = 8, row["bytes"]
            for variant in row["union"]:
                if resolve(variant, here).bytes != row["bytes"]:
                    raise SpecError(f"{here}: union variant {variant} is not {row['bytes']} bytes long")
        elif not 1 <= bits <= 64:
            raise SpecError(f"{here}: bits must be 1 to 64")
        position = _position(here, row["at"], network)
        if (count or nested) and (bits % 8 or position % 8):
            raise SpecError(f"{here}: arrays and structures must start and end on bytes")
        if not nested and not count and (position % 8 + bits > 64):
            raise SpecError(f"{here}: may not touch more than 8 bytes")
        for kind, store in (("enum", self.enums), ("flags", self.flags)):
            if row[kind]:
                target = store.get(row[kind])
                if target is None:
                    raise SpecError(f"{here}: no {kind} is called {row[kind]!r}")
                if target.bits > bits:
                    raise SpecError(f"{here}: {kind} {row[kind]} needs {target.bits} bits, the field has {bits}")
        if row["icrc"] not in ("", "ones"):
            raise SpecError(f"{here}: icrc: only \"ones\" is known")
        self._known_profile(here, row["profile"])
        return Field(name, position, bits, count, row["doc"], nested, row["union"], row["enum"], row["flags"],
                     row["icrc"] == "ones", row["profile"])

    # --- references between entries ----------------------------------------------------------------------------------

    def _known_profile(self, where, profile):
        if profile and profile.replace("-", "_") not in self.profiles and self.profiles:
            raise SpecError(f"{where}: no profile is called {profile!r}")

    def _check_references(self):
        for const in self.consts.values():
            if isinstance(const.value, dict):
                given = {key.replace("-", "_") for key in const.value}
                if given != set(self.profiles):
                    raise SpecError(f"{const.home}: const {const.name}: needs one value for each of {list(self.profiles)}")
                const.data["value"] = {key.replace("-", "_"): value for key, value in const.value.items()}
        for entry in [*self.enums.values(), *self.flags.values()]:
            for row in entry.data["values"]:
                self._known_profile(f"{entry.home}: {entry.name}: {row['name']}", row["profile"])
        for opcode in self.opcodes.values():
            self._refer_opcode(opcode)
        for command in self.commands.values():
            self._refer_command(command)
        self._refer_registers()
        for rule in self.rules.values():
            self._refer_rule(rule)
        for parameter in self.parameters.values():
            self._refer_parameter(parameter)
        for config in self.configs.values():
            self._refer_config(config)
        self._check_generated_names()

    def _values_of(self, enum):
        return {row["name"]: row for row in self.enums[enum].data["values"]} if enum in self.enums else {}

    def _refer_opcode(self, opcode):
        where = f"{opcode.home}: opcode {opcode.name}"
        services = {row["value"]: name for name, row in self._values_of("bth_service").items()}
        service = services.get(opcode.value >> 5, "")
        if not (opcode.name == service or opcode.name.startswith(service + "_")) or not service:
            raise SpecError(f"{where}: the number belongs to service {service!r}, the name does not begin with it")
        for key, enum in (("operation", "bth_operation"), ("response", "bth_operation"), ("position", "packet_position")):
            if opcode.data[key] not in self._values_of(enum):
                raise SpecError(f"{where}: {key}: {opcode.data[key]!r} is not in {enum}")
        for header in opcode.headers:
            if header not in self.structs:
                raise SpecError(f"{where}: headers: no structure is called {header!r}")

    def _refer_command(self, command):
        where = f"{command.home}: command {command.name}"
        enum, _, value = command.data["class"].partition(".")
        if value not in self._values_of(enum) and command.data["class"] not in self.consts:
            raise SpecError(f"{where}: class: neither an enum value nor a constant")
        enum, _, value = command.command.partition(".")
        if value not in self._values_of(enum):
            raise SpecError(f"{where}: command: {command.command!r} is not an enum value")
        for key in ("request", "response"):
            if command.data[key] and command.data[key] not in self.structs:
                raise SpecError(f"{where}: {key}: no structure is called {command.data[key]!r}")
        for error in command.errors:
            if error not in self._values_of("rdma_error"):
                raise SpecError(f"{where}: errors: {error!r} is not in rdma_error")
        self._known_profile(where, command.profile)

    def _refer_registers(self):
        for block in self.regblocks.values():
            taken = {}
            for register in self.registers.values():
                if register.block != block.name:
                    continue
                where = f"{register.home}: register {register.name}"
                step = block.data_bits // 8
                if register.at % step:
                    raise SpecError(f"{where}: at: {register.at:#x} is not a multiple of {step}")
                if register.reset is not None:
                    _fits(f"{where}: reset", register.reset, block.data_bits)
                for offset in range(register.at, register.at + register.count * step, step):
                    if offset >= block.bytes:
                        raise SpecError(f"{where}: ends after the block's {block.bytes:#x} bytes")
                    if offset in taken:
                        raise SpecError(f"{where}: overlaps {taken[offset]} at {offset:#x}")
                    taken[offset] = register.name

    def _refer_parameter(self, parameter):
        where = f"{parameter.home}: parameter {parameter.name}"
        if parameter.features and (parameter.min, parameter.max) != (0, 1):
            raise SpecError(f"{where}: features: only a parameter of 0 or 1 offers features")
        for feature in parameter.features:
            if not 0 <= self.feature_bit(feature) < FEATURE_BITS:
                raise SpecError(f"{where}: features: {feature!r} is no enum value below {FEATURE_BITS}")

    def feature_bit(self, feature):
        """Number of a feature bit that is named as enum.value; -1: there is none."""
        enum, _, value = feature.partition(".")
        return self._values_of(enum).get(value, {"value": -1})["value"]

    def _refer_config(self, config):
        where = f"{config.home}: config {config.name}"
        missing = set(self.parameters) - set(config.data["values"])
        unknown = set(config.data["values"]) - set(self.parameters)
        if missing or unknown:
            raise SpecError(f"{where}: missing parameters {sorted(missing)}, unknown ones {sorted(unknown)}")
        for name, value in config.data["values"].items():
            parameter = self.parameters[name]
            if not parameter.min <= value <= parameter.max:
                raise SpecError(f"{where}: {name}: {value} is outside {parameter.min} to {parameter.max}")
            if parameter.pow2 and value & (value - 1):
                raise SpecError(f"{where}: {name}: {value} is not a power of two")
        for rule in self.rules.values():
            if not expression.holds(expression.parse(rule.require, self.parameters), config.data["values"]):
                raise SpecError(f"{where}: breaks rule {rule.name}: {rule.require}")

    def _refer_rule(self, rule):
        where = f"{rule.home}: rule {rule.name}"
        if rule.name in self.parameters:
            raise SpecError(f"{where}: the name is taken by a parameter")
        try:
            expression.parse(rule.require, self.parameters)
        except expression.ExpressionError as error:
            raise SpecError(f"{where}: require: {error}") from error

    def _check_generated_names(self):
        """Two entries of different kinds must not meet in one generated identifier."""
        seen = {}
        for kind, store in (("const", self.consts), ("table", self.tables), ("enum", self.enums), ("flags", self.flags),
                            ("struct", self.structs), ("token", self.tokens)):
            for entry in store.values():
                if entry.name in seen:
                    raise SpecError(f"{entry.home}: {kind} {entry.name}: the name is taken by {seen[entry.name]}")
                seen[entry.name] = f"a {kind} in {entry.home}"

    # --- what several outputs need -----------------------------------------------------------------------------------

    def opcode_columns(self, opcode=None):
        """Columns of the opcode table in output order as (name, bits, enum or "", value of this row)."""
        data = opcode.data if opcode else None
        position = data["position"] if data else "middle"
        extension = sum(self.structs[h].bytes for h in data["headers"]) if data else 0
        enum = lambda name, key: self._values_of(name)[key]["value"]  # noqa: E731
        columns = [
            ("valid", 1, "", int(data is not None)),
            ("operation", 4, "bth_operation", enum("bth_operation", data["operation"] if data else "none")),
            ("position", 2, "packet_position", enum("packet_position", position)),
            ("response", 4, "bth_operation", enum("bth_operation", data["response"] if data else "none")),
            ("payload", 3, "payload_rule", enum("payload_rule", data["payload_rule"] if data else "none")),
            ("payload_exact", 5, "", data["payload_exact"] if data else 0),
            ("starts_message", 1, "", int(position in ("first", "only")) if data else 0),
            ("ends_message", 1, "", int(position in ("last", "only")) if data else 0),
            ("may_pad", 1, "", int(data["payload_rule"] in ("one_to_mtu", "zero_to_mtu")) if data else 0),
        ]
        columns += [(trait, 1, "", int(trait in data["does"]) if data else 0) for trait in TRAITS]
        columns.append(("extension_bytes", 6, "", extension))
        for header in self.opcode_headers():
            present = data is not None and header in data["headers"]
            offset = 0
            if present:
                before = data["headers"][:data["headers"].index(header)]
                offset = self.structs["bth"].bytes + sum(self.structs[h].bytes for h in before)
            columns.append((f"has_{header}", 1, "", int(present)))
            columns.append((f"{header}_offset", 6, "", offset))
        return columns

    def opcode_headers(self):
        """Extended headers that any row has, in order of first appearance."""
        return list(dict.fromkeys(h for o in self.opcodes.values() for h in o.headers))


def _with_defaults(where, row, keys):
    for key in row:
        if key not in keys:
            raise SpecError(f"{where}: unknown key {key!r}")
    result = {}
    for key, (kind, default) in keys.items():
        if key not in row and default is ...:
            raise SpecError(f"{where}: needs the key {key!r}")
        value = row.get(key, default)
        if key in row and (not isinstance(value, kind) or (isinstance(value, bool) and kind is int)):
            raise SpecError(f"{where}: {key}: has the wrong type")
        result[key] = value
    return result


def _fits(where, value, bits):
    if not isinstance(value, int) or not 0 <= value < 1 << bits:
        raise SpecError(f"{where}: {value!r} does not fit in {bits} bits")


def _position(here, at, network):
    """Bit position in the structure's order of `at`: a byte, or "byte.bit" with bit 7 the most significant."""
    if isinstance(at, int):
        return at * 8
    match = re.match(r"(\d+)\.([0-7])\Z", at)
    if not match:
        raise SpecError(f"{here}: at: {at!r} is neither a byte nor \"byte.bit\"")
    byte, bit = int(match[1]), int(match[2])
    return byte * 8 + (7 - bit if network else bit)


def _bit_position(where, field):
    at = field.get("at")
    if not isinstance(at, int):
        raise SpecError(f"{where}: field {field.get('name')}: at: needs a bit number")
    return f"{at // 8}.{at % 8}"
