//! Components of providers for the plans and checks of a run: only from the hosts that the default branch's
//! settings name, whatever a pull request says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use capstan_bot_core::facts::{Plans, settings_in};
use capstan_model::ids::ClusterId;
use capstan_model::target::Target;
use capstan_plan::proposal::{Authorship, ProposalId};
use capstan_plan::settings::{ComponentsRecord, RepositorySettings};
use capstan_plan::upgrade::Upgrade;
use capstan_providers::{Supplies, Supply, Wanted};
use tokio::time::Instant;

use super::{Run, SyncError, plan_all};
use capstan_fleet::planner::{OpenFleet, PlannerFailed};
use capstan_ports::AllowedHosts;

/// Rounds in which a plan may need more components: fetched ones may refer to others.
const ROUNDS: usize = 3;

/// What a run knows about components.
#[derive(Default)]
pub(super) struct RunComponents {
    /// Unset until the default branch's settings are known: no host is asked before.
    hosts: OnceLock<AllowedHosts>,
    /// When the run stops waiting.
    until: OnceLock<Instant>,
    supplies: Mutex<Arc<Supplies>>,
    /// Components that open proposals record, by set.
    judged: Mutex<BTreeMap<ClusterId, ComponentRecords>>,
    /// A component was requested since the last look, and is not here.
    lacking: AtomicBool,
}

/// Version and SHA-256 by label.
type ComponentRecords = Arc<BTreeMap<String, ComponentsRecord>>;

impl RunComponents {
    /// Takes the settings of the default branch.
    pub(super) fn allow(&self, settings: &RepositorySettings) {
        let hosts = settings.providers.hosts.iter().map(|host| host.as_str().to_owned());
        let _first_time = self.hosts.set(AllowedHosts::new(hosts));
    }

    /// What requests brought so far.
    pub(super) fn supplies(&self) -> Arc<Supplies> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Supplies>> {
        self.supplies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a component that was requested since the last call is missing.
    pub(super) fn take_lacking(&self) -> bool {
        self.lacking.swap(false, Ordering::SeqCst)
    }

    /// Notes that a judgement lacks some of the components that it needs.
    pub(super) fn note_lacking<'w>(&self, wanted: impl IntoIterator<Item = &'w Wanted>) {
        let supplies = self.supplies();
        let is_here = |wanted: &Wanted| matches!(supplies.of(wanted), Some(Supply::Fetched(_)));
        if !wanted.into_iter().all(is_here) {
            self.lacking.store(true, Ordering::SeqCst);
        }
    }
}

impl Run<'_> {
    /// Requests components that plans or judgements of sets lack; returns all that is known in this run, or
    /// `None` where nothing can be fetched.
    pub(super) async fn supply_components(
        &self,
        wanted: BTreeSet<(ClusterId, Wanted)>,
    ) -> Result<Option<Arc<Supplies>>, SyncError> {
        let (Some(supplier), Some(hosts)) = (&self.ports.components, self.components.hosts.get()) else {
            return Ok(None);
        };
        let mut asked: BTreeMap<Wanted, Option<String>> = BTreeMap::new();
        let mut unread: Vec<(Wanted, String)> = Vec::new();
        for (set, wanted) in wanted {
            let records = match self.judged_components(&set).await {
                // A problem with one set's branch does not affect the others; without its record nothing is
                // fetched for it.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.repository.name, set = %set, error = %error, "earlier verdicts on components cannot be read");
                    unread.push((
                        wanted,
                        format!("the components that its open pull request was checked with cannot be read: {error}"),
                    ));
                    continue;
                }
                records => records?,
            };
            let record = records.get(&wanted.label()).filter(|record| record.version == wanted.version);
            let known = record.map(|record| record.sha256.clone());
            let before = asked.entry(wanted).or_default();
            *before = before.take().or(known);
        }
        let until = *self.components.until.get_or_init(|| Instant::now() + supplier.patience());
        let mut more = supplier.supply(self.repository, hosts, asked.clone(), until).await;
        for (wanted, why) in unread {
            // A set without a record requested it, so it is not verified.
            if !matches!(asked.get(&wanted), Some(Some(_))) {
                more.add(wanted, Supply::Missing(why));
            }
        }
        for (wanted, known) in asked {
            let Some(known) = known else { continue };
            if let Some(Supply::Missing(why)) = more.of(&wanted) {
                let held = Supply::Held { known, why: why.clone() };
                more.add(wanted, held);
            }
        }
        let mut known = self.components.lock();
        let mut all = Supplies::clone(&known);
        all.extend(more);
        *known = Arc::new(all);
        Ok(Some(Arc::clone(&known)))
    }

    /// Components that the open proposal of a set records, if only Capstan wrote its branch: it was judged
    /// with these, even if the bot has lost them since.
    async fn judged_components(&self, set: &ClusterId) -> Result<ComponentRecords, SyncError> {
        let judged = || self.components.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = judged().get(set) {
            return Ok(Arc::clone(known));
        }
        let proposal = ProposalId::of_release(Target::Providers(set.clone()));
        let mut records = ComponentRecords::default();
        if let Some(pull) = self.facts.proposals.get(&proposal)
            && let Some(branch) = self.branch_facts(&proposal, Some(&pull.base)).await?
            && matches!(branch.authorship, Authorship::Capstan { .. })
        {
            // Capstan's commit exists: if it cannot be read, what was judged is unknown.
            let head = self.required_snapshot(&branch.head).await?;
            let settings = settings_in(head.tree.as_ref(), set);
            records = Arc::new(settings.map(|settings| settings.components).unwrap_or_default());
        }
        judged().insert(set.clone(), Arc::clone(&records));
        Ok(records)
    }

    /// Plans every target, and those that lack components again, once these are known or it is known why they
    /// are not.
    pub(super) async fn plan_supplied(
        &self,
        fleet: Box<dyn OpenFleet>,
    ) -> Result<(Result<Plans, String>, Box<dyn OpenFleet>), SyncError> {
        let (planned, mut fleet) = plan_all(fleet).await?;
        let Ok(mut plans) = planned else { return Ok((planned, fleet)) };
        for _ in 0..ROUNDS {
            let upgrades = plans.values().filter_map(|plan| plan.as_ref().ok());
            let lacking = || upgrades.clone().filter(|upgrade| !upgrade.unasked.is_empty());
            let sets: BTreeSet<ClusterId> =
                lacking().filter_map(|upgrade| upgrade.target.id().cloned()).collect();
            let of_set = |upgrade: &Arc<Upgrade>| {
                let set = upgrade.target.id().cloned();
                let wanted = upgrade.unasked.iter().cloned();
                wanted.filter_map(move |wanted| Some((set.clone()?, wanted))).collect::<Vec<_>>()
            };
            let wanted: BTreeSet<(ClusterId, Wanted)> = lacking().flat_map(of_set).collect();
            if wanted.is_empty() {
                break;
            }
            let Some(supplies) = self.supply_components(wanted).await? else { break };
            fleet.provide_components(supplies);
            let planned = tokio::task::spawn_blocking(move || (fleet.plan_some(&sets), fleet)).await?;
            fleet = planned.1;
            match planned.0 {
                Ok(again) => plans.extend(again),
                Err(PlannerFailed::Exceeded(why)) => return Ok((Err(why), fleet)),
                Err(failed) => return Err(failed.into()),
            }
        }
        self.add_restores(&mut plans).await?;
        Ok((Ok(plans), fleet))
    }
}
