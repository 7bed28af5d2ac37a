# SPDX-License-Identifier: Apache-2.0
"""Extended Tag Field Enable, as the block's management interface answers it: late, and a pulse."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_the_register(dut):
    source = random.Random(cocotb.RANDOM_SEED)
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    dut.cfg_mgmt_read_data_i.value, dut.cfg_mgmt_read_write_done_i.value, dut.rst_ni.value = 0, 0, 0
    await Timer(20, "ns")
    dut.rst_ni.value = 1
    assert not dut.extended_tags_o.value
    for _ in range(200):
        # Everything but bit 8 is something else. [PCIe 5.0, 7.5.3.4]
        enabled, others = source.random() < 0.5, source.getrandbits(32) & ~0x100
        wait = 0
        while not dut.cfg_mgmt_read_o.value:
            await FallingEdge(dut.clk_i)
            wait += 1
            assert wait < 4, "it does not ask again"
        for _ in range(source.randrange(1, 12)):
            await FallingEdge(dut.clk_i)
            assert dut.cfg_mgmt_read_o.value, "a request must stay"
            assert int(dut.cfg_mgmt_addr_o.value) * 4 == 0x70 + 8
        dut.cfg_mgmt_read_data_i.value, dut.cfg_mgmt_read_write_done_i.value = others | enabled << 8, 1
        await FallingEdge(dut.clk_i)
        dut.cfg_mgmt_read_data_i.value, dut.cfg_mgmt_read_write_done_i.value = source.getrandbits(32), 0
        assert dut.extended_tags_o.value == enabled and not dut.cfg_mgmt_read_o.value
