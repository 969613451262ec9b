//! The smallest change that makes the contracts of a set fit, among the versions at hand.
//!
//! All other providers are held against the core provider alone. So for a certain version of core the least is known at
//! once: every provider whose contract it does not take changes, and no other. The versions of core are tried in turn.

use capstan_model::version::ReleaseVersion;

use super::case::{RuleCase, is_cluster_api, parsed};
use crate::kind::ProviderKind;
use crate::state::{ProviderRelease, SetMember};

/// What has to change.
pub(super) enum Fitting {
    /// Besides what is asked for, these: `cluster-api v1.12.8`.
    With(Vec<String>),
    /// With one or more of them at another version than is asked for.
    Only(Vec<String>),
    /// Nothing at hand fits.
    None,
}

/// Whether providers whose version the change moves keep what it asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContractFit {
    Kept,
    Free,
}

/// Whether a core provider of a contract takes a provider of another
/// (<https://cluster-api.sigs.k8s.io/reference/versions#supported-cluster-api---cluster-api-provider-version-skew>).
pub fn accepts(core: &str, other: &str) -> bool {
    core == other || (core, other) == ("v1beta2", "v1beta1")
}

pub(super) fn search(case: &RuleCase<'_>) -> Fitting {
    let least = |asked: ContractFit| {
        cores(case, asked).into_iter().filter_map(|core| changes(case, &core, asked)).min_by_key(Vec::len)
    };
    match (least(ContractFit::Kept), least(ContractFit::Free)) {
        (Some(changes), _) => Fitting::With(changes),
        (None, Some(changes)) => Fitting::Only(changes),
        (None, None) => Fitting::None,
    }
}

/// The versions that core may have: first the one that it has, then the newest.
fn cores(case: &RuleCase<'_>, asked: ContractFit) -> Vec<ProviderRelease> {
    let core = case.after.members.iter().find(|member| member.kind == ProviderKind::Core);
    core.map(|core| choices(case, core, asked)).unwrap_or_default()
}

/// What changes for a version of core; `None` where a provider has no version that it takes.
fn changes(case: &RuleCase<'_>, core: &ProviderRelease, asked: ContractFit) -> Option<Vec<String>> {
    let mut changed = Vec::new();
    for member in &case.after.members {
        let mut choices = choices(case, member, asked).into_iter();
        let taken = match member.kind {
            ProviderKind::Core => Some(core.clone()),
            // Of what is not known nothing is said.
            _ if member.contract.is_none() => continue,
            _ => choices.find(|release| accepts(&core.contract, &release.contract)),
        }?;
        if member.version() != Some(taken.version.as_str()) {
            changed.push(format!("{} {}", member.label(), taken.version));
        }
    }
    Some(changed)
}

/// The versions that a provider may have: the one that it has, then others from the newest on. None that would be a
/// downgrade, or skip too many minors.
fn choices(case: &RuleCase<'_>, member: &SetMember, asked: ContractFit) -> Vec<ProviderRelease> {
    let own = member.version().zip(member.contract.as_ref());
    let own = own.map(|(version, contract)| ProviderRelease {
        version: version.to_owned(),
        contract: contract.clone(),
    });
    let before = case.before(member).and_then(parsed);
    let moves = before.is_some() && before != parsed(member);
    let mut others: Vec<(ReleaseVersion, &ProviderRelease)> = member
        .at_hand
        .iter()
        .filter_map(|release| Some((ReleaseVersion::parse(&release.version)?, release)))
        .filter(|(version, _)| {
            let fits = |old: &ReleaseVersion| {
                version >= old
                    && version.major() == old.major()
                    && (!is_cluster_api(member) || version.minor() <= old.minor() + super::versions::MINORS)
            };
            !version.is_prerelease() && before.as_ref().is_none_or(fits)
        })
        .collect();
    others.sort_by(|(a, _), (b, _)| b.cmp(a));
    let others = others.into_iter().map(|(_, release)| release.clone());
    let others = others
        .filter(|_| asked == ContractFit::Free || !moves)
        .filter(|release| own.as_ref() != Some(release));
    own.iter().cloned().chain(others).collect()
}
