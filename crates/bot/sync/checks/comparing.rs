//! What a merge of a head changes, as GitHub's own test merge shows it.

use std::time::Duration;

use capstan_bot_core::checks::{
    CheckSubject, Comparison, ComparisonAnswers, ComparisonFacts, ComparisonNeed, compare,
};
use capstan_bot_core::proposals::DecisionStep;
use capstan_plan::proposal::ResultDigest;
use capstan_report::MergeBasis;

use super::super::SyncError;
use super::super::commits::Commits;
use super::super::components::SuppliedComponents;
use super::subjects::CheckSubjects;
use capstan_ports::{CodeHost, PullRequest};

/// How long GitHub is left to compute a test merge.
const POLL_EVERY: Duration = Duration::from_millis(300);

/// What the checks of a run know so far: components that were supplied, and the comparison that was made last, so that
/// several questions about one head ask GitHub once.
#[derive(Default)]
pub(in super::super) struct Comparisons {
    pub(in super::super) components: SuppliedComponents,
    last: Option<(CheckSubject, Comparison)>,
}

impl Comparisons {
    pub(in super::super) const fn with(components: SuppliedComponents) -> Self {
        Self { components, last: None }
    }

    fn of(&self, pull: &CheckSubject) -> Option<Comparison> {
        let is_it = |known: &CheckSubject| {
            known.pull == pull.pull && known.head == pull.head && known.base_branch == pull.base_branch
        };
        Some(self.last.as_ref().filter(|(known, _)| is_it(known))?.1.clone())
    }
}

/// Reads test merges.
#[derive(Clone, Copy)]
pub(in super::super) struct TestMerges<'a> {
    pub(in super::super) host: &'a dyn CodeHost,
    pub(in super::super) commits: Commits<'a>,
    pub(in super::super) subjects: CheckSubjects<'a>,
}

impl TestMerges<'_> {
    /// What a merge of a pull request would change. The outer `None`: GitHub is still computing its test
    /// merge; the inner one: it conflicts with its base.
    pub(in super::super) async fn result_of(
        self,
        pull: &PullRequest,
        seen: &mut Comparisons,
    ) -> Result<Option<Option<ResultDigest>>, SyncError> {
        let subject = self.subjects.subject(pull).await?;
        let Some(comparison) = self.comparison(&subject, seen).await? else { return Ok(None) };
        Ok(Some(match comparison.basis {
            MergeBasis::Merge => Some(ResultDigest::of(&*comparison.before, &*comparison.after)),
            MergeBasis::HeadAlone | MergeBasis::BehindTip => None,
        }))
    }

    /// What a merge would change; `None` while GitHub computes its test merge.
    pub(in super::super) async fn comparison(
        self,
        pull: &CheckSubject,
        seen: &mut Comparisons,
    ) -> Result<Option<Comparison>, SyncError> {
        let base = self.commits.required_snapshot(&pull.base_tip).await?;
        let head = self.commits.required_snapshot(&pull.head).await?;
        let of = ComparisonFacts { subject: pull, base: &base, head: &head };
        let mut known = ComparisonAnswers::default();
        let need = match compare(of, &known) {
            DecisionStep::Decided(found) => return Ok(found),
            DecisionStep::Ask(need) => need,
        };
        if let Some(last) = seen.of(pull) {
            return Ok(Some(last));
        }
        self.learn_of_merge(pull, need, &mut known).await?;
        let found = loop {
            match compare(of, &known) {
                DecisionStep::Decided(found) => break found,
                DecisionStep::Ask(need) => self.learn_of_merge(pull, need, &mut known).await?,
            }
        };
        if let Some(comparison) = &found {
            seen.last = Some((pull.clone(), comparison.clone()));
        }
        Ok(found)
    }

    /// Answers a question about the merge of a head.
    async fn learn_of_merge(
        self,
        pull: &CheckSubject,
        need: ComparisonNeed,
        known: &mut ComparisonAnswers,
    ) -> Result<(), SyncError> {
        let (host, repository) = (self.host, &self.commits.facts.repository);
        match need {
            ComparisonNeed::ForkPoint => {
                known.fork = Some(host.fork_point(repository, &pull.base_tip, &pull.head).await?);
            }
            ComparisonNeed::Pull | ComparisonNeed::PullLater => {
                if need == ComparisonNeed::PullLater {
                    tokio::time::sleep(POLL_EVERY).await;
                }
                let number = pull.pull.unwrap_or_default();
                known.reads.push(host.pull_request(repository, number).await?);
            }
            ComparisonNeed::Snapshot(commit) => {
                known.snapshots.push(self.commits.required_snapshot(&commit).await?)
            }
            ComparisonNeed::SeenBase => known.seen_base = Some(self.commits.snapshot(&pull.seen_base).await?),
        }
        Ok(())
    }

    /// What a subject is judged by.
    pub(super) async fn basis(
        self,
        subject: &CheckSubject,
        seen: &mut Comparisons,
    ) -> Result<MergeBasis, SyncError> {
        let comparison = self.comparison(subject, seen).await?;
        Ok(comparison.map_or(MergeBasis::BehindTip, |comparison| comparison.basis))
    }
}
