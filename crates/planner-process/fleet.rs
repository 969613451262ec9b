//! A snapshot that another process plans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::membership::WaveCandidate;
use capstan_model::ids::{ClusterId, ContentId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::Tree;
use capstan_plan::creation::CreatedCluster;
use capstan_plan::proposal::{ProposalId, Scope};
use capstan_plan::release::ReleaseContent;
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::{Retarget, SettledConflict, Upgrade, Versions};
use capstan_plan::verbs::ClusterFrom;
use capstan_providers::Supplies;

use super::budget::Budget;
use super::child::AnswerPart;
use super::{Extent, FailedCall, MOST_EXCEEDED, ProcessPlanner, out_of_turn};
use capstan_fleet::generator::NotPossible;
use capstan_fleet::planner::process::{
    FleetRequest, OpenedFleet, PlannerRequest, Releases, Response, TreeRef,
};
use capstan_fleet::planner::{OpenFleet, PlanResults, PlannerFailed, ReleasesFailed};

/// A snapshot with what it was given: every request says all of it, so that any process may answer.
pub(super) struct RemoteFleet {
    planner: ProcessPlanner,
    request: FleetRequest,
    opened: OpenedFleet,
}

/// The answer of each source of a target; `None` where it brings nothing.
type SourceAnswers = BTreeMap<(ClusterId, SourceKind), Option<Result<Arc<Upgrade>, String>>>;

impl RemoteFleet {
    pub(super) const fn new(planner: ProcessPlanner, request: FleetRequest, opened: OpenedFleet) -> Self {
        Self { planner, request, opened }
    }

    /// Plans some targets into `answers`, from those sources that are not answered yet.
    fn plan(
        &self,
        only: Option<BTreeSet<ClusterId>>,
        budget: &mut Budget,
        answers: &mut SourceAnswers,
    ) -> Result<(), FailedCall> {
        let without = answers.keys().cloned().collect();
        let request = PlannerRequest::Plan { fleet: self.request.clone(), only, without };
        let asked = self.planner.pool.call(&request, budget, &mut |answer| match answer {
            AnswerPart::Planned(cluster, kind, plan) => drop(answers.insert((cluster, kind), plan)),
            AnswerPart::Other(_) => {}
        });
        asked.inspect_err(|ended| self.planner.note_pause(ended))
    }

    /// Says of a target that is beyond the limits why it has no plan from the sources that are not answered; whether there
    /// is one. A target's sources are planned one after the other, so that those after the one that was begun wait as well.
    fn exceeds(&self, cluster: &ClusterId, ended: &FailedCall, answers: &mut SourceAnswers) -> bool {
        let (why, mut is_any) = (ended.describe(""), false);
        // The release of such a target is planned again, where its end is known from an earlier call.
        let release = (!ended.released.contains(cluster)).then_some(SourceKind::RELEASE);
        let values = self.opened.valued.contains(cluster).then_some(SourceKind::INVENTORY);
        for kind in release.into_iter().chain(values) {
            answers.entry((cluster.clone(), kind)).or_insert_with(|| {
                is_any = true;
                Some(Err(why.clone()))
            });
        }
        is_any
    }

    /// The same of all that were planned when the whole had taken too long: without them the next look gets further.
    fn exceed_in_all(&self, ended: &FailedCall, answers: &mut SourceAnswers) -> bool {
        ended.open.iter().filter(|cluster| self.exceeds(cluster, ended, answers)).count() > 0
    }

    /// Plans these targets, or all. Those that exceed the limits are reported as such, and the others are still
    /// planned.
    fn plan_wanted(&self, only: Option<&BTreeSet<ClusterId>>) -> Result<PlanResults, PlannerFailed> {
        let mut answers = SourceAnswers::new();
        let (mut deaths, mut budget) = (0, self.planner.budget());
        'all: while let Err(ended) = self.plan(only.cloned(), &mut budget, &mut answers) {
            if ended.extent == Extent::InAll {
                if self.exceed_in_all(&ended, &mut answers) && ended.is_known {
                    continue;
                }
                break;
            }
            if !ended.cause.is_theirs() || ended.open.is_empty() {
                return Err(ended.into());
            }
            // Several threads plan: which of the clusters it was is seen when each is alone.
            let suspects = ended.open.clone();
            for suspect in &suspects {
                let alone = BTreeSet::from([suspect.clone()]);
                let found = if suspects.len() == 1 {
                    Err(ended.clone())
                } else {
                    self.plan(Some(alone), &mut budget, &mut answers)
                };
                if let Err(ended) = found {
                    if ended.extent == Extent::InAll {
                        self.exceed_in_all(&ended, &mut answers);
                        if ended.is_known {
                            continue;
                        }
                        break 'all;
                    }
                    if !ended.cause.is_theirs() {
                        return Err(ended.into());
                    }
                    deaths += usize::from(!ended.is_known);
                    self.exceeds(suspect, &ended, &mut answers);
                }
            }
            if deaths > MOST_EXCEEDED {
                break;
            }
        }
        Ok(self.plans(only, &budget, answers))
    }

    /// The plans of these targets, or of all. A source without an answer is reported as such: it must not look like one
    /// that brings nothing.
    fn plans(
        &self,
        only: Option<&BTreeSet<ClusterId>>,
        budget: &Budget,
        mut answers: SourceAnswers,
    ) -> PlanResults {
        let targets = |scopes: &'_ [Scope]| -> BTreeMap<ClusterId, Target> {
            let targets = scopes.iter().map(|scope| &scope.target);
            targets.filter_map(|target| Some((target.id()?.clone(), target.clone()))).collect()
        };
        let mut known = targets(&self.opened.scopes);
        let released: Vec<ClusterId> = known.keys().cloned().collect();
        known.extend(targets(&self.opened.to_come));
        let released = released.into_iter().map(|id| (id, SourceKind::RELEASE));
        let valued = self.opened.valued.iter().map(|id| (id.clone(), SourceKind::INVENTORY));
        let plan = |source: (ClusterId, SourceKind)| {
            let cluster = &source.0;
            let target = known.get(cluster).filter(|_| only.is_none_or(|only| only.contains(cluster)))?;
            let plan = answers.remove(&source).unwrap_or_else(|| {
                Some(Err(format!(
                    "{cluster} is not planned yet: in this run, more than {MOST_EXCEEDED} other clusters of this repository exceeded the limits, or all of them together took more than the allowed {} s. The next run gets further",
                    budget.whole().as_secs_f64()
                )))
            })?;
            Some((ProposalId { target: target.clone(), kind: source.1 }, plan))
        };
        released.chain(valued).filter_map(plan).collect()
    }
}

