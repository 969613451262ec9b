//! The bot's and the reconciler's settings: flags, then `CAPSTAN_…` variables, then a YAML file; checked as a whole, so that
//! one start names everything that is wrong.
//!
//! Secrets come from files or the environment, never as flags: those are visible to every process of the
//! machine. `Debug` never shows one.

mod login;
mod place;
mod private;
mod provider_credentials;
mod reconciler;
mod setup;
mod sources;
#[cfg(test)]
mod tests;
mod traces;
mod wave_webhooks;

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capstan_plan::settings::OperatorHost;
use capstan_serve::{Config, GithubApp, RETENTION, SignInSettings, Work};
use capstan_server::{CALLBACK, Intake, Mode};
use secrecy::SecretString;
use url::Url;

use place::StatePlace;
use private::{given_key, kept_or_made_key, make_private_folder, open_to_everybody};
pub use provider_credentials::ProviderCredentials;
pub use reconciler::{ReconcileOptions, ReconcilerConfig};
pub use setup::{KeptApp, SetupConfig, keep_app, try_to_keep};
pub use sources::ServeOptions;
use sources::{Setting, SettingOrigin, SettingSources};
pub use traces::{TraceCollector, traces_of};
pub use wave_webhooks::WaveWebhookHost;

/// All that is wrong with the settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// One sentence or two each: which setting, from where, what was found, what to do.
    pub problems: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [one] => f.write_str(one),
            many => {
                write!(f, "{} settings are wrong or missing:", many.len())?;
                many.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

/// Reads the environment: the value of a variable, where it is set.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

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

/// How the bot works, whatever App it is.
struct Behaviour {
    intake: Intake,
    retention: Duration,
    work: Work,
    provider_credentials: Vec<ProviderCredentials>,
    wave_webhooks: Vec<WaveWebhookHost>,
    provider_hosts: Vec<OperatorHost>,
}

impl Behaviour {
    fn of(sources: &SettingSources, checked: &mut ConfigCheck<'_>) -> Option<Self> {
        let intake = intake(sources, checked);
        let retention = checked.take(retention(sources));
        let work = work(sources, checked);
        let provider_credentials = checked.take(provider_credentials::provider_credentials(sources));
        let wave_webhooks = checked.take(wave_webhooks::wave_webhooks(sources));
        let provider_hosts = checked.take(provider_hosts(sources, OperatorHost::public()));
        Some(Self {
            intake: intake?,
            retention: retention?,
            work: work?,
            provider_credentials: provider_credentials?,
            wave_webhooks: wave_webhooks?,
            provider_hosts: provider_hosts?,
        })
    }
}

/// Settings that name files with secrets.
const SECRET_FILES: &[&str] = &[
    "key-file",
    "github-private-key-file",
    "github-webhook-secret-file",
    "github-client-secret-file",
    "provider-credentials-file",
    "wave-webhooks-file",
    "otlp-headers-file",
];

/// Files with secrets that everybody on this machine may read. No reason to stop: who may log in here is the operator's
/// business, and images mount what they mount.
fn open_secrets(sources: &SettingSources) -> Vec<String> {
    let open = |name: &&'static str| {
        let setting = sources.setting(name)?;
        let path = setting.path();
        let mode = open_to_everybody(&path)?;
        Some(format!(
            "{}: every user of this machine may read {} (its mode is {mode:04o}): remove that right, for example with `chmod o= {}`",
            setting.named(),
            path.display(),
            path.display()
        ))
    };
    SECRET_FILES.iter().filter_map(open).collect()
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

/// Collects problems, so that all are reported at once.
struct ConfigCheck<'a> {
    problems: &'a mut Vec<String>,
}

impl ConfigCheck<'_> {
    fn take<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }
}

/// The hosts of the setting, else those of the default.
fn provider_hosts(sources: &SettingSources, default: Vec<OperatorHost>) -> Result<Vec<OperatorHost>, String> {
    let Some(setting) = sources.setting("provider-hosts") else { return Ok(default) };
    setting.each(OperatorHost::parse)
}

fn mode(sources: &SettingSources) -> Result<Mode, String> {
    let Some(setting) = sources.setting("dry-run") else { return Ok(Mode::Live) };
    match setting.text.as_str() {
        "true" => Ok(Mode::DryRun),
        "false" => Ok(Mode::Live),
        _ => Err(setting.wrong("is neither `true` nor `false`")),
    }
}

fn listen(sources: &SettingSources, default_port: u16) -> Result<SocketAddr, String> {
    let default = SocketAddr::from(([127, 0, 0, 1], default_port));
    sources.setting("listen").map_or(Ok(default), |setting| address(&setting))
}

fn optional_listen(sources: &SettingSources, name: &'static str) -> Result<Option<SocketAddr>, String> {
    sources.setting(name).map(|setting| address(&setting)).transpose()
}

fn address(setting: &Setting) -> Result<SocketAddr, String> {
    setting.text.parse().map_err(|_| {
        setting.wrong(
            "is not an address with a port; expected one such as 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080",
        )
    })
}

