#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of fpga/synth.py and fpga/switches.py, without Yosys."""

import pathlib
import re
import tempfile
import unittest
from unittest import mock

import switches
import synth
import yosys

import parameters  # synth.py has put rtl/ on the path

BLOCK = """attribute \\src "rtl/a.sv:1.1"
module \\vireo_a$vireo_nic.u_a
  attribute \\src "rtl/a.sv:2.1"
  wire width 8 input 1 \\data_i
  wire width 8 $12
  cell $adff $auto$40
    parameter \\WIDTH {width}
    connect \\Q \\{register}
  end
  cell $not $auto${number}
    connect \\A \\data_i
    connect \\Y $12
  end
end
"""


def block(width=8, register="waiting_here_q", number=41):
    return BLOCK.replace("{width}", str(width)).replace("{register}", register).replace("{number}", str(number))


class Reads(unittest.TestCase):
    def test_split_returns_each_module_with_its_complete_text(self):
        text = "# by Yosys\nautoidx 7\n" + block() + block().replace("u_a", "u_b")
        self.assertEqual(list(synth.split(text)), ["vireo_a$vireo_nic.u_a", "vireo_a$vireo_nic.u_b"])
        self.assertEqual(synth.split(block())["vireo_a$vireo_nic.u_a"], block())

    def test_canonical_ignores_only_generated_names_and_source_locations(self):
        same = synth.canonical(block())
        self.assertEqual(same, synth.canonical(block(number=99)))
        self.assertEqual(same, synth.canonical(block().replace("a.sv:2.1", "a.sv:77.1")))
        self.assertNotEqual(same, synth.canonical(block(width=9)))
        self.assertNotEqual(same, synth.canonical(block(register="b_q")))
        self.assertNotEqual(same, synth.canonical(block().replace("$not", "$neg")))
        # One number used twice differs from two numbers.
        self.assertNotEqual(same, synth.canonical(block(number=40)))

    def test_a_black_box_has_the_ports_of_its_block_and_nothing_else(self):
        shell = synth.shell(block())
        self.assertIn("wire width 8 input 1 \\data_i", shell)
        self.assertNotIn("cell", shell)
        self.assertNotIn("$12", shell)

    def test_per_queue_reports_state_that_grows_with_the_queues_and_not_with_the_data_path(self):
        for small, large, found in ((16, 1024, True), (64, 512, False), (16, 256, True), (4, 128, False), (1024, 1024, False)):
            designs = {"nic1": {"vireo_a$vireo_nic.u_a": block(small)}, "nic100": {"vireo_a$vireo_nic.u_a": block(large)}}
            self.assertEqual(synth.per_queue(designs), {"a.waiting_here_q": large} if found else {}, (small, large))

    def test_every_module_can_be_built_alone_for_every_configuration(self):
        for module in synth.modules(yosys.sources()):
            for config in synth.TARGETS:
                parameters.alone(module, config)  # raises if a parameter has no value

    def test_sizes_are_a_configuration_changes_to_it_and_other_parameters(self):
        given = parameters.parameters(["nic1", "num_qps=4", "Requests=8"])
        self.assertEqual(given, {"Config": parameters.literal({**parameters.CONFIGS["nic1"], "num_qps": 4}), "Requests": "8"})
        self.assertEqual(parameters.parameters(["Width=3"]), {"Width": "3"})
        for wrong in (["nic2"], ["num_qps=4"], ["nic1", "num_pqs=4"]):
            with self.assertRaises(ValueError):
                parameters.parameters(wrong)

    def test_a_switch_takes_what_needs_it(self):
        found = switches.switches()
        self.assertEqual(found["atomics"], ["atomics", "atomic_write", "flush"])
        self.assertEqual(found["invalidation"], ["invalidation", "memory_windows"])
        self.assertIn("max_srqs", found)
        for without in ("push_requests", "fast_registration", "cqe_elements"):  # nic1 is without it
            self.assertNotIn(without, found)
        self.assertNotIn("max_inline_bytes", found)
        for off in found.values():  # a legal configuration
            config = {**parameters.CONFIGS["nic1"], **dict.fromkeys(off, 0)}
            for rule in parameters.SPEC["rule"]:
                if match := re.fullmatch(r"(\w+) <= (\w+)", rule["require"]):
                    self.assertLessEqual(config[match[1]], config[match[2]], (off, rule["name"]))

    def test_the_table_of_switches_has_differences(self):
        whole, less = ({name: n for name in synth.COLUMNS} for n in (5000, 3800))
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "area.md"
            page.write_text(f"Text\n{switches.BEGIN}old\n{switches.END}More\n", encoding="utf-8")
            with mock.patch.object(synth, "AREA", page):
                self.assertIsNone(switches.page(whole, [(["a", "b"], less)]))
            text = page.read_text(encoding="utf-8")
            self.assertIn("| `a`, `b` | -1,200 |", text)
            self.assertTrue(text.startswith("Text\n") and text.endswith("More\n") and "old" not in text, text)

    def test_the_table_of_one_configuration_is_written_alone(self):
        def row(config, lut):
            return {"config": config, "block": "csr", **dict.fromkeys(synth.COLUMNS, 1), "LUT": lut}

        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "area.md"
            page.write_text("Text\n<!-- BEGIN GENERATED: ./vireo synth -->\n<!-- END GENERATED -->\nMore\n", encoding="utf-8")
            with mock.patch.object(synth, "AREA", page):
                synth.area_page([row("nic1", 1000), row("nic100", 2000)], {"a.b_q": 7})
                both = page.read_text(encoding="utf-8")
                self.assertTrue("| csr | 1,000 |" in both and "| csr | 2,000 |" in both and "| `a.b_q` | 7 |" in both, both)
                synth.area_page([row("nic1", 999)], {})
                self.assertEqual(page.read_text(encoding="utf-8"), both.replace("1,000", "999"))


if __name__ == "__main__":
    unittest.main()
