//! The inventory of a snapshot, and what a change of it would do to the fleet: which clusters, which machines.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use capstan_inventory::record::ValuesRecord;
use capstan_inventory::survey::{ClusterRecords as KnownElsewhere, Survey};
use capstan_model::finding::{Finding, rules};
use capstan_model::ids::{ClusterId, ReleaseId, ReleaseName};
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::cluster::Cluster;
use capstan_plan::inventory::{
    InventoryChange, InventoryOutlook, LevelReach, PlansOfCluster, RECORD_FILE, beyond,
};
use capstan_plan::settings::InventorySettings;
use capstan_plan::upgrade::Upgrade;

use super::generator::{
    Fleet, Planned, Refused, defined_clusters, inventory_change, lost_definitions, over_clusters_of,
    plan_each, plan_values,
};

/// Reads the inventory of a snapshot, with what only the clusters' folders and the settings know of them.
pub fn survey(fleet: &Fleet, settings: &InventorySettings) -> Survey {
    let tree = fleet.tree().as_ref();
    let mut survey = Survey::read(tree, settings.path.path(), KnownElsewhere::recorded(tree));
    survey.know_releases(tree, |folder| recorded_release(fleet, folder));
    survey.know_managed(|folder| {
        let claimed = fleet.settings().claimed_by(&ClusterId::new(folder.clone()));
        claimed.ok().flatten().map(|management| management.name.clone())
    });
    survey
}

/// The release that a cluster's folder records.
fn recorded_release(fleet: &Fleet, folder: &RepoPath) -> Option<ReleaseId> {
    let target = fleet.layout().target(folder.as_str())?;
    let recorded = Cluster::read(fleet.tree().as_ref(), target).ok()?.recorded?;
    match recorded.name {
        ReleaseName::Id(id) => Some(id),
        ReleaseName::Version(_) => None,
    }
}

/// What a change of the inventory would do: the plans of the clusters that it concerns, before and after it.
#[derive(Debug, Default)]
pub struct Difference {
    /// The clusters that it concerns.
    pub change: InventoryChange,
    /// What becomes of them.
    pub outlook: InventoryOutlook,
    /// Why clusters cannot be planned, or are left as they are: ordered by what names them, a folder or, without one, a
    /// definition's name.
    pub errors: Vec<(String, Refused)>,
}

impl Difference {
    /// From the inventory of one snapshot to that of another, each over the clusters' folders of the first: what is merged.
    pub fn between(before: &Fleet, after: &Fleet) -> Self {
        let Some(change) = inventory_change(before, after) else {
            let all = defined_clusters(after);
            let whole = LevelReach { all, ..LevelReach::default() };
            let outlook = InventoryOutlook { whole, ..InventoryOutlook::default() };
            return Self {
                change: InventoryChange { all, ..InventoryChange::default() },
                outlook,
                errors: Vec::new(),
            };
        };
        let mut reasons = BTreeMap::new();
        // Compare with the merged folders: a change that this snapshot has already rendered into its folders counts,
        // too.
        let merged = over_clusters_of(after, before, &change.clusters);
        let (was, _) = plans_of(before, &change.clusters);
        let (is, refused) = plans_of(merged.as_ref().unwrap_or(after), &change.clusters);
        reasons.extend(refused);
        let outlook = InventoryOutlook::of(&change, &was, &is, |all| all);
        let of_plans = outlook.errors.iter().map(|(cluster, why)| {
            let known = reasons.remove(&(cluster.clone(), why.clone()));
            let refused = known.unwrap_or_else(|| Refused { message: why.clone(), place: None });
            (cluster.to_string(), refused)
        });
        let mut errors: Vec<(String, Refused)> = of_plans.collect();
        let lost = lost_definitions(before, after);
        errors.extend(lost.into_iter().map(|(name, finding)| (name, refused_by(&finding))));
        errors.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self { change, outlook, errors }
    }

    /// How many clusters are defined afterwards and stay as they are.
    pub fn unchanged(&self) -> usize {
        let InventoryOutlook { whole, changed, created, retired, errors, .. } = &self.outlook;
        whole.all.saturating_sub(changed.len() + created.len() + retired.len() + errors.len())
    }

