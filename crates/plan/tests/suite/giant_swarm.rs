//! Giant Swarm releases: the scalar in every style of string, and every neighbouring pair of the real
//! releases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use capstan_kustomize::schema::Schemas;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::upgrade::{
    ChangeSource, GiantSwarmRelease, MergeSettings, OldSource, PlannedUpgrade, Retarget, UpgradeRequest,
    link_changelogs, plan,
};

use capstan_test_support::shared_data;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn source(id: &str, release_yaml: &str) -> GiantSwarmRelease {
    let documents = ReleaseSource::read(ReleaseId::from_path(id), None, &SourceFacts::default()).unwrap();
    let file = SourceFile::new(path(&format!("{id}/release.yaml")), release_yaml);
    GiantSwarmRelease::read(documents, &file).unwrap()
}

fn upgraded(files: &[(&str, &str)], old: &GiantSwarmRelease, new: &GiantSwarmRelease) -> PlannedUpgrade {
    let base = files
        .iter()
        .map(|(name, text)| SourceFile::new(path(&format!("org/dev01/base/{name}")), *text))
        .collect();
    let cluster = ClusterFacts {
        id: ClusterId::new(path("org/dev01")),
        kind: TargetKind::Cluster,
        base_folder: path("org/dev01/base"),
        base,
        contents: Vec::new(),
        overlay: vec![],
        record: None,
        variables: BTreeMap::new(),
        release: old.id().release(),
        applied: AppliedBy::Others,
        classes_used_elsewhere: vec![],
        flux: PostBuild::default(),
    };
    let settings = MergeSettings::default();
    let request = UpgradeRequest {
        cluster: &cluster,
        old: OldSource::Known(old),
        new,
        settings: &settings,
        schemas: Schemas::built_in(),
        retarget: Retarget::Refused,
    };
    plan(&request).unwrap()
}

const OLD: &str = "apiVersion: release.giantswarm.io/v1alpha1\nkind: Release\nspec: {components: [{name: kubernetes, version: 1.33.6}]}\n";
const NEW: &str = "apiVersion: release.giantswarm.io/v1alpha1\nkind: Release\nspec: {components: [{name: kubernetes, version: 1.34.10}]}\n";
const HEAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dev01-values}\ndata:\n";

/// Files that changed, by name.
fn after(planned: &PlannedUpgrade) -> BTreeMap<String, String> {
    let below = |file: &RepoPath| file.as_str().trim_start_matches("org/dev01/").to_owned();
    let changed =
        planned.intended.iter().map(|file| (below(&file.path), file.after.clone().unwrap_or_default()));
    changed.filter(|(name, _)| name.starts_with("base/")).collect()
}

#[test]
fn the_scalar_moves_in_every_style_of_string_and_every_other_byte_stays() {
    // The data of the ConfigMap, and the line of the scalar; `@` is the version.
    let cases = [
        ("literal", "  values: |\n    # ours\n    global:\n        release: {version: @}   # soon\n", 8),
        (
            "literal, stripped",
            "  values: |-\n    global:\n      release:\n        version: '@' # v\n  other: 1.2.3\n",
            8,
        ),
        ("literal, kept", "  values: |+\n    global:\n      release:\n        version: @\n\n\n", 8),
        (
            "literal, indented by hand",
            "  values: |3\n      global:\n       release:\n        version: \"@\"\n",
            8,
        ),
        ("folded", "  values: >\n    global:\n      release:\n        version: @\n      other: x\n", 8),
        ("folded, stripped", "  values: >-\n\n    global: {release: {version: @}}\n", 7),
        ("plain", "  values: '{global: {release: {version: @}}}'\n", 5),
        ("double quotes", "  values: \"global:\\n  release:\\n    version: @\\n\"\n", 5),
        ("double quotes over lines", "  values: \"global: {release:\n    {version: @}}\"\n", 6),
        ("single quotes with a quote", "  values: 'global: {release: {version: \"@\"}, a: ''b''}'\n", 5),
        ("with v", "  values: |\n    global: {release: {version: v@}}\n", 6),
        ("the second document", "  values: |\n    a: 1\n    ---\n    global: {release: {version: @}}\n", 8),
        ("another key", "  note: release\n  custom.yaml: |\n    global: {release: {version: @}}\n", 7),
    ];
    let (old, new) = (source("capa/v33.4.0", OLD), source("capa/v34.5.0", NEW));
    for (style, data, line) in cases {
        for end in ["\n", "\r\n"] {
            let file = |version: &str| format!("{HEAD}{data}").replace('@', version).replace('\n', end);
            let planned = upgraded(&[("values.yaml", &file("33.4.0"))], &old, &new);
            assert_eq!(planned.upgrade.blocked, [""; 0], "{style}");
            assert_eq!(after(&planned).get("base/values.yaml"), Some(&file("34.5.0")), "{style}");
            let [change] = planned.upgrade.changes.as_slice() else { panic!("{style}: one change") };
            assert_eq!(
                (change.place.line(), change.path.to_string().ends_with("/global/release/version")),
                (Some(line), true),
                "{style}"
            );
            let rolled: Vec<String> =
                planned.upgrade.rollouts[0].because.iter().map(ToString::to_string).collect();
            assert_eq!(rolled, [change.path.to_string()], "{style}");
        }
    }
}

