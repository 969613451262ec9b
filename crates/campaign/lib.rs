//! How a release moves through a fleet: wave by wave, each of which proves itself before the next begins.
//!
//! Pure, like all of the heart: [`decide`](decision::decide) takes the settings, what is known of each
//! cluster, people's orders, and the time. It returns which clusters may get a pull request now, and for each
//! of the others what it waits for and until when. Only people's orders, that the campaign was stopped, and
//! since when waves are healthy are stored ([`Memory`](facts::Memory)): everything else is read again from
//! Git, GitHub and the reconcilers' reports.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`time`] | durations, windows and freezes as settings write them | nothing |
//! | [`facts`] | what is known of a cluster, and what people said | nothing |
//! | [`settings`] | a campaign as people write it | `facts`, `time` |
//! | [`membership`] | which wave a cluster is in, and waves that cannot be meant | `settings`, `time` |
//! | [`tally`] | how many clusters of each wave stand where, and what the first of them waits for | `facts`, `settings` |
//! | [`wording`] | moments and windows as people read them | `time` |
//! | [`decision`] | who may begin now, and why the others wait | `facts`, `settings`, `tally`, `time`, `wording` |
//! | [`simulation`] | a campaign under a virtual clock: its time line as text and as a picture | `decision`, `facts`, `settings`, `tally`, `time` |

pub mod decision;
#[cfg(test)]
mod decision_properties;
#[cfg(test)]
mod decision_tests;
pub mod facts;
pub mod membership;
pub mod settings;
pub mod simulation;
mod tally;
pub mod time;
pub mod wording;
