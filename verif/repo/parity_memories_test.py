#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/repo/parity_memories.py finds memories without a row and rows without a memory."""

import unittest

import parity_memories

CELL = """
  vireo_ram_1r1w #(.Width(8), .Depth(NumQps)) u_ring (
    .clk_i
  );
  vireo_table #(.Width($bits(row_t)), .Depth(NumQps)) u_state (
    .clk_i
  );
  vireo_context_table #(
    .Width(32),
    .Ram(ContextRamTestQp)
  ) u_context (
    .clk_i
  );
"""
PAGE = """# Parity

| other | `u_nothing` | nobody | parity |

## Memories

| block | memories | written by | parity |
|---|---|---|---|
| test | `u_context` | firmware | parity |
| test | `u_state` | itself | *state*: positions |
| test | `u_ring` | itself | in flight: frames |

## Kept over a reset

| block | memories | why |
|---|---|---|
| test | `u_ring` | read up to the count |

## How tested
"""


class Memories(unittest.TestCase):
    def findings(self, source=CELL, page=PAGE, rams=("test_qp",), **others):
        return parity_memories.compare({"vireo_test.sv": source, **others}, page, rams)

    def refuses(self, *parts, **changes):
        found = self.findings(**changes)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_complete_table_is_right(self):
        self.assertEqual(self.findings(), [])

    def test_a_memory_in_no_row(self):
        for cell in parity_memories.CELLS[:-1]:
            self.refuses("test.u_new", "in no row", source=CELL + f"  {cell} #(.Width(1)) u_new (\n    .clk_i\n  );\n")

    def test_a_memory_in_a_loop(self):
        loop = "  for (genvar i = 0; i < 2; i++) begin : gen_bank\n    vireo_ram_1r1w #(\n      .Depth(2 * (1 + i))\n    ) u_bank (\n    );\n  end\n"
        self.refuses("test.u_bank", "in no row", source=CELL + loop)

    def test_an_array_that_a_module_writes(self):
        array = "  logic [7:0] words [16];\n  always_ff @(posedge clk_i) begin\n    if (write_i) words[at_i] <= data_i;\n  end\n"
        self.refuses("test.words (array)", "in no row", source=CELL + array)
        self.assertEqual(self.findings(source=CELL + "  logic [7:0] words [16];\n  assign words[0] = '0;\n"), [])

    def test_a_comment_is_no_memory(self):
        self.assertEqual(self.findings(source=CELL + "  // vireo_table #(.Width(1)) u_old ();\n"), [])

    def test_cells_are_no_blocks(self):
        self.assertEqual(self.findings(**{"vireo_table.sv": "  logic memory [4];\n  always_ff memory[0] <= 1;\n"}), [])

    def test_a_row_without_memory(self):
        self.refuses("test.u_old is no memory", page=PAGE.replace("`u_state`", "`u_state`, `u_old`"))

    def test_a_memory_in_two_rows(self):
        self.refuses("test.u_state is in two rows", page=PAGE.replace("`u_context`", "`u_context`, `u_state`")
                     .replace("| *state*: positions", "| parity").replace("| test | `u_state` | itself | parity |",
                                                                         "| test | `u_state` | itself | *state*: positions |"))

    def test_a_memory_that_is_not_covered_as_the_table_says(self):
        self.refuses("test.u_state", "`parity`", page=PAGE.replace("*state*: positions", "parity"))
        self.refuses("test.u_context", "`not yet: a reason`", page=PAGE.replace("firmware | parity", "firmware | not yet: a reason"))

    def test_a_row_without_reason(self):
        self.refuses("test.u_state", "no reason", page=PAGE.replace("*state*: positions", "none"))

    def test_context_rams_and_memories_match(self):
        self.refuses("TestAh has no memory", rams=("test_qp", "test_ah"))
        self.refuses("TestQp is not in context_ram", rams=())
        other = CELL.replace("u_state", "u_other").replace("vireo_table", "vireo_nothing").replace("vireo_ram_1r1w", "vireo_nothing")
        self.refuses("several blocks", page=PAGE.replace("\n## Kept", "| other | `u_context` | firmware | parity |\n\n## Kept"),
                     **{"vireo_other.sv": other})

    def test_a_memory_that_keeps_its_contents_over_a_reset(self):
        self.refuses("test.u_ring keeps", page=PAGE.replace("| test | `u_ring` | read up to the count |\n", ""))
        array = "  logic [7:0] words [16];\n  always_ff @(posedge clk_i) begin\n    words[at_i] <= data_i;\n  end\n"
        self.refuses("test.words keeps", source=CELL + array,
                     page=PAGE.replace("`u_ring` | itself", "`u_ring`, `words` | itself"))

    def test_a_memory_that_a_reset_clears(self):
        self.refuses("test.u_state of the table keeps nothing",
                     page=PAGE.replace("`u_ring` | read", "`u_ring`, `u_state` | read"))

    def test_a_kept_memory_without_reason(self):
        self.refuses("test.u_ring", "no reason", page=PAGE.replace("read up to the count", "none"))

    def test_no_sources(self):
        self.assertIn("no memory was found", parity_memories.compare({}, PAGE, []))


if __name__ == "__main__":
    unittest.main()
