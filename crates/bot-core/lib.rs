//! What the bot decides: facts in, effects or a question out.
//!
//! The shell (`capstan_bot`) gathers facts of GitHub, Git and the records, asks here, and performs what was decided. What a
//! decision has to know besides it asks for one question at a time, so that nothing is read that decides nothing.
//!
//! Deliberately absent: calls, clocks, randomness, logs. The time is a value that is handed in.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`effects`] | what is to be done, as whole intentions | nothing |
//! | [`facts`] | what a run starts from, and which writes are left alone because they were refused | nothing |
//! | [`commands`] | what people ask for: requests, whom each is about, what they decide | `effects`, `facts` |
//! | [`components`] | components of providers that plans lack: which are asked for, and what counts where one cannot be had | `facts` |
//! | [`planned`] | what is planned, and for whom | `commands`, `facts` |
//! | [`proposals`] | what becomes of proposals: who carries which, what is done about each, approvals, merges | `commands`, `effects`, `facts`, `planned` |
//! | [`campaigns`] | how far each cluster is with a release, and who waits | `commands`, `effects`, `facts`, `planned`, `proposals` |
//! | [`checks`] | what awaits a check, what a report is made from, what it says | `effects`, `facts`, `proposals` |
//! | [`answers`] | what is said to each command, and when | `commands`, `effects`, `facts`, `planned`, `proposals` |
//! | [`dashboard`] | the dashboard issue: whose word a tick is, what it tells, what is noted in it | `answers`, `commands`, `facts`, `planned`, `proposals` |
//! | [`kubeconfigs`] | keys of clusters' owners that are to be in Git | `effects`, `facts` |
//! | [`onboarding`] | first contact with a repository | `effects`, `facts` |

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
#[cfg(test)]
mod testing;
