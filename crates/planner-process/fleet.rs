//! A snapshot that another process plans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::membership::Candidate;
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
use super::child::Answer;
use super::{Ended, Extent, MOST_EXCEEDED, ProcessPlanner, out_of_turn};
use capstan_fleet::generator::NotPossible;
use capstan_fleet::planner::process::{FleetRequest, Opened, Releases, Request, Response, TreeRef};
use capstan_fleet::planner::{OpenFleet, PlannerFailed, Plans, ReleasesFailed};

/// A snapshot with what it was given: every request says all of it, so that any process may answer.
pub(super) struct RemoteFleet {
    planner: ProcessPlanner,
    request: FleetRequest,
    opened: Opened,
}

type Plan = Result<Arc<Upgrade>, String>;

/// Plans by cluster.
#[derive(Default)]
struct Planned {
    releases: BTreeMap<ClusterId, Plan>,
    /// What the inventory brings, as far as it brings something.
    values: BTreeMap<ClusterId, Plan>,
}

impl Planned {
    /// Of a cluster that is beyond the limits: releases are planned first.
    fn exceeds(&mut self, cluster: ClusterId, why: String) {
        if self.releases.contains_key(&cluster) {
            self.values.insert(cluster, Err(why));
        } else {
            self.values.insert(cluster.clone(), Err(why.clone()));
            self.releases.insert(cluster, Err(why));
        }
    }

    /// Of those that were planned when all of it had taken too long; whether there is one. Without them the next look gets
    /// further.
    fn exceed_in_all(&mut self, ended: &Ended) -> bool {
        let without = |cluster: &&ClusterId| {
            !self.releases.contains_key(*cluster) || !self.values.contains_key(*cluster)
        };
        let left: Vec<ClusterId> = ended.open.iter().filter(without).cloned().collect();
        let is_any = !left.is_empty();
        left.into_iter().for_each(|cluster| self.exceeds(cluster, ended.told("")));
        is_any
    }
}

impl RemoteFleet {
    pub(super) const fn new(planner: ProcessPlanner, request: FleetRequest, opened: Opened) -> Self {
        Self { planner, request, opened }
    }

    /// Plans some clusters into `plans`.
    fn plan(
        &self,
        only: Option<BTreeSet<ClusterId>>,
        budget: &mut Budget,
        plans: &mut Planned,
    ) -> Result<(), Ended> {
        let without = plans.releases.keys().cloned().collect();
        let without_values = plans.values.keys().cloned().collect();
        let request = Request::Plan { fleet: self.request.clone(), only, without, without_values };
        let mut planned = Planned::default();
        let asked = self.planner.pool.call(&request, budget, &mut |answer| match answer {
            Answer::Upgrade(cluster, plan) => drop(planned.releases.insert(cluster, plan)),
            Answer::Valued(cluster, plan) => drop(planned.values.insert(cluster, plan)),
            Answer::Other(_) => {}
        });
        plans.releases.append(&mut planned.releases);
        plans.values.append(&mut planned.values);
        asked.inspect_err(|ended| self.planner.note_pause(ended))
    }

    /// Plans these, or all: those that are beyond the limits are told as such, and the others are planned all the same.
    fn plan_wanted(&self, only: Option<&BTreeSet<ClusterId>>) -> Result<Plans, PlannerFailed> {
        let mut plans = Planned::default();
        let (mut deaths, mut budget) = (0, self.planner.budget());
        'all: while let Err(ended) = self.plan(only.cloned(), &mut budget, &mut plans) {
            if ended.extent == Extent::InAll {
                if plans.exceed_in_all(&ended) && ended.is_known {
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
                    self.plan(Some(alone), &mut budget, &mut plans)
                };
                if let Err(ended) = found {
                    if ended.extent == Extent::InAll {
                        plans.exceed_in_all(&ended);
                        if ended.is_known {
                            continue;
                        }
                        break 'all;
                    }
                    if !ended.cause.is_theirs() {
                        return Err(ended.into());
                    }
                    deaths += usize::from(!ended.is_known);
                    plans.exceeds(suspect.clone(), ended.told(""));
                }
            }
            if deaths > MOST_EXCEEDED {
                break;
            }
        }
        let Planned { mut releases, values } = plans;
        let targets = self.opened.scopes.iter().map(|scope| &scope.target);
        let targets = targets.filter_map(|target| Some((target, target.id()?)));
        let targets = targets.filter(|(_, id)| only.is_none_or(|only| only.contains(*id)));
        let plan = |(target, cluster): (&Target, &ClusterId)| {
            let unplanned = || {
                Err(format!(
                    "{cluster} is not planned yet: in this run, more than {MOST_EXCEEDED} other clusters of this repository exceeded the limits, or all of them together took more than the allowed {} s. The next run gets further",
                    budget.whole().as_secs_f64()
                ))
            };
            (ProposalId::of_release(target.clone()), releases.remove(cluster).unwrap_or_else(unplanned))
        };
        let mut all: Plans = targets.map(plan).collect();
        let scopes = self.opened.scopes.iter().chain(&self.opened.to_come);
        let known: BTreeMap<&ClusterId, &Target> =
            scopes.filter_map(|scope| Some((scope.target.id()?, &scope.target))).collect();
        let valued = |(cluster, plan): (ClusterId, Plan)| {
            let target = known.get(&cluster).map_or_else(|| cluster.clone().into(), |known| (*known).clone());
            (ProposalId { target, kind: SourceKind::INVENTORY }, plan)
        };
        all.extend(values.into_iter().map(valued));
        Ok(all)
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
        match self.planner.ask(&Request::Open(request.clone()))? {
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

    fn candidates(&self) -> Result<Vec<Candidate>, PlannerFailed> {
        let parts = self.planner.ask_without(
            None,
            |_| true,
            |left_out| Request::Candidates {
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
        let request = Request::Create { fleet: self.request.clone(), wanted: wanted.clone() };
        match self.planner.last_part(&request)? {
            Some(Response::Created(created)) => Ok(*created),
            _ => Err(out_of_turn()),
        }
    }

    fn retire(&self, cluster: &ClusterId) -> Result<Result<RetiredCluster, NotPossible>, PlannerFailed> {
        let request = Request::Retire { fleet: self.request.clone(), cluster: cluster.clone() };
        match self.planner.last_part(&request)? {
            Some(Response::Retired(retired)) => Ok(*retired),
            _ => Err(out_of_turn()),
        }
    }

    fn plan_all(&self) -> Result<Plans, PlannerFailed> {
        self.plan_wanted(None)
    }

    fn plan_some(&self, clusters: &BTreeSet<ClusterId>) -> Result<Plans, PlannerFailed> {
        self.plan_wanted(Some(clusters))
    }
}
