//! Whether the bot takes a file for the owners of a cluster, and serves or proposes it.
//!
//! A reconciler's key can be stolen. So what the reconciler says of a file does not count: the file has one of the two forms
//! that Capstan makes, and Git wants that form for that cluster.
//!
//! | form | taken where Git says | the file |
//! |---|---|---|
//! | [`KubeconfigForm::Age`] | `owners` | one stanza for each recipient, every recipient is an owner ([`sealed`]) |
//! | [`KubeconfigForm::Plain`] | `access.oidc` | the very bytes that Capstan makes of `access.oidc` ([`login`]) |
//!
//! Fewer recipients than owners are accepted: if a folder is refused or suspended, the file is renewed only for those
//! who have one.
//!
//! *Caveats.* A stanza for an age key does not say whose key it is. Nobody without one of the keys can read what is
//! encrypted, so the bot cannot judge it. `docs/owners.md` says so.

mod login;
mod sealed;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_model::digest::sha256;
use capstan_plan::settings::{OidcLogin, Owner, OwnersAccess, PublishedAt, Recipient};

use self::sealed::Stanza;
use super::kubeconfig::{Kubeconfig, KubeconfigForm, KubeconfigRecipient};
use super::words::Words;

/// What Git says of the owners of a cluster. The default is what a cluster without a `capstan.yaml` says: there are none.
#[derive(Debug, Clone, Default)]
pub struct GitOwners {
    /// The owners whose keys can be encrypted to, with their names.
    owners: Vec<(Words, Recipient)>,
    login: Option<OidcLogin>,
    publish: PublishedAt,
}

/// A file that may be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedFile {
    /// What is known of it; the names of the recipients are Git's.
    pub said: Kubeconfig,
    /// The file.
    pub bytes: Vec<u8>,
}

impl GitOwners {
    /// What a cluster's `capstan.yaml` says. An owner whose key cannot be encrypted to is left out.
    pub fn new(owners: &[Owner], access: &OwnersAccess) -> Self {
        let usable =
            |owner: &Owner| Some((Words::new(owner.name.as_str()), Recipient::parse(&owner.key).ok()?));
        Self {
            owners: owners.iter().filter_map(usable).collect(),
            login: access.oidc.clone(),
            publish: access.publish,
        }
    }

    /// Whether the cluster's folder is to hold the file, too.
    pub fn want_it_in_git(&self) -> bool {
        self.publish == PublishedAt::Git
    }

    /// Judges a file: `content` is its bytes in base64.
    ///
    /// # Errors
    /// It is not taken; why, as part of a sentence that begins with the file.
    pub fn judge(&self, said: &Kubeconfig, content: &str) -> Result<PublishedFile, String> {
        let bytes = STANDARD.decode(content).map_err(|_| "is not base64")?;
        if sha256(&bytes) != said.sha256 {
            return Err("has another SHA-256 than its report says".to_owned());
        }
        let recipients = match said.form {
            KubeconfigForm::Age => self.judge_sealed(said, &bytes)?,
            KubeconfigForm::Plain if !said.recipients.is_empty() => {
                return Err("is not encrypted, but its report names recipients".to_owned());
            }
            KubeconfigForm::Plain => {
                let login = self.login.as_ref().ok_or("says how to log in, but Git has no `access.oidc`")?;
                login::judge(&bytes, login)?;
                Vec::new()
            }
        };
        Ok(PublishedFile { said: Kubeconfig { recipients, ..said.clone() }, bytes })
    }

    /// The recipients, by the names that Git has for them. An owner that Git names twice may be a recipient twice.
    fn judge_sealed(&self, said: &Kubeconfig, bytes: &[u8]) -> Result<Vec<KubeconfigRecipient>, String> {
        if self.owners.is_empty() {
            return Err("is encrypted, but Git names no owner with a key".to_owned());
        }
        if said.recipients.is_empty() {
            return Err("is encrypted, but its report names no recipient".to_owned());
        }
        let mut stanzas = sealed::stanzas(bytes)?;
        let mut left: Vec<&(Words, Recipient)> = self.owners.iter().collect();
        let mut recipients = Vec::new();
        let mut awaited = Vec::new();
        for one in &said.recipients {
            let shown = one.fingerprint.as_str();
            let at = left.iter().position(|(_, owner)| owner.fingerprint() == shown);
            let at = at.ok_or_else(|| {
                format!("is for `{}`, which is not the key of an owner in Git", shown.escape_debug())
            })?;
            let (name, owner) = left.remove(at);
            awaited.push(Stanza::of(owner).ok_or("is for an unreadable key")?);
            recipients.push(KubeconfigRecipient { name: name.clone(), fingerprint: one.fingerprint.clone() });
        }
        stanzas.sort_unstable();
        awaited.sort_unstable();
        if stanzas != awaited {
            return Err("does not have one stanza of age for each of its recipients and no other".to_owned());
        }
        Ok(recipients)
    }
}

#[cfg(test)]
mod tests;