impl OpenFleet for RemoteFleet {
    fn settings(&self) -> &RepositorySettings {
        &self.opened.settings
    }

    fn scopes_to_come(&self) -> Vec<Scope> {
        self.opened.to_come.clone()
    }

    fn scopes(&self) -> Vec<Scope> {
        let mut scopes = self.opened.scopes.clone();
        for scope in &mut scopes {
            if self.request.retarget.contains(&ProposalId::of_release(scope.target.clone())) {
                scope.retarget = Retarget::Allowed;
            }
        }
        scopes
    }

    fn releases_repository(&self) -> Option<String> {
        self.opened.releases_repository.clone()
    }

    fn provide_releases(&mut self, releases: Arc<dyn Tree>, consumer: &str) -> Result<(), ReleasesFailed> {
        let tree = TreeRef::of(releases.as_ref());
        let given = Releases::Given { tree, consumer: consumer.to_owned() };
        let request = FleetRequest { releases: given, ..self.request.clone() };
        match self.planner.ask(&PlannerRequest::Open(request.clone()))? {
            Response::Opened(opened) => {
                (self.request, self.opened) = (request, *opened);
                Ok(())
            }
            Response::ReleasesRefused(why) => Err(ReleasesFailed::Refused(why)),
            _ => Err(out_of_turn().into()),
        }
    }

    fn refuse_releases(&mut self, why: String) {
        self.request.releases = Releases::Refused(why);
    }

    fn missing_contents(&self) -> Vec<ContentId> {
        self.opened.missing_contents.clone()
    }

    fn provide_content(&mut self, id: ContentId, content: ReleaseContent) {
        self.request.contents.push((id, (&content).into()));
    }

    fn allow_retarget(&mut self, proposal: &ProposalId) {
        self.request.retarget.push(proposal.clone());
    }

    fn ask_for(&mut self, proposal: &ProposalId, release: Option<ReleaseName>) {
        self.request.asked.retain(|(known, _)| known != proposal);
        self.request.asked.extend(release.map(|release| (proposal.clone(), release)));
    }

    fn settle(&mut self, proposal: &ProposalId, settled: Vec<SettledConflict>) {
        self.request.settled.retain(|(known, _)| known != proposal);
        if !settled.is_empty() {
            self.request.settled.push((proposal.clone(), settled));
        }
    }

