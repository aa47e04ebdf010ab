//! An instance of a core: the entry points of a scheduler, each a call into the library.

use crate::abi::{
    BROKEN, CpuView, DomainView, Flags, ForkTables, FreqPolicyTables, FreqView, Governing, Policy, QueueView, QuotaView, Request,
    Seen, Table, TaskView, Woken,
};
use crate::copies::Instance;
use crate::hardware::{Hardware, Points};
use crate::library::{Library, text};
use crate::signals;
use crate::stopped::{CallError, Stop};
use crate::symbols::Symbols;
use std::ffi::{CString, c_char};
use std::path::Path;
use std::rc::Rc;

/// A task to be made.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// Its name; 15 bytes of it count.
    pub name: String,
    /// -20..19.
    pub nice: i32,
    /// The policy's number in Linux; 0 = SCHED_NORMAL.
    pub policy: u32,
    /// Of real-time tasks, 1..99.
    pub priority: u32,
    /// 0 = the root group.
    pub group: u32,
    /// Whether it comes from outside, and not from the running task.
    pub outside: bool,
    /// Utilization clamps that it asks for, least and most, of 1024.
    pub clamp: (Option<u32>, Option<u32>),
}

/// From where a task is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// From a timer, in an interrupt.
    Timer,
    /// By the running task.
    Task,
    /// By the running task, which is about to sleep.
    Sync,
    /// By the running task, which ends: its parent is told.
    Exits,
}

/// Why a CPU is to choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It was asked to.
    Preempted,
    /// The task sleeps.
    Sleeps,
    /// The task sleeps and takes no signal.
    SleepsUninterruptible,
    /// The task yields.
    Yields,
}

/// A loaded and booted core. It belongs to the thread that made it, whose signals tell its faults. A clone goes on from the same state,
/// by itself; two that are called by turns cost time (`copies.rs`).
pub struct KernelCore {
    instance: Rc<Instance>,
    /// Which of the copies of the instance it is.
    number: u64,
    boot_ns: u64,
    /// What the last call has left, as it was asked for.
    requests: Vec<Request>,
    seen: Vec<Seen>,
}

impl Clone for KernelCore {
    fn clone(&self) -> KernelCore {
        KernelCore {
            instance: Rc::clone(&self.instance),
            number: self.instance.copy(self.number),
            boot_ns: self.boot_ns,
            requests: Vec::new(),
            seen: Vec::new(),
        }
    }
}

impl Drop for KernelCore {
    fn drop(&mut self) {
        self.instance.forget(self.number);
    }
}

impl KernelCore {
    /// Loads a private copy of the library at `path`. `identity` is what it must have been built from; `None` takes any.
    pub fn load(path: &Path, identity: Option<&str>) -> Result<KernelCore, String> {
        let instance = Rc::new(Instance::new(Library::load(path)?, Symbols::beside(path)));
        let core = KernelCore { instance, number: 1, boot_ns: 0, requests: Vec::new(), seen: Vec::new() };
        let is = core.identity();
        match identity {
            Some(wanted) if wanted != is => {
                Err(format!("{}: was built from another tree ({is}, wanted {wanted}). Build the tree anew", path.display()))
            }
            _ => Ok(core),
        }
    }

