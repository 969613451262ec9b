//! Merges whose machines are followed: which they are, and which clusters each changed; and what reconcilers say of the
//! names of templates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_facts::{Agent, ClusterStanding, PullRequest, PullRequestState};
use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::preflight::{Preflight, PreflightReply};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;
use jiff::{SignedDuration, Timestamp};

use crate::facts::{Facts, Reporters};
use crate::proposals::DecisionStep;

/// A merge that was missed for longer is not followed any more.
const DAYS_BACK: i64 = 7;

/// A merge that is followed from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMerge<'p> {
    /// The pull request.
    pub pull: &'p PullRequest,
    /// The commit of the merge.
    pub commit: &'p CommitId,
    /// When it was merged.
    pub at: Timestamp,
}

/// A merge whose clusters are looked for: those that differ from its parent. Of several rebased commits only the last
/// one's parent is known, so the head's changes that the merge has count too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeChanges {
    /// The commit of the merge.
    pub commit: CommitId,
    /// Its first parent.
    pub parent: Option<CommitId>,
    /// The base of the pull request, as it last saw it.
    pub base: CommitId,
    pub head: CommitId,
}

/// Clusters whose inputs differ between two commits; `None` where one of them cannot be read.
pub type Differing = BTreeMap<(CommitId, CommitId), Option<BTreeSet<ClusterId>>>;

impl MergeChanges {
    /// The clusters that it changed, or the commits between which has to be looked first.
    pub fn clusters(&self, found: &Differing) -> DecisionStep<BTreeSet<ClusterId>, (CommitId, CommitId)> {
        self.changed(found).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    fn changed(&self, found: &Differing) -> Result<BTreeSet<ClusterId>, (CommitId, CommitId)> {
        let between = |before: &CommitId, after: &CommitId| {
            let pair = (before.clone(), after.clone());
            found.get(&pair).map(|clusters| clusters.clone().unwrap_or_default()).ok_or(pair)
        };
        let mut clusters = match &self.parent {
            Some(parent) => between(parent, &self.commit)?,
            None => BTreeSet::new(),
        };
        let mut of_head = between(&self.base, &self.head)?;
        if !of_head.is_empty() {
            let elsewhere = between(&self.head, &self.commit)?;
            of_head.retain(|cluster| !elsewhere.contains(cluster));
        }
        clusters.extend(of_head);
        Ok(clusters)
    }
}

impl Reporters {
    /// Those that the settings name among all agents. Nothing is known of their reports yet.
    pub fn named(settings: &RepositorySettings, mut agents: Vec<Agent>) -> Self {
        let managed_by = ManagedBy::of(settings);
        agents.retain(|agent| agent.revoked_at.is_none() && managed_by.knows(&agent.management_cluster));
        Self { managed_by, enrolled: agents, standings: BTreeMap::new() }
    }

    /// The same with their reports: those on clusters that the settings give each.
    #[must_use]
    pub fn with_standings(mut self, mut standings: Vec<(ClusterId, ClusterStanding)>) -> Self {
        standings.retain(|(cluster, standing)| self.managed_by.has(&standing.management_cluster, cluster));
        self.standings = standings.into_iter().collect();
        self
    }

    /// Since when merges are followed; `None` where nobody would report on them.
    pub fn follow_since(&self, now: Timestamp) -> Option<Timestamp> {
        let first = self.enrolled.iter().map(|agent| agent.enrolled_at).min()?;
        Some(first.max(now - SignedDuration::from_hours(24 * DAYS_BACK)))
    }

