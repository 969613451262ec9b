//! Small folders that ask for much: each is refused at the step that goes too far, and costs little until then.

use std::fmt::Write as _;

use super::{refusal, try_render};
use crate::render::RenderErrorKind;

const OBJECT: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, a: {}}\n";

/// An overlay that applies these operations to the base's one object, `OBJECT`.
fn operations(lines: &str) -> Vec<(String, String)> {
    vec![
        ("c/base/a.yaml".to_owned(), OBJECT.to_owned()),
        (
            "c/overlay/kustomization.yaml".to_owned(),
            "patches:\n- {path: patch.yaml, target: {name: a}}\n".to_owned(),
        ),
        ("c/overlay/patch.yaml".to_owned(), lines.to_owned()),
    ]
}

/// What a folder is refused for, in a thread whose stack is as small as an asynchronous worker's.
fn refused(files: Vec<(String, String)>) -> String {
    let told = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let error = try_render(&files).map(|_| "it is rendered").unwrap_err();
        assert_eq!(error.trouble(), RenderErrorKind::TooLarge, "{error}");
        assert_eq!(error.rule().id(), "too-large");
        let told = refusal(&files);
        told.split_once(": with this ").map(|(place, words)| {
            let words = words.split_once([':', ',']).map_or(words, |(what, _)| what);
            format!("{place} {words}")
        })
    });
    told.unwrap().join().unwrap().unwrap()
}

#[test]
fn a_json_patch_that_deepens_an_object_step_by_step() {
    let mut lines = String::new();
    for _ in 0..2_000 {
        lines.push_str("- {op: add, path: /b, value: {}}\n- {op: move, from: /a, path: /b/a}\n");
        lines.push_str("- {op: move, from: /b, path: /a}\n");
    }
    let deep = "the object is nested deeper than 200 levels";
    assert_eq!(refused(operations(&lines)), format!("c/overlay/patch.yaml:596:3 {deep}"));
    let mut path = String::from("/a");
    let mut lines = String::new();
    for _ in 0..400 {
        path.push_str("/a");
        let _ = writeln!(lines, "- {{op: add, path: {path}, value: {{}}}}");
    }
    assert_eq!(refused(operations(&lines)), format!("c/overlay/patch.yaml:199:3 {deep}"));
}

#[test]
fn a_json_patch_that_doubles_an_object_with_each_copy() {
    let mut lines = String::from("- {op: add, path: /a, value: {b: text}}\n");
    for number in 0..26 {
        let _ = writeln!(lines, "- {{op: copy, from: /a, path: /a/c{number}}}");
    }
    assert_eq!(
        refused(operations(&lines)),
        "c/overlay/patch.yaml:20:3 the render has more than 1000000 values"
    );
}

#[test]
fn a_file_that_a_generator_names_often() {
    let mut kustomization = String::from("configMapGenerator:\n- name: a\n  files:\n");
    for number in 0..50 {
        let _ = writeln!(kustomization, "  - k{number}=big.txt");
    }
    let files = vec![
        ("c/base/kustomization.yaml".to_owned(), kustomization),
        ("c/base/big.txt".to_owned(), "x".repeat(4 << 20)),
    ];
    assert_eq!(refused(files), "c/base/kustomization.yaml:19:5 the render has more than 64 MiB of text");
}

#[test]
fn kustomizations_that_double() {
    let mut files = vec![
        ("c/k0/kustomization.yaml".to_owned(), "resources: [a.yaml]\n".to_owned()),
        ("c/k0/a.yaml".to_owned(), OBJECT.to_owned()),
        ("c/base/kustomization.yaml".to_owned(), "resources: [../k14]\n".to_owned()),
    ];
    for level in 1..=14 {
        let below = level - 1;
        let (one, other) = (format!("c/k{level}/one"), format!("c/k{level}/other"));
        let include = "resources: [one, other]\n".to_owned();
        files.push((format!("c/k{level}/kustomization.yaml"), include));
        for (folder, prefix) in [(one, "l"), (other, "r")] {
            let text = format!("namePrefix: {prefix}\nresources: [../../k{below}]\n");
            files.push((format!("{folder}/kustomization.yaml"), text));
        }
    }
    assert!(files.iter().map(|(_, text)| text.len()).sum::<usize>() < 4_000);
    let told = "c/k1/one/kustomization.yaml:1:1 the render builds more than 1000 kustomizations";
    assert_eq!(refused(files), told);
}

