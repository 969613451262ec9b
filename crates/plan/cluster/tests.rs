//! What a cluster's files say of it.

use super::*;
use crate::layout::discover;
use crate::path::TargetPosition;
use crate::release::Catalogue;
use crate::settings::RepositorySettings;
use capstan_model::finding::FileError;
use capstan_test_support::Files;

const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: peu01\n";
const VALUES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: peu01-config, namespace: org-acme}\ndata:\n  values: |\n    global:\n      release:\n        version: 34.4.0\n      metadata: {name: peu01}\n";
const APP: &str = "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: peu01}\nspec:\n  catalog: cluster\n  name: cluster-aws\n  config: {configMap: {name: peu01-config}}\n";

fn read(files: &[(&str, &str)]) -> Result<Cluster, FileError> {
    let files: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("gauss/peu01/{path}"), *text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let tree = Files::new(&files);
    let layout = discover(&tree, &RepositorySettings::default());
    Cluster::read(&tree, layout.target("gauss/peu01").unwrap())
}

fn recorded(files: &[(&str, &str)]) -> Option<(String, RecordedBy)> {
    let recorded = read(files).unwrap().recorded?;
    Some((recorded.name.to_string(), recorded.by))
}

#[test]
fn the_first_that_names_a_release_counts() {
    let labelled = format!("{CLUSTER}  labels: {{release.giantswarm.io/version: 34.1.0}}\n");
    let annotated = format!("{labelled}  annotations: {{capstan.dev/release: aws/v20.0.0}}\n");
    let own = ("capstan.yaml", "release: aws/v21.0.0\n");
    let label = (String::from("34.1.0"), RecordedBy::Label);
    let annotation = (String::from("aws/v20.0.0"), RecordedBy::Annotation);
    let settings = (String::from("aws/v21.0.0"), RecordedBy::Settings);
    let config_map = (String::from("34.4.0"), RecordedBy::ConfigMap);
    assert_eq!(recorded(&[("base/c.yaml", CLUSTER)]), None);
    assert_eq!(recorded(&[("base/c.yaml", &labelled)]), Some(label));
    assert_eq!(recorded(&[("base/c.yaml", &annotated)]), Some(annotation));
    assert_eq!(recorded(&[("base/c.yaml", &annotated), own]), Some(settings));
    assert_eq!(recorded(&[("base/c.yaml", &annotated), ("base/v.yaml", VALUES), own]), Some(config_map));
}

#[test]
fn a_giant_swarm_cluster_is_known_by_one_scalar_in_a_string() {
    let cluster = read(&[("base/app.yaml", APP), ("base/values.yaml", VALUES)]).unwrap();
    let record = cluster.release_scalar.unwrap();
    assert_eq!(record.place.file().as_str(), "gauss/peu01/base/values.yaml");
    assert_eq!(record.object.to_string(), "ConfigMap org-acme/peu01-config");
    assert_eq!(record.path.to_string(), "/data/values/global/release/version");
    assert_eq!(record.version, "34.4.0");
    assert_eq!(record.chart.as_deref(), Some("cluster-aws"));
    assert_eq!(record.provider.unwrap().as_str(), "capa");
    assert_eq!(cluster.findings, []);
}

#[test]
fn of_several_charts_the_one_counts_that_names_the_config_map() {
    let azure = APP.replace("cluster-aws", "cluster-azure").replace("peu01-config", "other-config");
    let cluster =
        read(&[("base/a.yaml", &azure), ("base/b.yaml", APP), ("base/values.yaml", VALUES)]).unwrap();
    assert_eq!(cluster.release_scalar.unwrap().chart.as_deref(), Some("cluster-aws"));
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n  chart: {spec: {chart: cluster-vsphere}}\n";
    let cluster = read(&[("base/a.yaml", release), ("base/values.yaml", VALUES)]).unwrap();
    assert_eq!(cluster.release_scalar.unwrap().provider.unwrap().as_str(), "vsphere");
}

#[test]
fn a_record_that_differs_from_the_config_map_is_found_and_does_not_count() {
    let tree = format!("release: capa/v34.1.0\nreleaseTree: {}\n", "1".repeat(40));
    let cluster =
        read(&[("base/app.yaml", APP), ("base/values.yaml", VALUES), ("capstan.yaml", &tree)]).unwrap();
    let finding = &cluster.findings[0];
    assert_eq!(finding.rule.id(), "release-record-differs");
    assert_eq!(
        finding.message,
        "the ConfigMap peu01-config names release 34.4.0, but capstan.yaml records capa/v34.1.0. The ConfigMap counts. Correct `release` in capstan.yaml, or remove both lines: the next upgrade writes them"
    );
    assert_eq!(
        (finding.line(), finding.column(), finding.file().unwrap().as_str()),
        (Some(8), Some(18), "gauss/peu01/base/values.yaml"),
        "the scalar in the string"
    );
    assert_eq!(cluster.recorded.unwrap().content, None, "the tree is that of another release");
    let agrees = tree.replace("34.1.0", "34.4.0");
    let cluster =
        read(&[("base/app.yaml", APP), ("base/values.yaml", VALUES), ("capstan.yaml", &agrees)]).unwrap();
    assert_eq!(cluster.findings, []);
    assert!(cluster.recorded.unwrap().content.is_some());
}

