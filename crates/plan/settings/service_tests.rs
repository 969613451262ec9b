//! What `services`, `owners` and `cloud` may say, alone and together.

use super::*;
use capstan_model::tree::RepoPath;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn cluster(text: &str) -> Result<ClusterSettings, String> {
    ClusterSettings::read(&path("gauss/peu01/capstan.yaml"), text).map_err(|error| error.to_string())
}

fn overlay(text: &str) -> Result<OverlaySettings, String> {
    OverlaySettings::read(&path("gauss/peu01/overlay/capstan.yaml"), text).map_err(|error| error.to_string())
}

/// `line: message` of each finding, a line each, with the line in the file.
fn service_findings(text: &str, folders: &[&str]) -> Vec<String> {
    let file = path("peu01/capstan.yaml");
    let settings = ClusterSettings::read(&file, text).unwrap();
    let has = |folder: &ServiceFolder| folders.contains(&folder.name());
    let found = judge_services((&file, text), (&settings.services, &settings.owners), &has);
    found.iter().map(|finding| format!("{}: {}", finding.line().unwrap(), finding.message)).collect()
}

#[test]
fn services_owners_and_the_cloud_are_read() {
    let text = "\
cloud: eu-1
owners:
- {name: ada, key: age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudtpm9vsvyhn}
services:
- {name: cilium, role: cni, from: {folder: services/cilium}, when: beforeControlPlane}
- name: tools
  from: {objects: [{kind: HelmChartProxy, name: tools}]}
  optional: true
  enabled: false
  after: [cilium]
  checks: [\"has(status.ready)\"]
";
    let settings = ClusterSettings::read(&path("peu01/capstan.yaml"), text).unwrap();
    assert_eq!(settings.cloud.unwrap().as_str(), "eu-1");
    assert_eq!(settings.owners[0].name.as_str(), "ada");
    let [cilium, tools] = settings.services.as_slice() else { panic!("{:?}", settings.services) };
    assert_eq!((cilium.role, cilium.when), (ServiceRole::Cni, ServiceTurn::BeforeControlPlane));
    assert_eq!(cilium.from, ServiceSource::Folder(ServiceFolder::parse("services/cilium/").unwrap()));
    assert_eq!(
        (cilium.enabled, cilium.optional),
        (true, false),
        "it is there unless somebody says otherwise"
    );
    assert_eq!((tools.role, tools.when), (ServiceRole::Other, ServiceTurn::AfterControlPlane));
    assert_eq!((tools.enabled, tools.optional, tools.after[0].as_str()), (false, true, "cilium"));
    assert_eq!(service_findings(text, &["cilium"]), Vec::<String>::new());
}

#[test]
fn an_invalid_service_is_reported_with_its_place() {
    for (text, expected) in [
        (
            "services:\n- {name: a, from: {folder: base/a}}\n",
            "gauss/peu01/capstan.yaml:2:28: `services[0].from`: `base/a` is not a folder of a service (`services/cilium`, beside base)",
        ),
        (
            "services:\n- {name: a, from: {folder: services/../b}}\n",
            "gauss/peu01/capstan.yaml:2:28: `services[0].from`: `services/../b` is not a folder of a service (`services/cilium`, beside base)",
        ),
        (
            "services:\n- {name: a, role: network, from: {folder: services/a}}\n",
            "gauss/peu01/capstan.yaml:2:19: `services[0].role` must be cni, ccm, csi, metrics or other, found the string \"network\"",
        ),
        ("services:\n- {name: a}\n", "gauss/peu01/capstan.yaml:2:3: `services[0]` lacks the key `from`"),
        (
            "services:\n- {name: a, from: {folder: services/a}, version: 1}\n",
            "gauss/peu01/capstan.yaml:2:41: unknown key `version` in `services[0]`; known: name, role, from, enabled, optional, after, when, checks, force",
        ),
        (
            "owners:\n- {name: ada, key: \"\"}\n",
            "gauss/peu01/capstan.yaml:2:20: `owners[0].key`: `` is not a public key (one line of at most 8192 characters)",
        ),
    ] {
        assert_eq!(cluster(text).unwrap_err(), expected, "{text}");
    }
    let loosened = overlay("services:\n- {name: a, enabled: true, role: cni}\n").unwrap_err();
    assert!(loosened.contains("unknown key `role` in `services[0]`"), "{loosened}");
}

#[test]
fn services_that_cannot_be_meant_together_are_findings() {
    let folder =
        |name: &str, more: &str| format!("- {{name: {name}, from: {{folder: services/{name}}}{more}}}\n");
    let list = |entries: &[String]| format!("services:\n{}", entries.concat());
    for (text, expected) in [
        (
            list(&[folder("a", ", role: cni"), folder("b", ", role: cni")]),
            vec![
                "3: `a` and `b` both have the role cni, but a cluster has one network: remove one, or set `enabled: false` on it",
            ],
        ),
        (list(&[folder("a", ", role: cni"), folder("b", ", role: cni, enabled: false")]), vec![]),
        (
            list(&[folder("a", ", after: [c]"), folder("b", ", after: [a]"), folder("c", ", after: [b]")]),
            vec![
                "2: 3 services wait for one another, so none of them would ever start: `a` begins after `c`, `c` begins after `b`, `b` begins after `a`",
            ],
        ),
        (
            list(&[folder("a", ", after: [a]")]),
            vec!["2: `a` begins after `a`: none of them would ever start"],
        ),
        (
            list(&[
                folder("a", ", role: cni, force: {from: old, to: a, reason: tried}"),
                folder("b", ", force: {from: old, to: b, reason: tried}"),
                folder("c", ", role: cni, enabled: false, force: {from: a, to: d, reason: tried}"),
            ]),
            vec![
                "3: `force` allows a change of the pod network, but `b` has the role other: remove it",
                "4: `force` belongs to the new network: write `to: c`, or move it to `d`",
            ],
        ),
        // The roles have an order too.
        (
            list(&[folder("a", ", role: cni, after: [b]"), folder("b", ", role: csi")]),
            vec![
                "2: 2 services wait for one another, so none of them would ever start: `a` begins after `b`, `b` (csi) after `a` (cni)",
            ],
        ),
        (
            list(&[folder("a", ""), folder("b", ", after: [aa]")]),
            vec!["3: `b` starts after `aa`, but there is no such service; did you mean `a`?"],
        ),
        (
            list(&[folder("a", ""), folder("a", "")]),
            vec![
                "3: two services have the name `a`: rename one",
                "3: `a` and `a` are both in services/a, but an object belongs to one service: give each its own folder",
            ],
        ),
        (
            list(&[folder("z", "")]),
            vec![
                "2: there is no folder services/z beside base: put the objects of `z` there, or correct the name",
            ],
        ),
        (
            "owners:\n- {name: ada, key: k}\n- {name: ada, key: l}\n".to_owned(),
            vec!["3: two owners have the name `ada`: rename one"],
        ),
    ] {
        assert_eq!(service_findings(&text, &["a", "b", "c"]), expected, "{text}");
    }
}

#[test]
fn an_overlay_switches_what_is_optional_and_nothing_else() {
    let services = "\
services:
- {name: cilium, role: cni, from: {folder: services/cilium}}
- {name: calico, role: cni, from: {folder: services/calico}, optional: true, enabled: false}
- {name: tools, from: {folder: services/tools}, optional: true}
";
    let services = ClusterSettings::read(&path("peu01/capstan.yaml"), services).unwrap().services;
    let file = path("peu01/overlay/capstan.yaml");
    for (text, expected) in [
        ("services: [{name: tools, enabled: false}]\n", vec![]),
        (
            "services:\n- {name: cilium, enabled: false}\n",
            vec![
                "2:4 `cilium` is not `optional`: only the platform team may switch it off, in the cluster's capstan.yaml; remove this",
            ],
        ),
        (
            "services:\n- {name: tool, enabled: false}\n",
            vec!["2:4 the cluster has no service `tool`; did you mean `tools`?"],
        ),
        (
            "services:\n- {name: calico, enabled: true}\n",
            vec![
                "2:18 `cilium` and `calico` both have the role cni, but a cluster has one network: remove one, or set `enabled: false` on it",
            ],
        ),
    ] {
        let overlay = OverlaySettings::read(&file, text).unwrap().services;
        let found = judge_optional_services((&file, text), &overlay, &services);
        let found: Vec<String> = found
            .iter()
            .map(|one| format!("{}:{} {}", one.line().unwrap(), one.column().unwrap(), one.message))
            .collect();
        assert_eq!(found, expected, "{text}");
    }
    let of = |text: &str| {
        let overlay = OverlaySettings::read(&file, text).unwrap().services;
        let all = with_overlay(&services, &overlay);
        all.into_iter().filter(|one| one.enabled).map(|one| one.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("services: [{name: tools, enabled: false}]\n"), ["cilium"]);
    assert_eq!(of("services: [{name: cilium, enabled: false}]\n"), ["cilium", "tools"], "it has no effect");
}

#[test]
fn services_begin_by_role_and_after_those_that_they_name() {
    let of = |text: &str| {
        let services = ClusterSettings::read(&path("peu01/capstan.yaml"), text).unwrap().services;
        let order = service_order(&services).unwrap();
        order.into_iter().map(|at| services[at].name.to_string()).collect::<Vec<_>>().join(" ")
    };
    let one =
        |name: &str, more: &str| format!("- {{name: {name}, from: {{folder: services/{name}}}{more}}}\n");
    let text = [
        one("tools", ", after: [dns]"),
        one("metrics", ", role: metrics"),
        one("dns", ""),
        one("csi", ", role: csi"),
        one("cilium", ", role: cni, after: [certs]"),
        one("certs", ""),
    ]
    .concat();
    assert_eq!(of(&format!("services:\n{text}")), "certs cilium csi metrics dns tools");
}

#[test]
fn a_list_beyond_its_limit_is_reported_and_hides_other_findings() {
    let names = vec!["nowhere"; 101].join(", ");
    let text = format!("services:\n- {{name: a, from: {{folder: services/a}}, after: [{names}]}}\n");
    assert_eq!(service_findings(&text, &["a"]), ["2: 101 services exceed the limit of 100: remove some"]);
    let objects = vec!["{kind: App, name: a}"; 101].join(", ");
    let text = format!("services:\n- {{name: a, from: {{objects: [{objects}]}}}}\n");
    assert_eq!(service_findings(&text, &[]), ["2: 101 objects exceed the limit of 100: remove some"]);

    let file = path("peu01/overlay/capstan.yaml");
    let text = format!("services:\n{}", "- {name: a, enabled: true}\n".repeat(101));
    let settings = OverlaySettings::read(&file, &text).unwrap();
    let found = judge_optional_services((&file, &text), &settings.services, &[]);
    let told: Vec<String> =
        found.iter().map(|finding| format!("{}: {}", finding.line().unwrap(), finding.message)).collect();
    assert_eq!(told, ["1: 101 services exceed the limit of 100: remove some"]);
}
