//! Access to a remote repository: anonymous, with a token or password, or with an SSH key.
//!
//! Secrets live in memory; the `ssh` program alone reads its key from a file, in a folder of its own that
//! is gone when the transfer is.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use capstan_model::plain_http;
use capstan_model::wording::with_causes;
use capstan_outbound::{NetworkReach, configure_blocking, host_of};
use gix::protocol::transport::Protocol;
use gix::protocol::transport::client::TransportWithoutIO as _;
use gix::protocol::transport::client::blocking_io::{Transport, http, ssh};
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;
use url::Url;

use super::remote::{HttpRemote, RemoteBounds, STALLED};

/// The file beside the key that gets what `ssh` says.
const SAID: &str = "said";

/// What a remote repository is shown.
#[derive(Debug, Clone, Default)]
pub enum RemoteCredential {
    /// Nothing: it is public.
    #[default]
    Public,
    /// User and password, or any user and a token.
    Basic {
        /// The user; forges that take tokens do not care.
        user: String,
        /// The password or token.
        password: SecretString,
    },
    /// An SSH key.
    Key {
        /// The private key as OpenSSH writes it, without a passphrase.
        key: SecretString,
        /// Lines of a `known_hosts` file: whose host keys are trusted.
        known_hosts: String,
    },
}

impl RemoteCredential {
    /// A token of a forge.
    pub fn token(token: &SecretString) -> Self {
        Self::Basic { user: "x-access-token".to_owned(), password: token.clone() }
    }
}

/// An open way to a remote.
pub(super) struct Connection {
    pub(super) transport: Box<dyn Transport + Send>,
    /// Holds the key while `ssh` runs, and what it says.
    key: Option<TempDir>,
}

impl Connection {
    /// What `ssh`, or Git behind it, said last: the reason, where the transport itself only sees that nothing
    /// came.
    pub(super) fn said(&self) -> Option<String> {
        let folder = self.key.as_ref()?.path();
        let text = fs::read(folder.join(SAID)).ok()?;
        last_words(&String::from_utf8_lossy(&text), folder)
    }
}

/// The last two lines, without the folder of the key and without what is not text, at most 300 characters.
fn last_words(text: &str, folder: &Path) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(2)..)?.join("; ");
    let words = last.replace(&format!("{}/", folder.display()), "");
    let words: String = words.chars().filter(|letter| !letter.is_control()).take(300).collect();
    (!words.is_empty()).then_some(words)
}

/// Opens the way to a remote; nothing is sent yet. Over HTTP an answer is bounded.
pub(super) fn connect(
    url: &str,
    access: &RemoteCredential,
    bounds: RemoteBounds,
) -> Result<Connection, String> {
    let explained = |error: gix::Error| with_causes(&error);
    let parsed = gix::url::parse(url).map_err(explained)?;
    if let RemoteCredential::Key { key, known_hosts } = access {
        let folder = write_key(key, known_hosts).map_err(|error| format!("the SSH key: {error}"))?;
        let options = ssh::connect::Options {
            command: Some(ssh_command(folder.path())),
            disallow_shell: false,
            kind: Some(ssh::ProgramKind::Ssh),
        };
        let transport =
            ssh::connect(parsed, Protocol::V2, options, false).map_err(|error| with_causes(&error))?;
        return Ok(Connection { transport: Box::new(transport), key: Some(folder) });
    }
    if parsed.scheme == gix::url::Scheme::File {
        let Ok(transport) =
            gix::protocol::transport::client::blocking_io::file::connect(parsed.path, Protocol::V2, false);
        return Ok(Connection { transport: Box::new(transport), key: None });
    }
    let address = Url::parse(url).map_err(|error| error.to_string())?;
    let remote = HttpRemote::new(&host_of(&address), bounds);
    let mut transport = http::Transport::new_http(remote, parsed, Protocol::V2, false);
    transport.configure(&http_options(address, access)).map_err(explained)?;
    Ok(Connection { transport: Box::new(transport), key: None })
}

fn http_options(url: Url, access: &RemoteCredential) -> http::Options {
    let client = http::reqwest::Options {
        configure_client: Some(Box::new(move |client| {
            // The operator names the remote, or GitHub's API that names it: forges are in private networks,
            // too.
            Ok(configure_blocking(client, &url, &NetworkReach::Network, STALLED))
        })),
        configure_request: None,
    };
    let extra_headers = match access {
        RemoteCredential::Basic { user, password } => {
            let credentials = format!("{user}:{}", password.expose_secret());
            let credentials = base64::engine::general_purpose::STANDARD.encode(credentials);
            // In memory only.
            vec![format!("Authorization: Basic {credentials}")]
        }
        RemoteCredential::Public | RemoteCredential::Key { .. } => Vec::new(),
    };
    http::Options {
        extra_headers,
        // `Remote` follows, where it may.
        follow_redirects: http::options::FollowRedirects::None,
        backend: Some(std::sync::Arc::new(std::sync::Mutex::new(client))),
        user_agent: Some(concat!("git/capstan-", env!("CARGO_PKG_VERSION")).to_owned()),
        ..http::Options::default()
    }
}

/// Key and known hosts in a folder that only this user may enter.
fn write_key(key: &SecretString, known_hosts: &str) -> std::io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("capstan-ssh-").tempdir()?;
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.path().join("key"))?;
    file.write_all(key.expose_secret().trim().as_bytes())?;
    // OpenSSH reads no key without a line's end.
    file.write_all(b"\n")?;
    fs::write(folder.path().join("known_hosts"), known_hosts)?;
    Ok(folder)
}

