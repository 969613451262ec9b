//! A repository for tests: the facts from GitHub, Git and the records, and its plans, each in one line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_campaign::membership::WaveCandidate;
use capstan_campaign::settings::CampaignSettings;
use capstan_facts::{
    AuditEntry, BranchHead, Comment, CommitTrailers, ProposalRecord, PullRequest, PullRequestState,
    RefusedWrite, Repository, RepositoryName, Snapshot,
};
use capstan_live::agent::RolloutReport;
use capstan_model::file_change::FileChange;
use capstan_model::finding::FileError;
use capstan_model::ids::ClusterId;
use capstan_model::source::{SourceId, SourceKind};
use capstan_model::target::Target;
use capstan_model::tree::{CommitId, MadeTree, RepoPath, TreeId};
use capstan_plan::command::{Address, CommentId, Hearing, Right, parse};
use capstan_plan::proposal::{
    Decisions, Drafted, OnHold, PlanDigest, ProposalCommand as Wish, ProposalId, ReleasesOrigin, RollBack,
    Scope, Sidebar, SourceState, TitleDigest,
};
use capstan_plan::settings::{CommandPrefix, RepositorySettings, read_campaigns};
use capstan_plan::upgrade::{Retarget, Upgrade};
use capstan_report::{Answer, Block, BlockKey, BlockPart, BlockPlace, DashboardRecord};
use jiff::Timestamp;
use jiff::civil::{Date, date};

use crate::commands::{AnswerContext, CommandAnswer, RollBacks, part};
use crate::effects::Effect;
use crate::facts::{BranchNames, Facts, Gathered, Reporters, Scopes, TargetPlans};
use crate::planned::PlannedRun;
use crate::proposals::Outcome;
use crate::requests::{
    AskedClusters, CommandAuthor, DashboardWrite, Ground, Request, RequestOrigin, RunDecisions,
};

pub(crate) const TODAY: Date = date(2026, 3, 2);
pub(crate) const V21: &str = "aws/v21.0.0";
pub(crate) const V22: &str = "aws/v22.0.0";

pub(crate) fn now() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

pub(crate) fn key() -> BlockKey {
    BlockKey::derive(b"secret")
}

/// The proposal that brings a target to a newer release.
pub(crate) fn id(target: &str) -> ProposalId {
    ProposalId::of_release(Target::parse(target).unwrap())
}

pub(crate) fn commit(letter: char) -> CommitId {
    CommitId::parse(&letter.to_string().repeat(40)).unwrap()
}

pub(crate) fn source(release: &str) -> SourceState {
    SourceState::parse(&format!("{release}@{}", "a".repeat(40))).unwrap()
}

pub(crate) fn release(path: &str) -> SourceId {
    SourceId::new(SourceKind::RELEASE, path)
}

/// An upgrade that writes one file of its target's base.
pub(crate) fn upgrade(target: &str, from: &str, to: &str) -> Upgrade {
    let path = RepoPath::parse(&format!("{target}/base/a.yaml")).unwrap();
    let file = FileChange { path, before: Some(from.to_owned()), after: Some(to.to_owned()) };
    Upgrade {
        from: Some(release(from)),
        to: Some(release(to)),
        files: vec![file],
        ..Upgrade::nothing(Target::parse(target).unwrap())
    }
}

pub(crate) fn repository() -> Repository {
    Repository {
        id: 7,
        installation: 1,
        name: RepositoryName::parse("acme/fleet").unwrap(),
        default_branch: "main".to_owned(),
        archived: false,
        fork: false,
        node_id: String::new(),
        clone_url: String::new(),
        html_url: String::new(),
    }
}

/// An open pull request of this repository, on a branch.
pub(crate) fn pull(number: u64, branch: &str, head: char) -> PullRequest {
    PullRequest {
        number,
        state: PullRequestState::Open,
        title: String::new(),
        body: String::new(),
        author: "capstan[bot]".to_owned(),
        draft: false,
        head_branch: branch.to_owned(),
        head: commit(head),
        head_in_repository: true,
        base_branch: "main".to_owned(),
        base: commit('0'),
        stack: None,
        merge_commit: None,
        mergeable: None,
        auto_merge: false,
        sidebar: Sidebar::default(),
        created_at: now(),
        closed_at: None,
        merged_by: None,
        html_url: String::new(),
        node_id: String::new(),
    }
}

/// The block of a proposal that offers that release.
pub(crate) fn block(number: u64, proposal: &ProposalId, offered: &str) -> Block {
    Block {
        repository: 7,
        pull_request: Some(number),
        target: proposal.target.clone(),
        source: source(offered),
        plan: PlanDigest::of(&[]),
        text: String::new(),
        retarget: Retarget::Refused,
        decisions: Decisions::default(),
        drafted: Drafted::No,
        title: Some(TitleDigest::of("Upgrade")),
        sidebar: Sidebar::default(),
        closed_by: None,
        parts: Vec::new(),
        after: None,
        previous: Vec::new(),
    }
}

