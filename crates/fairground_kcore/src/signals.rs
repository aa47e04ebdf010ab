//! Faults of the core that show as signals: an oops is SIGSEGV, SIGBUS, SIGILL or SIGFPE; an endless loop is CPU time.
//!
//! One handler per process. A signal that comes while this thread is inside a core goes to that core, which leaves its call
//! by a jump. Any other goes to whoever handled it before. For loops a timer of the thread's *CPU time* ticks every two
//! seconds: two ticks in one call mean that the call computed for two seconds at least, where a sound one takes
//! microseconds. How busy the machine is does not matter, and nothing is asked in between.

use crate::abi::Table;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Once;

const OOPS: u32 = 2;
const LOOP: u32 = 3;
const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
const TICK_S: i64 = 2;

type Signalled = unsafe extern "C" fn(u32, u64, u64);

thread_local! {
    /// The core in which this thread is.
    static INSIDE: Cell<Option<Signalled>> = const { Cell::new(None) };
    /// How many calls this thread has made, and how many when the timer ticked last inside one.
    static CALLS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    static TICKS: Ticks = Ticks::start();
}

static INSTALLED: Once = Once::new();
static mut BEFORE: [MaybeUninit<libc::sigaction>; 4] = [const { MaybeUninit::uninit() }; 4];

/// Runs a call of the core under the handlers. No value that must be dropped may live in `call`: a fault jumps over it.
pub(crate) fn inside<T: Copy>(table: &Table, call: impl FnOnce() -> T) -> T {
    INSTALLED.call_once(install);
    TICKS.with(|_| ());
    CALLS.with(|calls| calls.set((calls.get().0 + 1, calls.get().1)));
    INSIDE.with(|core| core.set(Some(table.signalled)));
    let answer = call();
    INSIDE.with(|core| core.set(None));
    answer
}

fn loop_signal() -> i32 {
    libc::SIGRTMIN() + 5
}

fn install() {
    for (row, &signal) in FAULTS.iter().enumerate() {
        // SAFETY: runs once, before any handler of ours that reads it can run.
        let before = unsafe { (&raw mut BEFORE[row]).cast::<libc::sigaction>() };
        handle(signal, before);
    }
    handle(loop_signal(), std::ptr::null_mut());
}

fn handle(signal: i32, before: *mut libc::sigaction) {
    // SAFETY: a struct of numbers, for which zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) as usize;
    // The handler may be left by a jump: the signal stays unblocked. It has the thread's alternate stack, if there is one.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: both structs are valid, and `before` is null or a place of that type.
    unsafe { libc::sigaction(signal, &raw const action, before) };
}

extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let core = INSIDE.with(Cell::get);
    if signal == loop_signal() {
        let (calls, seen) = CALLS.with(Cell::get);
        CALLS.with(|cell| cell.set((calls, calls)));
        if let Some(core) = core.filter(|_| calls == seen) {
            leave(core, LOOP, 0, context);
        }
        return;
    }
    if let Some(core) = core {
        // SAFETY: the system fills the struct for these signals.
        let address = unsafe { (*info).si_addr() } as u64;
        leave(core, OOPS, address, context);
    }
    // Not the core's: the handler before ours gets the fault when the instruction is tried again.
    let Some(row) = FAULTS.iter().position(|&fault| fault == signal) else { return };
    // SAFETY: filled by `install` before this handler could run.
    let before = unsafe { (&raw const BEFORE[row]).cast::<libc::sigaction>() };
    // SAFETY: the struct is the one that the system gave.
    unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
}

/// Tells the core; it jumps out of its call, unless it was just about to return.
fn leave(core: Signalled, kind: u32, address: u64, context: *mut c_void) {
    INSIDE.with(|inside| inside.set(None));
    // SAFETY: the core is loaded, since this thread is inside it. The frames that are jumped over drop nothing.
    unsafe { core(kind, address, instruction(context)) };
    INSIDE.with(|inside| inside.set(Some(core)));
}

/// Where the thread was.
fn instruction(context: *mut c_void) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the system gives this struct to a handler with SA_SIGINFO.
        unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as u64 }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = context;
        0
    }
}

/// The timer of this thread's CPU time.
struct Ticks {
    timer: Option<libc::timer_t>,
}

impl Ticks {
    fn start() -> Ticks {
        // SAFETY: a struct of numbers, for which zero is a value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = loop_signal();
        // SAFETY: takes nothing, gives the number of this thread.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both structs are valid.
        let failed = unsafe { libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, &raw mut timer) };
        if failed != 0 {
            return Ticks { timer: None };
        }
        let tick = libc::timespec { tv_sec: TICK_S, tv_nsec: 0 };
        let times = libc::itimerspec { it_interval: tick, it_value: tick };
        // SAFETY: the timer was just made.
        unsafe { libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut()) };
        Ticks { timer: Some(timer) }
    }
}

impl Drop for Ticks {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            // SAFETY: made by `start`, deleted once.
            unsafe { libc::timer_delete(timer) };
        }
    }
}
