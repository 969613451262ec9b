//! GitHub, Git, the database and a planner of a few lines, in memory: for deaths at every single call,
//! which no real server could give so exactly. Only what people see is asserted, never calls.

mod github;
pub(super) mod toy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use capstan_bot::sync::{Ports, SyncError, Synced, sync_repository};
use capstan_model::tree::{BlobId, CommitId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::command::{CommentId, Push};
use capstan_plan::proposal::{ProposalId, Review, Sidebar, trailer_value};
use capstan_ports::*;
use capstan_report::{BlockKey, TickedBoxes};
use capstan_test_support::tally;

use self::toy::Toy;

pub(super) type Files = BTreeMap<String, String>;

/// A commit with this file is too large to be read.
pub(super) const TOO_LARGE: &str = "too/large";

#[derive(Clone)]
pub(super) struct Commit {
    pub(super) files: Files,
    pub(super) parents: Vec<CommitId>,
    pub(super) message: String,
}

/// When the process dies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Death {
    /// Just before the write counted so, from 0.
    Before(usize),
    /// Just after it, without having seen the answer.
    After(usize),
}

/// When people do something while the bot works.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// Before the tip of `main` is read.
    Tip,
    /// Before a branch is written.
    Reference,
    /// Before one pull request is read.
    PullRequest,
    /// Before an issue is opened.
    Issue,
    /// Before an issue is written, after it was read.
    IssueEdit,
}

/// What people do, and when.
pub(super) type Meanwhile = (Moment, fn(&World));

#[derive(Default)]
pub(super) struct State {
    pub(super) commits: BTreeMap<String, Commit>,
    pub(super) trees: BTreeMap<String, Files>,
    pub(super) branches: BTreeMap<String, CommitId>,
    pub(super) pulls: Vec<PullRequest>,
    pub(super) reviews: BTreeMap<u64, MergeQueueState>,
    /// Issues without the pull requests, each with who changed its body, oldest first.
    pub(super) issues: Vec<(Issue, Vec<TextEdit>)>,
    pub(super) dashboard: Option<KnownDashboard>,
    /// The reviews of each pull request.
    pub(super) opinions: BTreeMap<u64, Vec<Review>>,
    pub(super) comments: Vec<PlacedComment>,
    pub(super) permissions: BTreeMap<String, Permission>,
    /// Teams with their members.
    pub(super) teams: BTreeSet<(String, String)>,
    /// What moved branches, newest last.
    pub(super) pushes: Vec<(String, Push)>,
    /// Comments that were edited.
    pub(super) edited: BTreeSet<CommentId>,
    pub(super) refused: BTreeMap<String, RefusedWrite>,
    pub(super) checks: Vec<(NewCheckRun, u64)>,
    pub(super) reactions: Vec<(CommentId, Reaction)>,
    /// How often the reactions to a comment were read.
    pub(super) reactions_read: usize,
    pub(super) proposals: BTreeMap<ProposalId, ProposalRecord>,
    pub(super) check_records: BTreeMap<String, CheckRecord>,
    pub(super) answered: BTreeSet<CommentId>,
    /// Edits of issues that deliveries reported, and that no run has received yet.
    pub(super) ticked: Vec<Ticks>,
    /// Deliveries do not come.
    pub(super) deaf: bool,
    pub(super) campaign: BTreeMap<String, (String, String)>,
    pub(super) now: i64,
    pub(super) writes: Vec<&'static str>,
    pub(super) death: Option<Death>,
    /// What people do just before the tip of `main` is read, or just before a branch is written.
    pub(super) meanwhile: Option<Meanwhile>,
    /// Pull requests for which GitHub answers with this status. One with 404 is not listed either.
    pub(super) trouble: BTreeMap<u64, u16>,
}

#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

fn id(content: &str) -> String {
    let digest = capstan_model::digest::digest(&[content]);
    format!("{digest}{}", "0".repeat(40 - digest.len()))
}

/// The process died. Of all errors this one ends a run at once and without a word.
fn gone(doing: &str) -> CodeHostError {
    CodeHostError::RateLimited { doing: format!("{doing}: the process died"), retry_after: Duration::ZERO }
}

impl World {
    /// A repository with these files on `main`.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        tally::count(tally::Cost::World, 1);
        let world = Self(Arc::new(Mutex::new(State { now: 1_800_000_000, ..State::default() })));
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let commit = world.commit(files, vec![], "Begin");
        world.state().branches.insert("main".to_owned(), commit);
        world
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn commit(&self, files: Files, parents: Vec<CommitId>, message: &str) -> CommitId {
        let commit = Commit { files, parents, message: message.to_owned() };
        let commit_id =
            CommitId::parse(&id(&format!("{:?}{:?}{message}", commit.files, commit.parents))).unwrap();
        self.state().commits.insert(commit_id.to_string(), commit);
        commit_id
    }

