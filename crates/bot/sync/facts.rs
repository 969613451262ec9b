//! Reads what GitHub, Git and the records say of a repository, in an order that cannot mislead.

use std::collections::BTreeSet;

use capstan_bot_core::checks::QUEUE_PREFIX;
use capstan_bot_core::facts::{BranchNames, Facts, Gathered};
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::{BRANCH_PREFIX, LongTargets};
use capstan_plan::settings::REPOSITORY_FILE;
use secrecy::SecretString;

use super::ending::Ending;
use super::planning::beyond_limits;
use super::{Ports, SyncError};
use capstan_ports::{BranchHead, MirrorError, PullRequest, Repository, Snapshot};

/// What a run starts from, with the token that read it.
pub(super) struct Loaded {
    pub(super) facts: Facts,
    pub(super) token: SecretString,
    /// What could not be read and is not needed by all.
    pub(super) ending: Ending,
}

/// Loads them; `None` for a repository without a commit.
pub(super) async fn load(ports: &Ports, repository: &Repository) -> Result<Option<Loaded>, SyncError> {
    let mut ending = Ending::default();
    let host = &ports.host;
    // The base's tip is read last. So the base contains every pull request that is seen as merged, and one
    // that is merged meanwhile is seen as open, which the next writes find out.
    let open = host.open_pull_requests(repository).await?;
    let branches = host.branches(repository, BRANCH_PREFIX).await?;
    let merge_groups = host.branches(repository, QUEUE_PREFIX).await.map_err(SyncError::from);
    let merge_groups = ending.isolate(repository, "listing what merge queues try", merge_groups)?;
    let Some(tip) = host.branch(repository, &repository.default_branch).await? else { return Ok(None) };
    let token = host.git_token(repository).await?;
    let (base, beyond_limits) = match ports.mirror.snapshot(repository, &token, &tip).await {
        Ok(base) => (base, None),
        Err(error @ MirrorError::TooLarge { .. }) => {
            let Ok(settings) = RepoPath::parse(REPOSITORY_FILE) else { return Ok(None) };
            let base = ports.mirror.snapshot_of_file(repository, &tip, &settings).await?;
            (base, Some(beyond_limits(error.to_string())))
        }
        Err(error) => return Err(error.into()),
    };
    let names = branch_names(ports, repository, &token, (&base, &branches, &open)).await;
    let records = ports.records.proposals(repository.id).await?;
    let refused = ports.records.refused_writes(repository.id).await?;
    let facts = Facts::from(Gathered {
        repository: repository.clone(),
        key: ports.key.clone(),
        today: ports.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date(),
        base,
        beyond_limits,
        names,
        branches,
        merge_groups,
        open,
        records,
        refusals: refused.into_iter().collect(),
    });
    Ok(Some(Loaded { facts, token, ending }))
}

/// Heads in which a run looks for targets: anybody who may push can create branches with such names.
const MOST_HEADS: usize = 100;

/// Separates the branches of proposals from those of people. A branch whose head cannot be read counts as a
/// person's.
async fn branch_names(
    ports: &Ports,
    repository: &Repository,
    token: &SecretString,
    (base, branches, open): (&Snapshot, &[BranchHead], &[PullRequest]),
) -> BranchNames {
    let mut names = BranchNames { kinds: ports.planner.kinds(), long: Vec::new() };
    let own = || open.iter().filter(|pull| pull.head_in_repository);
    let called = || branches.iter().map(|head| &head.branch).chain(own().map(|pull| &pull.head_branch));
    if called().any(|branch| names.is_unknown(branch)) {
        names.long.push(LongTargets::among(paths_of(base.tree.as_ref())));
    }
    let unknown: Vec<&BranchHead> =
        branches.iter().filter(|head| names.is_unknown(&head.branch)).take(MOST_HEADS).collect();
    let mut looked_at = BTreeSet::new();
    for head in &unknown {
        let is_new = looked_at.insert(&head.commit) && names.is_unknown(&head.branch);
        if is_new && let Ok(snapshot) = ports.mirror.snapshot(repository, token, &head.commit).await {
            let long = LongTargets::among(paths_of(snapshot.tree.as_ref()));
            names.long.push(long.only_of(unknown.iter().map(|head| head.branch.as_str())));
        }
    }
    names
}

fn paths_of(tree: &dyn Tree) -> impl Iterator<Item = &RepoPath> {
    tree.entries().iter().map(|entry| &entry.path)
}
