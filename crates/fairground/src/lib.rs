//! Scenario, run, compare, sweep, replay, reproduce: the facade and API boundary
