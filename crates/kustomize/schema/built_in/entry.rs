//! The table of kinds that are known by their paths: its shape.

use crate::schema::value::ValueKind;

/// One line of the table: a path and what is known there. `.` separates fields, `[]` is a list's
/// items, `*` any field of a map.
#[derive(Debug)]
pub(super) enum SchemaRow {
    /// A list whose items these fields tell apart; `protocol=TCP` has a default.
    Keyed(&'static str, &'static [&'static str]),
    /// Lists that are one value.
    Atomic(&'static [&'static str]),
    /// A list that is a set.
    Set(&'static str),
    /// A text with a typed value.
    Value(&'static str, ValueKind),
    /// Below the path another part of the table holds.
    Part(&'static str, &'static [SchemaRow]),
}

/// What the table knows of some kinds.
pub(super) struct SchemaEntry {
    pub(super) group: &'static str,
    /// Their names, in every version; `*` is any other of the group.
    pub(super) kinds: &'static [&'static str],
    pub(super) rows: &'static [SchemaRow],
}