const APP: &str = "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: dev01}\nspec:\n  name: cluster-aws\n  version: 6.0.0\n  userConfig: {configMap: {name: dev01-values}}\n";
const HELM: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: dev01}\nspec:\n  chart:\n    spec:\n      chart: CHART\n      version: VERSION # chart\n  values:\n    global:\n      release: {version: 33.4.0}\n";

#[test]
fn what_counts_is_what_the_clusters_own_chart_is_or_names() {
    let map = |name: &str, version: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  values: |\n    global: {{release: {{version: {version}}}}}\n"
        )
    };
    let ours = map("dev01-values", "33.4.0");
    let stray = map("addon-values", "31.0.0");
    let again = map("dev01-more", "33.4.0");
    let both =
        APP.replace("userConfig:", "extraConfigs: [{kind: configMap, name: dev01-more}]\n  userConfig:");
    let release_app = APP
        .replace("cluster-aws", "release-aws")
        .replace("6.0.0", "33.4.0")
        .replace("  userConfig: {configMap: {name: dev01-values}}\n", "");
    let helm = |chart: &str, version: &str| HELM.replace("CHART", chart).replace("VERSION", version);
    let (cluster_helm, release_helm) = (helm("cluster-aws", "6.0.0"), helm("release-aws", "33.4.0"));
    let ranged_helm = helm("release-aws", "'>=33.0.0'");
    let foreign_helm = helm("grafana", "33.4.0");
    type Row<'a> = (&'a str, Vec<(&'a str, &'a str)>, &'a [(&'a str, &'a str)]);
    let cases: [Row<'_>; 8] = [
        (
            "a stray ConfigMap stays",
            vec![("a.yaml", &stray), ("app.yaml", APP), ("v.yaml", &ours)],
            &[("base/v.yaml", "/data/values/global/release/version")],
        ),
        (
            "two that the App names move together",
            vec![("app.yaml", &both), ("m.yaml", &again), ("v.yaml", &ours)],
            &[
                ("base/m.yaml", "/data/values/global/release/version"),
                ("base/v.yaml", "/data/values/global/release/version"),
            ],
        ),
        (
            "without a chart all count",
            vec![("m.yaml", &again), ("v.yaml", &ours)],
            &[
                ("base/m.yaml", "/data/values/global/release/version"),
                ("base/v.yaml", "/data/values/global/release/version"),
            ],
        ),
        (
            "the values of a HelmRelease",
            vec![("helm.yaml", &cluster_helm)],
            &[("base/helm.yaml", "/spec/values/global/release/version")],
        ),
        (
            "a chart that is a release, by App",
            vec![("app.yaml", &release_app)],
            &[("base/app.yaml", "/spec/version")],
        ),
        (
            "a chart that is a release, by HelmRelease",
            vec![("helm.yaml", &release_helm)],
            &[
                ("base/helm.yaml", "/spec/chart/spec/version"),
                ("base/helm.yaml", "/spec/values/global/release/version"),
            ],
        ),
        (
            "a range is Flux's choice",
            vec![("helm.yaml", &ranged_helm)],
            &[("base/helm.yaml", "/spec/values/global/release/version")],
        ),
        (
            "another chart is none of our business",
            vec![("helm.yaml", &foreign_helm), ("v.yaml", &ours)],
            &[("base/v.yaml", "/data/values/global/release/version")],
        ),
    ];
    let (old, new) = (source("capa/v33.4.0", OLD), source("capa/v34.5.0", NEW));
    for (what, files, expected) in cases {
        let planned = upgraded(&files, &old, &new);
        assert_eq!(planned.upgrade.blocked, [""; 0], "{what}");
        let mut changes: Vec<(String, String)> = planned
            .upgrade
            .changes
            .iter()
            .map(|change| {
                (
                    change.place.file().as_str().trim_start_matches("org/dev01/").to_owned(),
                    change.path.to_string(),
                )
            })
            .collect();
        changes.sort();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(file, path)| ((*file).to_owned(), (*path).to_owned())).collect();
        assert_eq!(changes, expected, "{what}");
        let texts = after(&planned);
        for (name, text) in &files {
            let told = texts.get(&format!("base/{name}"));
            let moved = expected.iter().any(|(file, _)| *file == format!("base/{name}"));
            let want = moved.then(|| text.replace("33.4.0", "34.5.0"));
            assert_eq!(told, want.as_ref(), "{what}: {name}");
        }
    }
}

