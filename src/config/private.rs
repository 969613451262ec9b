//! The state folder and its content are their owner's alone: mirrors of private repositories, the database, keys.
//!
//! A platform may open it without Capstan: before a pod starts, Kubernetes gives everything on a volume to
//! `fsGroup`, lets that group read and write it, and sets the set-group-id bit of its folders. So each start
//! closes everything again, to the bottom. It refuses only a folder with files that are not Capstan's:
//! closing it would lock their owners out.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};

/// How the names begin of what Capstan's programs make in a state folder.
const OURS: &[&str] = &[
    "agents",
    "beyond-limits.json",
    "capstan.key",
    "capstan.sqlite",
    "components",
    "github-app",
    "mirrors",
    "reconciler",
    "sources",
];

/// Bits that others have of a mode.
const OTHERS: u32 = 0o077;

const KEY_BYTES: usize = 32;

/// Creates the folder, and tries to write there. One that there is already is closed to others, with everything in
/// it, unless it holds what is not Capstan's.
pub(super) fn make_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    tempfile::tempfile_in(path).map(drop)?;
    let metadata = fs::metadata(path)?;
    let mode = metadata.mode() & 0o777;
    if mode & OTHERS != 0 {
        let is_ours = |name: &str| OURS.iter().any(|ours| name.starts_with(ours));
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name();
            if !name.to_str().is_some_and(is_ours) {
                return Err(io::Error::other(format!(
                    "others may read it (its mode is {mode:04o}), and it holds files that are not Capstan's ({})",
                    name.display()
                )));
            }
        }
    }
    // The folder first: from then on nobody else gets in while the rest is closed.
    close_to_others(path, &metadata).map_err(|error| {
        io::Error::other(format!(
            "others may read it (its mode is {mode:04o}), and that cannot be changed: {error}"
        ))
    })?;
    close_below(path)
}

/// Closes everything in a folder. What goes meanwhile is closed enough: other processes may work in it.
fn close_below(folder: &Path) -> io::Result<()> {
    for entry in unless_gone(fs::read_dir(folder))?.into_iter().flatten() {
        let path = entry?.path();
        // Not what a link points to, which may lie anywhere.
        let Some(metadata) = unless_gone(fs::symlink_metadata(&path))? else { continue };
        if !metadata.is_file() && !metadata.is_dir() {
            continue;
        }
        unless_gone(close_to_others(&path, &metadata)).map_err(|error| {
            io::Error::other(format!("{} cannot be closed to others: {error}", path.display()))
        })?;
        if metadata.is_dir() {
            close_below(&path)?;
        }
    }
    Ok(())
}

/// Leaves its owner what the owner has of 0700, of a file 0600.
fn close_to_others(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let mode = metadata.mode() & 0o7777;
    let closed = mode & if metadata.is_dir() { 0o700 } else { 0o600 };
    if closed == mode { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(closed)) }
}

fn unless_gone<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The key in a file, which is made where there is none.
pub(super) fn kept_or_made_key(path: &Path) -> Result<SecretString, String> {
    let shown = path.display();
    match path.try_exists() {
        Ok(true) => return given_key(path),
        Ok(false) => {}
        Err(error) => return Err(format!("{shown}: cannot be read: {error}")),
    }
    let key = random_key().map_err(|why| format!("{shown}: {why}"))?;
    match write_new(path, &format!("{}\n", key.expose_secret())) {
        Ok(()) => Ok(key),
        // Another process made one at the same time: that is the key, for both.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => given_key(path),
        Err(error) => Err(format!("{shown}: cannot be made: {error}")),
    }
}

/// A new key, which nothing keeps.
pub(super) fn random_key() -> Result<SecretString, String> {
    let mut key = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut key).map_err(|_| "the system gives no random bytes".to_owned())?;
    Ok(STANDARD.encode(key).into())
}

/// A file that is whole, or not there, whenever the power goes; never one that there is already, and its owner's alone
/// from the first byte on.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut beside = path.file_name().unwrap_or_default().to_owned();
    beside.push(".");
    let mut file = tempfile::Builder::new().prefix(&beside).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    File::open(folder)?.sync_all()
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

/// How a file with a secret is open to everybody on this machine, where it is: its mode.
///
/// A mounted Secret of Kubernetes is in a folder whose name begins with two dots, behind a link. Its mode says nothing:
/// only the containers that mount it see it at all.
pub(super) fn open_to_everybody(path: &Path) -> Option<u32> {
    let real = fs::canonicalize(path).ok()?;
    let is_mounted = real.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".."));
    let mode = fs::metadata(&real).ok()?.mode() & 0o7777;
    (!is_mounted && mode & 0o004 != 0).then_some(mode)
}
