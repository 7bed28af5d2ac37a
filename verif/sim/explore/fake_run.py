#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for vireo_run in tests of a study with programs: prints what perftest prints, with figures that depend on the message
size, or does something wrong by the name of the environment variable FAKE_PAIR: fails, hangs or prints nothing.

FAKE_LOG: a file that gets its arguments and the topology, a line per run."""

import os
import pathlib
import re
import sys
import time

BANDWIDTH = """client |  #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
client |  {size}       100              {size}.24            {size}.00\t\t   1.500000
"""
LATENCY = """client |  #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   \
99.9% percentile[usec]
client |  {size}       50          1.50           9.50         2.25     \t       2.50        0.25   \t\t8.00    \t\t9.00
"""


def main():
    client = sys.argv[-1]
    if log := os.environ.get("FAKE_LOG"):
        topology = pathlib.Path(sys.argv[sys.argv.index("--topology") + 1]).read_text(encoding="utf-8")
        with open(log, "a", encoding="utf-8") as file:
            words = sys.argv[1:]
            words[words.index("--topology") + 1] = topology
            file.write(repr(words) + "\n")
    match os.environ.get("FAKE_PAIR"):
        case "fails":
            print("client | Couldn't connect to localhost\n\n  seed: VIREO_SEED=0x7\n  client          0 frames sent, 0 received")
            return 1
        case "hangs":
            time.sleep(600)
        case "prints_nothing":
            return 0
    size = re.search(r"-s (\d+)", client)
    print((LATENCY if "_lat" in client else BANDWIDTH).format(size=size[1] if size else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
