//! What one head changes, and the report on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capstan_bot_core::checks::{
    Comparison, ComparisonAnswers, ComparisonFacts, ComparisonNeed, NewSettings, Parts, PartsFacts,
    PartsNeed, Subject, WholeParts, changes_settings, compare, edited_files, head_file, next_part,
    put_together, settle, to_judge, with_buttons,
};
use capstan_bot_core::facts::{Scopes, settings_file};
use capstan_bot_core::proposals::{Remarks, Step};
use capstan_live::agent::preflight::Preflight;
use capstan_model::ids::ClusterId;
use capstan_model::tree::{RepoPath, Tree};
use capstan_model::wording::{few, list};
use capstan_plan::proposal::ResultDigest;
use capstan_plan::settings::RepositorySettings;
use capstan_plan::upgrade::Upgrade;
use capstan_providers::{Supplies, Wanted};
use capstan_report::{
    Carried, CheckReport, HeadFile, JudgedCluster, JudgedReleases, MergeBasis, annotated_files, check,
    untouched,
};

use super::super::components::SuppliedComponents;
use super::super::reporters::live_names;
use super::super::{NotOpened, Planner, PlannerFailed, Run, SyncError};
use super::Judging;
use capstan_fleet::planner::JudgedBy;
use capstan_ports::{PullRequest, Snapshot};

/// Clusters named in a trace.
const TRACED: usize = 20;
/// How long GitHub is left to compute a test merge.
const POLL_EVERY: Duration = Duration::from_millis(300);

/// What the checks of a run know so far: components that were supplied, and the comparison that was made last, so that
/// several questions about one head ask GitHub once.
#[derive(Default)]
pub(in super::super) struct Comparisons {
    pub(in super::super) components: SuppliedComponents,
    last: Option<(Subject, Comparison)>,
}

impl Comparisons {
    pub(in super::super) const fn with(components: SuppliedComponents) -> Self {
        Self { components, last: None }
    }

    fn of(&self, pull: &Subject) -> Option<Comparison> {
        let is_it = |known: &Subject| {
            known.pull == pull.pull && known.head == pull.head && known.base_branch == pull.base_branch
        };
        Some(self.last.as_ref().filter(|(known, _)| is_it(known))?.1.clone())
    }
}

/// Judges two snapshots, under each of the settings that count.
type Judge =
    dyn Fn(&dyn Planner, &Arc<Supplies>) -> Result<Vec<Vec<JudgedCluster>>, PlannerFailed> + Send + Sync;

