# SPDX-License-Identifier: Apache-2.0
"""Logic depth of a mapped UltraScale+ netlist: the longest path from a register or RAM to a register or RAM, and how many end
points are later than the clock period.

An estimate without placement: NET_NS for every net, and constant delays of cells, those of a fast speed grade. Paths that no
state can take are not recognized. Not covered: setup times of RAMs beyond SETUP_NS, clock skew, congestion."""

import dataclasses
import re
from collections.abc import Iterator

NET_NS, LUT_NS, MUXF_NS = 0.30, 0.10, 0.10
CARRY_ENTER_NS, CARRY_BIT_NS, CARRY_LEAVE_NS = 0.12, 0.01, 0.05
SETUP_NS = 0.05
# Sequential cells -> clock to output. RAM and DSP without output register.
CLOCK_TO_OUTPUT_NS = {r"FD[CPRS]E(_1)?$": 0.08, r"RAMB(18|36)E\d$": 0.90, r"URAM288": 1.0, r"DSP48E\d$": 1.5}
# LUTs as RAM or shift register: their output follows the address, all other inputs are sampled by the clock.
LUT_RAM = r"RAM\d+[XM]\w*$|RAM(32|64|128|256)\w*$|SRL\w+$"
IGNORED = r"VCC$|GND$|IBUF|OBUF|BUFG"


@dataclasses.dataclass(frozen=True)
class Arrival:
    """When a signal is stable after the clock edge, and by which path."""
    ns: float
    luts: int = 0
    chains: int = 0
    start: str = ""  # cell, or port

    def later(self, ns: float, luts: int = 0, chains: int = 0) -> "Arrival":
        return Arrival(self.ns + ns, self.luts + luts, self.chains + chains, self.start)


@dataclasses.dataclass(frozen=True)
class Depth:
    """The longest path between registers, and the number of end points later than the period; and the longest from an input to
    a register, from a register to an output, and from input to output without a register (0: there is none)."""
    path: Arrival
    end: str
    late: int
    in_ns: float
    out_ns: float
    through_ns: float


NEVER = Arrival(float("-inf"))


