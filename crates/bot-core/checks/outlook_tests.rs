//! What a merge would offer: a row is what changes, and what is said of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::tree::RepoPath;
use capstan_plan::inventory::InventoryChange;
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::RepositorySettings;
use capstan_report::{Becomes, ChangedRelease};

use super::*;
use crate::testing::{Case, V21, V22, release, upgrade};

fn cluster(id: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(id).unwrap())
}

fn clusters(ids: &[&str]) -> BTreeSet<ClusterId> {
    ids.iter().map(|id| cluster(id)).collect()
}

fn changed(path: &str, becomes: Becomes) -> ChangedRelease {
    ChangedRelease { release: release(path).release().unwrap(), becomes }
}

/// Clusters at v21, each with the release that it is offered.
fn plans(offers: &[(&str, &str)]) -> ReleasePlans {
    offers.iter().map(|(id, to)| (cluster(id), Ok(Arc::new(upgrade(id, V21, to))))).collect()
}

#[test]
fn a_release_that_goes_is_withdrawn_from_the_clusters_that_it_is_offered_to() {
    let before = plans(&[("gauss/peu01", V22), ("kiel/peu01", "aws/v23.0.0")]);
    let none = ReleasePlans::new();
    for (becomes, before, expected) in [
        (Becomes::Removed, Some(&before), &["gauss/peu01"][..]),
        (Becomes::Changed, Some(&before), &[][..]),
        (Becomes::Added, Some(&before), &[][..]),
        // It is unknown what was offered before.
        (Becomes::Removed, None, &[][..]),
    ] {
        let changed = [changed(V22, becomes)];
        assert_eq!(removes_releases(&changed), becomes == Becomes::Removed);
        let outlook = release_outlook(&changed, (&none, before), 2, &RepositorySettings::default());
        let withdrawn: Vec<&str> = outlook.withdrawn.iter().map(ClusterId::as_str).collect();
        assert_eq!((withdrawn.as_slice(), outlook.clusters), (expected, 2), "{becomes:?}");
    }
}

#[test]
fn upgrades_to_changed_releases_are_shown_and_others_counted() {
    let after = plans(&[("gauss/peu01", V22), ("gauss/peu02", "aws/v23.0.0"), ("kiel/peu01", V22)]);
    let unplannable = BTreeMap::from([(cluster("gauss/peu03"), Err("broken".to_owned()))]);
    let after: ReleasePlans = after.into_iter().chain(unplannable).collect();
    for (becomes, shown) in [
        (Becomes::Added, &["gauss/peu01", "kiel/peu01"][..]),
        (Becomes::Changed, &["gauss/peu01", "kiel/peu01"][..]),
        (Becomes::Removed, &[][..]),
    ] {
        let changed = [changed(V22, becomes)];
        let outlook = release_outlook(&changed, (&after, None), 9, &RepositorySettings::default());
        let worst: Vec<&str> = outlook.worst.iter().map(|upgrade| upgrade.target.path()).collect();
        assert_eq!((worst.as_slice(), outlook.prospects.len()), (shown, 4), "{becomes:?}");
    }
}

/// Settings by which `name` applies the clusters of gauss.
fn applied_by(name: &str) -> RepositorySettings {
    let management_clusters = serde_json::from_value(serde_json::json!([
        {"name": name, "uid": "6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0", "clusters": ["gauss/*"]},
    ]));
    RepositorySettings { management_clusters: management_clusters.unwrap(), ..RepositorySettings::default() }
}

