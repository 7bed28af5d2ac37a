# SPDX-License-Identifier: Apache-2.0
"""The NIC behind the bridge: a driver finds it as Linux does, negotiates, and sends a control command, whose bytes the test,
which is the firmware, reads from the management port and answers. So accesses, DMA both ways and a message pass the bridge."""

import struct

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from host import BAR_MSIX, BAR_VIRTIO, Host

# spec/csr.toml
CONTROL, STATUS, CAUSE = 0x80, 0x84, 0x88
TABLE_COMMAND, TABLE_INDEX, TABLE_DATA = 0x100, 0x104, 0x180
MAILBOX_STATUS, MAILBOX_BYTES, MAILBOX_FETCH, MAILBOX_COMPLETE, MAILBOX_DATA = 0xc0, 0xc4, 0xcc, 0xd0, 0x200
FIRMWARE_READY, DATAPATH_ENABLE, LINK_UP = 1, 2, 4
TABLE_VIRTQUEUE, OPERATION_READ, OPERATION_WRITE, KIND_CONTROL = 0, 0 << 8, 1 << 8, 3
# virtio 1.3, 4.1.4.3
FEATURE_SELECT, FEATURE, DRIVER_SELECT, DRIVER_FEATURE, CONFIG_VECTOR, QUEUES, DEVICE_STATUS = 0, 4, 8, 12, 16, 18, 20
QUEUE_SELECT, QUEUE_SIZE, QUEUE_VECTOR, QUEUE_ENABLE, QUEUE_NOTIFY_OFF, QUEUE_DESC, QUEUE_DRIVER, QUEUE_DEVICE = 22, 24, 26, 28, 30, 32, 40, 48
ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK, DEVICE_NEEDS_RESET = 1, 2, 4, 8, 64
VERSION_1, CTRL_VQ, MAC = 1 << 32, 1 << 17, 1 << 5
CONTROL_QUEUE, VECTOR = 2, 3


