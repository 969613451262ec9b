//! The agent's own key.

use std::path::Path;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_live::agent::{AgentId, Claims, PublicKey};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use secrecy::{ExposeSecret as _, SecretString};

use super::{AgentError, files};

/// The file in the agent's folder.
const FILE: &str = "key";

/// An Ed25519 key that signs tokens.
pub(super) struct SigningKey {
    signing: EncodingKey,
    public: PublicKey,
}

impl SigningKey {
    /// The key of the folder, which is made where there is none.
    pub(super) fn kept_or_made(folder: &Path) -> Result<Self, AgentError> {
        let path = folder.join(FILE);
        if let Some(text) = files::read(&path)? {
            let text = String::from_utf8(text).unwrap_or_default();
            return Self::from_base64(&text).ok_or_else(|| AgentError::Disk {
                path: path.display().to_string(),
                reason: "it is not the key of an agent: delete it, and enrol again with a new join code"
                    .to_owned(),
            });
        }
        let fresh = Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new()).map_err(|_| {
            AgentError::Settings("cannot make a key: the system gives no random bytes".to_owned())
        })?;
        let text = STANDARD.encode(fresh.as_ref());
        files::write(&path, text.as_bytes())?;
        Self::from_base64(&text)
            .ok_or_else(|| AgentError::Settings("the key that was just made cannot be used".to_owned()))
    }

    /// A key that was given.
    pub(super) fn from_secret(given: &SecretString) -> Result<Self, AgentError> {
        Self::from_base64(given.expose_secret()).ok_or_else(|| {
            AgentError::Settings(
                "the agent's `key` is not an Ed25519 key: give its PKCS#8 form in base64, or leave it out, and the reconciler makes one and keeps it in the state directory"
                    .to_owned(),
            )
        })
    }

    fn from_base64(text: &str) -> Option<Self> {
        let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let pkcs8 = STANDARD.decode(packed).ok()?;
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).ok()?;
        let public: [u8; 32] = pair.public_key().as_ref().try_into().ok()?;
        Some(Self { signing: EncodingKey::from_ed_der(&pkcs8), public: PublicKey::new(public) })
    }

    pub(super) const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// A token of an agent for one request to the bot that calls itself `audience`.
    pub(super) fn token(
        &self,
        agent: &AgentId,
        audience: &str,
        now: jiff::Timestamp,
    ) -> Result<SecretString, AgentError> {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(agent.to_string());
        let jti = ulid::Ulid::generate().to_string();
        let claims = Claims::new(agent, audience, jti, now);
        encode(&header, &claims, &self.signing)
            .map(SecretString::from)
            .map_err(|error| AgentError::Settings(format!("the agent's key cannot sign: {error}")))
    }
}
