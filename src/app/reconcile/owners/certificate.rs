//! A private key that is made in memory, the request for its certificate (PKCS #10), and what a signer made of it.

use std::str::FromStr as _;

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use capstan_live::owners::{USER, group};
use jiff::Timestamp;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use x509_cert::Certificate;
use x509_cert::attr::Attributes;
use x509_cert::der::asn1::BitString;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::pem::{LineEnding, encode_string};
use x509_cert::der::{Decode as _, Encode as _, EncodePem as _};
use x509_cert::name::Name;
use x509_cert::request::{CertReq, CertReqInfo, Version};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};

use super::trouble::Trouble;

/// `ecdsa-with-SHA256` (RFC 5758).
const ECDSA_WITH_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");

/// A private key without a certificate.
pub(super) struct NewKey {
    /// PKCS #8, in DER.
    private: Zeroizing<Vec<u8>>,
    public: SubjectPublicKeyInfoOwned,
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

fn not_made(why: impl std::fmt::Display) -> Trouble {
    Trouble::new("KeyNotMade", format!("no private key can be made: {why}"))
}

impl NewKey {
    /// Makes one, for the group of that generation.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn make(generation: u64) -> Result<Self, Trouble> {
        let random = SystemRandom::new();
        let no_randomness = |_| not_made("the system gives no random bytes");
        let private =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).map_err(no_randomness)?;
        let private = Zeroizing::new(private.as_ref().to_vec());
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &private).map_err(not_made)?;
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(no_randomness)?;
        let public = SubjectPublicKeyInfoOwned::from_der(public.as_ref()).map_err(not_made)?;
        let subject = Name::from_str(&format!("CN={USER},O={}", group(generation))).map_err(not_made)?;
        let info = CertReqInfo {
            version: Version::V1,
            subject,
            public_key: public.clone(),
            attributes: Attributes::default(),
        };
        let signature = pair.sign(&random, &info.to_der().map_err(not_made)?).map_err(no_randomness)?;
        let request = CertReq {
            info,
            algorithm: AlgorithmIdentifierOwned { oid: ECDSA_WITH_SHA256, parameters: None },
            signature: BitString::from_bytes(signature.as_ref()).map_err(not_made)?,
        };
        let request = request.to_pem(LineEnding::LF).map_err(not_made)?;
        Ok(Self { private, public, request })
    }

    /// The private key in PEM form.
    pub(super) fn pem(&self) -> Result<SecretString, Trouble> {
        encode_string("PRIVATE KEY", LineEnding::LF, &self.private).map(SecretString::from).map_err(not_made)
    }

    /// What a signer gave for the request.
    ///
    /// # Errors
    /// It is no certificate of this key.
    pub(super) fn signed(&self, pem: String) -> Result<Signed, Trouble> {
        let refused = |why: &str| {
            Trouble::new("CertificateRefused", format!("what the cluster's signer gave is not used: {why}"))
        };
        let (certificate, not_before, not_after) =
            read(&pem).ok_or_else(|| refused("it is no certificate"))?;
        if certificate.tbs_certificate.subject_public_key_info != self.public {
            return Err(refused("it is a certificate of another key"));
        }
        Ok(Signed { pem, not_before, not_after })
    }
}

/// From when and until when the first certificate of a text in PEM form is valid; `None` of what is none.
pub(super) fn validity(pem: &str) -> Option<(Timestamp, Timestamp)> {
    read(pem).map(|(_, not_before, not_after)| (not_before, not_after))
}

fn read(pem: &str) -> Option<(Certificate, Timestamp, Timestamp)> {
    let certificate = Certificate::load_pem_chain(pem.as_bytes()).ok()?.into_iter().next()?;
    let time = |time: x509_cert::time::Time| {
        Timestamp::from_second(i64::try_from(time.to_unix_duration().as_secs()).ok()?).ok()
    };
    let validity = certificate.tbs_certificate.validity;
    Some((certificate, time(validity.not_before)?, time(validity.not_after)?))
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
        assert_eq!(error.kind, "CertificateRefused");
    }
}