impl Run<'_> {
    /// Judges a head; `None` while GitHub computes its test merge.
    pub(super) async fn judge(
        &self,
        pull: &Subject,
        judging: Judging<'_>,
        (remarks, preflights): (&Remarks, &[Preflight]),
        seen: &mut Comparisons,
    ) -> Result<Option<CheckReport>, SyncError> {
        let Judging { settings, scopes, .. } = judging;
        let base = self.base_of(pull).await?;
        let head = self.required_snapshot(&pull.head).await?;
        let settings_blob = |tree: &dyn Tree| settings_file(tree).map(|entry| entry.blob.clone());
        // The head's changes against the tip include those of a merge, and may be more.
        let there = self.scopes_with(scopes, &head, settings).await?;
        let same_settings = settings_blob(&*base.tree) == settings_blob(&*head.tree);
        if same_settings
            && remarks.says_nothing()
            && self.touched(&base.tree, &head.tree, &there).await?.is_empty()
            && self.touched_through_classes(&base.tree, &head.tree, settings).await?.is_empty()
            && self.judge_releases(&base.tree, &head.tree, settings).await?.changed.is_empty()
            && self.inventory_change(&base.tree, &head.tree, settings).await?.is_none()
        {
            return Ok(Some(untouched()));
        }
        let Some(comparison) = self.comparison(pull, seen).await? else { return Ok(None) };
        let judging = Judging { scopes: &there, ..judging };
        let to_tell = (remarks, preflights);
        Ok(Some(self.judge_comparison(pull, comparison, judging, to_tell, &mut seen.components).await?))
    }

    /// The clusters that a merge of a head would change, including those that it adds, and their inputs after
    /// it. Changes of the default branch since the head was made do not count. `None` while GitHub computes
    /// its test merge.
    pub(in super::super) async fn touched_by_merge_of(
        &self,
        pull: &Subject,
        (settings, scopes): (&RepositorySettings, &Scopes),
        seen: &mut Comparisons,
    ) -> Result<Option<(Vec<ClusterId>, Comparison)>, SyncError> {
        let base = self.base_of(pull).await?;
        let head = self.required_snapshot(&pull.head).await?;
        let there = self.scopes_with(scopes, &head, settings).await?;
        if self.touched(&base.tree, &head.tree, &there).await?.is_empty() {
            let basis = MergeBasis::Merge;
            let commit = pull.head.clone();
            let (before, after) = (base.tree, head.tree);
            let nothing = Comparison { before, base: base.commit, after, commit, basis };
            return Ok(Some((Vec::new(), nothing)));
        }
        let Some(comparison) = self.comparison(pull, seen).await? else { return Ok(None) };
        let clusters = self.touched(&comparison.before, &comparison.after, &there).await?;
        Ok(Some((clusters, comparison)))
    }

    pub(super) async fn judge_comparison(
        &self,
        pull: &Subject,
        comparison: Comparison,
        judging: Judging<'_>,
        (remarks, preflights): (&Remarks, &[Preflight]),
        components: &mut SuppliedComponents,
    ) -> Result<CheckReport, SyncError> {
        let Judging { settings, scopes, reporters, .. } = judging;
        let touched = self.touched(&comparison.before, &comparison.after, scopes).await?;
        let users = self.touched_through_classes(&comparison.before, &comparison.after, settings).await?;
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
                    parts.new_settings = Some(match self.open_snapshot(&comparison.after).await {
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
                    let campaigns = self.judge_campaigns(&*comparison.after, fleet, settings).await?;
                    let supplies = components.supplies();
                    let outlook = self.settings_outlook(&comparison, judging, &new, &supplies).await?;
                    parts.settings_outlook = Some((campaigns, outlook));
                }
                PartsNeed::Releases => {
                    let releases = self.judge_releases(&comparison.before, &comparison.after, settings);
                    parts.releases = Some(releases.await?);
                }
                PartsNeed::ReleaseOutlook(changed) => {
                    let supplies = components.supplies();
                    let outlook = self.release_outlook(&comparison, judging, changed, &supplies).await?;
                    parts.release_outlook = Some(outlook);
                }
                PartsNeed::Inventory => {
                    parts.inventory = Some(self.inventory_outlook(&comparison, judging).await?);
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
        let today = self.facts.today;
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
        &self,
        judge: Arc<Judge>,
        components: &mut SuppliedComponents,
    ) -> Result<Vec<Vec<JudgedCluster>>, SyncError> {
        let ask = async |supplies: Arc<Supplies>| -> Result<Vec<Vec<JudgedCluster>>, SyncError> {
            let judge = Arc::clone(&judge);
            Ok(self.ask_planner(move |planner| judge(planner, &supplies)).await??)
        };
        let judged = ask(Arc::default()).await?;
        let of_set = |judged: &JudgedCluster| {
            let set = judged.cluster.clone();
            let wanted = judged.unasked.iter().cloned();
            wanted.map(|wanted| (set.clone(), wanted)).collect::<Vec<_>>()
        };
        let wanted: BTreeSet<(ClusterId, Wanted)> = judged.iter().flatten().flat_map(of_set).collect();
        if wanted.is_empty() {
            return Ok(judged);
        }
        match self.supply_components(wanted, components).await? {
            Some(supplies) => ask(supplies).await,
            None => Ok(judged),
        }
    }

    /// What a merge of a pull request would change. The outer `None`: GitHub is still computing its test
    /// merge; the inner one: it conflicts with its base.
    pub(in super::super) async fn result_of(
        &self,
        pull: &PullRequest,
        seen: &mut Comparisons,
    ) -> Result<Option<Option<ResultDigest>>, SyncError> {
        let subject = self.subject(pull).await?;
        let Some(comparison) = self.comparison(&subject, seen).await? else { return Ok(None) };
        Ok(Some(match comparison.basis {
            MergeBasis::Merge => Some(ResultDigest::of(&*comparison.before, &*comparison.after)),
            MergeBasis::HeadAlone | MergeBasis::BehindTip => None,
        }))
    }

    /// These files of the head, where they differ from the judged ones: changes of the base branch move
    /// lines.
    async fn head_files(
        &self,
        pull: &Subject,
        judged: &Arc<dyn Tree>,
        files: BTreeSet<RepoPath>,
    ) -> Result<BTreeMap<RepoPath, HeadFile>, SyncError> {
        let head = self.required_snapshot(&pull.head).await?.tree;
        let judged = Arc::clone(judged);
        let compare = move || {
            let file =
                |path: RepoPath| Some((path.clone(), head_file(judged.as_ref(), head.as_ref(), &path)?));
            files.into_iter().filter_map(file).collect()
        };
        Ok(tokio::task::spawn_blocking(compare).await?)
    }

    /// The releases that differ, and what the rules find in releases.
    async fn judge_releases(
        &self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<JudgedReleases, SyncError> {
        let (settings, today) = (settings.clone(), self.facts.today);
        let (before, after) = (before.clone(), after.clone());
        let judge = move |planner: &dyn Planner| planner.judge_releases(before, after, &settings, today);
        Ok(self.ask_planner(judge).await??)
    }

    /// The clusters that use a ClusterClass of another folder that the second snapshot changes.
    async fn touched_through_classes(
        &self,
        before: &Arc<dyn Tree>,
        after: &Arc<dyn Tree>,
        settings: &RepositorySettings,
    ) -> Result<Vec<ClusterId>, SyncError> {
        let (settings, before, after) = (settings.clone(), before.clone(), after.clone());
        let touched = move |planner: &dyn Planner| planner.touched_through_classes(before, after, &settings);
        Ok(self.ask_planner(touched).await??)
    }

    /// What a merge would change; `None` while GitHub computes its test merge.
    pub(in super::super) async fn comparison(
        &self,
        pull: &Subject,
        seen: &mut Comparisons,
    ) -> Result<Option<Comparison>, SyncError> {
        let base = self.base_of(pull).await?;
        let head = self.required_snapshot(&pull.head).await?;
        let of = ComparisonFacts { subject: pull, base: &base, head: &head };
        let mut known = ComparisonAnswers::default();
        let need = match compare(of, &known) {
            Step::Decided(found) => return Ok(found),
            Step::Ask(need) => need,
        };
        if let Some(last) = seen.of(pull) {
            return Ok(Some(last));
        }
        self.learn_of_merge(pull, need, &mut known).await?;
        let found = loop {
            match compare(of, &known) {
                Step::Decided(found) => break found,
                Step::Ask(need) => self.learn_of_merge(pull, need, &mut known).await?,
            }
        };
        if let Some(comparison) = &found {
            seen.last = Some((pull.clone(), comparison.clone()));
        }
        Ok(found)
    }

    /// Answers a question about the merge of a head.
    async fn learn_of_merge(
        &self,
        pull: &Subject,
        need: ComparisonNeed,
        known: &mut ComparisonAnswers,
    ) -> Result<(), SyncError> {
        let host = &self.ports.host;
        match need {
            ComparisonNeed::ForkPoint => {
                known.fork = Some(host.fork_point(self.repository, &pull.base_tip, &pull.head).await?);
            }
            ComparisonNeed::Pull | ComparisonNeed::PullLater => {
                if need == ComparisonNeed::PullLater {
                    tokio::time::sleep(POLL_EVERY).await;
                }
                let number = pull.pull.unwrap_or_default();
                known.reads.push(host.pull_request(self.repository, number).await?);
            }
            ComparisonNeed::Snapshot(commit) => known.snapshots.push(self.required_snapshot(&commit).await?),
            ComparisonNeed::SeenBase => known.seen_base = Some(self.snapshot(&pull.seen_base).await?),
        }
        Ok(())
    }

    /// The tip of the base branch of a pull request.
    pub(super) async fn base_of(&self, pull: &Subject) -> Result<Snapshot, SyncError> {
        if pull.base_tip == self.facts.base.commit {
            return Ok(self.facts.base.clone());
        }
        self.required_snapshot(&pull.base_tip).await
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
