//! The bot's and the reconciler's settings: flags, then `CAPSTAN_…` variables, then a YAML file; checked as a whole, so that
//! one start names everything that is wrong.
//!
//! Secrets come from files or the environment, never as flags: those are visible to every process of the
//! machine. `Debug` never shows one.

mod behaviour;
mod login;
mod place;
mod private;
mod problems;
mod provider_credentials;
mod reconciler;
mod secrets;
mod setup;
mod sources;
mod state;
#[cfg(test)]
mod tests;
mod traces;
mod values;
mod wave_webhooks;

use capstan_serve::{Config, GithubApp};
use capstan_server::Mode;
use secrecy::SecretString;

use self::behaviour::Behaviour;
use self::problems::ConfigCheck;
pub use self::problems::{ConfigError, Environment};
use self::secrets::{app_id, open_secrets, private_key, webhook_secrets};
use self::state::{database_url, state_dir};
use self::values::{api_url, listen, mode, optional_listen, public_url};
use place::StatePlace;
pub use provider_credentials::ProviderCredentials;
pub use reconciler::{ReconcileOptions, ReconcilerConfig};
pub use setup::{KeptApp, SetupConfig, keep_app, try_to_keep};
pub use sources::ServeOptions;
use sources::SettingSources;
pub use traces::{TraceCollector, traces_of};
pub use wave_webhooks::WaveWebhookHost;

/// Reads and checks all settings of the bot, and makes the state directory where it does not exist.
///
/// # Errors
/// With every problem found.
pub fn load(options: &ServeOptions, environment: Environment<'_>) -> Result<Config, ConfigError> {
    let mut sources = SettingSources::read(options, environment)?;
    setup::add_kept_app(&mut sources, environment);
    let mut problems = sources.problems();
    let mut checked = ConfigCheck { problems: &mut problems };

    let mode = checked.take(mode(&sources));
    let is_dry = mode == Some(Mode::DryRun);
    // A bot may be running already.
    let listen = checked.take(listen(&sources, if is_dry { 0 } else { 8080 }));
    let internal_listen = checked.take(optional_listen(&sources, "internal-listen"));
    let metrics_listen = checked.take(optional_listen(&sources, "metrics-listen"));
    let public_url = checked.take(public_url(&sources));
    let api_url = checked.take(api_url(&sources));
    let app_id = checked.take(app_id(&sources));
    let private_key = checked.take(private_key(&sources, environment));
    let webhook_secrets = checked.take(webhook_secrets(&sources, environment));
    let place = match mode {
        Some(mode) => StatePlace::of(mode, &sources, environment, &mut checked),
        // Where nothing is made yet, only the address is checked.
        None => checked.take(database_url(&sources, None)).and(None),
    };
    let behaviour = Behaviour::of(&sources, &mut checked);
    // Logging is set up before the rest, and the export of traces with it: here the setting is only checked.
    checked.take(traces::traces(&sources, environment));
    let login = match &public_url {
        Some(public_url) => checked.take(login::login(&sources, environment, public_url.as_ref())),
        None => None,
    };

    match (
        mode,
        listen,
        internal_listen,
        metrics_listen,
        public_url,
        api_url,
        app_id,
        private_key,
        webhook_secrets,
        place,
        behaviour,
        login,
    ) {
        (
            Some(mode),
            Some(listen),
            Some(internal_listen),
            Some(metrics_listen),
            Some(public_url),
            Some(api_url),
            Some(app_id),
            Some(private_key),
            Some(webhook_secrets),
            Some(place),
            Some(behaviour),
            Some(login),
        ) if problems.is_empty() => Ok(Config {
            mode,
            scratch: place.scratch,
            listen,
            internal_listen,
            metrics_listen,
            intake: behaviour.intake,
            retention: behaviour.retention,
            public_url,
            database_url: place.database_url,
            state_dir: place.state_dir,
            key: place.key,
            github: GithubApp { api_url, app_id, private_key, webhook_secrets },
            login,
            work: behaviour.work,
            provider_credentials: behaviour.provider_credentials.into_iter().map(Into::into).collect(),
            wave_webhooks: behaviour.wave_webhooks.into_iter().map(Into::into).collect(),
            warnings: open_secrets(&sources),
            provider_hosts: behaviour.provider_hosts,
        }),
        _ => Err(ConfigError { problems }),
    }
}

/// Where the bot's database is, for commands that work on it beside the bot.
///
/// # Errors
/// As [`load`], for the settings that say it.
pub fn database_of(
    options: &ServeOptions,
    environment: Environment<'_>,
) -> Result<SecretString, ConfigError> {
    let sources = SettingSources::read(options, environment)?;
    let mut problems = sources.problems();
    let mut checked = ConfigCheck { problems: &mut problems };
    let state_dir = match sources.setting("database-url") {
        Some(_) => None,
        None => checked.take(state_dir(&sources, environment)),
    };
    let database_url = checked.take(database_url(&sources, state_dir.as_deref()));
    match database_url {
        Some(url) if problems.is_empty() => Ok(url),
        _ => Err(ConfigError { problems }),
    }
}
