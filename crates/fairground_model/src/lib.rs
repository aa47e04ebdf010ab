//! The nouns on both sides of every boundary: trace events, sinks, counted operations, programs
