//! The App's id and private key.

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

/// How long a token holds; GitHub takes ten minutes at most.
const HOLDS: SignedDuration = SignedDuration::from_mins(9);
/// A token begins so long ago: GitHub's clock may be behind.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(60);

/// What a token says: seconds since 1970
/// (<https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>).
#[derive(Serialize)]
struct Claims {
    iss: u64,
    iat: i64,
    exp: i64,
}

/// The key that was given is not the private key of an App.
#[derive(Debug, thiserror::Error)]
#[error(
    "{origin}: {reason}; GitHub gives the key out on the App's settings page, under \"Private keys\", as a file that \
     begins with `-----BEGIN RSA PRIVATE KEY-----` (PKCS#8, `-----BEGIN PRIVATE KEY-----`, is taken too)"
)]
pub struct PrivateKeyError {
    /// The file or the variable that it was read from.
    pub origin: String,
    /// What is wrong with it; never holds any of it.
    pub reason: String,
}

/// Who the App is: its id, and the key that proves it.
#[derive(Clone)]
pub struct AppCredentials {
    app: u64,
    key: EncodingKey,
}

impl std::fmt::Debug for AppCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppCredentials").field("app", &self.app).finish_non_exhaustive()
    }
}

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
            _ => return Err(refuse("is no private key in PEM form")),
        }
        let key = EncodingKey::from_rsa_pem(text.as_bytes())
            .map_err(|_| refuse("looks like a private key, but is cut off, damaged or not an RSA key"))?;
        let credentials = Self { app: app_id, key };
        // Only signing tells whether what stands between the PEM lines is a key.
        credentials
            .sign()
            .map_err(|_| refuse("looks like a private key, but nothing can be signed with it"))?;
        Ok(credentials)
    }

    /// The App's id.
    pub(super) const fn app_id(&self) -> u64 {
        self.app
    }

    /// A token that proves to GitHub for nine minutes who the App is.
    pub(super) fn sign(&self) -> Result<SecretString, String> {
        let now = Timestamp::now();
        let claims =
            Claims { iss: self.app, iat: (now - CLOCKS_DIFFER).as_second(), exp: (now + HOLDS).as_second() };
        let token = encode(&Header::new(Algorithm::RS256), &claims, &self.key);
        token.map(SecretString::from).map_err(|error| error.to_string())
    }
}
