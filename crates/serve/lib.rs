//! The bot, put together: what `capstan serve` and the demo start.
//!
//! It names every adapter of the bot, and none of the reconciler's: the demo is built without a Kubernetes client.
//! Settings come as values; the program reads and checks them.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`failure`] | why the bot did not start, or ended | nothing |
//! | [`names`] | what a process calls itself | nothing |
//! | [`settings`] | the bot's settings | nothing |
//! | [`shutdown`] | the signals that end a program | nothing |
//! | [`planner`] | the process that plans for the bot | `failure` |
//! | [`bot`] | database, mirrors, GitHub, workers, resync and server: started together and stopped in order | `failure`, `names`, `settings` |

mod bot;
mod failure;
pub mod names;
mod planner;
mod settings;
mod shutdown;

pub use bot::{Running, bind_internal, start};
pub use failure::ServeError;
pub use planner::run as plan_on_standard_input;
pub use settings::{Config, GithubApp, INTERNAL_LISTEN, RETENTION, SignInSettings, Work};
pub use shutdown::shutdown_asked;
