#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html of ./vireo explore in a real browser (headless Chromium): 10,000 rows are drawn, and a click on a point shows its
row. Files of its figures. Skipped where Chromium is not installed."""

import asyncio
import json
import re
import shutil
import sys
import unittest
from unittest import mock

from common import FAKE, STUDY, ExploreTest

import pareto
import study as study_file
from bench import Bench
from errors import StudyError

CHROMIUM = shutil.which("chromium")
SIZES, CLOCKS = 1000, 10
LARGE = STUDY.replace("[1, 2, 3]", f"{{ from = 1, to = {SIZES}, step = 1 }}\nnic.clock = {{ from = 1, to = {CLOCKS}, step = 1 }}")
PROBE = """new Promise(resolve => { const wait = () => document.body?.dataset.drawn ? resolve(JSON.stringify({
  drawn: Number(document.body.dataset.drawn), figures: document.querySelectorAll('.figure .main-svg').length,
  table: document.querySelectorAll('#table tbody tr').length})) : setTimeout(wait, 50); wait(); })"""
PLACE = """(() => { const place = document.getElementById('figure0'), box = place.getBoundingClientRect(), axes = place._fullLayout;
  window.scrollTo(0, window.scrollY + box.top - 100); const now = place.getBoundingClientRect();
  return JSON.stringify([now.left + axes.xaxis._offset + axes.xaxis.d2p(AT_X), now.top + axes.yaxis._offset + axes.yaxis.d2p(AT_Y)]); })()"""


@unittest.skipIf(CHROMIUM is None, "chromium is not installed: apt-get install chromium")
class Report(ExploreTest):
    def in_browser(self, page, steps):
        """Opens a page and awaits steps(evaluate, mouse)."""
        import choreographer

        async def session():
            async with choreographer.Browser(path=CHROMIUM, headless=True, enable_gpu=False, enable_sandbox=False) as browser:
                tab = await browser.create_tab(f"file://{page}")

                async def evaluate(script):
                    answer = await tab.send_command("Runtime.evaluate", {"expression": script, "awaitPromise": True, "returnByValue": True})
                    self.assertNotIn("exceptionDetails", answer["result"], answer)
                    return answer["result"]["result"].get("value")

                async def mouse(kind, x, y):
                    await tab.send_command("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left" if kind != "mouseMoved" else "none",
                                                                        "clickCount": int(kind != "mouseMoved")})
                await steps(evaluate, mouse)
        asyncio.run(asyncio.wait_for(session(), 200))

    def large(self):
        """A report of 10,000 points that the fake benchmark would give."""
        import report

        file = self.folder / "study.toml"
        file.write_text(LARGE, encoding="utf-8")
        bench = Bench(FAKE)
        study = study_file.read(file, bench, [], [])
        rows = []
        for size in range(1, SIZES + 1):
            for clock in range(1, CLOCKS + 1):
                rows.append({"point": len(rows), "seed": 1, "status": "ok", "reason": "", "nic.size": size, "nic.clock": clock,
                             "goodput_gbps": size * clock + 0.1, "latency_ns_p50": 1000 / clock + size})
        best = pareto.front([(-row["goodput_gbps"], row["latency_ns_p50"]) for row in rows])
        for row, is_best in zip(rows, best, strict=True):
            row |= {"feasible": True, "pareto": is_best}
        about = {"status": {"ok": len(rows)}, "constraints": [], "points": len(rows), "workloads": ["workload"], "command": "", "version": "",
                 "model": "", "written": "", "host": "", "text": LARGE}
        page = self.folder / "report.html"
        report.write(page, study, bench, rows, about)
        return page, rows

    def test_ten_thousand_rows_and_a_click(self):
        page, rows = self.large()
        clicked = next(row for row in rows if not row["pareto"] and row["nic.clock"] == 1 and row["nic.size"] == 700)

        async def steps(evaluate, mouse):
            seen = json.loads(await evaluate(PROBE))
            print(f"{len(rows)} rows: drawn {seen['drawn']} ms after the start of the page")
            self.assertLess(seen["drawn"], 60_000)
            self.assertGreaterEqual(seen["figures"], 5)
            self.assertLess(seen["table"], 200)  # the rest is drawn when it comes into view
            self.assertTrue(await evaluate("document.getElementById('row').hidden"))
            x, y = json.loads(await evaluate(PLACE.replace("AT_X", str(clicked["goodput_gbps"])).replace("AT_Y", str(clicked["latency_ns_p50"]))))
            await mouse("mouseMoved", x - 1, y)
            await mouse("mouseMoved", x, y)
            await asyncio.sleep(0.5)
            await mouse("mousePressed", x, y)
            await mouse("mouseReleased", x, y)
            shown = await evaluate("new Promise(resolve => setTimeout(() => resolve(document.getElementById('row').innerText), 1000))")
            # Points are less than a pixel apart: it may be one of those beside it.
            point = re.search(r"^point (\d+)$", shown, re.M)
            self.assertIsNotNone(point, shown)
            row = rows[int(point[1])]
            self.assertLess(abs(row["goodput_gbps"] - clicked["goodput_gbps"]), 20)
            self.assertRegex(shown, rf"nic.size \[bytes\]\s+{row['nic.size']}\n")
            self.assertRegex(shown, rf"latency_ns_p50 \[ns\]\s+{row['latency_ns_p50']:g}\n")
            # Down to the last row of the table, and sorted by a click on a title.
            last = await evaluate("""new Promise(resolve => { const table = document.getElementById('table'); table.scrollTop = 1e9;
              setTimeout(() => resolve([...table.querySelectorAll('tbody tr')].at(-2).innerText), 300); })""")
            self.assertEqual(last.split()[0], str(max(row["point"] for row in rows if not row["pareto"])))
            first = await evaluate("""new Promise(resolve => { const table = document.getElementById('table'); table.scrollTop = 0;
              [...table.querySelectorAll('th')].find(title => title.innerText.startsWith('goodput')).click();
              setTimeout(() => resolve(table.querySelectorAll('tbody tr')[1].innerText), 300); })""")
            self.assertEqual(first.split()[0], "0")
        self.in_browser(page, steps)

    def test_figures_as_files(self):
        self.explore(STUDY + "stages = true\n", "--charts")
        names = {path.name for path in (self.out / "charts").iterdir()}
        for figure in ("Pareto_front", "goodput_gbps_over_nic.size", "Latency_by_stage_over_nic.size", "Main_effects_on_goodput_gbps",
                       "Parallel_coordinates"):
            self.assertIn(f"{figure}.svg", names)
            self.assertEqual((self.out / f"charts/{figure}.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("goodput_gbps", (self.out / "charts/Pareto_front.svg").read_text(encoding="utf-8"))


class WithoutBrowser(ExploreTest):
    def test_charts_need_chromium(self):
        import report

        with mock.patch("plotly.io.write_images", side_effect=RuntimeError("no browser\nTry this")), \
                self.assertRaisesRegex(StudyError, "charts: cannot be drawn: no browser; --charts needs the Debian package chromium"):
            report.charts(self.folder / "charts", [])

    def test_stages_are_stacked_bars(self):
        self.explore(STUDY.replace("1, 2, 3", "40, 80, 90").replace('name = "s"', 'name = "s"\ntitle = "</script><b>"') + "stages = true\n", "--bottleneck")
        page = (self.out / "report.html").read_text(encoding="utf-8")
        figures = [json.loads(text) for text in re.findall(r'id="figure\d+-data">(.*?)</script>', page, re.S)]
        bars = next(figure for figure in figures if figure["layout"].get("barmode") == "stack")
        # Cycles of 10 ns: size in the NIC, 20 on the wire.
        self.assertEqual([(bar["name"], bar["x"], bar["y"]) for bar in bars["data"]],
                         [("nic", ["40", "80", "90"], [400, 800, 900]), ("mac+wire", ["40", "80", "90"], [200, 200, 200])])
        limits = next(figure for figure in figures if figure["data"][0].get("orientation") == "h")["data"][0]
        self.assertEqual((limits["y"], limits["x"], limits["customdata"]), (["block 1", "block 0"], [2, 1], [[1, 2], [0]]))
        self.assertEqual([row["bottleneck"] for row in self.rows()], ["block 0, busy: 9 %", "block 1, busy: 9 %", "block 1, busy: 9 %"])
        self.assertEqual({key for key in self.rows()[0] if key.startswith("stages.")}, {"stages.cycles_in_nic", "stages.cycles_in_mac+wire"})
        self.assertNotIn("</script><b>", page)


if __name__ == "__main__":
    sys.exit(unittest.main())
