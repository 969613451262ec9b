//! The bot's use cases: gather facts from GitHub, Git and the database, ask the heart, perform effects.
//!
//! Nothing is decided here that a pure function could decide. Types of GitHub, Git or the database do not
//! pass the ports, and no code here knows Kubernetes' API.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`performing`] | performs effects: reads what exists, writes what differs, records it | nothing |
//! | [`agents`] | the bot's side of reconcilers: enrolment, what they may read, what follows from their reports | `performing` |
//! | [`intake`] | what a webhook delivery says, as far as it is stored; deliveries that did not arrive | nothing |
//! | [`retention`] | deletes old records, and those of repositories that are gone | nothing |
//! | [`visitors`] | people who sign in to see the pages | `agents` |
//! | [`page_orders`] | orders to campaigns on the page: who sees the buttons, and what they ask for | `visitors` |
//! | [`setup`] | creates the GitHub App | `intake`, `visitors` |
//! | [`wave_webhooks`] | asks webhooks whether a wave is healthy | nothing |
//! | [`sync`] | brings one repository to its desired state | `agents`, `performing`, `wave_webhooks` |
//! | [`worker`] | which worker syncs which repository, and when again | `sync` |

pub mod agents;
pub mod intake;
pub mod page_orders;
mod performing;
pub mod retention;
pub mod setup;
pub mod sync;
pub mod visitors;
pub mod wave_webhooks;
pub mod worker;
