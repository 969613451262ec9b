//! What teaches kustomize more: configurations, transformers of one's own, schemas.

use super::super::write::{Yaml, list, map, raw, text};
use super::Namespaces;
use super::folder::Folder;
use capstan_test_support::random::Random;

impl Folder<'_> {
    pub(super) fn configurations(&mut self, random: &mut Random) {
        let mut config = map([]);
        if random.percent(60) {
            let fields = list([map([("kind", text("Widget")), ("path", text("spec/deep/ref/name"))])]);
            let reference = map([("kind", text("Secret")), ("version", text("v1")), ("fieldSpecs", fields)]);
            config.set("nameReference", list([reference]));
        }
        // Kustomizations that include one another agree about what is made where it is missing.
        for (key, path, create) in [
            ("namePrefix", "spec/mode", "false"),
            ("commonLabels", "spec/labels", "true"),
            ("commonAnnotations", "spec/notes", "true"),
            ("namespace", "spec/space", "true"),
            ("images", "spec/deep/image", "false"),
            ("replicas", "spec/count", "true"),
            ("varReference", "spec/mode", "false"),
            ("varReference", "spec/deep/list/value", "false"),
        ] {
            if random.percent(30) {
                let kind = *random.pick(&["Widget", "Cluster"]);
                let field = map([("path", text(path)), ("kind", text(kind)), ("create", raw(create))]);
                if key == "varReference" {
                    self.tree.uses("vars: fields of a configuration");
                }
                config.set(key, list([field]));
            }
        }
        if config != map([]) {
            if random.percent(15) {
                self.tree.uses("keys in another case");
                config = config.in_other_case(random);
            }
            let content = config.document(random);
            self.file("config.yaml", content);
            self.set("configurations", list([text("config.yaml")]));
        }
    }

    pub(super) fn transformers(&mut self, random: &mut Random) {
        let step = match random.below(6) {
            0 => {
                let mut step = transformer("PrefixTransformer", &[("metadata/name", "false")]);
                step.set("prefix", text("t-"));
                step
            }
            1 => {
                let mut step =
                    transformer("PrefixSuffixTransformer", &[("metadata/annotations/app", "false")]);
                step.set("prefix", text("https://"));
                step
            }
            2 => {
                let labels =
                    [("metadata/labels/app", "false"), ("spec/template/metadata/labels/app", "false")];
                let mut step = transformer("SuffixTransformer", &labels);
                step.set("suffix", text("-t"));
                step
            }
            3 => {
                let mut step = transformer("LabelTransformer", &[("metadata/labels", "true")]);
                step.set("labels", map([("step", text("label")), ("team", text("red"))]));
                step
            }
            4 if self.tree.namespaces == Namespaces::Moved => {
                let mut step = transformer("NamespaceTransformer", &[]);
                step.set("metadata", map([("name", text("step")), ("namespace", text("stepped"))]));
                step.set("unsetOnly", raw(*random.pick(&["true", "false"])));
                let subjects = ["allServiceAccounts", "none", "defaultOnly"];
                step.set("setRoleBindingSubjects", text(*random.pick(&subjects)));
                step
            }
            _ => {
                let mut step = transformer("AnnotationsTransformer", &[("metadata/annotations", "true")]);
                step.set("annotations", map([("step", text("note"))]));
                step
            }
        };
        let content = step.document(random);
        if random.percent(50) {
            self.set("transformers", list([text(content)]));
        } else {
            self.file("step.yaml", content);
            self.set("transformers", list([text("step.yaml")]));
        }
    }

    pub(super) fn openapi(&mut self, random: &mut Random) {
        let schema = r#"{"definitions": {"io.acme.Widget": {
            "properties": {"spec": {"properties": {"deep": {"properties": {"list": {
                "type": "array", "items": {"type": "object"},
                "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"
            }}}}}},
            "x-kubernetes-group-version-kind": [{"group": "acme.io", "version": "v1", "kind": "Widget"}]
        }}}"#;
        if self.name == "top" || random.percent(10) {
            self.file("schema.json", schema);
            self.set("openapi", map([("path", text("schema.json"))]));
        }
    }
}

/// A transformer that kustomize has built in, for some fields.
fn transformer(kind: &str, fields: &[(&str, &str)]) -> Yaml {
    let specs = fields.iter().map(|(path, create)| map([("path", text(*path)), ("create", raw(*create))]));
    let mut transformer = map([
        ("apiVersion", text("builtin")),
        ("kind", text(kind)),
        ("metadata", map([("name", text("step"))])),
    ]);
    if !fields.is_empty() {
        transformer.set("fieldSpecs", list(specs));
    }
    transformer
}
