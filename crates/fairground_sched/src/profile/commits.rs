//! Which commits of the kernel made a change, where that is known for certain. A change without one here says its version only.

use super::Change;
use fairground_model::version::{KernelVersion, v};
use std::fmt;

/// A commit of the mainline kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commit {
    /// The first twelve digits of its name.
    pub id: &'static str,
    /// Its subject.
    pub subject: &'static str,
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.id, self.subject)
    }
}

impl Change {
    /// The commits that made it, as far as they are known. Where the tables have a version of a stable kernel, to which a change was
    /// carried back, the commit may be of a later version of mainline.
    pub fn commits(&self) -> impl Iterator<Item = Commit> + '_ {
        let row = MADE_BY.iter().find(|row| row.name == self.to.name && Some(row.since) == self.since);
        row.into_iter().flat_map(|row| row.ids).filter_map(|id| COMMITS.iter().find(|commit| commit.id == *id).copied())
    }
}

/// A change of the tables with its commits.
struct MadeBy {
    name: &'static str,
    /// The version in the history of the row.
    since: KernelVersion,
    ids: &'static [&'static str],
}

const fn made(name: &'static str, since: KernelVersion, ids: &'static [&'static str]) -> MadeBy {
    MadeBy { name, since, ids }
}

const fn commit(id: &'static str, subject: &'static str) -> Commit {
    Commit { id, subject }
}

// @TABLES@
static MADE_BY: &[MadeBy] = &[
    made("wake_affine", v(4, 14), &["d153b153446f", "f2cdd9cc6c97"]),
    made("domain_levels", v(4, 15), &["051f3ca02e46"]),
    made("group_load", v(4, 15), &["840c5abca499", "1ea6c46a23f1"]),
    made("migrate_detach", v(4, 15), &["144d8487bc6e"]),
    made("UTIL_EST", v(4, 17), &["7f65ea42eb00"]),
    made("util_est", v(4, 17), &["7f65ea42eb00"]),
    made("slice_expiry", v(4, 18), &["512ac999d275"]),
    made("LB_BIAS", v(4, 20), &["fdf5f315d5cf"]),
    made("asym_spread", v(4, 20), &["9c63e84db29b"]),
    made("energy_aware", v(5, 0), &["732cd75b8c92"]),
    made("smt_capacity", v(5, 0), &["765d0af19f5f"]),
    made("pelt", v(5, 1), &["23127296889f"]),
    made("pelt_clock", v(5, 1), &["23127296889f"]),
    made("period_scale", v(5, 1), &["2e8e19226398"]),
    made("period_scale", v(5, 4), &["4929a4e6faa0"]),
    made("slice_expiry", v(5, 4), &["de53fd7aedb1"]),
    made("uclamp", v(5, 4), &["2480c093130f"]),
    made("UTIL_EST_FASTUP", v(5, 5), &["b8c96361402a"]),
    made("balance", v(5, 5), &["0b0695f2b34a"]),
    made("idlest_group", v(5, 5), &["57abff067a08"]),
    made("util_est", v(5, 5), &["b8c96361402a"]),
    made("kthread_waker", v(5, 6), &["52262ee567ad"]),
    made("pipe_wakeup", v(5, 6), &["0ddad21d3e99"]),
    made("group_load", v(5, 7), &["0dacee1bfa70", "9f68395333ad"]),
    made("idle_capacity", v(5, 7), &["b7a331615d25"]),
    made("pelt", v(5, 7), &["9f68395333ad", "0dacee1bfa70"]),
    made("scale_load_down", v(5, 7), &["26cf52229efc"]),
    made("sched_idle_cpu", v(5, 7), &["17346452b25b"]),
    made("wake_cap", v(5, 7), &["000619680c37"]),
    made("remote_wakeup", v(5, 8), &["2ebb17717550"]),
    made("RT_RUNTIME_SHARE", v(5, 10), &["2586af1ac187"]),
    made("asym_capacity", v(5, 10), &["c200191d4c2c"]),
    made("asym_spread", v(5, 10), &["a526d466798d"]),
    made("domain_init", v(5, 10), &["2208cdaa56c9", "6e7499135db7"]),
    made("lb_interval", v(5, 10), &["e4d32e4d5444"]),
    made("throttle_stamp", v(5, 10), &["64eaf50731ac"]),
    made("wake_affine", v(5, 11), &["d8fcb81f1acf"]),
    made("HRTICK_DL", v(5, 12), &["e0ee463c93c4"]),
    made("SIS_AVG_CPU", v(5, 12), &["e6e0dc2d5497"]),
    made("dl_hrtick", v(5, 12), &["e0ee463c93c4"]),
    made("ALT_PERIOD", v(5, 13), &["0c2de3f054a5"]),
    made("BASE_SLICE", v(5, 13), &["0c2de3f054a5"]),
    made("bigger_capacity", v(5, 13), &["4aed8aa41524"]),
    made("decayed_queue", v(5, 13), &["fdaba61ef8a2"]),
    made("idle_search", v(5, 13), &["9fe1f127b913", "c722f35b513f"]),
    made("energy_aware", v(5, 14), &["eb92692b2544"]),
    made("recent_used_cpu", v(5, 14), &["89aafd67f28c"]),
    made("refill", v(5, 14), &["f4183717b370"]),
    made("asym_capacity", v(5, 15), &["c744dc4ab58d"]),
    made("group_idle", v(5, 15), &["304000390f88"]),
    made("domain_levels", v(5, 16), &["778c558f49a2"]),
    made("idle_entity", v(5, 16), &["51ce83ed523b", "2cae3948edd4"]),
    made("newidle_cost", v(5, 16), &["c5b0a7eefc70", "e60b56e46b38"]),
    made("pelt", v(5, 17), &["98b0d890220d"]),
    made("numa_allowance", v(5, 18), &["e496132ebedd"]),
    made("numa_imbalance", v(5, 18), &["e496132ebedd"]),
    made("start_node", v(5, 18), &["e496132ebedd"]),
    made("SIS_PROP", v(6, 0), &["70fb5ccf2ebb"]),
    made("SIS_UTIL", v(6, 0), &["70fb5ccf2ebb"]),
    made("load_end", v(6, 0), &["51bf903b64bd"]),
    made("numa_allowance", v(6, 0), &["026b98a93bbd"]),
    made("pelt_clock", v(6, 0), &["e2f3e35f1f5a"]),
    made("remote_wakeup", v(6, 0), &["f3dd3f674555"]),
    made("sleeper_clock", v(6, 0), &["e2f3e35f1f5a"]),
    made("start_node", v(6, 0), &["cb29a5c19d2d"]),
    made("long_sleeper", v(6, 1), &["829c1651e9c4"]),
    made("migrate_detach", v(6, 1), &["e1f078f50478"]),
    made("post_init", v(6, 1), &["e4fe074d6c35"]),
    made("dl_prio_changed", v(6, 3), &["7ea98dfa4491"]),
    made("unthrottle", v(6, 3), &["8ad075c2eb1f"]),
    made("period_phase", v(6, 4), &["41abdba93747"]),
    made("offline_clock", v(6, 5), &["ebb83d84e49b"]),
    made("softirq_handover", v(6, 5), &["d15121be7485"]),
    made("GENTLE_FAIR_SLEEPERS", v(6, 6), &["5e963f2bd465"]),
    made("HZ_BW", v(6, 6), &["88c56cfeaec4"]),
    made("LAST_BUDDY", v(6, 6), &["5e963f2bd465"]),
    made("PLACE_LAG", v(6, 6), &["86bfbb7ce4f6"]),
    made("RUN_TO_PARITY", v(6, 6), &["63304558ba5d"]),
    made("group_flags", v(6, 6), &["bf2dc42d6beb"]),
    made("pick", v(6, 6), &["147f3efaa241"]),
    made("place", v(6, 6), &["86bfbb7ce4f6"]),
    made("protection", v(6, 6), &["63304558ba5d"]),
    made("reweight", v(6, 6), &["eab03c23c2a1"]),
    made("sched_base_slice_ns", v(6, 6), &["e4ec3318a17f"]),
    made("sched_latency_ns", v(6, 6), &["5e963f2bd465"]),
    made("sched_min_granularity_ns", v(6, 6), &["e4ec3318a17f"]),
    made("sched_wakeup_granularity_ns", v(6, 6), &["5e963f2bd465"]),
    made("should_we_balance", v(6, 6), &["b1bfeab9b002"]),
    made("sibling_balance", v(6, 6), &["7ff1693236f5"]),
    made("throttled_time", v(6, 6), &["79462e8c879a"]),
    made("tick_preempt", v(6, 6), &["147f3efaa241"]),
    made("SIS_PROP", v(6, 7), &["984ffb6a4366"]),
    made("clock_skip", v(6, 7), &["5ebde09d9170"]),
    made("cluster_search", v(6, 7), &["8881e1639f1f"]),
    made("domain_names", v(6, 7), &["f577cd57bfaa"]),
    made("tg_load_update", v(6, 7), &["1528c661c24b"]),
    made("UTIL_EST_FASTUP", v(6, 8), &["11137d384996"]),
    made("pick", v(6, 8), &["2227a957e1d5"]),
    made("util_est", v(6, 8), &["11137d384996"]),
    made("DELAY_DEQUEUE", v(6, 12), &["152e11f6df29"]),
    made("DELAY_ZERO", v(6, 12), &["54a58a787791"]),
    made("PLACE_REL_DEADLINE", v(6, 12), &["82e9d0456e06"]),
    made("PREEMPT_SHORT", v(6, 12), &["85e511df3cec"]),
    made("first_set", v(6, 12), &["fd03c5b85855"]),
    made("group_slice", v(6, 12), &["aef6987d8954"]),
    made("group_weight", v(6, 12), &["66951e4860d3"]),
    made("idle_reentry", v(6, 12), &["3dcac251b066"]),
    made("post_init", v(6, 12), &["72bffbf57c52"]),
    made("rt_bandwidth", v(6, 12), &["5f6bd380c7bd"]),
    made("sched_base_slice_ns (default)", v(6, 12), &["2ae891b82695"]),
    made("should_we_balance", v(6, 12), &["6d7e4782bcf5"]),
    made("task_slice", v(6, 12), &["857b158dc5e8"]),
    made("hotplug_quota", v(6, 14), &["af98d8a36a96"]),
    made("pipe_wakeup", v(6, 14), &["aaec5a95d596"]),
    made("reweight", v(6, 14), &["6d71a9c61604"]),
    made("util_est", v(6, 16), &["f2d650618bc7"]),
    made("protection", v(6, 17), &["052c3d87c82e"]),
    made("NI_RANDOM", v(6, 18), &["33cf66d88306"]),
    made("preemption", v(6, 18), &["7c70cb94d29c", "7dadeaa6e851"]),
    made("remaining_on_set", v(6, 18), &["956dfda6a708"]),
    made("sched_base_slice_ns (default)", v(6, 18), &["2ae891b82695"]),
    made("throttle", v(6, 18), &["e1fad12dcb66"]),
    made("throttled_time", v(6, 18), &["eb962f251fbb"]),
    made("yields", v(6, 18), &["79104becf42b"]),
    made("pelt", v(7, 0), &["089d84203ad4", "6ab7973f2540"]),
    made("HRTICK", v(7, 2), &["9213aa4784cf"]),
    made("HRTICK_DL", v(7, 2), &["9213aa4784cf"]),
    made("NI_RATE", v(7, 2), &["9fe89f022c05"]),
    made("PARANOID_AVG", v(7, 2), &["4823725d9d1d"]),
    made("avg_vruntime", v(7, 2), &["79f3f9bedd14", "4823725d9d1d"]),
    made("fork_preempts", v(7, 2), &["e837456fdca8"]),
    made("hrtick", v(7, 2), &["96d1610e0b20"]),
    made("lag_limit", v(7, 2), &["6e3c0a4e1ad1"]),
    made("reweight", v(7, 2), &["ff38424030f9"]),
    made("sched_idle_cpu", v(7, 2), &["fd54d81c2c0e"]),
    made("throttle_at", v(7, 2), &["f666241e6bd5"]),
];

static COMMITS: &[Commit] = &[
    commit("000619680c37", "sched/fair: Remove wake_cap()"),
    commit("026b98a93bbd", "sched/numa: Adjust imb_numa_nr to a better approximation of memory channels"),
    commit("051f3ca02e46", "sched/topology: Introduce NUMA identity node sched domain"),
    commit("052c3d87c82e", "sched/fair: Limit run to parity to the min slice of enqueued entities"),
    commit("089d84203ad4", "sched/fair: Fold the sched_avg update"),
    commit("0b0695f2b34a", "sched/fair: Rework load_balance()"),
    commit("0c2de3f054a5", "sched,fair: Alternative sched_slice()"),
    commit("0dacee1bfa70", "sched/pelt: Remove unused runnable load average"),
    commit("0ddad21d3e99", "pipe: use exclusive waits when reading or writing"),
    commit("11137d384996", "sched/fair: Simplify util_est"),
    commit("144d8487bc6e", "sched/fair: Implement synchonous PELT detach on load-balance migrate"),
    commit("147f3efaa241", "sched/fair: Implement an EEVDF-like scheduling policy"),
    commit("1528c661c24b", "sched/fair: Ratelimit update to tg->load_avg"),
    commit("152e11f6df29", "sched/fair: Implement delayed dequeue"),
    commit("17346452b25b", "sched/fair: Make sched-idle CPU selection consistent throughout"),
    commit("1ea6c46a23f1", "sched/fair: Propagate an effective runnable_load_avg"),
    commit("2208cdaa56c9", "sched/fair: Reduce minimal imbalance threshold"),
    commit("2227a957e1d5", "sched/eevdf: Sort the rbtree by virtual deadline"),
    commit("23127296889f", "sched/fair: Update scale invariance of PELT"),
    commit("2480c093130f", "sched/uclamp: Extend CPU's cgroup controller"),
    commit("2586af1ac187", "sched/rt: Disable RT_RUNTIME_SHARE by default"),
    commit("26cf52229efc", "sched: Avoid scale real weight down to zero"),
    commit("2ae891b82695", "sched: Reduce the default slice to avoid tasks getting an extra tick"),
    commit("2cae3948edd4", "sched: adjust sleeper credit for SCHED_IDLE entities"),
    commit("2e8e19226398", "sched/fair: Limit sched_cfs_period_timer() loop to avoid hard lockup"),
    commit("2ebb17717550", "sched/core: Offload wakee task activation if it the wakee is descheduling"),
    commit("304000390f88", "sched: Cgroup SCHED_IDLE support"),
    commit("33cf66d88306", "sched/fair: Proportional newidle balance"),
    commit("3dcac251b066", "sched/core: Introduce SM_IDLE and an idle re-entry fast-path in __schedule()"),
    commit("41abdba93747", "sched: Interleave cfs bandwidth timers for improved single thread performance at low utilization"),
    commit("4823725d9d1d", "sched/fair: Increase weight bits for avg_vruntime"),
    commit("4929a4e6faa0", "sched/fair: Scale bandwidth quota and period without losing quota/period ratio precision"),
    commit("4aed8aa41524", "sched/fair: Introduce a CPU capacity comparison helper"),
    commit("512ac999d275", "sched/fair: Fix bandwidth timer clock drift condition"),
    commit("51bf903b64bd", "sched/fair: Optimize and simplify rq leaf_cfs_rq_list"),
    commit("51ce83ed523b", "sched: reduce sched slice for SCHED_IDLE entities"),
    commit(
        "52262ee567ad",
        "sched/fair: Allow a per-CPU kthread waking a task to stack on the same CPU, to fix XFS performance regression",
    ),
    commit("54a58a787791", "sched/fair: Implement DELAY_ZERO"),
    commit("57abff067a08", "sched/fair: Rework find_idlest_group()"),
    commit("5e963f2bd465", "sched/fair: Commit to EEVDF"),
    commit("5ebde09d9170", "sched/core: Fix RQCF_ACT_SKIP leak"),
    commit("5f6bd380c7bd", "sched/rt: Remove default bandwidth control"),
    commit("63304558ba5d", "sched/eevdf: Curb wakeup-preemption"),
    commit("64eaf50731ac", "sched/fair: Fix cfs_rq_clock_pelt() for throttled cfs_rq"),
    commit("66951e4860d3", "sched/fair: Fix update_cfs_group() vs DELAY_DEQUEUE"),
    commit("6ab7973f2540", "sched/fair: Fix sched_avg fold"),
    commit("6d71a9c61604", "sched/fair: Fix EEVDF entity placement bug causing scheduling lag"),
    commit("6d7e4782bcf5", "sched/fair: Fix the decision for load balance"),
    commit("6e3c0a4e1ad1", "sched/fair: Fix lag clamp"),
    commit("6e7499135db7", "sched/fair: Reduce busy load balance interval"),
    commit("70fb5ccf2ebb", "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg"),
    commit("72bffbf57c52", "sched/fair: Fix initial util_avg calculation"),
    commit("732cd75b8c92", "sched/fair: Select an energy-efficient CPU on task wake-up"),
    commit("765d0af19f5f", "sched/topology: Remove the ::smt_gain field from 'struct sched_domain'"),
    commit("778c558f49a2", "sched: Add cluster scheduler level in core and related Kconfig for ARM64"),
    commit("79104becf42b", "sched/fair: Forfeit vruntime on yield"),
    commit("79462e8c879a", "sched: don't account throttle time for empty groups"),
    commit("79f3f9bedd14", "sched/eevdf: Fix min_vruntime vs avg_vruntime"),
    commit("7c70cb94d29c", "sched: Add Lazy preemption model"),
    commit("7dadeaa6e851", "sched: Further restrict the preemption modes"),
    commit("7ea98dfa4491", "sched/deadline: Add more reschedule cases to prio_changed_dl()"),
    commit("7f65ea42eb00", "sched/fair: Add util_est on top of PELT"),
    commit("7ff1693236f5", "sched/fair: Implement prefer sibling imbalance calculation between asymmetric groups"),
    commit("829c1651e9c4", "sched/fair: sanitize vruntime of entity being placed"),
    commit("82e9d0456e06", "sched/fair: Avoid re-setting virtual deadline on 'migrations'"),
    commit("840c5abca499", "sched/fair: More accurate reweight_entity()"),
    commit("857b158dc5e8", "sched/eevdf: Use sched_attr::sched_runtime to set request/slice suggestion"),
    commit("85e511df3cec", "sched/eevdf: Allow shorter slices to wakeup-preempt"),
    commit("86bfbb7ce4f6", "sched/fair: Add lag based placement"),
    commit("8881e1639f1f", "sched/fair: Scan cluster before scanning LLC in wake-up path"),
    commit("88c56cfeaec4", "sched/fair: Block nohz tick_stop when cfs bandwidth in use"),
    commit("89aafd67f28c", "sched/fair: Use prev instead of new target as recent_used_cpu"),
    commit("8ad075c2eb1f", "sched: Async unthrottling for cfs bandwidth"),
    commit("9213aa4784cf", "sched: Default enable HRTICK when deferred rearming is enabled"),
    commit("956dfda6a708", "sched/fair: Prevent cfs_rq from being unthrottled with zero runtime_remaining"),
    commit("96d1610e0b20", "sched: Optimize hrtimer handling"),
    commit("984ffb6a4366", "sched/fair: Remove SIS_PROP"),
    commit("98b0d890220d", "sched/pelt: Relax the sync of util_sum with util_avg"),
    commit("9c63e84db29b", "sched/core: Disable SD_PREFER_SIBLING on asymmetric CPU capacity domains"),
    commit("9f68395333ad", "sched/pelt: Add a new runnable average signal"),
    commit("9fe1f127b913", "sched/fair: Merge select_idle_core/cpu()"),
    commit("9fe89f022c05", "sched/fair: More complex proportional newidle balance"),
    commit("a526d466798d", "sched/topology: Remove SD_BALANCE_WAKE on asymmetric capacity systems"),
    commit("aaec5a95d596", "pipe_read: don't wake up the writer if the pipe is still full"),
    commit("aef6987d8954", "sched/eevdf: Propagate min_slice up the cgroup hierarchy"),
    commit("af98d8a36a96", "sched/fair: Fix CPU bandwidth limit bypass during CPU hotplug"),
    commit("b1bfeab9b002", "sched/fair: Consider the idle state of the whole core for load balance"),
    commit("b7a331615d25", "sched/fair: Add asymmetric CPU capacity wakeup scan"),
    commit("b8c96361402a", "sched/fair/util_est: Implement faster ramp-up EWMA on utilization increases"),
    commit("bf2dc42d6beb", "sched/topology: Propagate SMT flags when removing degenerate domain"),
    commit("c200191d4c2c", "sched/topology: Propagate SD_ASYM_CPUCAPACITY upwards"),
    commit("c5b0a7eefc70", "sched/fair: Remove sysctl_sched_migration_cost condition"),
    commit("c722f35b513f", "sched/fair: Bring back select_idle_smt(), but differently"),
    commit("c744dc4ab58d", "sched/topology: Rework CPU capacity asymmetry detection"),
    commit("cb29a5c19d2d", "sched/numa: Apply imbalance limitations consistently"),
    commit("d15121be7485", "Revert \"softirq: Let ksoftirqd do its job\""),
    commit("d153b153446f", "sched/core: Fix wake_affine() performance regression"),
    commit("d8fcb81f1acf", "sched/fair: Check for idle core in wake_affine"),
    commit("de53fd7aedb1", "sched/fair: Fix low cpu usage with high throttling by removing expiration of cpu-local slices"),
    commit("e0ee463c93c4", "sched/features: Distinguish between NORMAL and DEADLINE hrtick"),
    commit("e1f078f50478", "sched/fair: Combine detach into dequeue when migrating task"),
    commit("e1fad12dcb66", "sched/fair: Switch to task based throttle model"),
    commit("e2f3e35f1f5a", "sched/fair: Decay task PELT values during wakeup migration"),
    commit("e496132ebedd", "sched/fair: Adjust the allowed NUMA imbalance when SD_NUMA spans multiple LLCs"),
    commit("e4d32e4d5444", "sched/fair: Minimize concurrent LBs between domain level"),
    commit("e4ec3318a17f", "sched/debug: Rename sysctl_sched_min_granularity to sysctl_sched_base_slice"),
    commit("e4fe074d6c35", "sched/fair: Don't init util/runnable_avg for !fair task"),
    commit("e60b56e46b38", "sched/fair: Wait before decaying max_newidle_lb_cost"),
    commit("e6e0dc2d5497", "sched/fair: Remove SIS_AVG_CPU"),
    commit("e837456fdca8", "sched/fair: Reimplement NEXT_BUDDY to align with EEVDF goals"),
    commit("eab03c23c2a1", "sched/eevdf: Fix vruntime adjustment on reweight"),
    commit("eb92692b2544", "sched/fair: Only compute base_energy_pd if necessary"),
    commit("eb962f251fbb", "sched/fair: Task based throttle time accounting"),
    commit("ebb83d84e49b", "sched/core: Avoid multiple calling update_rq_clock() in __cfsb_csd_unthrottle()"),
    commit("f2cdd9cc6c97", "sched/core: Address more wake_affine() regressions"),
    commit("f2d650618bc7", "sched/fair: Allow decaying util_est when util_avg > CPU capa"),
    commit("f3dd3f674555", "sched: Remove the limitation of WF_ON_CPU on wakelist if wakee cpu is idle"),
    commit("f4183717b370", "sched/fair: Introduce the burstable CFS controller"),
    commit("f577cd57bfaa", "sched/topology: Rename 'DIE' domain to 'PKG'"),
    commit("f666241e6bd5", "sched/fair: Unify cfs_rq throttling via account_cfs_rq_runtime()"),
    commit("fd03c5b85855", "sched: Rework pick_next_task()"),
    commit("fd54d81c2c0e", "sched/fair: Skip SCHED_IDLE rq for SCHED_IDLE task"),
    commit("fdaba61ef8a2", "sched/fair: Ensure that the CFS parent is added after unthrottling"),
    commit("fdf5f315d5cf", "sched/fair: Disable LB_BIAS by default"),
    commit("ff38424030f9", "sched/eevdf: Update se->vprot in reweight_entity()"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use std::collections::BTreeSet;

    #[test]
    fn each_commit_belongs_to_a_change_of_the_tables() {
        // All changes of kernels whose tables there are, in pairs of neighbours and over the whole span.
        let first = Profile::parse("v4.12").unwrap();
        let versions: Vec<KernelVersion> = std::iter::successors(Some(first.base), |version| Some(version.next()))
            .take_while(|&version| version <= v(7, 2))
            .collect();
        let shown = |version: KernelVersion| Profile::parse_to_show(&version.to_string()).unwrap();
        let mut known: BTreeSet<(&str, KernelVersion)> = BTreeSet::new();
        for pair in versions.windows(2) {
            for change in shown(pair[0]).changes(&shown(pair[1])) {
                known.extend(change.since.map(|since| (change.to.name, since)));
            }
        }
        for row in MADE_BY {
            assert!(known.contains(&(row.name, row.since)), "{} did not change in {}", row.name, row.since);
            assert!(
                !row.ids.is_empty() && row.ids.iter().all(|id| COMMITS.iter().any(|commit| commit.id == *id)),
                "{}",
                row.name
            );
        }
        let rows: BTreeSet<_> = MADE_BY.iter().map(|row| (row.name, row.since)).collect();
        assert_eq!(rows.len(), MADE_BY.len(), "a change stands here twice");
    }

    #[test]
    fn commits_are_well_formed_and_used() {
        let ids: BTreeSet<&str> = COMMITS.iter().map(|commit| commit.id).collect();
        assert_eq!(ids.len(), COMMITS.len());
        for commit in COMMITS {
            assert!(
                commit.id.len() == 12 && commit.id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
                "{commit}"
            );
            assert!(
                commit.subject.contains(' ') && !commit.subject.ends_with('.') || commit.subject.ends_with("tick."),
                "{commit}"
            );
            assert!(MADE_BY.iter().any(|row| row.ids.contains(&commit.id)), "{commit} made nothing");
        }
    }

    #[test]
    fn changes_tell_their_commits() {
        let changes = Profile::parse("v6.1").unwrap().changes(&Profile::parse("v6.12").unwrap());
        let told = |name: &str| -> Vec<String> {
            let rows = changes.iter().filter(|change| change.to.name == name);
            rows.flat_map(Change::commits).map(|commit| commit.to_string()).collect()
        };
        assert_eq!(told("LAST_BUDDY"), ["5e963f2bd465 \"sched/fair: Commit to EEVDF\""]);
        assert_eq!(told("tg_load_update"), ["1528c661c24b \"sched/fair: Ratelimit update to tg->load_avg\""]);
        let patched = Profile::parse("v5.19").unwrap().changes(&Profile::parse("v5.19+sis-util").unwrap());
        assert!(patched.iter().all(|change| change.commits().next().is_none()));
    }
}
