//! What one head changes, and the report on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_bot_core::checks::{
    CheckSubject, Comparison, NewSettings, Parts, PartsFacts, PartsNeed, TouchFacts, TouchNeed, WholeParts,
    changes_settings, edited_files, head_file, next_part, put_together, settle, to_judge, touches,
    with_buttons,
};
use capstan_bot_core::facts::Scopes;
use capstan_bot_core::proposals::{DecisionStep, Remarks};
use capstan_live::agent::preflight::Preflight;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::wording::{few, list};
use capstan_plan::settings::RepositorySettings;
use capstan_plan::upgrade::Upgrade;
use capstan_providers::{MissingComponents, Supplies};
use capstan_report::{Carried, CheckReport, HeadFile, JudgedCluster, annotated_files, check, untouched};

use super::super::SyncError;
use super::super::campaigns::CampaignProblems;
use super::super::commits::Commits;
use super::super::components::{ComponentSupply, SuppliedComponents};
use super::super::planning::{NotOpened, TreePlanner};
use super::super::reporters::live_names;
use super::Judging;
use super::comparing::{Comparisons, TestMerges};
use super::outlook::Outlooks;
use capstan_fleet::planner::{JudgedBy, Planner, PlannerFailed};
use capstan_ports::Snapshot;

/// Clusters named in a trace.
const TRACED: usize = 20;
/// Judges two snapshots, under each of the settings that count.
type Judge =
    dyn Fn(&dyn Planner, &Arc<Supplies>) -> Result<Vec<Vec<JudgedCluster>>, PlannerFailed> + Send + Sync;

/// Judges the merge of a head under the settings that count for it.
#[derive(Clone, Copy)]
pub(in super::super) struct HeadJudge<'a> {
    pub(in super::super) commits: Commits<'a>,
    pub(in super::super) planner: TreePlanner<'a>,
    pub(in super::super) merges: TestMerges<'a>,
    pub(in super::super) outlooks: Outlooks<'a>,
    pub(in super::super) campaigns: CampaignProblems<'a>,
    pub(in super::super) components: ComponentSupply<'a>,
}

