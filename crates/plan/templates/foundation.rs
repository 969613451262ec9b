//! What a cluster is built on, and cannot change: the infrastructure and control plane that a `Cluster`
//! names, and the kinds of the templates that a `ClusterClass` makes them from.
//!
//! Another infrastructure is another cluster: nothing moves what the old one has. In a ClusterClass, Cluster API's
//! webhook refuses another group or kind of these templates: the infrastructure's, the control plane's, that of its
//! machines, and the infrastructure's of a worker class that stays. Bootstrap templates and names may change
//! (<https://github.com/kubernetes-sigs/cluster-api/blob/main/internal/topology/check/compatibility.go>). The same
//! applies when a Cluster changes to another class.

use super::references::{Reference, references};
use capstan_model::kinds::{KindRole, role};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::Readable;

/// One thing that a cluster is built on.
#[derive(Debug, Clone)]
pub struct Foundation<'n> {
    /// What it is, in the words of the API: `infrastructureRef`, `controlPlane`, `machineDeployments of
    /// class default-worker`. The same before and after.
    pub part: String,
    /// What is named there.
    pub reference: Reference<'n>,
    /// Whether another object of the same kind would do.
    by_kind_alone: bool,
}

/// A foundation that becomes another one.
#[derive(Debug, Clone)]
pub struct ReplacedFoundation {
    /// What it is.
    pub part: String,
    /// The field: its `kind`, or its `name` where the kind stays.
    pub path: FieldPath,
    /// Kind and name before.
    pub from: String,
    /// Kind and name after.
    pub to: String,
}

/// What an object is built on; nothing unless it is a Cluster or a ClusterClass.
pub fn foundations<'n, T: Readable>(group: &str, kind: &str, root: &'n T) -> Vec<Foundation<'n>> {
    let found = references(group, kind, root).into_iter();
    match role(group, kind) {
        Some(KindRole::Cluster) => found.filter_map(of_cluster).collect(),
        Some(KindRole::Class) => found.filter_map(|reference| of_class(root, reference)).collect(),
        _ => Vec::new(),
    }
}

fn keys(reference: &Reference<'_>) -> Vec<String> {
    let key = |step: &Step| match step {
        Step::Key(key) => key.clone(),
        Step::Index(_) | Step::New => "*".to_owned(),
    };
    reference.path.steps().iter().map(key).collect()
}

fn of_cluster(reference: Reference<'_>) -> Option<Foundation<'_>> {
    let part = keys(&reference).get(1)?.clone();
    let counts = matches!(part.as_str(), "infrastructureRef" | "controlPlaneRef");
    counts.then_some(Foundation { part, reference, by_kind_alone: false })
}

fn of_class<'n, T: Readable>(root: &'n T, reference: Reference<'n>) -> Option<Foundation<'n>> {
    let keys = keys(&reference);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let part = match keys.as_slice() {
        ["spec", "infrastructure", ..] => "infrastructure".to_owned(),
        ["spec", "controlPlane", "machineInfrastructure", ..] => {
            "controlPlane.machineInfrastructure".to_owned()
        }
        ["spec", "controlPlane", "ref" | "templateRef", ..] => "controlPlane".to_owned(),
        ["spec", "workers", list, "*", rest @ ..] if rest.contains(&"infrastructure") => {
            let Some(Step::Index(at)) = reference.path.steps().get(3) else { return None };
            let workers = root.field("spec")?.field("workers")?.field(list)?;
            let class = workers.items().get(*at)?.field("class")?.text()?;
            format!("infrastructure of {list} of class {class}")
        }
        _ => return None,
    };
    Some(Foundation { part, reference, by_kind_alone: true })
}

/// The foundations that are replaced by another one. Those that come or go do not count.
pub fn replaced(before: &[Foundation<'_>], after: &[Foundation<'_>]) -> Vec<ReplacedFoundation> {
    let pairs = before.iter().filter_map(|old| {
        let new = after.iter().find(|new| new.part == old.part)?;
        Some((old, new))
    });
    let mut found = Vec::new();
    for (old, new) in pairs {
        let (was, is) = (&old.reference, &new.reference);
        let other_group = was.group.zip(is.group).is_some_and(|(was, is)| was != is);
        let other_kind = other_group || was.kind != is.kind;
        if !other_kind && (old.by_kind_alone || was.name == is.name) {
            continue;
        }
        let reference = was.path.parent().unwrap_or_default();
        let words = |of: &Reference<'_>| match of.group.filter(|_| other_group && was.kind == is.kind) {
            Some(group) => format!("{} {} of {group}", of.kind, of.name),
            None => format!("{} {}", of.kind, of.name),
        };
        found.push(ReplacedFoundation {
            part: old.part.clone(),
            path: reference.key(if other_kind { "kind" } else { "name" }),
            from: words(was),
            to: words(is),
        });
    }
    found
}
