//! Components that are not in the repository: which are needed, and the result of fetching them.
//!
//! *Expected flow*: [`supply`] gives a set the fetched components, and names those that nobody requested yet;
//! the caller may fetch them and try again. A set without `spec.version` needs nothing: which release is the
//! newest is not a fact of a repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::digest::sha256;
use capstan_model::tree::Tree;
use serde::{Deserialize, Serialize};

use super::kind::ProviderKind;
use super::origin::ComponentOrigin;
use super::published::Published;
use super::set::ProviderSet;
use super::source::is_at_hand;
use super::spec::Provider;

/// Components of one version that are not at hand. Two providers that want the same want equal ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MissingComponents {
    /// For a provider of this kind.
    pub kind: ProviderKind,
    pub name: String,
    /// `spec.version`.
    pub version: String,
    /// Where they are published.
    pub origin: ComponentOrigin,
    /// The SHA-256 of the components that the set records of this version, in hex digits, if it does.
    pub recorded: Option<String>,
}

/// The result of fetching components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Supply {
    /// These are published.
    Fetched(Arc<Published>),
    /// They are not known: why, in words without a full stop.
    Missing(String),
    /// They are not here, and yet it is known which they are.
    Held {
        /// Their SHA-256.
        known: String,
        /// Why they are not here, in words without a full stop.
        why: String,
    },
    /// What is published under the version now is not what was known of it.
    Moved {
        /// The SHA-256 that was known.
        known: String,
        /// The SHA-256 of what is published.
        found: String,
    },
}

/// What is known of wanted components.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(MissingComponents, Supply)>", into = "Vec<(MissingComponents, Supply)>")]
pub struct Supplies(BTreeMap<MissingComponents, Supply>);

impl MissingComponents {
    /// What a provider wants; `None` where it names no version, or has its components in ConfigMaps, or says wrong where
    /// they are. `recorded` is version and SHA-256 that its set records.
    pub fn of(provider: &Provider, recorded: Option<(&str, &str)>) -> Option<Self> {
        let version = provider.version()?.to_owned();
        let recorded = recorded.filter(|(of, _)| *of == version);
        let digest =
            |(_, sha256): (&str, &str)| sha256.strip_prefix("sha256:").unwrap_or(sha256).to_ascii_lowercase();
        Some(Self {
            kind: provider.kind,
            name: provider.name.clone(),
            origin: provider.origin().ok()??,
            recorded: recorded.map(digest),
            version,
        })
    }

    /// The value of the label `cluster.x-k8s.io/provider`.
    pub fn label(&self) -> String {
        self.kind.label(&self.name)
    }
}

impl Supply {
    /// Tells one answer from another, in hex digits.
    pub fn digest(&self) -> String {
        let parts = match self {
            Self::Fetched(published) => {
                ["fetched", published.version.as_str(), &published.sha256(), &published.metadata].join("\0")
            }
            Self::Missing(why) => ["missing", why].join("\0"),
            Self::Held { known, why } => ["held", known, why].join("\0"),
            Self::Moved { known, found } => ["moved", known, found].join("\0"),
        };
        sha256(&parts)
    }
}

impl Supplies {
    /// Adds a result; it replaces an earlier one for the same components.
    pub fn add(&mut self, wanted: MissingComponents, supply: Supply) {
        self.0.insert(wanted, supply);
    }

    /// Adds all of these.
    pub fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// What is known of these; `None` where nobody asked.
    pub fn of(&self, wanted: &MissingComponents) -> Option<&Supply> {
        self.0.get(wanted)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&MissingComponents, &Supply)> {
        self.0.iter()
    }

    /// Whether nobody asked for anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of them that are among these.
    #[must_use]
    pub fn only<'w>(&self, wanted: impl IntoIterator<Item = &'w MissingComponents>) -> Self {
        let known = |wanted: &MissingComponents| Some((wanted.clone(), self.0.get(wanted)?.clone()));
        Self(wanted.into_iter().filter_map(known).collect())
    }
}

impl From<Vec<(MissingComponents, Supply)>> for Supplies {
    fn from(all: Vec<(MissingComponents, Supply)>) -> Self {
        Self(all.into_iter().collect())
    }
}

impl From<Supplies> for Vec<(MissingComponents, Supply)> {
    fn from(supplies: Supplies) -> Self {
        supplies.0.into_iter().collect()
    }
}

/// What a set was given, and what it lacks.
#[derive(Debug, Default)]
pub struct Supplied {
    /// What nobody asked for yet.
    pub unasked: Vec<MissingComponents>,
    /// What is something else now than it was, with both digests: known and found.
    pub moved: Vec<(MissingComponents, [String; 2])>,
    /// The SHA-256 of what is not at hand, where it is known.
    pub held: Vec<(MissingComponents, String)>,
}

