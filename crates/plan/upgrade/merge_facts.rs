//! What is merged: O, and the base in the API versions of the new release.

use super::model::Basis;
use super::request::{OldSource, UpgradeRequest};
use super::said_by_patches::SaidByPatches;
use crate::merge::ReleaseSource;
use crate::merge::cluster_objects::Base;
use crate::merge::convert::{ConversionObstacle, wanted};
use crate::merge::fit::rank;
use crate::merge::views::MergeInput;
use capstan_yaml::YamlFile;

/// What is merged: the cluster's base in the new release's API versions, and O.
pub(super) struct ConvertedBase<'a> {
    pub(super) base: Base,
    pub(super) old: Option<&'a ReleaseSource>,
    pub(super) basis: Basis,
    /// What could not be brought to those versions.
    pub(super) obstacles: Vec<ConversionObstacle>,
}

/// Finds O, and converts the base ([U7a](crate::merge::converted#u7a)).
pub(super) fn facts<'a>(
    request: &UpgradeRequest<'a>,
    mut base: Base,
    overlay: &[YamlFile],
) -> ConvertedBase<'a> {
    let (old, basis) = old_source(request, &base);
    let mut wanted = wanted(&merge_input(request, &base, old));
    // Most plans convert nothing: then no patch is parsed.
    if !wanted.is_empty() {
        let said = SaidByPatches::of(request, &base, overlay);
        for (object, wanted) in &mut wanted {
            wanted.patched = said.fields(&base, *object);
        }
    }
    let obstacles = base.convert(wanted, request.schemas);
    ConvertedBase { base, old, basis, obstacles }
}

/// The facts of the merge.
pub(in crate::upgrade) fn merge_input<'a>(
    request: &UpgradeRequest<'a>,
    base: &'a Base,
    old: Option<&'a ReleaseSource>,
) -> MergeInput<'a> {
    let cluster = request.cluster;
    MergeInput {
        base,
        old,
        new: request.new.documents(),
        contents: &cluster.contents,
        variables: &cluster.variables,
        flux: &cluster.flux,
        owners: &request.settings.owners,
        schemas: request.schemas,
    }
}

/// O and how it is known.
fn old_source<'a>(request: &UpgradeRequest<'a>, base: &Base) -> (Option<&'a ReleaseSource>, Basis) {
    match request.old {
        OldSource::Known(source) => (Some(source.documents()), Basis::Known),
        OldSource::Unknown => (None, Basis::Unknown),
        OldSource::Infer(candidates) => {
            let (variables, flux) = (&request.cluster.variables, &request.cluster.flux);
            match rank(candidates, base, variables, flux, request.schemas).as_slice() {
                [(first, _), (second, _), ..] if first.rank() == second.rank() => (None, Basis::Unknown),
                [(fit, source), ..] if fit.is_whole() => (Some(source), Basis::Inferred),
                _ => (None, Basis::Unknown),
            }
        }
    }
}