    /// The finding that it reaches too far.
    pub fn beyond(&self, settings: &InventorySettings) -> Option<Finding> {
        let whole = &self.outlook.whole;
        beyond(
            &settings.limits,
            [whole.changed, self.outlook.unplanned],
            Some(whole.machines.known),
            self.change.place.clone(),
        )
    }
}

/// The record of values that blocks an upgrade because it was edited by hand.
pub fn edited_record(upgrade: &Upgrade) -> Option<RepoPath> {
    let finding = upgrade.findings.iter().find(|finding| finding.rule == rules::VALUES_EDITED)?;
    finding.file().cloned()
}

/// Records of these clusters that were edited by hand.
pub fn edited_records(fleet: &Fleet, clusters: &[ClusterId]) -> Vec<RepoPath> {
    let tree = fleet.tree().as_ref();
    let records = clusters.iter().filter_map(|id| id.folder().join(RECORD_FILE).ok());
    records
        .filter(|path| {
            let bytes = tree.entry(path).and_then(|entry| tree.read(entry).ok());
            bytes.is_some_and(|bytes| !fits(path, &bytes))
        })
        .collect()
}

/// Whether a record is what Capstan wrote.
pub fn fits(path: &RepoPath, bytes: &[u8]) -> bool {
    ValuesRecord::read(path, bytes).is_ok()
}

/// Says of an upgrade that an edited record blocks from which commit that can be taken back.
pub fn tell_restore(upgrade: &mut Upgrade, commits: &BTreeMap<RepoPath, CommitId>) {
    let Some(path) = edited_record(upgrade) else { return };
    let Some(commit) = commits.get(&path) else { return };
    let words = restored_by(&path, commit);
    if let Some(blocked) = upgrade.blocked.first_mut() {
        *blocked = format!("{} {words}.", blocked.trim_end());
    }
    let edited = upgrade.findings.iter_mut().filter(|finding| finding.rule == rules::VALUES_EDITED);
    edited.for_each(|finding| finding.message = format!("{}. {words}", finding.message));
}

/// What takes a record back from a commit.
pub fn restored_by(path: &RepoPath, commit: &CommitId) -> String {
    let short = commit.as_str().get(..12).unwrap_or(commit.as_str());
    format!("The last commit with the text that Capstan wrote is {short}: `git checkout {short} -- {path}`")
}

fn refused_by(finding: &Finding) -> Refused {
    Refused { message: finding.message.clone(), place: finding.place.clone() }
}

/// Why plans are refused, by their cluster and the words that reports have for it.
type Reasons = BTreeMap<(ClusterId, String), Refused>;

/// All plans of these clusters at a snapshot.
fn plans_of(fleet: &Fleet, clusters: &[ClusterId]) -> (BTreeMap<ClusterId, PlansOfCluster>, Reasons) {
    let (there, to_come): (Vec<ClusterId>, Vec<ClusterId>) =
        clusters.iter().cloned().partition(|id| fleet.layout().target(id.as_str()).is_some());
    let mut plans = BTreeMap::new();
    let mut reasons = Reasons::new();
    let mut add = |id: &ClusterId, planned: Vec<Planned>| {
        let one = |planned: Planned| match planned {
            Ok(upgrade) => Ok(Arc::new(upgrade)),
            Err(refused) => {
                let why = refused.to_string();
                reasons.insert((id.clone(), why.clone()), refused);
                Err(why)
            }
        };
        plans.insert(id.clone(), planned.into_iter().map(one).collect());
    };
    let Ok(()) = plan_each(
        fleet,
        &there,
        None,
        |id, planned| {
            let release = planned.map(|planned| planned.upgrade);
            (id.clone(), std::iter::once(release).chain(plan_values(fleet, id)).collect::<Vec<_>>())
        },
        |(id, planned)| {
            add(&id, planned);
            Ok::<(), Infallible>(())
        },
    );
    for id in &to_come {
        add(id, plan_values(fleet, id).into_iter().collect());
    }
    (plans, reasons)
}
