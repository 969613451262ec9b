//! Which objects a cluster belongs to (I10): its own `in`, completed by that of the objects it names, transitively.

use std::collections::BTreeMap;

use capstan_model::finding::{Finding, rules};
use capstan_model::spelling::hint;

use super::kinds::{InventoryFiles, Object};
use super::origin::{InventoryOrigin, LevelKind};

/// The objects that a cluster belongs to, by level.
#[derive(Debug, Clone, Default)]
pub struct LevelMembership {
    /// The name of the object of each level, and where it was said.
    pub levels: BTreeMap<LevelKind, (String, InventoryOrigin)>,
}

impl LevelMembership {
    /// The names by level.
    pub fn names(&self) -> BTreeMap<LevelKind, String> {
        self.levels.iter().map(|(level, (name, _))| (*level, name.clone())).collect()
    }

    /// Finds out what a cluster belongs to.
    ///
    /// # Errors
    /// Everything that is wrong: a name that is nowhere, two that disagree, a circle, a level that is not used, an
    /// object with an error in it.
    pub fn of(inventory: &InventoryFiles, cluster: &Object) -> Result<Self, Vec<Finding>> {
        let mut search = MembershipSearch { inventory, found: Self::default(), findings: Vec::new() };
        if let Some(place) = &cluster.broken {
            let message = format!("{} cannot be used before {place} is right", cluster.level);
            let at = cluster.level.place(cluster.offset);
            search.findings.push(Finding::new(rules::INVENTORY_REFERENCE, message).place(at));
        }
        search.follow(cluster, &mut Vec::new());
        if search.findings.is_empty() { Ok(search.found) } else { Err(search.findings) }
    }

    /// What is wrong with the `in` of an object that clusters may name, whether or not one does.
    pub fn judge(inventory: &InventoryFiles, object: &Object) -> Vec<Finding> {
        let mut search = MembershipSearch { inventory, found: Self::default(), findings: Vec::new() };
        search.follow(object, &mut Vec::new());
        search.findings
    }
}

struct MembershipSearch<'i> {
    inventory: &'i InventoryFiles,
    found: LevelMembership,
    findings: Vec<Finding>,
}

impl<'i> MembershipSearch<'i> {
    /// `way`: the objects from the cluster to this one, each with where it was named.
    fn follow(&mut self, object: &'i Object, way: &mut Vec<(&'i Object, InventoryOrigin)>) {
        for said in &object.membership {
            let (level, name) = &said.value;
            let origin = InventoryOrigin::new(object.level.clone(), said.offset);
            let mut wrong = |message: String| {
                self.findings.push(Finding::new(rules::INVENTORY_REFERENCE, message).place(origin.place()));
            };
            if !self.inventory.settings.levels.contains(level) {
                wrong(format!("{} is not in `levels` of the Inventory, so Capstan ignores it", level.kind()));
                continue;
            }
            let Some(next) = self.inventory.object(*level, name) else {
                let known = self.inventory.names(*level);
                let known = if known.is_empty() { vec!["none"] } else { known };
                wrong(format!("there is no {} `{name}`{}", level.kind(), hint(name, &known)));
                continue;
            };
            let known = |other: &&(&Object, InventoryOrigin)| std::ptr::eq(other.0, next);
            if std::ptr::eq(next, object) || way.iter().any(|other| known(&other)) {
                let mut links: Vec<String> = way
                    .iter()
                    .skip_while(|other| !known(other))
                    .skip(1)
                    .map(|(other, origin)| format!("{} ({})", other.level, origin.place()))
                    .collect();
                links.push(format!("{} ({})", next.level, origin.place()));
                wrong(format!("{} is in itself: {}", next.level, links.join(", then ")));
                continue;
            }
            if let Some((other, first)) = self.found.levels.get(level) {
                if other != name {
                    wrong(format!(
                        "this names {} `{name}`, but {} names `{other}`: a cluster is in one of each",
                        level.kind(),
                        first
                    ));
                    continue;
                }
            } else {
                self.found.levels.insert(*level, (name.clone(), origin.clone()));
                if let Some(place) = &next.broken {
                    wrong(format!("{} cannot be used before {place} is right", next.level));
                }
            }
            way.push((next, origin));
            self.follow(next, way);
            way.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inventory, lines};

    /// Levels of the cluster `c`, or what is wrong.
    fn resolved(objects: &str) -> Result<Vec<String>, Vec<String>> {
        let inventory = inventory(objects);
        assert_eq!(lines(&inventory.findings), [""; 0]);
        match LevelMembership::of(&inventory, inventory.cluster("c").unwrap()) {
            Ok(found) => Ok(found
                .names()
                .into_iter()
                .map(|(level, name)| format!("{} {name}", level.word()))
                .collect()),
            Err(findings) => Err(lines(&findings)),
        }
    }

    #[test]
    fn membership_is_followed_and_what_is_wrong_named_with_every_place() {
        let c = "ClusterDefinition c: {in: {site: fra1}}\n";
        for (objects, expected) in [
            (
                format!("{c}Site fra1: {{in: {{infraProvider: os, customer: a}}}}\nInfraProvider os: {{}}\nCustomer a: {{}}\n"),
                Ok(vec!["customer a", "site fra1", "infraProvider os"]),
            ),
            (
                format!("{c}Site fra2: {{}}\n"),
                Err(vec!["inventory-reference i/0.yaml:4:19 there is no Site `fra1`; did you mean `fra2`?"]),
            ),
            (c.to_owned(), Err(vec!["inventory-reference i/0.yaml:4:19 there is no Site `fra1`; known: none"])),
            (
                "ClusterDefinition c: {in: {site: fra1, infraProvider: os}}\nSite fra1: {in: {infraProvider: os2}}\nInfraProvider os: {}\nInfraProvider os2: {}\n".to_owned(),
                Err(vec!["inventory-reference i/0.yaml:4:40 this names InfraProvider `os`, but Site fra1, i/1.yaml:4:28 names `os2`: a cluster is in one of each"]),
            ),
            (
                "ClusterDefinition c: {in: {site: fra1}}\nSite fra1: {in: {infraProvider: os}}\nInfraProvider os: {in: {site: fra1}}\n".to_owned(),
                Err(vec!["inventory-reference i/2.yaml:4:19 Site fra1 is in itself: InfraProvider os (i/1.yaml:4:28), then Site fra1 (i/2.yaml:4:19)"]),
            ),
            (
                format!("{c}Site fra1: {{in: {{site: fra1}}}}\n"),
                Err(vec!["inventory-reference i/1.yaml:4:19 Site fra1 is in itself: Site fra1 (i/1.yaml:4:19)"]),
            ),
            (
                format!("Inventory i: {{levels: [Environment]}}\n{c}Site fra1: {{}}\n"),
                Err(vec!["inventory-reference i/1.yaml:4:19 Site is not in `levels` of the Inventory, so Capstan ignores it"]),
            ),
        ] {
            let expected = expected
                .map(|all| all.into_iter().map(str::to_owned).collect())
                .map_err(|all: Vec<&str>| all.into_iter().map(str::to_owned).collect());
            assert_eq!(resolved(&objects), expected, "{objects}");
        }
    }
}
