//! The machines that a cluster of the tour has: as many as the replicas in its files say, those of the control plane first.

use std::collections::BTreeMap;

use capstan_yaml::{Node, YamlError, YamlFile, flow_text};
use jiff::Timestamp;
use serde_json::{Value, json};
use ulid::Ulid;

/// The kinds that own machines, in the order in which these are replaced. A KubeadmControlPlane makes its machines from its
/// whole `spec`, a MachineDeployment from its template.
const OWNERS: [(&str, Option<&str>); 2] =
    [("KubeadmControlPlane", None), ("MachineDeployment", Some("template"))];

#[derive(Debug, Clone, PartialEq, Eq)]
struct PlayedMachine {
    name: String,
    /// Kind and name of what owns it.
    owner: String,
    created: Timestamp,
    made_from: String,
    /// What its owner makes machines from now.
    wanted: String,
}

impl PlayedMachine {
    /// With a name as Cluster API makes one: its owner's, and a few characters by chance.
    fn new(owner: String, wanted: String, created: Timestamp) -> Self {
        let chance: String = Ulid::generate().to_string().to_lowercase().chars().rev().take(5).collect();
        let name = owner.split_once(' ').map_or(owner.as_str(), |(_, name)| name);
        Self { name: format!("{name}-{chance}"), owner, created, made_from: wanted.clone(), wanted }
    }

    fn is_new(&self) -> bool {
        self.made_from == self.wanted
    }
}

/// The machines of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machines(Vec<PlayedMachine>);

impl Machines {
    /// Those that the files of a cluster's base ask for, all of them new.
    pub(super) fn read(base: &BTreeMap<String, Vec<u8>>, created: Timestamp) -> Result<Self, YamlError> {
        let files: Vec<YamlFile> =
            base.values().map(|text| YamlFile::read_bytes(text)).collect::<Result<_, _>>()?;
        let objects = || files.iter().flat_map(YamlFile::documents).map(|document| &document.root);
        let mut all = Vec::new();
        for (kind, template) in OWNERS {
            for object in objects().filter(|object| object.text_at("kind") == Some(kind)) {
                let field = |of: &str, key: &str| object.get(of)?.get(key)?.as_scalar().map(|one| &one.text);
                let name = field("metadata", "name").map(String::as_str).unwrap_or_default();
                let replicas = field("spec", "replicas").and_then(|replicas| replicas.parse().ok());
                let wanted = object.get("spec").map(|spec| made_from(spec, template)).unwrap_or_default();
                let one = |_| PlayedMachine::new(format!("{kind} {name}"), wanted.clone(), created);
                all.extend((0..replicas.unwrap_or(1)).map(one));
            }
        }
        Ok(Self(all))
    }

    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn new_ones(&self) -> usize {
        self.0.iter().filter(|machine| machine.is_new()).count()
    }

    pub(super) fn are_new(&self) -> bool {
        self.0.iter().all(PlayedMachine::is_new)
    }

    /// The files ask for these now: of those that are there as many stay, and may be old.
    pub(super) fn follow(&mut self, wanted: Self) {
        let mut had = std::mem::take(&mut self.0);
        for wanted in wanted.0 {
            let stays = had.iter().position(|machine| machine.owner == wanted.owner);
            self.0.push(match stays {
                Some(at) => PlayedMachine { wanted: wanted.wanted, ..had.remove(at) },
                None => wanted,
            });
        }
    }

    /// A new machine for each of the first that are old.
    pub(super) fn replace(&mut self, count: usize, now: Timestamp) {
        for old in self.0.iter_mut().filter(|machine| !machine.is_new()).take(count) {
            *old = PlayedMachine::new(old.owner.clone(), old.wanted.clone(), now);
        }
    }

    /// As a reconciler reports them.
    pub(super) fn reported(&self) -> Vec<Value> {
        let one = |machine: &PlayedMachine| {
            let age = if machine.is_new() { "new" } else { "old" };
            json!({"name": machine.name, "owner": machine.owner, "state": "Running", "age": age,
                   "created_at": machine.created})
        };
        self.0.iter().map(one).collect()
    }
}

fn made_from(spec: &Node, template: Option<&str>) -> String {
    if let Some(template) = template {
        return spec.get(template).map(flow_text).unwrap_or_default();
    }
    let fields = spec.as_mapping().unwrap_or_default().iter();
    fields.filter(|field| field.key != "replicas").map(|field| flow_text(&field.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANE: &str = "KubeadmControlPlane web";
    const WORKERS: &str = "MachineDeployment web-md";

    fn of(replicas: u32, version: &str) -> Machines {
        let text = format!(
            "kind: MachineDeployment\nmetadata: {{name: web-md}}\nspec: {{replicas: {replicas}, template: {{spec: {{version: v1.31.9}}}}}}\n---\n\
             kind: KubeadmControlPlane\nmetadata: {{name: web}}\nspec: {{replicas: 3, version: {version}}}\n---\nkind: Cluster\n"
        );
        let base = BTreeMap::from([("shop/web/base/all.yaml".to_owned(), text.into_bytes())]);
        Machines::read(&base, Timestamp::UNIX_EPOCH).unwrap()
    }

    fn owners(of: &Machines) -> Vec<(&str, bool)> {
        of.0.iter().map(|machine| (machine.owner.as_str(), machine.is_new())).collect()
    }

    #[test]
    fn the_replicas_say_how_many_and_only_what_changes_is_replaced() {
        let mut all = of(2, "v1.31.9");
        assert_eq!((all.count(), all.new_ones(), all.are_new()), (5, 5, true));
        assert!(all.0[0].name.starts_with("web-") && all.0[4].name.starts_with("web-md-"));
        all.follow(of(2, "v1.32.7"));
        assert_eq!(
            owners(&all),
            [(PLANE, false), (PLANE, false), (PLANE, false), (WORKERS, true), (WORKERS, true)]
        );
        all.replace(1, Timestamp::MAX);
        assert_eq!(owners(&all)[..2], [(PLANE, true), (PLANE, false)]);
        assert_eq!((all.0[0].created, all.0[1].created), (Timestamp::MAX, Timestamp::UNIX_EPOCH));
        all.replace(9, Timestamp::MAX);
        assert!(all.are_new());
    }

    #[test]
    fn machines_stay_where_replicas_change() {
        let mut all = of(1, "v1.31.9");
        let before = all.clone();
        all.follow(of(2, "v1.31.9"));
        assert_eq!((all.count(), &all.0[..4], all.are_new()), (5, &before.0[..], true));
        all.follow(of(1, "v1.31.9"));
        assert_eq!(all, before);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error() {
        let base = BTreeMap::from([("shop/web/base/all.yaml".to_owned(), b"a: [\n".to_vec())]);
        assert!(Machines::read(&base, Timestamp::UNIX_EPOCH).is_err());
    }
}
