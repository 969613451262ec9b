//! What settings files may say, and the errors where they are wrong.

use jiff::civil::date;

use super::*;
use capstan_model::finding::SeverityLevel;
use capstan_model::ids::{ClusterId, ContentId, Provider, ReleaseId};
use capstan_model::object::FieldPath;

use capstan_model::tree::{BlobId, OutsidePath, RepoPath, TreeId};

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn rules() -> RuleIds {
    RuleIds {
        known: vec!["component-downgrade", "kubernetes-minor-skip", "removes-cluster"],
        fixed: vec!["removes-cluster"],
    }
}

fn repository(text: &str) -> Result<RepositorySettings, String> {
    RepositorySettings::read(&path(REPOSITORY_FILE), text, &rules()).map_err(|error| error.to_string())
}

fn cluster(text: &str) -> Result<ClusterSettings, String> {
    ClusterSettings::read(&path("gauss/peu01/capstan.yaml"), text).map_err(|error| error.to_string())
}

fn overlay(text: &str) -> Result<OverlaySettings, String> {
    OverlaySettings::read(&path("gauss/peu01/overlay/capstan.yaml"), text).map_err(|error| error.to_string())
}

const EVERYTHING: &str = r#"
mode: observe
releases:
  paths: ["aws/v*", "capa/archived/v*"]
  repository: acme/releases
clusters:
  paths: ["*/*"]
  base: "."
  overlay: customer
  rules:
    - match: "gauss/*"
      track: minor
      provider: aws
managementClusters:
  - name: mc-eu
    uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab
    clusters: ["gauss/*"]
upgrade:
  conflicts: take
  whenReleaseUnknown: block
  fields:
    - {kind: MachineDeployment, path: /spec/replicas, owner: live}
  proposals:
    open: 3
    perHour: 4
    order: ["*/canary*", "*"]
    group: {by: "*/"}
    labels: [capstan, "kind/größe 1"]
    assignees: [ada]
    reviewers: [grace, acme/platform]
    title: "chore({cluster}): upgrade to {release}"
policy: {component-downgrade: off, kubernetes-minor-skip: warning}
preflight: {mode: required, timeout_seconds: 90}
consumers: [acme/gitops]
commands: {prefix: /fleet}
providers: {hosts: [github.com, "registry.example.com:5000"]}
inventory: {path: fleet/inventory, limits: {clusters: 7, machines: null}, inline: {clusters: 3, machines: 2}}
"#;

#[test]
fn every_setting_is_read() {
    let settings = repository(EVERYTHING).unwrap();
    assert_eq!(settings.mode, Mode::Observe);
    assert_eq!(settings.releases.paths.as_ref().unwrap()[1].as_str(), "capa/archived/v*");
    assert_eq!(settings.releases.repository.as_ref().unwrap().as_str(), "acme/releases");
    assert!(settings.clusters.base.is_here());
    assert_eq!(settings.clusters.overlay.inside(&path("gauss/peu01")).as_str(), "gauss/peu01/customer");
    assert_eq!(settings.clusters.rules[0].track, Some(Track::Minor));
    assert_eq!(settings.management_clusters[0].name, "mc-eu");
    assert_eq!(settings.upgrade.conflicts, ConflictPolicy::Take);
    assert_eq!(settings.upgrade.when_release_unknown, WhenReleaseUnknown::Block);
    assert_eq!(settings.upgrade.fields[0].path, FieldPath::parse("/spec/replicas").unwrap());
    assert_eq!(settings.upgrade.fields[0].owner, FieldOwner::Live);
    let proposals = &settings.upgrade.proposals;
    assert_eq!((proposals.open, proposals.per_hour), (3, 4));
    assert_eq!(proposals.group.as_ref().unwrap().by.as_str(), "*/");
    assert_eq!(proposals.labels[1].as_str(), "kind/größe 1");
    assert_eq!(proposals.assignees[0].as_str(), "ada");
    assert_eq!(proposals.reviewers[1].as_str(), "acme/platform");
    assert_eq!(proposals.title.as_ref().unwrap().as_str(), "chore({cluster}): upgrade to {release}");
    assert_eq!(settings.policy["component-downgrade"], SeverityLevel::Off);
    assert_eq!(settings.preflight, PreflightSettings { mode: PreflightMode::Required, timeout_seconds: 90 });
    assert_eq!(settings.consumers[0].as_str(), "acme/gitops");
    assert_eq!(settings.commands.prefix.as_str(), "/fleet");
    assert_eq!(settings.providers.hosts[1].as_str(), "registry.example.com:5000");
    let inventory = settings.inventory.as_ref().unwrap();
    assert_eq!(inventory.path.path().as_str(), "fleet/inventory");
    assert_eq!(inventory.limits, InventoryLimits { clusters: Some(7), machines: None });
    assert_eq!(inventory.inline, InlineLimits { clusters: 3, machines: 2 });
}

