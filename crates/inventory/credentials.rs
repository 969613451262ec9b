//! Which variables are credentials: values of an inventory are in Git, where everybody reads them for ever.
//!
//! A name counts by its words, wherever they are in it, and a value by its form. Where both are possible, the variable is
//! taken for a credential: a person who is asked once too often writes one line, and a leaked one has to be replaced
//! everywhere. So a key of 64 hexadecimal digits is one under a plain name, though it could be a checksum; a name such as
//! `IMAGE_CHECKSUM` says that it is not. Ordinary values do not count: `has_random_form` names them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use capstan_model::secrets::{
    has_login_form, has_random_form, has_token_form, is_secret, is_variable, names_secret, without_secrets,
    words,
};
use capstan_yaml::Scalar;
use capstan_yaml::scalar::ScalarReading;

/// Words of names of credentials, wherever they are.
const WORDS: &[&str] = &[
    "apikey",
    "authkey",
    "cred",
    "credential",
    "dockerconfig",
    "dockerconfigjson",
    "htpasswd",
    "jwt",
    "kubeconfig",
    "netrc",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "pgpass",
    "pwd",
    "secret",
    "sshpass",
    "token",
];

/// Parts of words that say it too: `rootpassword`.
const PARTS: &[&str] = &["passphrase", "passwd", "password"];

/// Words that say it at the end of a name: `BMC_PASS`, and not `PASS_THROUGH`.
const LAST: &[&str] = &["auth", "bearer", "cookie", "pass", "psk", "pw", "sas"];

/// Words that say it together.
const TOGETHER: &[&[&str]] = &[
    &["access", "key"],
    &["account", "key"],
    &["api", "key"],
    &["auth", "key"],
    &["certificate", "key"],
    &["client", "key"],
    &["cloud", "yaml"],
    &["clouds", "yaml"],
    &["docker", "config"],
    &["encryption", "key"],
    &["license", "key"],
    &["master", "key"],
    &["priv", "key"],
    &["private", "key"],
    &["shared", "key"],
    &["signing", "key"],
    &["ssh", "key"],
    &["storage", "key"],
    &["tls", "key"],
];

/// Last words of names that only speak of a credential: where it is, how long it is valid.
const ABOUT: &[&str] = &[
    "address",
    "algorithm",
    "audience",
    "count",
    "dir",
    "duration",
    "enabled",
    "endpoint",
    "expiry",
    "file",
    "host",
    "issuer",
    "length",
    "method",
    "mode",
    "name",
    "namespace",
    "path",
    "policy",
    "port",
    "provider",
    "ref",
    "region",
    "seconds",
    "size",
    "ttl",
    "type",
    "uri",
    "url",
    "version",
];

/// Words of names whose values are public, however random they look.
const PUBLIC: &[&str] = &[
    "ca",
    "cacert",
    "cert",
    "certificate",
    "checksum",
    "commit",
    "digest",
    "fingerprint",
    "hash",
    "md5",
    "public",
    "rev",
    "revision",
    "sha",
    "sha256",
    "sha512",
    "sum",
    "thumbprint",
];

/// Why a variable counts as a credential; `None` where it does not. The text never contains the value.
pub(crate) fn credential(name: &str, value: &Scalar) -> Option<&'static str> {
    let text = value.text.trim();
    // What holds nothing, yes or no, or the name of another variable does not count, whatever its name.
    let says_nothing =
        text.is_empty() || is_variable(text) || matches!(value.reading(), ScalarReading::Bool(_));
    if says_nothing || matches!(text, "true" | "false") {
        return None;
    }
    let words = words(name);
    if (is_named(name, &words) || is_named_with(&words, text)) && !is_public_key(text) {
        return Some("its name");
    }
    let is_public = words.iter().any(|word| PUBLIC.contains(&word.as_str()));
    holds_one(text, is_public).then_some("the form of its value")
}

/// Whether a name is a credential's.
fn is_named(name: &str, words: &[String]) -> bool {
    let is_one_of = |word: &String, known: &[&str]| known.iter().any(|known| is(word, known));
    let Some(last) = words.last().filter(|last| !is_one_of(last, ABOUT)) else { return false };
    let has_word = |word: &String| is_one_of(word, WORDS) || PARTS.iter().any(|part| word.contains(part));
    let has_all = |together: &&[&str]| {
        words
            .windows(together.len())
            .any(|words| words.iter().zip(*together).all(|(word, known)| is(word, known)))
    };
    names_secret(name) || is_one_of(last, LAST) || words.iter().any(has_word) || TOGETHER.iter().any(has_all)
}

