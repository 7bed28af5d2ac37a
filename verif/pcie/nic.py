# SPDX-License-Identifier: Apache-2.0
"""The NIC's side of the bridge in tests without one: BARs that remember, DMA and messages on demand."""

import collections
import math

import cocotb
from cocotb.triggers import Event, FallingEdge, RisingEdge

from host import BAR_BYTES

BAR_READ_LATENCY = 4


class Nic:
    """Drives and samples at falling edges, so that an input is stable at the rising one."""

    def __init__(self, dut):
        self.dut = dut
        self.beat = len(dut.wdata) // 8
        self.tags = 1 << len(dut.arid)
        self.accesses = []                       # (write, bar, offset, bytes, data)
        self.bars = {bar: {} for bar in BAR_BYTES}
        self.answers = collections.deque()       # (cycle, data)
        self.cycle = 0
        self.reads = {}                          # id -> [address, bytes, data, resps, event]
        self.free_ids = collections.deque(range(self.tags))
        self.id_freed = Event()
        self.read_queue, self.write_queue, self.beats = collections.deque(), collections.deque(), collections.deque()
        self.answered = 0
        self.responses = []
        self.message_queue = collections.deque()
        self.stall = lambda: False               # whether the NIC pauses its addresses and data in this cycle
        for name in ("bar_read_valid", "bar_read_data", "arvalid", "arid", "araddr", "arlen", "aruser", "awvalid", "awaddr", "awuser",
                     "wvalid", "wdata", "wlast", "msix_valid", "msix_address", "msix_data"):
            getattr(dut, name).setimmediatevalue(0)
        cocotb.start_soon(self.run())

    async def run(self):
        dut = self.dut
        while True:
            # Outputs and handshakes of this cycle, in its second half.
            await RisingEdge(dut.user_clk)
            if not dut.nic_rst_n.value:
                self.reset()
                await FallingEdge(dut.user_clk)
                self.drive()
                continue
            self.cycle += 1
            await FallingEdge(dut.user_clk)
            self.sample()
            self.drive()

    def reset(self):
        self.answers.clear()
        for queue in (self.read_queue, self.write_queue, self.beats, self.message_queue):
            queue.clear()
        self.reads.clear()
        self.free_ids = collections.deque(range(self.tags))
        self.ar = self.aw = self.w = None

    ar = aw = w = None

    def sample(self):
        # Inputs that were driven in the falling edge before have been taken, or not, at the rising edge; `ready` of
        # that time is kept in ar, aw and w.
        dut = self.dut
        if dut.rvalid.value:
            read = self.reads[int(dut.rid.value)]
            read[2].append(dut.rdata.value.integer.to_bytes(self.beat, "little"))
            read[3].append(int(dut.rresp.value))
            beats = math.ceil((read[0] % self.beat + read[1]) / self.beat)
            assert len(read[2]) <= beats
            assert int(dut.rlast.value) == (len(read[2]) == beats), "rlast is wrong"
            if dut.rlast.value:
                ident = int(dut.rid.value)
                del self.reads[ident]
                self.free_ids.append(ident)
                self.id_freed.set()
                read[4].set()
        if dut.bvalid.value:
            self.responses.append(int(dut.bresp.value))
        if dut.bar_valid.value:
            access = (int(dut.bar_write.value), int(dut.bar_index.value), int(dut.bar_offset.value), int(dut.bar_bytes.value),
                      int(dut.bar_data.value))
            write, bar, offset, size, data = access
            assert size in (1, 2, 4, 8) and offset % size == 0 and offset + size <= BAR_BYTES[bar], f"access {access}"
            self.accesses.append(access)
            if write:
                assert data >> 8 * size == 0
                for i in range(size):
                    self.bars[bar][offset + i] = data >> 8 * i & 0xff
            else:
                value = sum(self.bars[bar].get(offset + i, 0) << 8 * i for i in range(size))
                self.answers.append((self.cycle + BAR_READ_LATENCY, value))

    def drive(self):
        dut = self.dut
        if self.answers and self.answers[0][0] == self.cycle:
            dut.bar_read_valid.value = 1
            dut.bar_read_data.value = self.answers.popleft()[1]
        else:
            dut.bar_read_valid.value = 0
        # `ready` is a register's: what it is now it is at the rising edge.
        for kind, queue in (("ar", self.read_queue), ("aw", self.write_queue)):
            if getattr(self, kind):
                setattr(self, kind, None)
                queue.popleft()
            if queue and not self.stall():
                for name, value in queue[0].items():
                    getattr(dut, kind + name).value = value
                getattr(dut, kind + "valid").value = 1
                setattr(self, kind, bool(getattr(dut, kind + "ready").value))
            else:
                getattr(dut, kind + "valid").value = 0
        dut.msix_valid.value = bool(self.message_queue)
        if self.message_queue:
            dut.msix_address.value, dut.msix_data.value = self.message_queue.popleft()
        if self.w:
            self.w = None
            self.beats.popleft()
        if self.beats and not self.stall():
            dut.wdata.value, dut.wlast.value = self.beats[0]
            dut.wvalid.value = 1
            self.w = bool(dut.wready.value)
        else:
            dut.wvalid.value = 0

    async def read(self, address, length):
        """One burst; (data, every beat's answer)."""
        while not self.free_ids:
            self.id_freed.clear()
            await self.id_freed.wait()
        ident = self.free_ids.popleft()
        entry = self.reads[ident] = [address, length, [], [], Event()]
        beats = math.ceil((address % self.beat + length) / self.beat)
        self.read_queue.append({"id": ident, "addr": address, "len": beats - 1, "user": length})
        await entry[4].wait()
        lane = address % self.beat
        return b"".join(entry[2])[lane:lane + length], entry[3]

    def write(self, address, data):
        lane = address % self.beat
        padded = bytes(lane) + data
        padded += bytes(-len(padded) % self.beat)
        self.write_queue.append({"addr": address, "user": len(data)})
        for at in range(0, len(padded), self.beat):
            self.beats.append((int.from_bytes(padded[at:at + self.beat], "little"), at + self.beat == len(padded)))

    def message(self, address, data):
        self.message_queue.append((address, data))

    async def idle(self):
        while self.read_queue or self.write_queue or self.beats or self.message_queue or self.reads:
            await FallingEdge(self.dut.user_clk)
