//! The regressions: a row each, with their texts as they were when this was built.

/// One regression.
pub(crate) struct Regression {
    pub(super) name: &'static str,
    /// Its file of figures, by name.
    pub(super) file: &'static str,
    pub(super) figures: &'static str,
    /// Name and text of its scenarios.
    pub(super) scenarios: &'static [(&'static str, &'static str)],
}

macro_rules! regressions {
    ($($constant:ident $name:literal: $($scenario:literal)*;)*) => {
        $(
            /// See its file of figures.
            pub(crate) static $constant: Regression = Regression {
                name: $name,
                file: concat!($name, ".toml"),
                figures: include_str!(concat!("../published/", $name, ".toml")),
                scenarios: &[$(($scenario, include_str!(concat!("../../../../scenarios/regressions/", $scenario, ".toml")))),*],
            };
        )*
        #[cfg(test)]
        pub(super) static ALL: &[&Regression] = &[$(&$constant),*];
    };
}

regressions! {
    EEVDF_DATABASES "eevdf-databases": "eevdf-databases";
    PIPE_DELAY_DEQUEUE "pipe-delay-dequeue": "pipe-delay-dequeue" "pipe-delay-dequeue-copy";
    POSTGRES_PREEMPT "postgres-preempt": "postgres-preempt";
    RT_SHARE "rt-share": "rt-share" "rt-share-sleeps";
    SCHBENCH_NEWIDLE "schbench-newidle": "schbench-newidle";
}
