//! Encryption to the owners, as age does it. What goes in is in memory alone.

use std::io::Write as _;

use age::armor::{ArmoredWriter, Format};
use capstan_plan::settings::Recipient;
use secrecy::{ExposeSecret as _, SecretString};

use capstan_reconciler_core::owners::{OwnersError, TroubleKind};

/// Encrypts a text to all of them: each can open it with a key of their own.
///
/// # Errors
/// One of the keys cannot be used, or the system gives no random bytes.
pub(super) fn seal(plain: &SecretString, recipients: &[Recipient]) -> Result<Vec<u8>, OwnersError> {
    let failed = |why: &dyn std::fmt::Display| {
        OwnersError::new(
            TroubleKind::NotEncrypted,
            format!("the key cannot be encrypted to the owners: {why}"),
        )
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

/// Whether a key that looks like one cannot be used: its point is not on the curve, say.
pub(super) fn is_broken(recipient: &Recipient) -> bool {
    key(recipient).is_err()
}

fn key(recipient: &Recipient) -> Result<Box<dyn age::Recipient>, &'static str> {
    if let Ok(key) = recipient.key().parse::<age::x25519::Recipient>() {
        return Ok(Box::new(key));
    }
    match recipient.key().parse::<age::ssh::Recipient>() {
        Ok(key) => Ok(Box::new(key)),
        Err(_) => Err("age does not accept one of the keys"),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use capstan_live::agent::{
        GitOwners, Kubeconfig, KubeconfigForm, KubeconfigPlace, KubeconfigRecipient, Words,
    };
    use capstan_model::digest::sha256;
    use capstan_plan::settings::{Owner, OwnerName, OwnersAccess, PublicKey};

    use super::*;

    /// Made by age-keygen and ssh-keygen.
    const KEYS: [&str; 3] = [
        "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB/SIL13EX5ly7Fe3nnGtzIgWIx8Fe8qhaisPRJFHXhs",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCiICMMDHLUuEBELNIa2DFBUOlQe1XzGyP9zo6CvnMslrcYTNtlGc+L5tmrjKQ4ygXbBoebqjq3/vpO0VwpsxV0N6tv2qgDfFR0pHo+rxIdfTmNnW6X3QKYFhkUQ/cL7xpnlJjl3J4bTajp83T1XVhQu1UZphv2S4kGKREhswV2mDkQwg5Ie70wvV/XCSUk/66PBICmsIStC68NTGhLzqyA9aNIVK3op2cwW9NuWc/ozLQa4fw8TOpuo3Lc8ND2aw9suagRPlKKUZkKKVoYNGmiARpV7uZYwYFzNbTGJ86JaGKnQpJX7VdkiL1ReOJgpazKjoLk6owG8H2yEbuiwi/v",
    ];

    #[test]
    fn what_is_sealed_to_the_owners_in_git_is_taken_by_the_bot() {
        let owner = |key: &&str| Owner {
            name: OwnerName::parse("ada").unwrap(),
            key: PublicKey::parse(key).unwrap(),
        };
        let owners: Vec<Owner> = KEYS.iter().map(owner).collect();
        let recipients: Vec<Recipient> =
            owners.iter().map(|owner| Recipient::parse(&owner.key).unwrap()).collect();
        let git = GitOwners::new(&owners, &OwnersAccess::default());
        // The content of a stanza that is for nobody is random.
        for length in (0..64).map(|turn| 1 + turn * 2_100) {
            let file = seal(&"k".repeat(length).into(), &recipients).unwrap();
            let recipient = |one: &Recipient| KubeconfigRecipient {
                name: Words::new("ada"),
                fingerprint: Words::new(one.fingerprint()),
            };
            let said = Kubeconfig {
                form: KubeconfigForm::Age,
                sha256: sha256(&file),
                recipients: recipients.iter().map(recipient).collect(),
                expires_at: None,
                place: KubeconfigPlace::Bot,
            };
            let taken = git.judge(&said, &STANDARD.encode(&file)).map(|taken| taken.bytes);
            assert_eq!(taken, Ok(file), "{length}");
        }
    }
}
