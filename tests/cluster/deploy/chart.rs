//! The chart as Helm renders it: what the kustomizations render; and it refuses what could not run. By `make test-real`
//! alone, because Helm takes minutes to build: [`chart_source`](super::chart_source) reads it without.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::helm::{Helm, kustomize};
use super::manifests::try_out;
use crate::k8s::shared;
use capstan_test_parts::deployed::{deployed, documents, of_kind, read};
use capstan_test_parts::page::of as page;

const BOT: [&str; 3] = [
    "program=bot",
    "bot.settings.github-app-id=12345",
    "bot.settings.public-url=https://capstan.example.com",
];
const RECONCILER: &str = "program=reconciler";

/// Labels that a chart has by convention, and a kustomization has not.
const OF_HELM: &[&str] = &[
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
];

/// An object by kind and name, in the words that kustomization and chart have in common.
fn common(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let objects = objects.into_iter().filter(|object| object["kind"] != "Namespace").map(|mut object| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        // What an object is called for people; what selects pods is compared.
        metadata.remove("labels");
        let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
        if let Some(annotations) = annotations {
            annotations.remove("helm.sh/resource-policy");
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        forget(&mut object, OF_HELM);
        let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let image = format!("capstan:{}", env!("CARGO_PKG_VERSION"));
            if container["image"] == image {
                container["image"] = json!("capstan");
            }
            if container["imagePullPolicy"] == "IfNotPresent" {
                container.as_object_mut().unwrap().remove("imagePullPolicy");
            }
            let name = |variable: &Value| variable["name"].as_str().unwrap().to_owned();
            container["env"].as_array_mut().unwrap().sort_by_key(name);
        }
        let metadata = &object["metadata"];
        let key = format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"]);
        (key, object)
    });
    objects.collect()
}

fn forget(value: &mut Value, keys: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !keys.contains(&key.as_str()));
            fields.values_mut().for_each(|field| forget(field, keys));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| forget(item, keys)),
        _ => {}
    }
}

/// From a folder to another, as a kustomization names it.
fn from(folder: &Path, to: &Path) -> String {
    let folder = folder.canonicalize().unwrap();
    let up = "../".repeat(folder.components().count() - 1);
    format!("{up}{}", to.canonicalize().unwrap().strip_prefix("/").unwrap().display())
}

#[test]
fn chart_and_kustomizations_render_the_same() {
    let Some(helm) = Helm::find() else { return };
    let overlay = tempfile::tempdir().unwrap();
    let bot = from(overlay.path(), &deployed("bot"));
    let text = format!("resources: [{bot}]\ncomponents: [{bot}/postgres]\n");
    std::fs::write(overlay.path().join("kustomization.yaml"), text).unwrap();
    let with_postgres = [&BOT[..], &["bot.postgres.enabled=true"]].concat();
    let with_providers = tempfile::tempdir().unwrap();
    let folders = ["", "providers", "providers/definitions"];
    let folders = folders.map(|folder| from(with_providers.path(), &deployed(folder)));
    let text = format!("resources: [{}]\n", folders.join(", "));
    std::fs::write(with_providers.path().join("kustomization.yaml"), &text).unwrap();
    let providers =
        [RECONCILER, "reconciler.providers.enabled=true", "reconciler.providers.definitions=true"];
    let applied_alone = [&providers[..], &["reconciler.providers.install=false"]].concat();
    let installing = tempfile::tempdir().unwrap();
    let component = from(installing.path(), &deployed("providers/install"));
    std::fs::write(
        installing.path().join("kustomization.yaml"),
        format!("{text}components: [{component}]\n"),
    )
    .unwrap();
    let rows: [(&Path, &str, &[&str], usize); 5] = [
        (&deployed("bot"), "capstan-bot", &BOT, 5),
        (overlay.path(), "capstan-bot", &with_postgres, 5),
        (&deployed(""), "capstan-system", &[RECONCILER], 20),
        (with_providers.path(), "capstan-system", &applied_alone, 34),
        (installing.path(), "capstan-system", &providers, 34),
    ];
    for (folder, namespace, values, count) in rows {
        let Some(kustomized) = kustomize(folder) else { return };
        let kustomized = common(kustomized);
        let rendered = common(documents(&helm.template(namespace, values).unwrap()));
        let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&kustomized), names(&rendered), "{values:?}");
        assert_eq!(kustomized.len(), count, "{values:?}");
        for (name, object) in &kustomized {
            assert_eq!(
                object, &rendered[name],
                "{name}: the kustomization on the left, the chart on the right"
            );
        }
    }
}

