//! CFS of one CPU as naive lists.