fn work(sources: &SettingSources, checked: &mut ConfigCheck<'_>) -> Option<Work> {
    let default = Work::default();
    let workers = checked.take(number(sources, "workers", 1..=64));
    let job = checked.take(seconds(sources, "job-seconds", 1..=86_400));
    let planner = checked.take(seconds(sources, "planner-seconds", 1..=86_400));
    let planner_memory = checked.take(number(sources, "planner-memory-mib", 128..=1_048_576));
    Some(Work {
        workers: workers?.unwrap_or(default.workers),
        job: job?.unwrap_or(default.job),
        planner: planner?.unwrap_or(default.planner),
        planner_memory: planner_memory?.map_or(default.planner_memory, |mebibytes| (mebibytes as u64) << 20),
        rollout_pace: default.rollout_pace,
    })
}

fn intake(sources: &SettingSources, checked: &mut ConfigCheck<'_>) -> Option<Intake> {
    let default = Intake::default();
    let connections = checked.take(number(sources, "connections", 8..=100_000));
    let header_timeout = checked.take(seconds(sources, "header-timeout-seconds", 1..=3600));
    let body_timeout = checked.take(seconds(sources, "body-timeout-seconds", 1..=3600));
    // The largest delivery is one of 25 MiB.
    let body_memory = checked.take(number(sources, "body-memory-mib", 25..=65_536));
    Some(Intake {
        connections: connections?.unwrap_or(default.connections),
        header_timeout: header_timeout?.unwrap_or(default.header_timeout),
        body_timeout: body_timeout?.unwrap_or(default.body_timeout),
        send_timeout: default.send_timeout,
        body_bytes: body_memory?.map_or(default.body_bytes, |mebibytes| mebibytes << 20),
    })
}

fn retention(sources: &SettingSources) -> Result<Duration, String> {
    // A week: GitHub delivers again for three days, and comments are read again for as long.
    let days = number(sources, "retention-days", 7..=36_500)?;
    Ok(days.map_or(RETENTION, |days| Duration::from_secs(days as u64 * 24 * 3600)))
}

fn number(
    sources: &SettingSources,
    name: &'static str,
    taken: RangeInclusive<usize>,
) -> Result<Option<usize>, String> {
    let Some(setting) = sources.setting(name) else { return Ok(None) };
    match setting.text.parse() {
        Ok(number) if taken.contains(&number) => Ok(Some(number)),
        _ => Err(setting.wrong(&format!("is not a number from {} to {}", taken.start(), taken.end()))),
    }
}

fn seconds(
    sources: &SettingSources,
    name: &'static str,
    taken: RangeInclusive<usize>,
) -> Result<Option<Duration>, String> {
    let seconds = number(sources, name, taken)?;
    Ok(seconds.map(|seconds| Duration::from_secs(seconds as u64)))
}

fn public_url(sources: &SettingSources) -> Result<Option<Url>, String> {
    sources.setting("public-url").map(|setting| web_url(&setting)).transpose()
}

