//! What comes next of the key of a cluster's owners.

use std::collections::BTreeSet;

use capstan_live::owners::{BindingWord, FURTHEST, OwnersForm};
use jiff::Timestamp;

use crate::next::{Basis, Next};
use crate::term::two_thirds;

/// What the owners of a cluster are to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedAccess {
    /// What they are given.
    pub form: OwnersForm,
    /// The fingerprints of the keys that it is encrypted to.
    pub recipients: BTreeSet<String>,
    /// Digest of all that the file depends on.
    pub input: String,
}

/// What was handed out, as it is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handed {
    /// The number of the group; 0 where there never was one.
    pub generation: u64,
    /// Who may have a file of this generation, by their fingerprints.
    pub recipients: BTreeSet<String>,
}

/// The file that was made last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastOwnersFile {
    /// The number of the group of its certificate.
    pub generation: u64,
    /// What it is.
    pub form: OwnersForm,
    /// What it depended on.
    pub input: String,
    /// From when it is valid.
    pub issued_at: Timestamp,
    /// When what is in it ends; `None` where it does not.
    pub expires_at: Option<Timestamp>,
}

/// Everything that is decided on.
#[derive(Debug, Clone)]
pub struct OwnersFacts {
    pub now: Timestamp,
    /// What is to be; `None` without owners.
    pub wanted: Option<WantedAccess>,
    /// What was handed out.
    pub handed: Handed,
    /// The file that is there.
    pub file: Option<LastOwnersFile>,
    /// What the binding inside of the cluster says.
    pub bound: BindingWord,
}

/// What is done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnersStep {
    /// Remember that this generation begins, and that nobody has a file of it yet.
    Count(u64),
    /// Let the binding name the group of this generation.
    Bind(u64),
    /// Take the binding away.
    Unbind,
    /// Make a certificate of this generation, and the file.
    Issue(u64),
    /// Make the file of what is there already: of Cluster API's key, or of how to log in.
    Make(OwnersForm, u64),
    /// Take the file away.
    RemoveFile,
}

/// Why nothing is done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnersRest {
    /// The file serves, until then at least.
    Serves(Option<Timestamp>),
    /// There are no owners, and nothing is left of any.
    Nobody,
}

impl Basis for OwnersFacts {
    type Step = OwnersStep;
    type Rest = OwnersRest;

    fn next(&self) -> Next<OwnersStep, OwnersRest> {
        let is_certificate = |wanted: &WantedAccess| wanted.form == OwnersForm::Certificate;
        let wants_binding = self.wanted.as_ref().is_some_and(is_certificate);
        let generation = generation(self, wants_binding);
        if generation != self.handed.generation {
            return Next::Step(OwnersStep::Count(generation));
        }
        match (wants_binding, self.bound) {
            (true, BindingWord::To(bound)) if bound == generation => {}
            (true, _) => return Next::Step(OwnersStep::Bind(generation)),
            (false, BindingWord::Nobody) => {}
            (false, _) => return Next::Step(OwnersStep::Unbind),
        }
        match (&self.wanted, &self.file) {
            (None, Some(_)) => Next::Step(OwnersStep::RemoveFile),
            (None, None) => Next::Rest(OwnersRest::Nobody),
            (Some(wanted), Some(file)) if serves(file, wanted, generation, self.now) => {
                Next::Rest(OwnersRest::Serves(renewal(file)))
            }
            (Some(wanted), _) => Next::Step(match wanted.form {
                OwnersForm::Certificate => OwnersStep::Issue(generation),
                form @ (OwnersForm::Admin | OwnersForm::Login) => OwnersStep::Make(form, generation),
            }),
        }
    }
}

/// When a certificate is renewed: once two thirds of its life are over. Of what Capstan does not make it is not its matter.
pub fn renewal(file: &LastOwnersFile) -> Option<Timestamp> {
    let ends = file.expires_at.filter(|_| file.form == OwnersForm::Certificate)?;
    Some(two_thirds(file.issued_at, ends))
}

fn serves(file: &LastOwnersFile, wanted: &WantedAccess, generation: u64, now: Timestamp) -> bool {
    let is_due = renewal(file).is_some_and(|renewal| now >= renewal);
    file.form == wanted.form && file.input == wanted.input && file.generation == generation && !is_due
}

/// The generation that is to be: the next one where somebody who may have a file of the present one is an owner no more,
/// or where the binding is further than anybody remembers.
fn generation(facts: &OwnersFacts, wants_binding: bool) -> u64 {
    let nobody = BTreeSet::new();
    let recipients = facts.wanted.as_ref().map_or(&nobody, |wanted| &wanted.recipients);
    let known = facts.handed.generation;
    let bound = match facts.bound {
        BindingWord::To(bound) if bound < FURTHEST => bound,
        BindingWord::To(_) | BindingWord::Nobody | BindingWord::Others => 0,
    };
    let is_left = facts.handed.recipients.iter().any(|handed| !recipients.contains(handed));
    if is_left || bound > known {
        known.max(bound).saturating_add(1)
    } else if known == 0 && wants_binding {
        1
    } else {
        known
    }
}