#[test]
fn what_cannot_be_set_blocks_with_its_place_and_what_to_do() {
    let values = |text: &str| format!("{HEAD}  values: |\n    {text}\n");
    let other = values("global: {release: {version: 32.0.0}}").replace("dev01-values", "dev01-more");
    let fine = values("global: {release: {version: 33.4.0}}");
    let variable = values("global: {release: {version: \"${release}\"}}");
    let sops = format!("{fine}sops: {{mac: x}}\n");
    let cases: [(&[(&str, &str)], &str); 5] = [
        (
            &[("v.yaml", &values("global: {metadata: {name: dev01}}"))],
            "Nothing in this cluster's base names a release: set `global.release.version` of its chart",
        ),
        (
            &[("v.yaml", &values("global: {release: {version: {a: 1}}}"))],
            "Nothing in this cluster's base names a release",
        ),
        (
            &[("m.yaml", &other), ("v.yaml", &fine)],
            "org/dev01/base/m.yaml:6 names release 32.0.0, but org/dev01/base/v.yaml:6 names 33.4.0, so the cluster's release is unknown.",
        ),
        (
            &[("v.yaml", &variable)],
            "org/dev01/base/v.yaml:6 names the release by a variable, `${release}`: change the variable where it is set",
        ),
        (&[("v.yaml", &sops)], "org/dev01/base/v.yaml cannot be edited as planned."),
    ];
    let (old, new) = (source("capa/v33.4.0", OLD), source("capa/v34.5.0", NEW));
    for (files, sentence) in cases {
        let planned = upgraded(files, &old, &new);
        let blocked = &planned.upgrade.blocked;
        assert!(blocked.len() == 1 && blocked[0].starts_with(sentence), "{blocked:#?}");
        assert!(planned.finish(vec![], vec![]).files.is_empty(), "nothing is written");
    }
}

/// A provider's releases as `(version, folder)`, oldest first, archived ones in their place.
#[test]
fn a_chart_that_stays_is_not_a_moving_component() {
    let release = |id: &str, chart: &str, kubernetes: &str| {
        let head = "apiVersion: release.giantswarm.io/v1alpha1\nkind: Release\n";
        let spec = format!(
            "spec: {{components: [{{name: cluster-aws, version: {chart}}}, {{name: kubernetes, version: {kubernetes}}}]}}\n"
        );
        source(id, &(head.to_owned() + &spec))
    };
    let (old, new) = (release("capa/v33.0.0", "5.0.0", "1.33.6"), release("capa/v34.0.0", "6.0.0", "1.34.1"));
    let values = format!("{HEAD}  values: |\n    global: {{release: {{version: 33.0.0}}}}\n");
    let helm = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: dev01}\nspec:\n  valuesFrom: [{kind: ConfigMap, name: dev01-values}]\n";
    let app = "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: dev01}\nspec:\n  name: cluster-aws\n  userConfig: {configMap: {name: dev01-values}}\n";
    let both = "Component cluster-aws: 5.0.0 -> 6.0.0. Component kubernetes: 1.33.6 -> 1.34.1.";
    let one = "Component kubernetes: 1.33.6 -> 1.34.1.";
    let cases = [
        ("the release decides", app.to_owned(), both, 0),
        ("pinned as the old release", format!("{app}  version: 5.0.0\n"), both, 0),
        ("pinned as the new release", format!("{app}  version: 6.0.0\n"), both, 0),
        ("pinned by hand", format!("{app}  version: 5.1.0\n"), one, 0),
        ("pinned by a variable", format!("{app}  version: \"${{chart}}\"\n"), one, 0),
        ("a range", format!("{helm}  chart: {{spec: {{chart: cluster-aws, version: 5.x}}}}\n"), one, 1),
        ("the newest there is", format!("{helm}  chart: {{spec: {{chart: cluster-aws}}}}\n"), one, 1),
    ];
    for (name, chart, expected, notes) in cases {
        let planned = upgraded(&[("app.yaml", &chart), ("values.yaml", &values)], &old, &new);
        let told: Vec<String> = planned.upgrade.components.iter().map(ToString::to_string).collect();
        assert_eq!(told.join(" "), expected, "{name}");
        assert_eq!(planned.upgrade.notes.len(), notes, "{name}");
        assert_eq!(planned.upgrade.blocked, Vec::<String>::new(), "{name}");
    }
}

