# SPDX-License-Identifier: GPL-2.0
# What this tree has. Each row: the macro, a file of the tree, words that it must hold. A row is asked of the text, not
# of a version: stable kernels and patches move things between versions.
fg-has = $(if $(shell grep -qsE '$(3)' $(srctree)/$(2) && echo y),-DFG_HAS_$(1))

FG_HAS := \
	$(call fg-has,ARCH_ATOMIC,include/linux/atomic.h,linux.atomic.atomic-instrumented) \
	$(call fg-has,ARCH_RESCHEDULE,include/linux/smp.h,arch_smp_send_reschedule) \
	$(call fg-has,BALANCE_PUSH,kernel/sched/core.c,void balance_push.struct rq) \
	$(call fg-has,BASE_SLICE,kernel/sched/sched.h,sysctl_sched_base_slice) \
	$(call fg-has,BURST,kernel/sched/sched.h,burst;) \
	$(call fg-has,CGROUP_FORK,include/linux/sched/task.h,sched_cgroup_fork) \
	$(call fg-has,CLUSTERS,include/linux/sched/topology.h,cpu_cluster_flags) \
	$(call fg-has,CPUFREQ_PRESSURE,include/linux/cpufreq.h,DECLARE_PER_CPU.unsigned long. cpufreq_pressure) \
	$(call fg-has,DEADLINE,include/linux/sched.h,vlag;) \
	$(call fg-has,DELAYED,include/linux/sched.h,sched_delayed;) \
	$(call fg-has,ENABLED_MASK,include/linux/cpumask.h,__cpu_enabled_mask) \
	$(call fg-has,ENERGY_DEVICE_FIRST,include/linux/energy_model.h,active_power..struct device .dev) \
	$(call fg-has,ENERGY_MICROWATT,include/linux/energy_model.h,bool microwatts) \
	$(call fg-has,ENERGY_UNIT,include/linux/energy_model.h,bool m(ill|icr)[io]watts) \
	$(call fg-has,FAIR_SERVER,kernel/sched/sched.h,fair_server;) \
	$(call fg-has,FORK_PLACE,kernel/sched/fair.c,place_entity.cfs_rq. se. (1|ENQUEUE_INITIAL).;) \
	$(call fg-has,GET_TIME,include/linux/hrtimer_defs.h $(srctree)/include/linux/hrtimer.h,ktime_t.*.get_time..void.;) \
	$(call fg-has,GET_WCHAN,include/linux/sched.h,long get_wchan.) \
	$(call fg-has,HIGHRES_KEY,include/linux/hrtimer.h,hrtimer_highres_enabled_key) \
	$(call fg-has,HRTIMER_SETUP,include/linux/hrtimer.h,void hrtimer_setup.) \
	$(call fg-has,GOVERNOR_CHANGE,kernel/sched/cpufreq_schedutil.c,void sched_cpufreq_governor_change) \
	$(call fg-has,H_NR_QUEUED,kernel/sched/sched.h,h_nr_queued;) \
	$(call fg-has,KMALLOC_BUCKETS,include/linux/slab.h,__kmalloc_node_noprof.DECL_BUCKET_PARAMS) \
	$(call fg-has,KMALLOC_TRACE,include/linux/slab.h,kmalloc_trace) \
	$(call fg-has,KVFREE_POINTER,include/linux/rcutree.h $(srctree)/include/linux/rcupdate.h,kvfree_call_rcu.*void .ptr) \
	$(call fg-has,LATENCY,kernel/sched/sched.h,sysctl_sched_latency) \
	$(call fg-has,MAX_CAPACITY,include/linux/sched.h,max_allowed_capacity;) \
	$(call fg-has,MMU_CONTEXT,kernel/sched/sched.h,linux.mmu_context.h) \
	$(call fg-has,MIN_VRUNTIME,kernel/sched/sched.h,min_vruntime;) \
	$(call fg-has,MOVE_FOR_AUTOGROUP,kernel/sched/sched.h,sched_move_task.struct task_struct .tsk. bool) \
	$(call fg-has,NOPROF,include/linux/slab.h,kmem_cache_alloc_noprof) \
	$(call fg-has,NR_IDLE_SCAN,include/linux/sched/topology.h,nr_idle_scan;) \
	$(call fg-has,NR_QUEUED,kernel/sched/sched.h,	nr_queued;) \
	$(call fg-has,NUM_POSSIBLE,include/linux/cpumask.h,__num_possible_cpus) \
	$(call fg-has,PRINTK_INDEX,include/linux/printk.h,int _printk.) \
	$(call fg-has,RANDOM_INT_LENGTH,include/linux/random.h,get_random_bytes.void .buf. int nbytes) \
	$(call fg-has,RECLAIM_DISTANCE,kernel/sched/topology.c,^int .*node_reclaim_distance) \
	$(call fg-has,READY_FOR_EAS,include/linux/cpufreq.h,bool cpufreq_ready_for_eas) \
	$(call fg-has,ROOT_OVERLOAD,kernel/sched/sched.h,int.*overload;) \
	$(call fg-has,SCHED_TICK,include/linux/sched.h,void sched_tick.) \
	$(call fg-has,SET_NR_CPU_IDS,include/linux/cpumask.h,set_nr_cpu_ids) \
	$(call fg-has,SOFTIRQ_VOID,include/linux/interrupt.h,open_softirq.int nr. void ..action..void.) \
	$(call fg-has,TABLE_LIMITS,include/linux/cpufreq.h,cpufreq_is_in_limits.struct cpufreq_policy .policy.$$) \
	$(call fg-has,TG_CFS_RQ,kernel/sched/sched.h,tg_cfs_rq.) \
	$(call fg-has,TIMER_IS_QUEUED,include/linux/hrtimer_types.h,is_queued;) \
	$(call fg-has,VDSO_PAGE,include/vdso/page.h,define.PAGE_SHIFT) \
	$(call fg-has,ZERO_PAGE,include/linux/pgtable.h,define ZERO_PAGE) \
	$(call fg-has,ZERO_VRUNTIME,kernel/sched/sched.h,zero_vruntime;) \
	$(call fg-has,UNDERSCORED_LOCK,kernel/sched/sched.h,raw_spinlock_t.*__lock;) \
	$(call fg-has,UNDERSCORED_STATE,include/linux/sched.h,__state;) \
	$(call fg-has,UTIL_EST_PAIR,include/linux/sched.h,struct util_est .)
