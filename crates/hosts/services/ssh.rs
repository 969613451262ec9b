//! A configuration of OpenSSH's server that forwards to some addresses and does nothing else, and who may come.

use core::net::SocketAddr;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

/// The kinds of keys that are taken. Those of DSA are broken, certificates want more than a line.
const KINDS: [&str; 7] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// A public key, as a line of `authorized_keys` without options.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey {
    kind: &'static str,
    blob: String,
}

/// Why a line is not a public key. The line itself is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    /// It begins with something else, options say.
    #[error("it does not begin with an accepted kind of key ({}). Options such as `command=` are refused", KINDS.join(", "))]
    Kind,
    /// The rest is not a key, or one of another type.
    #[error("the text after its kind is not a key of this kind in base64")]
    Blob,
    /// It has several lines.
    #[error("it has several lines: write each key as a separate entry")]
    Lines,
}

impl PublicKey {
    /// Reads a line. Its comment is dropped.
    ///
    /// # Errors
    /// Anything that is not one key.
    pub fn read(line: &str) -> Result<Self, NoKey> {
        let line = line.trim();
        if line.chars().any(|letter| letter.is_control() && letter != '\t') {
            return Err(NoKey::Lines);
        }
        let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        let kind = KINDS.into_iter().find(|kind| *kind == first).ok_or(NoKey::Kind)?;
        let blob = words.next().ok_or(NoKey::Blob)?;
        let bytes = STANDARD.decode(blob).map_err(|_| NoKey::Blob)?;
        // The key begins with its kind, after four bytes with its length (RFC 4253, 6.6).
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or(NoKey::Blob)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| NoKey::Blob)?;
        let is_kind = rest.get(..length) == Some(kind.as_bytes()) && rest.len() > length;
        is_kind.then(|| Self { kind, blob: blob.to_owned() }).ok_or(NoKey::Blob)
    }

    /// The SHA-256 fingerprint, as ssh shows it.
    pub fn fingerprint(&self) -> String {
        let bytes = STANDARD.decode(&self.blob).unwrap_or_default();
        let digest = sha2::Sha256::digest(bytes);
        format!("SHA256:{}", STANDARD.encode(digest).trim_end_matches('='))
    }
}

/// What those who come may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SshAccess {
    /// Reach the destinations.
    ForwardOnly,
    /// That, and work in a shell.
    Shell,
}

/// Where the program finds its files and listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshPaths {
    /// Where it listens.
    pub listen: Vec<SocketAddr>,
    /// Paths of private host keys.
    pub host_keys: Vec<String>,
    /// Path of who may come.
    pub authorized_keys: String,
}

/// `sshd_config`, for a server that runs as the user that people log in as.
pub fn server_configuration(place: &SshPaths, destinations: &[SocketAddr], access: SshAccess) -> String {
    let mut text = String::from("# Written by Capstan.\n");
    for address in &place.listen {
        let _ = writeln!(text, "ListenAddress {address}");
    }
    for key in &place.host_keys {
        let _ = writeln!(text, "HostKey {key}");
    }
    let _ = writeln!(text, "AuthorizedKeysFile {}", place.authorized_keys);
    text.push_str(
        "PidFile none\nStrictModes no\nAuthenticationMethods publickey\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nHostbasedAuthentication no\nAllowAgentForwarding no\nAllowStreamLocalForwarding no\n\
         AllowTcpForwarding local\nGatewayPorts no\nPermitListen none\nPermitTunnel no\nPermitUserEnvironment no\n\
         PermitUserRC no\nX11Forwarding no\nMaxAuthTries 3\nLoginGraceTime 30\nClientAliveInterval 60\n\
         ClientAliveCountMax 3\n",
    );
    let open = sorted(destinations);
    let open = if open.is_empty() { "none".to_owned() } else { open.join(" ") };
    let _ = writeln!(text, "PermitOpen {open}");
    text.push_str(match access {
        SshAccess::ForwardOnly => "PermitTTY no\nForceCommand /bin/false\n",
        SshAccess::Shell => "PermitTTY yes\n",
    });
    text
}

/// `authorized_keys`: each key with what it may do.
pub fn authorized_keys(keys: &[PublicKey], destinations: &[SocketAddr], access: SshAccess) -> String {
    let mut options = String::from("restrict");
    // Without a destination nothing is forwarded: `port-forwarding` alone would allow all.
    for (at, open) in sorted(destinations).iter().enumerate() {
        let _ = write!(options, "{},permitopen=\"{open}\"", if at == 0 { ",port-forwarding" } else { "" });
    }
    if access == SshAccess::Shell {
        options.push_str(",pty");
    }
    let mut keys: Vec<&PublicKey> = keys.iter().collect();
    keys.sort();
    keys.dedup();
    keys.iter().fold(String::new(), |mut text, key| {
        let _ = writeln!(text, "{options} {} {}", key.kind, key.blob);
        text
    })
}

fn sorted(destinations: &[SocketAddr]) -> Vec<String> {
    let mut sorted: Vec<SocketAddr> = destinations.to_vec();
    sorted.sort();
    sorted.dedup();
    sorted.iter().map(SocketAddr::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

    #[test]
    fn one_key_a_line_without_options() {
        let key = PublicKey::read(KEY).unwrap();
        for line in [format!("{KEY} alice@example.com"), format!("  {KEY}\n"), KEY.replace(' ', "\t")] {
            assert_eq!(PublicKey::read(&line), Ok(key.clone()), "{line}");
        }
        for (line, why) in [
            (format!("command=\"sh\" {KEY}"), NoKey::Kind),
            (format!("restrict {KEY}"), NoKey::Kind),
            (format!("# {KEY}"), NoKey::Kind),
            (format!("{KEY}\n{KEY}"), NoKey::Lines),
            (String::new(), NoKey::Kind),
            ("ssh-dss AAAAB3NzaC1kc3MAAACB".to_owned(), NoKey::Kind),
            ("ssh-ed25519".to_owned(), NoKey::Blob),
            ("ssh-ed25519 !!!!".to_owned(), NoKey::Blob),
            ("ssh-ed25519 AAAA".to_owned(), NoKey::Blob),
            (KEY.replace("ssh-ed25519 ", "ssh-rsa "), NoKey::Blob),
        ] {
            assert_eq!(PublicKey::read(&line), Err(why), "{line}");
        }
    }

    #[test]
    fn the_fingerprint_is_that_of_ssh_keygen() {
        // `ssh-keygen -lf` of GitHub's published host key.
        assert_eq!(
            PublicKey::read(KEY).unwrap().fingerprint(),
            "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"
        );
    }

    #[test]
    fn without_destinations_nothing_is_forwarded() {
        let key = [PublicKey::read(KEY).unwrap()];
        assert_eq!(authorized_keys(&key, &[], SshAccess::ForwardOnly), format!("restrict {KEY}\n"));
        let place = SshPaths { listen: vec![], host_keys: vec![], authorized_keys: "/a".to_owned() };
        assert!(server_configuration(&place, &[], SshAccess::ForwardOnly).contains("\nPermitOpen none\n"));
        let open = ["[2001:db8::1]:22".parse().unwrap(), "10.0.0.1:22".parse().unwrap()];
        assert_eq!(
            authorized_keys(&key, &open, SshAccess::ForwardOnly),
            format!(
                "restrict,port-forwarding,permitopen=\"10.0.0.1:22\",permitopen=\"[2001:db8::1]:22\" {KEY}\n"
            )
        );
    }
}
