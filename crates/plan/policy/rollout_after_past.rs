//! `rollout-after-past`

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::evidence::Evidence;
use super::facts::Occasion;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;

pub(super) struct RolloutAfterPast;

static ABOUT: About =
    About::new(rules::ROLLOUT_AFTER_PAST, include_str!("../../../docs/rules/rollout-after-past.md"));

/// `rolloutAfter` until v1beta1, `rollout.after` since v1beta2, `upgradeAfter` in v1alpha3. (A topology's own
/// `rolloutAfter` never had a function.)
const FIELDS: [&[&str]; 4] = [
    &["spec", "rollout", "after"],
    &["spec", "rolloutAfter"],
    &["spec", "upgradeAfter"],
    &["spec", "topology", "controlPlane", "rollout", "after"],
];

impl PolicyRule for RolloutAfterPast {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let Ok(midnight) = change.today.to_zoned(TimeZone::UTC) else { return };
        let midnight = midnight.timestamp();
        for (old, new) in change.pairs().filter(|(_, new)| new.id.group.ends_with("cluster.x-k8s.io")) {
            let known = times(&old.placed);
            for time in times(&new.placed) {
                let Time { of, path, written } = &time;
                let Some(text) = written.as_str() else { continue };
                let Ok(after) = text.parse::<Timestamp>() else { continue };
                // Only the day is known, not the hour: a time of today may still be ahead.
                let is_past = after < midnight;
                let before = known.iter().find(|known| known.of == *of).map(|known| known.written);
                if !is_past
                    || !of.has_machines(&old.placed)
                    || before.and_then(|before| before.as_str()) == Some(text)
                {
                    continue;
                }
                let message = format!(
                    "the machines of {} have `after: {text}`, which is in the past, so they are replaced at once. Set a time in the future, or remove it",
                    new.id
                );
                let place = match change.occasion {
                    Occasion::Upgrade => before.map_or_else(|| old.origin(), |before| &before.place),
                    Occasion::Revision => &written.place,
                };
                verdicts.push(
                    Finding::new(rules::ROLLOUT_AFTER_PAST, message).object(&new.id).path(path).place(place),
                );
            }
        }
    }
}

/// A time that an object says.
struct Time<'p> {
    /// The field, or the group of a topology.
    of: TimeOf<'p>,
    path: FieldPath,
    written: &'p PlacedValue,
}

/// Whose time it is.
#[derive(Debug, PartialEq, Eq)]
enum TimeOf<'p> {
    /// That of the object, in this one of [`FIELDS`].
    Field(usize),
    /// That of workers of a topology, by their name.
    Workers(&'p str),
}

impl TimeOf<'_> {
    /// Whether there are machines already: those of workers that only come now are made after any time that is over.
    fn has_machines(&self, before: &PlacedValue) -> bool {
        match self {
            Self::Field(_) => true,
            Self::Workers(name) => workers(before).iter().any(|group| group.text_at(&["name"]) == Some(name)),
        }
    }
}

const WORKERS: [&str; 4] = ["spec", "topology", "workers", "machineDeployments"];

/// The groups of a topology that may have a time; MachinePools have none.
fn workers(object: &PlacedValue) -> &[PlacedValue] {
    object.at(&WORKERS).map(PlacedValue::items).unwrap_or_default()
}

fn times(object: &PlacedValue) -> Vec<Time<'_>> {
    let mut times = Vec::new();
    for (field, keys) in FIELDS.into_iter().enumerate() {
        let path = FieldPath::of_keys(keys);
        times.extend(object.at(keys).map(|written| Time { of: TimeOf::Field(field), path, written }));
    }
    for (at, group) in workers(object).iter().enumerate() {
        let Some(written) = group.at(&["rollout", "after"]) else { continue };
        let list = FieldPath::of_keys(WORKERS);
        let path = list.index(at).key("rollout").key("after");
        let of = TimeOf::Workers(group.text_at(&["name"]).unwrap_or_default());
        times.push(Time { of, path, written });
    }
    times
}
