//! Private keys that are made in memory (ECDSA over P-256), and what is read of certificates (RFC 5280).

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::BitString;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::pem::{LineEnding, encode_string};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::Time;

/// `ecdsa-with-SHA256` (RFC 5758).
const ECDSA_WITH_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");

/// A private key without a certificate.
pub(crate) struct FreshKey {
    /// PKCS #8, in DER.
    private: Zeroizing<Vec<u8>>,
    /// Its public half.
    pub(crate) public: SubjectPublicKeyInfoOwned,
}

/// There is none: the system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub(crate) struct NoRandomness;

impl FreshKey {
    /// Makes one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn make() -> Result<Self, NoRandomness> {
        let private = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
            .map_err(|_| NoRandomness)?;
        let private = Zeroizing::new(private.as_ref().to_vec());
        let pair = pair(&private)?;
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(|_| NoRandomness)?;
        let public = SubjectPublicKeyInfoOwned::from_der(public.as_ref()).map_err(|_| NoRandomness)?;
        Ok(Self { private, public })
    }

    /// Its signature of a message, and how it is made.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<(AlgorithmIdentifierOwned, BitString), NoRandomness> {
        let signature = pair(&self.private)?.sign(&SystemRandom::new(), message).map_err(|_| NoRandomness)?;
        let signature = BitString::from_bytes(signature.as_ref()).map_err(|_| NoRandomness)?;
        Ok((AlgorithmIdentifierOwned { oid: ECDSA_WITH_SHA256, parameters: None }, signature))
    }

    /// The private key in PEM form.
    ///
    /// # Errors
    /// None that is known: it was made here.
    pub(crate) fn pem(&self) -> Result<SecretString, NoRandomness> {
        let pem = encode_string("PRIVATE KEY", LineEnding::LF, &self.private);
        pem.map(SecretString::from).map_err(|_| NoRandomness)
    }
}

fn pair(private: &[u8]) -> Result<EcdsaKeyPair, NoRandomness> {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, private).map_err(|_| NoRandomness)
}

/// The first certificate of a text in PEM form, with the start and the end of its validity; `None` if there is no
/// readable one.
pub(crate) fn first_of(pem: &str) -> Option<(Certificate, Timestamp, Timestamp)> {
    let first = CertificateDer::pem_slice_iter(pem.as_bytes()).next()?.ok()?;
    let certificate = Certificate::from_der(&first).ok()?;
    let validity = certificate.tbs_certificate.validity;
    Some((certificate, instant(validity.not_before), instant(validity.not_after)))
}

/// What has no end (RFC 5280, 4.1.2.5) ends later than there are timestamps.
fn instant(time: Time) -> Timestamp {
    let second = i64::try_from(time.to_unix_duration().as_secs()).ok();
    second.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_certificate_is_ignored_and_one_without_an_end_expires_last() {
        for text in ["", "\n", "PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert_eq!(first_of(text), None, "{text}");
        }
        assert_eq!(instant(Time::INFINITY), Timestamp::MAX);
    }
}
