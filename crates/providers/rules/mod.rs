//! The rules of provider sets: judging what a set comes to, by plain facts.
//!
//! They judge the resulting set, not the step alone: an error is reported, whichever change caused it.
//!
//! | file | rules |
//! |---|---|
//! | `case` | what they look at |
//! | `components`, `kinds` | `render-failed`, `provider-variable-unbound`, `provider-digest-differs`, `duplicate-object` |
//! | `contract`, `fitting_set` | `provider-contract`, and the smallest set that keeps to it |
//! | `versions` | `provider-downgrade`, `provider-minor-skip`, `provider-versions-apart`, `provider-version-unset` |
//! | `kubernetes` | `provider-kubernetes` |
//! | `in_use`, `live` | `provider-api-in-use` |
//! | `ends` | `api-version-ends` |
//! | `gates` | `provider-feature-gate-unknown` |
//! | `gains` | `provider-gains-rights` |
//! | `rolls` | `provider-rolls-machines` |
//!
//! Deliberately absent: the catalogue's pages (`capstan_plan::policy`), the settings' say on severities, and what a
//! finding leads to.

mod case;
mod components;
mod contract;
mod ends;
mod facts;
mod fitting_set;
mod gains;
mod gates;
mod in_use;
mod kinds;
mod kubernetes;
mod live;
mod rolls;
mod versions;

use capstan_model::finding::{Finding, Severity};

use self::case::RuleCase;
use super::comparison::{self, ProviderChange};
use super::kind::ProviderKind;
use super::state::RenderedSet;
pub use facts::{Live, Managed, ManagedWorkload, Migration, ProviderRuleFacts, Recorded};
pub use fitting_set::accepts as accepts_contract;

/// What becomes of a set, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct SetComparison {
    /// Every provider of either state, in clusterctl's order of kinds and by name.
    pub providers: Vec<ProviderChange>,
    /// What the rules find, before the settings have their say: by rule, and in it by provider.
    pub findings: Vec<Finding>,
}

impl SetComparison {
    /// The providers, worst first, as a pull request shows them: with the severity of the worst that was found of each.
    /// `findings` are those of this comparison after the settings have had their say.
    pub fn worst_first<'s>(&'s self, findings: &[Finding]) -> Vec<(&'s ProviderChange, Option<Severity>)> {
        let worst = |provider: &ProviderChange| {
            let own = findings.iter().filter(|finding| is_of(finding, provider));
            own.map(Finding::severity).max()
        };
        let mut all: Vec<_> = self.providers.iter().map(|provider| (provider, worst(provider))).collect();
        all.sort_by_key(|(_, worst)| std::cmp::Reverse(*worst));
        all
    }
}

fn is_of(finding: &Finding, provider: &ProviderChange) -> bool {
    let object = finding.object.as_ref();
    let kind = object.and_then(|object| ProviderKind::parse(&object.kind));
    kind.zip(object).is_some_and(|(kind, object)| kind.label(&object.name) == provider.label)
}

/// Compares two states of a set and judges the later one. Without a state before, nothing is said of steps: every
/// provider is as if it had been so for ever.
pub fn compare(
    before: Option<&RenderedSet>,
    after: &RenderedSet,
    facts: &ProviderRuleFacts<'_>,
) -> SetComparison {
    let mut compared = comparison::compare(before, after);
    let case = RuleCase { before, after, facts, compared: &compared };
    let mut findings = Vec::new();
    for judge in [
        components::judge,
        kinds::judge,
        contract::judge,
        versions::judge,
        kubernetes::judge,
        in_use::judge,
        ends::judge,
        live::judge,
        gates::judge,
        gains::judge,
        rolls::judge,
    ] {
        judge(&case, &mut findings);
    }
    let unknown = live::unknown(&case);
    for provider in &mut compared.providers {
        let own = unknown.iter().filter(|(label, _)| *label == provider.label);
        provider.unknown.extend(own.map(|(_, what)| what.clone()));
    }
    findings.sort_by_key(|finding| finding.rule.id());
    SetComparison { providers: compared.providers, findings }
}

#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod tests;
