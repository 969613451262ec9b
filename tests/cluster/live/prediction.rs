//! Truth of prediction: which machines a proposal said would be replaced, beside those that were.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use capstan_test_parts::plane::world::Machine;

/// Machines replaced, by who owns them: `KubeadmControlPlane gauss-web/web-cp`, or `Cluster gauss-web/web` for a
/// topology, whose machines belong to what its controller makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prediction(BTreeMap<String, u32>);

impl Prediction {
    /// Reads the table of a pull request's body or of a check: `| object | machines | because | certainty |`.
    pub(crate) fn read(text: &str) -> Self {
        let rows = text.lines().filter_map(|line| {
            let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
            let [object, machines, _, _] = cells.as_slice() else { return None };
            let object = object.trim().strip_prefix('`')?.strip_suffix('`')?;
            // `replaces 2`, or `replaces 2, adds 1`; an owner that goes `removes 2`; what only adds replaces none.
            let words = machines.trim();
            let counted = words.strip_prefix("replaces ").or_else(|| words.strip_prefix("removes "));
            let machines = match counted {
                Some(number) => number.split(',').next()?.parse().ok()?,
                None if words.starts_with("adds ") => 0,
                None => return None,
            };
            object.contains('/').then(|| (object.to_owned(), machines))
        });
        Self(rows.collect())
    }

    /// From owners and numbers.
    pub(crate) fn of(owners: impl Iterator<Item = (String, Option<u32>)>) -> Self {
        Self(owners.filter_map(|(owner, machines)| Some((owner, machines?))).collect())
    }

    /// How many machines in all.
    pub(crate) fn machines(&self) -> u32 {
        self.0.values().sum()
    }
}

/// One row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    what: String,
    owner: String,
    predicted: BTreeSet<String>,
    replaced: BTreeSet<String>,
}

impl Truth {
    /// Whether exactly the predicted machines were replaced.
    pub(crate) fn holds(&self) -> bool {
        self.predicted == self.replaced
    }

    /// How many machines were replaced.
    pub(crate) fn replaced(&self) -> usize {
        self.replaced.len()
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |machines: &BTreeSet<String>| {
            if machines.is_empty() {
                return "none".to_owned();
            }
            machines.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        write!(f, "{:<40} {:<64} ", self.what, self.owner)?;
        if self.holds() {
            write!(f, "true   replaced as predicted: {}", names(&self.replaced))
        } else {
            write!(f, "FALSE  predicted: {}; replaced: {}", names(&self.predicted), names(&self.replaced))
        }
    }
}

/// Holds a prediction against what became of the machines: those that were there when it was merged, and those that
/// are there now that the rollout is done. Of an owner of which all machines are predicted, these are the set; of
/// one that is not named, none.
pub(crate) fn compare(
    what: &str,
    prediction: &Prediction,
    before: &[Machine],
    after: &[Machine],
) -> Vec<Truth> {
    let remaining: BTreeSet<&str> = after.iter().map(|machine| machine.uid.as_str()).collect();
    let topology = prediction.0.keys().find(|owner| owner.starts_with("Cluster "));
    let mut owners: BTreeMap<&str, Vec<&Machine>> = BTreeMap::new();
    for machine in before {
        let owner = topology.map_or(machine.owner.as_str(), String::as_str);
        owners.entry(owner).or_default().push(machine);
    }
    let named = |machines: &[&Machine]| machines.iter().map(|machine| machine.name.clone()).collect();
    let mut rows: Vec<Truth> = Vec::new();
    for (owner, machines) in &owners {
        let gone: Vec<&Machine> =
            machines.iter().copied().filter(|machine| !remaining.contains(machine.uid.as_str())).collect();
        let predicted = match prediction.0.get(*owner) {
            None | Some(0) => BTreeSet::new(),
            Some(count) if *count as usize == machines.len() => named(machines),
            // Fewer or more than there are: named so that the row cannot come true by chance.
            Some(count) => (0..*count).map(|number| format!("{owner}#{number}")).collect(),
        };
        rows.push(Truth {
            what: what.to_owned(),
            owner: (*owner).to_owned(),
            predicted,
            replaced: named(&gone),
        });
    }
    for (owner, count) in prediction.0.iter().filter(|(owner, _)| !owners.contains_key(owner.as_str())) {
        let predicted = (0..*count).map(|number| format!("{owner}#{number}")).collect();
        rows.push(Truth {
            what: what.to_owned(),
            owner: owner.clone(),
            predicted,
            replaced: BTreeSet::new(),
        });
    }
    rows
}

#[test]
fn a_prediction_is_read_from_the_table_of_a_proposal() {
    let body = "| | |\n|---|---|\n| Changes | 3 changes, by 4 edits in 2 files |\n| Will be replaced | 3 machines |\n\n\
        Judged from Git alone.\n\n| Object | Machines | Because of | How |\n|---|---|---|---|\n\
        | `KubeadmControlPlane gauss-web/web-cp` | replaces 1 | `/spec/version` | At most 1 more |\n\
        | `MachineDeployment gauss-web/web-md` | replaces 2, adds 1 | `/spec/template/spec/version` |  |\n";
    let expected = [
        ("KubeadmControlPlane gauss-web/web-cp".to_owned(), 1),
        ("MachineDeployment gauss-web/web-md".to_owned(), 2),
    ];
    assert_eq!(Prediction::read(body), Prediction(expected.into()));
}

#[test]
fn a_machine_that_stays_though_predicted_makes_the_prediction_false() {
    let machine = |name: &str, owner: &str| Machine {
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        owner: owner.to_owned(),
        version: "v1.34.3".to_owned(),
        phase: "Running".to_owned(),
        has_node: true,
    };
    let (control_plane, workers) = ("KubeadmControlPlane a/b-cp", "MachineDeployment a/b-md");
    let before = [machine("cp-1", control_plane), machine("md-1", workers), machine("md-2", workers)];
    let prediction = Prediction([(workers.to_owned(), 2)].into());
    let rolled = [before[0].clone(), machine("md-3", workers), machine("md-4", workers)];
    assert!(compare("", &prediction, &before, &rolled).iter().all(Truth::holds));
    let half = [before[0].clone(), before[1].clone(), machine("md-3", workers)];
    assert!(!compare("", &prediction, &before, &half).iter().all(Truth::holds));
    let all = [machine("cp-2", control_plane), machine("md-3", workers), machine("md-4", workers)];
    assert!(!compare("", &prediction, &before, &all).iter().all(Truth::holds));
}
