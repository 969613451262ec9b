//! GitHub, Git, the database and a planner of a few lines, in memory: for deaths at every single call,
//! which no real server could give so exactly. Only what people see is asserted, never calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use capstan::app::planner::{OpenFleet, Planner};
use capstan::app::ports::*;
use capstan::app::sync::{Ports, SyncError, Synced, sync_repository};
use capstan_domain::cluster::ClusterId;
use capstan_domain::finding::{Finding, Severity};
use capstan_domain::proposal::{Scope, trailer_value};
use capstan_domain::release::ReleaseId;
use capstan_domain::report::{BlockKey, JudgedCluster, Judgement};
use capstan_domain::settings::{REPOSITORY_FILE, RepositorySettings, RuleIds, SettingsError};
use capstan_domain::tree::{BlobId, CommitId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_domain::upgrade::{Basis, FileChange, Upgrade};
use jiff::civil::Date;

pub(super) type Files = BTreeMap<String, String>;

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

#[derive(Default)]
pub(super) struct State {
    pub(super) commits: BTreeMap<String, Commit>,
    pub(super) trees: BTreeMap<String, Files>,
    pub(super) branches: BTreeMap<String, CommitId>,
    pub(super) pulls: Vec<PullRequest>,
    pub(super) reviews: BTreeMap<u64, MergeQueueState>,
    pub(super) comments: Vec<PlacedComment>,
    pub(super) permissions: BTreeMap<String, Permission>,
    pub(super) checks: Vec<(NewCheckRun, u64)>,
    pub(super) reactions: Vec<(u64, Reaction)>,
    pub(super) proposals: BTreeMap<String, ProposalRecord>,
    pub(super) check_records: BTreeMap<String, CheckRecord>,
    pub(super) answered: BTreeSet<u64>,
    pub(super) campaign: BTreeMap<String, (String, String)>,
    pub(super) now: i64,
    pub(super) writes: Vec<&'static str>,
    pub(super) death: Option<Death>,
}

#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

fn id(content: &str) -> String {
    let digest = capstan_domain::report::digest(&[content]);
    format!("{digest}{}", "0".repeat(40 - digest.len()))
}

fn gone(doing: &str) -> CodeHostError {
    CodeHostError::Unreachable { doing: doing.to_owned(), reason: "the process died".to_owned() }
}

impl World {
    /// A repository with these files on `main`.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
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

    /// Somebody pushes to a branch: `None` removes the file.
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
        self.state().branches.insert(branch.to_owned(), commit);
    }

    pub(super) fn file(&self, branch: &str, path: &str) -> Option<String> {
        let state = self.state();
        state.commits[state.branches.get(branch)?.as_str()].files.get(path).cloned()
    }

    pub(super) fn open_pulls(&self) -> Vec<PullRequest> {
        self.pulls().into_iter().filter(|pull| pull.state == PullRequestState::Open).collect()
    }

    pub(super) fn pulls(&self) -> Vec<PullRequest> {
        let count = self.state().pulls.len();
        (0..count).map(|index| self.shown(index)).collect()
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
            merge_commit: None,
            mergeable: None,
            auto_merge: false,
            labels: vec![],
            created_at: jiff::Timestamp::from_second(state.now).unwrap(),
            closed_at: None,
            html_url: String::new(),
            node_id: number.to_string(),
        };
        state.pulls.push(pull.clone());
        pull
    }

    pub(super) fn comment(&self, number: u64, author: &str, body: &str) -> u64 {
        let mut state = self.state();
        let id = state.comments.len() as u64 + 1;
        let comment = Comment {
            id,
            author: author.to_owned(),
            by_bot: author.ends_with("[bot]"),
            body: body.to_owned(),
            created_at: jiff::Timestamp::from_second(state.now).unwrap(),
        };
        state.comments.push(PlacedComment { number, on_pull_request: true, comment });
        id
    }

    pub(super) fn answers(&self, number: u64) -> Vec<String> {
        let state = self.state();
        let ours = state.comments.iter().filter(|c| c.number == number && c.comment.by_bot);
        ours.map(|c| c.comment.body.clone()).collect()
    }

    pub(super) fn check_on(&self, number: u64) -> Option<NewCheckRun> {
        let head = self.shown(usize::try_from(number).unwrap() - 1).head;
        let state = self.state();
        let mut runs: Vec<_> = state.checks.iter().filter(|(check, _)| check.head == head).collect();
        assert!(runs.len() <= 1, "one check run a head");
        runs.pop().map(|(check, _)| check.clone())
    }

    pub(super) fn lose_database(&self) {
        let mut state = self.state();
        state.proposals.clear();
        state.check_records.clear();
        state.answered.clear();
        state.campaign.clear();
    }

    pub(super) fn writes_since(&self, mark: usize) -> Vec<&'static str> {
        self.state().writes[mark..].to_vec()
    }

    pub(super) async fn try_sync(&self) -> Result<Synced, SyncError> {
        let ports = Ports {
            host: Arc::new(self.clone()),
            mirror: Arc::new(self.clone()),
            records: Arc::new(self.clone()),
            clock: Arc::new(self.clone()),
            planner: Arc::new(Toy),
            key: BlockKey::derive(b"test"),
        };
        sync_repository(&ports, &repository(), &Hints::default()).await
    }

    pub(super) async fn sync(&self) {
        assert_eq!(self.try_sync().await.unwrap(), Synced::Done);
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
        node_id: "R_7".to_owned(),
        clone_url: "http://127.0.0.1/acme/gitops.git".to_owned(),
        html_url: "http://127.0.0.1/acme/gitops".to_owned(),
    }
}

