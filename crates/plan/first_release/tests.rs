//! What of a cluster's base becomes a release, and what is refused.

use super::*;
use crate::layout::discover;
use crate::settings::RepositorySettings;
use capstan_test_support::Files;

fn made(files: &[(&str, &str)]) -> Result<FirstRelease, String> {
    let tree = Files::new(files);
    let layout = discover(&tree, &RepositorySettings::default());
    let cluster = Cluster::read(&tree, &layout.targets[0]).unwrap();
    let folder = RepoPath::parse("aws/v1.0.0").unwrap();
    first_release(&tree, &cluster, &folder).map_err(|error| error.to_string())
}

fn texts(made: &FirstRelease) -> Vec<(&str, &str)> {
    made.files.iter().map(|file| (file.path.as_str(), file.after.as_deref().unwrap())).collect()
}

#[test]
fn the_clusters_name_becomes_a_variable_and_every_other_byte_stays() {
    let base = "\
# peu01 is the first
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
    name: 'peu01'   # its own
    namespace: org-peu01
    labels: {cluster.x-k8s.io/cluster-name: peu01, tier: peu01-gold}
spec:
    controlPlaneRef: {name: peu01-control-plane, kind: KubeadmControlPlane}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01-control-plane}
spec:
    version: v1.31.0
    kubeadmConfigSpec:
        files:
        - path: /etc/peu01
          content: |
            name: peu01
        preKubeadmCommands: ['hostnamectl set-hostname peu01-x']
        initConfiguration:
            nodeRegistration: {name: peu01.example, criSocket: peu01}
    machineTemplate: {infrastructureRef: {name: peu010-cp}}
";
    let expected = "\
# peu01 is the first
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
    name: '${CLUSTER_NAME}'   # its own
    namespace: org-${CLUSTER_NAME}
    labels: {cluster.x-k8s.io/cluster-name: \"${CLUSTER_NAME}\", tier: peu01-gold}
spec:
    controlPlaneRef: {name: \"${CLUSTER_NAME}-control-plane\", kind: KubeadmControlPlane}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: \"${CLUSTER_NAME}-control-plane\"}
spec:
    version: v1.31.0
    kubeadmConfigSpec:
        files:
        - path: /etc/peu01
          content: |
            name: peu01
        preKubeadmCommands: ['hostnamectl set-hostname peu01-x']
        initConfiguration:
            nodeRegistration: {name: \"${CLUSTER_NAME}.example\", criSocket: peu01}
    machineTemplate: {infrastructureRef: {name: peu010-cp}}
";
    let made = made(&[("gauss/peu01/base/all.yaml", base)]).unwrap();
    assert_eq!(texts(&made), [("aws/v1.0.0/base/all.yaml", expected)]);
    assert_eq!((made.name.as_str(), made.left.len()), ("peu01", 0));
}

#[test]
fn secrets_stay_behind_and_a_kustomization_names_them_no_more() {
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: a\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a-login\nstringData: {token: t0psecret}\n";
    let made = made(&[
        ("g/a/base/cluster.yaml", &format!("{cluster}---\n{secret}")),
        ("g/a/base/login.yaml", secret),
        ("g/a/base/kustomization.yaml", "resources:\n- cluster.yaml\n- login.yaml\n"),
    ])
    .unwrap();
    assert_eq!(
        texts(&made),
        [
            (
                "aws/v1.0.0/base/cluster.yaml",
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: ${CLUSTER_NAME}\n"
            ),
            ("aws/v1.0.0/base/kustomization.yaml", "resources:\n- cluster.yaml\n"),
        ]
    );
    assert_eq!(made.left.len(), 2, "{:?}", made.left);
}

#[test]
fn what_would_mean_something_else_in_a_release_is_refused() {
    let cluster = (
        "g/a/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: a\n",
    );
    let second =
        ("g/a/base/b.yaml", "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: b\n");
    let template = (
        "g/a/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: ${NAME}\n",
    );
    let outside = ("g/a/base/kustomization.yaml", "resources:\n- cluster.yaml\n- ../../common\n");
    let nameless = (
        "g/a/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: a\n",
    );
    let generates =
        ("g/a/base/kustomization.yaml", "resources: [cluster.yaml]\nsecretGenerator:\n- name: a\n");
    for (files, begins) in [
        (&[cluster, second][..], "g/a/base: this folder holds several clusters (`a`, `b`)"),
        (&[template], "g/a/base: its name is `${NAME}`, a variable already"),
        (
            &[cluster, outside],
            "g/a/base/kustomization.yaml:3:3: this kustomization takes `../../common` from outside",
        ),
        (
            &[nameless, outside],
            "g/a/base/kustomization.yaml:3:3: this kustomization takes `../../common` from outside",
        ),
        (&[nameless], "g/a: neither a `Cluster` nor machines"),
        (&[cluster, generates], "g/a/base/kustomization.yaml:2:1: this kustomization generates Secrets"),
    ] {
        let said = made(files).unwrap_err();
        assert!(said.starts_with(begins), "{said}");
    }
}

#[test]
fn other_files_are_copied_only_where_a_kustomization_names_them() {
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: a\n";
    let kustomization = "configMapGenerator:\n- name: settings\n  files: [settings.conf, motd=texts/motd.txt, bytes]\n  envs: [.env, keys.json, keys.ini]\n";
    let texts = [
        ("g/a/base/cluster.yaml", cluster),
        ("g/a/base/kubeconfig", "token: t0psecret\n"),
        ("g/a/base/settings.conf", "another folder's name\n"),
        ("g/a/base/sub/.env", "TOKEN=ENC[AES256_GCM]\nsops_version=3.9.0\n"),
        ("g/a/base/sub/keys.ini", "token = ENC[AES256_GCM]\n\n[sops]\nversion = 3.9.0\n"),
        ("g/a/base/sub/keys.json", "{\"token\": \"ENC[AES256_GCM]\", \"sops\": {}}\n"),
        ("g/a/base/sub/kustomization.yaml", kustomization),
        ("g/a/base/sub/settings.conf", "a = 1\n"),
        ("g/a/base/sub/texts/motd.txt", "hello\n"),
    ];
    let texts = texts.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    let bytes = ("g/a/base/sub/bytes".to_owned(), vec![0xff, 0xfe]);
    let tree = Files::from_bytes(texts.into_iter().chain([bytes]));
    let layout = discover(&tree, &RepositorySettings::default());
    let cluster = Cluster::read(&tree, &layout.targets[0]).unwrap();
    let made = first_release(&tree, &cluster, &RepoPath::parse("aws/v1.0.0").unwrap()).unwrap();
    let copied: Vec<&str> = made.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        copied,
        [
            "aws/v1.0.0/base/cluster.yaml",
            "aws/v1.0.0/base/sub/kustomization.yaml",
            "aws/v1.0.0/base/sub/settings.conf",
            "aws/v1.0.0/base/sub/texts/motd.txt",
        ]
    );
    assert_eq!(
        made.left,
        [
            // A manifest by its name.
            "g/a/base/sub/keys.json:1:1: a Secret, or encrypted",
            "g/a/base/kubeconfig: no kustomization of the base names it",
            "g/a/base/settings.conf: no kustomization of the base names it",
            "g/a/base/sub/.env: encrypted",
            "g/a/base/sub/bytes: it is not text in UTF-8",
            "g/a/base/sub/keys.ini: encrypted",
        ]
    );
}
