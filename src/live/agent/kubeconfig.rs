//! The file in which the owners of a cluster find its key, on its way to the bot.
//!
//! The bot takes nothing that holds a secret in the open: what is encrypted begins as files of age do, and what is not
//! holds no more than how to log in. So whoever reads the bot's database reads no key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::Words;
use super::{bounded, limits};
use capstan_model::digest::sha256;
use capstan_model::ids::ClusterId;
use capstan_plan::settings::RepositoryName;

/// How a file of age in letters begins (<https://github.com/C2SP/C2SP/blob/main/age.md#ascii-armor>).
const AGE: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----\n";

/// Has a file published, or none any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeconfigRequest {
    /// The repository.
    pub repository: RepositoryName,
    /// The cluster.
    pub cluster: ClusterId,
    /// `None`: there is none any more.
    #[serde(default)]
    pub file: Option<KubeconfigFile>,
}

/// A file with its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeconfigFile {
    /// What is said of it.
    pub said: Kubeconfig,
    /// The file, in base64.
    #[serde(deserialize_with = "bounded::text::<_, { limits::KUBECONFIG_BASE64 }>")]
    pub content: String,
}

/// What is said of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubeconfig {
    /// What it is.
    pub form: KubeconfigForm,
    /// SHA-256 of the file in lowercase hex digits.
    #[serde(deserialize_with = "bounded::text::<_, 64>")]
    pub sha256: String,
    /// Whom it is encrypted to.
    #[serde(default, deserialize_with = "bounded::at_most::<_, _, { limits::OWNERS }>")]
    pub recipients: Vec<KubeconfigRecipient>,
    /// When what is in it ends.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Where it is to be found.
    #[serde(default)]
    pub place: KubeconfigPlace,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KubeconfigForm {
    /// Encrypted by age: `kubeconfig.age`.
    Age,
    /// Without a secret: `kubeconfig`.
    Plain,
}

impl KubeconfigForm {
    /// The name of the file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Age => "kubeconfig.age",
            Self::Plain => "kubeconfig",
        }
    }
}

/// Where a file is to be found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KubeconfigPlace {
    /// At the bot.
    #[default]
    Bot,
    /// There, and in the cluster's folder.
    Git,
}

/// Somebody whom a file is encrypted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeconfigRecipient {
    /// What Git calls them.
    pub name: Words,
    /// The fingerprint of their public key.
    pub fingerprint: Words,
}

impl KubeconfigFile {
    /// The file's bytes.
    ///
    /// # Errors
    /// It is not what is said of it, or holds a secret in the open: why.
    pub fn bytes(&self) -> Result<Vec<u8>, &'static str> {
        let bytes = STANDARD.decode(&self.content).map_err(|_| "its content is no base64")?;
        if sha256(&bytes) != self.said.sha256 {
            return Err("its SHA-256 is another one");
        }
        match self.said.form {
            KubeconfigForm::Age if !bytes.starts_with(AGE) => Err("it is not encrypted by age"),
            KubeconfigForm::Plain if !is_without_secrets(&bytes) => Err("it holds more than how to log in"),
            KubeconfigForm::Age | KubeconfigForm::Plain => Ok(bytes),
        }
    }
}

/// Whether a kubeconfig in JSON says of its users only which program logs in.
fn is_without_secrets(bytes: &[u8]) -> bool {
    let Ok(config) = serde_json::from_slice::<Value>(bytes) else { return false };
    let Some(users) = config.get("users").and_then(Value::as_array) else { return false };
    let is_login = |user: &Value| {
        let fields = user.get("user").and_then(Value::as_object);
        fields.is_some_and(|fields| fields.keys().all(|key| key == "exec"))
    };
    users.iter().all(is_login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(form: KubeconfigForm, bytes: &[u8]) -> KubeconfigFile {
        KubeconfigFile {
            said: Kubeconfig {
                form,
                sha256: sha256(bytes),
                recipients: Vec::new(),
                expires_at: None,
                place: KubeconfigPlace::Bot,
            },
            content: STANDARD.encode(bytes),
        }
    }

    #[test]
    fn a_secret_in_the_open_is_not_taken() {
        use KubeconfigForm::{Age, Plain};
        let login = br#"{"users": [{"name": "a", "user": {"exec": {"command": "kubectl"}}}]}"#;
        let key = br#"{"users": [{"name": "a", "user": {"client-key-data": "S0VZ"}}]}"#;
        for (form, bytes, told) in [
            (Age, &b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n"[..], None),
            (Age, &login[..], Some("it is not encrypted by age")),
            (Plain, &login[..], None),
            (Plain, &key[..], Some("it holds more than how to log in")),
            (Plain, &b"users: []"[..], Some("it holds more than how to log in")),
        ] {
            assert_eq!(file(form, bytes).bytes().err(), told, "{}", String::from_utf8_lossy(bytes));
        }
        let mut other = file(Plain, login);
        other.said.sha256 = sha256("other");
        assert_eq!(other.bytes(), Err("its SHA-256 is another one"));
    }

    #[test]
    fn what_is_larger_than_it_may_be_is_not_read() {
        let mut large =
            serde_json::to_value(file(KubeconfigForm::Age, b"-----BEGIN AGE ENCRYPTED FILE-----\n")).unwrap();
        large["content"] = "A".repeat(limits::KUBECONFIG_BASE64 + 1).into();
        assert!(serde_json::from_value::<KubeconfigFile>(large).is_err());
    }
}
