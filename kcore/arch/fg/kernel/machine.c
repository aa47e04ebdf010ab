// SPDX-License-Identifier: GPL-2.0
/*
 * The machine: tables that the engine gives at boot. The tree's topology.c asks for masks of siblings; a mask here is
 * computed once from the numbers of core, cluster, package and node.
 */
#include "fg.h"

#ifdef FG_HAS_RANDOM_INT_LENGTH
#define FG_RANDOM_LENGTH int
#else
#define FG_RANDOM_LENGTH size_t
#endif

#ifdef FG_HAS_CPUFREQ_PRESSURE
/* What limits on frequencies take of a CPU. */
DEFINE_PER_CPU(unsigned long, cpufreq_pressure);
#endif

int fg_cpus, fg_nodes, fg_invariant;
unsigned long fg_capacity[NR_CPUS], fg_frequency[NR_CPUS];
int fg_node[NR_CPUS], fg_core[NR_CPUS], fg_cluster[NR_CPUS], fg_package[NR_CPUS];
static u32 fg_distances[MAX_NUMNODES * MAX_NUMNODES];
static struct cpumask fg_masks_core[NR_CPUS], fg_masks_cluster[NR_CPUS], fg_masks_package[NR_CPUS];
static struct cpumask fg_masks_node[MAX_NUMNODES];

const struct cpumask *fg_smt_mask(int cpu) { return &fg_masks_core[cpu]; }
const struct cpumask *cpu_clustergroup_mask(int cpu) { return &fg_masks_cluster[cpu]; }
const struct cpumask *cpu_coregroup_mask(int cpu) { return &fg_masks_package[cpu]; }
const struct cpumask *fg_package_mask(int cpu) { return &fg_masks_package[cpu]; }
/* A node of -1 is "any": all CPUs. */
const struct cpumask *fg_node_mask(int node) { return node < 0 ? cpu_online_mask : &fg_masks_node[node]; }
int fg_distance(int from, int to) { return fg_distances[from * fg_nodes + to]; }

static void fg_siblings(const u32 *number, int *table, struct cpumask *masks)
{
	int cpu, other;

	for (cpu = 0; cpu < fg_cpus; cpu++) {
		table[cpu] = number[cpu];
		for (other = 0; other < fg_cpus; other++)
			if (number[cpu] == number[other])
				cpumask_set_cpu(other, &masks[cpu]);
	}
}

/* A CPU that is off line is no sibling of anybody, as on x86 from its last steps to its first. */
void fg_masks_leave(int cpu)
{
	int other;

	for (other = 0; other < fg_cpus; other++) {
		cpumask_clear_cpu(cpu, &fg_masks_core[other]);
		cpumask_clear_cpu(cpu, &fg_masks_cluster[other]);
		cpumask_clear_cpu(cpu, &fg_masks_package[other]);
	}
	cpumask_clear(&fg_masks_core[cpu]);
	cpumask_clear(&fg_masks_cluster[cpu]);
	cpumask_clear(&fg_masks_package[cpu]);
	cpumask_clear_cpu(cpu, &fg_masks_node[fg_node[cpu]]);
	/* A node without CPUs is none of those whose distances count (vmstat_cpu_dead()). */
	if (cpumask_empty(&fg_masks_node[fg_node[cpu]]))
		node_clear(fg_node[cpu], node_states[N_CPU]);
}

static void fg_join(int cpu, int other, const int *number, struct cpumask *masks)
{
	if (number[cpu] != number[other])
		return;
	cpumask_set_cpu(other, &masks[cpu]);
	cpumask_set_cpu(cpu, &masks[other]);
}

void fg_masks_come(int cpu)
{
	int other;

	for (other = 0; other < fg_cpus; other++) {
		if (other != cpu && !cpu_online(other))
			continue;
		fg_join(cpu, other, fg_core, fg_masks_core);
		fg_join(cpu, other, fg_cluster, fg_masks_cluster);
		fg_join(cpu, other, fg_package, fg_masks_package);
	}
	cpumask_set_cpu(cpu, &fg_masks_node[fg_node[cpu]]);
	node_set(fg_node[cpu], node_states[N_CPU]);
}

/*
 * Random numbers of a kernel come from its pool; here from one stream of the run's seed, splitmix64 (Steele, Lea and
 * Flood 2014): the state grows by the golden ratio, and two multiplications mix it.
 */
static u64 fg_random;

static u64 fg_draw(void)
{
	u64 mixed = fg_random += 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
	return mixed ^ (mixed >> 31);
}

u32 get_random_u32(void) { return fg_draw() >> 32; }
u32 __get_random_u32_below(u32 bound) { return ((fg_draw() >> 32) * bound) >> 32; }

void get_random_bytes(void *place, FG_RANDOM_LENGTH length)
{
	unsigned char *byte = place;

	while (length--)
		*byte++ = fg_draw() >> 56;
}

/*
 * Levels of domains where a package holds several nodes. As on x86 there is none of a package then: nodes say what comes next.
 */
#ifdef SDTL_INIT
#define FG_LEVEL(name, mask, flags, type) SDTL_INIT(name, flags, type)
#else
#define FG_LEVEL(name, mask, flags, type) { mask, flags, SD_INIT_NAME(type) }
#endif

static struct sched_domain_topology_level fg_levels[] = {
#ifdef CONFIG_SCHED_SMT
	FG_LEVEL(tl_smt_mask, cpu_smt_mask, cpu_smt_flags, SMT),
#endif
#if defined(CONFIG_SCHED_CLUSTER) && defined(FG_HAS_CLUSTERS)
	FG_LEVEL(tl_cls_mask, cpu_clustergroup_mask, cpu_cluster_flags, CLS),
#endif
#ifdef CONFIG_SCHED_MC
	FG_LEVEL(tl_mc_mask, cpu_coregroup_mask, cpu_core_flags, MC),
#endif
	{ },
};

int fg_machine_boot(const struct fg_machine *machine)
{
	int cpu, node;

	if (!machine->cpus || machine->cpus > NR_CPUS || !machine->nodes || machine->nodes > MAX_NUMNODES)
		return -EINVAL;
	for (cpu = 0; cpu < machine->cpus; cpu++)
		if (machine->node[cpu] >= machine->nodes || !machine->capacity[cpu])
			return -EINVAL;
	fg_random = machine->seed * 2 + 1;
	fg_cpus = machine->cpus;
	fg_nodes = machine->nodes;
	fg_invariant = machine->invariant;
	fg_siblings(machine->core, fg_core, fg_masks_core);
	fg_siblings(machine->cluster, fg_cluster, fg_masks_cluster);
	fg_siblings(machine->package, fg_package, fg_masks_package);
	if (machine->nodes_in_package)
		set_sched_topology(fg_levels);
	memcpy(fg_distances, machine->distance, sizeof(u32) * fg_nodes * fg_nodes);
	for (cpu = 0; cpu < fg_cpus; cpu++) {
		node = machine->node[cpu];
		fg_node[cpu] = node;
		fg_capacity[cpu] = machine->capacity[cpu];
		fg_frequency[cpu] = SCHED_CAPACITY_SCALE;
		cpumask_set_cpu(cpu, &fg_masks_node[node]);
	}
	return 0;
}
