//! The discrete-event engine: event queue, CPU contexts, timers, pipes, the loop
