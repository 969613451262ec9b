//! Components and apps that an upgrade brings, moves or takes away.

use crate::merge::Source;
use crate::release::changelogs;
use capstan_yaml::Node;

/// A component or app of a Giant Swarm release that differs between the old release and the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentChange {
    /// Which list it stands in.
    pub part: Part,
    /// Its name: `cilium`.
    pub name: String,
    /// Its version before; `None` where it comes.
    pub old: Option<String>,
    /// Its version after; `None` where it goes.
    pub new: Option<String>,
    /// Links to changelogs of its way, as the releases' own notes give them, oldest first.
    pub changelogs: Vec<String>,
}

/// Which list of a release something stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// `spec.components`
    Component,
    /// `spec.apps`
    App,
}

impl Part {
    const ALL: [(Self, &'static str); 2] = [(Self::Component, "components"), (Self::App, "apps")];
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Component => "Component",
            Self::App => "App",
        })
    }
}

impl std::fmt::Display for ComponentChange {
    /// `Component flatcar: 4593.2.2 -> 4593.2.4.`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { part, name, .. } = self;
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "{part} {name}: {old} -> {new}."),
            (None, Some(new)) => write!(f, "{part} {name} {new} comes."),
            (Some(old), None) => write!(f, "{part} {name} {old} goes."),
            (None, None) => write!(f, "{part} {name}."),
        }
    }
}

/// What differs, components first, in the order of the new release; what goes comes last of its list.
/// Nothing where the old release is unknown: then nobody can tell.
pub(super) fn differences(old: &Source, new: &Source) -> Vec<ComponentChange> {
    let mut changes = Vec::new();
    for (part, list) in Part::ALL {
        let (before, after) = (versions(old, list), versions(new, list));
        let of = |name: &str, old: Option<&String>, new: Option<&String>| ComponentChange {
            part,
            name: name.to_owned(),
            old: old.cloned(),
            new: new.cloned(),
            changelogs: Vec::new(),
        };
        let version = |of: &[(String, String)], name: &str| {
            of.iter().find(|(other, _)| other == name).map(|(_, version)| version.clone())
        };
        for (name, new) in &after {
            let old = version(&before, name);
            if old.as_ref() != Some(new) {
                changes.push(of(name, old.as_ref(), Some(new)));
            }
        }
        let gone = before.iter().filter(|(name, _)| version(&after, name).is_none());
        changes.extend(gone.map(|(name, old)| of(name, Some(old), None)));
    }
    changes
}

/// Adds the links that the notes of one release on the way give; call it for the oldest first.
pub fn link_changelogs(changes: &mut [ComponentChange], notes: &str) {
    for (name, link) in changelogs(notes) {
        let named = changes.iter_mut().filter(|change| change.name.eq_ignore_ascii_case(&name));
        for change in named.filter(|change| change.new.is_some()) {
            if !change.changelogs.contains(&link) {
                change.changelogs.push(link.clone());
            }
        }
    }
}

impl Source {
    /// The version of a component of a Giant Swarm release.
    pub(super) fn component(&self, name: &str) -> Option<String> {
        versions(self, "components").into_iter().find(|(other, _)| other == name).map(|(_, version)| version)
    }
}

fn versions(source: &Source, list: &str) -> Vec<(String, String)> {
    let Some(file) = &source.release_yaml else { return Vec::new() };
    let roots = file.documents().iter().map(|document| &document.root);
    let items = roots.filter_map(|root| root.get("spec")?.get(list)?.as_sequence()).flatten();
    let text =
        |item: &Node, key: &str| item.get(key).and_then(Node::as_scalar).map(|scalar| scalar.text.clone());
    items.filter_map(|item| Some((text(item, "name")?, text(item, "version")?))).collect()
}