/// As it is installed: with the account there is the setting by which it is used, once.
#[test]
fn with_the_account_of_providers_the_reconciler_installs_them() {
    let Some(helm) = Helm::find() else { return };
    let settings = |values: &[&str]| {
        let rendered = documents(&helm.template("somewhere", &[&[RECONCILER], values].concat()).unwrap());
        let environment =
            of_kind(&rendered, "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"].clone();
        let found =
            environment.as_array().unwrap().iter().filter(|one| one["name"] == "CAPSTAN_PROVIDERS_NAMESPACE");
        found.cloned().collect::<Vec<_>>()
    };
    let own = json!({"name": "CAPSTAN_PROVIDERS_NAMESPACE",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}});
    let said = json!({"name": "CAPSTAN_PROVIDERS_NAMESPACE", "value": "elsewhere"});
    let enabled = "reconciler.providers.enabled=true";
    assert_eq!(settings(&[]), [Value::Null; 0]);
    assert_eq!(settings(&[enabled]), [own]);
    assert_eq!(settings(&[enabled, "reconciler.providers.install=false"]), [Value::Null; 0]);
    assert_eq!(settings(&[enabled, "reconciler.settings.providers-namespace=elsewhere"]), [said]);
}

#[test]
fn the_chart_refuses_what_could_not_run() {
    let Some(helm) = Helm::find() else { return };
    for (values, says) in [
        (&["program="][..], "program says what this release runs"),
        (&["program=both"], "at '/program'"),
        (&["program=bot"], "bot.settings.github-app-id is missing"),
        (&["program=bot", "bot.settings.github-app-id=1"], "bot.settings.public-url is missing"),
        (&[BOT[0], BOT[1], BOT[2], "bot.replicas=2"], "several bots share a PostgreSQL database"),
        (&[BOT[0], BOT[1], BOT[2], "bot.settings.state-dir=/tmp"], "invalid propertyName 'state-dir'"),
        (&[BOT[0], BOT[1], BOT[2], "bot.settings.retention-day=7"], "invalid propertyName 'retention-day'"),
        (
            &[BOT[0], BOT[1], BOT[2], "bot.settings.github-webhook-secret=hunter2"],
            "invalid propertyName 'github-webhook-secret'",
        ),
        (&[BOT[0], BOT[1], BOT[2], "bot.setings.workers=2"], "additional properties 'setings' not allowed"),
        (&[BOT[0], BOT[1], BOT[2], "bot.settings.workers=true"], "got boolean, want integer or string"),
        (&[RECONCILER, "networkPolicy.reconcilerPorts={https}"], "at '/networkPolicy/reconcilerPorts/0'"),
    ] {
        let refused = helm.template("default", values).unwrap_err();
        assert!(refused.contains(says), "{values:?}: {refused}");
    }
}

#[test]
fn large_numbers_stay_what_they_are() {
    let Some(helm) = Helm::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    let text = "program: bot\nbot: {settings: {github-app-id: 123456789, public-url: https://capstan.example.com}}\n";
    std::fs::write(&values, text).unwrap();
    let chart = deployed("");
    let arguments = ["template", "capstan", chart.to_str().unwrap(), "--values", values.to_str().unwrap()];
    let rendered = helm.run(&arguments).unwrap();
    assert!(
        rendered.contains("- name: CAPSTAN_GITHUB_APP_ID\n          value: \"123456789\"\n"),
        "{rendered}"
    );
}

#[test]
fn helm_finds_nothing_wrong() {
    let Some(helm) = Helm::find() else { return };
    for values in [&BOT[..], &[RECONCILER]] {
        let chart = deployed("");
        let mut arguments = vec!["lint", "--strict", chart.to_str().unwrap()];
        arguments.extend(values.iter().flat_map(|value| ["--set", *value]));
        helm.run(&arguments).unwrap();
    }
}

