//! The version of a cluster's own chart beside the release that its values name ([U16]).
//!
//! A release of Giant Swarm names the version of the cluster chart that it was made with, as a component
//! (`cluster-aws`). Where the App leaves its version empty, the release decides, and the chart moves with it. Where the
//! App or HelmRelease pins one, the release cannot. The pin is then a field like any other, with the components as old
//! and new release ([U5]). A chart that stays is reported, and does not count as a component that moves.
//!
//! [U5]: crate::merge::fields#u5
//! [U16]: crate::upgrade#u16

use std::cmp::Ordering;

use super::change_source::ChangeSource;
use super::component::ComponentChange;
use super::components::component;
use super::model::{Conflict, Settlement, Side};
use crate::giant_swarm::{ChartSources, Holder, NamedRelease, chart_of, deploys, is_named};
use crate::merge::cluster_objects::Base;
use crate::settings::ConflictPolicy;
use capstan_model::finding::{Finding, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::{LooseVersion, ReleaseVersion};
use capstan_yaml::{Node, Value};

/// Where a chart's version is pinned.
#[derive(Debug)]
struct Pin {
    /// The App, HelmRelease or OCIRepository.
    object: usize,
    path: FieldPath,
    chart: String,
    text: String,
    by: PinnedBy,
}

/// What decides which version of a chart is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PinnedBy {
    /// The text, which is one version.
    Version,
    /// A digest, which goes before every version.
    Digest,
    /// A range, or nothing at all, of which Flux takes the newest that there is.
    Range,
    /// A source that is not in this base, whose name the text is.
    Elsewhere,
}

/// What becomes of one chart.
pub(super) enum ChartMove {
    /// The pin becomes this version.
    Set { object: usize, path: FieldPath, old: String, new: String },
    /// It stays, and this is said.
    Stays { chart: String, said: Box<(Finding, Option<Conflict>)> },
    /// Flux chooses it, whatever the release says.
    Floats { chart: String, note: String },
}

/// What becomes of the charts that deploy the cluster of these named releases.
pub(super) fn chart_moves(
    base: &Base,
    holders: &[Holder<'_>],
    named: &[(usize, NamedRelease)],
    (old, new): (Option<&dyn ChangeSource>, &dyn ChangeSource),
    policy: ConflictPolicy,
) -> Vec<ChartMove> {
    let pins = deploys(holders, named).into_iter().filter_map(|at| pin(base, at));
    pins.filter_map(|pin| {
        let after = component(new, &pin.chart)?;
        let before = old.and_then(|old| component(old, &pin.chart));
        let built = BuiltWith { new, after: &after, before: before.as_deref(), is_old_known: old.is_some() };
        decide(base, &pin, &built, policy)
    })
    .collect()
}

/// Takes the charts that do not move out of what the plan lists.
pub(super) fn without_those_that_stay(components: &mut Vec<ComponentChange>, moves: &[ChartMove]) {
    components.retain(|component| {
        !moves.iter().any(|chart| match chart {
            ChartMove::Set { .. } => false,
            ChartMove::Stays { chart, .. } | ChartMove::Floats { chart, .. } => *chart == component.name,
        })
    });
}

/// The versions of a chart that the releases were built with.
struct BuiltWith<'a> {
    new: &'a dyn ChangeSource,
    /// That of the new release.
    after: &'a str,
    /// That of the old release; `None` if it names none, or is unknown.
    before: Option<&'a str>,
    is_old_known: bool,
}

