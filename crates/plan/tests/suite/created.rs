//! Clusters made from real templates: whatever is made, the template has nothing to add to it, whether it is known to
//! come from it or not.

use std::collections::BTreeMap;

use capstan_kustomize::schema::Schemas;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_plan::creation::{FolderShape, MadeCluster, Makes, NewCluster, NotMade, make, variables};
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::upgrade::{MergeSettings, OldSource, Retarget, UpgradeRequest, plan};
use capstan_test_support::shared_data;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn created(release: &ReleaseSource, variables: &BTreeMap<String, String>) -> Result<MadeCluster, NotMade> {
    make(NewCluster {
        id: &ClusterId::new(path("a/b")),
        makes: Makes::Cluster,
        base: &path("a/b/base"),
        overlay: &path("a/b/overlay"),
        release,
        variables,
        flux: &PostBuild::default(),
        applied: AppliedBy::Reconciler,
        shape: &FolderShape::default(),
        schemas: Schemas::built_in(),
    })
}

/// Files that an upgrade to the release it was made from would write.
fn upgraded(
    release: &ReleaseSource,
    made: &MadeCluster,
    variables: &BTreeMap<String, String>,
) -> Vec<String> {
    let file = |name: &'static str| {
        move |file: &&capstan_model::file_change::FileChange| {
            (file.path.name() == "capstan.yaml") == (name == "record")
        }
    };
    let source = |file: &capstan_model::file_change::FileChange| {
        SourceFile::new(file.path.clone(), file.after.as_deref().unwrap())
    };
    let cluster = ClusterFacts {
        id: ClusterId::new(path("a/b")),
        kind: TargetKind::Cluster,
        base_folder: path("a/b/base"),
        base: made.files.iter().filter(file("base")).map(source).collect(),
        contents: Vec::new(),
        overlay: Vec::new(),
        record: made.files.iter().find(file("record")).map(source),
        variables: variables.clone(),
        flux: PostBuild::default(),
        release: release.id.release(),
        applied: AppliedBy::Reconciler,
        classes_used_elsewhere: Vec::new(),
    };
    let planned = plan(&UpgradeRequest {
        cluster: &cluster,
        old: OldSource::Known(release),
        new: release,
        settings: &MergeSettings::default(),
        schemas: Schemas::built_in(),
        retarget: Retarget::Refused,
    });
    let planned = planned.unwrap();
    let files = planned.intended.iter().map(|file| file.path.to_string());
    files.chain(planned.upgrade.blocked).collect()
}

#[test]
fn a_cluster_made_from_a_real_template_needs_no_upgrade_to_it() {
    let Some(files) = shared_data::yaml_files() else { return };
    let (mut made, mut refused) = (0, Vec::new());
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if !text.contains("kind: Cluster\n") || file.to_string_lossy().contains("/crds/") {
            continue;
        }
        let base_folder = path("x/v1.0.0/base");
        let base = vec![SourceFile::new(base_folder.join("all.yaml").unwrap(), text)];
        let facts = SourceFacts { base_folder, base, ..SourceFacts::default() };
        let Ok(release) = ReleaseSource::read(ReleaseId::from_path("x/v1.0.0"), None, &facts) else {
            continue;
        };
        let name = file.to_string_lossy().into_owned();
        let value =
            |name: &String| (name.clone(), format!("value-of-{}", name.to_lowercase().replace('_', "-")));
        let values: BTreeMap<String, String> = variables(&release).iter().map(value).collect();
        match created(&release, &values) {
            Ok(cluster) => {
                made += 1;
                assert_eq!(upgraded(&release, &cluster, &values), [""; 0], "{name}");
                if let Some((missing, _)) = values.first_key_value().filter(|_| values.len() > 1) {
                    let mut fewer = values.clone();
                    fewer.remove(&missing.clone());
                    // A default, or a text that the machine reads, needs none.
                    if let Err(error) = created(&release, &fewer) {
                        assert!(matches!(error, NotMade::Variables(_)), "{name}: {error}");
                        assert!(
                            error.to_string().contains(&format!("${{{missing}}} has no value")),
                            "{name}: {error}"
                        );
                    }
                }
            }
            Err(NotMade::NoCluster(_)) => {}
            // A real template whose brace nobody closed: refused by name, as it is.
            Err(error) if error.to_string().contains("`${CLUSTER_API_PORT` is not an expression") => {}
            Err(error) => refused.push(format!("{name}: {error}")),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(made > 60, "{made}");
}