/// Gives a set what is known of the components that it has not at hand. `recorded` is what its `capstan.yaml` records of
/// them: version and SHA-256 by label.
pub fn supply(
    tree: &dyn Tree,
    set: &mut ProviderSet,
    supplies: &Supplies,
    recorded: &BTreeMap<String, (String, String)>,
) -> Supplied {
    let mut supplied = Supplied::default();
    let lacks = |provider: &&Provider| matches!(is_at_hand(tree, set, provider), Ok(false));
    let record = |provider: &Provider| {
        recorded.get(&provider.label()).map(|(version, sha256)| (version.as_str(), sha256.as_str()))
    };
    let of = |provider: &Provider| MissingComponents::of(provider, record(provider));
    let all: Vec<MissingComponents> = set.providers().iter().filter(lacks).filter_map(of).collect();
    for wanted in all {
        let label = wanted.label();
        match supplies.of(&wanted) {
            None => supplied.unasked.push(wanted),
            Some(Supply::Fetched(published)) => set.provide(label, Published::clone(published)),
            Some(Supply::Missing(why)) => set.explain(label, why.clone()),
            Some(Supply::Held { known, why }) => {
                set.explain(label, why.clone());
                supplied.held.push((wanted, known.clone()));
            }
            Some(Supply::Moved { known, found }) => {
                set.explain(
                    label,
                    format!("what {} has under {} differs from the record", wanted.origin, wanted.version),
                );
                let digests = [known.clone(), found.clone()];
                supplied.held.push((wanted.clone(), known.clone()));
                supplied.moved.push((wanted, digests));
            }
        }
    }
    supplied
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::RepoPath;
    use capstan_test_support::Files;

    use super::*;

    const OBJECTS: &str = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {name: own, namespace: own-system}
spec: {version: v1.2.0, fetchConfig: {oci: registry.example.com/own}}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: AddonProvider
metadata: {name: helm, namespace: helm-system}
spec: {}
";

    fn read(files: &Files) -> ProviderSet {
        ProviderSet::read(files, &RepoPath::parse("set").unwrap()).unwrap()
    }

    fn published(components: &str) -> Published {
        Published::read("v1.2.0", b"m: 1\n".to_vec(), components.into(), "x").unwrap()
    }

    #[test]
    fn what_a_set_lacks_is_named_once_a_version_says_what_that_is() {
        let files = Files::new(&[("set/a.yaml", OBJECTS)]);
        let mut set = read(&files);
        let recorded = [("infrastructure-own".to_owned(), ("v1.2.0".to_owned(), "sha256:AB".to_owned()))];
        let found = supply(&files, &mut set, &Supplies::default(), &recorded.into_iter().collect());
        let [wanted] = found.unasked.as_slice() else { panic!("{found:?}") };
        assert_eq!(wanted.label(), "infrastructure-own");
        assert_eq!(wanted.origin.to_string(), "registry.example.com/own:v1.2.0");
        assert_eq!(wanted.recorded.as_deref(), Some("ab"));
        let other = [("infrastructure-own".to_owned(), ("v1.1.0".to_owned(), "ab".to_owned()))];
        let found = supply(&files, &mut set, &Supplies::default(), &other.into_iter().collect());
        assert_eq!(found.unasked[0].recorded, None, "that is recorded of another version");
    }

    #[test]
    fn what_is_at_hand_is_not_wanted() {
        let files = Files::new(&[
            ("set/a.yaml", OBJECTS),
            (".capstan/providers/infrastructure-own/v1.2.0/metadata.yaml", "m: 1\n"),
            (".capstan/providers/infrastructure-own/v1.2.0/infrastructure-components.yaml", "a: 1\n"),
        ]);
        let found = supply(&files, &mut read(&files), &Supplies::default(), &BTreeMap::new());
        assert!(found.unasked.is_empty(), "{found:?}");
    }

    #[test]
    fn a_set_gets_the_fetched_files_and_the_reason_for_missing_ones() {
        let files = Files::new(&[("set/a.yaml", OBJECTS)]);
        let nothing = BTreeMap::new();
        let wanted = supply(&files, &mut read(&files), &Supplies::default(), &nothing).unasked.remove(0);
        let given = |supply_of: Supply| {
            let mut supplies = Supplies::default();
            supplies.add(wanted.clone(), supply_of);
            let mut set = read(&files);
            let found = supply(&files, &mut set, &supplies, &nothing);
            (set, found)
        };
        let (set, found) = given(Supply::Fetched(Arc::new(published("a: 1\n"))));
        assert!(found.unasked.is_empty() && found.moved.is_empty());
        assert!(is_at_hand(&files, &set, &set.providers()[0]).unwrap());

        let (set, _) = given(Supply::Missing("the host sleeps".to_owned()));
        let refused = super::super::source::find(&files, &set, &set.providers()[0]).unwrap_err();
        assert_eq!(refused.message(), "its components are unknown: the host sleeps");

        let (_, found) = given(Supply::Moved { known: "aa".to_owned(), found: "bb".to_owned() });
        assert_eq!(found.moved, [(wanted.clone(), ["aa".to_owned(), "bb".to_owned()])]);
        assert_eq!(found.held, [(wanted.clone(), "aa".to_owned())]);

        let (set, found) = given(Supply::Held { known: "aa".to_owned(), why: "the host sleeps".to_owned() });
        let refused = super::super::source::find(&files, &set, &set.providers()[0]).unwrap_err();
        assert_eq!(refused.message(), "its components are unknown: the host sleeps");
        assert_eq!((found.moved, found.held), (vec![], vec![(wanted.clone(), "aa".to_owned())]));
    }

    #[test]
    fn supplies_are_written_and_read() {
        let files = Files::new(&[("set/a.yaml", OBJECTS)]);
        let wanted =
            supply(&files, &mut read(&files), &Supplies::default(), &BTreeMap::new()).unasked.remove(0);
        let mut supplies = Supplies::default();
        supplies.add(wanted, Supply::Fetched(Arc::new(published("a: 1\n"))));
        let text = serde_json::to_string(&supplies).unwrap();
        assert_eq!(serde_json::from_str::<Supplies>(&text).unwrap(), supplies);
    }
}