fn decide(base: &Base, pin: &Pin, built: &BuiltWith<'_>, policy: ConflictPolicy) -> Option<ChartMove> {
    let BuiltWith { new, after, before, is_old_known } = *built;
    let is = |version: &str| {
        LooseVersion::new(&pin.text).compare(&LooseVersion::new(version)) == Some(Ordering::Equal)
    };
    let id = &base.objects[pin.object].id;
    if matches!(pin.by, PinnedBy::Range | PinnedBy::Elsewhere) {
        let note = if pin.by == PinnedBy::Range {
            format!(
                "{id} leaves the version of chart {} to Flux ({}), so it does not follow the release, which was built with {after}.",
                pin.chart,
                if pin.text.is_empty() { "none is named" } else { &pin.text },
            )
        } else {
            format!(
                "{id} takes chart {} from {}, which is not in this base, so its version does not follow the release, which was built with {after}.",
                pin.chart, pin.text,
            )
        };
        return before
            .is_none_or(|before| before != after)
            .then(|| ChartMove::Floats { chart: pin.chart.clone(), note });
    }
    if is(after) || before == Some(after) {
        return None;
    }
    let is_older = LooseVersion::new(&pin.text).compare(&LooseVersion::new(after)) == Some(Ordering::Less);
    let untouched = before.is_some_and(is) || (!is_old_known && is_older);
    let is_variable = pin.text.contains("${");
    let is_settable = !is_variable && pin.by == PinnedBy::Version;
    if is_settable && (untouched || policy == ConflictPolicy::Take) {
        let new = if pin.text.starts_with('v') && !after.starts_with('v') {
            format!("v{after}")
        } else {
            after.to_owned()
        };
        return Some(ChartMove::Set {
            object: pin.object,
            path: pin.path.clone(),
            old: pin.text.clone(),
            new,
        });
    }
    let what_to_do = if is_variable {
        "Change the value of the variable where it is set"
    } else if pin.by == PinnedBy::Digest {
        "Set the digest of that version, or name the version alone"
    } else {
        "Set it to that version, or leave it empty to let the release decide"
    };
    let message = format!(
        "{id} pins chart {} at {}, and it stays there. Release {} was built with {after}. Kubernetes, images and apps change, but the chart's templates and defaults do not, and nobody has tested them together. {what_to_do}.",
        pin.chart,
        pin.text,
        new.id(),
    );
    let node = base.node(pin.object);
    let place = base.place(pin.object, node.at(&pin.path).unwrap_or(node).span.start);
    let finding = Finding::new(rules::CHART_STAYS, message).place(place.clone()).object(id).path(&pin.path);
    let conflict = Conflict {
        object: id.clone(),
        place: place.without_column(),
        path: pin.path.clone(),
        base: before.map(Value::from),
        cluster: Some(Value::from(pin.text.as_str())),
        release: Some(Value::from(after)),
        kept: Side::Cluster,
        blocks: policy == ConflictPolicy::Block,
        settling: Settlement::default(),
    };
    let said = Box::new((finding, is_settable.then_some(conflict)));
    Some(ChartMove::Stays { chart: pin.chart.clone(), said })
}

/// The pin of an App's or HelmRelease's chart; `None` where the release decides.
fn pin(base: &Base, object: usize) -> Option<Pin> {
    let node = base.node(object);
    let sources = ChartSources::of((0..base.objects.len()).map(|at| base.node(at)));
    let chart = chart_of(node, &sources).filter(|chart| chart.starts_with("cluster-"))?.to_owned();
    let text = |node: &Node, keys: &[&str]| -> Option<String> {
        let found = keys.iter().try_fold(node, |node, key| node.get(key))?;
        Some(found.as_scalar()?.text.clone()).filter(|text| !text.is_empty())
    };
    let pin = |object: usize, keys: &[&str], text: String, by: PinnedBy| {
        Some(Pin { object, path: FieldPath::of_keys(keys), chart: chart.clone(), text, by })
    };
    let version_at = |object: usize, keys: &[&str]| {
        let text = text(base.node(object), keys).unwrap_or_default();
        let is_one = ReleaseVersion::parse(&text).is_some() || text.contains("${");
        pin(object, keys, text, if is_one { PinnedBy::Version } else { PinnedBy::Range })
    };
    if base.objects[object].id.kind == "App" {
        let keys = ["spec", "version"];
        return pin(object, &keys, text(node, &keys)?, PinnedBy::Version);
    }
    let Some(reference) = node.get("spec").and_then(|spec| spec.get("chartRef")) else {
        return version_at(object, &["spec", "chart", "spec", "version"]);
    };
    let is_source = |id: &ObjectId| id.group == "source.toolkit.fluxcd.io";
    let source = (0..base.objects.len())
        .find(|at| is_source(&base.objects[*at].id) && is_named(base.node(*at), reference));
    let Some(source) = source else {
        let word = |key: &str| reference.text_at(key).unwrap_or_default();
        return pin(
            object,
            &["spec", "chartRef"],
            format!("{} {}", word("kind"), word("name")),
            PinnedBy::Elsewhere,
        );
    };
    if base.objects[source].id.kind == "HelmChart" {
        return version_at(source, &["spec", "version"]);
    }
    let of_source = |keys: &[&str], by: PinnedBy| {
        text(base.node(source), keys).and_then(|text| pin(source, keys, text, by))
    };
    // Flux looks for them in this order.
    of_source(&["spec", "ref", "digest"], PinnedBy::Digest)
        .or_else(|| of_source(&["spec", "ref", "semver"], PinnedBy::Range))
        .or_else(|| version_at(source, &["spec", "ref", "tag"]))
}
