// SPDX-License-Identifier: GPL-2.0
/*
 * Memory: one arena, blocks of powers of two from 64 bytes, a free list per size.
 *
 * A core is copied, dropped and made anew as a whole, so all that it owns lies in the library's own data. The arena is
 * zero pages until it is used: 1.2 MB on 4 CPUs, some 100 MB on 512. Blocks are aligned to a cache line, as the tree's
 * structs ask; the line before a block holds its size class.
 */
#include "fg.h"
#include <linux/slab.h>
#include <linux/percpu.h>

#define FG_ARENA (1ul << 30)
#define FG_LINE 64ul
#define FG_CLASSES 24
#define FG_DYNAMIC (256ul << 10)	/* per CPU, for what alloc_percpu() asks */

static char fg_arena[FG_ARENA] __aligned(4096);
static size_t fg_used;
static void *fg_free[FG_CLASSES];
static size_t fg_dynamic;

extern char __per_cpu_start[], __per_cpu_end[];

/* The rest of the arena. A copy of a core leaves it out; what is carved of it later is cleared then. */
struct fg_part fg_unused(void);
struct fg_part fg_unused(void) { return (struct fg_part) { .start = fg_arena + fg_used, .bytes = FG_ARENA - fg_used }; }

static void *fg_carve(size_t bytes)
{
	void *place = fg_arena + fg_used;

	bytes = ALIGN(bytes, FG_LINE);
	if (bytes > FG_ARENA - fg_used)
		fg_stop(FG_FULL, "memory of the core", (unsigned long)__builtin_return_address(0));
	fg_used += bytes;
	return place;
}

/* Class n holds blocks of 64 << n bytes. All memory comes zeroed: no decision may depend on what was there before. */
void *fg_allocate(size_t bytes)
{
	unsigned int class = 0;
	char *block;

	while ((FG_LINE << class) < bytes)
		if (++class == FG_CLASSES)
			fg_stop(FG_FULL, "a block of memory", (unsigned long)__builtin_return_address(0));
	block = fg_free[class];
	if (block) {
		fg_free[class] = *(void **)block;
	} else {
		block = (char *)fg_carve(FG_LINE + (FG_LINE << class)) + FG_LINE;
		*(unsigned int *)(block - FG_LINE) = class;
	}
	memset(block, 0, FG_LINE << class);
	return block;
}

void kfree(const void *block)
{
	unsigned int class;

	if (!block)
		return;
	class = *(const unsigned int *)((const char *)block - FG_LINE);
	*(void **)block = fg_free[class];
	fg_free[class] = (void *)block;
}

struct kmem_cache { unsigned int size; };

/*
 * Up to v6.0, and without tracers, kmalloc() of a constant size is the tree's own inline function: it takes the cache of that
 * size from a table. Row 1 is of 96 bytes, row 2 of 192, and all others of 1 << row.
 */
#if !defined(FG_HAS_NOPROF) && !defined(FG_HAS_KMALLOC_TRACE) && !defined(CONFIG_TRACING)
struct kmem_cache *kmalloc_caches[NR_KMALLOC_TYPES][KMALLOC_SHIFT_HIGH + 1];

static void fg_fill_caches(void)
{
	static struct kmem_cache caches[KMALLOC_SHIFT_HIGH + 1];
	int type, row;

	for (row = 0; row <= KMALLOC_SHIFT_HIGH; row++) {
		caches[row].size = row == 1 ? 96 : row == 2 ? 192 : 1u << row;
		for (type = 0; type < NR_KMALLOC_TYPES; type++)
			kmalloc_caches[type][row] = &caches[row];
	}
}
#else
static void fg_fill_caches(void) { }
#endif

/* The copies of the tree's per-CPU data, one per CPU, and room behind each for what is asked at run time. */
void fg_place_cpus(int count)
{
	size_t bytes = __per_cpu_end - __per_cpu_start;
	int cpu;

	fg_fill_caches();
	fg_dynamic = ALIGN(bytes, FG_LINE);
	for (cpu = 0; cpu < count; cpu++) {
		char *area = fg_carve(fg_dynamic + FG_DYNAMIC);

		memcpy(area, __per_cpu_start, bytes);
		__per_cpu_offset[cpu] = area - __per_cpu_start;
	}
}

