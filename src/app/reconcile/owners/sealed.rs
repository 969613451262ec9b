//! Encryption to the owners, as age does it. What goes in is in memory alone.

use std::io::Write as _;

use age::armor::{ArmoredWriter, Format};
use capstan_plan::settings::Recipient;
use secrecy::{ExposeSecret as _, SecretString};

use super::trouble::Trouble;

/// Encrypts a text to all of them: each can open it with a key of their own.
///
/// # Errors
/// One of the keys cannot be used, or the system gives no random bytes.
pub(super) fn seal(plain: &SecretString, recipients: &[Recipient]) -> Result<Vec<u8>, Trouble> {
    let failed = |why: &dyn std::fmt::Display| {
        Trouble::new("NotEncrypted", format!("the key cannot be encrypted to the owners: {why}"))
    };
    let keys: Result<Vec<_>, _> = recipients.iter().map(key).collect();
    let keys = keys.map_err(|why| failed(&why))?;
    let keys = keys.iter().map(|key| key.as_ref() as &dyn age::Recipient);
    let encryptor = age::Encryptor::with_recipients(keys).map_err(|why| failed(&why))?;
    // In letters: so it can be a file in Git, too.
    let armored = ArmoredWriter::wrap_output(Vec::new(), Format::AsciiArmor).map_err(|why| failed(&why))?;
    let mut writer = encryptor.wrap_output(armored).map_err(|why| failed(&why))?;
    writer.write_all(plain.expose_secret().as_bytes()).map_err(|why| failed(&why))?;
    writer.finish().and_then(ArmoredWriter::finish).map_err(|why| failed(&why))
}

/// Whether a key that looks like one is none all the same: a point that is on no curve, say.
pub(super) fn is_broken(recipient: &Recipient) -> bool {
    key(recipient).is_err()
}

fn key(recipient: &Recipient) -> Result<Box<dyn age::Recipient>, &'static str> {
    if let Ok(key) = recipient.key().parse::<age::x25519::Recipient>() {
        return Ok(Box::new(key));
    }
    match recipient.key().parse::<age::ssh::Recipient>() {
        Ok(key) => Ok(Box::new(key)),
        Err(_) => Err("one of the keys is none that age takes"),
    }
}
