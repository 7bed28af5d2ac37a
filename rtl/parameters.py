#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parameters for building one module as a top: block tests, proofs, lint and synthesis.

A list of sizes has one syntax everywhere: the name of a configuration in spec/configs.toml, changes to its fields as
field=value, and other parameters as Name=value, for example `nic1 num_qps=4 Requests=4`. A size of a test or proof need
not be one that a device may have. Prints the module's parameters as Verilator's -G options, one per line.
"""

import argparse
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
SPEC = tomllib.loads((ROOT / "spec/configs.toml").read_text(encoding="utf-8"))
FIELDS = [row["name"] for row in SPEC["parameter"]]
CONFIGS = {row["name"]: row["values"] for row in SPEC["config"]}

# Parameters that no configuration chooses -> what lint and synthesis give a module that is built alone. Module.Parameter
# comes before Parameter. A block has what vireo_nic gives it.
ALONE = {
    "BufferBytes": 32768,
    "Batches": 40,
    "Buffers": 64,
    "BytesBits": 13,
    "ChainEntries": 64,
    "ConsoleCyclesPerBit": 16,
    "CoreBits": lambda config: config["datapath_bits"],
    "CountBits": 7,
    "CyclesPerBit": 16,
    "DataBits": lambda config: config["datapath_bits"],
    "Depth": 512,
    "Descriptors": 32,
    "Entries": lambda config: config["num_qps"],
    "Fetches": 32,
    "FetchClients": 10,
    "FetchDepth": 32,
    "HasProcessor": 1,
    "HeaderDwords": 4,
    "HeaderUserBits": 8,
    "ImageWords": 16384,
    "InBits": 64,
    "Inputs": 4,
    "Lookup": "1'b1",
    "MacBits": 512,
    "MacBufferBytes": 32768,
    "MaxFrameBytes": lambda config: config["max_frame_bytes"],
    "MemoryWords": 24576,
    "MetaBits": 32,
    "NumQueues": 16,
    "NumVectors": lambda config: config["num_msix_vectors"],
    "Offset": "16'h1",
    "OutBits": 512,
    "Net": "1'b0",
    "Packets": 16,
    "Places": 128,
    "QpBits": lambda config: config["num_qps"].bit_length() - 1,
    "Ram": "8'h0",
    "ReadClients": 2,
    "Reads": 32,
    "Requests": 8,
    "Reserves": "1'b1",
    "Replays": 128,
    "RequestTagBits": 8,
    "Slots": 64,
    "StepBits": 8,
    "StoreClients": 3,
    "WatchdogBits": 32,
    "Width": 32,
    "WriteClients": 2,
    "vireo_card.ConfigIndex": lambda config: list(CONFIGS.values()).index(config),
    "vireo_dma_split.MetaBits": 8,
    "vireo_dma_write_port.BufferBytes": 8192,
    "vireo_dma_writer.BufferBytes": 8192,
    "vireo_fifo.Depth": 16,
    "vireo_key_fence.Holders": 5,
    "vireo_key_fence.HolderSides": "5'h0a",
    "vireo_mac_narrow.InBits": 512,
    "vireo_mac_narrow.OutBits": 64,
    "vireo_net_filter.BytesPerFrame": 128,
    "vireo_nic.ConfigIndex": lambda config: list(CONFIGS.values()).index(config),
    "vireo_queue_state.Width": 16,
    "vireo_recv_queue.Ahead": lambda config: config["receives_ahead"],
    "vireo_response_fence.CountBits": 16,
    "vireo_rx_buffer.BytesPerFrame": 1024,
    "vireo_send_queue.Buffers": lambda config: config["send_queue_buffers"],
    "vireo_send_queue.Fetches": lambda config: config["send_queue_fetches"],
    "vireo_send_queue.Requests": lambda config: config["send_queue_requests"],
    "vireo_slice.Depth": 2,
    "vireo_stop_marks.Depth": 64,
    "vireo_tx_gather.BufferBytes": lambda config: config["tx_buffer_bytes"],
    "vireo_tx_room.Beats": 4096,
    "vireo_tx_room.MaxBeats": 512,
    "vireo_tx_room.Packets": 64,
    "vireo_wait_budget.Share": 32,
    "vireo_wait_budget.WaitBits": 15,
    "vireo_work_fence.CountBits": 10,
}


def literal(config):
    """A config_t as a SystemVerilog literal."""
    value = 0
    for field in FIELDS:
        value = value << 32 | config[field]
    return f"{32 * len(FIELDS)}'h{value:0{8 * len(FIELDS)}x}"


def parameters(sizes):
    """Parameters by name, from a list of sizes."""
    config, found = None, {}
    for word in sizes:
        name, given, value = word.partition("=")
        if not given and name in CONFIGS:
            config = dict(CONFIGS[name])
        elif given and config and name in FIELDS:
            config[name] = int(value, 0)
        elif given and name[0].isupper():
            found[name] = value
        else:
            raise ValueError(f"`{word}` is no configuration, no field of one that was named before it, and no parameter")
    return {"Config": literal(config), **found} if config else found


def alone(module, config_name):
    """Parameters with which a module is built by itself for a configuration."""
    text = next(ROOT.glob(f"rtl/**/{module}.sv")).read_text(encoding="utf-8")
    found = {}
    for name, end in re.findall(r"^  parameter\s[^=,)]*?(\w+) *(=|,|//|$)", text, re.MULTILINE):
        if name == "Config" and end != "=":
            found[name] = literal(CONFIGS[config_name])
        else:
            value = ALONE.get(f"{module}.{name}", ALONE.get(name))
            if value is None and end == "=":
                continue  # its default
            if value is None:
                raise ValueError(f"rtl/parameters.py has no value for {module}.{name}: add it to ALONE")
            found[name] = value(CONFIGS[config_name]) if callable(value) else value
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", metavar="SIZE", help="configuration, field=value or Name=value")
    parser.add_argument("--alone", metavar="MODULE", help="the module's parameters for a configuration, which is the only SIZE")
    options = parser.parse_args()
    try:
        found = alone(options.alone, options.sizes[0]) if options.alone else parameters(options.sizes)
    except (ValueError, KeyError) as error:
        parser.error(str(error))
    for name, value in found.items():
        print(f"-G{name}={value}")


if __name__ == "__main__":
    main()
