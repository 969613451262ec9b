//! Keys of clusters' owners that are to stand in Git: a pull request a cluster, which brings the encrypted file that its
//! reconciler sent.
//!
//! *Expected flow.* A reconciler sends a file; the repository is looked at; where the default branch has another one in the
//! cluster's folder, the branch `capstan/kubeconfig/<cluster>` and its pull request are brought to it.
//!
//! *Guarantees.* What stands on the default branch already costs no call. A branch that a person edited is left alone, and
//! so is a file whose pull request somebody closed. Nothing is written but that one file, and only where the default branch
//! wants it there, in that form, for those owners ([`capstan_live::agent::GitOwners`]), whatever was taken earlier.

use capstan_bot_core::facts::Write;
use capstan_bot_core::planned::Planned;
use capstan_live::agent::{Kubeconfig, KubeconfigPlace, Published};
use capstan_model::digest::sha256;
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::target::Target;
use capstan_model::tree::{CommitId, RepoPath, Tree};
use capstan_plan::proposal::{
    Authorship, PlanDigest, ProposalId, SourceState, TRAILER_PLAN, TRAILER_SOURCE, judge_head,
};
use capstan_plan::settings::Mode;
use capstan_report::{kubeconfig_body, kubeconfig_title};

use super::{Ending, Run, SyncError};
use crate::agents::git_owners;
use capstan_ports::{
    AuditEntry, CreatedPullRequest, CreatedReference, EarlierPullRequest, KeptKubeconfig, MovedReference,
    NewPullRequest, NewTreeEntry, PullRequest, PullRequestEdit, PullRequestState,
};

/// The word for it in branches and trailers.
const KIND: &str = "kubeconfig";

fn kind() -> SourceKind {
    SourceKind::parse(KIND).unwrap_or(SourceKind::RELEASE)
}
/// Where the file stands in a cluster's folder.
const FOLDER: &str = "credentials";
/// So many pull requests one run writes at most: the next one goes on.
const MOST: usize = 10;

/// A file, and where it is to stand.
struct Wanted {
    cluster: ClusterId,
    said: Kubeconfig,
    path: RepoPath,
    branch: String,
    text: String,
}

/// What came of writing.
enum Brought {
    /// All is as wanted, or a person's.
    Done,
    /// Somebody was quicker.
    Overtaken,
    /// GitHub's rules refuse it, in its words.
    Refused(String),
}