    /// A person pushes to a branch: `None` removes the file.
    pub(super) fn push(&self, branch: &str, changes: &[(&str, Option<&str>)]) {
        let head = self.state().branches[branch].clone();
        let mut files = self.state().commits[head.as_str()].files.clone();
        for (path, text) in changes {
            match text {
                Some(text) => files.insert((*path).to_owned(), (*text).to_owned()),
                None => files.remove(*path),
            };
        }
        let commit = self.commit(files, vec![head], "A person's commit");
        self.state().now += 1;
        self.move_to(branch, &commit, "grace");
    }

    /// Moves a branch, and records who did it and when, as GitHub does.
    fn move_to(&self, branch: &str, commit: &CommitId, actor: &str) {
        let mut state = self.state();
        let at = jiff::Timestamp::from_second(state.now).unwrap();
        let push = Push { after: commit.clone(), actor: Some(actor.to_owned()), at };
        state.pushes.push((branch.to_owned(), push));
        state.branches.insert(branch.to_owned(), commit.clone());
    }

    pub(super) fn file(&self, branch: &str, path: &str) -> Option<String> {
        let state = self.state();
        state.commits[state.branches.get(branch)?.as_str()].files.get(path).cloned()
    }

    pub(super) fn open_pulls(&self) -> Vec<PullRequest> {
        self.pulls().into_iter().filter(|pull| pull.state == PullRequestState::Open).collect()
    }

    pub(super) fn pulls(&self) -> Vec<PullRequest> {
        let there: Vec<usize> = {
            let state = self.state();
            let vanished = |index: &usize| state.trouble.get(&(*index as u64 + 1)) == Some(&404);
            (0..state.pulls.len()).filter(|index| !vanished(index)).collect()
        };
        there.into_iter().map(|index| self.shown(index)).collect()
    }

    /// A pull request as GitHub shows it now.
    fn shown(&self, index: usize) -> PullRequest {
        let mut pull = self.state().pulls[index].clone();
        if pull.state == PullRequestState::Open {
            let (head, base) = {
                let state = self.state();
                (state.branches[&pull.head_branch].clone(), state.branches[&pull.base_branch].clone())
            };
            pull.head = head.clone();
            pull.base = base.clone();
            let merged = self.merge_files(&base, &head);
            pull.mergeable = Some(merged.is_some());
            pull.merge_commit = merged.map(|files| self.commit(files, vec![base, head], "Test merge"));
        }
        pull
    }

    fn ancestors(&self, commit: &CommitId) -> Vec<String> {
        let state = self.state();
        let mut found = vec![commit.to_string()];
        let mut at = 0;
        while at < found.len() {
            let parents: Vec<String> =
                state.commits[&found[at]].parents.iter().map(ToString::to_string).collect();
            found.extend(parents);
            at += 1;
        }
        found
    }

    fn merge_files(&self, base: &CommitId, head: &CommitId) -> Option<Files> {
        let of_base = self.ancestors(base);
        let common = self.ancestors(head).into_iter().find(|commit| of_base.contains(commit))?;
        let state = self.state();
        let (old, ours, theirs) = (
            &state.commits[&common].files,
            &state.commits[base.as_str()].files,
            &state.commits[head.as_str()].files,
        );
        let mut merged = Files::new();
        let paths: BTreeSet<&String> = old.keys().chain(ours.keys()).chain(theirs.keys()).collect();
        for path in paths {
            let (o, b, h) = (old.get(path), ours.get(path), theirs.get(path));
            let content = if b == h || o == h {
                b
            } else if o == b {
                h
            } else {
                return None;
            };
            if let Some(content) = content {
                merged.insert(path.clone(), content.clone());
            }
        }
        Some(merged)
    }

    pub(super) fn merge(&self, number: u64) {
        let index = usize::try_from(number).unwrap() - 1;
        let pull = self.shown(index);
        let commit = pull.merge_commit.clone().unwrap();
        let mut state = self.state();
        state.branches.insert(pull.base_branch.clone(), commit);
        state.pulls[index] = PullRequest { state: PullRequestState::Merged, ..pull };
    }

    pub(super) fn close(&self, number: u64) {
        let index = usize::try_from(number).unwrap() - 1;
        let pull = self.shown(index);
        self.state().pulls[index] = PullRequest { state: PullRequestState::Closed, ..pull };
    }

