//! The seams of capacity: utilization clamps, and on which CPUs a task fits.

use super::seam;

seam! {
    /// Who may ask for utilization clamps, and what a group's do to its tasks.
    Uclamp = "uclamp" {
        None "none" "Nobody.",
        Tasks "tasks" "Tasks.",
        GroupCeiling "group-ceiling"
            "Tasks and groups: what a group has is the most that its tasks may ask for, and what those have that ask for nothing.",
        GroupRange "group-range" "Tasks and groups: what a task asks for is taken into its group's range.",
    }
    history { v(4, 12) => None, v(5, 3) => Tasks, v(5, 4) => GroupCeiling, v(5, 10) => GroupRange, v(5, 11) => GroupCeiling, v(5, 14) => GroupRange, }
}

impl Uclamp {
    /// Whether tasks may ask for clamps.
    pub const fn has_tasks(self) -> bool {
        !matches!(self, Uclamp::None)
    }
    /// Whether groups may.
    pub const fn has_groups(self) -> bool {
        matches!(self, Uclamp::GroupCeiling | Uclamp::GroupRange)
    }
}

seam! {
    /// Whether a fair task fits a CPU, where clamps are in use.
    TaskFit = "task_fit" {
        Utilisation "utilisation" "If the CPU has a quarter more than the task uses, whatever its clamps.",
        Clamped "clamped" "If the CPU has a quarter more than what the task uses within its clamps.",
        Graded "graded"
            "By utilisation, or since it may use no more than the CPU has; a CPU that has less than the task's least is a second choice.",
    }
    history { v(4, 12) => Utilisation, v(5, 6) => Clamped, v(6, 1) => Graded, }
}

seam! {
    /// Where real-time tasks go on CPUs of different capacities, where clamps are in use.
    RtFit = "rt_fit" {
        Anywhere "anywhere" "To any CPU of the lowest priority.",
        Capacity "capacity" "To a CPU with the capacity that they ask for, if there is one; it is looked for at the wake-up too.",
    }
    history { v(4, 12) => Anywhere, v(5, 6) => Capacity, }
}
