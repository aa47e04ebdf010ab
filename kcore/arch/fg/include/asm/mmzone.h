/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes have no memory here; the name is needed by headers. */
#ifndef _ASM_FG_MMZONE_H
#define _ASM_FG_MMZONE_H
#include <linux/numa.h>
#ifndef NODE_DATA
extern struct pglist_data *node_data[];
#define NODE_DATA(node) (node_data[node])
#endif
#endif
