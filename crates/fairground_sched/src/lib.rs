//! The scheduler: run queues, PELT, the fair class; no clock, no cost, no I/O
