//! The scenarios, as they were when this was built.

macro_rules! incidents {
    ($($name:literal)*) => {
        /// Name and text of each.
        pub(super) const ALL: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../scenarios/incidents/", $name, ".toml")))),*];
    };
}

incidents! {
    "r1-alone"
    "r1-expiring"
    "r1-kept"
    "r2-8-expiring"
    "r2-8-kept"
    "r2-88-expiring"
    "r2-88-kept"
    "r2-expiring"
    "r2-kept"
    "r4-expiring"
    "r4-kept"
    "r5-schbench"
    "r5-schbench-burst"
    "r6-ingress"
    "r6-ingress-free"
    "r6-ingress-irregular"
    "r9-collector"
    "r9-collector-free"
    "r9-collector-two"
    "r10-busy"
    "r10-doubled"
    "r10-quiet"
    "r11-eight-percent"
    "r12-empty"
    "r12-full"
}