/// A cluster that shares a pull request.
pub(crate) fn carried(target: &str) -> BlockPart {
    BlockPart {
        target: Target::parse(target).unwrap(),
        place: BlockPlace::Carried,
        retarget: Retarget::Refused,
        decisions: Decisions::default(),
    }
}

/// A tree of these files.
pub(crate) fn tree(files: &[(&str, &str)]) -> MadeTree {
    let file = |(path, text): &(&str, &str)| (RepoPath::parse(path).unwrap(), Ok(Arc::from(text.as_bytes())));
    MadeTree::of(files.iter().map(file).collect())
}

pub(crate) fn snapshot(commit: CommitId, files: &[(&str, &str)]) -> Snapshot {
    Snapshot {
        commit,
        root: TreeId::parse(&"e".repeat(40)).unwrap(),
        parents: Vec::new(),
        trailers: CommitTrailers::default(),
        tree: Arc::new(tree(files)),
    }
}

/// The request of a comment with these lines, on a pull request if there is one.
pub(crate) fn comment(comment: u64, by: &str, on: Option<&PullRequest>, text: &str) -> Request {
    let prefix = CommandPrefix::default();
    let commands = parse(Address { prefix: &prefix, app: None }, text);
    let origin = RequestOrigin::Comment(Comment {
        id: CommentId::Comment(comment),
        author: by.to_owned(),
        by_bot: false,
        body: text.to_owned(),
        created_at: now(),
        updated_at: now(),
        verdicts: Some(0),
        node_id: String::new(),
    });
    let given = CommandAuthor { by, at: now(), right: Right::Write, hearing: Hearing::Obeyed };
    Request::new(origin, on.map_or(99, |pull| pull.number), on.cloned(), given, commands)
}

/// The request of a ticked box of the dashboard.
pub(crate) fn tick(
    at: usize,
    by: &str,
    about: &ProposalId,
    pull: Option<&PullRequest>,
    text: &str,
) -> Request {
    let asked = comment(0, by, pull, text);
    Request { origin: RequestOrigin::Tick { at, about: Some(about.clone()) }, ..asked }
}

/// The result of a command that rolls back.
pub(crate) type FoundRollBack = Result<(ProposalId, RollBack), String>;

/// A repository with its plans.
#[derive(Clone, Default)]
pub(crate) struct Case {
    pub(crate) open: Vec<PullRequest>,
    pub(crate) branches: Vec<BranchHead>,
    pub(crate) records: Vec<ProposalRecord>,
    pub(crate) refused: Vec<RefusedWrite>,
    pub(crate) files: Vec<(&'static str, &'static str)>,
    pub(crate) beyond_limits: Option<FileError>,
    pub(crate) fork: bool,
    pub(crate) settings: RepositorySettings,
    pub(crate) plans: TargetPlans,
    pub(crate) scopes: Scopes,
    pub(crate) origin: Option<ReleasesOrigin>,
    pub(crate) reporters: Reporters,
    pub(crate) retargeted: BTreeSet<ProposalId>,
    pub(crate) candidates: BTreeMap<ClusterId, WaveCandidate>,
    pub(crate) record: DashboardRecord,
    pub(crate) no_dashboard: Option<String>,
    pub(crate) rollbacks: Vec<(Request, usize, FoundRollBack)>,
}

impl Case {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A target that may be written.
    pub(crate) fn target(mut self, target: &str) -> Self {
        let target = Target::parse(target).unwrap();
        let folder = target.folder().unwrap().clone();
        let base = folder.join("base").unwrap();
        let overlay = folder.join("overlay").unwrap();
        let scope = Scope { target: target.clone(), base, overlay, retarget: Retarget::Refused };
        self.scopes.insert(target, scope);
        self
    }

    /// A target with that plan.
    pub(crate) fn plan(mut self, target: &str, plan: Result<Upgrade, &str>) -> Self {
        let plan = plan.map(Arc::new).map_err(str::to_owned);
        self.plans.insert(id(target), plan);
        self.target(target)
    }

    /// A cluster at v21 that is offered v22.
    pub(crate) fn offered(self, target: &str) -> Self {
        self.plan(target, Ok(upgrade(target, V21, V22)))
    }

    /// A cluster at v22, with no newer release.
    pub(crate) fn current(self, target: &str) -> Self {
        let nothing = Upgrade::nothing(Target::parse(target).unwrap());
        self.plan(target, Ok(Upgrade { from: Some(release(V22)), ..nothing }))
    }