/// The YAML blocks of `docs/deploy.md`, as a reader copies them.
fn examples() -> Vec<String> {
    let blocks = page("docs/deploy.md").blocks;
    blocks.into_iter().filter(|block| block.info == "yaml").map(|block| block.text).collect()
}

#[test]
fn what_the_docs_show_is_rendered() {
    let Some(helm) = Helm::find() else { return };
    let examples = examples();
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<&String> =
        examples.iter().filter(|example| example.starts_with("program: bot\n")).collect();
    assert_eq!(values.len(), 2);
    for example in values {
        let file = folder.path().join("values.yaml");
        std::fs::write(&file, example).unwrap();
        let chart = deployed("");
        let arguments = ["template", "capstan", chart.to_str().unwrap(), "--values", file.to_str().unwrap()];
        let rendered = helm.run(&arguments).unwrap();
        assert!(rendered.contains("kind: StatefulSet"), "{example}");
    }
    let overlay = examples.iter().find(|example| example.contains("kind: Kustomization")).unwrap();
    let overlay = overlay.replace("capstan/deploy/bot", &from(folder.path(), &deployed("bot")));
    std::fs::write(folder.path().join("kustomization.yaml"), overlay).unwrap();
    let Some(objects) = kustomize(folder.path()) else { return };
    let container = &of_kind(&objects, "StatefulSet")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.com/capstan:0.1.0");
    let names: Vec<&Value> = container["env"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&json!("CAPSTAN_STATE_DIR")) && names.contains(&&json!("CAPSTAN_PUBLIC_URL")));
}

#[test]
fn the_chart_is_accepted_by_a_real_api_server_with_all_that_it_can_have() {
    let (Some(plane), Some(helm)) = (shared(), Helm::find()) else { return };
    for plural in ["podmonitors", "prometheusrules"] {
        plane.apply(&std::fs::read_to_string(helm.operator_kind(plural)).unwrap());
        let name = format!("crd/{plural}.monitoring.coreos.com");
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &name]);
    }
    let monitoring = ["podMonitor.enabled=true", "prometheusRule.enabled=true", "dashboard.enabled=true"];
    let bot = [
        "program=bot",
        "bot.settings.github-app-id=12345",
        "bot.settings.public-url=https://capstan.example.com",
        "bot.replicas=3",
        "bot.postgres.enabled=true",
        "bot.persistence.storageClassName=fast",
        "bot.ingress.enabled=true",
        "bot.ingress.className=nginx",
        "bot.ingress.tlsSecretName=capstan-tls",
    ];
    let pod = [
        "log.level=debug",
        "log.format=json",
        "image.pullSecrets[0].name=registry",
        "podAnnotations.team=platform",
        "podLabels.team=platform",
        "priorityClassName=high",
        "nodeSelector.pool=tools",
        "tolerations[0].key=tools",
        "tolerations[0].operator=Exists",
        "topologySpreadConstraints[0].maxSkew=1",
        "topologySpreadConstraints[0].topologyKey=zone",
        "topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
        "topologySpreadConstraints[0].labelSelector.matchLabels.team=platform",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key=pool",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].operator=Exists",
        "extraEnv[0].name=SSL_CERT_FILE",
        "extraEnv[0].value=/etc/ca/ca.pem",
        "extraVolumes[0].name=ca",
        "extraVolumes[0].configMap.name=ca",
        "extraVolumeMounts[0].name=ca",
        "extraVolumeMounts[0].mountPath=/etc/ca",
        "networkPolicy.egress[0].ports[0].port=3128",
    ];
    for (namespace, file, values, count) in [
        ("capstan-bot", "bot/namespace.yaml", &bot[..], 9),
        (
            "capstan-system",
            "namespace.yaml",
            &[
                "program=reconciler",
                "reconciler.settings.namespace-watches=10",
                "reconciler.providers.enabled=true",
                "reconciler.providers.definitions=true",
            ],
            37,
        ),
    ] {
        plane.apply(&read(file));
        let rendered = helm.template(namespace, &[values, &monitoring, &pod].concat()).unwrap();
        assert_eq!(documents(&rendered).len(), count, "{namespace}");
        try_out(plane, &rendered);
    }
}