    fn set_versions(&mut self, proposal: &ProposalId, versions: Versions) {
        self.request.rolled_back.retain(|known| known != proposal);
        if versions == Versions::Stay {
            self.request.rolled_back.push(proposal.clone());
        }
    }

    fn know_names(&mut self, names: BTreeMap<ClusterId, Arc<TemplateNames>>) {
        let names = names.into_iter().map(|(cluster, names)| (cluster, names.as_ref().clone()));
        self.request.names = names.collect();
    }

    fn provide_components(&mut self, supplies: Arc<Supplies>) {
        self.request.supplies = supplies;
    }

    fn candidates(&self) -> Result<Vec<WaveCandidate>, PlannerFailed> {
        let parts = self.planner.ask_without(
            None,
            |_| true,
            |left_out| PlannerRequest::Candidates {
                fleet: self.request.clone(),
                unrendered: left_out.clusters.clone(),
            },
        )?;
        match parts.into_iter().last() {
            Some(Response::Candidates(candidates)) => Ok(candidates),
            _ => Err(out_of_turn()),
        }
    }

    fn create(&self, wanted: &ClusterFrom) -> Result<Result<CreatedCluster, NotPossible>, PlannerFailed> {
        let request = PlannerRequest::Create { fleet: self.request.clone(), wanted: wanted.clone() };
        match self.planner.last_part(&request)? {
            Some(Response::Created(created)) => Ok(*created),
            _ => Err(out_of_turn()),
        }
    }

    fn retire(&self, cluster: &ClusterId) -> Result<Result<RetiredCluster, NotPossible>, PlannerFailed> {
        let request = PlannerRequest::Retire { fleet: self.request.clone(), cluster: cluster.clone() };
        match self.planner.last_part(&request)? {
            Some(Response::Retired(retired)) => Ok(*retired),
            _ => Err(out_of_turn()),
        }
    }

    fn plan_all(&self) -> Result<PlanResults, PlannerFailed> {
        self.plan_wanted(None)
    }

    fn plan_some(&self, clusters: &BTreeSet<ClusterId>) -> Result<PlanResults, PlannerFailed> {
        self.plan_wanted(Some(clusters))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use capstan_model::tree::{MadeTree, RepoPath};
    use jiff::civil::date;

    use super::*;
    use crate::{FailureCause, Processes};

    const WHY: &str = "Too much.";

    fn cluster(id: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(id).unwrap())
    }

    fn scope(id: &str) -> Scope {
        let folder = RepoPath::parse(id).unwrap();
        Scope {
            target: cluster(id).into(),
            base: folder.join("base").unwrap(),
            overlay: folder.join("overlay").unwrap(),
            retarget: Retarget::Refused,
        }
    }

    /// `a` has no inventory, `b` has values of one, and `c` is to come.
    fn fleet() -> RemoteFleet {
        let processes = Processes {
            program: PathBuf::new(),
            work: "Planning",
            count: 1,
            idle: 1,
            memory: 1 << 30,
            stack: 16 << 20,
            patience: Duration::from_mins(1),
            whole: Duration::from_mins(5),
            remembered: None,
            share: None,
        };
        let opened = OpenedFleet {
            settings: RepositorySettings::default(),
            scopes: vec![scope("a"), scope("b")],
            to_come: vec![scope("c")],
            valued: ["b", "c"].map(cluster).into(),
            releases_repository: None,
            missing_contents: Vec::new(),
        };
        let request = FleetRequest::of(TreeRef::of(&MadeTree::default()), date(2026, 11, 30));
        RemoteFleet::new(ProcessPlanner::new(processes), request, opened)
    }

    /// SourceAnswers of these sources: refusals, so that no upgrade has to be made.
    fn answered(sources: &[(&str, SourceKind)]) -> SourceAnswers {
        let answer =
            |(id, kind): &(&str, SourceKind)| ((cluster(id), kind.clone()), Some(Err("no".to_owned())));
        sources.iter().map(answer).collect()
    }

    /// What is said in the end, by target and kind.
    fn said(
        fleet: &RemoteFleet,
        only: Option<&[&str]>,
        answers: SourceAnswers,
    ) -> Vec<(String, String, String)> {
        let only: Option<BTreeSet<ClusterId>> = only.map(|only| only.iter().map(|id| cluster(id)).collect());
        let plans = fleet.plans(only.as_ref(), &fleet.planner.budget(), answers);
        let said = |(proposal, plan): (ProposalId, Result<Arc<Upgrade>, String>)| {
            let why = plan.unwrap_err();
            // Up to the reason, which is a long one.
            let why = why.split_inclusive(':').next().unwrap_or_default().to_owned();
            (proposal.target.to_string(), proposal.kind.to_string(), why)
        };
        plans.into_iter().map(said).collect()
    }

