//! The steps that all clusters of an inventory take together: those of their expressions and of their templates.

use capstan_model::finding::{Finding, Place, rules};

/// How many steps all clusters of an inventory may take, and all examples of a repository's releases.
const MOST: u64 = 1_000_000_000;

/// Steps so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    taken: u64,
    has_warned: bool,
}

impl Steps {
    /// Notes steps.
    pub(crate) const fn add(&mut self, steps: u64) {
        self.taken = self.taken.saturating_add(steps);
    }

    /// Whether nothing is left.
    pub(crate) const fn are_used_up(&self) -> bool {
        self.taken > MOST
    }

    /// What is said of the first for which nothing is left.
    pub(crate) fn tell(&mut self, who: &str, place: Place) -> Option<Finding> {
        if std::mem::replace(&mut self.has_warned, true) {
            return None;
        }
        let message = format!(
            "expressions and templates take more than {} million steps for those before {who}: Capstan does not check it and those after it. Use shorter loops or smaller lists",
            MOST / 1_000_000
        );
        Some(Finding::new(rules::TEMPLATE_LIMIT, message).place(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::tree::RepoPath;

    #[test]
    fn an_exceeded_sum_is_reported_once() {
        let mut steps = Steps::default();
        steps.add(MOST);
        assert!(!steps.are_used_up());
        steps.add(1);
        assert!(steps.are_used_up());
        let place = || Place::whole(RepoPath::root());
        assert!(steps.tell("ClusterDefinition c", place()).is_some());
        assert!(steps.tell("ClusterDefinition d", place()).is_none());
    }
}
