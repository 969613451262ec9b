//! `provider-contract`

use capstan_model::finding::{Finding, rules};

use super::case::{RuleCase, found, named};
use super::fitting_set::{self, Fitting, accepts};
use crate::kind::ProviderKind;

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    let Some(core) = case.after.members.iter().find(|member| member.kind == ProviderKind::Core) else {
        return;
    };
    let Some(contract) = core.contract.as_deref() else { return };
    let mut broken = Vec::new();
    for member in &case.after.members {
        match member.contract.as_deref() {
            Some(other) if !accepts(contract, other) => broken.push((member, other)),
            _ => {}
        }
    }
    if broken.is_empty() {
        return;
    }
    let way = match fitting_set::search(case) {
        Fitting::With(releases) if releases.is_empty() => "revert it".to_owned(),
        Fitting::With(releases) => {
            format!("the smallest available set that fits also needs {}", releases.join(", "))
        }
        Fitting::Only(releases) => {
            format!("no available set fits this version; the nearest one needs {}", releases.join(", "))
        }
        Fitting::None => {
            "no available set fits: add releases of one contract for all providers together".to_owned()
        }
    };
    for (member, other) in broken {
        let message = format!(
            "{} uses the contract {other}, but {} (contract {contract}) accepts {}: {way}",
            named(member),
            named(core),
            if contract == "v1beta2" { "v1beta2 and v1beta1" } else { "no other than its own" },
        );
        findings.push(found(rules::PROVIDER_CONTRACT, member, message));
    }
}
