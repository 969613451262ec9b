//! `unknown-field`

use super::cluster_api::CoreVersion;
use super::evidence::ClusterEvidence;
use super::fitting::{MisfitKind, ObjectMisfit, Stray, defined_in};
use super::rule::{About, PolicyRule};
use capstan_kustomize::schema::{CLUSTER_API_MINOR, SchemaOrigin};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, Step};

pub(super) struct UnknownField;

static ABOUT: About = About::new(rules::UNKNOWN_FIELD, include_str!("../../../docs/rules/unknown-field.md"));

impl PolicyRule for UnknownField {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for misfit in cluster.misfits() {
            let MisfitKind::UnknownField(stray) = &misfit.kind else { continue };
            let sure = sureness(misfit, stray, cluster.cluster_api.as_ref());
            if sure == Sure::No {
                continue;
            }
            let object = misfit.object;
            let message = format!(
                "`{}` is not a field of {} in {} ({}): the API server drops it or refuses the object.{}",
                misfit.path,
                object.id.kind,
                object.api_version,
                known_to(misfit.origin),
                advice(stray, sure),
            );
            let position = match misfit.path.steps().last() {
                Some(Step::Key(name)) => misfit.place.position_of_key(name),
                _ => misfit.place.position(),
            };
            let place = Place::at(misfit.place.file().clone(), position);
            let verdict = Finding::new(rules::UNKNOWN_FIELD, message)
                .object(&object.id)
                .path(&misfit.path)
                .place(place);
            verdicts.push(if sure == Sure::Yes { verdict } else { verdict.warning() });
        }
    }
}

/// Whether no Cluster API has the field: of those newer than the built-in definition nobody here knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sure {
    Yes,
    /// A newer one may have it, and nothing says which one is installed.
    Perhaps,
    /// A newer one is installed, and nothing says what else the field may be.
    No,
}

fn sureness(misfit: &ObjectMisfit<'_>, stray: &Stray, installed: Option<&CoreVersion>) -> Sure {
    let lower = |path: &FieldPath| path.to_string().to_lowercase();
    let only_case = stray.meant.as_ref().is_some_and(|meant| lower(meant) == lower(&misfit.path));
    if *misfit.origin != SchemaOrigin::BuiltIn || stray.other.is_some() || only_case {
        return Sure::Yes;
    }
    match installed.map(|core| (core.major(), core.minor()) <= (1, CLUSTER_API_MINOR)) {
        Some(true) => Sure::Yes,
        Some(false) if stray.meant.is_none() => Sure::No,
        _ => Sure::Perhaps,
    }
}

fn known_to(origin: &SchemaOrigin) -> String {
    match origin {
        SchemaOrigin::BuiltIn => format!("Cluster API up to 1.{CLUSTER_API_MINOR} knows none"),
        other => defined_in(other),
    }
}

/// What it may be, and what to do.
fn advice(stray: &Stray, sure: Sure) -> String {
    let other = stray.other.as_ref().map(|other| match &other.here {
        Some(here) => format!(" {} has it; in this version it is `{here}`.", other.name),
        None => format!(" {} has it.", other.name),
    });
    let is_elsewhere = stray.other.as_ref().is_some_and(|other| other.here.is_some());
    let meant = stray.meant.as_ref().filter(|_| !is_elsewhere);
    let meant = meant.map(|path| format!(" Did you mean `{path}`?"));
    let newer = (sure == Sure::Perhaps).then(|| {
        " If your Cluster API is newer and has it, add its CustomResourceDefinition to .capstan/crds."
            .to_owned()
    });
    [other, meant, newer].into_iter().flatten().collect()
}
