//! No governor: the frequency stays, but for limits.

use super::{Policy, Rule};

pub(super) static RULE: Rule = Rule { begin: Policy::within_limits, look: None };