    /// The release of the tree: `6.12.117`.
    pub fn release(&self) -> String {
        // SAFETY: a constant text of the library.
        unsafe { text(self.table().release) }
    }
    /// What the library was built from.
    pub fn identity(&self) -> String {
        // SAFETY: a constant text of the library.
        unsafe { text(self.table().identity) }
    }
    /// Ticks per second.
    pub fn hz(&self) -> u32 {
        self.table().hz
    }
    /// What the kernel printed, its warnings among them.
    pub fn log(&self) -> String {
        // SAFETY: takes nothing, gives the address of a buffer of the library.
        let log = unsafe { (self.table().log)() };
        // SAFETY: the buffer ends with a zero.
        unsafe { text(log) }
    }
    /// What the last call asked of the engine, in the order in which it was asked.
    pub fn requests(&mut self) -> &[Request] {
        let mut count = 0;
        // SAFETY: fills the count and gives the start of a ring that only a call changes.
        let first = unsafe { (self.table().requests)(&raw mut count) };
        // SAFETY: the ring has so many rows, and is read before anything else is called.
        let asked = unsafe { std::slice::from_raw_parts(first, count as usize) };
        self.requests.clear();
        self.requests.extend_from_slice(asked);
        &self.requests
    }
    /// Whose run queues the last call looked at and whose locks it took, in that order.
    ///
    /// A look is the first reach for another CPU's run queue after one for some other; a single one that is
    /// followed by taking that lock counts as a lock only.
    pub fn seen(&mut self) -> &[Seen] {
        let mut count = 0;
        // SAFETY: fills the count and gives the start of a list that only a call changes.
        let first = unsafe { (self.table().seen)(&raw mut count) };
        // SAFETY: the list has so many rows, and is read before anything else is called.
        let seen = unsafe { std::slice::from_raw_parts(first, count as usize) };
        self.seen.clear();
        self.seen.extend_from_slice(seen);
        &self.seen
    }
    /// The fault, if the core has stopped.
    pub fn stopped(&self) -> Option<Stop> {
        // SAFETY: takes nothing, gives the address of a struct of the library.
        let fault = unsafe { (self.table().fault)() };
        // SAFETY: the struct is there as long as the library.
        let fault = unsafe { &*fault };
        // SAFETY: its texts are constants of the library.
        unsafe { Stop::read(fault, &self.instance.symbols) }
    }

    /// The functions, which act on this copy.
    #[inline]
    fn table(&self) -> &Table {
        self.instance.table(self.number)
    }

    fn call(&mut self, call: impl FnOnce(&Table) -> i64) -> Result<u64, CallError> {
        let table = self.table();
        let answer = signals::inside(table, || call(table));
        match answer {
            0.. => Ok(answer as u64),
            BROKEN => Err(self.stopped().map_or(CallError::Refused(answer), CallError::Stopped)),
            _ => Err(CallError::Refused(answer)),
        }
    }

    /// Boots on that machine. Once.
    pub fn boot(&mut self, hardware: &Hardware) -> Result<(), CallError> {
        let Some((cpus, nodes)) = hardware.sizes() else { return Err(CallError::Refused(-i64::from(libc::EINVAL))) };
        let tables = hardware.tables(cpus, nodes);
        self.boot_ns = hardware.now_ns;
        // SAFETY: all tables have the rows that the interface asks for, and the core copies them.
        self.call(|table| unsafe { (table.boot)(&raw const tables) }).map(|_| ())
    }
    /// Switches a feature of features.h.
    pub fn feature(&mut self, name: &str, on: bool) -> Result<(), CallError> {
        let name = c_text(name)?;
        let pointer: *const c_char = name.as_ptr();
        // SAFETY: the name ends with a zero.
        self.call(|table| unsafe { (table.feature)(pointer, u32::from(on)) }).map(|_| ())
    }
    /// Whether a feature is on; `None` if the tree has none of that name.
    pub fn has_feature(&mut self, name: &str) -> Option<bool> {
        let name = c_text(name).ok()?;
        let pointer: *const c_char = name.as_ptr();
        // SAFETY: the name ends with a zero.
        self.call(|table| unsafe { (table.feature)(pointer, 2) }).ok().map(|on| on != 0)
    }
    /// Sets a tunable by the name of its file, in that file's unit.
    pub fn tunable(&mut self, name: &str, value: u64) -> Result<(), CallError> {
        let name = c_text(name)?;
        let pointer: *const c_char = name.as_ptr();
        // SAFETY: the name ends with a zero.
        self.call(|table| unsafe { (table.tunable)(pointer, value) }).map(|_| ())
    }

