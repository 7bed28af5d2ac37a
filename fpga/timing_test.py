#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logic depth of small netlists whose delays can be added by hand, the harness of place and route, and one cell of the RTL that
is really placed and routed."""

import unittest

import levels
import netlist
import place
import synth
import yosys

import parameters  # synth.py has put rtl/ on the path

BLOCK = """module \\vireo_a$vireo_nic.u_a
  wire input 1 \\clk_i
  wire width 3 input 2 \\data_i
  wire signed input 3 \\valid_i
  wire width 2 output 4 \\data_o
  wire width 8 \\inner
end
"""


def cell(kind, inputs, outputs):
    return {"type": kind, "attributes": {}, "connections": inputs | outputs,
            "port_directions": dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")}


def lut(inputs, output):
    return cell(f"LUT{len(inputs)}", {f"I{i}": [bit] for i, bit in enumerate(inputs)}, {"O": [output]})


def register(d, q):
    return cell("FDRE", {"C": [1], "CE": ["1"], "D": [d], "R": ["0"]}, {"Q": [q]})


def depth(cells, inputs=(), outputs=(), period=4.0):
    ports = {f"i{bit}": {"direction": "input", "bits": [bit]} for bit in (1, *inputs)}
    ports |= {f"o{bit}": {"direction": "output", "bits": [bit]} for bit in outputs}
    return levels.Netlist({"cells": cells, "ports": ports}).depth(period)


class Levels(unittest.TestCase):
    def test_longest_of_two_paths_between_registers(self):
        cells = {"a": register(9, 2), "b": register(2, 3), "x": lut([2], 4), "y": lut([4, 3], 5), "z": register(5, 9)}
        found = depth(cells)
        self.assertEqual((found.path.luts, found.path.chains, found.path.start, found.end), (2, 0, "a", "z"))
        self.assertAlmostEqual(found.path.ns, 0.08 + 2 * 0.40 + 0.30 + 0.05)
        self.assertEqual((found.late, found.in_ns, found.out_ns, found.through_ns), (0, 0, 0, 0))
        self.assertEqual(depth(cells, period=1.0).late, 1)

    def test_inputs_and_outputs_are_told_apart(self):
        cells = {"x": lut([7, 2], 4), "y": lut([4], 5), "a": register(5, 2)}
        found = depth(cells, inputs=[7], outputs=[4])
        self.assertAlmostEqual(found.through_ns, 0.40)
        self.assertAlmostEqual(found.in_ns, 2 * 0.40 + 0.35)
        self.assertAlmostEqual(found.out_ns, 0.08 + 0.40)
        self.assertEqual((found.path.luts, found.path.start), (2, "a"))

    def test_carry_chain_over_two_cells(self):
        s, di = list(range(10, 18)), list(range(20, 28))
        cells = {"a": register(60, 10)}
        cells["low"] = cell("CARRY8", {"S": s, "DI": di, "CI": ["0"], "CI_TOP": ["0"]},
                            {"O": list(range(30, 38)), "CO": list(range(40, 48))})
        cells["high"] = cell("CARRY8", {"S": ["0"] * 8, "DI": ["0"] * 8, "CI": [47], "CI_TOP": ["0"]},
                             {"O": list(range(50, 58)), "CO": list(range(60, 68))})
        found = depth(cells)
        self.assertEqual((found.path.luts, found.path.chains), (0, 1))
        self.assertAlmostEqual(found.path.ns, 0.08 + 0.30 + 0.12 + 8 * 0.01 + 0.01 + 0.35)
        cells["a"] = register(57, 10)
        self.assertAlmostEqual(depth(cells).path.ns, 0.08 + 0.30 + 0.12 + 8 * 0.01 + 7 * 0.01 + 0.05 + 0.35)

    def test_lut_ram_is_read_without_a_clock(self):
        ram = cell("RAM32M", {"ADDRA": [2, 2, 2, 2, 2], "DIA": [5, "0"], "WCLK": [1], "WE": ["1"]}, {"DOA": [5, 6]})
        found = depth({"a": register(9, 2), "ram": ram})
        self.assertEqual((found.path.luts, found.end), (1, "ram"))
        block = cell("RAMB36E2", {"ADDRARDADDR": [2], "CLKARDCLK": [1]}, {"DOUTADOUT": [9]})
        found = depth({"a": register(9, 2), "ram": block})
        self.assertEqual((found.path.start, found.end), ("ram", "a"))

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "combinational loop"):
            depth({"x": lut([5], 4), "y": lut([4], 5), "a": register(5, 2)})
        with self.assertRaisesRegex(ValueError, "NEW_CELL .*not known"):
            depth({"x": cell("NEW_CELL", {"I": [2]}, {"O": [4]}), "a": register(4, 2)})


class Place(unittest.TestCase):
    def test_harness_connects_every_port_once(self):
        self.assertEqual(place.ports(BLOCK), [("clk_i", "input", 1), ("data_i", "input", 3), ("valid_i", "input", 1), ("data_o", "output", 2)])
        text = place.harness("vireo_a$vireo_nic.u_a", BLOCK)
        for part in (".clk_i(clk)", ".\\data_i (in[2:0])", ".\\valid_i (in[3:3])", ".\\data_o (out[1:0])", "i < 4;", "i < 2;"):
            self.assertIn(part, text)

    def test_report_is_read_by_clock_domain(self):
        def path(start, end, *delays):
            steps = [{"delay": ns, "from": {"cell": "dut.u_x.count_q_TRELLIS_FF_Q_3"}, "to": {"cell": "dut.ram.0.0_DP16KD_DOA"}} for ns in delays]
            return {"from": f"posedge {start}", "to": f"posedge {end}", "path": steps}

        clk, outside = "$glbnet$clk$TRELLIS_IO_IN", "$glbnet$harness_clk$TRELLIS_IO_IN"
        report = {"critical_paths": [path(clk, clk, 1.0, 7.0), path(outside, clk, 3.5), path(clk, outside, 2.5), path(outside, outside, 1.0),
                                     path("<async>", clk, 90.0)],
                  "utilization": {name: {"used": used, "available": 9} for name, used in (("TRELLIS_COMB", 5), ("TRELLIS_FF", 6), ("DP16KD", 7))}}
        timing = place.read(report, {"dut.u_x.count_q_TRELLIS_FF_Q_3": "u_x.count_q[3]"})
        self.assertEqual((timing.inside, timing.into, timing.out, timing.through), (8.0, 3.5, 2.5, 1.0))
        self.assertEqual((timing.mhz, timing.comb, timing.ff, timing.ram), (125.0, 5, 6, 7))
        self.assertEqual(timing.path, "u_x.count_q[3] → dut.ram.0.0_DP16KD_DOA")

    def test_labels_are_names_of_the_rtl(self):
        module = {"cells": {"$auto$12": register(9, 2), "dut.u_ram.mem.0.0": cell("DP16KD", {}, {"DOA": [5]})},
                  "netnames": {"dut.u_x.count_q": {"bits": [3, 2], "attributes": {"src": "rtl/dma/vireo_x.sv:12.3-14.5"}},
                               "data_o": {"bits": [2], "attributes": {}}, "$hidden_name": {"hide_name": 1, "bits": [2], "attributes": {}}}}
        module["cells"]["dut.u_ram.mem.0.0"]["attributes"]["src"] = "rtl/common/vireo_ram_1r1w.sv:30.1-31.2"
        self.assertEqual(netlist.labels(module, "dut."), {"$auto$12": "u_x.count_q[1] (vireo_x.sv:12)", "dut.u_ram.mem.0.0": "u_ram.mem (vireo_ram_1r1w.sv:30)"})

    @unittest.skipUnless(yosys.PROGRAM.exists() and place.PROGRAM.exists(), "Yosys or nextpnr is not installed; run ./vireo setup")
    def test_arbiter_is_routed(self):
        name = "vireo_arb_rr"
        (synth.WORK / "cache").mkdir(parents=True, exist_ok=True)
        design, _, error = synth.elaborate(yosys.sources(), name, parameters.alone(name, "nic1"), False)
        self.assertIsNone(error)
        cells, mapped, _, error = synth.map_module("nic1", name, design[name])
        self.assertIsNone(error)
        timing, _, error = place.place(name, mapped, 125, 8, 1)
        self.assertEqual(error, "")
        # More registers than the block's own: those of the harness. No cell of this part is faster than 0.2 ns.
        self.assertGreater(timing.ff, synth.counts(cells)["FF"])
        self.assertTrue(all(0.2 < ns < 20 for ns in (timing.inside, timing.into, timing.out)), timing)
        self.assertRegex(timing.path, r"^\S+ .*→ \S+")


if __name__ == "__main__":
    unittest.main()