    /// The open pull request of a proposal that offers v22.
    pub(crate) fn proposed(self, number: u64, target: &str, head: char) -> Self {
        let block = block(number, &id(target), V22);
        self.proposed_with(number, target, head, block)
    }

    pub(crate) fn proposed_with(mut self, number: u64, target: &str, head: char, block: Block) -> Self {
        let branch = id(target).branch();
        self.branches.push(BranchHead { branch: branch.clone(), commit: commit(head) });
        let body = format!("Text.\n\n{}", block.render(&key()));
        // GitHub lists the newest first.
        self.open.insert(0, PullRequest { body, ..pull(number, &branch, head) });
        self
    }

    /// The open pull request that these clusters share.
    pub(crate) fn shared(self, number: u64, group: &str, head: char, members: &[&str]) -> Self {
        let parts = members.iter().map(|member| carried(member)).collect();
        let block = Block { parts, ..block(number, &id(group), V22) };
        self.proposed_with(number, group, head, block)
    }

    /// A person's pull request.
    pub(crate) fn persons(mut self, number: u64, head: char) -> Self {
        let pull = PullRequest { author: "ada".to_owned(), ..pull(number, "topic", head) };
        self.open.insert(0, pull);
        self
    }

    pub(crate) fn settings(mut self, set: impl FnOnce(&mut RepositorySettings)) -> Self {
        set(&mut self.settings);
        self
    }

    pub(crate) fn facts(&self) -> Facts {
        Facts::from(Gathered {
            repository: Repository { fork: self.fork, ..repository() },
            key: key(),
            today: TODAY,
            base: snapshot(commit('0'), &self.files),
            beyond_limits: self.beyond_limits.clone(),
            names: BranchNames { kinds: vec![SourceKind::RELEASE, SourceKind::INVENTORY], long: Vec::new() },
            branches: self.branches.clone(),
            merge_groups: Some(Vec::new()),
            open: self.open.clone(),
            records: self.records.clone(),
            refusals: self.refused.iter().cloned().collect(),
        })
    }

    /// Earlier decisions, with those of these requests.
    pub(crate) fn decided(&self, facts: &Facts, requests: &[Request]) -> RunDecisions {
        let ground = Ground { facts, scopes: &self.scopes, settings: &self.settings };
        let mut decided = RunDecisions::before(facts, &self.record, self.no_dashboard.clone());
        let mut rollbacks = RollBacks::default();
        for (request, at, found) in &self.rollbacks {
            rollbacks.note(request, *at, found.clone());
        }
        decided.hear_releases(ground, requests, &rollbacks);
        decided.hear(ground, requests, &self.plans);
        decided
    }

