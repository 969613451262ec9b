//! Components of providers for the plans and checks of a run: only from the hosts that the default branch's
//! settings name, whatever a pull request says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_bot_core::components::{
    AskedComponents, JudgedComponents, LackingComponents, are_lacking, lacking,
};
use capstan_bot_core::facts::{Facts, TargetPlans, settings_in};
use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_plan::proposal::{Authorship, ProposalId};
use capstan_plan::settings::{ComponentsRecord, RepositorySettings};
use capstan_providers::Supplies;
use tokio::time::Instant;

use super::SyncError;
use super::heads::Heads;
use super::planning::plan_all;
use super::restores::add_restores;
use capstan_fleet::components::Supplier;
use capstan_fleet::planner::{OpenFleet, PlannerFailed};
use capstan_ports::AllowedHosts;

/// Rounds in which a plan may need more components: fetched ones may refer to others.
const ROUNDS: usize = 3;

/// What a run knows of components so far.
#[derive(Default)]
pub(super) struct SuppliedComponents {
    /// `None` until the default branch's settings are known: nobody is asked before.
    hosts: Option<AllowedHosts>,
    /// When the run stops waiting.
    until: Option<Instant>,
    supplies: Arc<Supplies>,
    /// What open proposals record of components, by set.
    judged: BTreeMap<ClusterId, JudgedComponents>,
    /// Something is missing that was asked for since the last `take_lacking`.
    lacking: bool,
}

impl SuppliedComponents {
    /// Nothing yet, under the settings of the default branch.
    pub(super) fn under(settings: &RepositorySettings) -> Self {
        let hosts = settings.providers.hosts.iter().map(|host| host.as_str().to_owned());
        Self { hosts: Some(AllowedHosts::new(hosts)), ..Self::default() }
    }

    /// What requests brought so far.
    pub(super) fn supplies(&self) -> Arc<Supplies> {
        Arc::clone(&self.supplies)
    }

    /// Whether something is missing that was asked for since the last call.
    pub(super) const fn take_lacking(&mut self) -> bool {
        std::mem::replace(&mut self.lacking, false)
    }
}

/// Fetches components, where that is allowed.
#[derive(Clone, Copy)]
pub(super) struct ComponentSupply<'a> {
    pub(super) supplier: Option<&'a Supplier>,
    pub(super) facts: &'a Facts,
    pub(super) heads: Heads<'a>,
}

impl ComponentSupply<'_> {
    /// Requests components that plans or judgements of sets lack; returns all that is known in this run, or
    /// `None` where nothing can be fetched.
    pub(super) async fn supply(
        self,
        lacking: LackingComponents,
        supplied: &mut SuppliedComponents,
    ) -> Result<Option<Arc<Supplies>>, SyncError> {
        let all = lacking.iter().map(|(_, wanted)| wanted.clone()).collect::<Vec<_>>();
        if let (Some(supplier), Some(hosts)) = (self.supplier, supplied.hosts.as_ref()) {
            let sets: BTreeSet<&ClusterId> = lacking.iter().map(|(set, _)| set).collect();
            for set in sets {
                if !matches!(supplied.judged.get(set), Some(Ok(_))) {
                    supplied.judged.insert(set.clone(), self.judged_components(set).await?);
                }
            }
            let asked = AskedComponents::of(lacking, &supplied.judged);
            let until = *supplied.until.get_or_insert_with(|| Instant::now() + supplier.patience());
            let came = supplier.supply(&self.facts.repository, hosts, asked.known.clone(), until).await;
            Arc::make_mut(&mut supplied.supplies).extend(asked.settle(came));
        }
        supplied.lacking |= are_lacking(&supplied.supplies, &all);
        let can_ask = self.supplier.is_some() && supplied.hosts.is_some();
        Ok(can_ask.then(|| supplied.supplies()))
    }

    /// What the open proposal of a set records of components, where Capstan alone wrote its branch. What is wrong with one
    /// set's branch costs the others nothing.
    async fn judged_components(self, set: &ClusterId) -> Result<JudgedComponents, SyncError> {
        match self.recorded_components(set).await {
            Err(error) if error.is_of_one() => {
                tracing::warn!(repository = %self.facts.repository.name, set = %set, error = %error, "earlier verdicts on components cannot be read");
                Ok(Err(error.to_string()))
            }
            records => records.map(Ok),
        }
    }

    async fn recorded_components(
        self,
        set: &ClusterId,
    ) -> Result<BTreeMap<String, ComponentsRecord>, SyncError> {
        let proposal = ProposalId::of_release(Target::Providers(set.clone()));
        if let Some(pull) = self.facts.proposals.get(&proposal)
            && let Some(branch) = self.heads.branch_facts(&proposal, Some(&pull.base)).await?
            && matches!(branch.authorship, Authorship::Capstan { .. })
        {
            // Capstan's commit exists: if it cannot be read, what was judged is unknown.
            let head = self.heads.commits.required_snapshot(&branch.head).await?;
            let settings = settings_in(head.tree.as_ref(), set);
            return Ok(settings.map(|settings| settings.components).unwrap_or_default());
        }
        Ok(BTreeMap::new())
    }

    /// Plans every target, and those that lack components again, once these are known or it is known why they
    /// are not.
    pub(super) async fn plan(
        self,
        fleet: Box<dyn OpenFleet>,
        supplied: &mut SuppliedComponents,
    ) -> Result<(Result<TargetPlans, String>, Box<dyn OpenFleet>), SyncError> {
        let (planned, mut fleet) = plan_all(fleet).await?;
        let Ok(mut plans) = planned else { return Ok((planned, fleet)) };
        for _ in 0..ROUNDS {
            let lacking = lacking(&plans);
            if lacking.is_empty() {
                break;
            }
            let sets: BTreeSet<ClusterId> = lacking.iter().map(|(set, _)| set.clone()).collect();
            let Some(supplies) = self.supply(lacking, supplied).await? else { break };
            fleet.provide_components(supplies);
            let planned = tokio::task::spawn_blocking(move || (fleet.plan_some(&sets), fleet)).await?;
            fleet = planned.1;
            match planned.0 {
                Ok(again) => plans.extend(again),
                Err(PlannerFailed::Exceeded(why)) => return Ok((Err(why), fleet)),
                Err(failed) => return Err(failed.into()),
            }
        }
        add_restores(self.heads.commits, &mut plans).await?;
        Ok((Ok(plans), fleet))
    }
}
