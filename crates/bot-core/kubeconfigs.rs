//! Kubeconfigs of clusters' owners in Git: the pull request with one encrypted file.

use capstan_facts::{EarlierPullRequest, PullRequest, PullRequestState};
use capstan_live::agent::Kubeconfig;
use capstan_model::digest::sha256;
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::{PlanDigest, ProposalId, SourceState, TRAILER_PLAN, TRAILER_SOURCE};
use capstan_report::{kubeconfig_body, kubeconfig_title};

use crate::effects::{
    Audited, BranchThere, CommitFiles, Desired, DesiredBranch, DesiredPull, TextStep, branch_step,
};
use crate::facts::Facts;

/// Its word in branches and trailers.
const KIND: &str = "kubeconfig";
/// The file's folder in a cluster's folder.
const FOLDER: &str = "credentials";

/// A file that belongs into Git, and its path.
pub struct WantedFile {
    pub cluster: ClusterId,
    /// What the reconciler reported about it.
    pub said: Kubeconfig,
    pub path: RepoPath,
    /// Its content.
    pub text: String,
}

fn kind() -> SourceKind {
    SourceKind::parse(KIND).unwrap_or(SourceKind::RELEASE)
}

/// The path of a reported file; `None` where the default branch has it already.
pub fn path_of(facts: &Facts, cluster: &ClusterId, said: &Kubeconfig) -> Option<RepoPath> {
    let path = cluster.folder().join(&format!("{FOLDER}/{}", said.form.file_name())).ok()?;
    (digest_at(facts.base.tree.as_ref(), &path).as_ref() != Some(&said.sha256)).then_some(path)
}

/// SHA-256 of a file; `None` where there is none.
fn digest_at(tree: &dyn Tree, path: &RepoPath) -> Option<String> {
    let bytes = tree.read(tree.entry(path)?).ok()?;
    Some(sha256(&*bytes))
}

impl WantedFile {
    /// `capstan/kubeconfig/gauss/peu01`
    pub fn branch(&self) -> String {
        ProposalId { target: self.cluster.clone().into(), kind: kind() }.branch()
    }

    /// Its open pull request.
    pub fn open_pull<'a>(&self, facts: &'a Facts) -> Option<&'a PullRequest> {
        let (branch, default) = (self.branch(), &facts.repository.default_branch);
        let is_it = |pull: &&PullRequest| {
            pull.head_branch == branch && pull.head_in_repository && pull.base_branch == *default
        };
        facts.open.iter().rev().find(is_it)
    }

    /// Whether a person closed the pull request with exactly this file.
    pub fn was_declined(&self, newest: Option<&EarlierPullRequest>) -> bool {
        newest.is_some_and(|pull| {
            pull.state == PullRequestState::Closed && pull.body.contains(&self.said.sha256)
        })
    }

    /// Whether a tree has exactly this file.
    pub fn is_in(&self, tree: &dyn Tree) -> bool {
        digest_at(tree, &self.path).as_ref() == Some(&self.said.sha256)
    }

    /// The desired pull request, with its branch; `None` where the branch is a person's.
    pub fn desired<'a>(&'a self, facts: &'a Facts, there: Option<&BranchThere>) -> Option<Desired<'a>> {
        let open = self.open_pull(facts);
        let body = kubeconfig_body(&self.cluster, &self.said, &self.path);
        let step = |pull: &PullRequest| if pull.body == body { TextStep::Keep } else { TextStep::Write };
        let open = open.map(|pull| (pull, step(pull)));
        let branch = DesiredBranch {
            name: self.branch(),
            step: branch_step(there)?,
            parent: &facts.base,
            key: &facts.key,
            files: CommitFiles::One(self.path.clone(), &self.text),
            message: self.commit_message(facts),
        };
        let audited = Audited {
            of: None,
            opened: "kubeconfig-proposed",
            updated: "kubeconfig-updated",
            around: (String::new(), format!(": {}, SHA-256 {}", self.path, self.said.sha256)),
        };
        let text = (kubeconfig_title(&self.cluster), body);
        Some(Desired { pull: DesiredPull::plain(branch.name.clone(), text, open, audited), branch })
    }

    fn commit_message(&self, facts: &Facts) -> String {
        let (base, path) = (&facts.base, self.path.clone());
        let before = base.tree.entry(&path).and_then(|entry| base.tree.read(entry).ok());
        let before = before.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let plan = PlanDigest::of(&[FileChange { path, before, after: Some(self.text.clone()) }]);
        let content = SourceContent::parse(base.root.as_str());
        let source = SourceState::new(SourceId::new(kind(), self.cluster.as_str()), content);
        format!(
            "{}\n\nEncrypted by the reconciler; SHA-256 {}.\n\n{TRAILER_SOURCE}: {source}\n{TRAILER_PLAN}: {plan}\n",
            kubeconfig_title(&self.cluster),
            self.said.sha256
        )
    }
}