    pub(super) fn open_pull(&self, branch: &str, changes: &[(&str, Option<&str>)]) -> u64 {
        let tip = self.state().branches["main"].clone();
        self.state().branches.insert(branch.to_owned(), tip);
        self.push(branch, changes);
        self.insert_pull("ada", branch, "main", "Mine", "", false).number
    }

    fn insert_pull(
        &self,
        author: &str,
        head: &str,
        base: &str,
        title: &str,
        body: &str,
        draft: bool,
    ) -> PullRequest {
        let mut state = self.state();
        let number = state.pulls.len() as u64 + 1;
        let pull = PullRequest {
            number,
            state: PullRequestState::Open,
            title: title.to_owned(),
            body: body.to_owned(),
            author: author.to_owned(),
            draft,
            head_branch: head.to_owned(),
            head: state.branches[head].clone(),
            head_in_repository: true,
            base_branch: base.to_owned(),
            base: state.branches[base].clone(),
            stack: None,
            merge_commit: None,
            mergeable: None,
            auto_merge: false,
            sidebar: Sidebar::default(),
            created_at: jiff::Timestamp::from_second(state.now).unwrap(),
            closed_at: None,
            merged_by: None,
            html_url: String::new(),
            node_id: number.to_string(),
        };
        state.pulls.push(pull.clone());
        pull
    }

    pub(super) fn comment(&self, number: u64, author: &str, body: &str) -> u64 {
        let mut state = self.state();
        state.now += 1;
        let id = state.comments.len() as u64 + 1;
        let at = jiff::Timestamp::from_second(state.now).unwrap();
        let comment = Comment {
            id: CommentId::Comment(id),
            author: author.to_owned(),
            by_bot: author.ends_with("[bot]"),
            body: body.to_owned(),
            created_at: at,
            updated_at: at,
            verdicts: None,
            node_id: format!("IC_{id}"),
        };
        state.comments.push(PlacedComment { number, on_pull_request: true, comment });
        id
    }

    /// A person, perhaps not the author, edits a comment `seconds` after it was written.
    pub(super) fn edit(&self, comment: u64, body: &str, seconds: i64) {
        let mut state = self.state();
        state.edited.insert(CommentId::Comment(comment));
        let edited = &mut state.comments[usize::try_from(comment).unwrap() - 1].comment;
        edited.body = body.to_owned();
        edited.updated_at = edited.created_at + jiff::SignedDuration::from_secs(seconds);
    }

    pub(super) fn answers(&self, number: u64) -> Vec<String> {
        let state = self.state();
        let ours = state.comments.iter().filter(|c| c.number == number && c.comment.by_bot);
        ours.map(|c| c.comment.body.clone()).collect()
    }

    pub(super) fn check_on(&self, number: u64) -> Option<NewCheckRun> {
        let head = self.shown(usize::try_from(number).unwrap() - 1).head;
        let state = self.state();
        state.checks.iter().rfind(|(check, _)| check.head == head).map(|(check, _)| check.clone())
    }

    pub(super) fn lose_database(&self) {
        let mut state = self.state();
        state.proposals.clear();
        state.check_records.clear();
        state.answered.clear();
        state.refused.clear();
        state.campaign.clear();
        state.dashboard = None;
    }

    /// A person changes an issue.
    pub(super) fn change_issue(&self, number: u64, by: &str, edit: &IssueEdit) {
        let mut state = self.state();
        state.now += 1;
        let at = jiff::Timestamp::from_second(state.now).unwrap();
        let (issue, edits) = state.issues.iter_mut().find(|(issue, _)| issue.number == number).unwrap();
        issue.title = edit.title.clone().unwrap_or_else(|| issue.title.clone());
        issue.state = edit.state.unwrap_or(issue.state);
        if let Some(body) = &edit.body {
            let boxes = TickedBoxes::between(&issue.body, body);
            issue.body.clone_from(body);
            edits.push(TextEdit { by: Some(by.to_owned()), by_bot: by.ends_with("[bot]"), at });
            let told = boxes.filter(|_| !by.ends_with("[bot]") && !state.deaf);
            state.ticked.extend(told.map(|boxes| Ticks { at, by: by.to_owned(), boxes }));
        }
    }

