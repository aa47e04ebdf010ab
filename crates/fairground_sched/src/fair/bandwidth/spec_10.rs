//! Tests of the specification, part 10.
