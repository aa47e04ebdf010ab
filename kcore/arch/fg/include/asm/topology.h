/* SPDX-License-Identifier: GPL-2.0 */
/* The machine is a table that the engine gives at boot; the tree's topology.c builds the domains from it. */
#ifndef _ASM_FG_TOPOLOGY_H
#define _ASM_FG_TOPOLOGY_H
#ifndef __ASSEMBLY__
#include <linux/types.h>
struct cpumask;
extern unsigned long fg_capacity[], fg_frequency[];
extern int fg_invariant;
extern int fg_node[], fg_core[], fg_cluster[], fg_package[];
const struct cpumask *fg_smt_mask(int cpu);
const struct cpumask *fg_node_mask(int node);
const struct cpumask *fg_package_mask(int cpu);
const struct cpumask *cpu_coregroup_mask(int cpu);
const struct cpumask *cpu_clustergroup_mask(int cpu);
int fg_distance(int from, int to);

#define cpu_to_node(cpu) (fg_node[cpu])
#define parent_node(node) (node)
#define cpumask_of_node(node) fg_node_mask(node)
#define node_distance(from, to) fg_distance(from, to)
#define topology_physical_package_id(cpu) (fg_package[cpu])
#define topology_core_id(cpu) (fg_core[cpu])
#define topology_cluster_id(cpu) (fg_cluster[cpu])
#define topology_sibling_cpumask(cpu) fg_smt_mask(cpu)
#define topology_core_cpumask(cpu) fg_package_mask(cpu)
#define topology_cluster_cpumask(cpu) cpu_clustergroup_mask(cpu)

static inline unsigned long fg_scale_capacity(int cpu) { return fg_capacity[cpu]; }
static inline unsigned long fg_scale_frequency(int cpu) { return fg_invariant ? fg_frequency[cpu] : 1024; }
#define arch_scale_cpu_capacity fg_scale_capacity
#define arch_scale_freq_capacity fg_scale_frequency
#define arch_scale_freq_invariant() (!!fg_invariant)
#define arch_scale_thermal_pressure(cpu) 0UL
#define arch_thermal_pressure(cpu) 0UL
/* Every CPU may run every task. Some trees use the second name where the header that gives it is not read. */
#ifndef FG_HAS_MMU_CONTEXT
#define task_cpu_possible_mask(p)	cpu_possible_mask
#define task_cpu_possible(cpu, p)	cpumask_test_cpu((cpu), task_cpu_possible_mask(p))
#endif
#define pcibus_to_node(bus) (-1)
#endif
#include <asm-generic/topology.h>
#endif
