//! Tests of specification part 3.