/// Whether a name is a credential's if its value is of a kind: a PIN of digits, a webhook's address, a login with both parts.
fn is_named_with(words: &[String], text: &str) -> bool {
    match words.last().map(String::as_str) {
        Some("otp" | "pin" | "puk") => text.bytes().all(|byte| byte.is_ascii_digit()),
        Some("hook" | "webhook") => text.contains("://"),
        Some("login") => text.contains([':', '/']),
        _ => false,
    }
}

/// One of them, or many.
fn is(word: &str, known: &str) -> bool {
    word == known || word.strip_suffix('s') == Some(known)
}

/// A public key of SSH, which machines are given under names such as `SSH_KEY`.
fn is_public_key(text: &str) -> bool {
    text.split_whitespace().nth(1).is_some_and(|key| key.starts_with("AAAA"))
}

/// Whether a text is a credential, or holds one, also in base64.
fn holds_one(text: &str, is_public: bool) -> bool {
    // A login name of SSH is public: such a URL has no password.
    let hides = || matches!(without_secrets(&text.replace("ssh://", "ssh:")), Cow::Owned(_));
    if is_secret(text) || has_token_form(text) || has_login_form(text) || is_basic(text) || hides() {
        return true;
    }
    match in_base64(text, WORD) {
        Some(inside) => holds_one(&inside, is_public),
        None => !is_public && has_random_form(text),
    }
}

/// A header `Basic BASE64` of HTTP: user and password.
fn is_basic(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_login = |encoded: &str| in_base64(encoded, 4).is_some_and(|login| login.contains(':'));
    words.windows(2).any(|pair| pair[0].eq_ignore_ascii_case("basic") && is_login(pair[1]))
}

/// A shorter text is a word, and no base64.
const WORD: usize = 16;

