//! `release-reads-outside`, found where releases are read, and of an upgrade between such releases.

use super::evidence::Evidence;
use super::rule::{About, PolicyRule};
use crate::release::Release;
use capstan_model::finding::{Finding, Place, rules};

pub(super) struct ReleaseReadsOutside;

static ABOUT: About =
    About::new(rules::RELEASE_READS_OUTSIDE, include_str!("../../../docs/rules/release-reads-outside.md"));

impl PolicyRule for ReleaseReadsOutside {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(step) = &change.release else { return };
        let releases = step.from.into_iter().chain([step.to]);
        verdicts.extend(releases.filter_map(verdict).next());
    }
}

/// Of a release that reads elsewhere, the first file that it reads there.
pub(super) fn verdict(release: &Release) -> Option<Finding> {
    let first = release.rendering.outside.first()?;
    let others = match release.rendering.outside.len() {
        1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let message = format!(
        "{} reads {}{others} from outside its folder. A change there changes the release, and Capstan offers it to every cluster at it. Leave it unchanged while clusters are at this release, or move it into the folder",
        release.id, first.path
    );
    let place = Place::line_of(first.path.clone(), 1).at_first_column();
    Some(Finding::new(rules::RELEASE_READS_OUTSIDE, message).place(place))
}
