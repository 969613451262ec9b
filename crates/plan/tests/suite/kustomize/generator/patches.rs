//! Patches: strategic merge and JSON 6902, of one object or of all that a target means.

use super::super::objects::{NAMESPACES, Object, Shape, has_custom_body, marks, ports, scalar};
use super::super::write::{Yaml, list, map, raw, text};
use super::folder::Folder;
use super::{named, text_of};
use capstan_test_support::random::Random;

impl Folder<'_> {
    pub(super) fn patches(&mut self, random: &mut Random) {
        let mut entries = Vec::new();
        for index in 0..=random.below(2) {
            if self.known.is_empty() {
                return;
            }
            let mut entry = map([]);
            let content = match random.below(4) {
                0 => self.strategic(random),
                1 => self.other_identity(random, &mut entry),
                2 => {
                    let target = self.target(random);
                    let patch = self.strategic_for(random, &target);
                    entry.set("target", target);
                    patch
                }
                _ => {
                    let target = self.target(random);
                    let operations = self.operations(random, &target);
                    entry.set("target", target);
                    operations
                }
            };
            let (field, content) = self.field_or_file(random, &format!("patch-{index}.yaml"), &content);
            entry.set(field, content);
            entries.push(entry);
        }
        self.fields.set("patches", list(entries));
    }

    pub(super) fn legacy_strategic(&mut self, random: &mut Random) {
        if self.known.is_empty() {
            return;
        }
        let content = self.strategic(random).document(random);
        if random.percent(50) {
            self.set("patchesStrategicMerge", list([text(content)]));
        } else {
            self.file("strategic.yaml", content);
            self.set("patchesStrategicMerge", list([text("strategic.yaml")]));
        }
    }

    pub(super) fn legacy_json(&mut self, random: &mut Random) {
        if self.known.is_empty() {
            return;
        }
        let mut target = map([]);
        for (field, value) in named(random.pick(&self.known)) {
            target.set(field, value);
        }
        let operations = self.operations(random, &target);
        let operations = operations.document(random);
        self.set("patchesJson6902", list([map([("target", target), ("patch", text(operations))])]));
    }

    /// Objects of a kind: one of them, some, or all.
    fn target(&mut self, random: &mut Random) -> Yaml {
        let object = random.pick(&self.known).clone();
        let mut target = map([("kind", text(&object.kind))]);
        match random.below(6) {
            0 | 1 => {
                self.tree.uses("patches: target by name");
                named(&object).into_iter().for_each(|(field, value)| target.set(field, value));
            }
            2 => target.set("name", text(*random.pick(&[".*", "w.*", "web|api", "nothing"]))),
            3 => {
                self.tree.uses("patches: target by labels");
                let selectors = ["app=web", "app", "!tier", "app in (web, api)", "tier!=1"];
                target.set("labelSelector", text(*random.pick(&selectors)));
            }
            4 => {
                self.tree.uses("patches: target by namespace");
                target.set("namespace", text(*random.pick(&NAMESPACES[1..])));
            }
            _ => {
                self.tree.uses("patches: target by annotations");
                target.set("annotationSelector", text("app"));
            }
        }
        if random.percent(10) {
            target.set("version", text(*random.pick(&["v1", "v1beta1", "v.*"])));
        }
        target
    }

    /// A strategic merge patch of a known object.
    fn strategic(&mut self, random: &mut Random) -> Yaml {
        let at = random.below(self.known.len());
        let of = self.known[at].clone();
        self.tree.uses("patches: strategic merge");
        if random.percent(4) {
            self.known.remove(at);
            self.tree.uses("patches: deletes an object");
            let mut patch = head(&of);
            patch.set("$patch", text("delete"));
            return patch;
        }
        self.known[at].shape = Shape::Changed;
        self.body(random, &of)
    }

    /// One for all that a target means: its own name counts for nothing.
    fn strategic_for(&mut self, random: &mut Random, target: &Yaml) -> Yaml {
        let of_kind = |object: &&Object| text_of(target.get("kind")) == Some(object.kind.as_str());
        let of = self.known.iter().find(of_kind).unwrap_or(&self.known[0]).clone();
        self.shake(|object| of_kind(&object));
        self.tree.uses("patches: strategic merge");
        self.body(random, &of)
    }

    /// One that gives its object another name or kind.
    fn other_identity(&mut self, random: &mut Random, entry: &mut Yaml) -> Yaml {
        let at = random.below(self.known.len());
        let of = self.known[at].clone();
        let mut target = map([]);
        named(&of).into_iter().for_each(|(field, value)| target.set(field, value));
        entry.set("target", target);
        self.known[at].shape = Shape::Changed;
        let mut new = of.clone();
        let (mut name, mut kind) = ("false", "false");
        if has_custom_body(&of.kind) && random.percent(30) {
            kind = "true";
            new.kind = "Gadget".to_owned();
            new.name = self.tree.new_name("gadget");
            name = "true";
            self.known.remove(at);
        } else if of.kind != "Namespace" && random.percent(50) {
            name = "true";
            new.name = self.tree.new_name("renamed");
        }
        self.tree.uses("patches: other name or kind");
        entry.set("options", map([("allowNameChange", raw(name)), ("allowKindChange", raw(kind))]));
        let mut patch = head(&new);
        if random.percent(50) {
            patch.set("more", scalar(random));
        }
        patch
    }

    fn body(&mut self, random: &mut Random, of: &Object) -> Yaml {
        let mut patch = head(of);
        if random.percent(35) {
            let mut marks = marks(random);
            if random.percent(30) {
                marks.set("app", raw("null"));
            }
            let key = *random.pick(&["labels", "annotations"]);
            patch.inside("metadata").set(key, marks);
        }
        if random.percent(10) {
            let finalizers = list([text("acme.io/new"), text("acme.io/hold")]);
            patch.inside("metadata").set("finalizers", finalizers);
        }
        match of.kind.as_str() {
            "ConfigMap" => {
                let value = text(*random.pick(&["patched", "12", "a b"]));
                patch.set("data", map([("key", value), ("gone", raw("null"))]));
            }
            "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => {
                let mut template = map([("spec", pod(random))]);
                if random.percent(20) {
                    template.set("metadata", map([("labels", marks(random))]));
                }
                patch.set("spec", map([("template", template)]));
            }
            "Pod" => patch.set("spec", pod(random)),
            "Service" => patch.set("spec", map([("ports", ports(random, "port"))])),
            kind if has_custom_body(kind) => {
                let spec = self.custom(random);
                patch.set("spec", spec);
            }
            _ => {}
        }
        if random.percent(30) {
            self.block(random, |block| patch.set("block", block));
        }
        patch
    }

    /// A text of several lines, at the end of a patch.
    fn block(&mut self, random: &mut Random, put: impl FnOnce(Yaml)) {
        if random.percent(30) {
            self.tree.uses("patches: end in a block that keeps its newlines");
            put(text("one\n two \n\n"));
        } else {
            self.tree.uses("patches: end in a block");
            put(text("one\n two\n"));
        }
    }

    fn custom(&mut self, random: &mut Random) -> Yaml {
        let new = map([("x", scalar(random)), ("gone", raw("null"))]);
        let mut spec = map([("mode", scalar(random)), ("new", new)]);
        match random.below(5) {
            0 => spec.set("plain", list([text("z")])),
            1 => {
                let directive = text(*random.pick(&["replace", "delete", "merge"]));
                spec.set("deep", map([("$patch", directive), ("only", raw("1"))]));
            }
            2 => {
                self.tree.uses("patches: list of a custom resource");
                let item = map([("name", text("b")), ("value", raw("2"))]);
                spec.set("deep", map([("list", list([item]))]));
            }
            3 => spec.set("deep", raw("null")),
            _ => {}
        }
        spec
    }

    /// A JSON patch for what a target means.
    fn operations(&mut self, random: &mut Random, target: &Yaml) -> Yaml {
        let operation = |op: &str, path: &str| map([("op", text(op)), ("path", text(path))]);
        let with = |op: &str, path: &str, value: Yaml| {
            let mut operation = operation(op, path);
            operation.set("value", value);
            operation
        };
        self.tree.uses("patches: JSON 6902");
        let is_meant = |object: &&Object| {
            text_of(target.get("kind")) == Some(object.kind.as_str())
                && text_of(target.get("name")) == Some(object.name.as_str())
        };
        let one = self.known.iter().find(is_meant).cloned();
        let mut all = vec![with("add", "/metadata/annotations", map([("by", text("json"))]))];
        if random.percent(50) {
            all.push(with("add", "/metadata/annotations/acme.io~1x", text("1")));
        }
        if random.percent(20) {
            all.push(with("add", "/extra", list([scalar(random), raw("on")])));
            all.push(with("add", "/extra/-", text("end")));
            let mut copy = operation("copy", "/extra/1");
            copy.set("from", text("/extra/0"));
            all.push(copy);
        }
        match one {
            Some(of) if of.kind != "Namespace" && random.percent(20) => {
                all.push(with("replace", "/metadata/name", text(self.tree.new_name("json"))));
            }
            Some(of) if has_custom_body(&of.kind) && of.shape == Shape::Written && random.percent(50) => {
                all.push(with("test", "/spec/plain/0", text("x")));
                all.push(with("replace", "/spec/plain/1", scalar(random)));
                all.push(operation("remove", "/spec/deep/list/0"));
                let mut moved = operation("move", "/spec/moved");
                moved.set("from", text("/spec/json"));
                all.push(moved);
            }
            _ => {}
        }
        self.shake(|object| text_of(target.get("kind")) == Some(object.kind.as_str()));
        if random.percent(30) {
            self.block(random, |block| all.push(with("add", "/block", block)));
        }
        list(all)
    }
}

