// SPDX-License-Identifier: GPL-2.0
/*
 * Read-copy-update: a grace period is the end of a call of the engine, since nobody reads between two calls. What waits
 * for it is called then, in the order in which it asked.
 */
#include "fg.h"

static struct rcu_head *fg_waiting, **fg_last = &fg_waiting;

void call_rcu(struct rcu_head *head, rcu_callback_t function)
{
	head->func = function;
	head->next = NULL;
	*fg_last = head;
	fg_last = &head->next;
}

#ifdef FG_HAS_KVFREE_POINTER
void kvfree_call_rcu(struct rcu_head *head, void *block)
#else
void kvfree_call_rcu(struct rcu_head *head, rcu_callback_t block)
#endif
{
	/* The memory stays: a group that is dropped is small, and its tables may be named in views. */
}

void fg_grace_period(void)
{
	while (fg_waiting) {
		struct rcu_head *head = fg_waiting;

		fg_waiting = head->next;
		if (!fg_waiting)
			fg_last = &fg_waiting;
		head->func(head);
	}
}

void synchronize_rcu(void) { }
