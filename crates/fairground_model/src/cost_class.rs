//! Classes of operations: what a table of costs shows as one row, and what a sensitivity run changes as one.

macro_rules! classes {
    ($($name:ident $key:literal $text:literal;)*) => {
        /// A class of operations.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum CostClass { $(#[doc = $text] $name,)* }
        impl CostClass {
            /// All classes in order.
            pub const ALL: &'static [CostClass] = &[$(CostClass::$name),*];
            /// The key in price lists, flags and tables.
            pub const fn key(self) -> &'static str { match self { $(CostClass::$name => $key),* } }
            /// What it holds, as a sentence.
            pub const fn sentence(self) -> &'static str { match self { $(CostClass::$name => $text),* } }
        }
    };
}

classes! {
    Syscall "syscall" "Entry and exit of system calls";
    Pipe "pipe" "Pipes and futexes, without the wake-up";
    Socket "socket" "Sockets beside the protocol: finding nothing (pipes too), taking data, AF_UNIX streams";
    Network "network" "The way of packets from the system call to the other socket";
    Copy "copy" "Copying between programs and the kernel";
    Wakeup "wakeup" "Waking a task: state checks and wake lists";
    Scan "scan" "Looks at run queues in the search for a CPU";
    Lock "lock" "Locks of run queues, and those of the kernel that tasks take";
    Enqueue "enqueue" "Enqueue and dequeue with load tracking, on all levels of groups";
    Refill "refill" "Working sets that come to another core, or come back";
    Switch "switch" "Picking the next task and switching to it";
    Ipi "ipi" "Interrupts from one CPU to another";
    IdleExit "idle_exit" "Leaving idle states";
    Timer "timer" "The tick, and timers of tasks";
    Balance "balance" "Load balance";
    Life "life" "Birth and end of tasks";
}