    fn ended(id: &str) -> FailedCall {
        FailedCall::of(FailureCause::Slow, WHY.to_owned(), [cluster(id)].into())
    }

    fn triples(of: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
        of.iter().map(|(id, kind, why)| ((*id).to_owned(), (*kind).to_owned(), (*why).to_owned())).collect()
    }

    #[test]
    fn for_a_target_beyond_the_limits_answers_hold_and_the_rest_is_reported() {
        let fleet = fleet();
        let (release, inventory) = (SourceKind::RELEASE, SourceKind::INVENTORY);
        let rest = [("a", "release", "no"), ("c", "inventory", "no")];
        for (answers, of_b) in [
            // It ended with its release: its values are not tried.
            (vec![], [("b", "release", WHY), ("b", "inventory", WHY)]),
            // It ended with its values.
            (vec![("b", release.clone())], [("b", "release", "no"), ("b", "inventory", WHY)]),
        ] {
            let others = [("a", release.clone()), ("c", inventory.clone())];
            let mut answers = answered(&[&answers[..], &others].concat());
            assert!(fleet.exceeds(&cluster("b"), &ended("b"), &mut answers));
            assert!(!fleet.exceeds(&cluster("b"), &ended("b"), &mut answers), "it is known");
            let [first, second] = of_b;
            assert_eq!(said(&fleet, None, answers), triples(&[rest[0], first, second, rest[1]]));
        }
    }

    /// A later run knows by which of its sources a target was ended, and gives up no other.
    #[test]
    fn of_a_known_end_the_source_is_remembered() {
        let of_values = FailedCall { released: [cluster("b")].into(), ..ended("b") };
        for (ended, given_up) in [
            (of_values, &[SourceKind::INVENTORY][..]),
            (ended("b"), &[SourceKind::INVENTORY, SourceKind::RELEASE]),
        ] {
            let (fleet, mut answers, known) = (fleet(), SourceAnswers::new(), ended.remembered());
            assert!(fleet.exceeds(&cluster("b"), &known, &mut answers));
            let kinds: Vec<&SourceKind> = answers.keys().map(|(_, kind)| kind).collect();
            assert_eq!(kinds, given_up.iter().collect::<Vec<_>>());
            assert!(!fleet.exceeds(&cluster("b"), &known, &mut answers));
        }
    }

    #[test]
    fn for_a_target_outside_the_inventory_only_the_release_is_reported() {
        let (fleet, mut answers) = (fleet(), SourceAnswers::new());
        fleet.exceeds(&cluster("a"), &ended("a"), &mut answers);
        assert_eq!(said(&fleet, Some(&["a"]), answers), triples(&[("a", "release", WHY)]));
    }

    #[test]
    fn when_the_time_of_all_ends_nobody_is_lost() {
        let fleet = fleet();
        // `a` and the release of `b` were answered, and the values of `b` were worked on.
        let mut answers = answered(&[("a", SourceKind::RELEASE), ("b", SourceKind::RELEASE)]);
        let ended = FailedCall { extent: Extent::InAll, ..ended("b") };
        assert!(fleet.exceed_in_all(&ended, &mut answers));
        let left = "c is not planned yet:";
        let expected = [
            ("a", "release", "no"),
            ("b", "release", "no"),
            ("b", "inventory", WHY),
            ("c", "inventory", left),
        ];
        assert_eq!(said(&fleet, None, answers), triples(&expected));
        // Of the same again nothing new is learned.
        let mut answers = answered(&[("b", SourceKind::RELEASE), ("b", SourceKind::INVENTORY)]);
        assert!(!fleet.exceed_in_all(&ended, &mut answers));
    }

    #[test]
    fn a_source_that_brings_nothing_has_no_plan_and_is_not_asked_again() {
        let fleet = fleet();
        let mut answers = answered(&[("b", SourceKind::RELEASE)]);
        answers.insert((cluster("b"), SourceKind::INVENTORY), None);
        assert!(!fleet.exceeds(&cluster("b"), &ended("b"), &mut answers));
        assert_eq!(said(&fleet, Some(&["b"]), answers), triples(&[("b", "release", "no")]));
    }
}