#[test]
fn an_inventory_says_its_folder_alone_and_has_limits() {
    assert_eq!(RepositorySettings::default().inventory, None);
    let read = |text: &str| repository(text).unwrap().inventory.unwrap();
    let usual = read("inventory: {path: inventory}");
    assert_eq!(usual.limits, InventoryLimits { clusters: Some(50), machines: Some(20) });
    assert_eq!(usual.inline, InlineLimits { clusters: 20, machines: 0 });
    let one = read("inventory: {path: inventory, limits: {clusters: null}, inline: {machines: 9}}");
    assert_eq!(one.limits, InventoryLimits { clusters: None, machines: Some(20) });
    assert_eq!(one.inline, InlineLimits { clusters: 20, machines: 9 });
}

#[test]
fn what_is_not_written_has_its_default() {
    for text in ["", "# nothing yet\n", "---\n", "mode: propose\n"] {
        let settings = repository(text).unwrap();
        assert_eq!(settings, RepositorySettings::default(), "{text}");
    }
    let settings = RepositorySettings::default();
    assert_eq!(settings.mode, Mode::Propose);
    assert_eq!(settings.clusters.base.to_string(), "base");
    assert_eq!(settings.clusters.overlay.to_string(), "overlay");
    assert_eq!(settings.upgrade.conflicts, ConflictPolicy::Keep);
    assert_eq!(settings.upgrade.when_release_unknown, WhenReleaseUnknown::Infer);
    assert_eq!((settings.upgrade.proposals.open, settings.upgrade.proposals.per_hour), (20, 20));
    assert_eq!(settings.preflight, PreflightSettings { mode: PreflightMode::Advisory, timeout_seconds: 60 });
    assert_eq!(settings.commands.prefix.as_str(), "/capstan");
}

