//! `unreadable-file`, found by `validate`.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct UnreadableFile;

static ABOUT: About =
    About::new(rules::UNREADABLE_FILE, include_str!("../../../docs/rules/unreadable-file.md"));

impl PolicyRule for UnreadableFile {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