    /// The timekeeper of the machine counts jiffies.
    pub fn count_jiffies(&mut self, now_ns: u64, count: u64) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.jiffies)(now_ns, count) }).map(|_| ())
    }
    /// Makes a task, which does not run yet; the answer is its number.
    pub fn fork(&mut self, cpu: u32, now_ns: u64, how: &Fork) -> Result<u32, CallError> {
        let name = c_text(&how.name)?;
        let Fork { nice, policy, priority, group, outside, .. } = *how;
        let clamp = |value: Option<u32>| value.map_or(-1, |value| value as i32);
        let (clamp_min, clamp_max) = (clamp(how.clamp.0), clamp(how.clamp.1));
        let outside = outside.into();
        let tables = ForkTables { nice, policy, priority, group, outside, clamp_min, clamp_max, name: name.as_ptr() };
        // SAFETY: the struct and its name are valid during the call, and the core copies them.
        self.call(|table| unsafe { (table.fork)(cpu, now_ns, &raw const tables) }).map(|task| task as u32)
    }
    /// wake_up_new_task(); the answer is the CPU.
    pub fn wake_up_new_task(&mut self, cpu: u32, now_ns: u64, task: u32) -> Result<u32, CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.start)(cpu, now_ns, task) }).map(|cpu| cpu as u32)
    }
    /// try_to_wake_up().
    pub fn wake(&mut self, cpu: u32, now_ns: u64, task: u32, how: Wake) -> Result<Woken, CallError> {
        // SAFETY: numbers only.
        let answer = self.call(|table| unsafe { (table.wake)(cpu, now_ns, task, how as u32) })?;
        Ok(Woken { cpu: answer as u32, listed: answer >> 32 != 0 })
    }
    /// schedule(); the answer is the task that runs now, or [`crate::IDLE`] or [`crate::STOPPER`].
    pub fn schedule(&mut self, cpu: u32, now_ns: u64, why: Why) -> Result<u64, CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.schedule)(cpu, now_ns, why as u32) })
    }
    /// sched_tick(), in an interrupt.
    pub fn tick(&mut self, cpu: u32, now_ns: u64) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.tick)(cpu, now_ns) }).map(|_| ())
    }
    /// Runs a softirq that was raised.
    pub fn softirq(&mut self, cpu: u32, now_ns: u64, number: u32) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.softirq)(cpu, now_ns, number) }).map(|_| ())
    }
    /// Delivers an interrupt of another CPU: the reschedule interrupt, or the one with function calls.
    pub fn ipi(&mut self, cpu: u32, now_ns: u64, resched: bool) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.ipi)(cpu, now_ns, if resched { 1 } else { 2 }) }).map(|_| ())
    }
    /// Fires a timer by the number of its request.
    pub fn timer(&mut self, cpu: u32, now_ns: u64, timer: u32) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.timer)(cpu, now_ns, timer) }).map(|_| ())
    }
    /// The running stopper does its works and sleeps; the answer is as of [`KernelCore::schedule`].
    pub fn stopper(&mut self, cpu: u32, now_ns: u64) -> Result<u64, CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.stopper)(cpu, now_ns) })
    }
    /// The running task ends; the answer is as of [`KernelCore::schedule`].
    pub fn exit(&mut self, cpu: u32, now_ns: u64) -> Result<u64, CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.exit)(cpu, now_ns) })
    }
    /// The running task does its works before it returns to user mode; schedule() may be due then.
    pub fn user_return(&mut self, cpu: u32, now_ns: u64) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.user_return)(cpu, now_ns) }).map(|_| ())
    }
    /// set_user_nice().
    pub fn nice(&mut self, cpu: u32, now_ns: u64, task: u32, nice: i32) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.nice)(cpu, now_ns, task, nice) }).map(|_| ())
    }
    /// set_cpus_allowed_ptr().
    pub fn affinity(&mut self, cpu: u32, now_ns: u64, task: u32, cpus: &[u32]) -> Result<(), CallError> {
        let (first, count) = (cpus.as_ptr(), cpus.len() as u32);
        // SAFETY: the table has so many rows, and the core copies them.
        self.call(|table| unsafe { (table.affinity)(cpu, now_ns, task, first, count) }).map(|_| ())
    }
    /// sched_setattr().
    pub fn policy(&mut self, cpu: u32, now_ns: u64, task: u32, policy: &Policy) -> Result<(), CallError> {
        let policy: *const Policy = policy;
        // SAFETY: the struct is valid during the call.
        self.call(|table| unsafe { (table.policy)(cpu, now_ns, task, policy) }).map(|_| ())
    }
    /// Makes a group below `parent`; the answer is its number.
    pub fn group_new(&mut self, cpu: u32, now_ns: u64, parent: u32) -> Result<u32, CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.group_new)(cpu, now_ns, parent) }).map(|group| group as u32)
    }
    /// Writes a number to a file of a group, by the controller's name for it: `shares`, `cfs_quota_us`, `weight`.
    pub fn group_file(&mut self, cpu: u32, now_ns: u64, group: u32, file: &str, value: i64) -> Result<(), CallError> {
        let file = c_text(file)?;
        let pointer: *const c_char = file.as_ptr();
        // SAFETY: the name ends with a zero.
        self.call(|table| unsafe { (table.group_file)(cpu, now_ns, group, pointer, value) }).map(|_| ())
    }
    /// Moves a task to a group.
    pub fn group_move(&mut self, cpu: u32, now_ns: u64, task: u32, group: u32) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.group_move)(cpu, now_ns, task, group) }).map(|_| ())
    }
    /// Removes a group that has no task and no group in it.
    pub fn group_remove(&mut self, cpu: u32, now_ns: u64, group: u32) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.group_remove)(cpu, now_ns, group) }).map(|_| ())
    }
    /// sched_exec() of the running task. If it is to go elsewhere, the stopper of its CPU takes it there.
    pub fn exec(&mut self, cpu: u32, now_ns: u64) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.exec)(cpu, now_ns) }).map(|_| ())
    }
    /// Takes a CPU off line, or back. One that goes is closed at once, and dies when its tasks have left it by its next calls of
    /// schedule().
    pub fn hotplug(&mut self, cpu: u32, now_ns: u64, on: bool) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.hotplug)(cpu, now_ns, u32::from(on)) }).map(|_| ())
    }
    /// Sets at which frequency a CPU runs: 1024 = its highest.
    pub fn frequency(&mut self, cpu: u32, now_ns: u64, scale: u32) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.frequency)(cpu, now_ns, scale) }).map(|_| ())
    }
    /// Makes a policy of CPUs that change their frequency together; the answer is its number. It runs at its highest point until
    /// [`KernelCore::govern`] is called.
    pub fn policy_new(&mut self, now_ns: u64, how: &Points) -> Result<u32, CallError> {
        let milliwatt = how.milliwatt.as_ref().filter(|rows| rows.len() == how.khz.len());
        let tables = FreqPolicyTables {
            cpu: how.cpus.as_ptr(),
            khz: how.khz.as_ptr(),
            milliwatt: milliwatt.map_or(std::ptr::null(), Vec::as_ptr),
            latency: how.latency_ns,
            cpus: how.cpus.len() as u32,
            points: how.khz.len() as u32,
            fast_switch: how.fast_switch.into(),
            pad: 0,
        };
        // SAFETY: the tables have so many rows, and the core copies them.
        self.call(|table| unsafe { (table.policy_new)(0, now_ns, &raw const tables) }).map(|policy| policy as u32)
    }
    /// Gives a policy a governor, also the same one anew.
    pub fn govern(&mut self, cpu: u32, now_ns: u64, policy: u32, how: &Governing) -> Result<(), CallError> {
        let how: *const Governing = how;
        // SAFETY: the struct is valid during the call.
        self.call(|table| unsafe { (table.govern)(cpu, now_ns, policy, how) }).map(|_| ())
    }
    /// The thread of a policy runs, or its driver is done.
    pub fn frequency_work(&mut self, cpu: u32, now_ns: u64, policy: u32) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.frequency_work)(cpu, now_ns, policy) }).map(|_| ())
    }

    /// What a CPU is to do before its task goes on; `None` if there is no such CPU.
    pub fn flags(&self, cpu: u32) -> Option<Flags> {
        // SAFETY: a number only.
        let answer = unsafe { (self.table().flags)(cpu) };
        (answer >= 0).then_some(Flags(answer))
    }
    /// What has become of a policy's frequency.
    pub fn frequency_of(&self, policy: u32) -> Option<FreqView> {
        let mut view = FreqView::default();
        // SAFETY: fills the struct.
        let answer = unsafe { (self.table().view_policy)(policy, &raw mut view) };
        (answer == 0).then_some(view)
    }
    /// A task; `None` if there is none of that number.
    pub fn task(&self, task: u32) -> Option<TaskView> {
        let mut view = TaskView::default();
        // SAFETY: fills the struct.
        let answer = unsafe { (self.table().view_task)(task, &raw mut view) };
        (answer == 0).then_some(view)
    }
    /// The queue of a group on a CPU.
    pub fn queue(&self, group: u32, cpu: u32) -> Option<QueueView> {
        let mut view = QueueView::default();
        // SAFETY: fills the struct.
        let answer = unsafe { (self.table().view_queue)(group, cpu, &raw mut view) };
        (answer == 0).then_some(view)
    }
    /// What cpu.max of a group says and cpu.stat counts.
    pub fn quota(&self, group: u32) -> Option<QuotaView> {
        let mut view = QuotaView::default();
        // SAFETY: fills the struct.
        let answer = unsafe { (self.table().view_quota)(group, &raw mut view) };
        (answer == 0).then_some(view)
    }
    /// A run queue.
    pub fn cpu(&self, cpu: u32) -> Option<CpuView> {
        let mut view = CpuView::default();
        // SAFETY: fills the struct.
        let answer = unsafe { (self.table().view_cpu)(cpu, &raw mut view) };
        (answer == 0).then_some(view)
    }
    /// A domain of a CPU, from the smallest, which is 0.
    pub fn domain(&self, cpu: u32, level: u32) -> Option<DomainView> {
        let mut view = DomainView::EMPTY;
        // SAFETY: fills the struct.
        let answer = unsafe { (self.table().view_domain)(cpu, level, &raw mut view) };
        (answer == 0).then_some(view)
    }
    /// Sets when a domain was balanced last, in jiffies of the core, and how many CPUs a search for an idle one looks at.
    pub fn set_domain(&mut self, cpu: u32, level: u32, last_balance: u64, scan: Option<u32>) -> Result<(), CallError> {
        let scan = scan.map_or(-1, i64::from);
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.set_domain)(cpu, level, last_balance, scan) }).map(|_| ())
    }
    /// Sets since when a CPU that has run nothing idles, in ns of the core's clock; else that is since the boot.
    pub fn set_idle_since(&mut self, cpu: u32, ns: u64) -> Result<(), CallError> {
        // SAFETY: numbers only.
        self.call(|table| unsafe { (table.set_idle_since)(cpu, ns) }).map(|_| ())
    }
    /// The time at which the core booted, in ns.
    pub fn boot_ns(&self) -> u64 {
        self.boot_ns
    }
}

/// A text for the core; one that holds a zero is refused.
fn c_text(text: &str) -> Result<CString, CallError> {
    CString::new(text).map_err(|_| CallError::Refused(-i64::from(libc::EINVAL)))
}
