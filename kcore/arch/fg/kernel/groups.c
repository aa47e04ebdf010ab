// SPDX-License-Identifier: GPL-2.0
/*
 * Control groups: the scheduler knows a group as struct task_group and finds a task's by its css_set. One set per group
 * is made here, with nothing in it but the CPU controller. Files are those of the controller's own tables, by name, so
 * whatever a tree's file does is done by its own code.
 */
#include "fg.h"
#include <linux/cgroup.h>

#define FG_GROUPS 4096

/* The unified hierarchy: what a group may use is bounded by those above it. */
struct static_key_true cpu_cgrp_subsys_on_dfl_key = STATIC_KEY_TRUE_INIT;

static struct task_group *fg_groups[FG_GROUPS];
static struct css_set fg_sets[FG_GROUPS];
static struct cgroup fg_cgroup;
static u32 fg_group_count;

struct task_group *fg_group(u32 number) { return number < fg_group_count ? fg_groups[number] : NULL; }

void fg_set_css(struct task_struct *task, u32 group) { RCU_INIT_POINTER(task->cgroups, &fg_sets[group]); }

static u32 fg_add(struct task_group *group)
{
	u32 number = fg_group_count++;

	fg_groups[number] = group;
	fg_sets[number].subsys[cpu_cgrp_id] = &group->css;
	fg_sets[number].dfl_cgrp = &fg_cgroup;
	group->css.cgroup = &fg_cgroup;
	group->css.ss = &cpu_cgrp_subsys;
	return number;
}

void fg_group_boot(void)
{
	fg_add(&root_task_group);
	fg_set_css(&init_task, 0);
}

static fg_s64 fg_group_new_body(u32 parent)
{
	struct task_group *above = fg_group(parent), *group;

	if (!above)
		return -ENOENT;
	if (fg_group_count == FG_GROUPS)
		return -ENOSPC;
	group = sched_create_group(above);
	if (IS_ERR(group))
		return PTR_ERR(group);
	group->css.parent = &above->css;
	sched_online_group(group, above);
	return fg_add(group);
}

fg_s64 fg_group_new(u32 cpu, u64 now, u32 parent);
fg_s64 fg_group_new(u32 cpu, u64 now, u32 parent) { return FG_CALL(cpu, now, fg_group_new_body(parent)); }

static struct cftype *fg_file(struct cftype *files, const char *name)
{
	for (; files && files->name[0]; files++)
		if (!strcmp(files->name, name))
			return files;
	return NULL;
}

static fg_s64 fg_group_file_body(u32 number, const char *name, s64 value)
{
	struct task_group *group = fg_group(number);
	struct cftype *file = fg_file(cpu_cgrp_subsys.legacy_cftypes, name);

	if (!group)
		return -ENOENT;
	if (!file)
		file = fg_file(cpu_cgrp_subsys.dfl_cftypes, name);
	if (file && file->write_u64)
		return file->write_u64(&group->css, file, value);
	if (file && file->write_s64)
		return file->write_s64(&group->css, file, value);
	return -EOPNOTSUPP;
}

fg_s64 fg_group_file(u32 cpu, u64 now, u32 group, const char *name, s64 value);
fg_s64 fg_group_file(u32 cpu, u64 now, u32 group, const char *name, s64 value)
{
	return FG_CALL(cpu, now, fg_group_file_body(group, name, value));
}

static fg_s64 fg_group_move_body(u32 number, u32 group)
{
	struct task_struct *task = fg_task(number);

	if (!task || !fg_group(group))
		return -ENOENT;
	/* Who is in that group already is not migrated by the cgroups' core, and the scheduler hears nothing. */
	if (rcu_dereference_raw(task->cgroups) == &fg_sets[group])
		return 0;
	fg_set_css(task, group);
#ifdef FG_HAS_MOVE_FOR_AUTOGROUP
	sched_move_task(task, false);
#else
	sched_move_task(task);
#endif
	return 0;
}

fg_s64 fg_group_move(u32 cpu, u64 now, u32 task, u32 group);
fg_s64 fg_group_move(u32 cpu, u64 now, u32 task, u32 group) { return FG_CALL(cpu, now, fg_group_move_body(task, group)); }
