//! The forge's signature on commits that are made for somebody on the web, as GitHub signs them.
//!
//! It is not OpenPGP: an HMAC in OpenPGP's clothes, because all that anybody may rely on is GitHub's own answer
//! to "is it verified?".

use std::sync::LazyLock;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::random::random_text;
use crate::store::Commit;

static KEY: LazyLock<hmac::Key> =
    LazyLock::new(|| hmac::Key::new(hmac::HMAC_SHA256, random_text("forge").as_bytes()));

/// Signs a commit object's bytes.
pub(crate) fn sign(payload: &str) -> String {
    let tag = hmac::sign(&KEY, payload.as_bytes());
    format!("-----BEGIN PGP SIGNATURE-----\n\n{}\n-----END PGP SIGNATURE-----", STANDARD.encode(tag.as_ref()))
}

/// Whether a commit carries the forge's signature over exactly its content.
pub(crate) fn verifies(commit: &Commit) -> bool {
    commit.signature.as_deref().is_some_and(|signature| signature.trim_end() == sign(&commit.payload))
}
