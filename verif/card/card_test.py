# SPDX-License-Identifier: Apache-2.0
"""A whole card: a driver finds it on PCI Express, its firmware, loaded from the image in the bitstream, answers a command, and a net
frame goes each way between memory of the host and the MAC. Then the same after a function level reset."""

import struct

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

from host import BAR_MSIX, BAR_VIRTIO, Host
from mac import MacSide, share

# virtio 1.3, 4.1.4.3
FEATURE_SELECT, FEATURE, DRIVER_SELECT, DRIVER_FEATURE, CONFIG_VECTOR, QUEUES, DEVICE_STATUS = 0, 4, 8, 12, 16, 18, 20
QUEUE_SELECT, QUEUE_SIZE, QUEUE_VECTOR, QUEUE_ENABLE, QUEUE_NOTIFY_OFF, QUEUE_DESC, QUEUE_DRIVER, QUEUE_DEVICE = 22, 24, 26, 28, 30, 32, 40, 48
ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK, DEVICE_NEEDS_RESET = 1, 2, 4, 8, 64
# 5.1.3 and 5.1.6.5
VERSION_1, CTRL_VQ, CTRL_RX, MAC, STATUS = 1 << 32, 1 << 17, 1 << 18, 1 << 5, 1 << 16
RECEIVE, TRANSMIT, CONTROL = 0, 1, 2
CTRL_CLASS_RX, CTRL_RX_PROMISC = 0, 0
HEADER_BYTES = 12
NEXT, WRITE = 1, 2
MAC_ADDRESS = bytes.fromhex("02000000002a")  # of the image: CMakeLists.txt
ENTRIES = 8


class Queue:
    """A split ring in the host's memory. Of each chain the first descriptor is its number in the ring."""

    def __init__(self, card, number, at):
        self.card, self.number, self.at, self.next, self.used = card, number, at, 0, 0
        self.notify_off = None

    def address(self, part):
        return self.card.host.memory_at + self.at + 0x400 * part

    async def set_up(self):
        card = self.card
        card.host.memory[self.at:self.at + 0xc00] = bytes(0xc00)
        await card.put(QUEUE_SELECT, 2, self.number)
        await card.put(QUEUE_SIZE, 2, ENTRIES)
        await card.put(QUEUE_VECTOR, 2, self.number)
        assert await card.get(QUEUE_VECTOR, 2) == self.number
        for part, offset in enumerate((QUEUE_DESC, QUEUE_DRIVER, QUEUE_DEVICE)):
            await card.put(offset, 4, self.address(part) & 0xffffffff)
            await card.put(offset + 4, 4, self.address(part) >> 32)
        self.notify_off = await card.get(QUEUE_NOTIFY_OFF, 2)
        await card.put(QUEUE_ENABLE, 2, 1)

    async def post(self, *buffers):
        """Buffers of (place in the memory, bytes, the device writes it)."""
        memory, first = self.card.host.memory, 3 * self.next % 6
        for index, (place, length, written) in enumerate(buffers):
            here, last = first + index, index == len(buffers) - 1
            flags = (0 if last else NEXT) | (WRITE if written else 0)
            memory[self.at + 16 * here:self.at + 16 * here + 16] = struct.pack(
                "<QIHH", self.card.host.memory_at + place, length, flags, 0 if last else here + 1)
        slot = self.at + 0x400 + 4 + 2 * (self.next % ENTRIES)
        memory[slot:slot + 2] = struct.pack("<H", first)
        self.next += 1
        memory[self.at + 0x402:self.at + 0x404] = struct.pack("<H", self.next)
        await self.card.host.write_bar(BAR_VIRTIO, self.card.notify + self.notify_off * self.card.multiplier, struct.pack("<H", self.number))

    async def wait(self, limit_us=2000):
        """Bytes that the device wrote, of the next chain that it is done with; its message has come."""
        memory = self.card.host.memory
        for _ in range(limit_us):
            if struct.unpack("<H", memory[self.at + 0x802:self.at + 0x804])[0] == self.used + 1:
                break
            await Timer(1, "us")
        else:
            raise AssertionError(f"queue {self.number}: no used element")
        element = self.at + 0x804 + 8 * (self.used % ENTRIES)
        self.used += 1
        for _ in range(100):
            if (0xfee00000 + 16 * self.number, 0x40 + self.number) in [message[:2] for message in self.card.host.messages]:
                break
            await Timer(1, "us")
        else:
            raise AssertionError(f"queue {self.number}: no message")
        self.card.host.messages.clear()
        return struct.unpack("<II", memory[element:element + 8])[1]