fn releases(root: &Path) -> Vec<(semver::Version, PathBuf)> {
    let mut found = Vec::new();
    for folder in [root.to_path_buf(), root.join("archived")] {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().trim_start_matches('v').to_owned();
            if let Ok(version) = semver::Version::parse(&name)
                && path.join("release.yaml").is_file()
            {
                found.push((version, path));
            }
        }
    }
    found.sort();
    found
}

/// The expected numbers were counted with a script of its own over the same files.
#[test]
fn a_cluster_goes_through_every_neighbouring_pair_of_the_real_releases() {
    let Some(data) = shared_data::folder() else { return };
    let mut counts: BTreeMap<&str, (usize, usize, usize, usize, usize)> = BTreeMap::new();
    for provider in ["aks", "azure", "capa", "cloud-director", "eks", "vsphere"] {
        let releases = releases(&data.join("releases/giantswarm").join(provider));
        for pair in releases.windows(2) {
            let read = |(version, folder): &(semver::Version, PathBuf)| {
                let text = std::fs::read_to_string(folder.join("release.yaml")).unwrap();
                source(&format!("{provider}/v{version}"), &text)
            };
            let (old, new) = (read(&pair[0]), read(&pair[1]));
            let text = |version: &semver::Version| {
                format!(
                    "{HEAD}  values: |\n    global:\n      release:\n        version: {version} # {version}\n"
                )
            };
            let planned = upgraded(&[("v.yaml", &text(&pair[0].0))], &old, &new);
            let expected = text(&pair[0].0).replacen(
                &format!("version: {}", pair[0].0),
                &format!("version: {}", pair[1].0),
                1,
            );
            assert_eq!(
                after(&planned),
                BTreeMap::from([("base/v.yaml".to_owned(), expected)]),
                "{provider} {}",
                pair[1].0
            );
            let mut components = planned.upgrade.components;
            link_changelogs(&mut components, &std::fs::read_to_string(pair[1].1.join("README.md")).unwrap());
            let count = counts.entry(provider).or_default();
            count.0 += 1;
            for change in &components {
                match (&change.old, &change.new) {
                    (Some(_), Some(_)) => count.1 += 1,
                    (None, _) => count.2 += 1,
                    (_, None) => count.3 += 1,
                }
                count.4 += usize::from(!change.changelogs.is_empty());
            }
            // An image that changes replaces machines; who knows how many is not in Git.
            let image = ["flatcar", "kubernetes", "os-tooling"];
            let rolls =
                components.iter().any(|change| image.contains(&change.name.as_str()) && change.new.is_some());
            assert_eq!(!planned.upgrade.rollouts.is_empty(), rolls, "{provider} {}", pair[1].0);
        }
    }
    // Pairs; components and apps that change, come and go; those with a link to a changelog.
    let expected = [
        ("aks", (1, 9, 1, 0, 10)),
        ("azure", (80, 553, 44, 21, 433)),
        ("capa", (96, 426, 25, 16, 380)),
        ("cloud-director", (36, 224, 4, 5, 206)),
        ("eks", (4, 10, 29, 3, 10)),
        ("vsphere", (30, 225, 7, 5, 209)),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}
