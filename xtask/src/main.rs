//! Our own tools, run as `cargo xtask NAME`.
fn main() {}
