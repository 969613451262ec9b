//! `split-rollout`

use super::evidence::{ClusterEvidence, Evidence};
use super::facts::Occasion;
use super::kubernetes::RequiredVersion;
use super::kubernetes_steps::steps;
use super::rule::{About, PolicyRule};
use crate::merge::AppliedBy;
use crate::templates::reference_paths;
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{Treatment, bears_images, treatment};
use capstan_model::object::FieldPath;
use capstan_model::version::names_version;

pub(super) struct SplitRollout;

static ABOUT: About = About::new(rules::SPLIT_ROLLOUT, include_str!("../../../docs/rules/split-rollout.md"));

impl PolicyRule for SplitRollout {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in steps(change) {
            let (was, is) = (full(&old), full(&new));
            let (Some(was), Some(is)) = (was, is) else { continue };
            for (template_before, template) in templates(change, new.object) {
                // Only an image that is named after the version belongs to it.
                let Some((_, mark)) = image_of(template_before, was) else { continue };
                let stale = image_of(template, was);
                let verdict = if was != is {
                    let Some((_, stale)) = stale.filter(|_| image_of(template, is).is_none()) else {
                        continue;
                    };
                    let message = format!(
                        "{} goes from {} to {}, but {} still names the image `{}`: change both at once, or the machines are replaced twice",
                        new.object,
                        old.version,
                        new.version,
                        template.id,
                        stale.as_str().unwrap_or_default()
                    );
                    let place = if change.occasion == Occasion::Upgrade { &old } else { &new };
                    Finding::new(rules::SPLIT_ROLLOUT, message)
                        .object(new.object)
                        .path(&new.path())
                        .place(&place.placed.place)
                } else {
                    // The image went on, the version stayed. What is edited under its old name replaces no
                    // machine, which is another rule's.
                    let rolls = template.id != template_before.id
                        || change.applied_by == AppliedBy::Reconciler
                        || treatment(Some(&template.id.group), &template.id.kind)
                            == Some(Treatment::MutableAndRolls);
                    let moved = moved_image(template).filter(|_| rolls && stale.is_none());
                    let Some((path, image)) = moved else { continue };
                    let message = format!(
                        "{} gets the image `{}`, but {} stays at {}: change both at once, or the machines are replaced twice",
                        template.id,
                        image.as_str().unwrap_or_default(),
                        new.object,
                        new.version
                    );
                    let place = if change.occasion == Occasion::Upgrade { mark } else { image };
                    Finding::new(rules::SPLIT_ROLLOUT, message)
                        .object(&template.id)
                        .path(&path)
                        .place(&place.place)
                };
                verdicts.push(verdict);
            }
        }
    }
}

/// The version as images name it: without its `v` and a build (`+rke2r1`), and only where it has a patch.
fn full<'w>(wanted: &'w RequiredVersion<'_>) -> Option<&'w str> {
    let text = wanted.version.as_str();
    let bare = text.strip_prefix('v').unwrap_or(text);
    let core = bare.split(['+', '-']).next()?;
    (core.matches('.').count() == 2).then_some(core)
}

/// The image-bearing objects that an owner names before and after.
fn templates<'a>(
    change: &Evidence<'a>,
    owner: &capstan_model::object::ObjectId,
) -> Vec<(&'a RenderedObject, &'a RenderedObject)> {
    let (Some(old), Some(new)) = (change.before.object(owner), change.after.object(owner)) else {
        return Vec::new();
    };
    let pair = |path: &crate::templates::ReferencePath| {
        Some((named(&change.before, old, path.steps)?, named(&change.after, new, path.steps)?))
    };
    reference_paths(&owner.group, &owner.kind).iter().filter_map(pair).collect()
}

fn named<'a>(
    cluster: &ClusterEvidence<'a>,
    owner: &RenderedObject,
    steps: &[&str],
) -> Option<&'a RenderedObject> {
    let reference = owner.placed.at(steps)?;
    let found = cluster.named(reference.text_at(&["kind"])?, reference.text_at(&["name"])?).next()?;
    bears_images(&found.id).then_some(found)
}

/// The scalar of a template that names the version.
fn image_of<'a>(template: &'a RenderedObject, version: &str) -> Option<(FieldPath, &'a PlacedValue)> {
    find(template.placed.field("spec")?, &FieldPath::root().key("spec"), &|text| names_version(text, version))
}

/// The scalar of a template that names some version of Kubernetes.
fn moved_image(template: &RenderedObject) -> Option<(FieldPath, &PlacedValue)> {
    let names_version = |text: &str| {
        let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
        words.into_iter().any(|word| {
            let mut parts = word.split('.');
            let minor = (parts.next() == Some("1")).then(|| parts.next()).flatten();
            minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| (10..100).contains(&minor))
                && parts.next().is_some_and(|patch| !patch.is_empty())
        })
    };
    find(template.placed.field("spec")?, &FieldPath::root().key("spec"), &names_version)
}

fn find<'a>(
    value: &'a PlacedValue,
    path: &FieldPath,
    wanted: &impl Fn(&str) -> bool,
) -> Option<(FieldPath, &'a PlacedValue)> {
    match &value.content {
        PlacedContent::Scalar(_) => value.as_str().is_some_and(wanted).then(|| (path.clone(), value)),
        PlacedContent::Mapping(entries) => {
            entries.iter().find_map(|(key, value)| find(value, &path.key(key), wanted))
        }
        PlacedContent::Sequence(items) => {
            items.iter().enumerate().find_map(|(at, value)| find(value, &path.index(at), wanted))
        }
    }
}
