//! Which proposal: what distinguishes those of one repository, and the branch of each.
//!
//! | change from | branch |
//! |---|---|
//! | a release, to a cluster | `capstan/upgrade/<cluster>` |
//! | a release, to a provider set | `capstan/providers/<provider set>` |
//! | a migration to newer API versions | `capstan/migrate/<target>` |
//! | a source of another kind | `capstan/<kind>/<target>` |
//! | either, for a group of clusters | `capstan/upgrade/%group/<name>`, `capstan/<kind>/%group/<name>` |
//! | any of these, where that is too long for GitHub | `capstan/<kind>/%long/<SHA-256 of the target>` |
//!
//! The target cannot be computed from a digest. [`LongTargets`] finds it among the names of folders.
//!
//! A cluster's folder with the name `%group` is written `%25group`, and the name of a group is one part of its branch,
//! `customers%2Fgauss`. So a group's branch is never a parent folder of another branch, which Git would refuse. That
//! holds, too, while the settings change from one form to the other.
//!
//! A newer release takes the place of the older one on its branch. A change from another kind of source has a branch of
//! its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::source::decode;
use capstan_model::digest::sha256;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::target::{GroupName, Target, TargetKind};
use capstan_model::tree::RepoPath;
use serde::{Deserialize, Serialize};

/// What all branches of proposals begin with. People may have branches that begin so too: only those of
/// [kinds](SourceKind) that are planned are Capstan's.
pub const BRANCH_PREFIX: &str = "capstan/";

/// How branches call releases.
const RELEASES: &str = "upgrade";

/// How branches call migrations: by what a person says to get one. No kind of source has this name.
const MIGRATIONS: &str = "migrate";

/// The prefix of a group's name: [`encode`] makes it of no part of a path.
const GROUP: &str = "%group/";
/// The separator between the parts of a group's name.
const SLASH: &str = "%2F";

/// The prefix of the digest in a shortened name; [`encode`] does not make this either.
const LONG: &str = "%long/";
/// So many bytes are the name of a branch at most: GitHub takes no reference of more than 255, `refs/heads/` among them.
const LONGEST: usize = 255 - "refs/heads/".len();
/// Only a longer path may be too long: of each byte come three, and before it stand at most so many.
const SURELY_FITS: usize = (LONGEST - "capstan/".len() - 32 - "/providers%3A/%/".len()) / 3;

/// A proposal: of several that may be open for one target, each is of another kind of source. Ordered by target.
///
/// What is planned and decided is each cluster's. Where several clusters share a pull request, that one's target is their
/// group, and it carries the proposals of each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProposalId {
    /// What is changed.
    pub target: Target,
    /// What kind of source brings the change.
    pub kind: SourceKind,
}

/// The kind of the branch of a pull request that creates a cluster: `capstan/create/gauss/peu01`.
pub const CREATE: &str = "create";
/// The kind of the branch of one that has a cluster destroyed.
pub const DESTROY: &str = "destroy";

impl ProposalId {
    /// The proposal that brings a target to a newer release.
    pub fn of_release(target: impl Into<Target>) -> Self {
        Self { target: target.into(), kind: SourceKind::RELEASE }
    }

    /// Its branch. What Git does not allow in the name of a reference is written as `%XX`, and an empty part as `%`,
    /// so that two proposals never share a branch.
    pub fn branch(&self) -> String {
        self.branch_in_full().unwrap_or_else(|too_long| too_long)
    }

    /// Whether its branch does not name the target.
    pub fn is_shortened(&self) -> bool {
        self.branch_in_full().is_err()
    }

    /// The branch, or in its place the shortened one.
    fn branch_in_full(&self) -> Result<String, String> {
        let written = match (&self.target, self.kind == SourceKind::RELEASE) {
            (Target::Providers(_), false) => self.target.to_string(),
            _ => self.target.path().to_owned(),
        };
        let kind = match (&self.target, self.kind == SourceKind::RELEASE) {
            (Target::Providers(_), true) => TargetKind::PROVIDERS,
            (_, true) => RELEASES,
            (_, false) if self.kind == SourceKind::MIGRATION => MIGRATIONS,
            (_, false) => self.kind.as_str(),
        };
        let (group, between) = if self.target.group().is_some() { (GROUP, SLASH) } else { ("", "/") };
        let parts: Vec<String> = written.split('/').map(encode).collect();
        let branch = format!("{BRANCH_PREFIX}{kind}/{group}{}", parts.join(between));
        if branch.len() <= LONGEST {
            return Ok(branch);
        }
        Err(format!("{BRANCH_PREFIX}{kind}/{LONG}{}", sha256(self.target.to_string())))
    }

