// SPDX-License-Identifier: GPL-2.0
/*
 * The stopper: a task per CPU above all others, which runs works that must not share the CPU with anybody.
 *
 * A work is queued and the stopper is woken; when the engine sees it running, it calls stopper(), which does the works
 * and sleeps. stop_one_cpu() waits for the end of its work, which one host thread cannot: it returns at once, and its caller must
 * have nothing more to do. That holds of sched_exec(), whose argument is kept here.
 */
#include "fg.h"
#include <linux/stop_machine.h>

struct fg_stopper {
	struct task_struct *task;
	struct list_head works;
};

static struct fg_stopper fg_stoppers[NR_CPUS];

/* Up to v5.10 no header has it. */
void sched_set_stop_task(int cpu, struct task_struct *task);

void fg_stopper_boot(int cpu)
{
	struct task_struct *task = fg_new_task("stopper");
	struct fg_stopper *stopper = &fg_stoppers[cpu];

	INIT_LIST_HEAD(&stopper->works);
	stopper->task = task;
	fg_set_css(task, 0);
	task->flags |= PF_KTHREAD | PF_NO_SETAFFINITY;
	fg_dress(task, 0, SCHED_NORMAL, 0, 0);
	cpumask_copy(&task->cpus_mask, cpumask_of(cpu));
	task->nr_cpus_allowed = 1;
	__set_task_cpu(task, cpu);
	fg_set_state(task, TASK_INTERRUPTIBLE);
	sched_set_stop_task(cpu, task);
}

bool stop_one_cpu_nowait(unsigned int cpu, cpu_stop_fn_t function, void *argument, struct cpu_stop_work *work)
{
	struct fg_stopper *stopper = &fg_stoppers[cpu];

	*work = (struct cpu_stop_work) { .fn = function, .arg = argument };
	list_add_tail(&work->list, &stopper->works);
	fg_request(FG_STOP, cpu, 0, 0);
	wake_up_process(stopper->task);
	return true;
}

/* What the caller has on its stack: two or three words. */
struct fg_kept {
	struct cpu_stop_work work;
	unsigned long argument[4];
	bool waits;
};

static struct fg_kept fg_kept[NR_CPUS];

int stop_one_cpu(unsigned int cpu, cpu_stop_fn_t function, void *argument)
{
	struct fg_kept *kept = &fg_kept[cpu];

	if (kept->waits)
		fg_stop(FG_UNABLE, "stop_one_cpu", (unsigned long)__builtin_return_address(0));
	kept->waits = true;
	memcpy(kept->argument, argument, sizeof(kept->argument));
	stop_one_cpu_nowait(cpu, function, kept->argument, &kept->work);
	return 0;
}

/* The running stopper does what there is and sleeps. */
void fg_stopper_works(void)
{
	struct fg_stopper *stopper = &fg_stoppers[fg_cpu];

	while (!list_empty(&stopper->works)) {
		struct cpu_stop_work *work = list_first_entry(&stopper->works, struct cpu_stop_work, list);

		list_del_init(&work->list);
		preempt_disable();
		work->fn(work->arg);
		preempt_enable_no_resched();
		if (work == &fg_kept[fg_cpu].work)
			fg_kept[fg_cpu].waits = false;
	}
	set_current_state(TASK_INTERRUPTIBLE);
	schedule();
}

static fg_s64 fg_stopper_body(void)
{
	if (current != fg_stoppers[fg_cpu].task)
		return -EINVAL;
	fg_stopper_works();
	fg_die_if_empty();
	return fg_name_of(current);
}

fg_s64 fg_stopper(u32 cpu, u64 now);
fg_s64 fg_stopper(u32 cpu, u64 now) { return FG_CALL(cpu, now, fg_stopper_body()); }
