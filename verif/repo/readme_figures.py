#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README quotes figures of tables that commands write into other pages. This checks each of them against its table: the
README has the sentence below, with the table's figures in it."""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Page:
    def __init__(self, root: pathlib.Path, name: str) -> None:
        self.name = name
        self.lines = (root / "docs" / name).read_text(encoding="utf-8").splitlines()

    def row(self, first: str, table: str = "") -> list[str]:
        """The cells behind the first one, of the row that starts with `first`, in the table whose header has `table`."""
        header = ""
        for before, line in zip(["", *self.lines], self.lines):
            if line.startswith("|") and not before.startswith("|"):
                header = line
            if line.startswith(f"| {first} |") and table in header:
                return [cell.strip() for cell in line.split("|")[2:-1]]
        raise LookupError(f"docs/{self.name} has no row '{first}'")

    def rows_of(self, header: str) -> int:
        """How many rows the table with this header has."""
        at = next((i for i, line in enumerate(self.lines) if line.startswith(header)), None)
        if at is None:
            raise LookupError(f"docs/{self.name} has no table '{header}'")
        count = 0
        while self.lines[at + 2 + count].startswith("|"):
            count += 1
        return count

    def find(self, pattern: str) -> str:
        found = next((match for line in self.lines if (match := re.search(pattern, line))), None)
        if found is None:
            raise LookupError(f"docs/{self.name} has no '{pattern}'")
        return found[1]


def sentences(root: pathlib.Path) -> list[str]:
    bench = Page(root, "bench.md")

    def figure(workload: str, column: int) -> str:
        return bench.row(f"`{workload}`", "wire Gb/s")[column]

    def goodput(workload: str) -> str:
        return figure(workload, 0)

    def wire(workload: str) -> str:
        return figure(workload, 1)

    def breakdown(what: str) -> list[str]:
        return [cell.split()[0] for cell in bench.row(f"`breakdown_64b`: {what}")]

    cycles = figure("write_64b_16qp", 2)
    in_nic, in_peer = breakdown("in the NIC, from doorbell to CQE"), breakdown("in the peer's NIC")[0]
    loss = [goodput(f"loss_64k_write_{rate}pct") for rate in ("0", "0.1", "1")]
    programs = Page(root, "programs.md")
    bandwidth = programs.row("`ib_write_bw -F -s 65536 -n 200`")[0].split(":")[0]
    latency = programs.row("`ib_send_lat -F -n 100`")[0].split(" (")[0]
    return [
        f"[{Page(root, 'lockstep.md').find('^([0-9]+ of [0-9]+) mutants caught')}](docs/lockstep.md) caught",
        f"[{Page(root, 'monitor.md').find('^([0-9]+ of [0-9]+) faults caught')}](docs/monitor.md) caught",
        f"[{Page(root, 'faults.md').rows_of('| fault | where | script |')}](docs/faults.md) faults",
        f"[{Page(root, 'formal.md').rows_of('| proof | module |')} proofs](docs/formal.md)",
        f"WRITE [{goodput('write_64k_1qp')}](docs/bench.md), SEND {goodput('send_64k_1qp')}, READ {goodput('read_64k_1qp')} Gb/s "
        f"of payload; {wire('write_64k_1qp')} Gb/s on the wire",
        f"one per [{cycles} cycles](docs/bench.md), {float(goodput('write_64b_16qp')) * 1e3 / (64 * 8):.1f} million per second: "
        f"{wire('write_64b_16qp')} Gb/s on the wire",
        f"[{in_nic[0]} cycles](docs/bench.md) in the NIC, {in_nic[1]} with packed rings, {in_peer} in the peer's",
        f"[{', '.join(loss)} Gb/s](docs/bench.md) at 0, 0.1 and 1 % loss",
        f"`ib_write_bw` [{bandwidth}](docs/programs.md), `ib_send_lat` {latency}",
        f"messages of 64 bytes on 16 QPs (WRITE {wire('write_64b_16qp')}, READ {wire('read_64b_16qp')}, SEND "
        f"{wire('send_64b_16qp')} Gb/s) and on one ({wire('write_64b_1qp')}, {wire('read_64b_1qp')}, {wire('send_64b_1qp')}); "
        f"of 4 KiB on one QP (WRITE {wire('write_4k_1qp')}, READ {wire('read_4k_1qp')}, SEND {wire('send_4k_1qp')}); Ethernet "
        f"frames of 60 bytes, with one net queue pair ({wire('net_64b_1pair')}) and 16 ({wire('net_64b_16pair')}), and of 9,014 "
        f"with one ({wire('net_9014b_1pair')})",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="repository (default: this one)")
    root = parser.parse_args().root
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    try:
        wrong = [sentence for sentence in sentences(root) if sentence not in readme]
    except (LookupError, OSError) as error:
        print(f"readme_figures.py: {error}", file=sys.stderr)
        return 1
    for sentence in wrong:
        print(f"README.md: by the tables in docs/ it has to say: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
