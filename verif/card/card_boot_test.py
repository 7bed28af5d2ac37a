# SPDX-License-Identifier: Apache-2.0
"""Every word of the image is written once, in order, then the processor starts; and again after a reset at any time."""

import os
import pathlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

STACK_BYTES = 8192
WORDS = [int(word, 16) for word in pathlib.Path(os.environ["VIREO_TOP_FOLDER"], "boot.hex").read_text(encoding="ascii").split()]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def loads_and_starts(dut):
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    for cut in (5, 1, len(WORDS), None):
        dut.rst_ni.value = 0
        await Timer(10, "ns")
        assert not dut.run_o.value and not dut.load_valid_o.value
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        written, cycles = [], 0
        while not dut.run_o.value and cycles != cut:
            await FallingEdge(dut.clk_i)
            cycles += 1
            if dut.load_valid_o.value:
                assert not dut.run_o.value
                written.append((int(dut.load_address_o.value), int(dut.load_data_o.value)))
            assert cycles < 2 * len(WORDS)
        expected = [(STACK_BYTES + 4 * index, word) for index, word in enumerate(WORDS)]
        assert written == expected[:len(written)] and (cut or written == expected)
    for _ in range(20):
        await FallingEdge(dut.clk_i)
        assert dut.run_o.value and not dut.load_valid_o.value
