//! A jump host's key is made. It is kept in its Secret and nowhere else.

use aws_lc_rs::encoding::AsBigEndian as _;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use capstan_hosts::cluster::SipCluster;
use capstan_hosts::services::host_key::KeyPairHalves;
use capstan_hosts::services::jump_host::host_keys;
use serde_json::Value;

/// The Secret of this name with a fresh key; `None` where the system gives no random bytes.
pub(super) fn make(cluster: &SipCluster, name: &str) -> Option<Value> {
    let pair = Ed25519KeyPair::generate().ok()?;
    let seed = pair.seed().ok()?.as_be_bytes().ok()?;
    let (seed, public) = (seed.as_ref().try_into().ok()?, pair.public_key().as_ref().try_into().ok()?);
    let pair = KeyPairHalves { seed, public };
    Some(host_keys(cluster, name, &pair.private_file(), &pair.public_key()?))
}