impl HeadJudge<'_> {
    /// Judges a head; `None` while GitHub computes its test merge.
    pub(super) async fn judge(
        self,
        pull: &CheckSubject,
        judging: Judging<'_>,
        (remarks, preflights): (&Remarks, &[Preflight]),
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        let Judging { settings, scopes, .. } = judging;
        let base = self.commits.required_snapshot(&pull.base_tip).await?;
        let head = self.commits.required_snapshot(&pull.head).await?;
        // The head's changes against the tip include those of a merge, and may be more.
        let there = self.planner.scopes_with(scopes, &head.tree, settings).await?;
        let of = TouchFacts { base: &*base.tree, head: &*head.tree, remarks };
        let mut known = Vec::new();
        let touches_any = loop {
            match touches(of, &known) {
                DecisionStep::Decided(touches) => break touches,
                DecisionStep::Ask(need) => {
                    if self.changes(need, [&base, &head], (settings, &there)).await? {
                        break true;
                    }
                    known.push(need);
                }
            }
        };
        if !touches_any {
            return Ok(Some(untouched()));
        }
        let Some(comparison) = self.merges.comparison(pull, seen).await? else { return Ok(None) };
        let judging = Judging { scopes: &there, ..judging };
        let to_tell = (remarks, preflights);
        Ok(Some(self.judge_comparison(pull, comparison, judging, to_tell, &mut seen.components).await?))
    }

    /// Whether the second snapshot changes what a question is about.
    async fn changes(
        self,
        what: TouchNeed,
        [before, after]: [&Snapshot; 2],
        (settings, scopes): (&RepositorySettings, &Scopes),
    ) -> Result<bool, SyncError> {
        let (planner, before, after) = (self.planner, &before.tree, &after.tree);
        Ok(match what {
            TouchNeed::Targets => !planner.touched(before, after, scopes).await?.is_empty(),
            TouchNeed::Classes => !planner.touched_through_classes(before, after, settings).await?.is_empty(),
            TouchNeed::Releases => !planner.judge_releases(before, after, settings).await?.changed.is_empty(),
            TouchNeed::Inventory => planner.inventory_change(before, after, settings).await?.is_some(),
        })
    }

    pub(super) async fn judge_comparison(
        self,
        pull: &CheckSubject,
        comparison: Comparison,
        judging: Judging<'_>,
        (remarks, preflights): (&Remarks, &[Preflight]),
        components: &mut SuppliedComponents,
    ) -> Result<CheckReport, SyncError> {
        let Judging { settings, scopes, reporters, .. } = judging;
        let touched = self.planner.touched(&comparison.before, &comparison.after, scopes).await?;
        let users =
            self.planner.touched_through_classes(&comparison.before, &comparison.after, settings).await?;
        let (clusters, left_out) = to_judge(touched, users, scopes);
        let named = few(clusters.iter().map(|cluster| cluster.to_string()), TRACED, "more");
        tracing::Span::current().record("cluster", list(&named));
        let changes_settings = changes_settings(&comparison);
        let of = PartsFacts {
            comparison: &comparison,
            changes_settings,
            settings,
            remarks,
            preflights,
            clusters: &clusters,
            left_out: left_out.as_ref(),
        };
        let mut parts = Parts::default();
        let mut opened = None;
        while let Some(need) = next_part(of, &parts) {
            match need {
                PartsNeed::NewSettings => {
                    parts.new_settings = Some(match self.planner.open(&comparison.after).await {
                        Ok(fleet) => {
                            let (settings, scopes) = (fleet.settings().clone(), fleet.scopes());
                            opened = Some(fleet);
                            Ok(NewSettings { settings, scopes })
                        }
                        Err(NotOpened::Settings(problem)) => Err(problem),
                        Err(NotOpened::Failed(error)) => return Err(error),
                    });
                }
                PartsNeed::SettingsOutlook => {
                    let Some(fleet) = opened.take() else { break };
                    let new = fleet.settings().clone();
                    let campaigns = self.campaigns.judge(&*comparison.after, fleet, settings).await?;
                    let supplies = components.supplies();
                    let outlook =
                        self.outlooks.settings_outlook(&comparison, judging, &new, &supplies).await?;
                    parts.settings_outlook = Some((campaigns, outlook));
                }
                PartsNeed::Releases => {
                    let releases =
                        self.planner.judge_releases(&comparison.before, &comparison.after, settings);
                    parts.releases = Some(releases.await?);
                }
                PartsNeed::ReleaseOutlook(changed) => {
                    let supplies = components.supplies();
                    let outlook =
                        self.outlooks.release_outlook(&comparison, judging, changed, &supplies).await?;
                    parts.release_outlook = Some(outlook);
                }
                PartsNeed::Inventory => {
                    parts.inventory = Some(self.outlooks.inventory_outlook(&comparison, judging).await?);
                }
            }
        }
        let Some(WholeParts { mut judged, under }) = put_together(of, parts) else {
            return Ok(untouched());
        };
        if !remarks.upgrades.is_empty() {
            judged.carried = carried(&comparison, remarks).await?;
        }
        let judged_tree = Arc::clone(&comparison.after);
        let made = comparison.clone();
        let today = self.planner.today;
        let live = live_names(reporters, preflights);
        let judge = move |planner: &dyn Planner, supplies: &Arc<Supplies>| {
            let one = |settings: &RepositorySettings| {
                let (before, after) = (comparison.before.clone(), comparison.after.clone());
                let by = JudgedBy { settings, clusters: &clusters, live: &live, supplies, today };
                planner.judge(before, after, by)
            };
            under.iter().map(one).collect::<Result<Vec<_>, _>>()
        };
        let by_settings = self.judge_supplied(Arc::new(judge), components).await?;
        settle(&mut judged, by_settings, remarks, (&*made.before, &*made.after));
        judged.head_files = self.head_files(pull, &judged_tree, annotated_files(&judged)).await?;
        Ok(with_buttons(check(&judged), remarks))
    }

    /// Judges, and again once the components are known that judging lacked, or it is known why they are not.
    async fn judge_supplied(
        self,
        judge: Arc<Judge>,
        components: &mut SuppliedComponents,
    ) -> Result<Vec<Vec<JudgedCluster>>, SyncError> {
        let ask = async |supplies: Arc<Supplies>| -> Result<Vec<Vec<JudgedCluster>>, SyncError> {
            let judge = Arc::clone(&judge);
            Ok(self.planner.ask(move |planner| judge(planner, &supplies)).await??)
        };
        let judged = ask(Arc::default()).await?;
        let of_set = |judged: &JudgedCluster| {
            let set = judged.cluster.clone();
            let wanted = judged.unasked.iter().cloned();
            wanted.map(|wanted| (set.clone(), wanted)).collect::<Vec<_>>()
        };
        let wanted: BTreeSet<(ClusterId, MissingComponents)> =
            judged.iter().flatten().flat_map(of_set).collect();
        if wanted.is_empty() {
            return Ok(judged);
        }
        match self.components.supply(wanted, components).await? {
            Some(supplies) => ask(supplies).await,
            None => Ok(judged),
        }
    }

    /// These files of the head, where they differ from the judged ones: changes of the base branch move
    /// lines.
    async fn head_files(
        self,
        pull: &CheckSubject,
        judged: &Arc<dyn Tree>,
        files: BTreeSet<RepoPath>,
    ) -> Result<BTreeMap<RepoPath, HeadFile>, SyncError> {
        let head = self.commits.required_snapshot(&pull.head).await?.tree;
        let judged = Arc::clone(judged);
        let compare = move || {
            let file =
                |path: RepoPath| Some((path.clone(), head_file(judged.as_ref(), head.as_ref(), &path)?));
            files.into_iter().filter_map(file).collect()
        };
        Ok(tokio::task::spawn_blocking(compare).await?)
    }
}

/// The upgrades of a proposal, and people's changes of them on its branch.
async fn carried(comparison: &Comparison, remarks: &Remarks) -> Result<Carried, SyncError> {
    let upgrades: Vec<Arc<Upgrade>> = remarks.upgrades.values().cloned().collect();
    if !remarks.is_edited {
        return Ok(Carried { upgrades, edited: None });
    }
    let (before, after) = (Arc::clone(&comparison.before), Arc::clone(&comparison.after));
    let compare = move || {
        let edited = edited_files(before.as_ref(), after.as_ref(), &upgrades);
        Carried { upgrades, edited: Some(edited) }
    };
    Ok(tokio::task::spawn_blocking(compare).await?)
}
