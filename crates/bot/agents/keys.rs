//! The bot's own key: it signs archives, and its name is the audience of tokens. It is stored in the
//! database, sealed.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use capstan_live::agent::PublicKey;

use super::sealing::{SealingKey, StoredKey};
use capstan_ports::{AgentRecords, RecordsError};

/// The name of the key in the database.
const NAME: &str = "agent-api";

/// The bot's Ed25519 key. It is stored in the database, so that several processes of one bot share it.
pub struct BotKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
    audience: String,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The stored bytes are not a key.
    #[error(
        "the bot's signing key in the database (table signing_keys, `{NAME}`) is damaged: delete that row and \
         restart; every reconciler then has to enrol again"
    )]
    Damaged,
    /// The stored key was sealed with another key.
    #[error(
        "the bot's signing key in the database (table signing_keys, `{NAME}`) was sealed with another key than the one in --key-file: use the earlier key file, or delete that row and restart; every reconciler then has to enrol again"
    )]
    Foreign,
    /// The system gave no random bytes.
    #[error("cannot make a key: the system gives no random bytes")]
    NoRandomness,
}

impl BotKey {
    pub(super) async fn open(records: &dyn AgentRecords, sealing: &SealingKey) -> Result<Self, KeyError> {
        let seal = |plain: &[u8]| sealing.seal(NAME, plain).map_err(|_| KeyError::NoRandomness);
        let fresh = Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new())
            .map_err(|_| KeyError::NoRandomness)?;
        let stored = records.signing_key(NAME, &seal(fresh.as_ref())?).await?;
        let kept = match sealing.open(NAME, &stored) {
            StoredKey::Sealed(kept) => kept,
            StoredKey::Plain(kept) => {
                records.replace_signing_key(NAME, &stored, &seal(&kept)?).await?;
                tracing::info!("the bot's signing key in the database is sealed from now on");
                kept
            }
            StoredKey::Foreign => return Err(KeyError::Foreign),
        };
        let pair = Ed25519KeyPair::from_pkcs8(&kept).map_err(|_| KeyError::Damaged)?;
        let bytes: [u8; 32] = pair.public_key().as_ref().try_into().map_err(|_| KeyError::Damaged)?;
        let public = PublicKey::new(bytes);
        Ok(Self { audience: public.audience(), pair, public })
    }

    /// The public half.
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The audience of tokens.
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// Signs; base64url.
    pub(super) fn sign(&self, statement: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.sign(statement).as_ref())
    }
}

impl std::fmt::Debug for BotKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BotKey").field("public", &self.public).finish_non_exhaustive()
    }
}
