# SPDX-License-Identifier: Apache-2.0
"""How a snake_case name of the contract is spelled in each language."""


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def c_constant(name):
    return "k" + camel(name)


def c_unsigned(bits):
    """Smallest C++ type that holds a scalar of this width; one bit is a bool."""
    if bits == 1:
        return "bool"
    for size in (8, 16, 32, 64):
        if bits <= size:
            return f"uint{size}_t"
    raise ValueError(bits)


def c_storage(bits):
    """Like c_unsigned, but one bit is an integer too (for enums, flags and constants)."""
    return "uint8_t" if bits == 1 else c_unsigned(bits)


def c_literal(value, bits, decimal=False):
    suffix = "ull" if bits > 32 else "u"
    return f"{value:#x}{suffix}" if value > 9 and not decimal else f"{value}{suffix}"


def sv_literal(value, bits):
    return f"{bits}'h{value:x}"


def banner(comment, outputs_of):
    return (f"{comment} SPDX-License-Identifier: Apache-2.0\n"
            f"{comment} Generated from {outputs_of} by spec/generate.py. Do not edit: change the TOML, then run ./vireo spec.\n")


# Reserved words of C++20, SystemVerilog 2017 or Verilator's C++ that could be a field's name.
RESERVED_WORDS = frozenset("""
accept_on alias always and assert assign assume automatic auto before begin bind bins binsof bit bool break buf byte case cast
catch cell char checker class clocking cmos concept config const consteval constexpr constinit constraint context continue cover
cross deassign decltype default defparam delete design disable dist do double edge else end endcase enum event eventually
expect explicit export extends extern false final first_match float for force foreach forever fork friend function generate genvar
global goto highz0 highz1 if iff ifnone import incdir include initial inline inout input inside instance int integer interface
intersect join large let liblist library local localparam logic long macromodule matches medium modport module mutable namespace
nand negedge nettype new nexttime nmos noexcept nor not notif0 notif1 null nullptr operator or output package packed parameter pmos
posedge primitive priority private program property protected public pull0 pull1 pulldown pullup pure rand randc randcase
randsequence rcmos real realtime ref reg register reject_on release repeat requires restrict return rnmos rpmos s_always
scalared sequence shared short shortint shortreal showcancelled signed sizeof small soft solve specify specparam static
static_assert static_cast string strong strong0 strong1 struct super supply0 supply1 switch table tagged task template this thread_local
throw throughout time timeprecision timeunit tran tri tri0 tri1 triand trior trireg true try type typedef typeid typename union
unique unique0 unsigned until untyped use using var vectored virtual void volatile wait wait_order wand weak weak0 weak1 while
wildcard wire with within wor xnor xor
bitset deque queue vector
""".split())