#[test]
fn a_cluster_with_a_broken_file_is_refused_with_its_place() {
    let cases = [
        (("base/z.yaml", "a: [\n"), "gauss/peu01/base/z.yaml", 1),
        (("capstan.yaml", "track: patch\nrelase: x\n"), "gauss/peu01/capstan.yaml", 2),
        (("overlay/capstan.yaml", "\nhodl: x\n"), "gauss/peu01/overlay/capstan.yaml", 2),
    ];
    for (broken, file, line) in cases {
        let error = read(&[("base/c.yaml", CLUSTER), broken]).unwrap_err();
        assert_eq!((error.place.file().as_str(), error.place.line()), (file, Some(line)), "{error}");
        assert!(!error.message.is_empty());
    }
}

#[test]
fn with_a_kustomization_only_what_it_names_must_be_readable() {
    let broken = ("base/notes.yaml", "a: [\n");
    let named = "resources: [c.yaml]\npatches: [{path: notes.yaml}]\n";
    for (kustomization, is_read) in [
        (("base/kustomization.yaml", "resources: [c.yaml]\n"), true),
        (("base/Kustomization", "resources:\n- c.yaml\n"), true),
        (("base/kustomization.yaml", named), false),
        // One of a subfolder decides nothing about the files above it.
        (("base/inner/kustomization.yaml", "resources: []\n"), false),
    ] {
        let found = read(&[("base/c.yaml", CLUSTER), kustomization, broken]);
        assert_eq!(found.is_ok(), is_read, "{kustomization:?}");
    }
}

#[test]
fn what_a_base_asks_for_is_read_from_its_objects() {
    let more = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {name: a}\nspec: {version: v1.30.2}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata: {name: a}\n";
    let cluster =
        read(&[("base/a.yaml", CLUSTER), ("base/b.yml", more), ("base/notes.txt", "a: [")]).unwrap();
    assert_eq!(cluster.kubernetes.unwrap().as_str(), "v1.30.2");
    assert_eq!(cluster.infrastructure_kinds.into_iter().collect::<Vec<_>>(), ["AWSCluster"]);
    let files: Vec<&str> = cluster.base.iter().map(|manifest| manifest.entry.path.name()).collect();
    assert_eq!(files, ["a.yaml", "b.yml"]);
}

#[test]
fn a_provider_comes_from_the_first_that_names_one() {
    let infrastructure = |kind: &str| {
        format!("apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: a}}\n")
    };
    let labelled = format!("{CLUSTER}  labels: {{release.giantswarm.io/version: 1.0.0}}\n");
    let (aws, gcp) = (infrastructure("AWSCluster"), infrastructure("GCPCluster"));
    let releases = [
        ("aws/v1.0.0/base/a.yaml", aws.as_str()),
        ("capa/v34.4.0/base/a.yaml", aws.as_str()),
        ("capo/v1.0.0/base/a.yaml", "kind: A\n"),
        ("gcp/1.0.0/base/a.yaml", gcp.as_str()),
    ];
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 7] = [
        ("capo", &[("base/c.yaml", CLUSTER), ("capstan.yaml", "release: aws/v1.0.0")], "capo aws/v1.0.0"),
        ("", &[("base/c.yaml", CLUSTER), ("capstan.yaml", "release: aws/v1.0.0")], "aws aws/v1.0.0"),
        (
            "",
            &[("base/c.yaml", CLUSTER), ("capstan.yaml", "release: vmware/v1.0.0")],
            "unknown vmware/v1.0.0",
        ),
        ("", &[("base/app.yaml", APP), ("base/values.yaml", VALUES)], "capa capa/v34.4.0"),
        ("", &[("base/c.yaml", &labelled), ("base/i.yaml", &gcp)], "gcp gcp/1.0.0"),
        ("", &[("base/c.yaml", CLUSTER), ("base/i.yaml", &aws)], "unknown -"),
        ("", &[("base/c.yaml", CLUSTER)], "unknown -"),
    ];
    for (rule, files, expected) in cases {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("gauss/peu01/{path}"), *text)).collect();
        let all: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).chain(releases).collect();
        let tree = Files::new(&all);
        let layout = discover(&tree, &RepositorySettings::default());
        let cluster = Cluster::read(&tree, layout.target("gauss/peu01").unwrap()).unwrap();
        let mut settings =
            RepositorySettings::default().for_target(&cluster.folder.target(), None, None).unwrap();
        settings.provider = (!rule.is_empty()).then(|| capstan_model::ids::Provider::new(rule));
        let standing = TargetPosition::of(&cluster, &settings, &Catalogue::read(&tree, &layout));
        let provider = standing.provider.as_ref().map_or("unknown", |provider| provider.as_str());
        let release = standing.release.as_ref().map_or("-", |id| id.as_str());
        assert_eq!(format!("{provider} {release}"), expected, "{files:?}");
    }
}

#[test]
fn a_file_of_which_a_config_map_is_generated_names_the_release() {
    let kustomization =
        "resources: [app.yaml]\nconfigMapGenerator: [{name: peu01-config, files: [values=config.yaml]}]\n";
    let values = "# ours\nglobal:\n  release:\n    version: 34.4.0\n";
    // No other file says that this is a cluster.
    let files =
        [("base/kustomization.yaml", kustomization), ("base/app.yaml", APP), ("base/config.yaml", values)];
    let record = read(&files).unwrap().release_scalar.unwrap();
    assert_eq!((record.version.as_str(), record.chart.as_deref()), ("34.4.0", Some("cluster-aws")));
    assert_eq!((record.object.kind.as_str(), record.object.name.as_str()), ("ConfigMap", "peu01-config"));
    assert_eq!(record.path.to_string(), "/data/values/global/release/version");
    assert_eq!(
        (record.place.file().as_str(), record.place.line(), record.place.column()),
        ("gauss/peu01/base/config.yaml", Some(4), Some(14))
    );
    assert_eq!(recorded(&files), Some((String::from("34.4.0"), RecordedBy::ConfigMap)));
}
