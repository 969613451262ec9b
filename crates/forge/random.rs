//! Random texts.

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};

/// Random text for tokens and secrets.
pub(crate) fn random_text(prefix: &str) -> String {
    let mut bytes = [0_u8; 24];
    // The system's randomness does not fail after start; an empty token would only make a test fail.
    SystemRandom::new().fill(&mut bytes).ok();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{hex}")
}

/// Part of every secret that a forge makes, so that a leaked one is recognised anywhere.
pub const CANARY: &str = "c4n4ry5ecret";

/// Random text that nobody else may see.
pub(crate) fn random_secret(prefix: &str) -> String {
    random_text(&format!("{prefix}{CANARY}"))
}

/// A random identifier in the form of a UUID, as deliveries carry it.
pub(crate) fn random_guid() -> String {
    let text = random_text("");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
