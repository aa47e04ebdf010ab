//! One folder per benchmark or workload language
