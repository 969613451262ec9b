//! The words in which a table says what becomes of a field between two versions.
//!
//! Paths are below the place at which the rule applies; their keys are separated by dots. Rules are done in the order
//! of the table, each on the object that the rules before it left.

use super::run::TableRun;
use capstan_model::object::FieldPath;

/// The changes of one provider between two versions.
pub(in crate::conversion) struct ConversionTable {
    /// The API group.
    pub(super) group: &'static str,
    /// The versions, older first.
    pub(super) versions: (&'static str, &'static str),
    /// The release that served the newer version first; `None` where every release in use does.
    pub(super) since: Option<ServedSince>,
    /// Kinds, and what changes in them.
    pub(super) parts: &'static [TablePart],
}

impl ConversionTable {
    pub(super) fn speaks_of(&self, kind: &str) -> bool {
        self.parts.iter().flat_map(|part| part.at).any(|(own, _)| *own == kind)
    }
}

/// The release of a provider from which on it serves an API version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedSince {
    /// The provider, as the value of its label says: `infrastructure-aws`.
    pub provider: &'static str,
    /// The release: `v1.13.0`.
    pub release: &'static str,
    /// Whether that release or a later one is final. In August 2026 all others were still to come.
    pub is_final: bool,
}

impl ServedSince {
    /// Served by final releases.
    pub(in crate::conversion) const fn release(
        provider: &'static str,
        release: &'static str,
    ) -> Option<Self> {
        Some(Self { provider, release, is_final: true })
    }

    /// Served by no final release yet.
    pub(super) const fn coming(provider: &'static str, release: &'static str) -> Option<Self> {
        Some(Self { provider, release, is_final: false })
    }
}

/// What changes at some places of some kinds.
pub(super) struct TablePart {
    /// Kind and place. A kind in no part has no conversion here.
    pub(super) at: &'static [(&'static str, &'static str)],
    /// What changes there; nothing where only `apiVersion` does.
    pub(super) rules: &'static [TableRule],
}

/// What becomes of a field.
#[derive(Clone, Copy)]
pub(super) enum TableRule {
    /// Rules below a field.
    In(&'static str, &'static [TableRule]),
    /// Rules for each item of a list, or each value of a map.
    Each(&'static str, &'static [TableRule]),
    /// A value goes elsewhere as it is.
    Move(&'static str, &'static str),
    /// The items of a list go behind those of another one.
    Append(&'static str, &'static str),
    /// A boolean goes elsewhere, and says the opposite there.
    Not(&'static str, &'static str),
    /// A duration goes elsewhere, as whole seconds.
    Seconds(&'static str, &'static str, ShortDuration),
    /// A text becomes a struct that holds it: the field, and where in the struct.
    Wrap(&'static str, &'static str),
    /// Of two fields the first counts, and the second says nothing beside it.
    Wins(&'static str, &'static str),
    /// A map becomes a list of its names with these two fields, ordered by name.
    Pairs(&'static str, [&'static str; 2]),
    /// A map of structs becomes a list of them with their names in this field, ordered by name.
    Named(&'static str, &'static str),
    /// A text of parts between commas becomes a list.
    Split(&'static str),
    /// A reference keeps these fields alone.
    Only(&'static str, &'static [&'static str]),
    /// A reference goes elsewhere, with the group of its `apiVersion` as `apiGroup`.
    Group(&'static str, &'static str),
    /// The older version's defaulting copies the first field to the second where that is empty.
    Copied(&'static str, &'static str),
    /// It means nothing in the newer version.
    Drop(&'static str),
    /// It means nothing in the newer version, and the plan says why.
    Leave(&'static str, &'static str),
    /// Nothing changes here, and the plan says what has to be done besides.
    Say(&'static str),
    /// It goes where it holds nothing, which the newer version refuses.
    Empty(&'static str),
    /// `false` and `0` say nothing in the older version.
    Zero(&'static str),
    /// A number that is not positive says nothing in the older version.
    NotPositive(&'static str),
    /// There is no counterpart: why, and what to do.
    Refuse(&'static str, &'static str, &'static str),
    /// The same where it is `true`; `false` says nothing.
    RefuseTrue(&'static str, &'static str, &'static str),
    /// A person must decide: what it means in both versions, and what to write.
    Ask(&'static str, &'static str, &'static str),
    /// Absent, it means another thing in the newer version: the old meaning as YAML, and what it is.
    Silent(&'static str, &'static str, &'static str),
    /// The newer version needs it: what to write.
    Required(&'static str, &'static str),
    /// The newer version needs it, and only a person knows the value: what it means, and what to write.
    AskAbsent(&'static str, &'static str, &'static str),
    /// The newer version refuses two items of one value in this field.
    Unique(&'static str, &'static str),
    /// The newer version refuses two items that are the same.
    Distinct(&'static str),
    /// The newer version refuses smaller numbers.
    Least(&'static str, i64),
    /// The newer version takes these alone.
    Choices(&'static str, &'static [&'static str]),
    /// The newer version takes a UUID alone.
    Uuid(&'static str),
    /// What a table cannot say.
    Hand(fn(&mut TableRun<'_>, &FieldPath)),
}

/// What becomes of a duration that is shorter than the newer version takes.
#[derive(Clone, Copy)]
pub(super) enum ShortDuration {
    /// It is a number like others.
    Kept,
    /// What has no whole second goes, and the newer version then does this.
    Gone(&'static str),
    /// Less than so many seconds is refused; none at all goes, and the newer version then does this.
    Least(i64, &'static str),
    /// Less than a second is one, and less than nothing is nothing.
    One,
}
