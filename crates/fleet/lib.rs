//! Answers questions about a whole repository: reads the facts off its tree once, and makes plans and judgements of
//! them.
//!
//! The bot asks through [`planner`] and mostly in processes with limits; the command line asks [`generator`] itself.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`components`] | components of providers that a plan wants: which source to ask, what is kept | nothing |
//! | [`generator`] | one snapshot of a repository: its facts, and what the heart says of them | nothing |
//! | [`inventory`] | the inventory of a snapshot, and what a change of it would do to the fleet | `generator` |
//! | [`planner`] | what the bot asks about a snapshot, and how it is said to a process with limits | `generator` |

pub mod components;
pub mod generator;
pub mod inventory;
pub mod planner;
