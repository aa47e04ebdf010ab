//! The seam of statistics: no decision depends on it.

use super::seams;

seams! {
    $ stats;

    /// How /proc/schedstat is printed.
    SchedstatText = schedstat {
        V15 "15" "Version 15: blocks of domains in the order idle, busy, newly idle.",
        V16 "16" "Version 16: busy before idle.",
        V17 "17" "Version 17: imbalances by kind, names of domains.",
    }
    history { v(4, 12) => V15, v(6, 10) => V16, v(6, 14) => V17, }
}
