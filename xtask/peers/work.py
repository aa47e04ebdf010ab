# SPDX-License-Identifier: GPL-2.0-only
"""What the peers simulate: the same work as the benchmark's cases of these names, by rules that need no kernel."""

from collections import namedtuple

Case = namedtuple("Case", "kind cpus tasks")

CASES = {
    "hogs-2x10": Case("hogs", 2, 10),
    "sleepers-112x224": Case("sleepers", 112, 224),
}
TICK_US = 1000
# Ticks that a hog runs before another one may run: 3 ms.
SLICE_TICKS = 3
SLEEP_US = 100
# A sleeper works between these times.
WORK_US = (50, 150)


class Random:
    """A linear congruential generator, so that all peers draw the same times."""

    def __init__(self, seed):
        self.state = seed * 2 + 1

    def work_us(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        low, high = WORK_US
        return low + (self.state >> 33) % (high - low + 1)
