//! `capstan agents`: the bot's database, opened beside the bot.

use std::sync::Arc;

use capstan::app::ports::{Clock, SystemClock};
use capstan::cli::{self, Agents, Failure};
use capstan::config::{ServeOptions, database_of};
use capstan::database::Database;
use capstan_report::Refusal;
use secrecy::ExposeSecret;

use super::{failed, names, runtime};

/// Runs one command.
pub(super) fn run(arguments: &Agents) -> Result<(), Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    let options = ServeOptions {
        config: arguments.config.clone(),
        database_url: arguments.database_url.clone(),
        state_dir: arguments.state_dir.clone(),
        ..ServeOptions::default()
    };
    let url = database_of(&options, &environment)
        .map_err(|error| Failure::Usage(Refusal::Starting, error.to_string()))?;
    // An empty one would take the code, and the bot would never know it.
    if let Some(file) = Database::missing_file(url.expose_secret()) {
        return Err(Failure::Usage(
            Refusal::Starting,
            format!(
                "the bot's database {} does not exist: give what the bot was given, by --state-dir, --config or --database-url",
                file.display()
            ),
        ));
    }
    let by = names::person(&environment, &names::machine());
    runtime()?.block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let database = Database::open(url.expose_secret(), Arc::clone(&clock)).await.map_err(failed)?;
        let ended = cli::run_agents(&database, clock.as_ref(), &by, &arguments.command).await;
        database.close().await;
        ended
    })
}
