#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the cards in fpga/boards without a vendor's tool, and prints what is around vireo_nic on one.

    fpga/boards/boards.py           pins, lists of sources; part of the test suite
    fpga/boards/boards.py --map     also elaborates each top by slang with vireo_nic and AMD's blocks as black boxes, checks its
                                    hierarchy, and maps the parts for UltraScale+: the table of docs/area.md"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "fpga"), str(ROOT / "rtl")]
import synth  # noqa: E402  pylint: disable=wrong-import-position
import yosys  # noqa: E402  pylint: disable=wrong-import-position

LISTS = ("processor.f", "pcie.f", "mac.f", "card.f")  # behind sources.f
# Without vireo_card_boot, which is a ROM of the size of the image.
PARTS = ("vireo_pcie_bridge", "vireo_mac", "vireo_control_processor", "vireo_card_control")
CONFIG = "nic100"


def ports(top):
    """Port -> its bits, of a top whose ports are `input logic [N:0] NAME`."""
    found = {}
    text = top.read_text(encoding="utf-8")
    for width, name in re.findall(r"^  (?:input |output) +logic +(?:\[(\d+):0\] +)?(\w+),?$", text[:text.index("\n);")], re.MULTILINE):
        found[name] = [f"{name}[{bit}]" for bit in range(int(width) + 1)] if width else [name]
    return found


def pins(constraints):
    """(port bit, pin) of each assignment."""
    text = re.sub(r"^\s*#.*$", "", constraints.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(port.strip("{}"), pin) for pin, port in re.findall(r"PACKAGE_PIN (\w+) +\[get_ports (\S+)\]", text)]


def check(folder):
    """Errors of a card."""
    name = f"vireo_{folder.name}"
    top = ports(folder / f"{name}.sv")
    assigned = pins(folder / f"{name}.xdc")
    bits = [bit for all_bits in top.values() for bit in all_bits]
    errors = [] if bits else ["no ports were found"]
    named = [bit for bit, _ in assigned]
    # Of a pair of a transceiver one pin tells the other.
    errors += [f"port {bit} has no pin" for bit in bits
               if bit not in named and not (re.search(r"_n(\[|$)", bit) and re.sub(r"_n(?=\[|$)", "_p", bit) in named)]
    errors += [f"no port {bit}, which has a pin" for bit in named if bit not in bits]
    errors += [f"port {bit} has two pins" for bit in sorted(set(named)) if named.count(bit) > 1]
    used = [pin for _, pin in assigned]
    errors += [f"pin {pin} is used twice" for pin in sorted(set(used)) if used.count(pin) > 1]
    script = (folder / "project.tcl").read_text(encoding="utf-8")
    errors += [f"project.tcl does not read rtl/{name}" for name in ("sources.f", *LISTS) if name not in script]
    errors += [f"{path} does not exist" for path in yosys.sources(*LISTS) if not path.exists()]
    errors += [f"project.tcl names {path}, which does not exist" for path in re.findall(r"\$root ((?:fpga|rtl)/[\w./]+)", script)
               if not (ROOT / path).exists()]
    return [f"{folder.name}: {error}" for error in errors]


def core():
    return next((ROOT / "build/venv/lib").glob("python3*/site-packages/pythondata_cpu_picorv32/verilog/picorv32.v"))


def sources():
    """In order, with the processor's core inside the repository, where YoWASP's Yosys has access."""
    copy = synth.WORK / "picorv32.v"
    copy.write_bytes(core().read_bytes())
    return [copy, *(path for path in yosys.sources(*LISTS) if path.suffix == ".sv")]


def hierarchy(folder):
    """The error of a card's elaboration, if any."""
    name = f"vireo_{folder.name}"
    files = [*sources(), folder / "blackboxes.sv", folder / f"{name}.sv"]
    image = (synth.WORK / "empty.hex").relative_to(ROOT)
    (ROOT / image).write_text("0\n", encoding="ascii")
    _, error = yosys.run(synth.WORK, name, [
        f"read_slang --threads 1 --top {name} --blackboxed-module vireo_nic -Werror=unconnected-input-port -G ImageFile=\"{image}\" "
        + " ".join(str(path.relative_to(ROOT)) for path in files), f"hierarchy -check -top {name}"])
    return error and f"{folder.name} does not elaborate:\n{error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--map", action="store_true", help="elaborate and map")
    options = parser.parse_args()
    folders = sorted(path.parent for path in (ROOT / "fpga/boards").glob("*/project.tcl"))
    errors = [error for folder in folders for error in check(folder)] if folders else ["no card was found"]
    if options.map:
        (synth.WORK / "cache").mkdir(parents=True, exist_ok=True)
        errors += [error for error in map(hierarchy, folders) if error]
        synth.show("block", "module", "config", *synth.COLUMNS, "s")
        total = dict.fromkeys(synth.COLUMNS, 0)
        for module in PARTS:
            row, seconds, error = synth.synthesize_module(sources(), module, CONFIG)
            if error:
                errors.append(error)
                continue
            synth.show_row(row, seconds)
            total = {name: total[name] + row[name] for name in total}
        synth.show_row({"config": CONFIG, "block": "sum", "module": f"{len(PARTS)} netlists", **total}, 0)
    print(f"{len(folders)} cards, {sum(len(bits) for folder in folders for bits in ports(folder / f'vireo_{folder.name}.sv').values())} pins")
    for error in errors:
        print(f"boards: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