#[test]
fn a_mistake_is_reported_with_its_place_and_the_nearest_right_word() {
    let cases = [
        ("modus: propose", "1:1: unknown key `modus`; did you mean `mode`?"),
        (
            "mode: observ",
            "1:7: `mode` must be propose or observe, found the string \"observ\"; did you mean `observe`?",
        ),
        (
            "providers:\n  hosts: [https://github.com]",
            "2:11: `providers.hosts[0]`: `https://github.com` is not a host (`registry.example.com` or `registry.example.com:5000`, without scheme or path)",
        ),
        ("inventory: {limits: {clusters: 5}}", "1:12: `inventory` lacks the key `path`"),
        (
            "inventory:\n  path: ../x\n",
            "2:9: `inventory.path`: `../x` is not a folder of the repository (`mc-eu/providers`)",
        ),
        (
            "inventory:\n  path: inventory\n  limit: {}\n",
            "3:3: unknown key `limit` in `inventory`; did you mean `limits`?",
        ),
        (
            "inventory:\n  path: inventory\n  limits: {cluster: 5}\n",
            "3:12: unknown key `cluster` in `inventory.limits`; did you mean `clusters`?",
        ),
        (
            "inventory:\n  path: inventory\n  limits: {clusters: -1}\n",
            "3:22: `inventory.limits.clusters` must be a whole number from 0 to 1000000, or null, found the number -1",
        ),
        (
            "inventory:\n  path: inventory\n  limits: {machines: many}\n",
            "3:22: `inventory.limits.machines` must be a whole number from 0 to 1000000, or null, found the string \"many\"",
        ),
        (
            "inventory:\n  path: inventory\n  inline: {machines: null}\n",
            "3:22: `inventory.inline.machines` must be a whole number from 0 to 1000000, found nothing",
        ),
        ("mode: 3", "1:7: `mode` must be propose or observe, found the number 3"),
        ("mode: [propose]", "1:7: `mode` must be one word, found a list"),
        ("mode: propose\nmode: observe", "2:1: the key `mode` occurs twice"),
        (
            "mode: propose\n---\nmode: observe\n",
            "3:1: a second document starts here; the file must have only one",
        ),
        (
            "upgrade:\n  proposals:\n    group:\n      by: \"*\"\n",
            "4:11: `upgrade.proposals.group.by`: `*` is not a pattern over paths: a group is a pattern for the start of cluster ids, so it must end with a plain character: `*/` groups clusters by their first folder",
        ),
        ("upgrade:\n  proposals:\n    group: {}\n", "3:12: `upgrade.proposals.group` lacks the key `by`"),
        (
            "upgrade:\n  proposals:\n    group: \"*/\"\n",
            "3:12: `upgrade.proposals.group` must be a mapping, found the string \"*/\"",
        ),
        (
            "upgrade:\n  proposals:\n    group: {bye: \"*/\"}\n",
            "3:13: unknown key `bye` in `upgrade.proposals.group`; did you mean `by`?",
        ),
        (
            "upgrade:\n  proposals:\n    opne: 3\n",
            "3:5: unknown key `opne` in `upgrade.proposals`; did you mean `open`?",
        ),
        (
            "upgrade:\n  limit: 3\n",
            "2:3: unknown key `limit` in `upgrade`; known: conflicts, whenReleaseUnknown, fields, proposals, merge",
        ),
        (
            "upgrade: {proposals: {open: many}}",
            "1:29: `upgrade.proposals.open` must be a whole number from 0 to 10000, found the string \"many\"",
        ),
        (
            "upgrade: {proposals: {open: \"20\"}}",
            "1:29: `upgrade.proposals.open` must be a whole number from 0 to 10000, found the string \"20\"",
        ),
        (
            "upgrade:\n  proposals:\n    title: \"{clutser}\"\n",
            "3:12: `upgrade.proposals.title`: `{clutser}` is not a field of a title; did you mean `cluster`?",
        ),
        (
            "upgrade:\n  proposals:\n    title: {cluster}\n",
            "3:12: `upgrade.proposals.title` must be text, found a mapping",
        ),
        (
            "upgrade:\n  proposals:\n    reviewers: [ada, \"@grace\"]\n",
            "3:22: `upgrade.proposals.reviewers[1]`: `@grace` is not a reviewer (a login such as `ada` or a team such as `acme/platform`, without `@`)",
        ),
        (
            "upgrade:\n  proposals:\n    labels: [\"\"]\n",
            "3:14: `upgrade.proposals.labels[0]`: `` is not the name of a label (1 to 50 characters on one line, no blank at its ends)",
        ),
        (
            "upgrade:\n  proposals:\n    assignees: [a, b, c, d, e, f, g, h, i, j, k]\n",
            "3:16: `upgrade.proposals.assignees`: 11 entries exceed the limit of this list (10)",
        ),
        (
            "upgrade: {proposals: {open: -2}}",
            "1:29: `upgrade.proposals.open` must be a whole number from 0 to 10000, found the number -2",
        ),
        (
            "upgrade: {proposals: {open: 1.5}}",
            "1:29: `upgrade.proposals.open` must be a whole number from 0 to 10000, found the number 1.5",
        ),
        (
            "preflight: {timeout_seconds: 0}",
            "1:30: `preflight.timeout_seconds` must be a whole number from 1 to 3600, found the number 0",
        ),
        (
            "preflight: {timeoutSeconds: 5}",
            "1:13: unknown key `timeoutSeconds` in `preflight`; did you mean `timeout_seconds`?",
        ),
        ("upgrade: 5", "1:10: `upgrade` must be a mapping, found the number 5"),
        ("upgrade:\n  fields: {kind: A}\n", "2:11: `upgrade.fields` must be a list, found a mapping"),
        (
            "upgrade:\n  fields:\n    - {kind: A, path: /spec}\n",
            "3:7: `upgrade.fields[0]` lacks the key `owner`",
        ),
        (
            "upgrade:\n  fields:\n    - {kind: A, path: spec.replicas, owner: live}\n",
            "3:23: `upgrade.fields[0].path`: `spec.replicas` is not a JSON Pointer to a field, such as /spec/replicas",
        ),
        (
            "clusters:\n  rules:\n    - match: gauss/*\n      trak: minor\n",
            "4:7: unknown key `trak` in `clusters.rules[0]`; did you mean `track`?",
        ),
        (
            "clusters: {paths: [\"/gauss\"]}",
            "1:20: `clusters.paths[0]`: `/gauss` is not a pattern over paths: it must neither begin nor end with `/`; paths are relative to the repository's root",
        ),
        (
            "clusters: {base: ../x}",
            "1:18: `clusters.base`: `../x` is not a folder inside a cluster's folder (a name, or `.`)",
        ),
        ("clusters: {overlay: .}", "1:12: `clusters.overlay` must be a folder of its own, found `.`"),
        (
            "clusters: {overlay: base}",
            "1:12: `clusters.overlay` (base) and `clusters.base` (base) must be different folders, neither inside the other",
        ),
        (
            "policy:\n  kubernetes-minor-skp: error\n",
            "2:3: `policy`: there is no rule `kubernetes-minor-skp`; did you mean `kubernetes-minor-skip`?",
        ),
        (
            "policy: {removes-cluster: off}",
            "1:10: `policy`: the rule `removes-cluster` is always an error; leave it out",
        ),
        (
            "policy: {component-downgrade: maybe}",
            "1:31: `policy.component-downgrade` must be error, warning or off, found the string \"maybe\"",
        ),
        ("consumers: [acme]", "1:13: `consumers[0]`: `acme` is not a repository (owner/name)"),
        (
            "commands: {prefix: capstan}",
            "1:20: `commands.prefix`: `capstan` is not a command prefix (`/` and then letters, digits, `-` or `_`)",
        ),
        (
            "managementClusters:\n  - name: a\n    uid: 6f1c\n",
            "3:10: `managementClusters[0].uid`: `6f1c` is not the UID of a namespace (`kubectl get namespace kube-system -o jsonpath={.metadata.uid}`)",
        ),
        (
            "dashboard: {title: \" \"}",
            "1:20: `dashboard.title`: a title is one line of at most 256 characters",
        ),
        (
            "dashboard: {title: \"a\\u202eb\"}",
            "1:20: `dashboard.title`: a title is one line of at most 256 characters",
        ),
        (
            "dashboard:\n  labels: [\"\"]",
            "2:11: `dashboard.labels`: at most 20 labels are allowed, each on one line with at most 50 characters",
        ),
        ("- mode", "1:1: the file must be a mapping, found a list"),
    ];
    for (text, expected) in cases {
        let told = repository(text).map(|_| "nothing".to_owned()).unwrap_or_else(|error| error);
        assert_eq!(told, format!(".capstan.yaml:{expected}"), "{text}");
    }
}

