//! The chart, read without Helm: that it says what the kustomizations say, line by line, and names no value, setting or
//! template that is not there. What Helm makes of it, [`chart`](super::chart) holds, by `make test-real`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use capstan_test_parts::deployed::{deployed, read, texts};
use capstan_test_parts::flags::of_service;

/// The templates by their names.
fn templates() -> BTreeMap<String, String> {
    let files = fs::read_dir(deployed("templates")).unwrap().map(|entry| entry.unwrap().path());
    let named = files.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    named.collect()
}

/// The lines of a text that say something, without their indentation and without comments.
fn lines(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#') && *line != "---").collect()
}

/// The actions between `{{` and `}}`, without comments.
fn actions(template: &str) -> Vec<String> {
    let opened = template.split("{{").skip(1).map(|rest| rest.split_once("}}").unwrap().0);
    let said = opened.map(|action| action.trim_matches('-').trim().to_owned());
    said.filter(|action| !action.starts_with("/*")).collect()
}

#[test]
fn what_the_kustomizations_say_the_chart_says_or_takes_from_its_values() {
    let templates = templates();
    let of_release = [
        "namespace: capstan-",
        "name: capstan-",
        "serviceName: capstan-",
        "serviceAccountName: capstan",
        "claimName: capstan-",
        "image: capstan",
        "app.kubernetes.io/component: ",
        "kubernetes.io/metadata.name: ",
    ];
    let rows: [(&str, &[&str], &[&str]); 4] = [
        (
            "reconciler.yaml",
            &["reconciler.yaml"],
            &["cpu: 100m", "limits:", "memory: 1Gi", "memory: 64Mi", "storage: 1Gi"],
        ),
        ("network.yaml", &["network.yaml"], &["- port: 22", "- port: 443", "- port: 6443"]),
        (
            "bot/bot.yaml",
            &["bot.yaml"],
            &[
                "- name: CAPSTAN_GITHUB_APP_ID",
                "- name: CAPSTAN_PLANNER_MEMORY_MIB",
                "- name: CAPSTAN_PUBLIC_URL",
                "cpu: 100m",
                "limits:",
                "memory: 256Mi",
                "memory: 2Gi",
                "replicas: 1",
                "secretName: capstan-bot",
                "storage: 10Gi",
                "value: \"12345\"",
                "value: \"256\"",
                "value: https://capstan.example.com",
            ],
        ),
        ("bot/network.yaml", &["network.yaml"], &["- port: 443", "- port: metrics"]),
    ];
    for (kustomization, files, of_values) in rows {
        let chart: String =
            files.iter().chain(&["_helpers.tpl"]).map(|name| templates[*name].clone() + "\n").collect();
        let (text, chart) = (read(kustomization), lines(&chart));
        let missing = lines(&text).into_iter().filter(|line| !chart.contains(line));
        let missing: Vec<&str> =
            missing.filter(|line| !of_release.iter().any(|begins| line.starts_with(begins))).collect();
        assert_eq!(missing, of_values, "{kustomization}: lines that {files:?} do not have");
    }
}

#[test]
fn every_value_that_a_template_names_is_described_and_has_a_default() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let values: Value = serde_saphyr::from_str(&read("values.yaml")).unwrap();
    let mut named = BTreeSet::new();
    for (name, template) in templates() {
        for action in actions(&template) {
            let paths = action.split(".Values.").skip(1).map(|rest| {
                rest.split(|letter: char| !letter.is_alphanumeric() && letter != '.')
                    .next()
                    .unwrap()
                    .to_owned()
            });
            named.extend(paths.map(|path| (path, name.clone())));
        }
    }
    assert!(named.len() > 40, "{}", named.len());
    for (path, template) in named {
        let pointer = format!("/{}", path.replace('.', "/"));
        assert!(values.pointer(&pointer).is_some(), "{template}: values.yaml has no {path}");
        let mut described = &schema;
        for part in path.split('.') {
            if let Some(reference) = described["$ref"].as_str() {
                described = schema.pointer(reference.trim_start_matches('#')).unwrap();
            }
            described = &described["properties"][part];
            assert!(!described.is_null(), "{template}: values.schema.json does not describe {path}");
        }
    }
}

#[test]
fn templates_name_templates_and_files_that_are_there_and_every_block_ends() {
    let templates = templates();
    let all: Vec<(String, String)> = templates
        .iter()
        .flat_map(|(name, text)| actions(text).into_iter().map(|action| (name.clone(), action)))
        .collect();
    let quoted = |action: &str, word: &str| {
        let rest = action.split(&format!("{word} \"")).nth(1)?;
        Some(rest.split('"').next()?.to_owned())
    };
    let defined: BTreeSet<String> = all.iter().filter_map(|(_, action)| quoted(action, "define")).collect();
    for (template, action) in &all {
        if let Some(named) = quoted(action, "include") {
            assert!(defined.contains(&named), "{template}: no template {named} is defined");
        }
        if let Some(file) = quoted(action, ".Files.Get") {
            assert!(deployed(&file).is_file(), "{template}: there is no {file}");
        }
    }
    for name in templates.keys() {
        let mut open = 0;
        for (_, action) in all.iter().filter(|(template, _)| template == name) {
            match action.split_whitespace().next() {
                Some("if" | "with" | "range" | "define" | "block") => open += 1,
                Some("end") => open -= 1,
                _ => {}
            }
            assert!(open >= 0, "{name}: an `end` without a block");
        }
        assert_eq!(open, 0, "{name}: a block does not end");
    }
}

#[test]
fn the_chart_is_of_this_version() {
    let chart: Value = serde_saphyr::from_str(&read("Chart.yaml")).unwrap();
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_chart_takes_every_setting_but_those_that_it_sets_itself() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let of_bot: &[&str] = &[
        "config",
        "database-url",
        "github-private-key-file",
        "github-webhook-secret-file",
        "internal-listen",
        "key-file",
        "listen",
        "metrics-listen",
        "state-dir",
    ];
    let of_reconciler: &[&str] = &["config", "kubeconfig", "listen", "namespace", "state-dir"];
    for (program, service, own) in [("bot", "serve", of_bot), ("reconciler", "reconcile", of_reconciler)] {
        let settings = &schema["properties"][program]["properties"]["settings"];
        let taken: BTreeSet<String> = texts(&settings["propertyNames"]["enum"]).into_iter().collect();
        let flags = of_service(service).into_keys().filter(|flag| !own.contains(&flag.as_str()));
        assert_eq!(taken, flags.collect::<BTreeSet<_>>(), "{program}");
    }
}
