//! The bot's and the reconciler's settings: flags, then `CAPSTAN_…` variables, then a YAML file; checked as a whole, so that
//! one start names everything that is wrong.
//!
//! Secrets come from files or the environment, never as flags: those are visible to every process of the
//! machine. `Debug` never shows one.

mod reconciler;
mod sources;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use url::Url;

pub use reconciler::{ReconcileOptions, ReconcilerConfig};
pub use sources::ServeOptions;
use sources::{Origin, Setting, Sources};

/// Everything that `capstan serve` is told.
#[derive(Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How GitHub and people reach the bot, where that is known.
    pub public_url: Option<Url>,
    /// `sqlite:` or `postgres:` URL; may hold a password.
    pub database_url: SecretString,
    /// For mirrors and the SQLite database; exists and can be written to.
    pub state_dir: PathBuf,
    /// The GitHub App.
    pub github: GithubApp,
}

/// How to be the GitHub App.
#[derive(Debug)]
pub struct GithubApp {
    /// Base of the REST API, without a slash at its end: `https://api.github.com`.
    pub api_url: Url,
    /// The App's id.
    pub app_id: u64,
    /// Its private key, PEM.
    pub private_key: SecretString,
    /// Its webhook secrets, one or two: while a secret is changed both are valid.
    pub webhook_secrets: Vec<SecretString>,
}

impl GithubApp {
    /// Where people look at repositories: `https://github.com` for GitHub's own API, the root of the
    /// server for GitHub Enterprise Server and test forges.
    pub fn web_url(&self) -> Url {
        let mut web = self.api_url.clone();
        web.set_path("");
        web.set_query(None);
        if web.host_str() == Some("api.github.com") && web.set_host(Some("github.com")).is_err() {
            return self.api_url.clone();
        }
        web
    }
}

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

impl Config {
    /// Reads and checks all settings, and makes the state directory where it does not exist.
    ///
    /// # Errors
    /// With every problem found.
    pub fn load(options: &ServeOptions, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let sources =
            Sources::read(options, environment).map_err(|problem| ConfigError { problems: vec![problem] })?;
        let mut problems = Vec::new();
        let mut checked = Checked { problems: &mut problems };

        let listen = checked.take(listen(&sources, 8080));
        let public_url = checked.take(public_url(&sources));
        let api_url = checked.take(api_url(&sources));
        let app_id = checked.take(app_id(&sources));
        let private_key = checked.take(private_key(&sources, environment));
        let webhook_secrets = checked.take(webhook_secrets(&sources, environment));
        let state_dir = checked.take(state_dir(&sources, environment));
        let database_url = checked.take(database_url(&sources, state_dir.as_deref()));

        match (listen, public_url, api_url, app_id, private_key, webhook_secrets, state_dir, database_url) {
            (
                Some(listen),
                Some(public_url),
                Some(api_url),
                Some(app_id),
                Some(private_key),
                Some(webhook_secrets),
                Some(state_dir),
                Some(database_url),
            ) => Ok(Self {
                listen,
                public_url,
                database_url,
                state_dir,
                github: GithubApp { api_url, app_id, private_key, webhook_secrets },
            }),
            _ => Err(ConfigError { problems }),
        }
    }
}

/// Where the bot's database is, for commands that work on it beside the bot.
///
/// # Errors
/// As [`Config::load`], for the settings that say it.
pub fn database_of(
    options: &ServeOptions,
    environment: Environment<'_>,
) -> Result<SecretString, ConfigError> {
    let sources =
        Sources::read(options, environment).map_err(|problem| ConfigError { problems: vec![problem] })?;
    let mut problems = Vec::new();
    let mut checked = Checked { problems: &mut problems };
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

/// Collects problems, so that all are told at once.
struct Checked<'a> {
    problems: &'a mut Vec<String>,
}

impl Checked<'_> {
    fn take<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }
}