/// The text that is encoded in a base64 text with this many letters or more.
fn in_base64(text: &str, least: usize) -> Option<String> {
    let joined: String = text.split_whitespace().collect();
    if joined.len() < least {
        return None;
    }
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decode = |alphabet: &Alphabet| GeneralPurpose::new(alphabet, lenient).decode(&joined).ok();
    let bytes = decode(&STANDARD).or_else(|| decode(&URL_SAFE))?;
    let inside = String::from_utf8(bytes).ok()?;
    let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    inside.chars().all(is_text).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_yaml::YamlFile;

    fn judged(name: &str, value: &str) -> Option<&'static str> {
        let file = YamlFile::read(&format!("{value}\n")).unwrap();
        credential(name, file.documents()[0].root.as_scalar().unwrap())
    }

    #[test]
    fn names_tell_of_credentials_by_their_words() {
        for name in [
            "OPENSTACK_PASSWORD",
            "ROOTPASSWORD",
            "rootPw",
            "ROOT_PW",
            "my_pwd",
            "BMC_PASS",
            "SSHPASS",
            "REGISTRY_AUTH",
            "BASIC_AUTH",
            "TAILSCALE_AUTHKEY",
            "tailscale-auth-key",
            "DOCKER_CONFIG_JSON",
            "DOCKERCONFIGJSON",
            "AWS_B64ENCODED_CREDENTIALS",
            "AWS_ACCESS_KEY_ID",
            "GIT_CREDS",
            "IBMCLOUD_API_KEY",
            "AZURE_CLIENT_SECRET",
            "SECRET_VALUE",
            "PROXMOX_TOKEN",
            "TOKEN_2",
            "OPENSTACK_CLOUD_YAML_B64",
            "CLOUDS_YAML",
            "KUBECONFIG_B64",
            "SSH_KEY",
            "PRIV_KEY",
            "TLS_KEY",
            "id_rsa",
            "DOCKERCONFIG",
            "NETRC",
            "PGPASS",
            "HTPASSWD",
            "DOOR_PASSCODE",
            "SESSION_COOKIE",
            "WIFI_PSK",
            "SERVICE_JWT",
        ] {
            assert_eq!(judged(name, "hunter2"), Some("its name"), "{name}");
        }
        for (name, value) in [
            ("MY_PIN", "1234"),
            ("LOGIN_OTP", "123456"),
            ("WEBHOOK", "https://chat.example/abc"),
            ("LOGIN", "root/toor"),
            ("BMC_LOGIN", "root:toor"),
        ] {
            assert_eq!(judged(name, value), Some("its name"), "{name}");
        }
    }

    #[test]
    fn a_reference_to_a_credential_is_not_a_credential() {
        for (name, value) in [
            ("AZURE_CLUSTER_IDENTITY_SECRET_NAME", "cluster-identity-secret"),
            ("AZURE_CLUSTER_IDENTITY_SECRET_NAMESPACE", "default"),
            ("AWS_SSH_KEY_NAME", "default"),
            ("OS_AUTH_URL", "https://keystone.example/v3"),
            ("AUTH_TYPE", "v3applicationcredential"),
            ("PASSWORD_FILE", "/etc/password"),
            ("TOKEN_TTL", "24h"),
            ("DISABLE_PASSWORD_AUTH", "true"),
            ("USE_TOKEN", "no"),
            ("BYPASS", "a"),
            ("VERSION_PIN", "v1.31.4"),
            ("WEBHOOK", "validating"),
            ("WEBHOOK_HOST", "https://hooks.example"),
            ("LOGIN", "ada"),
            ("DISK_TYPE", "sas"),
            ("PASS_THROUGH", "a"),
            ("PASSWORD", "\"\""),
            ("PASSWORD", "${OTHER}"),
            (
                "SSH_KEY",
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3k9QxT0aVbZfK2mWl8pR5uYc7dEeHgN1oXsL4vB6tq ada",
            ),
            ("VSPHERE_SSH_AUTHORIZED_KEY", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 ada"),
        ] {
            assert_eq!(judged(name, value), None, "{name}");
        }
    }

    #[test]
    fn values_tell_of_credentials_by_their_form() {
        let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        for value in [
            token.clone(),
            format!("https://github.com/a?x={token}"),
            "https://user:hidden@registry.example".to_owned(),
            "\"-----BEGIN RSA PRIVATE KEY-----\\nMII\"".to_owned(),
            "\"[Global]\\nauth-url=https://keystone\\npassword=hunter2\"".to_owned(),
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            // A cloud.conf and a token that nobody reads at a glance.
            base64("[Global]\nauth-url=https://keystone\npassword=hunter2\n"),
            base64(&token),
            r#"'{"auths":{"x":{"auth":"dXNlcjpwYXNz"}}}'"#.to_owned(),
            "Basic dXNlcjpwYXNzd29yZA==".to_owned(),
            "\"Authorization: basic dTpw\"".to_owned(),
            "https://hooks.slack.com/services/T0000/B0000/XXXX".to_owned(),
            "https://x.blob.core.windows.net/?sv=2020&sig=abcd%3D".to_owned(),
            "https://a.s3.amazonaws.com/b?X-Amz-Expires=60&X-Amz-Signature=0123".to_owned(),
            "admin:$apr1$abc$defghi".to_owned(),
        ] {
            assert_eq!(judged("PLAIN", &value), Some("the form of its value"), "{value}");
        }
    }

    #[test]
    fn ordinary_values_are_not_credentials() {
        let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let certificate = base64(
            "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUfQ2w9hS8mJ0q5s1yPZ0a9n\n-----END CERTIFICATE-----\n",
        );
        for (name, value) in [
            (
                "PLAIN",
                "registry.example.com/a@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            ),
            ("PLAIN", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
            ("PLAIN", "6f1c9d0e-8a44-4c7b-9f0e-2d7a1b3c4d5e"),
            ("PLAIN", "6f1c9d0e8a444c7b9f0e2d7a1b3c4d5e"),
            ("PLAIN", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("PLAIN", "10.96.0.0/12"),
            ("PLAIN", "2001:db8:42:1::/112"),
            ("PLAIN", "v1.31.4"),
            ("PLAIN", "ubuntu-2204-kube-v1.31.4"),
            ("PLAIN", "ami-0abcdef1234567890"),
            ("PLAIN", "http://proxy:3128"),
            ("PLAIN", "git@github.com:acme/clusters.git"),
            ("PLAIN", "qemu+ssh://root@hypervisor.example/system"),
            ("PLAIN", "/subscriptions/8b2a9c1d-0e3f-4a5b-9c6d-7e8f9a0b1c2d/resourceGroups/MyGroup"),
            ("PLAIN", "m5.2xlarge"),
            ("PLAIN", "Basic Authentication"),
            ("PLAIN", "https://hooks.example/?version=2020"),
            ("IMAGE_CHECKSUM", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
            ("OPENSTACK_CLOUD_CACERT_B64", &certificate),
            ("PLAIN", &certificate),
        ] {
            assert_eq!(judged(name, value), None, "{name}: {value}");
        }
    }
}
