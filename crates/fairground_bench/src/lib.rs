//! The speed of ourselves: events per second and instructions per event
