//! The seams of capacity: utilization clamps, and on which CPUs a task fits.

use super::seams;

seams! {
    $ capacity;

    /// Who may ask for utilization clamps, and what a group's do to its tasks.
    Uclamp = uclamp {
        None "none" "Nobody.",
        Tasks "tasks" "Tasks.",
        GroupCeiling "group-ceiling"
            "Tasks and groups: what a group has is the most that its tasks may ask for, and what those have that ask for nothing.",
        GroupRange "group-range" "Tasks and groups: what a task asks for is taken into its group's range.",
    }
    history { v(4, 12) => None, v(5, 3) => Tasks, v(5, 4) => GroupCeiling, v(5, 10) => GroupRange, v(5, 11) => GroupCeiling, v(5, 14) => GroupRange, }

    /// Whether a fair task fits a CPU, where clamps are in use.
    TaskFit = task_fit {
        Utilisation "utilisation" "If the CPU has a quarter more than the task uses, whatever its clamps.",
        Clamped "clamped" "If the CPU has a quarter more than what the task uses within its clamps.",
        Graded "graded"
            "By utilisation, or since it may use no more than the CPU has; a CPU that has less than the task's least is a second choice.",
    }
    history { v(4, 12) => Utilisation, v(5, 6) => Clamped, v(6, 1) => Graded, }

    /// Where real-time tasks go on CPUs of different capacities, where clamps are in use.
    RtFit = rt_fit {
        Anywhere "anywhere" "To any CPU of the lowest priority.",
        Capacity "capacity" "To a CPU with the capacity that they ask for, if there is one; it is looked for at the wake-up too.",
    }
    history { v(4, 12) => Anywhere, v(5, 6) => Capacity, }

    /// What is made of capacity that a CPU has lost to heat, or to a limit of its hardware.
    Pressure = pressure {
        None "none" "Nothing.",
        Thermal "thermal" "Its average is taken off what is left for fair tasks, as the time of other classes is (thermal pressure).",
        Hardware "hardware" "Its average is taken off what the CPU has in full (hw pressure).",
    }
    history { v(4, 12) => None, v(5, 7) => Thermal, v(6, 10) => Hardware, }

    /// How wake-ups go by energy where CPUs differ, and what balance leaves to them.
    EnergyAware = energy_aware {
        None "none" "Not at all.",
        WholeMachine "whole-machine" "The energy of all CPUs is compared; a move must save more than 1/16 of it.",
        AllDomains "all-domains"
            "What a task adds to the energy of each performance domain is compared; a move must save more than 1/16 of that and of what all domains use.",
        PerDomain "per-domain" "What a task adds to the energy of each performance domain is compared; a move must save more than 1/16.",
        AnySaving "any-saving" "What a task adds to the energy of each performance domain is compared, its own time added apart; any saving is enough.",
        FitFirst "fit-first" "Any saving is enough, among the CPUs that fit best; balance still moves tasks that do not fit.",
        Bounded "bounded" "Any saving is enough, among the CPUs that fit best; a CPU asks for a quarter more than it uses, within its clamps.",
    }
    history { v(4, 12) => None, v(5, 0) => WholeMachine, v(5, 4) => AllDomains, v(5, 14) => PerDomain, v(6, 0) => AnySaving, v(6, 1) => FitFirst, v(6, 8) => Bounded, }

    /// In which unit the energy model counts, and of which operating points it knows.
    EnergyModel = energy_model {
        Milliwatt "milliwatt" "Power in mW, all points.",
        Efficient "efficient" "Power in mW, but points that cost no less than a faster one are left out.",
        Microwatt "microwatt" "Power in uW, but points that cost no less than a faster one are left out.",
        Performance "performance" "Power in tenths of uW for each unit of capacity, but points that cost no less than a faster one are left out.",
    }
    history { v(4, 12) => Milliwatt, v(5, 16) => Efficient, v(6, 0) => Microwatt, v(6, 9) => Performance, }
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

impl EnergyAware {
    /// Whether a task that does not fit is moved by balance all the same, and how well CPUs fit is compared.
    pub(crate) const fn goes_by_fit(self) -> bool {
        matches!(self, EnergyAware::FitFirst | EnergyAware::Bounded)
    }
    /// Whether the time of the task is added to that of its domain, rather than to its CPU.
    pub(crate) const fn adds_task_apart(self) -> bool {
        matches!(self, EnergyAware::AnySaving | EnergyAware::FitFirst | EnergyAware::Bounded)
    }
}

impl Pressure {
    /// Whether capacity that heat takes is looked at.
    pub const fn is_tracked(self) -> bool {
        !matches!(self, Pressure::None)
    }
}
