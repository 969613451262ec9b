//! The state folder and what lies in it are their owner's alone: mirrors of private repositories, the database, keys.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;

/// What Capstan's programs make in a state folder.
const OURS: &[&str] = &["agents", "capstan.key", "capstan.sqlite", "mirrors", "sources"];

/// Bits that others have of a mode.
const OTHERS: u32 = 0o077;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Creates the folder, and tries to write there. One that there is already is closed to others, unless it holds
/// what is not Capstan's.
pub(super) fn make_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    tempfile::tempfile_in(path).map(drop)?;
    let mode = fs::metadata(path)?.mode() & 0o777;
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    if mode & OTHERS != 0 {
        let is_ours = |name: &str| OURS.iter().any(|ours| name.starts_with(ours));
        if let Some(other) = entries.iter().find(|entry| !entry.file_name().to_str().is_some_and(is_ours)) {
            return Err(io::Error::other(format!(
                "others may look into it (its mode is {mode:04o}), and it holds what is not Capstan's ({})",
                other.file_name().display()
            )));
        }
        close_to_others(path, 0o700).map_err(|error| {
            io::Error::other(format!(
                "others may look into it (its mode is {mode:04o}), and that cannot be changed: {error}"
            ))
        })?;
    }
    for entry in entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        if entry.metadata()?.mode() & OTHERS != 0 {
            close_to_others(&entry.path(), 0o600)?;
        }
    }
    Ok(())
}

fn close_to_others(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The key in a file, which is made where there is none.
pub(super) fn kept_or_made_key(path: &Path) -> Result<SecretString, String> {
    let shown = path.display();
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let mut key = [0; KEY_BYTES];
            SystemRandom::new()
                .fill(&mut key)
                .map_err(|_| format!("{shown}: the system gives no random bytes"))?;
            let text = STANDARD.encode(key);
            let written = writeln!(file, "{text}").and_then(|()| file.sync_all());
            if let Err(error) = written {
                // Half a key is worse than none.
                fs::remove_file(path).ok();
                return Err(format!("{shown}: cannot be written: {error}"));
            }
            Ok(text.into())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => given_key(path),
        Err(error) => Err(format!("{shown}: cannot be made: {error}")),
    }
}

/// The key in a file that somebody gave.
pub(super) fn given_key(path: &Path) -> Result<SecretString, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: cannot be read: {error}"))?;
    match STANDARD.decode(text.trim()) {
        Ok(key) if key.len() == KEY_BYTES => Ok(text.trim().into()),
        _ => Err(format!(
            "{shown} holds no key: expected {KEY_BYTES} random bytes in base64, as `openssl rand -base64 {KEY_BYTES}` \
             prints them"
        )),
    }
}
