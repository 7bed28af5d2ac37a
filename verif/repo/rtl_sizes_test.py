#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/repo/rtl_sizes.py finds modules and always blocks that are too large, and exceptions that are wrong."""

import unittest

import rtl_sizes

LINE = "    a = b;\n"


def block(lines, keyword="always_comb"):
    """An always block of this many lines."""
    return f"  {keyword} begin\n{LINE * (lines - 2)}  end\n"


def module(lines, body=""):
    """A module of this many lines."""
    return f"module vireo_test;\n{body}" + "\n" * (lines - body.count("\n") - 2) + "endmodule\n"


class Sizes(unittest.TestCase):
    def findings(self, text, **listed):
        return rtl_sizes.compare({"vireo_test": text}, listed)

    def refuses(self, text, *parts, **listed):
        found = self.findings(text, **listed)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_the_limits_are_allowed(self):
        self.assertEqual(self.findings(module(600, block(120) + block(120, "always_ff @(posedge clk_i)"))), [])

    def test_a_module_of_a_line_more(self):
        self.refuses(module(601), "vireo_test.sv has 601 lines, more than 600")

    def test_an_always_block_of_a_line_more(self):
        for keyword in ("always_comb", "always_ff @(posedge clk_i or negedge rst_ni)", "always @*", "always_latch"):
            self.refuses(module(300, block(20) + block(121, keyword)), "vireo_test.sv:22: an always block has 121 lines")

    def test_the_whole_statement_counts(self):
        nested = "    unique case (state_q)\n      A: begin\n" + LINE * 116 + "      end\n    endcase\n"
        self.refuses(module(300, f"  always_comb begin\n{nested}  end\n"), "122 lines")
        unnamed = "  always_ff @(posedge clk_i)\n    if (a) begin\n" + LINE * 60 + "    end else begin\n" + LINE * 60 + "    end\n"
        self.refuses(module(300, unnamed), "124 lines")
        self.assertEqual(self.findings(module(300, "  always_ff @(posedge clk_i) if (a) q <= d;\n" + LINE * 130)), [])
        self.assertEqual(self.findings(module(300, "  always_ff @(posedge clk_i) q <= d;\n" + LINE * 130)), [])

    def test_words_in_comments_and_strings_do_not_count(self):
        text = '    // always ends with the end\n    /* begin */\n    $error("begin");\n'
        self.assertEqual(self.findings(module(300, f"  always_comb begin\n{text}  end\n" + LINE * 130)), [])

    def test_an_exception_of_todays_size(self):
        self.assertEqual(self.findings(module(700), module={"vireo_test": 700}), [])
        self.assertEqual(self.findings(module(500, block(130) + block(140)), always={"vireo_test": [140, 130]}), [])

    def test_an_exception_may_shrink(self):
        self.assertEqual(self.findings(module(650), module={"vireo_test": 700}), [])
        self.assertEqual(self.findings(module(500, block(130)), always={"vireo_test": [140]}), [])

    def test_an_exception_may_not_grow(self):
        self.refuses(module(701), "has 701 lines, 700 before", module={"vireo_test": 700})
        self.refuses(module(500, block(130) + block(140)), "has 140 lines, 135 before", always={"vireo_test": [135, 130]})

    def test_one_more_than_the_exceptions(self):
        self.refuses(module(500, block(130) + block(140)), "has 130 lines, more than 120", always={"vireo_test": [140]})

    def test_an_exception_without_need(self):
        self.refuses(module(600), "need no exception", module={"vireo_test": 700})
        self.refuses(module(500, block(120)), "vireo_test has no such always", always={"vireo_test": [140]})
        self.refuses(module(500, block(130)), "vireo_test has no such always", always={"vireo_test": [140, 130]})
        self.refuses(module(500), "vireo_old has no such module", module={"vireo_old": 700})

    def test_an_unknown_kind(self):
        self.refuses(module(500), "`modules` is neither", modules={})

    def test_no_modules(self):
        self.assertEqual(rtl_sizes.compare({}, {}), ["no module was found"])


if __name__ == "__main__":
    unittest.main()
