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

/* Who comes to a group is the last on its list, as in the cgroups' core. */
void fg_set_css(struct task_struct *task, u32 group)
{
	struct css_set *set = &fg_sets[group];

	if (!set->tasks.next)
		INIT_LIST_HEAD(&set->tasks);
	if (task->cg_list.next)
		list_del(&task->cg_list);
	list_add_tail(&task->cg_list, &set->tasks);
	RCU_INIT_POINTER(task->cgroups, set);
}

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
	u32 number;

	if (!above)
		return -ENOENT;
	if (fg_group_count == FG_GROUPS)
		return -ENOSPC;
	group = sched_create_group(above);
	if (IS_ERR(group))
		return PTR_ERR(group);
	group->css.parent = &above->css;
	number = fg_add(group);
	cpu_cgrp_subsys.css_online(&group->css);
	return number;
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

/*
 * Clamps are written as text, a percentage with two digits. The engine gives the value of 1024 that comes of it, and the text is
 * not looked at: formula of the percentage: value * 10000 / 1024, rounded, which rounds back to the same value.
 */
static struct cgroup_subsys_state *fg_written;
static s64 fg_percent;

struct cgroup_subsys_state *of_css(struct kernfs_open_file *of) { return fg_written; }
char *strim(char *text) { return text; }

int cgroup_parse_float(const char *text, unsigned int digits, s64 *value)
{
	*value = fg_percent;
	return 0;
}

static fg_s64 fg_write_text(struct task_group *group, struct cftype *file, s64 value)
{
	static char text[] = "number";
	ssize_t written;

	fg_written = &group->css;
	fg_percent = (value * 10000 + SCHED_CAPACITY_SCALE / 2) / SCHED_CAPACITY_SCALE;
	written = file->write(NULL, text, sizeof(text) - 1, 0);
	return written < 0 ? written : 0;
}

static u32 fg_number_of(struct cgroup_subsys_state *css)
{
	u32 number = 0;

	while (number < fg_group_count && (!fg_groups[number] || &fg_groups[number]->css != css))
		number++;
	return number;
}

/* The first group below `parent` with a number above `after`. */
static struct cgroup_subsys_state *fg_child(struct cgroup_subsys_state *parent, u32 after)
{
	u32 number;

	for (number = after + 1; number < fg_group_count; number++)
		if (fg_groups[number] && fg_groups[number]->css.parent == parent)
			return &fg_groups[number]->css;
	return NULL;
}

struct cgroup_subsys_state *css_next_descendant_pre(struct cgroup_subsys_state *css, struct cgroup_subsys_state *root)
{
	struct cgroup_subsys_state *next = css ? fg_child(css, 0) : root;

	while (!next && css != root) {
		next = fg_child(css->parent, fg_number_of(css));
		css = css->parent;
	}
	return next;
}

struct cgroup_subsys_state *css_rightmost_descendant(struct cgroup_subsys_state *css)
{
	struct cgroup_subsys_state *next = css, *child;

	while (next) {
		css = next;
		next = NULL;
		for (child = fg_child(css, 0); child; child = fg_child(css, fg_number_of(child)))
			next = child;
	}
	return css;
}

/* The tasks of a group, one walk at a time. */
static struct css_set *fg_walked;
static struct list_head *fg_walker;

void css_task_iter_start(struct cgroup_subsys_state *css, unsigned int flags, struct css_task_iter *walk)
{
	fg_walked = &fg_sets[fg_number_of(css)];
	fg_walker = fg_walked->tasks.next;
}

struct task_struct *css_task_iter_next(struct css_task_iter *walk)
{
	while (fg_walker && fg_walker != &fg_walked->tasks) {
		struct task_struct *task = list_entry(fg_walker, struct task_struct, cg_list);

		fg_walker = fg_walker->next;
		if (fg_state(task) != TASK_DEAD)
			return task;
	}
	return NULL;
}

void css_task_iter_end(struct css_task_iter *walk) { }

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
	if (file && file->write)
		return fg_write_text(group, file, value);
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

/*
 * rmdir of an empty group. A kernel does its steps one after the other, each when nobody can see the group any more; here nobody
 * is inside between two calls, so they follow at once.
 */
static fg_s64 fg_group_remove_body(u32 number)
{
	struct task_group *group = fg_group(number);

	if (!number || !group)
		return -ENOENT;
	fg_groups[number] = NULL;
	if (cpu_cgrp_subsys.css_offline)
		cpu_cgrp_subsys.css_offline(&group->css);
	if (cpu_cgrp_subsys.css_released)
		cpu_cgrp_subsys.css_released(&group->css);
	cpu_cgrp_subsys.css_free(&group->css);
	return 0;
}

fg_s64 fg_group_remove(u32 cpu, u64 now, u32 group);
fg_s64 fg_group_remove(u32 cpu, u64 now, u32 group) { return FG_CALL(cpu, now, fg_group_remove_body(group)); }