class Card:
    def __init__(self, dut):
        self.dut, self.mac = dut, MacSide(dut)
        for clock, period in ((dut.tx_clk, 9102), (dut.rx_clk, 9306)):
            cocotb.start_soon(Clock(clock, period, "ps").start())
        self.host = Host(dut, cfg_mgmt=True)
        self.mac.sink.set_pause_generator(share(1, 0.2))
        self.mac.source.set_pause_generator(share(2, 0.2))

    async def get(self, offset, size):
        return int.from_bytes(await self.host.read_bar(BAR_VIRTIO, self.common + offset, size), "little")

    async def put(self, offset, size, value):
        await self.host.write_bar(BAR_VIRTIO, self.common + offset, value.to_bytes(size, "little"))

    async def find(self):
        rc, function = self.host.rc, self.host.function.pcie_id
        at, places = await rc.config_read_byte(function, 0x34), {}
        while at:
            word = await rc.config_read_dword(function, at)
            if word & 0xff == 9:
                places[word >> 24] = await rc.config_read_dword(function, at + 8)
                if word >> 24 == 2:
                    self.multiplier = await rc.config_read_dword(function, at + 16)
            at = word >> 8 & 0xff
        self.common, self.notify, self.device = places[1], places[2], places[4]

    async def wait_for_firmware(self):
        """Until it runs and has cleared all tables, the driver is told to reset."""
        for _ in range(400):
            if await self.get(DEVICE_STATUS, 1) == 0:
                return
            await Timer(10, "us")
        raise AssertionError(f"status {await self.get(DEVICE_STATUS, 1):#x}, failure {int(self.dut.failure.value)}")

    async def negotiate(self):
        """[virtio 1.3, 3.1.1]"""
        host = self.host
        await self.put(DEVICE_STATUS, 1, ACKNOWLEDGE)
        await self.put(DEVICE_STATUS, 1, ACKNOWLEDGE | DRIVER)
        offered, wanted = 0, VERSION_1 | CTRL_VQ | CTRL_RX | MAC | STATUS
        for word in range(2):
            await self.put(FEATURE_SELECT, 4, word)
            offered |= await self.get(FEATURE, 4) << 32 * word
        assert offered & wanted == wanted, f"offers {offered:#x}"
        for word in range(2):
            await self.put(DRIVER_SELECT, 4, word)
            await self.put(DRIVER_FEATURE, 4, wanted >> 32 * word & 0xffffffff)
        await self.put(DEVICE_STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK)
        for _ in range(100):
            if await self.get(DEVICE_STATUS, 1) == ACKNOWLEDGE | DRIVER | FEATURES_OK:
                break
            await Timer(2, "us")
        else:
            raise AssertionError("the features are not accepted")
        for vector in range(3):
            await host.write_bar(BAR_MSIX, 16 * vector, struct.pack("<QII", 0xfee00000 + 16 * vector, 0x40 + vector, 0))
        await host.rc.config_write_word(host.function.pcie_id, host.function.msix_cap.offset * 4 + 2, 0x8000)
        queues = [Queue(self, number, 0x1000 * number) for number in (RECEIVE, TRANSMIT, CONTROL)]
        for queue in queues:
            await queue.set_up()
        await self.put(DEVICE_STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)
        return queues

    async def work(self, sizes):
        """Commands, and of each size a frame out and a frame in."""
        host = self.host
        receive, transmit, control = await self.negotiate()
        config = await host.read_bar(BAR_VIRTIO, self.device, 8)
        assert config[:6] == MAC_ADDRESS and config[6] & 1, f"{config!r}: another address, or no link"

        # The firmware accepts promiscuous mode, and refuses a command that there is not. [virtio 1.3, 5.1.6.5.1]
        for command, answer in (((CTRL_CLASS_RX, CTRL_RX_PROMISC, 1), 0), ((99, 0, 1), 1)):
            host.memory[0x8000:0x8003], host.memory[0x8100] = bytes(command), 0xee
            await control.post((0x8000, 2, False), (0x8002, 1, False), (0x8100, 1, True))
            assert await control.wait() == 1 and host.memory[0x8100] == answer

        for size in sizes:
            frame = MAC_ADDRESS[:5] + b"\x2b" + MAC_ADDRESS + b"\x88\xb5" + host.random.randbytes(size - 14)
            host.memory[0x9000:0x9000 + HEADER_BYTES] = bytes(HEADER_BYTES)
            host.memory[0x9000 + HEADER_BYTES:0x9000 + HEADER_BYTES + size] = frame
            await transmit.post((0x9000, HEADER_BYTES + size, False))
            await transmit.wait()
            for _ in range(100):
                if not self.mac.sink.empty():
                    break
                await Timer(1, "us")
            assert self.mac.taken() == [frame]

            answer = MAC_ADDRESS + MAC_ADDRESS[:5] + b"\x2b" + b"\x88\xb5" + host.random.randbytes(size - 14)
            host.memory[0xa000:0xb000] = b"\xee" * 0x1000
            await receive.post((0xa003, 2000, True))
            await Timer(20, "us")  # a net frame without a buffer is dropped
            errors = int(self.dut.rx_error.value)
            self.mac.send(bytes(size), bad=True)
            self.mac.send(answer)
            assert await receive.wait() == HEADER_BYTES + size
            assert host.memory[0xa003 + HEADER_BYTES:0xa003 + HEADER_BYTES + size] == answer
            assert host.memory[0xa003 + HEADER_BYTES + size:0xb000] == b"\xee" * (0x1000 - 3 - HEADER_BYTES - size)
            assert int(self.dut.rx_error.value) == errors + 1


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def a_command_and_a_frame_each_way(dut):
    card = Card(dut)
    await card.host.start()
    await card.find()
    assert await card.get(DEVICE_STATUS, 1) == DEVICE_NEEDS_RESET
    await card.wait_for_firmware()
    card.host.pause_randomly(0.1)
    card.host.split, card.host.read_delay_ns = True, 400
    await card.work(sizes=(60, 1514))

    # As a driver finds it that comes later. The frame that comes meanwhile is nobody's.
    card.mac.send(bytes(1000))
    await card.host.function_level_reset()
    assert await card.get(DEVICE_STATUS, 1) == DEVICE_NEEDS_RESET
    await card.wait_for_firmware()
    card.host.messages.clear()
    await card.work(sizes=(61,))
    assert not dut.failure.value
