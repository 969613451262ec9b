//! Where the bot's database is, for those who open it beside the bot.

use capstan::cli::{CommandFailure, DatabasePlace};
use capstan::config::{ServeOptions, database_of};
use capstan_database::Database;
use capstan_report::Refusal;
use secrecy::{ExposeSecret as _, SecretString};

pub(super) fn url_of(place: &DatabasePlace) -> Result<SecretString, CommandFailure> {
    let options = ServeOptions {
        config: place.config.clone(),
        database_url: place.database_url.clone(),
        state_dir: place.state_dir.clone(),
        ..ServeOptions::default()
    };
    database_of(&options, &|name: &str| std::env::var(name).ok())
        .map_err(|error| CommandFailure::Usage(Refusal::Starting, error.to_string()))
}

/// Refuses one that does not exist: made by the process that opens it here, it would be empty, and not the bot's.
pub(super) fn must_exist(url: &SecretString, refusal: Refusal) -> Result<(), CommandFailure> {
    match Database::missing_file(url.expose_secret()) {
        None => Ok(()),
        Some(file) => Err(CommandFailure::Usage(
            refusal,
            format!(
                "the bot's database {} does not exist: give the same --state-dir, --config or --database-url as for the bot",
                file.display()
            ),
        )),
    }
}
