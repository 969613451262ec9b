//! Preflights: the answers of live clusters about a merge, before it is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_bot_core::checks::{
    Asked, Comparison, Preflights, Subject, Trust, is_asked, is_same_question, live_inputs, trust, trust_in,
};
use capstan_bot_core::effects::{CHECK, KeptReport};
use capstan_bot_core::facts::{Reporters, target_in};
use capstan_bot_core::planned::Planned;
use capstan_bot_core::proposals::Step;
use capstan_bot_core::requests::Request;
use capstan_kustomize::render::Folders;
use capstan_live::agent::preflight::{AskWish, AskedBefore, MachinesSince, Preflight, Standing};
use capstan_live::agent::{PreflightId, PreflightState};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::{ManagementClusterUid, RepositorySettings};
use capstan_report::{Answer, MergeBasis, PreflightAnswered, Refusal, preflight_answer};
use jiff::SignedDuration;
use ulid::Ulid;

use super::checks::{Comparisons, Judging};
use super::{Run, SyncError};
use crate::agents::{Reconcilers, content};
use capstan_fleet::planner::{Planner, PlannerFailed};
use capstan_ports::{CodeHostError, Permission, PreflightRecord, PullRequest};

/// The question to a live cluster.
struct LiveQuestion<'a> {
    asker: Asker<'a>,
    /// The commit to try.
    commit: CommitId,
    clusters: Vec<ClusterId>,
    /// Digest of the clusters' inputs in that commit.
    content: String,
    /// State of their rollouts.
    standing: String,
}

/// What a live cluster is asked about.
#[derive(Clone, Copy)]
enum Asker<'a> {
    /// The head of a pull request.
    Pull(&'a PullRequest),
    /// The head of a merge group.
    MergeGroup(&'a CommitId),
}

impl Asker<'_> {
    const fn head(&self) -> &CommitId {
        match self {
            Self::Pull(pull) => &pull.head,
            Self::MergeGroup(head) => head,
        }
    }
}

/// Claimed clusters with their folders, by management cluster, with its name.
type Concerned = BTreeMap<ManagementClusterUid, (String, BTreeMap<ClusterId, Folders>)>;

