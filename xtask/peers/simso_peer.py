# SPDX-License-Identifier: GPL-2.0-only
"""The two cases of the comparison in SimSo: its processors, jobs and timers, and a scheduler class of our own.

`simso_peer.py CASE MILLISECONDS` prints how many events were carried out: ticks, switches and activations.
SimSo has no task that sleeps for a time after its work. The sleepers are periodic: 100 us of work each 200 us.
"""

import sys

from simso.configuration import Configuration
from simso.core import Model, Scheduler, Timer

from work import CASES, SLEEP_US, SLICE_TICKS, TICK_US

FOREVER_MS = 10**9


class Queues(Scheduler):
    """A queue per CPU in order of virtual time, a tick per ms, a switch once the slice is used up."""

    events = 0

    def init(self):
        self.queues = {cpu: [] for cpu in self.processors}
        self.vruntime = {}
        self.ran = {cpu: 0 for cpu in self.processors}
        self.home = {
            task: self.processors[row % len(self.processors)] for row, task in enumerate(self.task_list)
        }
        self.ticks = [
            Timer(self.sim, Queues.tick, (self, cpu), TICK_US / 1000, one_shot=False, cpu=cpu)
            for cpu in self.processors
        ]
        for timer in self.ticks:
            timer.start()

    def tick(self, cpu):
        if cpu.running is None:
            return
        Queues.events += 1
        self.vruntime[cpu.running.task] += TICK_US
        self.ran[cpu] += 1
        if self.ran[cpu] >= SLICE_TICKS and self.queues[cpu]:
            cpu.resched()

    def on_activate(self, job):
        Queues.events += 1
        cpu = self.home[job.task]
        self.vruntime.setdefault(job.task, 0)
        self.queues[cpu].append(job)
        if cpu.running is None:
            cpu.resched()

    def on_terminated(self, job):
        self.home[job.task].resched()

    def schedule(self, cpu):
        queue = self.queues[cpu]
        if not queue:
            return (None, cpu)
        job = min(queue, key=lambda job: self.vruntime[job.task])
        queue.remove(job)
        if cpu.running is not None:
            queue.append(cpu.running)
        self.ran[cpu] = 0
        Queues.events += 1
        return (job, cpu)


def main():
    case, ms = CASES[sys.argv[1]], int(sys.argv[2])
    setup = Configuration()
    setup.duration = ms * setup.cycles_per_ms
    for row in range(case.cpus):
        setup.add_processor(name=f"cpu{row}", identifier=row)
    for row in range(case.tasks):
        if case.kind == "hogs":
            times = dict(period=FOREVER_MS, wcet=FOREVER_MS, deadline=FOREVER_MS, activation_date=0)
        else:
            period = 2 * SLEEP_US / 1000
            times = dict(period=period, wcet=period / 2, deadline=FOREVER_MS, activation_date=0)
        setup.add_task(name=f"task{row}", identifier=row, **times)
    setup.scheduler_info.clas = Queues
    Model(setup).run_model()
    print(Queues.events)


main()
