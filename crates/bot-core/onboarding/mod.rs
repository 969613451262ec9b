//! Onboarding: whether a repository without settings gets a pull request that adds some, and its content.
//!
//! A repository is asked once: the answer is on GitHub, not in the database. The base branch of that pull
//! request does not matter, because the default branch may have had another name then.

mod pull_request;
mod step;
#[cfg(test)]
mod tests;

pub use self::pull_request::{KIND, closed_write, closing, open_pull};
pub use self::step::{OnboardingFound, OnboardingNeed, OnboardingStep, next_step};
