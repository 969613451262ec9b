//! Where the state is: its folder, its key, its database.

use std::path::{Path, PathBuf};

use secrecy::SecretString;
use url::Url;

use super::private::{given_key, kept_or_made_key, make_private_folder};
use super::problems::Environment;
use super::sources::SettingSources;

/// The state directory, and how it was given.
pub(super) fn state_path(
    sources: &SettingSources,
    environment: Environment<'_>,
) -> Result<(PathBuf, String), String> {
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

pub(super) fn state_dir(sources: &SettingSources, environment: Environment<'_>) -> Result<PathBuf, String> {
    let (path, origin) = state_path(sources, environment)?;
    make_private_folder(&path).map_err(|error| {
        format!(
            "{origin} cannot be used: {error}; give a folder that only this user can read and write, by --state-dir or CAPSTAN_STATE_DIR"
        )
    })?;
    std::path::absolute(&path).map_err(|error| format!("{origin} cannot be found: {error}"))
}

/// The key that seals what the database holds, and authenticates decisions beside the App's.
pub(super) fn key(sources: &SettingSources, state_dir: &Path) -> Result<SecretString, String> {
    match sources.setting("key-file") {
        Some(setting) => given_key(&setting.path()).map_err(|why| format!("{}: {why}", setting.named())),
        None => kept_or_made_key(&state_dir.join("capstan.key")).map_err(|why| {
            format!("key-file (the default): {why}; give a file with a key by --key-file or CAPSTAN_KEY_FILE")
        }),
    }
}

/// The database in a folder.
pub(super) fn sqlite_in(folder: &Path) -> Result<SecretString, String> {
    let file = folder.join("capstan.sqlite");
    // A URL, so that `?` and `%` in a folder's name mean themselves.
    Url::from_file_path(&file)
        .map(|url| format!("sqlite://{}", url.path()).into())
        .map_err(|()| format!("state-dir: {} cannot be written as a URL", file.display()))
}

pub(super) fn database_url(
    sources: &SettingSources,
    state_dir: Option<&Path>,
) -> Result<SecretString, String> {
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
