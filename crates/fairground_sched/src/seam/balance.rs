//! The seams of load balance.

use super::seam;

seam! {
    /// What balance compares, and what it moves.
    Balance = "balance" {
        LoadBased "load-based" "Loads of groups against their mean; load is moved (up to v5.4).",
        GroupType "group-type" "How busy groups are, as types; load, utilisation or a number of tasks is moved (v5.5 on).",
    }
    history { v(4, 12) => LoadBased, v(5, 5) => GroupType, }
}
