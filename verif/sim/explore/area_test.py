#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--area of ./vireo explore: columns, cache and refusals, with a synthesis that only counts how often it is asked."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from common import FAKE, STUDY, ExploreTest

import area
import results
import rtl
import search
import study as study_file
from bench import Bench
from errors import StudyError
from runner import Progress
from store import Store

NIC1 = {f"nic.{name}": value for name, value in rtl.parameters.CONFIGS["nic1"].items()}
PAGE = """## nic1

| block | MHz | inside | inputs | outputs | through | COMB | FF | DP16KD | worst path |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---|
| net_tx | 80.6 | 11.0 | 5.7 | 3.1 | – | 1,487 | 2,934 | 12 | a → b |
| csr | 90.5 | 11.0 | 5.7 | 3.1 | – | 1,487 | 2,934 | 12 | a → b |
| notify | – | – | 5.7 | 3.1 | – | 1,487 | 2,934 | 12 |  |

## nic100
"""
AREA_STUDY = STUDY.replace('latency_ns_p50 = "min"', 'area_lut = "min"') + 'area = "ecp5"\nconstraints = ["area_lut <= 250"]\n'


class Device(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.said: list[str] = []
        self.elaborate = mock.Mock(return_value=({"vireo_nic": "", "a": ""}, 3.0, None))
        row = {"LUT": 7, "FF": 5, "LUTRAM": 3, "BRAM": 2, "DSP": 1}
        rows = [row | {"block": block, "module": module} for block, module in (("csr", "vireo_csr"), ("notify", "vireo_notify"), ("wiring", "vireo_nic"))]
        self.map = mock.Mock(return_value=(rows[:2], [self.folder / "cache/0.il", self.folder / "cache/1.il"], [], 9.0))
        self.page = self.folder / "timing.md"
        self.page.write_text(PAGE, encoding="utf-8")
        patch = mock.patch.object(area.timing, "PAGE", self.page)
        patch.start()
        self.addCleanup(patch.stop)
        for name, value in (("WORK", self.folder), ("elaborate", self.elaborate), ("map_device", self.map)):
            patch = mock.patch.object(area.synth, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def of(self, settings, family="ecp5"):
        return area.Area(family, 2, self.said.append).of(settings)

    def test_sum_over_blocks_once_for_each_configuration(self):
        wanted = {"area_lut": 14, "area_ff": 10, "area_lutram": 6, "area_bram": 4, "area_dsp": 2, "timing_mhz": 90.5, "timing_levels": None,
                  "timing_blocks": 1}
        self.assertEqual(self.of(NIC1 | {"workload.bytes": 3}), wanted)
        self.assertEqual(self.of(NIC1 | {"workload.bytes": 4}), wanted)  # another process
        self.assertEqual(self.map.call_count, 1)
        self.assertIn("area of nic1 on ecp5", self.said[0])
        self.of(NIC1 | {"nic.dma_tags": 8})
        self.of(NIC1, "xcup")
        self.assertEqual([call.args[0] for call in self.map.call_args_list], ["nic1", "nic1", "nic100"])  # ./vireo synth's names of families
        self.assertEqual(len({call.args[2]["Config"] for call in self.elaborate.call_args_list}), 2)

    def test_only_some_blocks(self):
        design = {"vireo_nic": "", "vireo_csr$vireo_nic.u_csr": "a", "vireo_notify$vireo_nic.u_notify": "b"}
        self.elaborate.return_value = (design, 3.0, None)
        some = area.Area("ecp5", 2, self.said.append, ["notify"], lambda text: StudyError(text, "study.toml", 7))
        some.of(NIC1)
        self.assertEqual(self.map.call_args.args[1], {"vireo_notify$vireo_nic.u_notify": "b"})
        self.of(NIC1)  # has a sum of its own
        self.assertEqual(self.map.call_args.args[1], design)
        for block, why in (("notifi", "there is no block 'notifi' in the device; did you mean 'notify'?"), ("wiring", "leave out area_blocks")):
            some.blocks, some.known = [block], {}
            with self.assertRaisesRegex(StudyError, f"study.toml:7: .*{why}"):
                some.of(NIC1)

    def test_timing_of_the_blocks_that_have_it(self):
        blocks = {"vireo_csr$vireo_nic.u_csr": 120.0, "vireo_notify$vireo_nic.u_notify": 130.0}
        with mock.patch.object(area.timing, "known", side_effect=lambda config, block, netlist: blocks[block] if config == "nic1" else 7.0) as known:
            found = self.of(NIC1)
            self.assertEqual((found["timing_mhz"], found["timing_levels"], found["timing_blocks"]), (120.0, None, 2))  # before the page
            self.assertEqual([call.args[2] for call in known.call_args_list], [self.folder / "cache/0.il", self.folder / "cache/1.il"])
            found = self.of(NIC1, "xcup")
            self.assertEqual((found["timing_mhz"], found["timing_levels"], found["timing_blocks"]), (None, 7.0, 2))
        # Neither netlist was analyzed here, and the page is that of another configuration.
        found = self.of(NIC1 | {"nic.dma_tags": 8})
        self.assertEqual((found["timing_mhz"], found["timing_blocks"]), (None, 0))

    def test_failures_are_reasons_and_not_kept(self):
        self.elaborate.return_value = (None, 3.0, "vireo_nic does not elaborate:\nline 4")
        self.assertEqual(self.of(NIC1), "vireo_nic does not elaborate: line 4")
        self.elaborate.return_value = ({"vireo_nic": ""}, 3.0, None)
        self.map.return_value = ([], [], ["a for nic1 has a latch: q\nmore"], 1.0)
        self.assertEqual(self.of(NIC1), "a for nic1 has a latch: q more")
        self.assertEqual(list((self.folder / "devices").iterdir()), [])

    def test_damaged_cache(self):
        self.of(NIC1)
        file = next((self.folder / "devices").iterdir())
        file.write_text('{"area_lut": 3}', encoding="utf-8")
        with self.assertRaisesRegex(StudyError, f"{file.name}:1: is not the area of a device; delete it"):
            self.of(NIC1)

    def test_yosys_is_missing(self):
        with mock.patch.object(area.yosys, "PROGRAM", self.folder / "none"), self.assertRaisesRegex(StudyError, "needs Yosys"):
            self.of(NIC1)


class Studies(ExploreTest):
    class Fake:
        """100 LUTs for each byte of the fake benchmark's nic.size."""

        def of(self, settings):
            size = int(settings["nic.size"])
            return "no room" if size == 3 else dict.fromkeys(study_file.AREA, 100 * size)

    def study(self, text):
        file = self.folder / "study.toml"
        file.write_text(text, encoding="utf-8")
        bench = Bench(FAKE)
        study = study_file.read(file, bench, [], [])
        return bench, study, Store(self.out, study)

    def test_columns_objectives_and_constraints(self):
        self.explore(STUDY)
        bench, study, store = self.study(AREA_STUDY)
        table, _ = results.rows(study, bench, store, study.points(bench), self.Fake())
        self.assertEqual([(row["status"], row["reason"], row["area_lut"], row["feasible"], row["pareto"]) for row in table],
                         [("ok", "", 100, True, True), ("ok", "", 200, True, True), ("failed", "area: no room", None, False, False)])

    def test_a_share_needs_no_area(self):
        """The command without --index adds it."""
        self.assertIn("3 ok", self.explore(AREA_STUDY, "--index", "0/1").stdout)

    def test_search_minds_area(self):
        text = AREA_STUDY.replace("[1, 2, 3]", "{ from = 1, to = 12, step = 1 }\n[search]\npoints = 9")
        bench, study, store = self.study(text)
        with Progress(9, quiet=True) as progress:
            points = search.points(study, bench, store, 4, False, True, progress, self.Fake())
        self.assertEqual(len(points), 9)

    def test_refusals(self):
        self.refused(AREA_STUDY + 'area_blocks = "csr"\n', "study.toml:9:", "a list of blocks")
        self.refused(AREA_STUDY + "area_blocks = [3]\n", "study.toml:9:", "a list of blocks, not 3")
        self.refused(STUDY + 'area_blocks = ["csr"]\n', "study.toml:7:", "area_blocks needs area = \"ecp5\" in [results], or --area")
        self.refused(AREA_STUDY.replace("ecp5", "ecp6"), "study.toml:7:", "area is one of ecp5, xcup, not 'ecp6'")
        self.refused(AREA_STUDY.replace('area = "ecp5"\n', ""), "study.toml:6:", "'area_lut' needs area = \"ecp5\" in [results], or --area")


if __name__ == "__main__":
    sys.exit(unittest.main())