class Netlist:
    """A flat module of Yosys' JSON, mapped for UltraScale+. Raises ValueError for a cell whose delay is not known and for a loop."""

    def __init__(self, module: dict) -> None:
        self.from_inputs = False  # paths begin at inputs of the block instead of registers
        self.cells = module["cells"]
        self.arrivals: dict[int, Arrival] = {}
        self.driver: dict[int, tuple[str, str, int]] = {}
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    self.driver |= {bit: (name, port, index) for index, bit in enumerate(bits) if isinstance(bit, int)}
        self.inputs = {bit: name for name, port in module["ports"].items() if port["direction"] == "input" for bit in port["bits"]}
        self.outputs = [(name, bit) for name, port in module["ports"].items() if port["direction"] == "output" for bit in port["bits"]]

    def kind(self, name: str) -> str:
        return self.cells[name]["type"]

    def sampled(self, name: str) -> Iterator[int]:
        """Inputs of a sequential cell, without its clock."""
        cell = self.cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input" and not re.match(r"C$|W?CLK|CLK", port):
                if not re.match(LUT_RAM, cell["type"]) or not re.match(r"(ADDR[A-Z]$|A\d*$|DPRA\d*$)", port):
                    yield from (bit for bit in bits if isinstance(bit, int))

    def needs(self, bit: int) -> list[int]:
        """Signals on which this one depends within the cycle."""
        if bit not in self.driver:
            return []
        name, port, index = self.driver[bit]
        cell, kind = self.cells[name], self.kind(name)
        if any(re.match(pattern, kind) for pattern in CLOCK_TO_OUTPUT_NS) or re.match(IGNORED, kind):
            return []
        bits = cell["connections"]
        if kind.startswith("CARRY"):
            last = index if port == "O" else index + 1
            used = [*bits["S"][:index + 1], *bits["DI"][:last], *bits.get("CI", []), *bits.get("CYINIT", []), *bits.get("CI_TOP", [])]
        elif re.match(LUT_RAM, kind):
            used = [b for p, own in bits.items() if re.match(r"(ADDR[A-Z]$|A\d*$|DPRA\d*$)", p) for b in own]
        elif re.match(r"LUT[1-6]$|INV$|MUXF[789]$", kind):
            used = [b for p, own in bits.items() if cell["port_directions"][p] == "input" for b in own]
        else:
            raise ValueError(f"{kind} ({name}): its delay is not known")
        return [b for b in used if isinstance(b, int)]

    def arrival(self, wanted: int) -> Arrival:
        stack, under_way = [wanted], set()
        while stack:
            bit = stack[-1]
            if bit in self.arrivals:
                stack.pop()
                continue
            missing = [b for b in self.needs(bit) if b not in self.arrivals]
            if not missing:
                self.arrivals[bit] = self.computed(bit)
                under_way.discard(bit)
                stack.pop()
                continue
            if bit in under_way:
                raise ValueError(f"combinational loop through {self.driver[bit][0]}")
            under_way.add(bit)
            stack += missing
        return self.arrivals[wanted]

    def computed(self, bit: int) -> Arrival:
        """The arrival of a signal at its driver's output; all that it needs is known."""
        if bit not in self.driver:
            return Arrival(0, start=self.inputs[bit]) if self.from_inputs and bit in self.inputs else NEVER
        name, port, index = self.driver[bit]
        kind, bits = self.kind(name), self.cells[name]["connections"]
        for pattern, ns in CLOCK_TO_OUTPUT_NS.items():
            if re.match(pattern, kind):
                return NEVER if self.from_inputs else Arrival(ns, start=name)
        if kind.startswith("CARRY"):
            return self.through_carry(bits, port, index)
        needs = self.needs(bit)
        if not needs:
            return NEVER  # a constant
        latest = max((self.arrivals[b] for b in needs), key=lambda arrival: arrival.ns)
        if kind.startswith("MUXF"):
            return latest.later(MUXF_NS)  # beside its LUTs: no net
        if kind == "INV":
            return latest  # becomes part of a LUT
        return latest.later(NET_NS + LUT_NS, luts=1)

    def through_carry(self, bits: dict, port: str, index: int) -> Arrival:
        def entering(bit: int | str, ns: float) -> Arrival:
            return self.arrivals[bit].later(NET_NS * (ns > 0) + ns, chains=1) if isinstance(bit, int) else NEVER

        def latest(*arrivals: Arrival) -> Arrival:
            return max(arrivals, key=lambda arrival: arrival.ns)

        first = [bits[name][0] for name in ("CI", "CYINIT") if bits.get(name)]
        # From the chain's cell before: no net, and the same chain.
        carry = latest(NEVER, *(self.arrivals[b] if self.is_carry(b) else entering(b, CARRY_ENTER_NS) for b in first if isinstance(b, int)))
        for i in range(index + (port == "CO")):
            carry = latest(carry, entering(bits["S"][i], CARRY_ENTER_NS), entering(bits["DI"][i], CARRY_ENTER_NS)).later(CARRY_BIT_NS)
        if port == "CO":
            return carry
        return latest(carry, entering(bits["S"][index], CARRY_ENTER_NS)).later(CARRY_LEAVE_NS)

    def is_carry(self, bit: int) -> bool:
        return bit in self.driver and self.kind(self.driver[bit][0]).startswith("CARRY")

    def ends(self) -> Iterator[tuple[str, Arrival]]:
        """Arrival at every end point within the block."""
        for name in self.cells:
            if any(re.match(pattern, self.kind(name)) for pattern in (*CLOCK_TO_OUTPUT_NS, LUT_RAM)):
                for bit in self.sampled(name):
                    yield name, self.arrival(bit).later(NET_NS + SETUP_NS)

    def latest_output(self) -> float:
        return max((self.arrival(bit).ns for _, bit in self.outputs if isinstance(bit, int)), default=0)

    def depth(self, period_ns: float) -> Depth:
        self.from_inputs, self.arrivals = True, {}
        in_ns = max((arrival.ns for _, arrival in self.ends()), default=0)
        through_ns = self.latest_output()
        self.from_inputs, self.arrivals = False, {}
        ends = list(self.ends())
        end, path = max(ends, key=lambda found: found[1].ns, default=("", NEVER))
        late = sum(arrival.ns > period_ns for _, arrival in ends)
        return Depth(path, end, late, max(in_ns, 0), max(self.latest_output(), 0), max(through_ns, 0))
