//! The App's key pair, and the JSON web tokens that prove to be the App.
//!
//! The key is made when the forge starts and lives in memory only.

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;

use crate::clock::{Seconds, now};
use crate::error::ApiError;

/// GitHub refuses tokens that are valid for longer.
const LONGEST_VALIDITY_SECONDS: i64 = 600;
/// How far the two clocks may be apart.
const CLOCK_DRIFT_SECONDS: i64 = 60;

/// The App's RSA key.
#[derive(Clone)]
pub(crate) struct AppKey {
    pem: String,
    public: Vec<u8>,
}

/// Made once a process, however many forges it runs: it takes a fifth of a second.
static OF_THIS_PROCESS: LazyLock<Result<AppKey, aws_lc_rs::error::Unspecified>> =
    LazyLock::new(AppKey::generate);

impl AppKey {
    /// The key of the App that a forge starts with.
    pub(crate) fn of_this_process() -> Result<AppKey, aws_lc_rs::error::Unspecified> {
        OF_THIS_PROCESS.clone()
    }

    pub(crate) fn generate() -> Result<AppKey, aws_lc_rs::error::Unspecified> {
        let pair = KeyPair::generate(KeySize::Rsa2048)?;
        let der: Pkcs8V1Der<'_> = pair.as_der()?;
        let body = STANDARD.encode(der.as_ref());
        let lines: Vec<&str> =
            body.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"));
        Ok(AppKey { pem, public: pair.public_key().as_ref().to_vec() })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Verifies an App's JSON web token: algorithm, signature, issuer and times.
    pub(crate) fn verify(&self, token: &str, app_id: u64) -> Result<(), ApiError> {
        let undecodable = || ApiError::new(401, "A JSON web token could not be decoded");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(undecodable)?;
        let (header, claims) = signed.split_once('.').ok_or_else(undecodable)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let json = |part: &str| decode(part).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let header = json(header).ok_or_else(undecodable)?;
        let claims = json(claims).ok_or_else(undecodable)?;
        let signature = decode(signature).ok_or_else(undecodable)?;
        if header["alg"] != "RS256" {
            return Err(undecodable());
        }
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public)
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| undecodable())?;
        let issuer = match &claims["iss"] {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        if issuer != Some(app_id) {
            return Err(ApiError::new(404, "Integration not found"));
        }
        verify_times(claims["iat"].as_i64(), claims["exp"].as_i64(), now())
    }
}

fn verify_times(issued: Option<Seconds>, expires: Option<Seconds>, now: Seconds) -> Result<(), ApiError> {
    let refused = |message: &str| Err(ApiError::new(401, message));
    let Some(issued) = issued else {
        return refused("Missing 'issued at' claim ('iat') in assertion");
    };
    let Some(expires) = expires else {
        return refused("Missing 'expiration time' claim ('exp') in assertion");
    };
    if issued > now + CLOCK_DRIFT_SECONDS {
        return refused(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        );
    }
    if expires <= now {
        return refused(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        );
    }
    if expires > now + LONGEST_VALIDITY_SECONDS + CLOCK_DRIFT_SECONDS {
        return refused("'Expiration time' claim ('exp') is too far in the future");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::verify_times;

    #[test]
    fn a_token_must_be_current_and_short_lived() {
        assert!(verify_times(Some(940), Some(1600), 1000).is_ok());
        assert!(verify_times(None, Some(1600), 1000).is_err());
        assert!(verify_times(Some(940), None, 1000).is_err());
        assert!(verify_times(Some(940), Some(1000), 1000).is_err());
        assert!(verify_times(Some(940), Some(1661), 1000).is_err());
        assert!(verify_times(Some(1061), Some(1600), 1000).is_err());
    }
}