#[test]
fn many_objects_are_joined_at_the_price_of_their_number() {
    let files: Vec<(String, String)> = (0..4_000)
        .map(|number| {
            let object = OBJECT.replace("name: a", &format!("name: a{number}"));
            (format!("c/base/{number}.yaml"), object)
        })
        .collect();
    let names: Vec<String> = (0..4_000).map(|number| format!("{number}.yaml")).collect();
    let kustomization = format!("namespace: ns\nresources: [{}]\n", names.join(", "));
    let mut all: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    all.push(("c/base/kustomization.yaml", &kustomization));
    assert_eq!(try_render(&all).unwrap().objects.len(), 4_000);
}

/// A base of one kustomization and the files that it names, of which `a.yaml` is [`OBJECT`] unless it is given.
fn base(kustomization: &str, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let files = [("kustomization.yaml", kustomization), ("a.yaml", OBJECT)];
    let is_own = |(name, _): &&(&str, &str)| !more.iter().any(|(other, _)| other == name);
    let file = |(name, text): &(&str, &str)| (format!("c/base/{name}"), (*text).to_owned());
    files.iter().filter(is_own).chain(more).map(file).collect()
}

#[test]
fn replacements_that_double() {
    let mut text = String::from("resources: [a.yaml]\nreplacements:\n");
    for number in 0..26 {
        let _ = writeln!(
            text,
            "- source: {{kind: ConfigMap, fieldPath: a}}\n  targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [a.c{number}], options: {{create: true}}}}]"
        );
    }
    let object = OBJECT.replace("a: {}", "a: {b: text}");
    let told = refused(base(&text, &[("a.yaml", object.as_str())]));
    assert_eq!(told, "c/base/kustomization.yaml:40:54 the render has more than 1000000 values");
    let mut text = String::from("resources: [a.yaml]\nreplacements:\n");
    for _ in 0..40 {
        let _ = writeln!(
            text,
            "- source: {{kind: ConfigMap, fieldPath: a.b}}\n  targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [a.b], options: {{delimiter: '|', index: 9}}}}]"
        );
    }
    let told = refused(base(&text, &[("a.yaml", object.as_str())]));
    assert_eq!(told, "c/base/kustomization.yaml:48:54 the render has more than 64 MiB of text");
}

#[test]
fn variables_that_a_text_repeats_many_times() {
    let text = "resources: [a.yaml]\nconfigurations: [fields.yaml]\nvars:\n- {name: A, objref: {apiVersion: v1, kind: ConfigMap, name: a}, fieldref: {fieldPath: long}}\n";
    let object = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, long: {}, a: {}}}\n",
        "x".repeat(1 << 18),
        "$(A)".repeat(1 << 16)
    );
    let files = [("a.yaml", object.as_str()), ("fields.yaml", "varReference: [{path: a}]\n")];
    assert_eq!(refused(base(text, &files)), "c/base/a.yaml:1:262211 the render has more than 64 MiB of text");
}

#[test]
fn fields_of_a_configuration_that_lie_deep() {
    let text = "resources: [a.yaml]\ncommonLabels: {l: r}\nconfigurations: [fields.yaml]\n";
    let fields = format!("commonLabels: [{{path: {}, create: true}}]\n", vec!["a"; 100_000].join("/"));
    assert_eq!(
        refused(base(text, &[("fields.yaml", &fields)])),
        "c/base/kustomization.yaml:2:19 the object is nested deeper than 200 levels"
    );
}