fn api_url(sources: &SettingSources) -> Result<Url, String> {
    let setting = sources
        .setting("github-api-url")
        .unwrap_or_else(|| Setting::new("github-api-url", SettingOrigin::Default, "https://api.github.com"));
    let mut url = web_url(&setting)?;
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

fn web_url(setting: &Setting) -> Result<Url, String> {
    let url = Url::parse(&setting.text).map_err(|error| {
        setting.wrong(&format!("is not a URL ({error}); expected one such as https://host/path"))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(setting.wrong("must begin with https:// (or http:// for a test forge)"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(format!(
            "{} must hold no user, password, query or fragment: give scheme, host, port and path only",
            setting.described()
        ));
    }
    Ok(url)
}

fn app_id(sources: &SettingSources) -> Result<u64, String> {
    let setting = sources
        .setting("github-app-id")
        .ok_or("github-app-id is missing: give the number that GitHub shows as `App ID` on the App's settings page, by --github-app-id or CAPSTAN_GITHUB_APP_ID; or give --public-url and no setting of an App at all, and make one at /setup")?;
    match setting.text.parse() {
        Ok(id) if id > 0 => Ok(id),
        _ => Err(setting.wrong(
            "is not an App id; expected the number that GitHub shows as `App ID` (not the client id)",
        )),
    }
}

fn private_key(sources: &SettingSources, environment: Environment<'_>) -> Result<SecretString, String> {
    let secret = sources.secret(
        environment,
        "github-private-key-file",
        "CAPSTAN_GITHUB_PRIVATE_KEY",
        "the App's private key, a .pem file as GitHub gave it for download",
    )?;
    // Environment files often cannot hold line ends.
    let text =
        if secret.text.contains('\n') { secret.text.clone() } else { secret.text.replace("\\n", "\n") };
    let pem = text.trim_start();
    if pem.starts_with("-----BEGIN ") && pem.contains("PRIVATE KEY-----") && pem.contains("-----END ") {
        Ok(SecretString::from(text))
    } else {
        Err(format!(
            "{} holds no private key in PEM form (`-----BEGIN … PRIVATE KEY-----` to `-----END …`): give the .pem \
             file as GitHub gave it for download",
            secret.origin
        ))
    }
}

/// Characters that a webhook secret has at least.
const SECRET_CHARACTERS: usize = 16;

fn webhook_secrets(
    sources: &SettingSources,
    environment: Environment<'_>,
) -> Result<Vec<SecretString>, String> {
    let secret = sources.secret(
        environment,
        "github-webhook-secret-file",
        "CAPSTAN_GITHUB_WEBHOOK_SECRET",
        "the webhook secret that is set on the App's settings page",
    )?;
    let lines = secret.text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty());
    let lines: Vec<(&str, usize)> = lines.collect();
    for &(line, number) in &lines {
        // A line that was meant as a comment would be a secret that everybody can guess.
        if line.starts_with('#') {
            return Err(format!(
                "{}: line {number} begins with `#`, but every line is a secret: remove the comment (if it is a secret, choose one that begins differently)",
                secret.origin
            ));
        }
        let length = line.chars().count();
        if length < SECRET_CHARACTERS {
            return Err(format!(
                "{}: the secret in line {number} has {length} characters; one of fewer than {SECRET_CHARACTERS} can be \
                 guessed: make one with `openssl rand -hex 32`, here and on the App's settings page",
                secret.origin
            ));
        }
    }
    match lines.len() {
        0 => Err(format!(
            "{} is empty: write the webhook secret there that is set on the App's settings page",
            secret.origin
        )),
        1 | 2 => Ok(lines.into_iter().map(|(line, _)| line.into()).collect()),
        many => Err(format!(
            "{} holds {many} secrets, one per line; at most two may be valid at once",
            secret.origin
        )),
    }
}

/// The state directory, and how it was given.
fn state_path(sources: &SettingSources, environment: Environment<'_>) -> Result<(PathBuf, String), String> {
    let absolute = |name| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match sources.setting("state-dir") {
        Some(setting) => Ok((setting.path(), setting.described())),
        None => {
            let state_home = absolute("XDG_STATE_HOME")
                .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
                .ok_or(
                    "state-dir is missing, and neither XDG_STATE_HOME nor HOME says where it could be: give a \
                     folder by --state-dir or CAPSTAN_STATE_DIR",
                )?;
            let path = state_home.join("capstan");
            let origin = format!("state-dir (the default, {})", path.display());
            Ok((path, origin))
        }
    }
}

fn state_dir(sources: &SettingSources, environment: Environment<'_>) -> Result<PathBuf, String> {
    let (path, origin) = state_path(sources, environment)?;
    make_private_folder(&path).map_err(|error| {
        format!(
            "{origin} cannot be used: {error}; give a folder that only this user can read and write, by --state-dir or CAPSTAN_STATE_DIR"
        )
    })?;
    std::path::absolute(&path).map_err(|error| format!("{origin} cannot be found: {error}"))
}

/// The key that seals what the database holds, and authenticates decisions beside the App's.
fn key(sources: &SettingSources, state_dir: &Path) -> Result<SecretString, String> {
    match sources.setting("key-file") {
        Some(setting) => given_key(&setting.path()).map_err(|why| format!("{}: {why}", setting.named())),
        None => kept_or_made_key(&state_dir.join("capstan.key")).map_err(|why| {
            format!("key-file (the default): {why}; give a file with a key by --key-file or CAPSTAN_KEY_FILE")
        }),
    }
}

/// The database in a folder.
fn sqlite_in(folder: &Path) -> Result<SecretString, String> {
    let file = folder.join("capstan.sqlite");
    // A URL, so that `?` and `%` in a folder's name mean themselves.
    Url::from_file_path(&file)
        .map(|url| format!("sqlite://{}", url.path()).into())
        .map_err(|()| format!("state-dir: {} cannot be written as a URL", file.display()))
}

fn database_url(sources: &SettingSources, state_dir: Option<&Path>) -> Result<SecretString, String> {
    let Some(setting) = sources.setting("database-url") else {
        // Without a state directory that problem is reported already, and this is not used.
        return sqlite_in(state_dir.unwrap_or(Path::new("/")));
    };
    // Never quotes the URL: it may hold a password.
    let scheme = setting.text.split_once(':').map_or("", |(scheme, _)| scheme);
    if !matches!(scheme, "sqlite" | "postgres" | "postgresql") {
        return Err(format!(
            "{} begins with neither `sqlite:` nor `postgres:`; expected sqlite:///path/to/file or \
             postgres://user@host/database",
            setting.named()
        ));
    }
    let has_password = Url::parse(&setting.text)
        .is_ok_and(|url| url.password().is_some() || url.query_pairs().any(|(key, _)| key == "password"));
    if setting.is_flag() && has_password {
        return Err("--database-url holds a password, which every process of this machine could read: set \
                    CAPSTAN_DATABASE_URL instead, or leave the password to PGPASSWORD or ~/.pgpass"
            .to_owned());
    }
    Ok(setting.text.into())
}
