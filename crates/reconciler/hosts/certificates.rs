//! Certificates that issuers serve: read, judged, and made of a CA.
//!
//! A certificate is for one name or address. In RFC 5280's terms it is a leaf for server authentication alone. It can
//! neither sign other certificates nor authenticate a client of an API server, whichever CA a SIPCluster names.

use core::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use capstan_hosts::services::dex::Host;
use capstan_hosts::services::issuer::{Authority, Serving};
use jiff::{SignedDuration, Timestamp};
use rustls::RootCertStore;
use rustls::SignatureScheme;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::aws_lc_rs as provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::SigningKey;
use secrecy::{ExposeSecret as _, SecretString};
use x509_cert::Certificate;
use x509_cert::certificate::{TbsCertificate, Version};
use x509_cert::der::asn1::{BitString, GeneralizedTime, Ia5String, OctetString, UtcTime};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::pem::{LineEnding, encode_string};
use x509_cert::der::{Any, Encode as _, EncodePem as _};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::ext::{AsExtension, Extension};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_cert::time::{Time, Validity};

use crate::pki::{FreshKey, first_of};

/// How long a certificate is valid, where the CA is.
const LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);
/// Clients whose clock is behind by less than this accept a new certificate.
const SKEW: SignedDuration = SignedDuration::from_mins(5);
/// The most bytes of certificates that a CA may have: a status holds them, and everybody reads it.
const LONGEST_CHAIN: usize = 32 * 1024;
/// `id-kp-serverAuth` (RFC 5280, 4.2.1.12).
const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");

/// How keys sign, and by which name certificates know it (RFC 8017, RFC 5758, RFC 8410).
const ALGORITHMS: [(SignatureScheme, &str); 5] = [
    (SignatureScheme::RSA_PKCS1_SHA256, "1.2.840.113549.1.1.11"),
    (SignatureScheme::ECDSA_NISTP256_SHA256, "1.2.840.10045.4.3.2"),
    (SignatureScheme::ECDSA_NISTP384_SHA384, "1.2.840.10045.4.3.3"),
    (SignatureScheme::ECDSA_NISTP521_SHA512, "1.2.840.10045.4.3.4"),
    (SignatureScheme::ED25519, "1.3.101.112"),
];

/// A CA that can sign.
pub(super) struct Signer {
    certificate: Certificate,
    key: Arc<dyn SigningKey>,
    /// The public part: the certificates of the CA, and when the first one ends.
    pub(super) authority: Authority,
}

/// The certificates of a text in PEM form, without the text before, between and after them: everybody may read the
/// result. `None` if there is no certificate, if there is another kind of PEM block, or if there are too many bytes.
pub(super) fn certificates_of(text: &str) -> Option<String> {
    let mut begins = text.lines().map(str::trim).filter(|line| line.starts_with("-----BEGIN "));
    if !begins.all(|line| line == "-----BEGIN CERTIFICATE-----") {
        return None;
    }
    let mut pem = String::new();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        pem += &encode_string("CERTIFICATE", LineEnding::LF, &certificate.ok()?).ok()?;
    }
    (!pem.is_empty() && pem.len() <= LONGEST_CHAIN).then_some(pem)
}

