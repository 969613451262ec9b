//! Clusters made from releases of a few lines.

use capstan_model::ids::ReleaseId;
use capstan_test_support::Files;

use super::*;
use crate::layout::discover;
use crate::merge::{ReleaseSource, SourceFacts};
use crate::settings::RepositorySettings;

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: ${CLUSTER_NAME} # the name
  namespace: ${NAMESPACE:=acme}
spec:
  clusterNetwork: {pods: {cidrBlocks: [\"${PODS}\"]}}
";
const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: \"${CLUSTER_NAME}-md-0\", namespace: \"${NAMESPACE:=acme}\"}
spec: {clusterName: \"${CLUSTER_NAME}\", replicas: 2, template: {spec: {version: \"${OWN}\"}}}
";

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn release(files: &[(&str, &str)]) -> ReleaseSource {
    let base_folder = path("aws/v1.0.0/base");
    let file = |(name, text): &(&str, &str)| SourceFile::new(base_folder.join(name).unwrap(), *text);
    let facts = SourceFacts {
        base: files.iter().map(file).collect(),
        base_folder: base_folder.clone(),
        variables: BTreeMap::from([("OWN".to_owned(), "v1.30.4".to_owned())]),
        ..SourceFacts::default()
    };
    ReleaseSource::read(ReleaseId::from_path("aws/v1.0.0"), None, &facts).unwrap()
}

fn made(
    release: &ReleaseSource,
    base: &str,
    shape: &FolderShape,
    given: &[(&str, &str)],
) -> Result<MadeCluster, NotMade> {
    let variables = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    make(NewCluster {
        id: &ClusterId::new(path("gauss/peu01")),
        makes: Makes::Cluster,
        base: &path(base),
        overlay: &path("gauss/peu01/overlay"),
        release,
        variables: &variables,
        flux: &PostBuild::default(),
        applied: AppliedBy::Others,
        shape,
        schemas: Schemas::built_in(),
    })
}

fn texts(made: &MadeCluster) -> Vec<(&str, &str)> {
    made.files.iter().map(|file| (file.path.as_str(), file.after.as_deref().unwrap())).collect()
}

const RECORD: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterSettings
metadata:
  name: peu01
  annotations:
    config.kubernetes.io/local-config: \"true\"
release: aws/v1.0.0
variables:
  CLUSTER_NAME: peu01
  PODS: 10.0.0.0/16
";

#[test]
fn the_release_with_its_values_and_a_record_of_both() {
    let release = release(&[("cluster.yaml", CLUSTER), ("deep/workers.yaml", WORKERS)]);
    let given = [("CLUSTER_NAME", "peu01"), ("PODS", "10.0.0.0/16")];
    let made = made(&release, "gauss/peu01/base", &FolderShape::default(), &given).unwrap();
    assert_eq!(
        texts(&made),
        [
            (
                "gauss/peu01/base/cluster.yaml",
                "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: peu01 # the name
  namespace: acme
spec:
  clusterNetwork: {pods: {cidrBlocks: [\"10.0.0.0/16\"]}}
"
            ),
            (
                "gauss/peu01/base/deep/workers.yaml",
                "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: \"peu01-md-0\", namespace: \"acme\"}
spec: {clusterName: \"peu01\", replicas: 2, template: {spec: {version: \"v1.30.4\"}}}
"
            ),
            ("gauss/peu01/capstan.yaml", RECORD),
        ]
    );
    assert!(made.files.iter().all(|file| file.before.is_none()));
    let clusters: Vec<String> = made.clusters().map(ToString::to_string).collect();
    assert_eq!((clusters.len(), made.objects.len(), made.findings.len()), (1, 2, 0));
}

#[test]
fn missing_values_and_values_for_nothing_are_reported_together() {
    let whole = [("cluster.yaml", CLUSTER), ("deep/workers.yaml", WORKERS)];
    let one = &whole[..1];
    for (files, given, expected) in [
        (
            &whole[..],
            &[][..],
            &[
                "aws/v1.0.0/base/cluster.yaml:4: ${CLUSTER_NAME} has no value (and in another object): give it one, `CLUSTER_NAME=VALUE`",
                "aws/v1.0.0/base/cluster.yaml:7: ${PODS} has no value: give it one, `PODS=VALUE`",
            ][..],
        ),
        (
            one,
            &[("CLUSTER_NAMES", "peu01"), ("PODS", "10.0.0.0/16")],
            &[
                "aws/v1.0.0 has no variable `CLUSTER_NAMES`; did you mean `CLUSTER_NAME`?",
                "aws/v1.0.0/base/cluster.yaml:4: ${CLUSTER_NAME} has no value: give it one, `CLUSTER_NAME=VALUE`",
            ],
        ),
        (
            one,
            &[("CLUSTER_NAME", "peu01"), ("PODS", "10.0.0.0/16"), ("REGION", "eu")],
            &["aws/v1.0.0 has no variable `REGION`; it has CLUSTER_NAME, NAMESPACE, PODS"],
        ),
        (
            one,
            &[("CLUSTER_NAME", "peu01"), ("PODS", "10.0.0.0/16"), ("OWN", "v1.31.0")],
            &["`OWN` is aws/v1.0.0's own variable: its capstan.yaml gives it a value, for all clusters"],
        ),
        // The name of the workers is quoted, and that of the cluster is not.
        (
            &whole[..],
            &[("CLUSTER_NAME", "n"), ("PODS", "10.0.0.0/16")],
            &[
                "aws/v1.0.0/base/cluster.yaml:1: with these values, the name of Cluster ${CLUSTER_NAME} is empty, or YAML reads it as a boolean or a number: give another value, or quote the name in the release",
            ],
        ),
    ] {
        let refused = made(&release(files), "gauss/peu01/base", &FolderShape::default(), given).unwrap_err();
        assert_eq!(refused.to_string().lines().collect::<Vec<_>>(), expected, "{given:?}");
    }
}

#[test]
fn files_without_a_cluster_create_none() {
    let fragment = "kind: MachinePool\nspec: {replicas: 2}\n";
    let unsupported = CLUSTER.replace("${PODS}", "${PODS@U}");
    let given = [("CLUSTER_NAME", "peu01"), ("PODS", "10.0.0.0/16")];
    for (files, given, expected) in [
        (
            [("pool.yaml", fragment)],
            &given[..0],
            "aws/v1.0.0 holds no complete `Cluster`, so no cluster can be made from it: its objects are for existing clusters",
        ),
        (
            [("workers.yaml", WORKERS)],
            &given[..1],
            "aws/v1.0.0 holds no complete `Cluster`, so no cluster can be made from it: its objects are for existing clusters",
        ),
    ] {
        let refused = made(&release(&files), "gauss/peu01/base", &FolderShape::default(), given).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    let refused = made(
        &release(&[("cluster.yaml", &unsupported)]),
        "gauss/peu01/base",
        &FolderShape::default(),
        &given[..1],
    );
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("gauss/peu01/base/cluster.yaml:") || refused.contains("cluster.yaml"),
        "{refused}"
    );
    assert!(refused.contains("not an expression that Capstan can compute"), "{refused}");
}

#[test]
fn kustomizations_are_those_of_most_neighbours() {
    let listed = |name: &str| {
        vec![
            (format!("gauss/{name}/base/kustomization.yaml"), "resources: [cluster.yaml]\n".to_owned()),
            (format!("gauss/{name}/base/cluster.yaml"), CLUSTER.replace("${CLUSTER_NAME}", name)),
            (format!("gauss/{name}/overlay/kustomization.yaml"), "resources: [../base]\n".to_owned()),
        ]
    };
    let plain = |path: &str| vec![(format!("{path}/base/cluster.yaml"), CLUSTER.to_owned())];
    let shape = |files: Vec<Vec<(String, String)>>| {
        let files: Vec<(String, String)> = files.into_iter().flatten().collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let tree = Files::new(&files);
        let layout = discover(&tree, &RepositorySettings::default());
        FolderShape::of_neighbours(&tree, &layout, &ClusterId::new(path("gauss/peu01")))
    };
    let none = FolderShape::default();
    assert_eq!(shape(vec![]), none);
    assert_eq!(shape(vec![plain("gauss/a"), listed("b")]), none, "half of them is not most");
    assert_eq!(shape(vec![plain("gauss/a"), plain("gauss/c"), listed("b")]), none);
    let both = shape(vec![plain("gauss/a"), listed("b"), listed("c")]);
    assert_eq!(shape(vec![plain("euler/a"), plain("euler/b"), listed("c")]), both, "the nearest ones count");

    let release = release(&[("cluster.yaml", CLUSTER), ("deep/workers.yaml", WORKERS)]);
    let given = [("CLUSTER_NAME", "peu01"), ("PODS", "10.0.0.0/16")];
    let heading = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";
    let base = format!("{heading}- cluster.yaml\n- deep/workers.yaml\n");
    let overlay = format!("{heading}- ../base\n");
    for (folder, expected) in [
        ("gauss/peu01/base", "gauss/peu01/base/kustomization.yaml"),
        ("gauss/peu01", "gauss/peu01/kustomization.yaml"),
    ] {
        let made = made(&release, folder, &both, &given).unwrap();
        let texts = texts(&made);
        assert!(texts.contains(&(expected, base.as_str())), "{texts:?}");
        assert!(texts.contains(&("gauss/peu01/overlay/kustomization.yaml", overlay.as_str())), "{texts:?}");
    }
}
