//! Directives of strategic merge patches: `$patch`.

use super::placed::PlacedValue;
use super::walked::PatchMisfit;

/// The key of a directive.
pub(super) const DIRECTIVE: &str = "$patch";

/// What a `$patch` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn read(value: &PlacedValue) -> Result<Self, PatchMisfit> {
        match &*value.written() {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            "delete" => Ok(Self::Delete),
            _ => Err(PatchMisfit::new(&value.place, "`$patch` must be `merge`, `replace` or `delete`")),
        }
    }

    /// Of a mapping.
    pub(super) fn of(patch: &PlacedValue) -> Result<Self, PatchMisfit> {
        patch.field(DIRECTIVE).map_or(Ok(Self::Merge), Self::read)
    }

    /// Of a list: an item that is nothing but a directive.
    pub(super) fn of_list(items: &[PlacedValue]) -> Result<Option<Self>, PatchMisfit> {
        let item = items.iter().find(|item| item.field(DIRECTIVE).is_some());
        match item.filter(|item| item.entries().len() == 1).and_then(|item| item.field(DIRECTIVE)) {
            Some(value) => Self::read(value).map(Some),
            None => Ok(None),
        }
    }
}