impl Signer {
    /// Reads what a Secret holds: certificates, of which the first signs, and its key; both in PEM.
    ///
    /// # Errors
    /// Why nothing can be signed with it, without a byte of either.
    pub(super) fn read(chain: &str, key: &SecretString, now: Timestamp) -> Result<Self, &'static str> {
        let pem = certificates_of(chain)
            .ok_or("its key tls.crt must hold certificates in PEM form, nothing else, and not too many")?;
        let (certificate, not_before, not_after) =
            first_of(&pem).ok_or("its key tls.crt holds no certificate that can be read")?;
        let of_ca = &certificate.tbs_certificate;
        if !of_ca.get::<BasicConstraints>().ok().flatten().is_some_and(|(_, held)| held.ca) {
            return Err("its certificate is not a CA certificate (basicConstraints)");
        }
        if of_ca.get::<KeyUsage>().ok().flatten().is_some_and(|(_, held)| !held.key_cert_sign()) {
            return Err("its certificate may not sign others (keyUsage)");
        }
        let key = signing_key(key.expose_secret())
            .ok_or("its key tls.key holds no private key of RSA, ECDSA or Ed25519 in PEM form")?;
        if !is_key_of(&*key, &certificate) {
            return Err("its private key does not belong to its certificate");
        }
        if now < not_before {
            return Err("its certificate is not valid yet");
        }
        if now >= not_after {
            return Err("its certificate has expired: replace it");
        }
        Ok(Self { certificate, key, authority: Authority { pem, not_after } })
    }

    /// A certificate for a name or address, in PEM form, and its key.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn certify(&self, host: &Host, now: Timestamp) -> Result<(String, SecretString), String> {
        let fresh = FreshKey::make().map_err(|error| error.to_string())?;
        let not_made = |error: x509_cert::der::Error| format!("cannot make a certificate: {error}");
        let unsigned = self.unsigned(host, &fresh, now).map_err(not_made)?;
        let message = unsigned.to_der().map_err(not_made)?;
        let (_, signer) = self.algorithm().ok_or_else(|| KEY_UNUSABLE.to_owned())?;
        let signature = signer.sign(&message).map_err(|_| KEY_UNUSABLE.to_owned())?;
        let certificate = Certificate {
            signature_algorithm: unsigned.signature.clone(),
            tbs_certificate: unsigned,
            signature: BitString::from_bytes(&signature).map_err(not_made)?,
        };
        let pem = certificate.to_pem(LineEnding::LF).map_err(not_made)?;
        let key = fresh.pem().map_err(|error| error.to_string())?;
        // What nobody would accept is served by nobody, and not made again and again.
        match serving(&self.authority, &pem, &key, now) {
            Some(_) => Ok((pem, key)),
            None => Err(format!("no client accepts what the CA signs for {host}: check its constraints")),
        }
    }

    fn algorithm(&self) -> Option<(AlgorithmIdentifierOwned, Box<dyn rustls::sign::Signer>)> {
        let signer = self.key.choose_scheme(&ALGORITHMS.map(|(scheme, _)| scheme))?;
        let (scheme, name) = ALGORITHMS.into_iter().find(|(scheme, _)| *scheme == signer.scheme())?;
        // The parameters of RSA signatures are NULL (RFC 8017, A.2.4).
        let parameters = (scheme == SignatureScheme::RSA_PKCS1_SHA256).then(Any::null);
        Some((AlgorithmIdentifierOwned { oid: ObjectIdentifier::new(name).ok()?, parameters }, signer))
    }

    fn unsigned(
        &self,
        host: &Host,
        fresh: &FreshKey,
        now: Timestamp,
    ) -> Result<TbsCertificate, x509_cert::der::Error> {
        let of_ca = &self.certificate.tbs_certificate;
        let name = match host {
            Host::Name(name) => GeneralName::DnsName(Ia5String::new(name)?),
            Host::Address(address) => GeneralName::from(*address),
        };
        let subject: Name = "CN=dex".parse()?;
        let by_key = of_ca.get::<SubjectKeyIdentifier>().ok().flatten().map(|(_, held)| held.0);
        let mut extensions: Vec<Extension> = Vec::new();
        let mut add = |extension: &dyn Extends| -> Result<(), x509_cert::der::Error> {
            extensions.push(extension.extend(&subject)?);
            Ok(())
        };
        add(&BasicConstraints { ca: false, path_len_constraint: None })?;
        add(&KeyUsage(KeyUsages::DigitalSignature.into()))?;
        add(&ExtendedKeyUsage(vec![SERVER_AUTH]))?;
        add(&SubjectAltName(vec![name]))?;
        if let Some(key_identifier) = by_key {
            add(&AuthorityKeyIdentifier { key_identifier: Some(key_identifier), ..Default::default() })?;
        }
        let mut serial = [0_u8; 16];
        SystemRandom::new().fill(&mut serial).map_err(|_| x509_cert::der::ErrorKind::Failed)?;
        // Positive, and of one length.
        serial[0] = serial[0] & 0x3f | 0x40;
        let not_after = (now + LIFETIME).min(self.authority.not_after);
        let (signature, _) = self.algorithm().ok_or(x509_cert::der::ErrorKind::Failed)?;
        Ok(TbsCertificate {
            version: Version::V3,
            serial_number: SerialNumber::new(&serial)?,
            signature,
            issuer: of_ca.subject.clone(),
            validity: Validity { not_before: time(now - SKEW)?, not_after: time(not_after)? },
            subject,
            subject_public_key_info: fresh.public.clone(),
            issuer_unique_id: None,
            subject_unique_id: None,
            extensions: Some(extensions),
        })
    }
}