    /// The proposal of a branch; `None` for a branch that Capstan never makes, and for one whose name is
    /// [shortened](LongTargets).
    pub fn of_branch(branch: &str) -> Option<Self> {
        let (kind, target) = branch.strip_prefix(BRANCH_PREFIX)?.split_once('/')?;
        let part = |part: &str| if part == "%" { Some(String::new()) } else { decode(part) };
        let path = |path: &str| -> Option<String> {
            Some(path.split('/').map(part).collect::<Option<Vec<String>>>()?.join("/"))
        };
        let target = match target.strip_prefix(GROUP) {
            Some(name) => Target::Group(GroupName::parse(&path(name)?)?),
            None => Target::parse(&path(target)?)?,
        };
        Self::on_branch_of(kind, target).filter(|id| id.branch() == branch)
    }

    /// The proposal for a target whose branch calls its kind so.
    fn on_branch_of(kind: &str, target: Target) -> Option<Self> {
        Some(match kind {
            RELEASES => Self { target, kind: SourceKind::RELEASE },
            TargetKind::PROVIDERS => {
                let target = Target::Providers(target.id()?.clone());
                Self { target, kind: SourceKind::RELEASE }
            }
            MIGRATIONS => Self { target, kind: SourceKind::MIGRATION },
            kind => {
                let kind = SourceKind::parse(kind).filter(|kind| *kind != SourceKind::RELEASE)?;
                Self { target, kind }
            }
        })
    }
}

/// Whether a branch is called as one of Capstan's is, whether or not anybody knows its target.
pub fn is_name_of_proposal(branch: &str) -> bool {
    ProposalId::of_branch(branch).is_some() || shortened(branch).is_some()
}

/// How a branch whose name is shortened calls its kind, and the digest of its target.
fn shortened(branch: &str) -> Option<(&str, &str)> {
    let (kind, target) = branch.strip_prefix(BRANCH_PREFIX)?.split_once('/')?;
    Some((kind, target.strip_prefix(LONG)?))
}

/// The targets in a repository whose paths may be too long for the names of branches, by their digests.
///
/// A digest names exactly one target, no matter who wrote it and where the path was found.
#[derive(Clone, Debug, Default)]
pub struct LongTargets {
    by_digest: BTreeMap<String, Target>,
}

impl LongTargets {
    /// Those among the folders of these files.
    pub fn among<'p>(files: impl IntoIterator<Item = &'p RepoPath>) -> Self {
        let (mut found, mut known) = (Self::default(), BTreeSet::new());
        for file in files {
            let mut folder = file.parent();
            while let Some(path) = folder.filter(|path| path.as_str().len() > SURELY_FITS) {
                if !known.insert(path.clone()) {
                    break;
                }
                for kind in [TargetKind::Cluster, TargetKind::Providers] {
                    let target = Target::new(kind, ClusterId::new(path.clone()));
                    found.by_digest.insert(sha256(target.to_string()), target);
                }
                folder = path.parent();
            }
        }
        found
    }

    /// Keeps those whose proposals may be on these branches. The others are dropped: anybody who may push can add many
    /// long paths.
    #[must_use]
    pub fn only_of<'b>(mut self, branches: impl IntoIterator<Item = &'b str>) -> Self {
        let wanted: BTreeSet<&str> =
            branches.into_iter().filter_map(|branch| Some(shortened(branch)?.1)).collect();
        self.by_digest.retain(|known, _| wanted.contains(known.as_str()));
        self
    }

    /// The proposal on a branch whose name is shortened; `None` for any other branch, and for a target that is not
    /// known here.
    pub fn proposal_on(&self, branch: &str) -> Option<ProposalId> {
        let (kind, digest) = shortened(branch)?;
        let id = ProposalId::on_branch_of(kind, self.by_digest.get(digest)?.clone())?;
        (id.branch() == branch).then_some(id)
    }
}

impl fmt::Display for ProposalId {
    /// `gauss/peu01`; `gauss/peu01 (values)` where the change does not come from a release.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.target)?;
        if self.kind != SourceKind::RELEASE {
            write!(f, " ({})", self.kind)?;
        }
        Ok(())
    }
}

