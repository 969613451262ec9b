//! The GitHub App that was made at `/setup`: what is needed to make it, and where it is kept.
//!
//! It is kept as files in a folder of its own within the state directory, which appears whole or not at all. Settings
//! that name an App go before it: where any of them is given, the folder counts for nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use capstan_server::Mode;
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::behaviour::Behaviour;
use super::problems::{ConfigCheck, ConfigError, Environment};
use super::sources::{ServeOptions, Setting, SettingOrigin, SettingSources};
use super::state::{database_url, state_dir, state_path};
use super::values::{api_url, listen, mode, optional_listen, public_url};
use super::{login, traces};

/// The folder within the state directory.
pub(super) const FOLDER: &str = "github-app";

/// What is kept: the setting whose value it is, and its file.
const FILES: [(&str, &str); 5] = [
    ("github-app-id", "app-id"),
    ("github-private-key-file", "private-key.pem"),
    ("github-webhook-secret-file", "webhook-secret"),
    ("github-client-id", "client-id"),
    ("github-client-secret-file", "client-secret"),
];

/// Variables that hold a secret of an App themselves.
const INLINE: [&str; 3] =
    ["CAPSTAN_GITHUB_PRIVATE_KEY", "CAPSTAN_GITHUB_WEBHOOK_SECRET", "CAPSTAN_GITHUB_CLIENT_SECRET"];

/// The settings of `capstan serve` while there is no App.
#[derive(Debug)]
pub struct SetupConfig {
    /// Where the bot will listen.
    pub listen: SocketAddr,
    /// Where `/setup` is shown; `None` where nobody said.
    pub internal_listen: Option<SocketAddr>,
    /// How GitHub will reach the bot.
    pub public_url: Url,
    /// GitHub's API.
    pub api_url: Url,
    /// Where people see GitHub.
    pub web_url: Url,
    /// Where people who sign in come back to, where the public URL is good for that.
    pub callback: Option<Url>,
    /// Exists and can be written to.
    pub state_dir: PathBuf,
}

/// What GitHub gave for an App, to be kept.
#[derive(Debug)]
pub struct KeptApp<'a> {
    pub id: u64,
    /// Its private key, in PEM form.
    pub private_key: &'a SecretString,
    pub webhook_secret: &'a SecretString,
    pub client_id: &'a str,
    pub client_secret: &'a SecretString,
}

impl SetupConfig {
    /// What is needed to make the App, where no setting names one, none is kept, and it is known how GitHub would reach
    /// the bot; `None` where the bot is started as ever. A dry run makes none.
    ///
    /// # Errors
    /// With every problem found, those of settings that count only once there is an App included.
    pub fn needed(options: &ServeOptions, environment: Environment<'_>) -> Result<Option<Self>, ConfigError> {
        let sources = SettingSources::read(options, environment)?;
        let is_live = matches!(mode(&sources), Ok(Mode::Live));
        if !is_live || names_an_app(&sources, environment) || sources.setting("public-url").is_none() {
            return Ok(None);
        }
        if state_path(&sources, environment).is_ok_and(|(path, _)| path.join(FOLDER).exists()) {
            return Ok(None);
        }
        let mut problems = sources.problems();
        let mut checked = ConfigCheck { problems: &mut problems };
        let listen = checked.take(listen(&sources, 8080));
        let internal_listen = checked.take(optional_listen(&sources, "internal-listen"));
        let public_url = checked.take(public_url(&sources)).flatten();
        let api_url = checked.take(api_url(&sources));
        let state_dir = checked.take(state_dir(&sources, environment));
        // Once there is an App the bot starts with these: what is wrong with them is reported before it is made.
        checked.take(optional_listen(&sources, "metrics-listen"));
        checked.take(database_url(&sources, state_dir.as_deref()));
        checked.take(traces::traces(&sources, environment));
        Behaviour::of(&sources, &mut checked);
        match (listen, internal_listen, public_url, api_url, state_dir) {
            (Some(listen), Some(internal_listen), Some(public_url), Some(api_url), Some(state_dir))
                if problems.is_empty() =>
            {
                let callback = login::callback(&public_url).ok();
                let web_url = capstan_github::web_url(&api_url);
                Ok(Some(Self { listen, internal_listen, public_url, api_url, web_url, callback, state_dir }))
            }
            _ => Err(ConfigError { problems }),
        }
    }
}

/// Whether any setting names an App, or a part of one.
fn names_an_app(sources: &SettingSources, environment: Environment<'_>) -> bool {
    let is_set = |name: &&str| environment(name).is_some_and(|value| !value.trim().is_empty());
    FILES.iter().any(|(name, _)| sources.setting(name).is_some()) || INLINE.iter().any(is_set)
}

/// Adds the App that is kept in the state directory, where no setting names another one. Nobody signs in where the
/// public URL does not allow it.
pub(super) fn add_kept_app(sources: &mut SettingSources, environment: Environment<'_>) {
    let Ok((state_dir, _)) = state_path(sources, environment) else { return };
    let folder = state_dir.join(FOLDER);
    if names_an_app(sources, environment) || !folder.exists() {
        return;
    }
    let is_for_people = public_url(sources).ok().flatten().is_some_and(|url| login::callback(&url).is_ok());
    for (name, file) in FILES {
        let path = folder.join(file);
        let is_of_people = name.starts_with("github-client-");
        if is_of_people && !is_for_people {
            continue;
        }
        let text = if name.ends_with("-file") {
            path.display().to_string()
        } else {
            fs::read_to_string(&path).unwrap_or_default().trim().to_owned()
        };
        sources.add(Setting::new(name, SettingOrigin::File(path.display().to_string()), &text));
    }
}