impl Run<'_> {
    /// Brings the files that are to stand in Git there.
    pub(super) async fn bring_kubeconfigs(self, planned: Planned<'_>) -> Result<Ending, SyncError> {
        let mut ending = Ending::default();
        if planned.settings.mode == Mode::Observe {
            return Ok(ending);
        }
        let mut left = MOST;
        for wanted in self.wanted_kubeconfigs(planned).await? {
            if left == 0 {
                ending.look_again();
                break;
            }
            let write = Write::cluster(&wanted.branch, wanted.said.sha256.clone());
            if self.refusal(&write).is_some() {
                continue;
            }
            left -= 1;
            match self.bring_kubeconfig(&wanted).await {
                Ok(Brought::Done) => self.taken(&write).await?,
                Ok(Brought::Overtaken) => ending.look_again(),
                Ok(Brought::Refused(why)) => {
                    self.refused(&write, &why).await?;
                }
                Err(error) => {
                    self.attempt(&write, Err(error)).await?;
                }
            }
        }
        Ok(ending)
    }

    /// Those of clusters of this repository whose file on the default branch is another one.
    async fn wanted_kubeconfigs(&self, planned: Planned<'_>) -> Result<Vec<Wanted>, SyncError> {
        let Some(reconcilers) = &self.ports.reconcilers else { return Ok(Vec::new()) };
        let id = self.repository.id;
        let mut wanted = Vec::new();
        for (cluster, said) in reconcilers.records.kubeconfigs(id).await? {
            let is_here = planned.scopes.contains_key(&Target::Cluster(cluster.clone()));
            if said.place != KubeconfigPlace::Git || !is_here {
                continue;
            }
            let name = said.form.file_name();
            let Ok(path) = cluster.folder().join(&format!("{FOLDER}/{name}")) else { continue };
            if digest_at(self.facts.base.tree.as_ref(), &path).as_ref() == Some(&said.sha256) {
                continue;
            }
            let Some(kept) = reconcilers.records.kubeconfig(id, &cluster, said.form).await? else { continue };
            // Whoever applied it before it was given to another management cluster has nothing to say of it.
            let owner = planned.reporters.managed_by.owner(&cluster);
            if !owner.is_some_and(|owner| owner.uid.is(&kept.management_cluster)) {
                continue;
            }
            let Published { said, bytes } = match self.judge_kubeconfig(&kept) {
                Ok(Some(published)) => published,
                Ok(None) => continue,
                Err(why) => {
                    tracing::warn!(repository = %self.repository.name, %cluster, "a file for owners is not brought into Git: it {why}");
                    continue;
                }
            };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let branch = ProposalId { target: cluster.clone().into(), kind: kind() }.branch();
            wanted.push(Wanted { cluster, said, path, branch, text });
        }
        Ok(wanted)
    }

    /// The file as the default branch wants it in Git; `None` where it wants none there.
    fn judge_kubeconfig(&self, kept: &KeptKubeconfig) -> Result<Option<Published>, String> {
        let git = git_owners(self.facts.base.tree.as_ref(), &kept.cluster)?;
        if git.want_it_in_git() { git.judge(&kept.said, &kept.content).map(Some) } else { Ok(None) }
    }

    async fn bring_kubeconfig(&self, wanted: &Wanted) -> Result<Brought, SyncError> {
        let default = &self.repository.default_branch;
        let is_it = |pull: &&PullRequest| {
            pull.head_branch == wanted.branch && pull.head_in_repository && pull.base_branch == *default
        };
        let open = self.facts.open.iter().rev().find(is_it);
        let newest = if open.is_none() { self.newest_on(&wanted.branch).await? } else { None };
        let was_declined = |pull: &EarlierPullRequest| {
            pull.state == PullRequestState::Closed && pull.body.contains(&wanted.said.sha256)
        };
        if newest.as_ref().is_some_and(was_declined) {
            return Ok(Brought::Done);
        }
        let head = match open {
            Some(pull) => Some(pull.head.clone()),
            None => self.ports.host.branch(self.repository, &wanted.branch).await?,
        };
        match &head {
            Some(head) => {
                let read = self.read_head(&wanted.branch, head, open.map(|pull| &pull.base)).await?;
                if !matches!(judge_head(&read, None), Authorship::Capstan { .. }) {
                    return Ok(Brought::Done);
                }
                let snapshot = self.snapshot(head).await?;
                let there = snapshot.and_then(|snapshot| digest_at(snapshot.tree.as_ref(), &wanted.path));
                // A run died before it opened the pull request: its commit does. One that was merged brings nothing again.
                let is_left = open.is_some() || newest.is_none_or(|pull| pull.head != *head);
                if !is_left || there.as_ref() != Some(&wanted.said.sha256) {
                    let commit = self.commit_kubeconfig(wanted).await?;
                    match self.ports.host.move_branch(self.repository, &wanted.branch, head, &commit).await? {
                        MovedReference::Moved => {}
                        MovedReference::Elsewhere => return Ok(Brought::Overtaken),
                        MovedReference::Refused(why) => return Ok(Brought::Refused(why)),
                    }
                }
            }
            None => {
                let commit = self.commit_kubeconfig(wanted).await?;
                match self.ports.host.create_branch(self.repository, &wanted.branch, &commit).await? {
                    CreatedReference::Created => {}
                    CreatedReference::Exists => return Ok(Brought::Overtaken),
                    CreatedReference::Refused => {
                        return Ok(Brought::Refused(format!(
                            "the branch {} may not be created",
                            wanted.branch
                        )));
                    }
                }
            }
        }
        self.tell_of_kubeconfig(wanted, open).await
    }

    async fn tell_of_kubeconfig(
        &self,
        wanted: &Wanted,
        open: Option<&PullRequest>,
    ) -> Result<Brought, SyncError> {
        let body = kubeconfig_body(&wanted.cluster, &wanted.said, &wanted.path);
        match open {
            Some(pull) if pull.body == body => Ok(Brought::Done),
            Some(pull) => {
                let edit = PullRequestEdit { title: None, body: Some(body), close: false };
                self.ports.host.edit_pull_request(self.repository, pull.number, &edit).await?;
                self.audit_kubeconfig("kubeconfig-updated", wanted, pull.number).await?;
                Ok(Brought::Done)
            }
            None => {
                let new = NewPullRequest {
                    title: kubeconfig_title(&wanted.cluster),
                    body,
                    head_branch: wanted.branch.clone(),
                    base_branch: self.repository.default_branch.clone(),
                    draft: false,
                };
                match self.ports.host.create_pull_request(self.repository, &new).await? {
                    CreatedPullRequest::Created(pull) => {
                        self.audit_kubeconfig("kubeconfig-proposed", wanted, pull.number).await?;
                        Ok(Brought::Done)
                    }
                    CreatedPullRequest::Exists | CreatedPullRequest::NothingBetween => Ok(Brought::Overtaken),
                }
            }
        }
    }

    /// The newest pull request of a branch.
    async fn newest_on(&self, branch: &str) -> Result<Option<EarlierPullRequest>, SyncError> {
        let branches = [branch.to_owned()];
        let newest = self.ports.host.newest_pull_requests(self.repository, &branches, None).await?;
        Ok(newest.into_iter().next())
    }

    /// A commit on the default branch's tip that writes the one file, and can write nothing else.
    async fn commit_kubeconfig(&self, wanted: &Wanted) -> Result<CommitId, SyncError> {
        let (path, text) = (wanted.path.clone(), wanted.text.clone());
        let base = &self.facts.base;
        let before = base.tree.entry(&path).and_then(|entry| base.tree.read(entry).ok());
        let before = before.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let entry = NewTreeEntry::Write { path: path.clone(), text: text.clone(), executable: false };
        let tree = self.ports.host.create_tree(self.repository, &base.root, &[entry]).await?;
        let plan = PlanDigest::of(&[FileChange { path, before, after: Some(text) }]);
        let content = SourceContent::parse(base.root.as_str());
        let source = SourceState::new(SourceId::new(kind(), wanted.cluster.as_str()), content);
        let message = format!(
            "{}\n\nEncrypted by the reconciler; SHA-256 {}.\n\n{TRAILER_SOURCE}: {source}\n{TRAILER_PLAN}: {plan}\n",
            kubeconfig_title(&wanted.cluster),
            wanted.said.sha256
        );
        self.write_sealed(&wanted.branch, &base.commit, tree, message).await
    }

    async fn audit_kubeconfig(
        &self,
        action: &'static str,
        wanted: &Wanted,
        number: u64,
    ) -> Result<(), SyncError> {
        let entry = AuditEntry {
            repository: self.repository.id,
            proposal: None,
            actor: "capstan".to_owned(),
            action,
            detail: format!("#{number}: {}, SHA-256 {}", wanted.path, wanted.said.sha256),
        };
        Ok(self.ports.records.audit(&entry).await?)
    }
}

/// SHA-256 of a file; `None` where there is none.
fn digest_at(tree: &dyn Tree, path: &RepoPath) -> Option<String> {
    let bytes = tree.read(tree.entry(path)?).ok()?;
    Some(sha256(&*bytes))
}
