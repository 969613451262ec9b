//! The App's id and private key.

use octocrab::auth::{AppAuth, EncodingKey};
use octocrab::models::AppId;
use secrecy::{ExposeSecret as _, SecretString};

/// The key that was given is not the private key of an App.
#[derive(Debug, thiserror::Error)]
#[error(
    "{origin}: {reason}; GitHub gives the key out on the App's settings page, under \"Private keys\", as a file that begins with `-----BEGIN RSA PRIVATE KEY-----` (PKCS#8, `-----BEGIN PRIVATE KEY-----`, is accepted too)"
)]
pub struct PrivateKeyError {
    /// The file or the variable that it was read from.
    pub origin: String,
    /// What is wrong with it; never holds any of it.
    pub reason: String,
}

/// Who the App is: its id, and the key that proves it. Tokens are octocrab's: good for nine minutes, from a minute ago on.
#[derive(Debug, Clone)]
pub struct AppCredentials(pub(super) AppAuth);

impl AppCredentials {
    /// Reads an RSA private key in PEM form, PKCS#1 or PKCS#8. `origin` is named in the error: the file
    /// or the variable that the key was read from.
    pub fn from_pem(app_id: u64, pem: &SecretString, origin: &str) -> Result<Self, PrivateKeyError> {
        let refuse = |reason: &str| PrivateKeyError { origin: origin.to_owned(), reason: reason.to_owned() };
        let text = pem.expose_secret().trim();
        if text.is_empty() {
            return Err(refuse("is empty"));
        }
        let begins = text.lines().next().unwrap_or_default();
        match begins {
            "-----BEGIN RSA PRIVATE KEY-----" | "-----BEGIN PRIVATE KEY-----" => {}
            "-----BEGIN ENCRYPTED PRIVATE KEY-----" => return Err(refuse("is encrypted with a passphrase")),
            "-----BEGIN PUBLIC KEY-----" | "-----BEGIN RSA PUBLIC KEY-----" => {
                return Err(refuse("is a public key, not a private one"));
            }
            "-----BEGIN OPENSSH PRIVATE KEY-----" | "-----BEGIN EC PRIVATE KEY-----" => {
                return Err(refuse("is a key of another kind (for SSH, or of an elliptic curve)"));
            }
            _ => return Err(refuse("is not a private key in PEM form")),
        }
        let key = EncodingKey::from_rsa_pem(text.as_bytes())
            .map_err(|_| refuse("looks like a private key, but is cut off, damaged or not an RSA key"))?;
        let credentials = AppAuth { app_id: AppId(app_id), key };
        // Only signing shows whether the text between the PEM lines is a key.
        credentials
            .generate_bearer_token()
            .map_err(|_| refuse("looks like a private key, but it cannot sign"))?;
        Ok(Self(credentials))
    }
}