#[async_trait]
impl CodeHost for World {
    async fn bot_login(&self) -> Result<String, CodeHostError> {
        Ok("capstan[bot]".to_owned())
    }
    async fn installations(&self) -> Result<Vec<Installation>, CodeHostError> {
        Ok(vec![Installation { id: 1, suspended: false }])
    }
    async fn repositories(&self, _: u64) -> Result<Vec<Repository>, CodeHostError> {
        Ok(vec![repository()])
    }
    async fn repository(&self, _: u64, _: &RepositoryName) -> Result<Repository, CodeHostError> {
        Ok(repository())
    }
    async fn git_token(&self, _: &Repository) -> Result<secrecy::SecretString, CodeHostError> {
        Ok("t".into())
    }
    async fn branch(&self, _: &Repository, branch: &str) -> Result<Option<CommitId>, CodeHostError> {
        Ok(self.state().branches.get(branch).cloned())
    }
    async fn branches(&self, _: &Repository, prefix: &str) -> Result<Vec<BranchHead>, CodeHostError> {
        let state = self.state();
        let heads = state.branches.iter().filter(|(branch, _)| branch.starts_with(prefix));
        Ok(heads
            .map(|(branch, commit)| BranchHead { branch: branch.clone(), commit: commit.clone() })
            .collect())
    }
    async fn pull_requests(&self, _: &Repository, prefix: &str) -> Result<Vec<PullRequest>, CodeHostError> {
        let mut pulls: Vec<_> =
            self.pulls().into_iter().filter(|p| p.head_branch.starts_with(prefix)).collect();
        pulls.reverse();
        Ok(pulls)
    }
    async fn open_pull_requests(&self, _: &Repository) -> Result<Vec<PullRequest>, CodeHostError> {
        Ok(self.open_pulls())
    }
    async fn pull_request(&self, _: &Repository, number: u64) -> Result<PullRequest, CodeHostError> {
        Ok(self.shown(usize::try_from(number).unwrap() - 1))
    }
    async fn merge_queue_state(
        &self,
        _: &Repository,
        pull: &PullRequest,
    ) -> Result<MergeQueueState, CodeHostError> {
        let none = MergeQueueState { review: ReviewDecision::None, queued: false, auto_merge: false };
        Ok(self.state().reviews.get(&pull.number).copied().unwrap_or(none))
    }
    async fn permission(&self, _: &Repository, login: &str) -> Result<Permission, CodeHostError> {
        Ok(self.state().permissions.get(login).copied().unwrap_or(Permission::Read))
    }
    async fn comments(&self, _: &Repository, number: u64) -> Result<Vec<Comment>, CodeHostError> {
        let state = self.state();
        Ok(state.comments.iter().filter(|c| c.number == number).map(|c| c.comment.clone()).collect())
    }
    async fn recent_comments(
        &self,
        _: &Repository,
        _: jiff::Timestamp,
    ) -> Result<Vec<PlacedComment>, CodeHostError> {
        Ok(self.state().comments.clone())
    }
    async fn check_runs(
        &self,
        _: &Repository,
        head: &CommitId,
        _: &str,
    ) -> Result<Vec<CheckRun>, CodeHostError> {
        let state = self.state();
        Ok(state.checks.iter().filter(|(check, _)| check.head == *head).map(|(c, id)| run(c, *id)).collect())
    }
    async fn tree(
        &self,
        _: &Repository,
        _: &TreeId,
    ) -> Result<Option<Vec<(RepoPath, BlobId)>>, CodeHostError> {
        Ok(None)
    }
    async fn blob(&self, _: &Repository, _: &BlobId) -> Result<Vec<u8>, CodeHostError> {
        Ok(vec![])
    }
    async fn create_tree(
        &self,
        _: &Repository,
        base: &TreeId,
        entries: &[NewTreeEntry],
    ) -> Result<TreeId, CodeHostError> {
        let mut files = self.state().trees[base.as_str()].clone();
        for entry in entries {
            match entry {
                NewTreeEntry::Write { path, text, .. } => files.insert(path.to_string(), text.clone()),
                NewTreeEntry::Delete { path } => files.remove(path.as_str()),
            };
        }
        self.write("tree", || {
            let tree = TreeId::parse(&id(&format!("{files:?}"))).unwrap();
            self.state().trees.insert(tree.to_string(), files);
            tree
        })
    }
    async fn create_commit(
        &self,
        _: &Repository,
        commit: &CommitMetadata,
    ) -> Result<CommitId, CodeHostError> {
        let files = self.state().trees[commit.tree.as_str()].clone();
        self.write("commit", || self.commit(files, commit.parents.clone(), &commit.message))
    }
    async fn create_branch(
        &self,
        _: &Repository,
        branch: &str,
        commit: &CommitId,
    ) -> Result<CreatedReference, CodeHostError> {
        self.write("reference", || {
            let mut state = self.state();
            if state.branches.contains_key(branch) {
                return CreatedReference::Exists;
            }
            state.branches.insert(branch.to_owned(), commit.clone());
            CreatedReference::Created
        })
    }
    async fn move_branch(
        &self,
        _: &Repository,
        branch: &str,
        before: &CommitId,
        after: &CommitId,
    ) -> Result<MovedReference, CodeHostError> {
        self.write("reference", || {
            let mut state = self.state();
            if state.branches.get(branch) != Some(before) {
                return MovedReference::Elsewhere;
            }
            state.branches.insert(branch.to_owned(), after.clone());
            MovedReference::Moved
        })
    }
    async fn delete_branch(
        &self,
        _: &Repository,
        branch: &str,
        _: &CommitId,
    ) -> Result<MovedReference, CodeHostError> {
        self.write("reference", || {
            self.state().branches.remove(branch);
            MovedReference::Moved
        })
    }
    async fn create_pull_request(
        &self,
        _: &Repository,
        pull: &NewPullRequest,
    ) -> Result<CreatedPullRequest, CodeHostError> {
        self.write("pull request", || {
            if self.open_pulls().iter().any(|open| open.head_branch == pull.head_branch) {
                return CreatedPullRequest::Exists;
            }
            let new = self.insert_pull(
                "capstan[bot]",
                &pull.head_branch,
                &pull.base_branch,
                &pull.title,
                &pull.body,
                pull.draft,
            );
            CreatedPullRequest::Created(Box::new(new))
        })
    }
    async fn edit_pull_request(
        &self,
        _: &Repository,
        number: u64,
        edit: &PullRequestEdit,
    ) -> Result<PullRequest, CodeHostError> {
        self.write("pull request", || {
            let index = usize::try_from(number).unwrap() - 1;
            let mut pull = self.shown(index);
            pull.title = edit.title.clone().unwrap_or(pull.title);
            pull.body = edit.body.clone().unwrap_or(pull.body);
            if edit.close {
                pull.state = PullRequestState::Closed;
            }
            self.state().pulls[index] = pull.clone();
            pull
        })
    }
    async fn create_check_run(&self, _: &Repository, check: &NewCheckRun) -> Result<CheckRun, CodeHostError> {
        self.write("check", || {
            let mut state = self.state();
            let id = state.checks.len() as u64 + 1;
            state.checks.push((check.clone(), id));
            run(check, id)
        })
    }
    async fn update_check_run(
        &self,
        _: &Repository,
        id: u64,
        check: &NewCheckRun,
    ) -> Result<CheckRun, CodeHostError> {
        self.write("check", || {
            self.state().checks[usize::try_from(id).unwrap() - 1] = (check.clone(), id);
            run(check, id)
        })
    }
    async fn create_comment(
        &self,
        _: &Repository,
        number: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError> {
        self.write("comment", || {
            self.comment(number, "capstan[bot]", body);
            self.state().comments.last().unwrap().comment.clone()
        })
    }
    async fn react(&self, _: &Repository, comment: u64, reaction: Reaction) -> Result<(), CodeHostError> {
        self.write("reaction", || self.state().reactions.push((comment, reaction)))
    }
}

fn run(check: &NewCheckRun, id: u64) -> CheckRun {
    CheckRun {
        id,
        name: check.name.clone(),
        external_id: check.external_id.clone(),
        conclusion: check.conclusion,
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
        let root = TreeId::parse(&id(&format!("{:?}", found.files))).unwrap();
        self.state().trees.insert(root.to_string(), found.files.clone());
        let trailer = |key| trailer_value(&found.message, key).map(str::to_owned);
        Ok(Snapshot {
            commit: commit.clone(),
            root,
            parents: found.parents.clone(),
            trailers: CommitTrailers { source: trailer("Capstan-Source"), plan: trailer("Capstan-Plan") },
            tree: Arc::new(MemoryTree::new(found.files)),
        })
    }
    async fn folder(&self, _: &Repository, _: &TreeId) -> Result<Option<Arc<dyn Tree>>, MirrorError> {
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
        self.state().proposals.insert(record.cluster.to_string(), record.clone());
        Ok(())
    }
    async fn forget_proposal(&self, _: u64, cluster: &ClusterId) -> Result<(), RecordsError> {
        self.state().proposals.remove(cluster.as_str());
        Ok(())
    }
    async fn proposals_opened_since(&self, _: u64, _: jiff::Timestamp) -> Result<u32, RecordsError> {
        Ok(0)
    }
    async fn check(&self, _: u64, head: &CommitId, _: &str) -> Result<Option<CheckRecord>, RecordsError> {
        Ok(self.state().check_records.get(head.as_str()).cloned())
    }
    async fn save_check(&self, record: &CheckRecord) -> Result<(), RecordsError> {
        self.state().check_records.insert(record.head.to_string(), record.clone());
        Ok(())
    }
    async fn is_comment_answered(&self, _: u64, comment: u64) -> Result<bool, RecordsError> {
        Ok(self.state().answered.contains(&comment))
    }
    async fn save_comment_answered(&self, _: u64, comment: u64) -> Result<(), RecordsError> {
        self.state().answered.insert(comment);
        Ok(())
    }
    async fn save_campaign(
        &self,
        _: u64,
        _: &str,
        clusters: &[(ClusterId, String, String)],
    ) -> Result<(), RecordsError> {
        let rows =
            clusters.iter().map(|(cluster, word, why)| (cluster.to_string(), (word.clone(), why.clone())));
        self.state().campaign = rows.collect();
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

/// A planner of toy files: `releases/vN/base/v` holds one line; `c/NAME/base/v` begins with the line of
/// its release and goes on with its own; `c/NAME/capstan.yaml` names the release. A base that says
/// `block` blocks; one that says `error` has a finding there.
struct Toy;

struct ToyFleet {
    tree: Arc<dyn Tree>,
    settings: RepositorySettings,
}

fn text(tree: &dyn Tree, path: &str) -> Option<String> {
    let entry = tree.entry(&RepoPath::parse(path).unwrap())?;
    Some(String::from_utf8(tree.read(entry).unwrap().to_vec()).unwrap())
}

fn scopes(tree: &dyn Tree) -> Vec<Scope> {
    let bases = tree.entries().iter().filter_map(|entry| {
        let name = entry.path.as_str().strip_prefix("c/")?.strip_suffix("/base/v")?;
        let path = |below: &str| RepoPath::parse(&format!("c/{name}{below}")).unwrap();
        Some(Scope { cluster: ClusterId::new(path("")), base: path("/base"), overlay: path("/overlay") })
    });
    bases.collect()
}

impl Planner for Toy {
    fn open(&self, tree: Arc<dyn Tree>, _: Date) -> Result<Box<dyn OpenFleet>, SettingsError> {
        let file = RepoPath::parse(REPOSITORY_FILE).unwrap();
        let written = text(&*tree, REPOSITORY_FILE).unwrap_or_default();
        let settings = RepositorySettings::read(&file, &written, &RuleIds::of_catalogue())?;
        Ok(Box::new(ToyFleet { tree, settings }))
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        _: &RepositorySettings,
        clusters: &[ClusterId],
    ) -> Vec<JudgedCluster> {
        let findings = |tree: &dyn Tree, cluster: &ClusterId| {
            let path = format!("{cluster}/base/v");
            let lines = text(tree, &path).unwrap_or_default();
            let found = lines.lines().enumerate().filter(|(_, line)| line.contains("error"));
            found
                .map(|(index, line)| Finding {
                    rule: "toy",
                    severity: Severity::Error,
                    message: line.to_owned(),
                    file: Some(RepoPath::parse(&path).unwrap()),
                    line: Some(u32::try_from(index).unwrap() + 1),
                    column: Some(1),
                    object: None,
                    path: None,
                })
                .collect()
        };
        let judge = |cluster: &ClusterId| JudgedCluster {
            cluster: cluster.clone(),
            judgement: Judgement {
                before: findings(&*before, cluster),
                after: findings(&*after, cluster),
                ..Judgement::default()
            },
        };
        clusters.iter().map(judge).collect()
    }

    fn scopes(&self, tree: Arc<dyn Tree>, _: &RepositorySettings) -> Vec<Scope> {
        scopes(&*tree)
    }
}

impl OpenFleet for ToyFleet {
    fn settings(&self) -> &RepositorySettings {
        &self.settings
    }
    fn scopes(&self) -> Vec<Scope> {
        scopes(&*self.tree)
    }
    fn missing_trees(&self) -> Vec<TreeId> {
        vec![]
    }
    fn provide_tree(&mut self, _: TreeId, _: Arc<dyn Tree>) {}

    fn plan_all(&self) -> Vec<(ClusterId, Result<Upgrade, String>)> {
        let clusters = scopes(&*self.tree).into_iter().map(|scope| scope.cluster);
        clusters.map(|cluster| (cluster.clone(), self.plan(&cluster))).collect()
    }
}

impl ToyFleet {
    fn plan(&self, cluster: &ClusterId) -> Result<Upgrade, String> {
        let releases = self.tree.entries().iter().filter_map(|entry| {
            Some(
                entry
                    .path
                    .as_str()
                    .strip_suffix("/base/v")
                    .filter(|path| path.starts_with("releases/"))?
                    .to_owned(),
            )
        });
        let newest = releases.max();
        let base = format!("{cluster}/base/v");
        let record = format!("{cluster}/capstan.yaml");
        let before = text(&*self.tree, &base).ok_or("it has no base")?;
        let recorded = text(&*self.tree, &record);
        let mut upgrade = Upgrade {
            cluster: cluster.clone(),
            from: None,
            to: None,
            to_tree: None,
            basis: Basis::Known,
            files: vec![],
            changes: vec![],
            conflicts: vec![],
            findings: vec![],
            rollouts: vec![],
            blocked: vec![],
            notes: vec![],
        };
        let Some(newest) = newest else { return Ok(upgrade) };
        let wanted = text(&*self.tree, &format!("{newest}/base/v")).unwrap_or_default();
        let own = before.split_once('\n').map_or("", |(_, own)| own);
        let after = format!("{}\n{own}", wanted.trim_end());
        let named = format!("release: {newest}\n");
        if after == before && recorded.as_deref() == Some(&named) {
            return Ok(upgrade);
        }
        upgrade.to = Some(ReleaseId::from_path(&newest));
        upgrade.to_tree = self.tree.folder_id(&RepoPath::parse(&newest).unwrap());
        if before.contains("unreadable") {
            return Err(format!("{base}:1:1: it cannot be read"));
        }
        if before.contains("block") {
            upgrade.blocked.push("It blocks.".to_owned());
            return Ok(upgrade);
        }
        let change = |path: &str, before: Option<String>, after: String| FileChange {
            path: RepoPath::parse(path).unwrap(),
            before,
            after: Some(after),
        };
        upgrade.files = vec![change(&base, Some(before), after), change(&record, recorded, named)];
        upgrade.files.retain(|file| file.before != file.after);
        Ok(upgrade)
    }
}
