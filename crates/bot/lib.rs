//! The bot's use cases: facts of GitHub, Git and the database are gathered, the heart is asked, effects are performed.
//!
//! Nothing is decided here that a pure function could decide, and no word of GitHub's, Git's or the database's own gets past
//! the ports. Nothing is known of Kubernetes' API.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`performing`] | effects, performed: what exists is read, what differs is written and remembered | nothing |
//! | [`agents`] | the bot's side of reconcilers: who enrolled, what they may read, what their reports become | `performing` |
//! | [`intake`] | what a webhook delivery says, as far as it is stored; deliveries that did not arrive | nothing |
//! | [`retention`] | what is old, or of repositories that are gone, goes | nothing |
//! | [`visitors`] | people who sign in to look at the pages | `agents` |
//! | [`page_orders`] | orders to campaigns on the page: who is shown the buttons, and what they ask for | `visitors` |
//! | [`setup`] | the GitHub App is made | `intake`, `visitors` |
//! | [`wave_webhooks`] | whom to ask, and when, whether a wave is well | nothing |
//! | [`sync`] | one repository is brought to the state that it should have | `agents`, `performing`, `wave_webhooks` |
//! | [`worker`] | who works on which repository, and when again | `sync` |

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