fn listen(sources: &Sources, default_port: u16) -> Result<SocketAddr, String> {
    let Some(setting) = sources.setting("listen") else {
        return Ok(SocketAddr::from(([127, 0, 0, 1], default_port)));
    };
    setting.text.parse().map_err(|_| {
        setting.wrong(
            "is no address with a port; expected one such as 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080",
        )
    })
}

fn public_url(sources: &Sources) -> Result<Option<Url>, String> {
    sources.setting("public-url").map(|setting| web_url(&setting)).transpose()
}

fn api_url(sources: &Sources) -> Result<Url, String> {
    let setting = sources
        .setting("github-api-url")
        .unwrap_or_else(|| Setting::new("github-api-url", Origin::Default, "https://api.github.com"));
    let mut url = web_url(&setting)?;
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

fn web_url(setting: &Setting) -> Result<Url, String> {
    let url = Url::parse(&setting.text).map_err(|error| {
        setting.wrong(&format!("is no URL ({error}); expected one such as https://host/path"))
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

fn app_id(sources: &Sources) -> Result<u64, String> {
    let setting = sources
        .setting("github-app-id")
        .ok_or("github-app-id is missing: give the number that GitHub shows as `App ID` on the App's settings page, by --github-app-id or CAPSTAN_GITHUB_APP_ID")?;
    match setting.text.parse() {
        Ok(id) if id > 0 => Ok(id),
        _ => Err(setting
            .wrong("is no App id; expected the number that GitHub shows as `App ID` (not the client id)")),
    }
}

fn private_key(sources: &Sources, environment: Environment<'_>) -> Result<SecretString, String> {
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

fn webhook_secrets(sources: &Sources, environment: Environment<'_>) -> Result<Vec<SecretString>, String> {
    let secret = sources.secret(
        environment,
        "github-webhook-secret-file",
        "CAPSTAN_GITHUB_WEBHOOK_SECRET",
        "the webhook secret that is set on the App's settings page",
    )?;
    let lines: Vec<&str> = secret.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.len() {
        0 => Err(format!(
            "{} is empty: write the webhook secret there that is set on the App's settings page",
            secret.origin
        )),
        1 | 2 => Ok(lines.into_iter().map(SecretString::from).collect()),
        many => Err(format!(
            "{} holds {many} secrets, one per line; at most two may be valid at once",
            secret.origin
        )),
    }
}

fn state_dir(sources: &Sources, environment: Environment<'_>) -> Result<PathBuf, String> {
    let absolute = |name| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let (path, origin) = match sources.setting("state-dir") {
        Some(setting) => (setting.path(), setting.described()),
        None => {
            let state_home = absolute("XDG_STATE_HOME")
                .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
                .ok_or(
                    "state-dir is missing, and neither XDG_STATE_HOME nor HOME says where it could be: give a \
                     folder by --state-dir or CAPSTAN_STATE_DIR",
                )?;
            let path = state_home.join("capstan");
            let origin = format!("state-dir (the default, {})", path.display());
            (path, origin)
        }
    };
    make_private_folder(&path).map_err(|error| {
        format!(
            "{origin} cannot be used: {error}; give a folder that this user may write to, by --state-dir or \
             CAPSTAN_STATE_DIR"
        )
    })?;
    std::path::absolute(&path).map_err(|error| format!("{origin} cannot be found: {error}"))
}

/// Creates the folder for its owner alone (mirrors hold private repositories), and tries to write there.
fn make_private_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    tempfile::tempfile_in(path).map(drop)
}

fn database_url(sources: &Sources, state_dir: Option<&Path>) -> Result<SecretString, String> {
    let Some(setting) = sources.setting("database-url") else {
        // Without a state directory that problem is told already, and this is not used.
        let file = state_dir.unwrap_or(Path::new("/")).join("capstan.sqlite");
        // A URL, so that `?` and `%` in a folder's name mean themselves.
        return Url::from_file_path(&file)
            .map(|url| format!("sqlite://{}", url.path()).into())
            .map_err(|()| format!("state-dir: {} cannot be written as a URL", file.display()));
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
