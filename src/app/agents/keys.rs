//! The bot's own key: archives are signed with it, and it gives the bot its name for tokens.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use capstan_live::agent::PublicKey;

use crate::app::ports::{AgentRecords, RecordsError};

/// The name under which the key is kept.
const NAME: &str = "agent-api";

/// The bot's Ed25519 key. It lives in the database, so that several processes of one bot share it.
pub struct BotKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
    audience: String,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The records.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// What is kept is no key.
    #[error(
        "the bot's signing key in the database (table signing_keys, `{NAME}`) is damaged: delete that row and \
         restart; every reconciler then has to enrol again"
    )]
    Damaged,
    /// The system gave no random bytes.
    #[error("no key could be made: the system gives no random bytes")]
    NoRandomness,
}

impl BotKey {
    pub(super) async fn open(records: &dyn AgentRecords) -> Result<Self, KeyError> {
        let fresh = Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new())
            .map_err(|_| KeyError::NoRandomness)?;
        let kept = records.signing_key(NAME, fresh.as_ref()).await?;
        let pair = Ed25519KeyPair::from_pkcs8(&kept).map_err(|_| KeyError::Damaged)?;
        let bytes: [u8; 32] = pair.public_key().as_ref().try_into().map_err(|_| KeyError::Damaged)?;
        let public = PublicKey::new(bytes);
        Ok(Self { audience: public.audience(), pair, public })
    }

    /// The public half.
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Whom tokens are meant for.
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
