//! Kubeconfigs of clusters' owners in Git: the pull request with one encrypted file.

use std::fmt::Display;

use capstan_facts::{EarlierPullRequest, PullRequest, PullRequestState, Snapshot};
use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::{GitOwners, Kubeconfig, KubeconfigPlace, PublishedFile};
use capstan_model::digest::sha256;
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::target::Target;
use capstan_model::tree::{CommitId, RepoPath, Tree};
use capstan_plan::proposal::{PlanDigest, ProposalId, SourceState, TRAILER_PLAN, TRAILER_SOURCE};
use capstan_plan::settings::{ClusterSettings, FOLDER_FILE};
use capstan_report::{kubeconfig_body, kubeconfig_title};

use crate::effects::{
    Audited, BranchThere, CommitFiles, Desired, DesiredBranch, DesiredPull, TextStep, awaits_pull,
    branch_step,
};
use crate::facts::{Facts, Scopes};
use crate::proposals::DecisionStep;

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

/// A file that a reconciler reported, and that the default branch lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedFile {
    pub cluster: ClusterId,
    /// What the reconciler reported about it.
    pub said: Kubeconfig,
    path: RepoPath,
}

/// Of all files that reconcilers reported, those that belong into Git: their cluster is there, and the default branch
/// lacks them.
pub fn reported(
    facts: &Facts,
    scopes: &Scopes,
    all: impl IntoIterator<Item = (ClusterId, Kubeconfig)>,
) -> Vec<ReportedFile> {
    let lacking = |(cluster, said): (ClusterId, Kubeconfig)| {
        let is_here = scopes.contains_key(&Target::Cluster(cluster.clone()));
        if said.place != KubeconfigPlace::Git || !is_here {
            return None;
        }
        let path = cluster.folder().join(&format!("{FOLDER}/{}", said.form.file_name())).ok()?;
        let is_there = digest_at(facts.base.tree.as_ref(), &path).as_ref() == Some(&said.sha256);
        (!is_there).then_some(ReportedFile { cluster, said, path })
    };
    all.into_iter().filter_map(lacking).collect()
}

/// What a tree says of the owners of a cluster.
///
/// # Errors
/// Its `capstan.yaml` cannot be read: part of a sentence that begins with the file.
pub fn git_owners(tree: &dyn Tree, cluster: &ClusterId) -> Result<GitOwners, String> {
    let unread = |why: &dyn Display| format!("is for the owners of {cluster}, which cannot be read: {why}");
    let path = cluster.folder().join(FOLDER_FILE).map_err(|error| unread(&error))?;
    let Some(entry) = tree.entry(&path) else { return Ok(GitOwners::default()) };
    let bytes = tree.read(entry).map_err(|error| unread(&error))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| unread(&format_args!("{path}: {error}")))?;
    let settings = ClusterSettings::read(&path, text).map_err(|error| unread(&error))?;
    Ok(GitOwners::new(&settings.owners, &settings.access))
}

impl ReportedFile {
    /// The file as the default branch wants it in Git; `None` where it wants none there, or where it is of a management
    /// cluster that has no say in its cluster any more. `sender` is that management cluster, and `content` its bytes in
    /// base64.
    ///
    /// # Errors
    /// It is not taken: part of a sentence that begins with the file.
    pub fn wanted(
        self,
        facts: &Facts,
        managed_by: &ManagedBy,
        (sender, kept, content): (&str, &Kubeconfig, &str),
    ) -> Result<Option<WantedFile>, String> {
        let Self { cluster, path, .. } = self;
        if !managed_by.owner(&cluster).is_some_and(|owner| owner.uid.is(sender)) {
            return Ok(None);
        }
        let git = git_owners(facts.base.tree.as_ref(), &cluster)?;
        if !git.want_it_in_git() {
            return Ok(None);
        }
        let PublishedFile { said, bytes } = git.judge(kept, content)?;
        Ok(String::from_utf8(bytes).ok().map(|text| WantedFile { cluster, said, path, text }))
    }
}

/// What was found out about a file's pull request so far.
#[derive(Clone, Default)]
pub struct FileFound {
    /// The newest pull request of its branch.
    pub newest: Option<Option<EarlierPullRequest>>,
    /// The head of its branch.
    pub head: Option<Option<CommitId>>,
    /// Whether Capstan alone wrote that.
    pub is_own: Option<bool>,
    /// Its content; `None` where it cannot be read.
    pub content: Option<Option<Snapshot>>,
}

