"""A desktop beside a parallel build: which slice and which features give the player its CPU in time, and what does the build pay?

Needs `pip install './python[tune]'`. Takes 15 s on two CPUs, from the root of a checkout.
"""

from __future__ import annotations

import json
from typing import Any

import fairground as fg


def desktop(machine: str, jobs: int, tabs: int) -> dict[str, Any]:
    """A player of 120 frames a second, a compositor, a browser, and a build with so many jobs."""
    frame = {"loop": -1, "run": 1500, "timer": {"ref": "unique", "period": 8333, "mode": "absolute"}}
    # rt-app measures how late its threads wake: here it is the player alone.
    player = json.dumps({"tasks": {"player": frame}, "global": {"duration": 1}})
    others = [
        {"name": "compositor", "run": "2ms", "period": "16666us"},
        {"name": "browser", "do": ["run 200us..6ms", "sleep 1ms..20ms"], "count": tabs},
        {"name": "cc", "do": ["part build", "run 2ms..60ms", "sleep 200us..2ms"], "count": jobs},
    ]
    return {
        "title": "a desktop beside a build",
        "duration": "1s",
        "machine": {"preset": machine},
        "profile": {"kernel": "v6.12"},
        "workload": [{"rtapp_text": player}, {"tasks": others}],
    }


tuned = fg.tune(
    desktop("smp-8", jobs=10, tabs=4),
    {
        "profile.tunables.base_slice_ns": {"from": 400_000, "to": 12_000_000, "log": True},
        "profile.features.RUN_TO_PARITY": [True, False],
        "profile.features.PLACE_LAG": [True, False],
        "profile.features.NEXT_BUDDY": [True, False],
    },
    {"timer_latency.p99": "min", "parts.build.cpu_ms": "max"},
    budget=480,
    other_machine="smp-4",
    other_scenario=desktop("smp-8", jobs=16, tabs=12),
)
print(tuned.summary)
print("\nfront: the player's wake-up latency (99th percentile, us) against CPU time of the build (ms)")
for row in tuned.front:
    settings = ", ".join(f"{name.split('.')[-1]} {row[name]}" for name in row if name.startswith("profile."))
    print(f"{row['timer_latency.p99']:10.1f} {row['parts.build.cpu_ms']:10.1f}  {settings if row['trial'] else 'the default'}")
