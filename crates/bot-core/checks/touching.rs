//! Whether a head changes anything that a check speaks of. The questions go from cheap to dear: most heads need the first
//! ones alone.

use capstan_model::tree::Tree;

use crate::facts::settings_file;
use crate::proposals::{DecisionStep, Remarks};

/// A head, with the tip of its base branch.
#[derive(Clone, Copy)]
pub struct TouchFacts<'a> {
    pub base: &'a dyn Tree,
    pub head: &'a dyn Tree,
    /// What the check says besides its content.
    pub remarks: &'a Remarks,
}

/// A fact about a head that is needed first: whether it changes any of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TouchNeed {
    /// Folders of clusters and provider sets.
    Targets,
    /// ClusterClasses of other folders.
    Classes,
    Releases,
    Inventory,
}

/// What there is to change, in the order of the questions.
const ALL: [TouchNeed; 4] =
    [TouchNeed::Targets, TouchNeed::Classes, TouchNeed::Releases, TouchNeed::Inventory];

/// Whether a head touches anything; `known` are the things that it does not change.
pub fn touches(of: TouchFacts<'_>, known: &[TouchNeed]) -> DecisionStep<bool, TouchNeed> {
    let settings = |tree| settings_file(tree).map(|entry| &entry.blob);
    if settings(of.base) != settings(of.head) || !of.remarks.says_nothing() {
        return DecisionStep::Decided(true);
    }
    match ALL.into_iter().find(|need| !known.contains(need)) {
        Some(need) => DecisionStep::Ask(need),
        None => DecisionStep::Decided(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    /// A decision or a question, in words.
    fn words(head: &[(&str, &str)], remarks: &Remarks, known: &[TouchNeed]) -> String {
        let (base, head) = (tree(&[(".capstan.yaml", "mode: propose\n")]), tree(head));
        format!("{:?}", touches(TouchFacts { base: &base, head: &head, remarks }, known))
    }

    #[test]
    fn settings_and_remarks_need_no_question() {
        const SAME: &[(&str, &str)] = &[(".capstan.yaml", "mode: propose\n"), ("README.md", "new")];
        let nothing = Remarks::default();
        let remarks = Remarks { notes: vec!["It is held.".to_owned()], ..Remarks::default() };
        for (head, remarks, expected) in [
            (SAME, &nothing, "Ask(Targets)"),
            (&[(".capstan.yaml", "mode: observe\n")][..], &nothing, "Decided(true)"),
            (&[][..], &nothing, "Decided(true)"),
            (SAME, &remarks, "Decided(true)"),
        ] {
            assert_eq!(words(head, remarks, &[]), expected);
        }
    }

    #[test]
    fn a_head_touches_nothing_once_all_is_known_to_be_the_same() {
        use TouchNeed::{Classes, Inventory, Releases, Targets};
        for (known, expected) in [
            (&[Targets][..], "Ask(Classes)"),
            (&[Targets, Classes], "Ask(Releases)"),
            (&[Targets, Classes, Releases], "Ask(Inventory)"),
            (&[Targets, Classes, Releases, Inventory], "Decided(false)"),
        ] {
            assert_eq!(words(&[(".capstan.yaml", "mode: propose\n")], &Remarks::default(), known), expected);
        }
    }
}
