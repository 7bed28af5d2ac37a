#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the control processor's image for a card: the firmware with its settings, as words for $readmemh (vireo_card_boot).

    fpga/boards/image.py build/dev/firmware/rv32/firmware.bin image.hex --mac 02:00:00:00:00:01"""

import argparse
import pathlib
import re
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]


def constant(name):
    """A constant of spec/processor.toml."""
    text = (ROOT / "spec/processor.toml").read_text(encoding="utf-8")
    return int(re.search(rf'name = "{name}"\nvalue = (\w+)', text)[1], 0)


def image(firmware, profile, mac, mtu, words):
    """The words. `mac` of 6 bytes or None: the device's own; `mtu` 0: the device's own."""
    data = bytearray(firmware)
    if len(data) > 4 * words:
        raise ValueError(f"the firmware has {len(data)} bytes, the image has room for {4 * words}")
    at = constant("processor_settings_offset")
    if any(data[at:at + 16]):
        raise ValueError("the firmware has settings already")
    data[at:at + 16] = struct.pack("<IBB6sI", constant("processor_settings_magic"), profile == "vireo", mac is not None, mac or bytes(6), mtu)
    data += bytes(4 * words - len(data))
    return struct.unpack(f"<{words}I", data)


def mac_address(text):
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        raise argparse.ArgumentTypeError(f"`{text}` is no MAC address")
    found = bytes.fromhex(text.replace(":", ""))
    if found[0] & 1 or not any(found):
        raise argparse.ArgumentTypeError(f"{text} is no address of one station")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("firmware", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--profile", choices=("rfc-v2", "vireo"), default="vireo")
    parser.add_argument("--mac", type=mac_address, help="default: the device's own")
    parser.add_argument("--mtu", type=int, default=0, help="default: the device's own")
    parser.add_argument("--words", type=int, default=16384, help="ImageWords of the top (default: %(default)s)")
    options = parser.parse_args()
    try:
        words = image(options.firmware.read_bytes(), options.profile, options.mac, options.mtu, options.words)
    except ValueError as error:
        parser.error(str(error))
    options.output.write_text("".join(f"{word:08x}\n" for word in words), encoding="ascii")


if __name__ == "__main__":
    main()