#[test]
fn definitions_that_refer_to_others_twice() {
    let text = "resources: [a.yaml]\ncrds: [crds.json]\n";
    let mut definitions = Vec::new();
    for number in 0..40 {
        let next = number + 1;
        definitions.push(format!(
            "\"d{number}\": {{\"Schema\": {{\"properties\": {{\"kind\": {{}}, \"apiVersion\": {{}}, \"metadata\": {{}}, \"a\": {{\"$ref\": \"d{next}\"}}, \"b\": {{\"$ref\": \"d{next}\"}}}}}}}}"
        ));
    }
    let definitions = format!("{{{}}}", definitions.join(",\n"));
    assert_eq!(
        refused(base(text, &[("crds.json", &definitions)])),
        "c/base/crds.json:1:1 the render takes more than 1000 million steps"
    );
}

#[test]
fn patches_in_a_kustomization_that_expand_aliases() {
    let mut text = String::from("resources: [a.yaml]\npatches:\n");
    for _ in 0..30 {
        text.push_str("- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n");
        text.push_str(
            "    a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n    b: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n",
        );
        text.push_str(
            "    c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n    d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\n",
        );
        text.push_str("    e: [*d, *d, *d, *d, *d, *d, *d, *d]\n");
    }
    assert_eq!(
        refused(base(&text, &[])),
        "c/base/kustomization.yaml:174:10 the render has more than 1000000 values"
    );
}

#[test]
fn a_long_chain_of_kustomizations_is_a_chain_and_no_recursion() {
    let mut files = vec![("c/base/a.yaml".to_owned(), OBJECT.to_owned())];
    for number in 0..20_000 {
        let text = format!("resources: [../k{}]\n", number + 1);
        files.push((format!("c/k{number}/kustomization.yaml"), text));
    }
    files.push(("c/overlay/kustomization.yaml".to_owned(), "resources: [../k0]\n".to_owned()));
    let told = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        try_render(&files).map(|_| "it is rendered").unwrap_err().trouble()
    });
    assert_eq!(told.unwrap().join().unwrap(), RenderErrorKind::Cycle);
}

#[test]
fn selectors_whose_expressions_are_large() {
    let mut text = String::from("resources: [a.yaml]\npatches:\n");
    for _ in 0..40 {
        text.push_str(
            "- {path: patch.yaml, target: {kind: ConfigMap, name: '\\pL{1,63}', namespace: other}}\n",
        );
    }
    let objects: String = (0..4_000)
        .map(|number| OBJECT.replace("name: a", &format!("name: a{number}")))
        .fold(String::new(), |all, object| all + "---\n" + &object);
    let files = [("a.yaml", objects.as_str()), ("patch.yaml", "- {op: test, path: /a, value: {}}\n")];
    let told = refused(base(&text, &files));
    assert_eq!(told, "c/base/kustomization.yaml:32:30 the render takes more than 1000 million steps");
}

#[test]
fn files_that_hold_much_to_read_and_nothing_else() {
    let names: Vec<String> = (0..40).map(|number| format!("{number}.yaml")).collect();
    // What is equal is read once.
    let comments = |name: &String| format!("#{name}{}\n", "x".repeat((4 << 20) - 2 - name.len()));
    let contents: Vec<String> = names.iter().map(comments).collect();
    let text = format!("resources: [{}]\n", names.join(", "));
    let files: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(contents.iter().map(String::as_str)).collect();
    let told = refused(base(&text, &files));
    assert_eq!(told, "c/base/29.yaml:-:- the render takes more than 1000 million steps");
}

#[test]
fn many_references_are_followed_at_the_price_of_their_number() {
    const EACH: usize = 4_500;
    let mut objects = String::new();
    for number in 0..EACH {
        let _ = write!(
            objects,
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a{number}}}}}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p{number}}}, spec: {{volumes: [{{name: v, configMap: {{name: a{number}}}}}]}}}}\n"
        );
    }
    let text = "namePrefix: new-\nresources: [a.yaml]\n";
    let files = base(text, &[("a.yaml", objects.as_str())]);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let rendered = try_render(&files).unwrap();
    assert_eq!(rendered.objects.len(), 2 * EACH);
    let named = |object: &crate::render::RenderedObject| {
        object
            .value
            .pointer("/spec/volumes/0/configMap/name")
            .and_then(|name| name.as_str().map(str::to_owned))
    };
    let names: Vec<String> = rendered.objects.iter().filter_map(named).collect();
    assert!(names.len() == EACH && names.iter().all(|name| name.starts_with("new-a")));
}