/// `ssh` that reads no configuration, never prompts, and trusts only the given hosts. Its output goes into a
/// file: our log does not contain another program's lines.
fn ssh_command(folder: &Path) -> OsString {
    let quoted = |name: &str| format!("'{}'", folder.join(name).display().to_string().replace('\'', "'\\''"));
    format!(
        "ssh -F /dev/null -i {} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes \
         -o UserKnownHostsFile={} -o ConnectTimeout=20 -o ServerAliveInterval=20 -o ServerAliveCountMax=3 2>{}",
        quoted("key"),
        quoted("known_hosts"),
        quoted(SAID),
    )
    .into()
}

/// Refuses URLs that would show a secret to the network, or that carry one themselves. The reason.
pub(super) fn check_url(url: &str, access: &RemoteCredential) -> Result<(), String> {
    if let RemoteCredential::Key { .. } = access {
        let parsed = gix::url::parse(url).map_err(|error| with_causes(&error))?;
        if parsed.scheme != gix::url::Scheme::Ssh {
            return Err("an SSH key opens only ssh:// URLs".to_owned());
        }
        return Ok(());
    }
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("a clone URL must not carry credentials".to_owned());
    }
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if parsed.host_str().is_some_and(plain_http::is_private) => Ok(()),
        "file" if parsed.host().is_none() && matches!(access, RemoteCredential::Public) => Ok(()),
        "ssh" => Err("an ssh:// URL needs a key: `identity` and `known_hosts` in its Secret".to_owned()),
        _ => Err(format!("only https (and http {}) keeps the token secret", plain_http::WHERE)),
    }
}

/// A URL as it may be shown.
pub(super) fn without_credentials(url: &str) -> String {
    let unreadable = || "<a clone URL that cannot be read>".to_owned();
    // `git@host:path` is not a URL, and contains no secret.
    let Ok(mut parsed) = Url::parse(url) else {
        return if url.contains("//") || url.matches('@').count() > 1 {
            unreadable()
        } else {
            url.to_owned()
        };
    };
    match parsed.set_username("").and_then(|()| parsed.set_password(None)) {
        Ok(()) => parsed.to_string(),
        Err(()) if parsed.username().is_empty() && parsed.password().is_none() => url.to_owned(),
        Err(()) => unreadable(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> RemoteCredential {
        RemoteCredential::token(&SecretString::from("s3cret"))
    }

    fn key() -> RemoteCredential {
        RemoteCredential::Key { key: SecretString::from("key"), known_hosts: String::new() }
    }

    #[test]
    fn no_secret_travels_unencrypted_or_appears_in_a_url() {
        for (url, access, fits) in [
            ("https://git.example.com/acme/fleet.git", token(), true),
            ("https://git.example.com/acme/fleet.git", RemoteCredential::Public, true),
            ("http://127.0.0.1:3000/acme/fleet.git", token(), true),
            ("http://git.tools.svc/acme/fleet.git", token(), true),
            ("http://git.tools.svc.cluster.local:3000/acme/fleet.git", RemoteCredential::Public, true),
            ("http://git.svc.example.com/acme/fleet.git", token(), false),
            ("http://git.example.com/acme/fleet.git", token(), false),
            ("http://git.example.com/acme/fleet.git", RemoteCredential::Public, false),
            ("https://u:p@git.example.com/acme/fleet.git", token(), false),
            ("file:///srv/fleet.git", RemoteCredential::Public, true),
            ("file:///srv/fleet.git", token(), false),
            ("ssh://git@git.example.com/acme/fleet.git", key(), true),
            ("git@git.example.com:acme/fleet.git", key(), true),
            ("ssh://git@git.example.com/acme/fleet.git", token(), false),
            ("https://git.example.com/acme/fleet.git", key(), false),
            ("not a url", token(), false),
        ] {
            assert_eq!(check_url(url, &access).is_ok(), fits, "{url} {access:?}");
        }
    }

    #[test]
    fn a_url_is_shown_without_what_is_secret() {
        assert_eq!(without_credentials("https://u:p@git.example.com/a.git"), "https://git.example.com/a.git");
        assert_eq!(without_credentials("file:///srv/a.git"), "file:///srv/a.git");
        assert_eq!(without_credentials("git@git.example.com:a.git"), "git@git.example.com:a.git");
    }

    #[test]
    fn of_what_ssh_says_the_end_is_shown_without_the_folder_of_the_key() {
        let folder = Path::new("/tmp/capstan-ssh-abc");
        for (said, shown) in [
            ("", None),
            ("\n \n", None),
            ("Host key verification failed.\r\n", Some("Host key verification failed.")),
            (
                "@@@@\nLoad key \"/tmp/capstan-ssh-abc/key\": error in libcrypto\ngit@host: Permission denied (publickey).\n",
                Some("Load key \"key\": error in libcrypto; git@host: Permission denied (publickey)."),
            ),
        ] {
            assert_eq!(last_words(said, folder).as_deref(), shown);
        }
    }

    #[test]
    fn a_key_is_in_a_file_of_its_owner_alone_while_it_is_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = write_key(&SecretString::from("-----KEY-----"), "host ssh-ed25519 AAAA").unwrap();
        let path = folder.path().join("key");
        assert_eq!(fs::read_to_string(&path).unwrap(), "-----KEY-----\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(folder);
        assert!(!path.exists());
    }
}