/// What has to be known about a file's pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileNeed {
    /// The newest pull request of that branch.
    Newest(String),
    /// The head of that branch.
    Head(String),
    /// Whether Capstan alone wrote that head of its branch.
    IsOwn(CommitId),
    /// What that commit holds.
    Content(CommitId),
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

    /// The pull request with its branch, or what has to be known first; `None` where a person declined exactly this file,
    /// or works on its branch.
    pub fn decide<'a>(
        &'a self,
        facts: &'a Facts,
        found: &FileFound,
    ) -> DecisionStep<Option<Desired<'a>>, FileNeed> {
        self.decided(facts, found).map_or_else(DecisionStep::Ask, DecisionStep::Decided)
    }

    fn decided<'a>(&'a self, facts: &'a Facts, found: &FileFound) -> Result<Option<Desired<'a>>, FileNeed> {
        let open = self.open_pull(facts);
        let newest = match open {
            Some(_) => None,
            None => found.newest.as_ref().ok_or_else(|| FileNeed::Newest(self.branch()))?.as_ref(),
        };
        if self.was_declined(newest) {
            return Ok(None);
        }
        let head = match open {
            Some(pull) => Some(&pull.head),
            None => found.head.as_ref().ok_or_else(|| FileNeed::Head(self.branch()))?.as_ref(),
        };
        let Some(head) = head else { return Ok(self.desired(facts, None)) };
        let is_own = found.is_own.ok_or_else(|| FileNeed::IsOwn(head.clone()))?;
        let is_in = if is_own {
            let content = found.content.as_ref().ok_or_else(|| FileNeed::Content(head.clone()))?;
            content.as_ref().is_some_and(|content| self.is_in(content.tree.as_ref()))
        } else {
            false
        };
        let holds = is_in && (open.is_some() || awaits_pull(newest, head));
        Ok(self.desired(facts, Some(&BranchThere { head: head.clone(), is_own, holds })))
    }

    /// Whether a person closed the pull request with exactly this file.
    fn was_declined(&self, newest: Option<&EarlierPullRequest>) -> bool {
        newest.is_some_and(|pull| {
            pull.state == PullRequestState::Closed && pull.body.contains(&self.said.sha256)
        })
    }

    /// Whether a tree has exactly this file.
    fn is_in(&self, tree: &dyn Tree) -> bool {
        digest_at(tree, &self.path).as_ref() == Some(&self.said.sha256)
    }

    /// The desired pull request, with its branch; `None` where the branch is a person's.
    fn desired<'a>(&'a self, facts: &'a Facts, there: Option<&BranchThere>) -> Option<Desired<'a>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, commit, id, pull, snapshot};
    use capstan_live::agent::KubeconfigForm;
    use capstan_plan::proposal::BranchStep;
    use capstan_plan::settings::RepositorySettings;

    const UID: &str = "6e3a3c9e-52a3-4c39-9c58-1d1b5d1ae0b0";
    const BRANCH: &str = "capstan/kubeconfig/gauss/peu01";
    const PATH: &str = "gauss/peu01/credentials/kubeconfig.age";
    /// SHA-256 of `sealed`.
    const SHA: &str = "c9d0036bed6744bcdf692fc980d8717d7e5f5a4f4e8266b4a84982602fb1cd09";

    fn cluster(path: &str) -> ClusterId {
        id(path).target.id().unwrap().clone()
    }

    fn said(place: KubeconfigPlace) -> Kubeconfig {
        Kubeconfig {
            form: KubeconfigForm::Age,
            sha256: SHA.to_owned(),
            recipients: Vec::new(),
            expires_at: None,
            place,
        }
    }

    #[test]
    fn a_file_belongs_into_git_where_its_cluster_is_there_and_the_branch_lacks_it() {
        for (files, path, place, expected) in [
            (vec![], "gauss/peu01", KubeconfigPlace::Git, true),
            (vec![(PATH, "older")], "gauss/peu01", KubeconfigPlace::Git, true),
            (vec![(PATH, "sealed")], "gauss/peu01", KubeconfigPlace::Git, false),
            (vec![], "gauss/peu01", KubeconfigPlace::Bot, false),
            (vec![], "gone/peu01", KubeconfigPlace::Git, false),
        ] {
            let case = Case { files, ..Case::new().target("gauss/peu01") };
            let all = [(cluster(path), said(place))];
            let found = reported(&case.facts(), &case.scopes, all);
            assert_eq!(!found.is_empty(), expected, "{path} {place:?} {:?}", case.files);
        }
    }

    #[test]
    fn what_is_wanted_in_git_is_said_by_the_cluster_and_sent_by_who_applies_it() {
        const SETTINGS: &str = "gauss/peu01/capstan.yaml";
        let in_git = "access:\n  publish: git\n";
        let mc = serde_json::json!({"name": "mc", "uid": UID, "clusters": ["gauss/*"]});
        let management_clusters = vec![serde_json::from_value(mc).unwrap()];
        let managed_by = ManagedBy::of(&RepositorySettings { management_clusters, ..Case::new().settings });
        for (settings, sender, expected) in [
            (vec![], UID, Ok(false)),
            (vec![(SETTINGS, in_git)], "0b8f1e8d-7f5c-4d12-8a07-3c1a0e5b2f11", Ok(false)),
            (vec![(SETTINGS, in_git)], UID, Err("is encrypted, but Git names no owner with a key")),
        ] {
            let facts = Case { files: settings, ..Case::new().target("gauss/peu01") }.facts();
            let path = RepoPath::parse(PATH).unwrap();
            let file =
                ReportedFile { cluster: cluster("gauss/peu01"), said: said(KubeconfigPlace::Git), path };
            let kept = said(KubeconfigPlace::Git);
            // `sealed`, in base64.
            let wanted = file.wanted(&facts, &managed_by, (sender, &kept, "c2VhbGVk"));
            let wanted = wanted.map(|wanted| wanted.is_some());
            assert_eq!(wanted, expected.map_err(str::to_owned), "{sender}");
        }
    }

    fn wanted() -> WantedFile {
        WantedFile {
            cluster: cluster("gauss/peu01"),
            said: said(KubeconfigPlace::Git),
            path: RepoPath::parse(PATH).unwrap(),
            text: "sealed".to_owned(),
        }
    }

    fn earlier(state: PullRequestState, body: &str) -> EarlierPullRequest {
        EarlierPullRequest {
            number: 4,
            state,
            body: body.to_owned(),
            head_branch: BRANCH.to_owned(),
            head: commit('a'),
            base: commit('0'),
        }
    }

    /// Asks until it is decided; `told` answers. What was asked, and what becomes of branch and pull request.
    fn decided(facts: &Facts, told: &FileFound) -> (String, String) {
        let (wanted, mut found, mut asked) = (wanted(), FileFound::default(), Vec::new());
        loop {
            match wanted.decide(facts, &found) {
                DecisionStep::Decided(None) => return (asked.join(" "), "nothing".to_owned()),
                DecisionStep::Decided(Some(desired)) => {
                    let branch = match &desired.branch.step {
                        BranchStep::Create => "creates it",
                        BranchStep::Keep => "keeps it",
                        BranchStep::Move { .. } => "moves it",
                    };
                    let pull = desired
                        .pull
                        .open()
                        .map_or_else(|| "new".to_owned(), |open| format!("#{}", open.number));
                    return (asked.join(" "), format!("{branch}, {pull}"));
                }
                DecisionStep::Ask(need) => match need {
                    FileNeed::Newest(branch) => {
                        assert_eq!(branch, BRANCH);
                        asked.push("newest");
                        found.newest.clone_from(&told.newest);
                    }
                    FileNeed::Head(branch) => {
                        assert_eq!(branch, BRANCH);
                        asked.push("head");
                        found.head.clone_from(&told.head);
                    }
                    FileNeed::IsOwn(head) => {
                        assert_eq!(head, commit('a'));
                        asked.push("whose");
                        found.is_own = told.is_own;
                    }
                    FileNeed::Content(head) => {
                        assert_eq!(head, commit('a'));
                        asked.push("content");
                        found.content.clone_from(&told.content);
                    }
                },
            }
        }
    }

    fn held(text: &str) -> Option<Option<Snapshot>> {
        Some(Some(snapshot(commit('a'), &[(PATH, text)])))
    }

    #[test]
    fn the_branch_of_a_file_is_made_kept_or_moved_and_a_persons_is_left_alone() {
        let told = |newest, head: Option<char>, is_own, content| FileFound {
            newest: Some(newest),
            head: Some(head.map(commit)),
            is_own: Some(is_own),
            content,
        };
        let merged = || Some(earlier(PullRequestState::Merged, ""));
        for (told, asked, expected) in [
            (told(None, None, true, None), "newest head", "creates it, new"),
            (told(None, Some('a'), true, held("sealed")), "newest head whose content", "keeps it, new"),
            (told(None, Some('a'), true, held("older")), "newest head whose content", "moves it, new"),
            (told(None, Some('a'), true, Some(None)), "newest head whose content", "moves it, new"),
            (told(None, Some('a'), false, None), "newest head whose", "nothing"),
            // What was merged from that head brings nothing again.
            (told(merged(), Some('a'), true, held("sealed")), "newest head whose content", "moves it, new"),
        ] {
            let found = decided(&Case::new().facts(), &told);
            assert_eq!((found.0.as_str(), found.1.as_str()), (asked, expected));
        }
    }

    #[test]
    fn an_open_pull_request_is_brought_up_to_date() {
        let case = Case { open: vec![pull(5, BRANCH, 'a')], ..Case::new() };
        for (is_own, content, asked, expected) in [
            (true, held("sealed"), "whose content", "keeps it, #5"),
            (true, held("older"), "whose content", "moves it, #5"),
            (false, None, "whose", "nothing"),
        ] {
            let told = FileFound { is_own: Some(is_own), content, ..FileFound::default() };
            let found = decided(&case.facts(), &told);
            assert_eq!((found.0.as_str(), found.1.as_str()), (asked, expected));
        }
    }

    #[test]
    fn a_file_whose_pull_request_a_person_closed_is_not_offered_again() {
        for (state, body, expected) in [
            (PullRequestState::Closed, SHA, "newest"),
            // It was another file.
            (PullRequestState::Closed, "older", "newest head"),
            (PullRequestState::Merged, SHA, "newest head"),
        ] {
            let told = FileFound {
                newest: Some(Some(earlier(state, body))),
                head: Some(None),
                ..FileFound::default()
            };
            assert_eq!(decided(&Case::new().facts(), &told).0, expected, "{state:?} {body}");
        }
    }
}