const KEY_UNUSABLE: &str = "the CA's private key cannot sign";

/// An extension of a certificate, whichever.
trait Extends {
    fn extend(&self, subject: &Name) -> Result<Extension, x509_cert::der::Error>;
}

impl<E: AsExtension> Extends for E {
    fn extend(&self, subject: &Name) -> Result<Extension, x509_cert::der::Error> {
        self.to_extension(subject, &[])
    }
}

/// Reads a certificate and its key as a server would use them: signed by the CA, valid now, belonging together, and for
/// one name or address. `None` of anything else.
pub(super) fn serving(
    authority: &Authority,
    chain: &str,
    key: &SecretString,
    now: Timestamp,
) -> Option<Serving> {
    let (certificate, not_before, not_after) = first_of(chain)?;
    if !is_key_of(&*signing_key(key.expose_secret())?, &certificate) {
        return None;
    }
    let (_, SubjectAltName(names)) = certificate.tbs_certificate.get().ok()??;
    let [name] = names.as_slice() else { return None };
    let host = match name {
        GeneralName::DnsName(name) => Host::read(name.as_str())?,
        GeneralName::IpAddress(bytes) => Host::Address(address(bytes)?),
        _ => return None,
    };
    let host = host.to_string();
    let roots = CertificateDer::pem_slice_iter(authority.pem.as_bytes());
    let mut store = RootCertStore::empty();
    store.add(roots.into_iter().next()?.ok()?).ok()?;
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::new(provider::default_provider()))
            .build()
            .ok()?;
    let leaf = CertificateDer::from(certificate.to_der().ok()?);
    let at = UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().try_into().ok()?));
    verifier.verify_server_cert(&leaf, &[], &ServerName::try_from(host.as_str()).ok()?, &[], at).ok()?;
    Some(Serving { pem: chain.to_owned(), host, not_before, not_after })
}

fn signing_key(pem: &str) -> Option<Arc<dyn SigningKey>> {
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()?;
    provider::sign::any_supported_type(&key).ok()
}

fn is_key_of(key: &dyn SigningKey, certificate: &Certificate) -> bool {
    let public = certificate.tbs_certificate.subject_public_key_info.to_der();
    key.public_key().is_some_and(|held| public.is_ok_and(|public| held.as_ref() == public.as_slice()))
}

fn address(bytes: &OctetString) -> Option<IpAddr> {
    let bytes = bytes.as_bytes();
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// As RFC 5280, 4.1.2.5 wants it: in two digits up to 2049.
fn time(at: Timestamp) -> Result<Time, x509_cert::der::Error> {
    let since = Duration::from_secs(at.as_second().try_into().unwrap_or(0));
    UtcTime::from_unix_duration(since)
        .map(Time::UtcTime)
        .or_else(|_| GeneralizedTime::from_unix_duration(since).map(Time::GeneralTime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificates_are_published() {
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let two = format!("{certificate}{certificate}");
        for (text, told) in [
            (certificate.to_owned(), Some(certificate)),
            (two.clone(), Some(two.as_str())),
            (format!("password: hidden\n{certificate}hidden\n{certificate}hidden"), Some(two.as_str())),
            (String::new(), None),
            ("hidden".to_owned(), None),
            (key.to_owned(), None),
            (format!("{certificate}{key}"), None),
            (format!("  {key}{certificate}"), None),
            (certificate.repeat(1_000), None),
        ] {
            assert_eq!(certificates_of(&text).as_deref(), told, "{text}");
        }
    }
}
