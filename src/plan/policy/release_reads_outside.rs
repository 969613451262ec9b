//! `release-reads-outside`, found where releases are read, and of an upgrade between such releases.

use super::evidence::Evidence;
use super::rule::{About, Example, Rule};
use crate::release::Release;
use capstan_model::finding::{Finding, Place, rules};

pub(super) struct ReleaseReadsOutside;

static ABOUT: About = About {
    entry: rules::RELEASE_READS_OUTSIDE,
    summary: "A release's kustomization reads files outside of the release's folder.",
    reason: "What several releases read changes all of them at once: clusters at an old release are offered the \
             difference as a refresh of it. A cluster records what its release read elsewhere (`releaseReads`) beside \
             the id of its folder; one that does not yet, or whose history lost those files, is compared with what \
             lies there now. Put what a release is made of into its folder, or into folders that belong to one \
             version and never change.",
    source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: Example::Tree(&[
        ("aws/v21.0.0/base/kustomization.yaml", "resources:\n- ../../parts/pool.yaml\n"),
        ("aws/parts/pool.yaml", POOL),
    ]),
    good: Example::Tree(&[
        ("aws/v21.0.0/base/kustomization.yaml", "resources:\n- pool.yaml\n"),
        ("aws/v21.0.0/base/pool.yaml", PLAIN),
    ]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1 # <--
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";
const PLAIN: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org}
";

impl Rule for ReleaseReadsOutside {
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
        "{} reads {}{others} from outside of its folder: a change there changes the release, and is offered to every cluster at it. Keep it as it is as long as clusters are at this release, or move it into the folder",
        release.id, first.path
    );
    let place = Place::line_of(first.path.clone(), 1).at_first_column();
    Some(Finding::new(rules::RELEASE_READS_OUTSIDE, message).place(place))
}