    pub(super) fn writes_since(&self, mark: usize) -> Vec<&'static str> {
        self.state().writes[mark..].to_vec()
    }

    pub(super) fn ports(&self) -> Ports {
        Ports {
            host: Arc::new(self.clone()),
            mirror: Arc::new(self.clone()),
            records: Arc::new(self.clone()),
            clock: Arc::new(self.clone()),
            planner: Arc::new(Toy),
            key: BlockKey::derive(b"test"),
            reconcilers: None,
            components: None,
            webhooks: None,
        }
    }

    pub(super) async fn try_sync(&self) -> Result<Synced, SyncError> {
        let hints = Hints { ticks: std::mem::take(&mut self.state().ticked), ..Hints::default() };
        sync_repository(&self.ports(), &repository(), &hints).await
    }

    pub(super) async fn sync(&self) {
        let synced = self.try_sync().await.unwrap();
        assert!(matches!(synced, Synced::Done), "{synced:?}");
    }

    fn meanwhile(&self, moment: Moment) {
        let act = self.state().meanwhile.take_if(|(at, _)| *at == moment);
        if let Some((_, act)) = act {
            act(self);
        }
    }

    /// A pull request is nowhere any more.
    pub(super) fn vanish(&self, number: u64) {
        self.state().trouble.insert(number, 404);
    }

    /// Whether GitHub answers for a pull request as it should.
    fn reach(&self, number: u64) -> Result<(), CodeHostError> {
        let doing = format!("reading pull request {number}");
        match self.state().trouble.get(&number) {
            None => Ok(()),
            Some(404) => Err(CodeHostError::NotFound { doing }),
            Some(status) => Err(CodeHostError::Unexpected { doing, status: *status, reason: String::new() }),
        }
    }

    /// Performs a write unless the process dies first; dies after it where that was asked for.
    fn write<T>(&self, what: &'static str, effect: impl FnOnce() -> T) -> Result<T, CodeHostError> {
        let (count, death) = {
            let mut state = self.state();
            state.writes.push(what);
            (state.writes.len() - 1, state.death)
        };
        match death {
            Some(Death::Before(at)) if at <= count => Err(gone(what)),
            Some(Death::After(at)) if at <= count => {
                if at == count {
                    effect();
                }
                Err(gone(what))
            }
            _ => Ok(effect()),
        }
    }
}

pub(super) fn repository() -> Repository {
    Repository {
        id: 7,
        installation: 1,
        name: RepositoryName::parse("acme/gitops").unwrap(),
        default_branch: "main".to_owned(),
        archived: false,
        fork: false,
        node_id: "R_7".to_owned(),
        clone_url: "http://127.0.0.1/acme/gitops.git".to_owned(),
        html_url: "http://127.0.0.1/acme/gitops".to_owned(),
    }
}

#[async_trait]
impl Mirror for World {
    async fn snapshot(
        &self,
        _: &Repository,
        _: &secrecy::SecretString,
        commit: &CommitId,
    ) -> Result<Snapshot, MirrorError> {
        let found = self.state().commits[commit.as_str()].clone();
        if found.files.contains_key(TOO_LARGE) {
            return Err(MirrorError::TooLarge { commit: commit.clone(), reason: "it is huge".to_owned() });
        }
        let root = TreeId::parse(&id(&format!("{:?}", found.files))).unwrap();
        self.state().trees.insert(root.to_string(), found.files.clone());
        let trailer = |key| trailer_value(&found.message, key).map(str::to_owned);
        Ok(Snapshot {
            commit: commit.clone(),
            root,
            parents: found.parents.clone(),
            trailers: CommitTrailers {
                source: trailer("Capstan-Source"),
                plan: trailer("Capstan-Plan"),
                seal: trailer("Capstan-Seal"),
            },
            tree: Arc::new(MemoryTree::new(found.files)),
        })
    }
    async fn snapshot_of_file(
        &self,
        _: &Repository,
        commit: &CommitId,
        file: &RepoPath,
    ) -> Result<Snapshot, MirrorError> {
        let found = self.state().commits[commit.as_str()].clone();
        let files: Files = found.files.into_iter().filter(|(path, _)| path == file.as_str()).collect();
        Ok(Snapshot {
            commit: commit.clone(),
            root: TreeId::parse(&id("too large")).unwrap(),
            parents: found.parents,
            trailers: CommitTrailers::default(),
            tree: Arc::new(MemoryTree::new(files)),
        })
    }
    async fn folder(&self, _: &Repository, _: &TreeId) -> Result<Option<Arc<dyn Tree>>, MirrorError> {
        Ok(None)
    }
    async fn file(&self, _: &Repository, _: &BlobId) -> Result<Option<Arc<[u8]>>, MirrorError> {
        Ok(None)
    }
}

struct MemoryTree {
    entries: Vec<TreeEntry>,
    files: Files,
}