    /// Calls `look` with the plans after these requests.
    pub(crate) fn heard<T>(&self, requests: &[Request], look: impl FnOnce(PlannedRun<'_>) -> T) -> T {
        let facts = self.facts();
        let decided = self.decided(&facts, requests);
        look(PlannedRun {
            facts: &facts,
            settings: &self.settings,
            scopes: &self.scopes,
            plans: &self.plans,
            retargeted: &self.retargeted,
            origin: self.origin.as_ref(),
            reporters: &self.reporters,
            decided: &decided,
            clusters: &AskedClusters::default(),
            candidates: &self.candidates,
        })
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(PlannedRun<'_>) -> T) -> T {
        self.heard(&[], look)
    }
}

/// Two campaigns: `prod` of releases for AWS, in a first wave with one cluster and one with the others, and
/// `test`.
pub(crate) fn campaigns() -> Vec<CampaignSettings> {
    read_campaigns(
        "campaigns:
- name: prod
  releases: [\"aws/*\"]
  waves:
  - name: canary
    match: {clusters: [\"*/peu01\"]}
  - name: rest
    match: {clusters: [\"gauss/*\", \"kiel/*\"]}
- name: test
  releases: [\"test/*\"]
  waves:
  - name: all
    match: {clusters: [\"**\"]}
",
    )
    .unwrap()
}

/// The newest report on a cluster, from a reconciler that applies it.
pub(crate) fn report(cluster: &str, state: &str, applied: char, wanted: u32) -> RolloutReport {
    serde_json::from_value(serde_json::json!({
        "id": "01JQ0000000000000000000000",
        "repository": "acme/fleet",
        "cluster": cluster,
        "attempted": commit(applied).as_str(),
        "applied": commit(applied).as_str(),
        "state": state,
        "observed_at": "2026-03-01T00:00:00Z",
        "wanted": wanted,
    }))
    .unwrap()
}

/// Two clusters that are offered v22, of which the first has its own pull request, #3, and a person's, #9.
pub(crate) fn town() -> Case {
    Case::new().offered("gauss/peu01").offered("kiel/peu01").proposed(3, "gauss/peu01", 'a').persons(9, 'f')
}

pub(crate) fn open(case: &Case, number: u64) -> PullRequest {
    case.open.iter().find(|pull| pull.number == number).cloned().unwrap()
}

/// What was decided of a proposal, in words; empty where nothing was.
pub(crate) fn decided_of(decided: &RunDecisions, target: &str) -> String {
    let proposal = id(target);
    let Decisions { hold, skipped, release, rollback, overrides, settled, approvals } = decided.of(&proposal);
    let mut words = Vec::new();
    match decided.wish(&proposal) {
        Wish::None => {}
        wish => words.push(format!("wished {wish:?}")),
    }
    let until = |hold: &OnHold| hold.until.map_or_else(String::new, |until| format!(" until {until}"));
    words.extend(hold.map(|hold| format!("held by {}{}", hold.by, until(&hold))));
    words.extend(skipped.map(|one| format!("skipped {} by {}", one.source, one.by)));
    words.extend(release.map(|release| format!("asked for {release}")));
    words.extend(rollback.map(|back| format!("left {} by {}", back.leaves, back.by)));
    words.extend(overrides.iter().map(|one| format!("overrode {} of {}", one.rule, one.source)));
    words.extend(settled.iter().map(|one| format!("settled {}", one.path)));
    words.extend(approvals.iter().map(|one| format!("approved by {}", one.by)));
    if decided.is_new(&proposal) {
        words.push("new".to_owned());
    }
    words.join(", ")
}

/// Effects in words, one a line.
pub(crate) fn effects_in_words(effects: &[Effect]) -> Vec<String> {
    let words = |effect: &Effect| match effect {
        Effect::Audit(AuditEntry { proposal, actor, action, detail, .. }) => {
            let about = proposal.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            format!("audit {action} of {about} by {actor}: {detail}")
        }
        Effect::ForgetRefusal(what) => format!("forget {what}"),
        Effect::SaveRefusal(RefusedWrite { what, reason, not_before, .. }) => {
            format!("refused until {not_before}: {what}: {reason}")
        }
        Effect::Merge(of) => {
            let head = of.head.as_str().get(..4).unwrap_or_default();
            format!("#{} at {head}: {:?}", of.pull.number, of.call)
        }
        other => format!("{other:?}"),
    };
    effects.iter().map(words).collect()
}

/// The answers to all commands of a request; `#` before what the dashboard notes.
pub(crate) fn said_at_once(decided: &RunDecisions, request: &Request) -> String {
    let one = |at: usize| {
        let noted = if decided.is_in_dashboard(request, at) { "#" } else { "" };
        format!("{noted}{}", decided.answer(request, at).map(words).unwrap_or_default())
    };
    (0..request.commands.len()).map(one).collect::<Vec<_>>().join(" / ")
}

/// Ada's comment on a pull request, or on an issue if no pull request has that number.
fn comment_on(case: &Case, on: u64, text: &str) -> Request {
    let on = case.open.iter().find(|pull| pull.number == on).cloned();
    comment(1, "ada", on.as_ref(), text)
}

/// What a comment decides of a target, and what is said to it at once.
pub(crate) fn heard(case: &Case, on: u64, text: &str, target: &str) -> (String, String) {
    let request = comment_on(case, on, text);
    case.heard(std::slice::from_ref(&request), |planned| {
        (decided_of(planned.decided, target), said_at_once(planned.decided, &request))
    })
}

/// Rows of a comment, what it decides of a target, and what is said to it at once.
pub(crate) fn hears(case: &Case, (on, target): (u64, &str), rows: &[(&str, &str, &str)]) {
    for (text, decided, said) in rows {
        let found = heard(case, on, text, target);
        assert_eq!((found.0.as_str(), found.1.as_str()), (*decided, *said), "{text}");
    }
}

/// An answer, without the way to the page that explains it; `!` before a refusal, `=` before what the pull request shows.
pub(crate) fn words(answer: &Answer) -> String {
    let text = answer.text();
    let text = text.split(" See `capstan help ").next().unwrap_or_default().trim();
    let how = match () {
        () if answer.is_empty() => "",
        () if answer.is_refusal() => "!",
        () if answer.is_shown() => "=",
        () => "",
    };
    format!("{how}{text}")
}

/// What is said to the first command of a comment, or what that depends on.
pub(crate) fn answered(case: &Case, on: u64, text: &str, outcome: &Outcome) -> String {
    let request = comment_on(case, on, text);
    case.heard(std::slice::from_ref(&request), |planned| {
        let told = AnswerContext { planned, outcome, kept: &DashboardWrite::Done };
        match part(told, &request, 0, None) {
            CommandAnswer::Says(answer) => words(&answer),
            CommandAnswer::Asks(asks) => format!("? {asks:?}"),
        }
    })
}
