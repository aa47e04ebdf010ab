//! The command `fairground`.
fn main() {}
