//! `release-record-differs`, found while a cluster is read.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct ReleaseRecordDiffers;

static ABOUT: About =
    About::new(rules::RELEASE_RECORD_DIFFERS, include_str!("../../../docs/rules/release-record-differs.md"));

impl PolicyRule for ReleaseRecordDiffers {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
