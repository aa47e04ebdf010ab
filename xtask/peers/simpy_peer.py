# SPDX-License-Identifier: GPL-2.0-only
"""The two cases of the comparison as SimPy users write them: a process per CPU or task, a resource per CPU.

`simpy_peer.py CASE MILLISECONDS` prints how many events were carried out: ticks, switches and wake-ups.
Times are integers in microseconds.
"""

import heapq
import sys

import simpy

from work import CASES, Random, SLEEP_US, SLICE_TICKS, TICK_US


def hogs(env, case, count):
    """A process per CPU: a tick, then the leftmost entity once the slice is used up."""

    def cpu(queue):
        vruntime, task = heapq.heappop(queue)
        ran = 0
        while True:
            yield env.timeout(TICK_US)
            count.events += 1
            vruntime += TICK_US
            ran += 1
            if ran >= SLICE_TICKS and queue and queue[0][0] < vruntime:
                vruntime, task = heapq.heapreplace(queue, (vruntime, task))
                count.events += 1
                ran = 0

    for cpu_id in range(case.cpus):
        queue = [(0, task) for task in range(cpu_id, case.tasks, case.cpus)]
        env.process(cpu(queue))


def sleepers(env, case, count):
    """A process per task, which asks for its CPU, works and sleeps; a process per CPU for the ticks."""
    cpus = [simpy.Resource(env) for _ in range(case.cpus)]

    def task(task_id):
        random = Random(task_id)
        cpu = cpus[task_id % case.cpus]
        while True:
            count.events += 1
            with cpu.request() as turn:
                yield turn
                count.events += 1
                yield env.timeout(random.work_us())
            if not cpu.queue and not cpu.users:
                count.events += 1
            yield env.timeout(SLEEP_US)

    def tick(cpu):
        while True:
            yield env.timeout(TICK_US)
            count.events += bool(cpu.users)

    for task_id in range(case.tasks):
        env.process(task(task_id))
    for cpu in cpus:
        env.process(tick(cpu))


class Count:
    events = 0


def main():
    case, ms = CASES[sys.argv[1]], int(sys.argv[2])
    env, count = simpy.Environment(), Count()
    {"hogs": hogs, "sleepers": sleepers}[case.kind](env, case, count)
    env.run(until=ms * 1000)
    print(count.events)


main()