/// A part of a path as a part of a reference's name.
fn encode(part: &str) -> String {
    use std::fmt::Write as _;

    if part.is_empty() {
        return "%".to_owned();
    }
    let mut name = String::new();
    let last = part.len().saturating_sub(1);
    for (at, byte) in part.bytes().enumerate() {
        let forbidden =
            matches!(byte, 0..=b' ' | 0x7f.. | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\' | b'%');
        // A part may neither begin nor end with a dot, nor hold `..`, nor end with `.lock`, nor be `@`.
        let dot = byte == b'.'
            && (at == 0
                || at == last
                || part.as_bytes().get(at + 1) == Some(&b'.')
                || &part[at..] == ".lock");
        let at_sign = byte == b'@' && (part == "@" || part.as_bytes().get(at + 1) == Some(&b'{'));
        if forbidden || dot || at_sign {
            let _ = write!(name, "%{byte:02X}");
        } else {
            name.push(char::from(byte));
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, target: &str) -> ProposalId {
        ProposalId { target: Target::parse(target).unwrap(), kind: SourceKind::parse(kind).unwrap() }
    }

    #[test]
    fn a_branch_is_named_after_the_target_and_is_always_a_good_reference() {
        for (cluster, branch) in [
            ("gauss/peu01", "capstan/upgrade/gauss/peu01"),
            ("a b/c~1", "capstan/upgrade/a%20b/c%7E1"),
            (".hidden/x.lock", "capstan/upgrade/%2Ehidden/x%2Elock"),
            ("a..b/c.", "capstan/upgrade/a%2E.b/c%2E"),
            ("50%", "capstan/upgrade/50%25"),
            ("größe", "capstan/upgrade/gr%C3%B6%C3%9Fe"),
            ("@", "capstan/upgrade/%40"),
            ("", "capstan/upgrade/%"),
        ] {
            let id = id("release", cluster);
            assert_eq!(id.branch(), branch, "{cluster}");
            assert_eq!(ProposalId::of_branch(branch), Some(id), "{branch}");
        }
    }

    #[test]
    fn another_kind_of_source_has_branches_of_its_own() {
        for (kind, cluster, branch) in [
            ("values", "gauss/peu01", "capstan/values/gauss/peu01"),
            ("provider-set", "", "capstan/provider-set/%"),
            ("migration", "gauss/peu01", "capstan/migrate/gauss/peu01"),
            ("migration", "group://gauss", "capstan/migrate/%group/gauss"),
        ] {
            let id = id(kind, cluster);
            assert_eq!(id.branch(), branch);
            assert_eq!(ProposalId::of_branch(branch), Some(id));
        }
        assert_eq!(ProposalId::of_branch("capstan/migration/gauss/peu01"), None);
    }

    #[test]
    fn a_provider_set_has_branches_of_its_own() {
        for (kind, target, branch) in [
            ("release", "providers://mc-eu/providers", "capstan/providers/mc-eu/providers"),
            ("release", "providers://a b", "capstan/providers/a%20b"),
            ("values", "providers://mc-eu/providers", "capstan/values/providers%3A/%/mc-eu/providers"),
        ] {
            let id = id(kind, target);
            assert_eq!(id.branch(), branch);
            assert_eq!(ProposalId::of_branch(branch), Some(id));
        }
        let cluster = id("release", "mc-eu/providers");
        assert_ne!(cluster.branch(), id("release", "providers://mc-eu/providers").branch());
    }

    #[test]
    fn the_branch_of_a_group_differs_from_those_of_its_clusters() {
        for (kind, group, branch) in [
            ("release", "group://gauss", "capstan/upgrade/%group/gauss"),
            ("values", "group://gauss/prod-", "capstan/values/%group/gauss%2Fprod-"),
            ("release", "group://.a/x.lock", "capstan/upgrade/%group/%2Ea%2Fx%2Elock"),
            ("release", "group://größe/@", "capstan/upgrade/%group/gr%C3%B6%C3%9Fe%2F%40"),
            ("release", "group://50% off", "capstan/upgrade/%group/50%25%20off"),
            ("release", "group://-c", "capstan/upgrade/%group/-c"),
            ("release", "group://@{-1}/..x", "capstan/upgrade/%group/%40{-1}%2F%2E.x"),
            ("release", "group://a\u{202e}b", "capstan/upgrade/%group/a%E2%80%AEb"),
            ("release", "group://a\n\nCapstan-Plan: x", "capstan/upgrade/%group/a%0A%0ACapstan-Plan%3A%20x"),
            ("values", "group://<b>@acme #1", "capstan/values/%group/<b>@acme%20#1"),
        ] {
            let id = id(kind, group);
            assert_eq!(id.branch(), branch);
            assert_eq!(ProposalId::of_branch(branch), Some(id));
        }
        let cluster = id("release", "%group/gauss");
        assert_eq!(cluster.branch(), "capstan/upgrade/%25group/gauss");
        assert_eq!(ProposalId::of_branch(&cluster.branch()), Some(cluster));
        for branch in [
            "capstan/upgrade/%group",
            "capstan/upgrade/%group/",
            "capstan/upgrade/%group/%",
            "capstan/upgrade/%group/gauss/prod-",
        ] {
            assert_eq!(ProposalId::of_branch(branch), None, "{branch}");
        }
    }

    #[test]
    fn no_two_targets_have_one_branch_whatever_they_are_called() {
        let names =
            ["g", "G", "g/h", "g%2Fh", "g%252Fh", "%group/g", "%25group/g", "g.", "g%2E", "@", "%40", "g/%"];
        let targets = names
            .iter()
            .flat_map(|name| [(*name).to_owned(), format!("group://{name}"), format!("providers://{name}")]);
        let mut branches = BTreeSet::new();
        for target in targets {
            for kind in ["release", "values"] {
                let id = id(kind, &target);
                assert_eq!(ProposalId::of_branch(&id.branch()), Some(id.clone()), "{target}");
                assert!(branches.insert(id.branch()), "{target}: {}", id.branch());
            }
        }
    }

    #[test]
    fn a_branch_is_no_longer_than_github_takes_it_and_leads_back_to_its_target() {
        let at = |bytes: usize| format!("{}/{}", "a".repeat(bytes - 101), "b".repeat(100));
        // `refs/heads/capstan/upgrade/` is 27 bytes.
        let fits = id("release", &at(228));
        assert_eq!(fits.branch(), format!("capstan/upgrade/{}", at(228)));
        assert_eq!(fits.branch().len(), 244);
        assert!(!fits.is_shortened());
        let umlauts = "ü".repeat(60);
        let targets = [at(230), at(230).replace('b', "c"), format!("x/{umlauts}"), at(4_000)];
        let all = targets.iter().flat_map(|path| [path.clone(), format!("providers://{path}")]);
        let files: Vec<RepoPath> = [at(228)]
            .iter()
            .chain(&targets)
            .flat_map(|folder| {
                [
                    format!("{folder}/base/a.yaml"),
                    format!("{folder}/base/b.yaml"),
                    format!("{folder}/capstan.yaml"),
                ]
            })
            .map(|path| RepoPath::parse(&path).unwrap())
            .collect();
        let long = LongTargets::among(&files);
        let mut branches = BTreeSet::new();
        for target in all {
            for kind in ["release", "values"] {
                let id = id(kind, &target);
                let branch = id.branch();
                assert!(id.is_shortened() && branch.len() <= 244, "{branch}");
                assert_eq!(ProposalId::of_branch(&branch), None, "{branch}");
                assert_eq!(long.proposal_on(&branch), Some(id.clone()), "{branch}");
                let only = long.clone().only_of([branch.as_str(), "main"]);
                assert_eq!((only.proposal_on(&branch), only.by_digest.len()), (Some(id), 1), "{branch}");
                assert_eq!(LongTargets::default().proposal_on(&branch), None, "{branch}");
                assert!(is_name_of_proposal(&branch));
                assert!(branches.insert(branch));
            }
        }
        // The name that was given once stays.
        assert_eq!(
            id("release", &format!("x/{umlauts}")).branch(),
            "capstan/upgrade/%long/1274a2c74e17ed58aabbc6b06bfdf3dfe76c0de06453fcb09f846c876483756f"
        );
        let shortened = id("release", &at(229)).branch();
        let digest = shortened.strip_prefix("capstan/upgrade/%long/").unwrap();
        for branch in [
            // A folder that is called so has another branch.
            id("release", &format!("%long/{digest}")).branch(),
            format!("capstan/release/%long/{digest}"),
            format!("capstan/providers/%long/{digest}"),
            format!("capstan/upgrade/%long/{}", digest.to_uppercase()),
            // It is not too long.
            format!("capstan/upgrade/%long/{}", sha256(at(228))),
            fits.branch(),
        ] {
            assert_eq!(long.proposal_on(&branch), None, "{branch}");
        }
    }

    #[test]
    fn a_branch_that_capstan_never_makes_carries_no_proposal() {
        for branch in [
            "capstan/upgrade/%2",
            "capstan/upgrade/%long/a",
            "capstan/upgrade/a%62",
            "capstan/upgrade",
            "capstan/release/gauss/peu01",
            "capstan/Values/gauss/peu01",
            "capstan/upgrade/providers%3A/%/mc-eu",
            "capstan/providers/providers%3A/%/mc-eu",
            "feature/gauss/peu01",
        ] {
            assert_eq!(ProposalId::of_branch(branch), None, "{branch}");
        }
    }
}
