//! A private key that is made in memory, the request for its certificate (PKCS #10), and what a signer made of it.

use std::str::FromStr as _;

use capstan_live::owners::{USER, group};
use jiff::Timestamp;
use secrecy::SecretString;
use x509_cert::attr::Attributes;
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{Encode as _, EncodePem as _};
use x509_cert::name::Name;
use x509_cert::request::{CertReq, CertReqInfo, Version};

use crate::pki::{FreshKey, first_of};
use capstan_reconciler_core::owners::{OwnersError, TroubleKind};

/// A private key without a certificate.
pub(super) struct NewKey {
    key: FreshKey,
    /// The request for its certificate, in PEM form.
    pub(super) request: String,
}

/// A certificate that belongs to a key.
#[derive(Debug)]
pub(super) struct Signed {
    /// In PEM form, as the signer gave it.
    pub(super) pem: String,
    /// From when it is valid.
    pub(super) not_before: Timestamp,
    /// When it ends.
    pub(super) not_after: Timestamp,
}

fn not_made(why: impl std::fmt::Display) -> OwnersError {
    OwnersError::new(TroubleKind::KeyNotMade, format!("cannot make a private key: {why}"))
}

impl NewKey {
    /// Makes one, for the group of that generation.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn make(generation: u64) -> Result<Self, OwnersError> {
        let key = FreshKey::make().map_err(not_made)?;
        let subject = Name::from_str(&format!("CN={USER},O={}", group(generation))).map_err(not_made)?;
        let info = CertReqInfo {
            version: Version::V1,
            subject,
            public_key: key.public.clone(),
            attributes: Attributes::default(),
        };
        let (algorithm, signature) = key.sign(&info.to_der().map_err(not_made)?).map_err(not_made)?;
        let request = CertReq { info, algorithm, signature };
        let request = request.to_pem(LineEnding::LF).map_err(not_made)?;
        Ok(Self { key, request })
    }

    /// The private key in PEM form.
    pub(super) fn pem(&self) -> Result<SecretString, OwnersError> {
        self.key.pem().map_err(not_made)
    }

    /// What a signer gave for the request.
    ///
    /// # Errors
    /// It is not a certificate of this key.
    pub(super) fn signed(&self, pem: String) -> Result<Signed, OwnersError> {
        let refused = |why: &str| {
            OwnersError::new(
                TroubleKind::CertificateRefused,
                format!("Capstan does not use the certificate of the cluster's signer: {why}"),
            )
        };
        let (certificate, not_before, not_after) =
            first_of(&pem).ok_or_else(|| refused("it is not a certificate"))?;
        if certificate.tbs_certificate.subject_public_key_info != self.key.public {
            return Err(refused("it is a certificate for another key"));
        }
        Ok(Signed { pem, not_before, not_after })
    }
}

/// The start and the end of the validity of a PEM text's first certificate; `None` if there is no readable one.
pub(super) fn validity(pem: &str) -> Option<(Timestamp, Timestamp)> {
    first_of(pem).map(|(_, not_before, not_after)| (not_before, not_after))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn a_request_names_the_group_and_holds_no_private_key() {
        let key = NewKey::make(7).unwrap();
        assert!(key.request.starts_with("-----BEGIN CERTIFICATE REQUEST-----\n"), "{}", key.request);
        let private = key.pem().unwrap();
        let private = private.expose_secret();
        assert!(private.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        assert!(private.lines().skip(1).all(|line| line.starts_with('-') || !key.request.contains(line)));
        let other = NewKey::make(7).unwrap();
        assert_ne!(other.request, key.request, "each is another one");
        let error = key.signed("PEM".to_owned()).unwrap_err();
        assert_eq!(error.kind, TroubleKind::CertificateRefused);
    }
}