/// The identity of an object, as a patch names it.
fn head(of: &Object) -> Yaml {
    let mut metadata = map([("name", text(&of.name))]);
    if !of.namespace.is_empty() {
        metadata.set("namespace", text(&of.namespace));
    }
    map([("apiVersion", text(&of.api_version)), ("kind", text(&of.kind)), ("metadata", metadata)])
}

fn pod(random: &mut Random) -> Yaml {
    let mut container = map([("name", text(*random.pick(&["main", "side", "third"])))]);
    if random.percent(50) {
        container.set("image", text("patched:1"));
    }
    if random.percent(50) {
        container.set("ports", ports(random, "containerPort"));
    }
    if random.percent(40) {
        let mut variable = map([("name", text(*random.pick(&["A", "B", "C"])))]);
        if random.percent(30) {
            variable.set("$patch", text("delete"));
        } else {
            variable.set("value", text("patched"));
        }
        container.set("env", list([variable]));
    }
    if random.percent(10) {
        container.set("$patch", text(*random.pick(&["delete", "replace", "merge"])));
    }
    let mut containers = vec![container];
    if random.percent(10) {
        containers.push(map([("$patch", text("replace"))]));
    }
    let mut pod = map([("containers", list(containers))]);
    if random.percent(20) {
        pod.set("volumes", list([map([("name", text("one")), ("emptyDir", map([]))])]));
    }
    if random.percent(20) {
        pod.set("tolerations", list([map([("key", text("b"))])]));
    }
    pod
}
