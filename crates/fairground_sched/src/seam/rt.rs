//! The seam of the real-time class.

use super::seam;

seam! {
    /// What keeps real-time tasks from taking a CPU for ever.
    RtBandwidth = "rt_bandwidth" {
        Throttle "throttle" "Real-time tasks of a CPU stop after 950 ms of each second.",
        FairServer "fair-server" "None is stopped: the fair class of each CPU has a deadline server of 50 ms in 1000 ms.",
    }
    history { v(4, 12) => Throttle, v(6, 12) => FairServer, }
}