#[test]
fn the_dashboard_is_kept_where_proposals_are_opened_unless_somebody_says_otherwise() {
    for (text, kept) in [
        ("", true),
        ("mode: observe", false),
        ("mode: observe\ndashboard: {enabled: true}", true),
        ("dashboard: {enabled: false}", false),
        ("dashboard: {title: Fleet, labels: [capstan]}", true),
    ] {
        assert_eq!(repository(text).unwrap().keeps_dashboard(), kept, "{text}");
    }
}

#[test]
fn two_management_clusters_of_one_name_or_uid_are_refused_at_the_second() {
    let text = "managementClusters:\n  - name: a\n    uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n  - name: NAME\n    uid: UID\n";
    let same_name = text.replace("NAME", "a").replace("UID", "7f1c2d3e-0000-4a5b-8c9d-0123456789ab");
    assert_eq!(
        repository(&same_name).unwrap_err(),
        ".capstan.yaml:4:5: two management clusters are named `a`"
    );
    let same_uid = text.replace("NAME", "b").replace("UID", "6f1c2d3e-0000-4a5b-8c9d-0123456789ab");
    assert_eq!(repository(&same_uid).unwrap_err(), ".capstan.yaml:5:5: `a` and `b` have the same uid");
}

#[test]
fn a_clusters_record_is_read_with_and_without_the_lines_for_kustomize() {
    let tree = "9d1f".repeat(10);
    let text = format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: ClusterSettings\nmetadata: {{name: peu01, annotations: \
         {{config.kubernetes.io/local-config: \"true\"}}}}\nrelease: aws/archived/v21.0.0\nreleaseTree: {tree}\n\
         track: patch\nvariables: {{CLUSTER_NAME: peu01, MODE: 0644, FLAG: yes}}\n\
         delete: [{{kind: MachineDeployment, name: peu01-md-0}}]\n"
    );
    let settings = cluster(&text).unwrap();
    assert_eq!(settings.release, Some(ReleaseId::from_path("aws/v21.0.0")));
    assert_eq!(settings.release_tree.unwrap().as_str(), tree);
    assert_eq!(settings.track, Some(Track::Patch));
    assert_eq!(settings.variables["MODE"], "0644", "a variable is the text that was written");
    assert_eq!(settings.variables["FLAG"], "yes");
    let tombstone = Tombstone {
        group: None,
        kind: "MachineDeployment".into(),
        namespace: None,
        name: "peu01-md-0".into(),
    };
    assert_eq!(settings.delete, Deletion::Objects(vec![tombstone]));
    assert_eq!(cluster("delete: cluster").unwrap().delete, Deletion::Cluster);
    assert_eq!(cluster("delete: []").unwrap(), ClusterSettings::default());
}

#[test]
fn mistakes_in_a_clusters_files_are_reported_likewise() {
    let cases = [
        ("relase: aws/v21.0.0", "1:1: unknown key `relase`; did you mean `release`?"),
        ("release: aws/latest", "1:10: `release`: `aws/latest` is not a release such as aws/v21.0.0"),
        (
            "releaseTree: 9d1f",
            "1:14: `releaseTree`: `9d1f` is not a Git object id (40 or 64 lowercase hex digits)",
        ),
        ("kind: Cluster", "1:7: `kind` must be `ClusterSettings`, found the string \"Cluster\""),
        ("variables: {A: [1]}", "1:16: `variables.A` must be text, found a list"),
        ("variables: {A: }", "1:14: `variables.A` must be text (`\"\"` for empty text), found nothing"),
        (
            "delete: all",
            "1:9: `delete` must be a list of tombstones (`- {kind: MachineDeployment, name: peu01-md-0}`) or the word `cluster`, found the string \"all\"",
        ),
        ("delete:\n  - {kind: A, nam: b}\n", "2:15: unknown key `nam` in `delete[0]`; did you mean `name`?"),
        (
            "services: [{name: a, from: {folder: services/b}, enabled: maybe}]",
            "1:59: `services[0].enabled` must be true or false, found the string \"maybe\"",
        ),
        (
            "services: [{name: a, from: {folder: services/b, objects: []}}]",
            "1:28: `services[0].from` must be a mapping of one key: keep one",
        ),
        (
            "hold: {reason: audit}",
            "1:1: unknown key `hold`; known: apiVersion, kind, metadata, release, releaseTree, releaseReads, components, track, variables, delete, cleanup, services, owners, access, cloud",
        ),
    ];
    for (text, expected) in cases {
        let told = cluster(text).map(|_| "nothing".to_owned()).unwrap_or_else(|error| error);
        assert_eq!(told, format!("gauss/peu01/capstan.yaml:{expected}"), "{text}");
    }
    let cases = [
        ("hold: {until: 2026-12-01}", "1:7: `hold` lacks the key `reason`"),
        ("hold: {reason: \" \"}", "1:8: `hold.reason` must not be empty"),
        (
            "hold: {reason: a, until: 2026-13-01}",
            "1:26: `hold.until`: `2026-13-01` is not a date such as 2026-12-01",
        ),
        (
            "release: aws/v1.0.0",
            "1:1: unknown key `release`; known: apiVersion, kind, metadata, hold, track, services",
        ),
    ];
    for (text, expected) in cases {
        let told = overlay(text).map(|_| "nothing".to_owned()).unwrap_or_else(|error| error);
        assert_eq!(told, format!("gauss/peu01/overlay/capstan.yaml:{expected}"), "{text}");
    }
    let release =
        ReleaseSettings::read(&path("aws/v21.0.0/capstan.yaml"), "variables: {K8S: v1.30.2}").unwrap();
    assert_eq!(release.variables["K8S"], "v1.30.2");
}

#[test]
fn later_rules_win_the_clusters_own_wins_over_them_and_an_overlay_only_narrows() {
    let settings = repository(
        "clusters:\n  rules:\n    - {match: '*/*', track: minor, provider: aws}\n    - {match: 'gauss/*', track: patch}\n",
    )
    .unwrap();
    let cases = [
        ("euler/peu01", "", "", Track::Minor, 0),
        ("gauss/peu01", "", "", Track::Patch, 0),
        ("gauss/peu01", "track: any", "", Track::Any, 0),
        ("gauss/peu01", "track: any", "track: minor", Track::Minor, 0),
        ("gauss/peu01", "", "track: any", Track::Patch, 1),
        ("gauss/peu01", "", "track: none", Track::None, 0),
        ("alone", "", "", Track::Any, 0),
    ];
    for (id, own, customer, track, notes) in cases {
        let (own, customer) = (cluster(own).unwrap(), overlay(customer).unwrap());
        let effective =
            settings.for_target(&ClusterId::new(path(id)).into(), Some(&own), Some(&customer)).unwrap();
        assert_eq!((effective.track, effective.notes.len()), (track, notes), "{id} {own:?} {customer:?}");
    }
    let peu01 = settings.for_target(&ClusterId::new(path("gauss/peu01")).into(), None, None).unwrap();
    assert_eq!(peu01.provider, Some(Provider::new("aws")), "a later rule that names no provider leaves it");
}

#[test]
fn a_hold_lasts_until_its_day_and_no_longer() {
    let hold = |text| overlay(text).unwrap().hold.unwrap();
    let dated = hold("hold: {reason: audit, until: 2026-12-01}");
    assert!(dated.is_in_force(date(2026, 11, 30)));
    assert!(!dated.is_in_force(date(2026, 12, 1)));
    assert!(hold("hold: {reason: audit}").is_in_force(date(2999, 1, 1)));
}

#[test]
fn a_cluster_claimed_by_two_management_clusters_is_an_error_at_the_second_claim() {
    let text = "managementClusters:\n  - name: a\n    uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n    clusters: ['gauss/*']\n  \
                - name: b\n    uid: 7f1c2d3e-0000-4a5b-8c9d-0123456789ab\n    clusters: ['euler/*', '*/peu01']\n";
    let settings = repository(text).unwrap();
    let clusters: Vec<ClusterId> = ["gauss/peu01", "gauss/peu02", "euler/peu01", "noether/peu02"]
        .map(|id| ClusterId::new(path(id)))
        .into();
    let claimed =
        |index: usize| settings.claimed_by(&clusters[index]).map(|mc| mc.map(|mc| mc.name.as_str()));
    assert_eq!(claimed(1), Ok(Some("a")));
    assert_eq!(claimed(2), Ok(Some("b")));
    assert_eq!(claimed(3), Ok(None));
    let errors = settings.check_claims(&path(REPOSITORY_FILE), text, &clusters);
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            ".capstan.yaml:7:27: the cluster gauss/peu01 is claimed by two management clusters, `a` and `b`: change `managementClusters` in .capstan.yaml so that only one has it"
        ]
    );
}

/// Lists that give a right: who claims a cluster, whose folders reach one another, what is merged without a word.
#[test]
fn an_exclusion_takes_a_right_away_and_gives_none() {
    let id = |text: &str| ClusterId::new(path(text));
    let settings = repository(
        "clusters: {oneOwner: ['*/*', '!gauss/secret']}\nmanagementClusters:\n  - name: a\n    uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n    \
         clusters: ['gauss/*', '!gauss/secret']\n",
    )
    .unwrap();
    for (cluster, claimed) in [("gauss/peu01", Some("a")), ("gauss/secret", None), ("euler/peu01", None)] {
        let claim = settings.claimed_by(&id(cluster)).unwrap();
        assert_eq!(claim.map(|one| one.name.as_str()), claimed, "{cluster}");
    }
    assert!(settings.have_one_owner(&id("gauss/peu01"), &id("euler/peu01")));
    assert!(!settings.have_one_owner(&id("gauss/peu01"), &id("gauss/secret")));
    assert!(!settings.have_one_owner(&id("gauss/secret"), &id("gauss/peu01")));
    for (text, place, told) in [
        (
            "clusters: {oneOwner: ['!gauss/*']}",
            "clusters.oneOwner",
            "it has only exclusions, so it matches nothing",
        ),
        (
            "upgrade: {merge: {automatic: ['!gauss/*']}}",
            "upgrade.merge.automatic",
            "it has only exclusions, so it matches nothing",
        ),
        (
            "managementClusters: [{name: a, uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab, clusters: ['!gauss/*']}]",
            "managementClusters[0].clusters",
            "it has only exclusions, so it matches nothing",
        ),
        (
            "commands: {permissions: [{match: '!gauss/*', verbs: [hold], allow: [read]}]}",
            "commands.permissions[0].match",
            "`!gauss/*` is an exclusion, but only matches are allowed here",
        ),
    ] {
        let error = repository(text).unwrap_err();
        assert!(error.contains(place) && error.contains(told), "{text}: {error}");
    }
}

#[test]
fn a_record_is_written_and_everything_else_stays() {
    let file = path("gauss/peu01/capstan.yaml");
    let release = ReleaseId::from_path("aws/v22.0.0");
    let content = ContentId::from(TreeId::parse(&"ab".repeat(20)).unwrap());
    let record = RecordedRelease { release: &release, content: Some(&content) };
    let write = |text: Option<&str>| record_release(&file, text, "peu01", record);
    let made = write(None).unwrap();
    assert_eq!(
        made,
        "apiVersion: capstan.dev/v1alpha1\nkind: ClusterSettings\nmetadata:\n  name: peu01\n  annotations:\n    \
         config.kubernetes.io/local-config: \"true\"\nrelease: aws/v22.0.0\nreleaseTree: abababababababababababababababababababab\n"
    );
    assert_eq!(write(Some(&made)).unwrap(), made, "written twice is written once");
    let cases = [
        (
            "# ours\nrelease: aws/v21.0.0 # since May\ntrack: patch\n",
            "# ours\nrelease: aws/v22.0.0 # since May\nreleaseTree: abababababababababababababababababababab\ntrack: patch\n",
        ),
        (
            "release: 'aws/v21.0.0'\nreleaseTree: 1111111111111111111111111111111111111111\n# end",
            "release: 'aws/v22.0.0'\nreleaseTree: abababababababababababababababababababab\n# end",
        ),
        (
            "track: patch\n",
            "track: patch\nrelease: aws/v22.0.0\nreleaseTree: abababababababababababababababababababab\n",
        ),
    ];
    for (before, after) in cases {
        assert_eq!(write(Some(before)).unwrap(), after, "{before}");
    }
    let commented = write(Some("# ours")).unwrap();
    assert!(commented.starts_with("# ours\napiVersion: capstan.dev/v1alpha1\n"), "{commented}");
    assert!(write(Some("relase: x\n")).is_err(), "a file that is wrong is not written over");
}

#[test]
fn a_release_reads_as_many_files_elsewhere_as_it_may_and_no_more() {
    let record = |files: usize| {
        let reads: String = (0..files).map(|at| format!("  ../p{at}.yaml: {}\n", "ab".repeat(20))).collect();
        let text = format!("release: aws/v22.0.0\nreleaseReads:\n{reads}");
        ClusterSettings::read(&path("gauss/peu01/capstan.yaml"), &text)
            .map(|settings| settings.release_reads.len())
    };
    assert_eq!(record(1_000).map_err(|error| error.to_string()), Ok(1_000));
    let told = record(1_001).unwrap_err().to_string();
    assert!(told.contains("1001 files exceed what a release may read outside its folder (1000)"), "{told}");
}

#[test]
fn what_a_release_reads_elsewhere_is_recorded_beside_its_tree() {
    let file = path("gauss/peu01/capstan.yaml");
    let release = ReleaseId::from_path("aws/v22.0.0");
    let tree = TreeId::parse(&"ab".repeat(20)).unwrap();
    let parts = OutsidePath::parse("../parts/pool.yaml").unwrap();
    let reading =
        ContentId { tree: tree.clone(), reads: [(parts, BlobId::parse(&"cd".repeat(20)).unwrap())].into() };
    let write = |text: &str, content: &ContentId| {
        record_release(
            &file,
            Some(text),
            "peu01",
            RecordedRelease { release: &release, content: Some(content) },
        )
        .unwrap()
    };
    let before =
        "release: aws/v21.0.0\nreleaseTree: 1111111111111111111111111111111111111111\ntrack: patch # ours\n";
    let recorded = "release: aws/v22.0.0\nreleaseTree: abababababababababababababababababababab\nreleaseReads:\n  \
                    ../parts/pool.yaml: cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd\ntrack: patch # ours\n";
    assert_eq!(write(before, &reading), recorded);
    assert_eq!(write(recorded, &reading), recorded);
    assert_eq!(ClusterSettings::read(&file, recorded).unwrap().release_content(), Some(reading));
    let plain =
        "release: aws/v22.0.0\nreleaseTree: abababababababababababababababababababab\ntrack: patch # ours\n";
    assert_eq!(write(recorded, &ContentId::from(tree)), plain, "nothing stale stays");
    for wrong in [
        "releaseReads: {pool.yaml: abababababababababababababababababababab}",
        "releaseReads: {../p.yaml: 1}",
    ] {
        assert!(ClusterSettings::read(&file, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_provider_set_of_a_management_cluster_has_a_folder_and_who_applies_it() {
    let of = |providers: &str| {
        repository(&format!(
            "managementClusters:\n  - name: a\n    uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n    clusters: ['*/*']\n    providers: {providers}\n"
        ))
    };
    let settings = of("{path: mc-eu/providers/}").unwrap();
    let providers = settings.management_clusters[0].providers.as_ref().unwrap();
    assert_eq!((providers.path.to_string().as_str(), providers.by), ("mc-eu/providers", ProvidersBy::Others));
    let set = ClusterId::new(path("mc-eu/providers"));
    assert!(settings.names_providers(&set));
    assert_eq!(settings.claimed_by(&set), Ok(None), "a pattern over clusters does not fit it");
    assert_eq!(settings.claimed_by(&ClusterId::new(path("mc-eu/other"))).unwrap().unwrap().name, "a");
    for (written, by) in [("capstan", ProvidersBy::Capstan), ("operator", ProvidersBy::Operator)] {
        let settings = of(&format!("{{path: a, by: {written}}}")).unwrap();
        let providers = settings.management_clusters[0].providers.as_ref().unwrap();
        assert_eq!((providers.by, providers.by.as_str()), (by, written));
        let set = ClusterId::new(path("a"));
        assert_eq!(settings.claimed_by(&set).unwrap().unwrap().name, "a", "its own management cluster's");
    }
    for (wrong, told) in [
        ("{path: a, by: capstain}", "did you mean `capstan`?"),
        (
            "{paht: a}",
            ".capstan.yaml:5:17: unknown key `paht` in `managementClusters[0].providers`; did you mean `path`?",
        ),
        ("{by: capstan}", "lacks the key `path`"),
        ("{path: .}", "`.` is not a folder of the repository (`mc-eu/providers`)"),
        ("{path: ../a}", "`../a` is not a folder of the repository (`mc-eu/providers`)"),
    ] {
        let error = of(wrong).unwrap_err();
        assert!(error.starts_with(".capstan.yaml:5:") && error.contains(told), "{wrong}: {error}");
    }
}

#[test]
fn two_management_clusters_with_one_provider_set_are_refused_at_the_second() {
    let text = "managementClusters:\n  - name: a\n    uid: 6f1c2d3e-0000-4a5b-8c9d-0123456789ab\n    providers: {path: mc/providers}\n  \
                - name: b\n    uid: 7f1c2d3e-0000-4a5b-8c9d-0123456789ab\n    providers: {path: mc/providers/, by: capstan}\n";
    assert_eq!(
        repository(text).unwrap_err(),
        ".capstan.yaml:7:17: `a` and `b` name one provider set, `mc/providers`: a set belongs to one management cluster"
    );
}

#[test]
fn digests_of_components_stand_after_the_release_and_nothing_else_moves() {
    let file = path("mc-eu/providers/capstan.yaml");
    let (one, other) = ("ab".repeat(32), "cd".repeat(32));
    let record = |version: &str, sha256: &str| ComponentsRecord {
        version: version.to_owned(),
        sha256: sha256.to_owned(),
    };
    let components = [("cluster-api".to_owned(), record("v1.13.4", &one))].into();
    let write = |text: Option<&str>, components: &std::collections::BTreeMap<String, ComponentsRecord>| {
        record_components(&file, text, "providers", components).unwrap()
    };
    let before = "release: mc/v2.0.0 # theirs\ntrack: patch\n";
    let after = format!(
        "release: mc/v2.0.0 # theirs\ncomponents:\n  cluster-api:\n    version: v1.13.4\n    sha256: {one}\ntrack: patch\n"
    );
    assert_eq!(write(Some(before), &components).as_deref(), Some(after.as_str()));
    assert_eq!(write(Some(&after), &components).as_deref(), Some(after.as_str()));
    assert_eq!(write(Some(&after), &[].into()).as_deref(), Some(before), "nothing stale stays");
    let newer = [("cluster-api".to_owned(), record("v1.14.2", &other))].into();
    let wanted = after.replace("v1.13.4", "v1.14.2").replace(&one, &other);
    assert_eq!(write(Some(&after), &newer).as_deref(), Some(wanted.as_str()));
    assert_eq!(write(None, &[].into()), None);
    assert!(write(None, &components).unwrap().contains("name: providers\n"));
    assert_eq!(ClusterSettings::read(&file, &after).unwrap().components, components);
    for wrong in ["components: {a: {version: v1}}", "components: {a: {version: v1, sha256: AB}}"] {
        assert!(ClusterSettings::read(&file, wrong).is_err(), "{wrong}");
    }
}
