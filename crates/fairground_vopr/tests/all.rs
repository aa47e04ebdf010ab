//! All tests of this folder in one binary: each binary of its own would be linked for itself.

mod domains_model;
mod eevdf_model;
mod fairness;
mod groups_model;
mod idle_sibling_model;
mod lag;
mod random_systems;
mod reference_model;
