//! Severities after the settings have had their say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rule::{RuleEntry, SeverityChange};
use super::{Finding, Severity, rules};

/// What a settings file may say of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeverityLevel {
    /// Its findings fail the check.
    Error,
    /// Its findings are shown.
    Warning,
    /// Its findings are dropped.
    Off,
}

/// The rules whose severity the settings change; the rest have their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Severities(BTreeMap<&'static str, SeverityLevel>);

/// What a settings file may not say of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeverityRefused {
    /// There is no such rule.
    #[error("there is no rule `{0}`: `capstan rules` lists them")]
    Unknown(String),
    /// The rule is an error for ever.
    #[error("the rule `{0}` is always an error, because what it finds breaks clusters: leave it out")]
    Fixed(&'static str),
}

impl Severities {
    /// Sets one rule's level.
    ///
    /// # Errors
    /// Where no rule has that id, or the rule may not be changed (to `error` it always may).
    pub fn set(&mut self, id: &str, level: SeverityLevel) -> Result<(), SeverityRefused> {
        let rule = rules::named(id).ok_or_else(|| SeverityRefused::Unknown(id.to_owned()))?;
        if rule.change() == SeverityChange::Never && level != SeverityLevel::Error {
            return Err(SeverityRefused::Fixed(rule.id()));
        }
        self.0.insert(rule.id(), level);
        Ok(())
    }

    /// The severity of a rule's findings; `None` where they are dropped.
    pub fn of(&self, rule: &RuleEntry) -> Option<Severity> {
        self.said(rule, rule.severity())
    }

    fn said(&self, rule: &RuleEntry, otherwise: Severity) -> Option<Severity> {
        match self.0.get(rule.id()) {
            Some(SeverityLevel::Error) => Some(Severity::Error),
            Some(SeverityLevel::Warning) => Some(Severity::Warning),
            Some(SeverityLevel::Off) => None,
            None => Some(otherwise),
        }
    }

    /// Findings made elsewhere, with the severities of these settings; those that are off are gone.
    pub fn settle(&self, findings: Vec<Finding>) -> Vec<Finding> {
        findings.into_iter().filter_map(|finding| self.judged(finding)).collect()
    }

    /// What a rule found, with the severity of these settings; `None` where that is off. A severity of its
    /// own that the finding has counts where the settings say nothing.
    pub fn judged(&self, finding: Finding) -> Option<Finding> {
        Some(Finding { severity: self.said(finding.rule, finding.severity)?, ..finding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_for_which_the_upgrade_blocks_is_an_error_unless_the_settings_say_otherwise() {
        let settled = |severities: &Severities| {
            let finding = Finding::new(rules::API_VERSION_LEAVES_FIELD, "m");
            let found = severities.settle(vec![finding.clone(), finding.blocking()]);
            found.iter().map(Finding::severity).collect::<Vec<_>>()
        };
        let mut severities = Severities::default();
        assert_eq!(settled(&severities), [Severity::Warning, Severity::Error]);
        severities.set("api-version-leaves-field", SeverityLevel::Warning).unwrap();
        assert_eq!(settled(&severities), [Severity::Warning, Severity::Warning]);
        severities.set("api-version-leaves-field", SeverityLevel::Off).unwrap();
        assert_eq!(settled(&severities), []);
    }
}
