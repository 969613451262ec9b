//! Rules whose verdicts fall in other packages: here they have their entries and pages.

use super::rule::{About, PolicyRule};

/// A rule whose verdict falls in another package.
pub(super) struct JudgedElsewhere(pub(super) &'static About);

impl PolicyRule for JudgedElsewhere {
    fn about(&self) -> &'static About {
        self.0
    }
}

/// An entry with its page.
macro_rules! rule {
    ($name:ident, $entry:ident, $page:literal) => {
        pub(super) static $name: $crate::policy::judged_elsewhere::JudgedElsewhere = {
            use $crate::policy::rule::About;
            const ENTRY: &capstan_model::finding::RuleEntry = capstan_model::finding::rules::$entry;
            static ABOUT: About =
                About::new(ENTRY, include_str!(concat!("../../../docs/rules/", $page, ".md")));
            $crate::policy::judged_elsewhere::JudgedElsewhere(&ABOUT)
        };
    };
}

pub(super) use rule;
