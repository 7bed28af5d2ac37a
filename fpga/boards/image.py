#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the control processor's image for a card: the firmware with its settings, as words for $readmemh (vireo_card_boot).

    fpga/boards/image.py build/dev/firmware/rv32/firmware.bin image.hex --mac 02:00:00:00:00:01"""

import argparse
import pathlib
import re
import struct
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def contract():
    """Of spec/processor.toml: the constants' values, and the structure of the settings."""
    spec = tomllib.loads((ROOT / "spec/processor.toml").read_text(encoding="utf-8"))
    return {entry["name"]: entry["value"] for entry in spec["const"]}, spec["struct"][0]


def image(firmware, profile, mac, mtu, words):
    """The words. `mac` of 6 bytes or None: the device's own; `mtu` 0: the device's own."""
    constants, layout = contract()
    data = bytearray(firmware)
    if len(data) > 4 * words:
        raise ValueError(f"the firmware has {len(data)} bytes, the image has room for {4 * words}")
    settings = slice(constants["processor_settings_offset"], constants["processor_settings_offset"] + layout["bytes"])
    if any(data[settings]):
        raise ValueError("the firmware has settings already")
    values = {"magic": constants["processor_settings_magic"], "abi_profile": profile == "vireo", "has_mac": mac is not None,
              "mac": int.from_bytes(mac or bytes(6), "little"), "mtu": mtu}
    whole = sum(values[field["name"]] << 8 * field["at"] for field in layout["fields"])
    data[settings] = whole.to_bytes(layout["bytes"], "little")
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