    /// The live names of templates before and after a merge: from reports, and from the merge's preflight.
    pub fn names_after(
        &self,
        preflights: &[Preflight],
    ) -> BTreeMap<ClusterId, (TemplateNames, TemplateNames)> {
        let mut found = BTreeMap::new();
        for preflight in preflights {
            let PreflightReply::Answered(answer) = &preflight.standing else { continue };
            for one in answer.clusters.iter().filter(|one| preflight.clusters.contains(&one.cluster)) {
                found.extend(TemplateNames::new(one.names.clone()).ok().map(|names| (&one.cluster, names)));
            }
        }
        let both = |(cluster, before): (ClusterId, Arc<TemplateNames>)| {
            let before = Arc::unwrap_or_clone(before);
            let after = found.get(&cluster).cloned().unwrap_or_else(|| before.clone());
            (cluster, (before, after))
        };
        self.names().into_iter().map(both).collect()
    }
}

/// Of these closed pull requests the merges that are followed from now on. `known` are those that are followed already.
pub fn new_merges<'p>(
    facts: &Facts,
    closed: &'p [PullRequest],
    known: &BTreeSet<u64>,
    since: Timestamp,
) -> Vec<NewMerge<'p>> {
    let is_new = |pull: &&PullRequest| {
        pull.state == PullRequestState::Merged
            && pull.comes_to(&facts.repository.default_branch)
            && !known.contains(&pull.number)
    };
    let merge = |pull: &'p PullRequest| {
        // GitHub's times are whole seconds.
        let at = pull.closed_at.filter(|at| *at + SignedDuration::from_secs(1) >= since)?;
        Some(NewMerge { pull, commit: pull.merge_commit.as_ref()?, at })
    };
    closed.iter().filter(is_new).filter_map(merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, commit, id, now, pull, report};
    use capstan_live::agent::PublicKey;
    use capstan_live::agent::preflight::{ClusterAnswer, PreflightAnswer, PreflightVerdict};
    use capstan_plan::templates::LiveTemplate;

    const UID: &str = "6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0";
    const OTHER: &str = "0b8f1e8d-7f5c-4d12-8a07-3c1a0e5b2f11";

    fn cluster(path: &str) -> ClusterId {
        id(path).target.id().unwrap().clone()
    }

    fn minutes(ago: i64) -> Timestamp {
        now() - SignedDuration::from_mins(ago)
    }

    fn agent(uid: &str, enrolled: Timestamp) -> Agent {
        Agent {
            id: serde_json::from_value(serde_json::json!("01JQ0000000000000000000000")).unwrap(),
            management_cluster: serde_json::from_value(serde_json::json!(uid)).unwrap(),
            name: "mc".to_owned(),
            public_key: PublicKey::new([7; 32]),
            invited_by: "ada".to_owned(),
            enrolled_at: enrolled,
            seen_at: None,
            revoked_at: None,
        }
    }

    /// Settings by which one management cluster applies `gauss/*`.
    fn settings() -> RepositorySettings {
        let mc = serde_json::json!({"name": "mc", "uid": UID, "clusters": ["gauss/*"]});
        Case::new()
            .settings(|settings| settings.management_clusters = vec![serde_json::from_value(mc).unwrap()])
            .settings
    }

    #[test]
    fn only_agents_that_the_settings_name_and_nobody_revoked_report() {
        let revoked = Agent { revoked_at: Some(now()), ..agent(UID, now()) };
        for (agents, expected) in
            [(vec![agent(UID, now())], 1), (vec![agent(OTHER, now())], 0), (vec![revoked], 0), (vec![], 0)]
        {
            assert_eq!(Reporters::named(&settings(), agents).enrolled.len(), expected);
        }
    }

    #[test]
    fn a_management_cluster_reports_on_its_own_clusters_alone() {
        let standing = |uid: &str, path: &str| {
            let standing = ClusterStanding {
                management_cluster: serde_json::from_value(serde_json::json!(uid)).unwrap(),
                name: "mc".to_owned(),
                agent: None,
                report: report(path, "done", 'a', 3),
            };
            (cluster(path), standing)
        };
        let reporters = Reporters::named(&settings(), vec![agent(UID, now())]).with_standings(vec![
            standing(UID, "gauss/peu01"),
            standing(OTHER, "gauss/peu02"),
            standing(UID, "kiel/peu01"),
        ]);
        assert_eq!(reporters.standings.keys().collect::<Vec<_>>(), [&cluster("gauss/peu01")]);
    }

    #[test]
    fn merges_are_followed_since_the_first_agent_and_for_a_week_at_most() {
        let week = minutes(7 * 24 * 60);
        for (enrolled, expected) in [
            (vec![], None),
            (vec![minutes(30), minutes(60)], Some(minutes(60))),
            (vec![minutes(8 * 24 * 60)], Some(week)),
        ] {
            let agents = enrolled.into_iter().map(|at| agent(UID, at)).collect();
            assert_eq!(Reporters::named(&settings(), agents).follow_since(now()), expected);
        }
    }

    #[test]
    fn a_merge_is_followed_once_and_where_it_came_to_the_default_branch() {
        let merged = || PullRequest {
            state: PullRequestState::Merged,
            merge_commit: Some(commit('b')),
            closed_at: Some(minutes(60)),
            ..pull(3, "capstan/upgrade/gauss/peu01", 'a')
        };
        let facts = Case::new().facts();
        for (why, pull, known, expected) in [
            ("merged", merged(), vec![], Some(3)),
            ("followed", merged(), vec![3], None),
            ("closed", PullRequest { state: PullRequestState::Closed, ..merged() }, vec![], None),
            ("elsewhere", PullRequest { base_branch: "other".to_owned(), ..merged() }, vec![], None),
            ("no commit", PullRequest { merge_commit: None, ..merged() }, vec![], None),
            ("before", PullRequest { closed_at: Some(minutes(61)), ..merged() }, vec![], None),
            (
                "in the same second",
                PullRequest { closed_at: Some(minutes(60) - SignedDuration::from_secs(1)), ..merged() },
                vec![],
                Some(3),
            ),
        ] {
            let known = known.into_iter().collect();
            let closed = [pull];
            let found = new_merges(&facts, &closed, &known, minutes(60));
            assert_eq!(found.first().map(|merge| merge.pull.number), expected, "{why}");
        }
    }

    /// Asks until the clusters are known; `told` answers. What was asked, and the clusters.
    fn changed(parent: Option<char>, told: &[(char, char, Option<&[&str]>)]) -> (String, String) {
        let changes = MergeChanges {
            commit: commit('c'),
            parent: parent.map(commit),
            base: commit('b'),
            head: commit('a'),
        };
        let (mut found, mut asked) = (Differing::new(), Vec::new());
        loop {
            match changes.clusters(&found) {
                DecisionStep::Decided(clusters) => {
                    let clusters: Vec<String> = clusters.iter().map(ToString::to_string).collect();
                    return (asked.join(" "), clusters.join(" "));
                }
                DecisionStep::Ask(pair) => {
                    let row = told.iter().find(|(one, other, _)| pair == (commit(*one), commit(*other)));
                    let (one, other, clusters) = row.unwrap_or_else(|| panic!("nobody knows {pair:?}"));
                    asked.push(format!("{one}..{other}"));
                    found.insert(pair, clusters.map(|all| all.iter().map(|path| cluster(path)).collect()));
                }
            }
        }
    }

    #[test]
    fn what_a_merge_changed_is_what_differs_from_its_parent_and_what_its_head_brought() {
        let (one, two) = (Some(&["gauss/peu01"][..]), Some(&["gauss/peu01", "gauss/peu02"][..]));
        let none = Some(&[][..]);
        for (parent, told, asked, expected) in [
            // A merge commit, or a squashed one.
            (
                Some('d'),
                vec![('d', 'c', two), ('b', 'a', two), ('a', 'c', none)],
                "d..c b..a a..c",
                "gauss/peu01 gauss/peu02",
            ),
            // The last of two rebased commits: the first brought the other cluster.
            (
                Some('d'),
                vec![('d', 'c', one), ('b', 'a', two), ('a', 'c', none)],
                "d..c b..a a..c",
                "gauss/peu01 gauss/peu02",
            ),
            // What the merge has otherwise than the head is not the head's.
            (
                Some('d'),
                vec![('d', 'c', none), ('b', 'a', two), ('a', 'c', one)],
                "d..c b..a a..c",
                "gauss/peu02",
            ),
            // The head cannot be read any more.
            (Some('d'), vec![('d', 'c', one), ('b', 'a', None)], "d..c b..a", "gauss/peu01"),
            (None, vec![('b', 'a', one), ('a', 'c', none)], "b..a a..c", "gauss/peu01"),
        ] {
            let found = changed(parent, &told);
            assert_eq!((found.0.as_str(), found.1.as_str()), (asked, expected));
        }
    }
    /// A template that lives under that name.
    fn template(live: &str) -> LiveTemplate {
        serde_json::from_value(serde_json::json!({
            "group": "infrastructure.cluster.x-k8s.io",
            "kind": "AWSMachineTemplate",
            "namespace": "gauss",
            "name": "workers",
            "live": live,
            "spec": "a".repeat(64),
        }))
        .unwrap()
    }

    #[test]
    fn names_after_a_merge_are_those_of_its_preflight_and_else_those_of_now() {
        let standing = |path: &str, names: Vec<LiveTemplate>, applied: bool| {
            let mut report = report(path, "done", 'a', 3);
            report.names = names;
            if !applied {
                report.applied = None;
            }
            let management_cluster = serde_json::from_value(serde_json::json!(UID)).unwrap();
            (
                cluster(path),
                ClusterStanding { management_cluster, name: "mc".to_owned(), agent: None, report },
            )
        };
        let reporters = Reporters::named(&settings(), vec![agent(UID, now())]).with_standings(vec![
            standing("gauss/peu01", vec![template("workers-old")], true),
            standing("gauss/peu02", vec![template("workers-old")], true),
            standing("gauss/peu03", vec![], false),
        ]);
        let answer = |path: &str| ClusterAnswer {
            cluster: cluster(path),
            verdict: PreflightVerdict::Accepted,
            reasons: Vec::new(),
            names: vec![template("workers-new")],
        };
        // The second cluster was not asked about: what is said of it counts for nothing.
        let clusters = vec![answer("gauss/peu01"), answer("gauss/peu02")];
        let preflight = |standing| Preflight {
            management_cluster: "mc".to_owned(),
            clusters: vec![cluster("gauss/peu01")],
            standing,
        };
        let names = |live| TemplateNames::new(vec![template(live)]).unwrap();
        let answered = preflight(PreflightReply::Answered(PreflightAnswer { clusters, duration_ms: 0 }));
        for (preflights, expected) in [
            (vec![answered], "workers-new"),
            (vec![preflight(PreflightReply::Asked)], "workers-old"),
            (vec![], "workers-old"),
        ] {
            let both = reporters.names_after(&preflights);
            assert_eq!(both.len(), 2);
            assert_eq!(both[&cluster("gauss/peu01")], (names("workers-old"), names(expected)));
            assert_eq!(both[&cluster("gauss/peu02")], (names("workers-old"), names("workers-old")));
        }
    }
}