/// Keeps an App in the state directory: all of its files or none, each its owner's alone from the first byte on, and
/// never over one that is kept already. Says where.
///
/// # Errors
/// Where it cannot be written, or there is one.
pub fn keep_app(state_dir: &Path, app: &KeptApp<'_>) -> io::Result<PathBuf> {
    let kept = state_dir.join(FOLDER);
    let beside = new_folder(state_dir)?;
    let id = app.id.to_string();
    let texts = [
        id.as_str(),
        app.private_key.expose_secret(),
        app.webhook_secret.expose_secret(),
        app.client_id,
        app.client_secret.expose_secret(),
    ];
    for ((_, name), text) in FILES.iter().zip(texts) {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside.path().join(name))?;
        file.write_all(text.trim_end().as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
    }
    File::open(beside.path())?.sync_all()?;
    // Only an empty folder is replaced by another one: what is kept stays.
    fs::rename(beside.path(), &kept)?;
    drop(beside.keep());
    File::open(state_dir)?.sync_all()?;
    Ok(kept)
}

/// Whether an App could be kept now: tried before GitHub makes one whose key nobody else has.
///
/// # Errors
/// Where it could not, or one is kept.
pub fn try_to_keep(state_dir: &Path) -> io::Result<()> {
    if state_dir.join(FOLDER).exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "an App is already stored there"));
    }
    new_folder(state_dir)?.close()
}

/// An empty folder that goes when it is dropped.
fn new_folder(state_dir: &Path) -> io::Result<tempfile::TempDir> {
    DirBuilder::new().recursive(true).mode(0o700).create(state_dir)?;
    tempfile::Builder::new()
        .prefix(&format!("{FOLDER}."))
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .tempdir_in(state_dir)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn keep(state_dir: &Path, id: u64) -> io::Result<PathBuf> {
        let app = KeptApp {
            id,
            private_key: &"-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----\n".into(),
            webhook_secret: &"a webhook secret".into(),
            client_id: "Iv1.1",
            client_secret: &"a-client-secret".into(),
        };
        keep_app(state_dir, &app)
    }

    #[test]
    fn an_app_is_kept_whole_for_its_owner_alone_and_never_overwritten() {
        let place = tempfile::tempdir().unwrap();
        try_to_keep(place.path()).unwrap();
        let folder = keep(place.path(), 12).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
        names.sort();
        assert_eq!(names, ["app-id", "client-id", "client-secret", "private-key.pem", "webhook-secret"]);
        assert!(keep(place.path(), 13).is_err());
        assert!(try_to_keep(place.path()).is_err());
        assert_eq!(fs::read_to_string(folder.join("app-id")).unwrap(), "12\n");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing half-made is left");
    }

    #[test]
    fn it_is_read_from_there_unless_a_setting_names_another_one() {
        let place = tempfile::tempdir().unwrap();
        keep(place.path(), 12).unwrap();
        let at = place.path().to_str().unwrap().to_owned();
        let with = |more: &'static [(&'static str, &'static str)]| {
            let at = at.clone();
            move |name: &str| match name {
                "CAPSTAN_STATE_DIR" => Some(at.clone()),
                _ => more.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            }
        };
        let options = ServeOptions::default();
        let people = with(&[("CAPSTAN_PUBLIC_URL", "https://capstan.example")]);
        let config = super::super::load(&options, &people).unwrap();
        assert_eq!(config.github.app_id, 12);
        assert_eq!(config.github.webhook_secrets[0].expose_secret(), "a webhook secret");
        assert_eq!(config.login.unwrap().client_id, "Iv1.1");
        assert!(SetupConfig::needed(&options, &people).unwrap().is_none());

        let nobody = with(&[("CAPSTAN_PUBLIC_URL", "http://capstan.example/below")]);
        assert!(super::super::load(&options, &nobody).unwrap().login.is_none());

        let another = with(&[("CAPSTAN_GITHUB_APP_ID", "7")]);
        let problems = super::super::load(&options, &another).unwrap_err().to_string();
        assert!(problems.contains("github-private-key-file is missing"), "{problems}");
    }

    #[test]
    fn an_app_is_made_only_where_none_is_named_and_github_could_reach_the_bot() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().to_str().unwrap().to_owned();
        let needed = |more: &[(&str, &str)]| {
            let environment = |name: &str| match name {
                "CAPSTAN_STATE_DIR" => Some(at.clone()),
                _ => more.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            };
            SetupConfig::needed(&ServeOptions::default(), &environment)
        };
        let url = ("CAPSTAN_PUBLIC_URL", "https://capstan.example");
        let setup = needed(&[url]).unwrap().unwrap();
        assert_eq!(setup.web_url.as_str(), "https://github.com/");
        assert_eq!(setup.callback.unwrap().as_str(), "https://capstan.example/login/callback");
        assert!(needed(&[]).unwrap().is_none());
        assert!(needed(&[url, ("CAPSTAN_DRY_RUN", "true")]).unwrap().is_none());
        for part in ["CAPSTAN_GITHUB_APP_ID", "CAPSTAN_GITHUB_PRIVATE_KEY", "CAPSTAN_GITHUB_CLIENT_SECRET"] {
            assert!(needed(&[url, (part, "x")]).unwrap().is_none(), "{part}");
        }
        assert!(needed(&[("CAPSTAN_PUBLIC_URL", "ftp://capstan.example")]).is_err());
    }
}