impl MemoryTree {
    fn new(files: Files) -> Self {
        let entry = |(path, text): (&String, &String)| TreeEntry {
            path: RepoPath::parse(path).unwrap(),
            kind: EntryKind::File,
            blob: BlobId::parse(&id(text)).unwrap(),
        };
        Self { entries: files.iter().map(entry).collect(), files }
    }
}

impl Tree for MemoryTree {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }
    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        Ok(self.files[entry.path.as_str()].as_bytes().into())
    }
    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        let inside: Vec<_> =
            self.files.iter().filter(|(path, _)| path.starts_with(&format!("{folder}/"))).collect();
        (!inside.is_empty()).then(|| TreeId::parse(&id(&format!("{inside:?}"))).unwrap())
    }
}

#[async_trait]
impl Records for World {
    async fn proposals(&self, _: u64) -> Result<Vec<ProposalRecord>, RecordsError> {
        Ok(self.state().proposals.values().cloned().collect())
    }
    async fn save_proposal(&self, record: &ProposalRecord) -> Result<(), RecordsError> {
        self.state().proposals.insert(record.proposal.clone(), record.clone());
        Ok(())
    }
    async fn forget_proposal(&self, _: u64, proposal: &ProposalId) -> Result<(), RecordsError> {
        self.state().proposals.remove(proposal);
        Ok(())
    }
    async fn check(&self, _: u64, head: &CommitId, _: &str) -> Result<Option<CheckRecord>, RecordsError> {
        Ok(self.state().check_records.get(head.as_str()).cloned())
    }
    async fn is_set_up(&self, _: u64) -> Result<bool, RecordsError> {
        Ok(!self.state().campaign.is_empty())
    }
    async fn save_check(&self, record: &CheckRecord) -> Result<(), RecordsError> {
        self.state().check_records.insert(record.head.to_string(), record.clone());
        Ok(())
    }
    async fn is_comment_answered(&self, _: u64, comment: CommentId) -> Result<bool, RecordsError> {
        Ok(self.state().answered.contains(&comment))
    }
    async fn save_comment_answered(&self, _: u64, comment: CommentId) -> Result<(), RecordsError> {
        self.state().answered.insert(comment);
        Ok(())
    }
    async fn save_order_answered(&self, _: &str) -> Result<(), RecordsError> {
        Ok(())
    }
    async fn arrivals(&self, _: u64, _: jiff::Timestamp) -> Result<Arrivals, RecordsError> {
        Ok(Arrivals { ticks: self.state().ticked.clone(), ..Arrivals::default() })
    }
    async fn wait_for_arrivals(&self, at_most: Duration) {
        tokio::time::sleep(at_most).await;
    }
    async fn refused_writes(&self, _: u64) -> Result<Vec<RefusedWrite>, RecordsError> {
        Ok(self.state().refused.values().cloned().collect())
    }
    async fn save_refused_write(&self, write: &RefusedWrite) -> Result<(), RecordsError> {
        self.state().refused.insert(write.what.clone(), write.clone());
        Ok(())
    }
    async fn forget_refused_write(&self, _: u64, what: &str) -> Result<(), RecordsError> {
        self.state().refused.remove(what);
        Ok(())
    }
    async fn dashboard(&self, _: u64) -> Result<Option<KnownDashboard>, RecordsError> {
        Ok(self.state().dashboard.clone())
    }
    async fn save_dashboard(&self, known: &KnownDashboard) -> Result<(), RecordsError> {
        self.state().dashboard = Some(known.clone());
        Ok(())
    }
    async fn save_campaigns(&self, _: u64, campaigns: &[CampaignRecord]) -> Result<(), RecordsError> {
        let rows = campaigns.iter().flat_map(|campaign| {
            campaign.targets.iter().map(|row| {
                let proposal = ProposalId { target: row.target.clone(), kind: campaign.kind.clone() };
                (proposal.to_string(), (row.state.as_str().to_owned(), row.reason.clone()))
            })
        });
        self.state().campaign = rows.collect();
        Ok(())
    }
    async fn save_details(
        &self,
        _: u64,
        _: &[(ProposalId, capstan_report::TargetDetail)],
    ) -> Result<(), RecordsError> {
        Ok(())
    }
    async fn save_progress(&self, _: u64, _: &[CampaignProgress]) -> Result<(), RecordsError> {
        Ok(())
    }
    async fn audit(&self, _: &AuditEntry) -> Result<(), RecordsError> {
        Ok(())
    }
}

impl Clock for World {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::from_second(self.state().now).unwrap()
    }
}
