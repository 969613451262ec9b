//! Real objects under their real definitions: what the rules find there is a mistake of the object, or one
//! of the rules.

use super::folders;
use crate::policy::fitting::{BrokenLimit, MisfitKind, misfits_of};
use capstan_kustomize::render::render;
use capstan_kustomize::schema::{SchemaFile, Schemas};
use capstan_model::tree::RepoPath;
use capstan_test_support::{Files, shared_data};

/// What does not fit in the real manifests, file by file, and how many objects were judged.
fn judged_by(schemas: &Schemas) -> Option<(usize, Vec<(String, String)>)> {
    let (mut judged, mut found) = (0, Vec::new());
    for (name, text) in shared_data::files("manifests")?.into_iter().filter(|(name, _)| is_yaml(name)) {
        // Fragments, Helm values and the like are not objects.
        let Ok(rendered) = render(&Files::from_bytes([("c/base/a.yaml".to_owned(), text)]), &folders())
        else {
            continue;
        };
        for object in &rendered.objects {
            judged += usize::from(schemas.judges(&object.id.kind, &object.api_version).next().is_some());
            found.extend(misfits_of(object, schemas).into_iter().filter_map(|misfit| {
                let kind = match misfit.kind {
                    MisfitKind::UnknownField(_) => "unknown",
                    MisfitKind::Type { .. } => "of another type",
                    MisfitKind::Choice { .. } => "not allowed",
                    // The manifests include patches, which are not whole objects.
                    MisfitKind::Limit(BrokenLimit::Missing) => return None,
                    MisfitKind::Limit(_) => "outside of its limits",
                };
                Some((name.clone(), format!("{} {} {kind}", object.id.kind, misfit.path)))
            }));
        }
    }
    println!("{judged} objects judged, {} misfits", found.len());
    Some((judged, found))
}

/// Every real definition; `None`, said aloud, where there is none.
fn real_definitions() -> Option<Schemas> {
    let files = shared_data::definition_files()?
        .into_iter()
        .map(|(name, bytes)| SchemaFile { path: RepoPath::parse(&name).unwrap(), bytes: Ok(bytes.into()) });
    Some(Schemas::read(files))
}

#[test]
fn real_objects_fit_their_real_definitions() {
    let Some(schemas) = real_definitions() else { return };
    let Some((judged, found)) = judged_by(&schemas) else { return };
    assert!(judged > 100, "only {judged} objects judged");
    let told: Vec<&str> = found.iter().map(|(_, misfit)| misfit.as_str()).collect();
    assert_eq!(told, KNOWN, "{found:#?}");
}

#[test]
fn real_objects_of_cluster_api_fit_the_built_in_definitions() {
    let Some((judged, found)) = judged_by(Schemas::built_in()) else { return };
    assert!(judged > 100, "only {judged} objects judged");
    let told: Vec<&str> = found.iter().map(|(_, misfit)| misfit.as_str()).collect();
    assert_eq!(told, KNOWN_BUILT_IN, "{found:#?}");
}

/// Fields of the other API version: what somebody forgot when the object moved; and an empty mapping.
const KNOWN_BUILT_IN: [&str; 4] = [
    "ClusterClass /spec/controlPlane/machineHealthCheck unknown",
    "Cluster /spec/topology/classRef unknown",
    "Cluster /spec/topology/classRef unknown",
    "Cluster /spec/topology/controlPlane/metadata outside of its limits",
];

/// Mistakes of the objects themselves: what a generator left standing, fields of another API version,
/// lists where the definition has a mapping.
const KNOWN: [&str; 13] = [
    "BareMetalHost /spec/foo unknown",
    "HostFirmwareComponents /spec/updates/0/name unknown",
    "HostFirmwareComponents /spec/updates/1/name unknown",
    "HostFirmwareSettings /spec/settings of another type",
    "PreprovisioningImage /spec/foo unknown",
    "AWSMachine /spec/securityGroupOverrides of another type",
    "AWSMachine /spec/userData unknown",
    "Metal3ClusterTemplate /spec/template/spec/controlPlaneEndpoint/cloudProviderEnabled unknown",
    "ClusterClass /spec/controlPlane/machineHealthCheck unknown",
    "Cluster /spec/topology/classRef unknown",
    "Cluster /spec/topology/classRef unknown",
    "Cluster /spec/topology/controlPlane/metadata outside of its limits",
    "InfrastructureProvider /spec/configSecret unknown",
];

fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}
