//! `api-version-ends`

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::conversion::{ServedUntil, served_until};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::FieldPath;
use capstan_model::version::ReleaseVersion;
use capstan_model::wording::count;
use capstan_providers::CORE_PROVIDER;

pub(super) struct ApiVersionEnds;

static ABOUT: About =
    About::new(rules::API_VERSION_ENDS, include_str!("../../../docs/rules/api-version-ends.md"));

/// How many months before the planned end the rule begins to warn.
const MONTHS: i32 = 6;

const NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl PolicyRule for ApiVersionEnds {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        // Of clusters whose Cluster API is not known, nothing says that the newer version is served there already.
        let Some(core) = &cluster.cluster_api else { return };
        let mut uses: BTreeMap<&str, (ServedUntil, &str, Vec<&RenderedObject>)> = BTreeMap::new();
        for object in cluster.objects {
            let until = served_until(&object.id.kind, &object.api_version);
            let Some(until) = until.filter(|until| until.provider == CORE_PROVIDER) else { continue };
            let is_ahead = ReleaseVersion::parse(until.release).is_some_and(|first| *core < first);
            let Some(month) = month_of(until, cluster.today).filter(|_| is_ahead) else { continue };
            uses.entry(&object.api_version).or_insert((until, month, Vec::new())).2.push(object);
        }
        for (api_version, (until, month, objects)) in uses {
            let place = |object: &RenderedObject| {
                Place::from(&object.placed.field("apiVersion").unwrap_or(&object.placed).place)
            };
            let places: Vec<Place> = objects.iter().map(|object| place(object)).collect();
            let files: BTreeSet<_> = places.iter().map(Place::file).collect();
            let Some((first, place)) = objects.first().zip(places.first()) else { continue };
            let year = until.planned.map(|(year, _)| year).unwrap_or_default();
            let message = format!(
                "Cluster API {} (planned for {month} {year}) no longer serves {api_version}, which {} (the first one here): migrate them before, with `capstan migrate`",
                until.release,
                count(files.len(), "file uses", "files use")
            );
            let finding = Finding::new(rules::API_VERSION_ENDS, message).object(&first.id);
            verdicts.push(finding.path(&FieldPath::root().key("apiVersion")).place(place.clone()));
        }
    }
}

/// The month for which an end is planned, if that is near.
fn month_of(until: ServedUntil, today: Date) -> Option<&'static str> {
    let (year, month) = until.planned?;
    let months = |year: i16, month: i8| i32::from(year) * 12 + i32::from(month);
    let is_near = months(year, month) - months(today.year(), today.month()) <= MONTHS;
    NAMES.get(usize::try_from(month).ok()?.checked_sub(1)?).copied().filter(|_| is_near)
}
