//! `capstan agents`: the bot's database, opened beside the bot.

use std::sync::Arc;

use capstan::cli::{self, Agents, CommandFailure};
use capstan_database::Database;
use capstan_ports::{Clock, SystemClock};
use capstan_report::Refusal;
use capstan_serve::names;
use secrecy::ExposeSecret;

use super::{database_place, failed, runtime};

/// Runs one command.
pub(super) fn run(arguments: &Agents) -> Result<(), CommandFailure> {
    let url = database_place::url_of(&arguments.place)?;
    // An empty one would take the code, and the bot would never know it.
    database_place::must_exist(&url, Refusal::Starting)?;
    let environment = |name: &str| std::env::var(name).ok();
    let by = names::person(&environment, &names::machine());
    runtime()?.block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let database = Database::open(url.expose_secret(), Arc::clone(&clock)).await.map_err(failed)?;
        let ended = cli::run_agents(&database, clock.as_ref(), &by, &arguments.command).await;
        database.close().await;
        ended
    })
}
