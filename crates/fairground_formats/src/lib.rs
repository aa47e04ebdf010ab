//! One folder per trace format, readers and writers
