//! Real objects under their real definitions: what the rules find there is a mistake of the object, or one
//! of the rules.

use std::path::{Path, PathBuf};

use super::folders;
use crate::policy::fitting::{MisfitKind, misfits_of};
use crate::render::render;
use crate::render::testing::{Files, shared_data};
use crate::schema::{Origin, SchemaFile, Schemas};
use crate::tree::RepoPath;

#[test]
fn real_objects_fit_their_real_definitions() {
    let data = shared_data();
    if !data.is_dir() {
        println!("SKIPPED: no shared data at {} (set CAPSTAN_SHARED_DATA)", data.display());
        return;
    }
    let schemas = Schemas::read(
        yaml_below(&[data.join("crds"), data.join("providers/operator-configmaps")]).map(|path| SchemaFile {
            path: RepoPath::parse(path.strip_prefix(&data).unwrap().to_str().unwrap()).unwrap(),
            origin: Origin::Repository,
            bytes: Ok(std::fs::read(&path).unwrap().into()),
        }),
    );
    let (mut judged, mut found) = (0, Vec::new());
    for path in yaml_below(&[data.join("manifests")]) {
        let name = path.strip_prefix(&data).unwrap().display().to_string();
        let text = std::fs::read(&path).unwrap();
        // Fragments, Helm values and the like are no objects.
        let Ok(rendered) = render(&Files::from_bytes([("c/base/a.yaml".to_owned(), text)]), &folders())
        else {
            continue;
        };
        for object in &rendered.objects {
            judged += usize::from(schemas.definitions(&object.id.kind, &object.api_version).next().is_some());
            found.extend(misfits_of(object, &schemas).into_iter().map(|misfit| {
                let kind = match misfit.kind {
                    MisfitKind::UnknownField(_) => "unknown",
                    MisfitKind::Type { .. } => "of another type",
                    MisfitKind::Choice { .. } => "not allowed",
                };
                (name.clone(), format!("{} {} {kind}", object.id.kind, misfit.path))
            }));
        }
    }
    println!("{judged} objects judged, {} misfits", found.len());
    assert!(judged > 100, "only {judged} objects judged");
    let told: Vec<&str> = found.iter().map(|(_, misfit)| misfit.as_str()).collect();
    assert_eq!(told, KNOWN, "{found:#?}");
}

/// Mistakes of the objects themselves: what a generator left standing, fields of another API version,
/// lists where the definition has a mapping.
const KNOWN: [&str; 12] = [
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
    "InfrastructureProvider /spec/configSecret unknown",
];

fn yaml_below(folders: &[PathBuf]) -> impl Iterator<Item = PathBuf> + use<> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    folders.iter().for_each(|folder| walk(folder, &mut files));
    files.sort();
    files.into_iter()
}
