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
//! | [`requests`] | what people ask for, whom each request is about, and what they decided | `effects`, `facts` |
//! | [`planned`] | what is planned, and for whom | `facts`, `requests` |
//! | [`proposals`] | what becomes of proposals: who carries which, what is done about each, approvals | `effects`, `facts`, `planned`, `requests` |
//! | [`campaigns`] | how far each cluster is with a release, and who waits | `effects`, `facts`, `planned`, `proposals`, `requests` |
//! | [`checks`] | what awaits a check, what a report is made from, what it says | `effects`, `facts`, `proposals` |
//! | [`commands`] | slash-commands, a file each: what it decides, and what is said to it | `facts`, `planned`, `proposals`, `requests` |
//! | [`answers`] | how a request is answered, and when | `commands`, `effects`, `facts`, `proposals`, `requests` |
//! | [`dashboard`] | the dashboard issue: whose word a tick is, what it tells, what is noted in it | `answers`, `facts`, `planned`, `proposals`, `requests` |
//! | [`kubeconfigs`] | keys of clusters' owners that are to be in Git | `effects`, `facts` |
//! | [`onboarding`] | first contact with a repository | `effects`, `facts` |

pub mod answers;
pub mod campaigns;
pub mod checks;
pub mod commands;
pub mod dashboard;
pub mod effects;
pub mod facts;
pub mod kubeconfigs;
pub mod onboarding;
pub mod planned;
pub mod proposals;
pub mod requests;
#[cfg(test)]
mod testing;