impl Run<'_> {
    /// The live clusters' answers about the merge result of a head; asks them if they were not asked yet.
    /// `None` while GitHub computes its test merge.
    ///
    /// Heads of merge groups are handled as those of pull requests are. Reconcilers apply only the default
    /// branch, so they are not asked about changes of another one. They are not asked about a conflict
    /// either: there is no merge, and the head alone will never be applied.
    pub(super) async fn preflights(
        self,
        subjects: &[Subject],
        open: &[PullRequest],
        judging: Judging<'_>,
        seen: &mut Comparisons,
    ) -> Result<Option<Preflights>, SyncError> {
        const NONE: Option<Preflights> = Some(Preflights::NONE);
        let Judging { settings, scopes, reporters, .. } = judging;
        let Some(Reconcilers { records, .. }) = &self.ports.reconcilers else { return Ok(NONE) };
        if reporters.managed_by.is_empty() {
            return Ok(NONE);
        }
        let default_branch = &self.repository.default_branch;
        let to_be_applied = |subject: &&Subject| subject.base_branch == *default_branch;
        let Some(subject) = subjects.iter().find(to_be_applied) else { return Ok(NONE) };
        let asker = match subject.pull {
            None => Asker::MergeGroup(&subject.head),
            Some(number) => match open.iter().find(|pull| pull.number == number) {
                Some(pull) => Asker::Pull(pull),
                None => return Ok(NONE),
            },
        };
        let touched = self.touched_by_merge_of(subject, (settings, scopes), seen).await?;
        let Some((touched, merge)) = touched else {
            return Ok(None);
        };
        let concerned = self.concerned_by_merge(reporters, &touched, &merge, settings).await?;
        if concerned.is_empty() {
            return Ok(NONE);
        }
        // A test merge with an older tip: GitHub makes another one.
        let is_older = merge.basis == MergeBasis::Merge && merge.base != self.facts.base.commit;
        let mut preflights = Preflights { all: Vec::new(), is_settled: !is_older };
        let known = records.preflights_of_head(self.repository.id, asker.head()).await?;
        for (uid, (name, folders)) in concerned {
            let clusters: Vec<ClusterId> = folders.keys().cloned().collect();
            let way = (merge.basis, default_branch.as_str());
            let mode = settings.preflight.mode;
            let standing = match is_asked(reporters, (&name, &uid), way, &clusters, mode) {
                Asked::Silently => None,
                Asked::No(why) => Some(Standing::NotAsked(why)),
                Asked::Yes => {
                    let tree = Arc::clone(&merge.after);
                    let folders: Vec<Folders> = folders.into_values().collect();
                    let made_of = move |planner: &dyn Planner| {
                        let made_of = planner.made_of(tree, &folders)?;
                        Ok::<_, PlannerFailed>(content(&folders.into_iter().zip(made_of).collect::<Vec<_>>()))
                    };
                    let content = self.ask_planner(made_of).await??;
                    let question = LiveQuestion {
                        asker,
                        commit: merge.commit.clone(),
                        standing: reporters.standing_of(&clusters),
                        clusters: clusters.clone(),
                        content,
                    };
                    let known = known.iter().find(|known| known.management_cluster.is(uid.as_str()));
                    let (standing, is_settled) = self.ask(question, settings, &uid, known).await?;
                    preflights.is_settled &= is_settled;
                    Some(standing)
                }
            };
            preflights.all.extend(standing.map(|standing| Preflight {
                management_cluster: name,
                clusters,
                standing,
            }));
        }
        Ok(Some(preflights))
    }

    /// The claimed clusters among those that a merge touches, by management cluster, with their folders in
    /// the merge. A cluster whose folder is removed is not included: nothing is applied from a folder that
    /// does not exist.
    async fn concerned_by_merge(
        self,
        reporters: &Reporters,
        touched: &[ClusterId],
        merge: &Comparison,
        settings: &RepositorySettings,
    ) -> Result<Concerned, SyncError> {
        let mut concerned = Concerned::new();
        if touched.is_empty() {
            return Ok(concerned);
        }
        for scope in self.scopes_of(&merge.after, settings).await? {
            let Some(cluster) = scope.target.id().filter(|id| touched.contains(id)) else { continue };
            let Some(owner) = reporters.managed_by.owner_of(&scope.target) else { continue };
            let folders = scope.folders();
            let of_owner = concerned.entry(owner.uid.clone());
            let (_, clusters) = of_owner.or_insert_with(|| (owner.name.clone(), BTreeMap::new()));
            clusters.insert(cluster.clone(), folders);
        }
        Ok(concerned)
    }

    /// What the live clusters' part of a head's report depends on, besides base and head; `None` where that
    /// may change by itself.
    pub(super) async fn live_inputs(
        self,
        reporters: &Reporters,
        head: &CommitId,
    ) -> Result<Option<String>, SyncError> {
        let Some(Reconcilers { records, .. }) = &self.ports.reconcilers else {
            return Ok(Some(String::new()));
        };
        if reporters.managed_by.is_empty() {
            return Ok(Some(String::new()));
        }
        let known = records.preflights_of_head(self.repository.id, head).await?;
        Ok(live_inputs(reporters, &known, self.ports.clock.now()))
    }

    /// The answer to `preflight`: who is asked for which clusters, and why the others have nobody to ask.
    pub(super) async fn preflight_text(
        self,
        request: &Request,
        planned: Planned<'_>,
    ) -> Result<Answer, SyncError> {
        let Some(pull) = &request.pull else {
            let text = "This is an issue: comment on a pull request.\n";
            return Ok(Answer::refused(Refusal::NothingThere, text));
        };
        let default_branch = &self.repository.default_branch;
        let Planned { settings, scopes, plans, reporters, .. } = planned;
        let subject = self.subject(pull).await?;
        if subject.base_branch != *default_branch {
            return Ok(preflight_answer(&PreflightAnswered::OtherBranch { default_branch }));
        }
        let mut seen = Comparisons::default();
        let touched = self.touched_by_merge_of(&subject, (settings, scopes), &mut seen).await?;
        let Some((touched, _)) = touched else {
            return Ok(preflight_answer(&PreflightAnswered::NotYet));
        };
        let judging = Judging { settings, scopes, reporters, plans: Some(plans) };
        let asked = self.preflights(&[subject], &self.facts.open, judging, &mut seen).await?;
        let Some(asked) = asked else {
            return Ok(preflight_answer(&PreflightAnswered::NotYet));
        };
        let mut unclaimed = Vec::new();
        let mut not_enrolled = BTreeMap::new();
        for cluster in touched {
            match reporters.managed_by.owner_of(&target_in(scopes, &cluster)) {
                None => unclaimed.push(cluster),
                Some(owner) if !reporters.is_enrolled(&owner.uid) => {
                    not_enrolled.insert(owner.name.as_str(), owner.uid.as_str());
                }
                Some(_) => {}
            }
        }
        let mode = settings.preflight.mode;
        let preflights = &asked.all;
        Ok(preflight_answer(&PreflightAnswered::Told { preflights, mode, not_enrolled, unclaimed }))
    }

    /// A live cluster's answer to a question, and whether it is final: GitHub may have an answer soon that it
    /// does not have yet.
    async fn ask(
        self,
        question: LiveQuestion<'_>,
        settings: &RepositorySettings,
        uid: &ManagementClusterUid,
        known: Option<&PreflightRecord>,
    ) -> Result<(Standing, bool), SyncError> {
        let Some(Reconcilers { records, notifier }) = &self.ports.reconcilers else {
            return Ok((Standing::Unanswered, true));
        };
        let now = self.ports.clock.now();
        let head = question.asker.head();
        let before = known.map(|known| AskedBefore {
            state: &known.state,
            asked_at: known.asked_at,
            until: known.until,
            machines: if known.standing == question.standing {
                MachinesSince::AsThen
            } else {
                MachinesSince::MovedOn
            },
        });
        // A job that is put off gets the same hint again: a question that was asked just now is not repeated.
        let is_wished = self.hints.heads.iter().any(|hinted| hinted == head.as_str())
            && before.is_some_and(|before| !before.is_fresh(now))
            && !self.is_under_way(head).await?;
        let wish = if is_wished { AskWish::Anew } else { AskWish::AsItIs };
        let before = before.filter(|_| {
            known.is_some_and(|known| is_same_question(known, &question.clusters, &question.content))
        });
        if let Some(standing) = before.and_then(|before| before.standing(wish, now)) {
            return Ok((standing, true));
        }
        let trust = match question.asker {
            Asker::Pull(pull) => self.trust(pull).await?,
            // Only people with write access can queue, and the queue merges next.
            Asker::MergeGroup(_) => Trust::Yes,
        };
        let (state, standing) = match trust {
            Trust::Yes => (PreflightState::Asked, Standing::Asked),
            Trust::No(why) => (PreflightState::NotAsked(why.clone()), Standing::NotAsked(why)),
            Trust::NotYet(why) => return Ok((Standing::NotAsked(why), false)),
        };
        let Ok(id) = PreflightId::parse(&Ulid::generate().to_string()) else {
            return Ok((Standing::Unanswered, true));
        };
        let timeout = SignedDuration::from_secs(i64::from(settings.preflight.timeout_seconds));
        let record = PreflightRecord {
            id,
            repository: self.repository.id,
            head: head.clone(),
            commit: question.commit,
            content: question.content,
            standing: question.standing,
            management_cluster: uid.clone(),
            clusters: question.clusters,
            asked_at: now,
            until: now + timeout,
            state,
        };
        records.save_preflight(&record).await?;
        notifier.notify();
        Ok((standing, true))
    }

    /// Whether the check on a head was reported without a conclusion: then the repeated question is under
    /// way.
    async fn is_under_way(&self, head: &CommitId) -> Result<bool, SyncError> {
        let record = self.ports.records.check(self.repository.id, head, CHECK).await?;
        Ok(record.is_some_and(|record| KeptReport::read(&record.content).output.is_pending()))
    }

    /// Whether a live cluster may be asked about a head.
    async fn trust(self, pull: &PullRequest) -> Result<Trust, SyncError> {
        let host = &self.ports.host;
        let pushes = match pull.head_in_repository {
            false => None,
            true => match host.pushes(self.repository, &pull.head_branch).await {
                Ok(pushes) => Some(pushes),
                Err(CodeHostError::NotFound { .. } | CodeHostError::Forbidden { .. }) => None,
                Err(error) => return Err(error.into()),
            },
        };
        let own = if pushes.is_some() { host.bot_login().await? } else { String::new() };
        let actor = match trust(pull, pushes.as_deref(), &own) {
            Step::Decided(trust) => return Ok(trust),
            Step::Ask(actor) => actor,
        };
        let permission = match host.permission(self.repository, &actor).await {
            Ok(permission) => permission,
            Err(CodeHostError::NotFound { .. }) => Permission::None,
            Err(error) => return Err(error.into()),
        };
        Ok(trust_in(&actor, permission))
    }
}
