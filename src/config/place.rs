//! Where the bot keeps what it knows: the state directory, or in a dry run a folder that goes with the process.

use std::path::{Path, PathBuf};

use capstan_server::Mode;
use secrecy::SecretString;
use tempfile::TempDir;

use super::private::{given_key, random_key};
use super::problems::{ConfigCheck, Environment};
use super::sources::SettingSources;
use super::state::{database_url, key, sqlite_in, state_dir, state_path};

/// The folder, the database, and the key.
pub(super) struct StatePlace {
    pub(super) state_dir: PathBuf,
    pub(super) scratch: Option<TempDir>,
    pub(super) database_url: SecretString,
    pub(super) key: SecretString,
}

impl StatePlace {
    pub(super) fn of(
        mode: Mode,
        sources: &SettingSources,
        environment: Environment<'_>,
        checked: &mut ConfigCheck<'_>,
    ) -> Option<Self> {
        match mode {
            Mode::Live => {
                let state_dir = checked.take(state_dir(sources, environment));
                let database_url = checked.take(database_url(sources, state_dir.as_deref()));
                let state_dir = state_dir?;
                let key = checked.take(key(sources, &state_dir));
                Some(Self { state_dir, scratch: None, database_url: database_url?, key: key? })
            }
            Mode::DryRun => checked.take(Self::scratch(sources, environment)),
        }
    }

    /// A dry run writes to neither the state directory nor the database: what was not done must not be found there as
    /// done. The key is read where there is one, for it tells what people decided.
    fn scratch(sources: &SettingSources, environment: Environment<'_>) -> Result<Self, String> {
        let key = match sources.setting("key-file") {
            Some(_) => key(sources, Path::new(""))?,
            None => match state_path(sources, environment).map(|(path, _)| path.join("capstan.key")) {
                Ok(path) if path.exists() => given_key(&path)?,
                _ => random_key()?,
            },
        };
        let scratch = tempfile::Builder::new().prefix("capstan-dry-run-").tempdir();
        let scratch = scratch.map_err(|error| {
            format!("dry-run: cannot create a temporary folder: {error}; set TMPDIR to a writable one")
        })?;
        let state_dir = scratch.path().to_owned();
        Ok(Self { database_url: sqlite_in(&state_dir)?, state_dir, scratch: Some(scratch), key })
    }
}
