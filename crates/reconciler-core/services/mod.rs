//! Services inside a cluster: what comes next of one, and what is said of all.
//!
//! | file | owns |
//! |---|---|
//! | `step` | what comes next of one service in one look |
//! | `problem` | what an answer of the cluster's API means for a service |
//! | `telling` | reasons, conditions, events |

mod problem;
#[cfg(test)]
mod problem_tests;
mod step;
mod telling;
#[cfg(test)]
mod tests;

pub use problem::{is_of_cluster, problem_of};
pub use step::{ServiceLook, ServiceStep, ServiceStepFacts};
pub use telling::{CLOUD_NOT_READY, Hindrance, ServicesFound, conditions, failures, hindrance, notes};
