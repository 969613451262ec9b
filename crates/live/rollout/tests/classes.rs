//! What variables and patches of a ClusterClass come to, as Cluster API's topology controller does it: one Cluster
//! with its class and templates, one edit a row.

use super::*;

const TREE: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: org}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.1.0.0/16]}}
  topology:
    classRef: {name: k}
    version: v1.30.2
    variables:
    - {name: image, value: base-1}
    - {name: region, value: north}
    - {name: workers, value: {sizes: [{disk: 20}]}}
    controlPlane: {replicas: 3}
    workers:
      machineDeployments:
      - {class: default, name: one, replicas: 4}
      - {class: default, name: two, replicas: 2, variables: {overrides: [{name: image, value: own-1}]}}
      - {class: special, name: odd, replicas: 1}
      machinePools:
      - {class: pool, name: three, replicas: 6}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: k, namespace: org}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: net}}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: cp}
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: cp}}
  workers:
    machineDeployments:
    - class: default
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: md}}
    - class: special
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: md}}
    machinePools:
    - class: pool
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachinePoolTemplate, name: mp}}
  variables:
  - {name: image, required: true, schema: {openAPIV3Schema: {type: string}}}
  - {name: region, required: true, schema: {openAPIV3Schema: {type: string}}}
  - name: workers
    schema: {openAPIV3Schema: {type: object, properties: {fast: {type: boolean, default: false}, sizes: {type: array}}}}
  - {name: tag, schema: {openAPIV3Schema: {type: string, default: t1}}}
  - {name: user, schema: {openAPIV3Schema: {type: string, default: ""}}}
  patches: PATCHES
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: cp, namespace: org}
spec: {template: {spec: {kubeadmConfigSpec: {files: [{path: /etc/a, content: a}]}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: cp, namespace: org}
spec: {template: {spec: {customImage: a}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: md, namespace: org}
spec: {template: {spec: {customImage: a}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: boot, namespace: org}
spec: {template: {spec: {joinConfiguration: {}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePoolTemplate
metadata: {name: mp, namespace: org}
spec: {template: {spec: {backend: {docker: {customImage: a}}}}}
"#;

const IMAGE: &str = "/spec/template/spec/customImage";

/// A patch of some kind's template for those resources, with what it writes.
fn patch(name: &str, kind: &str, resources: &str, writes: &str) -> String {
    let group = match kind {
        "KubeadmControlPlaneTemplate" => "controlplane",
        "KubeadmConfigTemplate" => "bootstrap",
        _ => "infrastructure",
    };
    format!(
        "{{name: {name}, definitions: [{{selector: {{apiVersion: {group}.cluster.x-k8s.io/v1beta2, kind: {kind}, matchResources: {{{resources}}}}}, jsonPatches: [{writes}]}}]}}"
    )
}

/// One for machines of workers of the class `default`.
fn of_workers(writes: &str) -> String {
    patch("p", "DevMachineTemplate", "machineDeploymentClass: {names: [default]}", writes)
}

fn write(path: &str, value: &str) -> String {
    format!("{{op: add, path: {path}, {value}}}")
}

/// `valueFrom` a variable, or a template.
fn variable(path: &str) -> String {
    format!("valueFrom: {{variable: '{path}'}}")
}

fn template(text: &str) -> String {
    format!("valueFrom: {{template: '{text}'}}")
}

/// What a tree becomes by replacing texts; each must be there.
fn edited(tree: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(tree.to_owned(), |tree, (old, new)| {
        assert!(tree.contains(old), "{old}");
        tree.replacen(old, new, 1)
    })
}

fn becomes(before: &str, after: &str, applied: AppliedBy) -> (String, Vec<String>) {
    let found = rollouts(&rendered(before), &rendered(after), applied);
    let notes = found.iter().flat_map(|one| one.course.notes.clone()).collect();
    (summary_of(&found), notes)
}

/// With these patches before and after, and edits between.
fn row(patches: &[String], edits: &[(&str, &str)]) -> (String, Vec<String>) {
    let before = TREE.replace("PATCHES", &format!("[{}]", patches.join(", ")));
    becomes(&before, &edited(&before, edits), AppliedBy::Reconciler)
}

const NEW_IMAGE: (&str, &str) = ("value: base-1", "value: base-2");
const REACHES: &str = "variable `image` reaches its machines through patch `p`.";

#[test]
fn a_variable_replaces_the_machines_of_the_groups_that_it_reaches() {
    let from_image = write(IMAGE, &variable("image"));
    // Two has its own image, and `odd` is of another class.
    let (told, notes) = row(&[of_workers(&from_image)], &[NEW_IMAGE]);
    assert_eq!(told, "4 offline [/spec/topology/variables/0/value] 4/0/0");
    assert_eq!(
        notes,
        [format!("`one`: {REACHES}"), "`one`: At most 1 more and 0 fewer than wanted at a time.".to_owned()]
    );
    let (told, notes) = row(&[of_workers(&from_image)], &[("value: own-1", "value: own-2")]);
    assert_eq!(
        told,
        "2 offline [/spec/topology/workers/machineDeployments/1/variables/overrides/0/value] 2/0/0"
    );
    assert_eq!(notes[0], format!("`two`: {REACHES}"));
    // Without its own it takes that of all.
    let own = ", variables: {overrides: [{name: image, value: own-1}]}";
    let (told, _) = row(&[of_workers(&from_image)], &[(own, "")]);
    assert_eq!(told, "2 offline [/spec/topology/workers/machineDeployments/1/variables/overrides] 2/0/0");
    // Names may have a star at an end.
    for (names, told) in [("'*'", "5"), ("def*", "4"), ("'*ult'", "4"), ("other", "0")] {
        let patch = patch(
            "p",
            "DevMachineTemplate",
            &format!("machineDeploymentClass: {{names: [{names}]}}"),
            &from_image,
        );
        assert!(row(&[patch], &[NEW_IMAGE]).0.starts_with(&format!("{told} offline ")), "{names}");
    }
    let of_plane = patch("p", "DevMachineTemplate", "controlPlane: true", &from_image);
    let (told, notes) = row(&[of_plane], &[NEW_IMAGE]);
    assert_eq!(told, "3 offline [/spec/topology/variables/0/value] 3/0/0");
    assert_eq!(notes[0], format!("`controlPlane`: {REACHES}"));
    // Another version of the API is not what the selector means.
    let other = of_workers(&from_image).replace("/v1beta2", "/v1beta1");
    assert!(row(&[other], &[NEW_IMAGE]).0.starts_with("0 offline "));
}

#[test]
fn a_variable_that_reaches_no_machines_replaces_none_and_that_is_said() {
    let of_network = patch(
        "p",
        "DevClusterTemplate",
        "infrastructureCluster: true",
        &write("/spec/template/spec/region", &variable("region")),
    );
    let (told, notes) = row(&[of_network], &[("value: north", "value: south")]);
    assert_eq!(told, "0 offline [/spec/topology/variables/1/value] 0/0/0");
    assert_eq!(notes, ["Variable `region` reaches no machines that exist: nothing is replaced for it."]);
    // Nor do fields of a control plane that its controller changes in place.
    for path in [
        "/spec/template/spec/rollout/strategy/type",
        "/spec/template/spec/machineNaming/template",
        "/spec/template/metadata/labels/a",
    ] {
        let in_place = patch(
            "p",
            "KubeadmControlPlaneTemplate",
            "controlPlane: true",
            &write(path, &variable("region")),
        );
        assert_eq!(
            row(&[in_place], &[("value: north", "value: south")]).0,
            "0 offline [/spec/topology/variables/1/value] 0/0/0",
            "{path}"
        );
    }
    let rolls = patch(
        "p",
        "KubeadmControlPlaneTemplate",
        "controlPlane: true",
        &write(
            "/spec/template/spec/kubeadmConfigSpec/files/-",
            &template("{path: /r, content: \"{{ .region }}\"}"),
        ),
    );
    assert_eq!(
        row(&[rolls], &[("value: north", "value: south")]).0,
        "3 offline [/spec/topology/variables/1/value] 3/0/0"
    );
    // What a later patch overwrites does nothing.
    let overwritten =
        [of_workers(&write(IMAGE, &variable("image"))), of_workers(&write(IMAGE, "value: fixed"))];
    assert_eq!(row(&overwritten, &[NEW_IMAGE]).0, "0 offline [/spec/topology/variables/0/value] 0/0/0");
}

#[test]
fn fields_and_items_of_variables_and_their_defaults() {
    let disk = of_workers(&write("/spec/template/spec/disk", &variable("workers.sizes[0].disk")));
    assert_eq!(
        row(&[disk], &[("disk: 20", "disk: 30")]).0,
        "6 offline [/spec/topology/variables/2/value] 6/0/0"
    );
    let fast = of_workers(&write("/spec/template/spec/fast", &variable("workers.fast")));
    // Written out as the default has it, or another field of the same variable: nothing.
    for same in [("{sizes: [{disk: 20}]}", "{fast: false, sizes: [{disk: 20}]}"), ("disk: 20", "disk: 30")] {
        assert!(row(std::slice::from_ref(&fast), &[same]).0.starts_with("0 offline "), "{same:?}");
    }
    assert_eq!(
        row(&[fast], &[("{sizes: [{disk: 20}]}", "{fast: true}")]).0,
        "6 offline [/spec/topology/variables/2/value] 6/0/0"
    );
    let tag = of_workers(&write("/spec/template/spec/tag", &variable("tag")));
    for (value, told) in [
        ("t1", "0 offline [/spec/topology/variables/0] 0/0/0"),
        ("t2", "6 offline [/spec/topology/variables/0] 6/0/0"),
    ] {
        let set = format!("    variables:\n    - {{name: tag, value: {value}}}");
        assert_eq!(row(std::slice::from_ref(&tag), &[("    variables:", &set)]).0, told);
    }
}

/// It is unknown here what Flux will write there.
#[test]
fn what_is_substituted_later_decides_nothing() {
    let from_image = of_workers(&write(IMAGE, &variable("image")));
    // It may be what it was.
    let (told, notes) = row(std::slice::from_ref(&from_image), &[("value: base-1", "value: \"${IMAGE}\"")]);
    assert_eq!(told, "? unknown [/spec/topology/variables/0/value] ?/0/0", "{notes:?}");
    // A text around it tells.
    let (told, _) = row(std::slice::from_ref(&from_image), &[("value: base-1", "value: \"new-${IMAGE}\"")]);
    assert_eq!(told, "4 offline [/spec/topology/variables/0/value] 4/0/0");
    // A patch may be in force, and what it would write is new.
    let perhaps = from_image.replacen("{name: p,", "{name: p, enabledIf: '{{ eq .region \"north\" }}',", 1);
    let substituted = ("value: north", "value: \"${REGION}\"");
    let before = edited(&TREE.replace("PATCHES", &format!("[{perhaps}]")), &[substituted]);
    let (told, _) = becomes(&before, &edited(&before, &[NEW_IMAGE]), AppliedBy::Reconciler);
    assert_eq!(told, "? unknown [/spec/topology/variables/0/value] ?/0/0");
    assert_eq!(becomes(&before, &before, AppliedBy::Reconciler).0, "nothing");
}

/// The API server has written the old default into the live Cluster, and a server-side apply leaves it there.
#[test]
fn another_default_of_the_class_changes_no_cluster_that_has_the_old_one() {
    let tag = of_workers(&write("/spec/template/spec/tag", &variable("tag")));
    let before = TREE.replace("PATCHES", &format!("[{tag}]"));
    let after = edited(&before, &[("default: t1", "default: t2")]);
    assert_eq!(becomes(&before, &after, AppliedBy::Reconciler).0, "nothing");
    // An apply that replaces the list removes the default.
    assert_eq!(
        becomes(&before, &after, AppliedBy::Others).0,
        "? unknown [/spec/topology/classRef/name] ?/0/0"
    );
    let fast = of_workers(&write("/spec/template/spec/fast", &variable("workers.fast")));
    // A default inside of a value that Git sets is written at each apply.
    assert_eq!(
        row(&[fast], &[("default: false", "default: true")]).0,
        "6 offline [/spec/topology/classRef/name] 6/0/0"
    );
}

#[test]
fn templates_are_computed_equal_or_unknown() {
    let image = |text: &str| [of_workers(&write(IMAGE, &template(text)))];
    let all = "4 offline [/spec/topology/variables/0/value] 4/0/0";
    let none = "0 offline [/spec/topology/variables/0/value] 0/0/0";
    for (text, told) in [
        ("{{ .image }}:1", all),
        ("{{ if eq .image \"other\" }}a{{ else }}b{{ end }}", none),
        ("{{ if eq .image \"base-1\" }}a{{ else }}b{{ end }}", all),
        // Not computed here, but it reads nothing that is another.
        ("{{ regexMatch \"^v1.30\" .builtin.machineDeployment.version }}{{ .region }}", none),
        ("{{ .image | trunc 3 }}", "? unknown [/spec/topology/variables/0/value] ?/0/0"),
        ("{{ range .workers.sizes }}{{ .disk }}{{ end }}", none),
        ("{{ toJson . }}", "? unknown [/spec/topology/variables/0/value] ?/0/0"),
    ] {
        assert_eq!(row(&image(text), &[NEW_IMAGE]).0, told, "{text}");
    }
    let (_, notes) = row(&image("{{ .image | trunc 3 }}"), &[NEW_IMAGE]);
    assert_eq!(notes[0], "`one`: Capstan cannot compute what patch `p` makes of variable `image`.");
    // Where something else is surely different, the rest does not matter.
    let both = [of_workers(&format!(
        "{}, {}",
        write("/spec/template/spec/a", &variable("image")),
        write("/spec/template/spec/b", &template("{{ .image | trunc 3 }}"))
    ))];
    assert_eq!(row(&both, &[NEW_IMAGE]).0, all);
}

#[test]
fn a_patch_may_be_in_force_by_a_variable() {
    let enabled = |condition: &str, writes: &str| {
        [of_workers(writes).replace("{name: p,", &format!("{{name: p, enabledIf: '{condition}',"))]
    };
    let fixed = write(IMAGE, "value: fixed");
    let set = "    variables:\n    - {name: user, value: u}";
    for (condition, told) in [
        ("{{ ne .user \"\" }}", "6 offline [/spec/topology/variables/0] 6/0/0"),
        ("{{ if .region }}true{{ end }}", "0 offline [/spec/topology/variables/0] 0/0/0"),
        (
            "{{ hasPrefix \"v1.30\" .builtin.machineDeployment.version }}",
            "0 offline [/spec/topology/variables/0] 0/0/0",
        ),
        ("{{ hasPrefix \"u\" .user }}", "6 offline [/spec/topology/variables/0] 6/0/0"),
        ("{{ regexMatch \"^u\" .user }}", "? unknown [/spec/topology/variables/0] ?/0/0"),
    ] {
        assert_eq!(row(&enabled(condition, &fixed), &[("    variables:", set)]).0, told, "{condition}");
    }
    // It writes the same either way: what the class's template has already, for all that is known.
    let known = enabled("{{ eq .user \"u\" }}", &write(IMAGE, "value: a"));
    assert_eq!(row(&known, &[("    variables:", set)]).0, "0 offline [/spec/topology/variables/0] 0/0/0");
    // Whether it is in force is not known, but its value is another only where it is.
    let uncertain = enabled(
        "{{ regexMatch \"^v1.30\" .builtin.machineDeployment.version }}",
        &write(IMAGE, &variable("image")),
    );
    assert_eq!(row(&uncertain, &[NEW_IMAGE]).0, "? unknown [/spec/topology/variables/0/value] ?/0/0");
}

#[test]
fn what_builtin_tells_counts_too() {
    let from = |field: &str| [of_workers(&write("/spec/template/spec/a", &variable(field)))];
    let six = |path: &str| format!("6 offline [{path}] 6/0/0");
    for (field, edit, expected) in [
        ("builtin.cluster.network.pods", ("10.1.0.0/16", "10.2.0.0/16"), six("/spec/clusterNetwork")),
        (
            "builtin.machineDeployment.replicas",
            ("name: one, replicas: 4", "name: one, replicas: 5"),
            "4 offline [/spec/topology/workers/machineDeployments/0/replicas] 4/1/0".to_owned(),
        ),
        // Its name and that of its template only the live cluster tells, and they stay.
        (
            "builtin.machineDeployment.infrastructureRef.name",
            NEW_IMAGE,
            "0 offline [/spec/topology/variables/0/value] 0/0/0".to_owned(),
        ),
        (
            "builtin.cluster.topology.version",
            NEW_IMAGE,
            "0 offline [/spec/topology/variables/0/value] 0/0/0".to_owned(),
        ),
        (
            "builtin.cluster.topology.version",
            ("v1.30.2", "v1.31.1"),
            "16 offline [/spec/topology/version] 16/0/0".to_owned(),
        ),
    ] {
        assert_eq!(row(&from(field), &[edit]).0, expected, "{field}");
    }
}

#[test]
fn an_edit_of_the_class() {
    let fixed = of_workers(&write(IMAGE, "value: fixed"));
    let of_class = |told: &str| format!("{told} offline [/spec/topology/classRef/name] {told}/0/0");
    for (edits, expected) in [
        (vec![("value: fixed", "value: other")], of_class("6")),
        // Another name of a patch writes the same.
        (vec![("name: p,", "name: q,")], "nothing".to_owned()),
        (vec![("add, path", "replace, path")], "nothing".to_owned()),
        (vec![("names: [default]", "names: [special]")], of_class("7")),
        // The bootstrap template of both classes of deployments; of pools only the provider knows.
        (
            vec![("joinConfiguration: {}", "preKubeadmCommands: [a]")],
            "? offline [/spec/topology/classRef/name] ?/0/0".to_owned(),
        ),
        (vec![("{docker: {customImage: a}}", "{docker: {customImage: b}}")], of_class("6")),
        (vec![("content: a", "content: b")], of_class("3")),
        // The class's failure domain is that of its groups.
        (vec![("- class: special\n", "- class: special\n      failureDomain: f\n")], of_class("1")),
        // Variables that nothing reads.
        (vec![("type: string, default: t1", "type: string, default: t2")], "nothing".to_owned()),
    ] {
        assert_eq!(row(std::slice::from_ref(&fixed), &edits).0, expected, "{edits:?}");
    }
    let (_, notes) = row(&[fixed], &[("value: fixed", "value: other")]);
    assert_eq!(notes[0], "`one`, `two`: patch `p` of the class changes.");
}

/// Templates of machines cannot be edited in the API; those of bootstrap can, and the topology controller copies
/// them at its next look.
#[test]
fn others_edit_in_place_what_the_api_lets_them() {
    let before = TREE
        .replace("PATCHES", "[]")
        .replace("      machinePools:\n      - {class: pool, name: three, replicas: 6}\n", "");
    for (edit, expected) in [
        (
            (
                "name: md, namespace: org}\nspec: {template: {spec: {customImage: a}",
                "name: md, namespace: org}\nspec: {template: {spec: {customImage: b}",
            ),
            "nothing",
        ),
        (
            ("joinConfiguration: {}", "preKubeadmCommands: [a]"),
            "7 offline [/spec/topology/classRef/name] 7/0/0",
        ),
    ] {
        assert_eq!(becomes(&before, &edited(&before, &[edit]), AppliedBy::Others).0, expected);
    }
}

#[test]
fn another_class_replaces_only_what_comes_out_different() {
    let fixed = of_workers(&write(IMAGE, &variable("image")));
    let before = TREE.replace("PATCHES", &format!("[{fixed}]"));
    let renamed = [
        ("classRef: {name: k}", "classRef: {name: l}"),
        ("kind: ClusterClass\nmetadata: {name: k", "kind: ClusterClass\nmetadata: {name: l"),
    ];
    let rebased = |edits: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = renamed.iter().chain(edits).copied().collect();
        becomes(&before, &edited(&before, &all), AppliedBy::Others)
    };
    assert_eq!(rebased(&[]).0, "nothing");
    // The patch is gone: the image is that of the template, of the class `default` alone.
    let (told, notes) = rebased(&[(fixed.as_str(), "")]);
    assert_eq!(told, "6 offline [/spec/topology/classRef/name] 6/0/0");
    assert_eq!(notes[0], "`one`, `two`: patch `p` of the class changes.");
    let (told, _) = rebased(&[NEW_IMAGE]);
    assert_eq!(told, "4 offline [/spec/topology/variables/0/value] 4/0/0");
    // A template that is not rendered here.
    let named = (
        "kind: DevMachineTemplate, name: cp}}\n  workers",
        "kind: DevMachineTemplate, name: elsewhere}}\n  workers",
    );
    let (told, notes) = rebased(&[named]);
    assert_eq!(told, "? unknown [/spec/topology/classRef/name] ?/0/0");
    assert_eq!(
        notes[0],
        "`controlPlane`: DevMachineTemplate elsewhere is not rendered with the Cluster, so its result is unknown."
    );
}

#[test]
fn only_an_extension_knows_what_it_makes_of_what_it_sees() {
    let external = ["{name: e, external: {generatePatchesExtension: x}}".to_owned()];
    let (told, notes) = row(&external, &[("value: own-1", "value: own-2")]);
    assert_eq!(
        told,
        "? unknown [/spec/topology/workers/machineDeployments/1/variables/overrides/0/value] ?/0/0"
    );
    assert_eq!(notes[0], "`two`: patch `e` is a runtime extension, so its result is unknown.");
    // Of the number of machines it makes nothing.
    assert_eq!(
        row(&external, &[("name: one, replicas: 4", "name: one, replicas: 5")]).0,
        "0 offline [/spec/topology/workers/machineDeployments/0/replicas] 0/1/0"
    );
    // A variable that it defines itself.
    let own = "    variables:\n    - {name: discovered, value: 1}";
    assert_eq!(row(&external, &[("    variables:", own)]).0, "? unknown [/spec/topology/variables/0] ?/0/0");
    // The version replaces all, whatever it makes.
    assert_eq!(row(&external, &[("v1.30.2", "v1.31.1")]).0, "16 offline [/spec/topology/version] 16/0/0");
}

#[test]
fn what_a_pools_template_does_the_facts_of_its_kind_tell() {
    let of_pool = |kind: &str, path: &str| {
        [patch("p", kind, "machinePoolClass: {names: [pool]}", &write(path, &variable("image")))]
    };
    let pools = "/spec/template/spec";
    assert_eq!(
        row(&of_pool("DevMachinePoolTemplate", &format!("{pools}/backend/docker/customImage")), &[NEW_IMAGE])
            .0,
        "6 offline [/spec/topology/variables/0/value] 6/0/0"
    );
    assert_eq!(
        row(&of_pool("DevMachinePoolTemplate", &format!("{pools}/providerID")), &[NEW_IMAGE]).0,
        "0 offline [/spec/topology/variables/0/value] 0/0/0"
    );
    let (told, notes) = row(&of_pool("KubeadmConfigTemplate", &format!("{pools}/files")), &[NEW_IMAGE]);
    assert_eq!(told, "? unknown [/spec/topology/variables/0/value] ?/0/0");
    assert_eq!(
        notes[0],
        "`three`: variable `image` reaches it through patch `p`, and the controller of KubeadmConfig decides whether machines are replaced."
    );
}

/// The others replace their machines: 3, 4, 2 and 1.
#[test]
fn a_new_version_replaces_the_pools_whose_provider_does_so() {
    for (kind, expected) in [("DevMachinePoolTemplate", "16"), ("OCIMachinePoolTemplate", "10")] {
        let before = TREE.replace("PATCHES", "[]").replace("DevMachinePoolTemplate", kind);
        let after = edited(&before, &[("v1.30.2", "v1.31.1")]);
        let (told, notes) = becomes(&before, &after, AppliedBy::Others);
        assert_eq!(told, format!("{expected} offline [/spec/topology/version] {expected}/0/0"), "{kind}");
        let is_said = notes
            .iter()
            .any(|note| note == "`three`: The new version alone replaces no instance of this pool.");
        assert_eq!(is_said, expected == "10", "{notes:?}");
    }
}

/// What is held back in an upgrade is left as it is altogether.
#[test]
fn a_group_that_keeps_its_version_takes_nothing_else_meanwhile() {
    let deferred = (
        "name: one, replicas: 4",
        "name: one, replicas: 4, metadata: {annotations: {topology.cluster.x-k8s.io/defer-upgrade: \"\"}}",
    );
    let patches = [of_workers(&write(IMAGE, &variable("image")))];
    assert_eq!(
        row(&patches, &[NEW_IMAGE, deferred, ("v1.30.2", "v1.31.1")]).0,
        "12 offline [/spec/topology/version] 12/0/0"
    );
    assert_eq!(row(&patches, &[NEW_IMAGE, deferred]).0, "4 offline [/spec/topology/variables/0/value] 4/0/0");
}

#[test]
fn a_class_without_bounds_is_not_computed() {
    let many: Vec<String> =
        (0..40).map(|_| of_workers(&write("/spec/template/spec/a", &template(&"x".repeat(9_000))))).collect();
    let huge = format!("[{}]", vec![many.join(", "); 5].join(", "));
    let before = TREE.replace("PATCHES", &huge);
    let groups: String =
        (0..200).map(|at| format!("      - {{class: default, name: g{at}, replicas: 1}}\n")).collect();
    let before =
        before.replace("      machineDeployments:\n", &format!("      machineDeployments:\n{groups}"));
    let after = edited(&before, &[NEW_IMAGE]);
    let (told, notes) = becomes(&before, &after, AppliedBy::Reconciler);
    assert_eq!(told, "? unknown [/spec/topology/classRef/name] ?/0/0");
    assert!(notes.iter().any(|note| note.contains("the class is too large to compute.")), "{notes:?}");
    // Where nothing of it changes, nothing is replaced, computed or not.
    let scaled = edited(&before, &[("name: g0, replicas: 1", "name: g0, replicas: 2")]);
    assert_eq!(
        becomes(&before, &scaled, AppliedBy::Reconciler).0,
        "0 offline [/spec/topology/workers/machineDeployments/0/replicas] 0/1/0"
    );
}

/// Cluster API's own quick-start class: what each of its variables does is read off its patches.
#[test]
fn the_variables_of_a_real_class() {
    let Some(data) = capstan_test_support::shared_data::folder() else { return };
    let class = data.join("manifests/cluster-api/main-ae7ff047d/test/infrastructure/docker/templates/clusterclass-quick-start.yaml");
    let class = std::fs::read_to_string(class).unwrap();
    let tree = |variables: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: c, namespace: org}}
spec:
  topology:
    classRef: {{name: quick-start}}
    version: v1.35.1
    variables: [{variables}]
    controlPlane: {{replicas: 3}}
    workers:
      machineDeployments: [{{class: default-worker, name: one, replicas: 4}}]
      machinePools: [{{class: default-worker, name: two, replicas: 2}}]
---
{class}"
        )
    };
    for (before, after, expected) in [
        (
            "{name: imageRepository, value: a.io}",
            "{name: imageRepository, value: b.io}",
            "3 offline [/spec/topology/variables/0/value] 3/0/0",
        ),
        ("", "{name: etcdImageTag, value: 3.5.9-0}", "3 offline [/spec/topology/variables/0] 3/0/0"),
        // Nodes do not carry what runs DNS in the cluster.
        ("", "{name: coreDNSImageTag, value: v1.9.0}", "0 offline [/spec/topology/variables/0] 0/0/0"),
        // The default, written out.
        ("", "{name: imageRepository, value: ''}", "0 offline [/spec/topology/variables/0] 0/0/0"),
        // A template that asks for the version in the middle of a file.
        (
            "{name: podSecurityStandard, value: {enforce: baseline}}",
            "{name: podSecurityStandard, value: {enforce: restricted}}",
            "3 offline [/spec/topology/variables/0/value] 3/0/0",
        ),
    ] {
        let (told, notes) = becomes(&tree(before), &tree(after), AppliedBy::Reconciler);
        assert_eq!(told, expected, "{after} {notes:?}");
    }
}