class Firmware:
    """The management port."""

    def __init__(self, dut):
        self.dut = dut
        for name in ("csr_valid", "csr_write", "csr_address", "csr_data", "s_axis_tvalid", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast",
                     "s_axis_tuser", "time_ns"):
            getattr(dut, name).setimmediatevalue(0)
        dut.m_axis_tready.setimmediatevalue(1)
        dut.mac_link.setimmediatevalue(1)
        cocotb.start_soon(self.clock())

    async def clock(self):
        now = 0
        while True:
            await FallingEdge(self.dut.user_clk)
            now += 8
            self.dut.time_ns.value = now

    async def access(self, write, address, data=0):
        await FallingEdge(self.dut.user_clk)
        self.dut.csr_valid.value, self.dut.csr_write.value, self.dut.csr_address.value, self.dut.csr_data.value = 1, write, address, data
        await FallingEdge(self.dut.user_clk)
        self.dut.csr_valid.value = 0

    async def write(self, address, data):
        await self.access(1, address, data)

    async def read(self, address):
        await self.access(0, address)
        while not self.dut.csr_read_valid.value:
            await FallingEdge(self.dut.user_clk)
        return int(self.dut.csr_read_data.value)

    async def wait(self, address, mask, value):
        for _ in range(2000):
            if await self.read(address) & mask == value:
                return
        raise AssertionError(f"register {address:#x} is {await self.read(address):#x}")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_control_command_goes_through(dut):
    host, firmware = Host(dut), Firmware(dut)
    await host.start()
    rc, function = host.rc, host.function.pcie_id
    await firmware.write(CONTROL, FIRMWARE_READY | LINK_UP)

    # Where the structures are.
    at, places = await rc.config_read_byte(function, 0x34), {}
    while at:
        word = await rc.config_read_dword(function, at)
        if word & 0xff == 9:
            places[word >> 24] = await rc.config_read_dword(function, at + 8)
            assert await rc.config_read_dword(function, at + 4) == BAR_VIRTIO or word >> 24 == 5
            if word >> 24 == 2:
                multiplier = await rc.config_read_dword(function, at + 16)
        at = word >> 8 & 0xff
    common, notify, device = places[1], places[2], places[4]

    async def get(offset, size):
        return int.from_bytes(await host.read_bar(BAR_VIRTIO, common + offset, size), "little")

    async def put(offset, size, value):
        await host.write_bar(BAR_VIRTIO, common + offset, value.to_bytes(size, "little"))

    # Negotiation. [virtio 1.3, 3.1.1]
    assert await get(DEVICE_STATUS, 1) == 0
    await put(DEVICE_STATUS, 1, ACKNOWLEDGE)
    await put(DEVICE_STATUS, 1, ACKNOWLEDGE | DRIVER)
    offered = 0
    for word in range(2):
        await put(FEATURE_SELECT, 4, word)
        offered |= await get(FEATURE, 4) << 32 * word
    wanted = VERSION_1 | CTRL_VQ | MAC
    assert offered & wanted == wanted, f"offers {offered:#x}"
    for word in range(2):
        await put(DRIVER_SELECT, 4, word)
        await put(DRIVER_FEATURE, 4, wanted >> 32 * word & 0xffffffff)
    await put(DEVICE_STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK)
    await firmware.write(CAUSE, 0xffffffff)
    assert await get(DEVICE_STATUS, 1) == ACKNOWLEDGE | DRIVER | FEATURES_OK
    assert len(await host.read_bar(BAR_VIRTIO, device, 6)) == 6

    # MSI-X: entry 3, and the function's enable.
    await host.write_bar(BAR_MSIX, 16 * VECTOR, struct.pack("<QII", 0xfee01000, 0x4321, 0))
    assert await host.read_bar(BAR_MSIX, 16 * VECTOR, 16) == struct.pack("<QII", 0xfee01000, 0x4321, 0)
    await rc.config_write_word(function, host.function.msix_cap.offset * 4 + 2, 0x8000)

    # The control queue: split, 8 entries.
    table, driver, used = host.memory_at, host.memory_at + 0x1000, host.memory_at + 0x2000
    await put(QUEUE_SELECT, 2, CONTROL_QUEUE)
    await put(QUEUE_SIZE, 2, 8)
    await put(QUEUE_VECTOR, 2, VECTOR)
    assert await get(QUEUE_VECTOR, 2) == VECTOR
    for offset, address in ((QUEUE_DESC, table), (QUEUE_DRIVER, driver), (QUEUE_DEVICE, used)):
        await put(offset, 4, address & 0xffffffff)  # as halves [virtio 1.3, 4.1.3.1]
        await put(offset + 4, 4, address >> 32)
    notify_off = await get(QUEUE_NOTIFY_OFF, 2)
    await put(QUEUE_ENABLE, 2, 1)
    await put(DEVICE_STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)
    assert await get(DEVICE_STATUS, 1) == ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK

    # The firmware's part: the queue is the control queue; the datapath runs.
    await firmware.write(TABLE_INDEX, CONTROL_QUEUE)
    await firmware.write(TABLE_COMMAND, TABLE_VIRTQUEUE | OPERATION_READ)
    await firmware.wait(TABLE_COMMAND, 1 << 31, 0)
    await firmware.write(TABLE_DATA, await firmware.read(TABLE_DATA) & ~0xff | KIND_CONTROL)
    await firmware.write(TABLE_COMMAND, TABLE_VIRTQUEUE | OPERATION_WRITE)
    await firmware.wait(TABLE_COMMAND, 1 << 31, 0)
    await firmware.write(CONTROL, FIRMWARE_READY | LINK_UP | DATAPATH_ENABLE)

    # A command of 300 bytes, and a byte for its answer; with pauses on every stream, and completions cut and late.
    host.pause_randomly(0.3)
    host.split, host.read_delay_ns = True, 400
    command = host.random.randbytes(300)
    host.memory[0x4003:0x4003 + 300] = command
    host.memory[0:32] = struct.pack("<QIHHQIHH", host.memory_at + 0x4003, 300, 1, 1, host.memory_at + 0x5001, 1, 2, 0)
    host.memory[0x1000:0x1006] = struct.pack("<HHH", 0, 1, 0)
    host.memory[0x5000:0x5003] = b"\xee\xee\xee"
    await host.write_bar(BAR_VIRTIO, notify + notify_off * multiplier, struct.pack("<H", CONTROL_QUEUE))
    await firmware.wait(MAILBOX_STATUS, 3, 1)
    assert await firmware.read(MAILBOX_BYTES) == 300
    await firmware.write(MAILBOX_FETCH, 0)
    await firmware.wait(MAILBOX_STATUS, 3, 1)
    window = b"".join([struct.pack("<I", await firmware.read(MAILBOX_DATA + 4 * i)) for i in range(75)])
    assert window == command
    await firmware.write(MAILBOX_DATA, 0x5a)
    await firmware.write(MAILBOX_COMPLETE, 1)
    for _ in range(100):
        await Timer(500, "ns")
        if host.messages:
            break
    # The message is behind the used index, that behind the used element, that behind the answer.
    assert [message[:2] for message in host.messages] == [(0xfee01000, 0x4321)]
    assert bytes(host.memory[0x5000:0x5003]) == b"\xee\x5a\xee"
    assert struct.unpack("<HHII", host.memory[0x2000:0x200c])[1:] == (1, 0, 1)
    addresses = [address for address, _ in host.writes]
    assert addresses == [host.memory_at + 0x5001, used + 4, used + 2] and host.messages[0][2] == 3, addresses
    await RisingEdge(dut.user_clk)

    # A function level reset: with its firmware a new driver finds a device that nobody has touched.
    host.pause_randomly(0)
    await host.function_level_reset()
    assert await get(DEVICE_STATUS, 1) == DEVICE_NEEDS_RESET
    await firmware.write(CONTROL, FIRMWARE_READY | LINK_UP)
    await Timer(3, "us")
    assert await get(DEVICE_STATUS, 1) == 0
    await put(DEVICE_STATUS, 1, ACKNOWLEDGE)
    assert await get(DEVICE_STATUS, 1) == ACKNOWLEDGE