#[test]
fn new_settings_find_and_lose_clusters_and_change_who_applies_them_and_what_they_are_offered() {
    let (prod, other) = (applied_by("prod"), applied_by("other"));
    let none = RepositorySettings::default();
    let (v22, v23) = (plans(&[("gauss/peu01", V22)]), plans(&[("gauss/peu01", "aws/v23.0.0")]));
    let unplanned = ReleasePlans::new();
    let (one, two) = (clusters(&["gauss/peu01"]), clusters(&["gauss/peu01", "kiel/peu01"]));
    // How many clusters are found, are lost, change their applier, and change their offer.
    for (settings, clusters, plans, expected) in [
        ([&prod, &prod], [&one, &one], [&v22, &v22], (0, 0, 0, 0)),
        ([&prod, &other], [&one, &one], [&v22, &v22], (0, 0, 1, 0)),
        ([&prod, &none], [&one, &one], [&v22, &v23], (0, 0, 1, 1)),
        // Nobody applies those of kiel, before or after.
        ([&prod, &other], [&two, &two], [&v22, &v22], (0, 0, 1, 0)),
        ([&prod, &prod], [&one, &two], [&v22, &v22], (1, 0, 0, 0)),
        ([&prod, &prod], [&two, &one], [&v22, &v22], (0, 1, 0, 0)),
        // A cluster that was not planned under both is not compared.
        ([&prod, &prod], [&one, &one], [&v22, &unplanned], (0, 0, 0, 0)),
    ] {
        let outlook = settings_outlook(BothSettings { settings, clusters, plans, examined: 1 });
        let found =
            (outlook.found.len(), outlook.lost.len(), outlook.appliers.len(), outlook.prospects.len());
        assert_eq!(found, expected);
        assert_eq!(outlook.examined, [1, clusters[0].intersection(clusters[1]).count()]);
    }
}

#[test]
fn clusters_of_the_changed_providers_are_planned_first() {
    let many: BTreeSet<ClusterId> = (0..201).map(|at| cluster(&format!("a/c{at:03}"))).collect();
    let last = cluster("a/c200");
    let providers = BTreeSet::from([release(V22).release().unwrap().provider()]);
    let case = Case::new().offered("a/c200");
    let settings = RepositorySettings::default();
    for (plans, providers, expected) in [
        (None, providers.clone(), false),
        (Some(&case.plans), BTreeSet::new(), false),
        (Some(&case.plans), providers, true),
    ] {
        let found = planned_clusters(&many, plans, &providers, &settings);
        assert_eq!((found.len(), found.contains(&last)), (200, expected));
    }
    assert_eq!(planned_clusters(&clusters(&["a/c1"]), None, &BTreeSet::new(), &settings).len(), 1);
}

#[test]
fn plans_are_distinguished_by_their_changes_and_gathered_by_cluster() {
    let of = |id: &str, kind: SourceKind| {
        let target = capstan_model::target::Target::parse(id).unwrap();
        (ProposalId { target, kind }, Ok(Arc::new(upgrade(id, V21, V22))))
    };
    let all = || {
        vec![
            of("gauss/peu01", SourceKind::RELEASE),
            of("gauss/peu01", SourceKind::INVENTORY),
            of("kiel/peu01", SourceKind::INVENTORY),
        ]
    };
    assert_eq!(of_releases(all()).into_keys().collect::<Vec<_>>(), [cluster("gauss/peu01")]);
    // One that the change does not affect is not among them, and one without a plan is.
    let affected = ["gauss/peu01", "gauss/peu02"].map(cluster).to_vec();
    let change = InventoryChange { clusters: affected, all: 9, ..InventoryChange::default() };
    let plans = InventoryPlans::of(change, Vec::new(), all());
    let count = |plans: &BTreeMap<ClusterId, Vec<_>>| {
        plans.iter().map(|(id, plans)| (id.to_string(), plans.len())).collect::<Vec<_>>()
    };
    let rows = |rows: [(&str, usize); 2]| rows.map(|(id, count)| (id.to_owned(), count)).to_vec();
    assert_eq!(count(&plans.after), rows([("gauss/peu01", 2), ("gauss/peu02", 0)]));
    assert_eq!(count(&plans.before), rows([("gauss/peu01", 0), ("gauss/peu02", 0)]));
}