static void __percpu *fg_per_cpu(size_t bytes)
{
	size_t start = __per_cpu_end - __per_cpu_start;
	void *place = __per_cpu_start + fg_dynamic;

	if (ALIGN(start, FG_LINE) + FG_DYNAMIC - fg_dynamic < bytes)
		fg_stop(FG_FULL, "memory per CPU", (unsigned long)__builtin_return_address(0));
	fg_dynamic = ALIGN(fg_dynamic + bytes, FG_LINE);
	return (void __percpu *)place;
}

void free_percpu(void __percpu *place) { }

/* The tree's names for the same thing: they grew suffixes when allocations began to be accounted by place. */
#ifdef FG_HAS_NOPROF
void *__kmalloc_noprof(size_t bytes, gfp_t flags) { return fg_allocate(bytes); }
#ifdef FG_HAS_KMALLOC_BUCKETS
void *__kmalloc_node_noprof(DECL_BUCKET_PARAMS(bytes, buckets), gfp_t flags, int node) { return fg_allocate(bytes); }
#else
void *__kmalloc_node_noprof(size_t bytes, gfp_t flags, int node) { return fg_allocate(bytes); }
#endif
void *__kmalloc_cache_noprof(struct kmem_cache *cache, gfp_t flags, size_t bytes) { return fg_allocate(bytes); }
void *__kmalloc_cache_node_noprof(struct kmem_cache *cache, gfp_t flags, int node, size_t bytes) { return fg_allocate(bytes); }
void *kmem_cache_alloc_noprof(struct kmem_cache *cache, gfp_t flags) { return fg_allocate(cache->size); }
void *kmem_cache_alloc_node_noprof(struct kmem_cache *cache, gfp_t flags, int node) { return fg_allocate(cache->size); }
void __percpu *pcpu_alloc_noprof(size_t bytes, size_t align, bool reserved, gfp_t gfp) { return fg_per_cpu(bytes); }
struct kmem_cache *__kmem_cache_create_args(const char *name, unsigned int bytes, struct kmem_cache_args *args, slab_flags_t flags)
#else
void *__kmalloc(size_t bytes, gfp_t flags) { return fg_allocate(bytes); }
void *__kmalloc_node(size_t bytes, gfp_t flags, int node) { return fg_allocate(bytes); }
#ifdef FG_HAS_KMALLOC_TRACE
void *kmalloc_trace(struct kmem_cache *cache, gfp_t flags, size_t bytes) { return fg_allocate(bytes); }
void *kmalloc_node_trace(struct kmem_cache *cache, gfp_t flags, int node, size_t bytes) { return fg_allocate(bytes); }
#elif defined(CONFIG_TRACING)
void *kmem_cache_alloc_trace(struct kmem_cache *cache, gfp_t flags, size_t bytes) { return fg_allocate(bytes); }
void *kmem_cache_alloc_node_trace(struct kmem_cache *cache, gfp_t flags, int node, size_t bytes) { return fg_allocate(bytes); }
#endif
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags) { return fg_allocate(cache->size); }
void *kmem_cache_alloc_node(struct kmem_cache *cache, gfp_t flags, int node) { return fg_allocate(cache->size); }
void __percpu *__alloc_percpu(size_t bytes, size_t align) { return fg_per_cpu(bytes); }
void __percpu *__alloc_percpu_gfp(size_t bytes, size_t align, gfp_t gfp) { return fg_per_cpu(bytes); }
struct kmem_cache *kmem_cache_create(const char *name, unsigned int bytes, unsigned int align, slab_flags_t flags, void (*ctor)(void *))
#endif
{
	struct kmem_cache *cache = fg_allocate(sizeof(*cache));

	cache->size = bytes;
	return cache;
}

void kmem_cache_free(struct kmem_cache *cache, void *block) { kfree(block); }
