//! What the bot decides: facts in, effects or a question out.
//!
//! The shell (`capstan_bot`) gathers facts from GitHub, Git and the records, asks here, and performs the
//! decisions. A decision asks for further facts one question at a time, so that nothing is read without need.
//!
//! Deliberately absent: calls, clocks, randomness, logs. The time is a parameter.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`effects`] | what to do, as whole intentions | nothing |
//! | [`facts`] | the inputs of a run, and which writes are not repeated because they were refused | nothing |
//! | [`requests`] | people's requests: which proposals each is about, and their decisions | `effects`, `facts` |
//! | [`components`] | components of providers that plans lack: which are requested, and what counts where one cannot be had | `facts` |
//! | [`planned`] | the plans of a run with their inputs | `facts`, `requests` |
//! | [`proposals`] | proposals: which pull request carries which, the decision about each, approvals | `effects`, `facts`, `planned`, `requests` |
//! | [`rollouts`] | merges whose machines are followed, and the clusters that each changed | `facts`, `proposals` |
//! | [`campaigns`] | progress of each cluster with a release, and which clusters wait | `effects`, `facts`, `planned`, `proposals`, `requests` |
//! | [`checks`] | what needs a check, the inputs of a report, and its content | `effects`, `facts`, `proposals` |
//! | [`commands`] | slash-commands, a file each: its decision and its answer; which comments, buttons and orders are requests | `checks`, `effects`, `facts`, `planned`, `proposals`, `requests` |
//! | [`answers`] | the answer to each request, and when it is written | `commands`, `effects`, `facts`, `proposals`, `requests` |
//! | [`dashboard`] | the dashboard issue: who ticked, its text, its record | `answers`, `facts`, `planned`, `proposals`, `requests` |
//! | [`kubeconfigs`] | kubeconfigs of clusters' owners in Git | `effects`, `facts`, `proposals` |
//! | [`onboarding`] | the onboarding pull request of a repository | `effects`, `facts`, `proposals` |

pub mod answers;
pub mod campaigns;
pub mod checks;
pub mod commands;
pub mod components;
pub mod dashboard;
pub mod effects;
pub mod facts;
pub mod kubeconfigs;
pub mod onboarding;
pub mod planned;
pub mod proposals;
pub mod requests;
pub mod rollouts;
#[cfg(test)]
mod testing;
