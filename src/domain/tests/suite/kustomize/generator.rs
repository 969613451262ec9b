//! Trees of kustomizations, with every field that Capstan renders, in any combination.
//!
//! Names come from a small pool, so that objects clash, references find several targets, and targets are
//! missing, now and then.

use std::collections::BTreeMap;

use super::objects::{IMAGES, NAMES, NAMESPACES, Object, marks, name, object, ports, scalar};
use super::write::{Yaml, list, map, raw, text};
use crate::random::Random;

/// Files by path; `top` is what is rendered.
pub(super) fn tree(random: &mut Random) -> BTreeMap<String, Vec<u8>> {
    let mut tree = Tree { files: BTreeMap::new() };
    let mut known = tree.kustomization(random, "base", &[], Vec::new());
    let mut below = vec!["../base".to_owned()];
    if random.percent(30) {
        known.extend(tree.kustomization(random, "more", &[], Vec::new()));
        below.push("../more".to_owned());
    }
    if random.percent(30) {
        known = tree.kustomization(random, "mid", &below, known);
        below = vec!["../mid".to_owned()];
    }
    tree.kustomization(random, "top", &below, known);
    tree.files
}

struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

/// One kustomization being made.
struct Folder<'a> {
    tree: &'a mut Tree,
    folder: String,
    known: Vec<Object>,
    fields: Yaml,
}

impl Tree {
    /// Makes a folder; gives back the objects that are known above it.
    fn kustomization(
        &mut self,
        random: &mut Random,
        folder: &str,
        below: &[String],
        known: Vec<Object>,
    ) -> Vec<Object> {
        let mut folder = Folder { tree: self, folder: folder.to_owned(), known, fields: map([]) };
        folder.resources(random, below);
        if random.percent(15) && folder.folder != "base" {
            folder.component(random);
        }
        folder.steps(random);
        folder.write(random)
    }
}

impl Folder<'_> {
    fn file(&mut self, name: &str, content: String) {
        self.tree.files.insert(format!("{}/{name}", self.folder), content.into_bytes());
    }

    fn write(mut self, random: &mut Random) -> Vec<Object> {
        let content = self.fields.document(random);
        self.file("kustomization.yaml", content);
        self.known
    }

    fn resources(&mut self, random: &mut Random, below: &[String]) {
        let mut names: Vec<Yaml> = below.iter().map(text).collect();
        let count = if below.is_empty() { 2 + random.below(5) } else { random.below(3) };
        let mut documents = Vec::new();
        for _ in 0..count {
            let new = object(random);
            let namespace = |object: &Object| match object.namespace.as_str() {
                "" => "default".to_owned(),
                other => other.to_owned(),
            };
            let clashes = self.known.iter().any(|known| {
                known.kind == new.kind && known.name == new.name && namespace(known) == namespace(&new)
            });
            if clashes && !random.percent(2) {
                continue;
            }
            documents.push(new.yaml.document(random));
            self.known.push(new);
        }
        if !documents.is_empty() {
            self.file("objects.yaml", documents.join("---\n"));
            names.push(text("objects.yaml"));
        }
        if random.percent(10) {
            let tool = map([
                ("apiVersion", text("acme.io/v1")),
                ("kind", text("Settings")),
                (
                    "metadata",
                    map([
                        ("name", text("settings")),
                        ("annotations", map([("config.kubernetes.io/local-config", text("true"))])),
                    ]),
                ),
                ("data", map([("image", text("tool:v9")), ("count", raw("7"))])),
            ]);
            let items = list([tool.clone()]);
            let whole = map([("apiVersion", text("v1")), ("kind", text("List")), ("items", items)]);
            let content = if random.percent(50) { whole } else { tool }.document(random);
            self.file(&format!("settings-{}.yaml", self.folder.clone()), content);
            if below.is_empty() {
                names.push(text(format!("settings-{}.yaml", self.folder)));
            }
        }
        if names.is_empty() {
            self.file("one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lone\n".to_owned());
            names.push(text("one.yaml"));
        }
        self.fields.set("resources", Yaml::List(names));
    }

    fn component(&mut self, random: &mut Random) {
        let name = format!("{}-part", self.folder);
        let mut part = Folder {
            tree: &mut *self.tree,
            folder: name.clone(),
            known: self.known.clone(),
            fields: map([]),
        };
        part.fields.set("apiVersion", text("kustomize.config.k8s.io/v1alpha1"));
        part.fields.set("kind", text("Component"));
        part.steps(random);
        if part.fields
            == map([("apiVersion", text("kustomize.config.k8s.io/v1alpha1")), ("kind", text("Component"))])
        {
            part.fields.set("commonAnnotations", map([("part", text("yes"))]));
        }
        part.write(random);
        self.fields.set("components", list([text(format!("../{name}"))]));
    }

    /// What the kustomization does to its objects.
    fn steps(&mut self, random: &mut Random) {
        type Step = fn(&mut Folder<'_>, &mut Random);
        let steps: [(usize, Step); 20] = [
            (25, |folder, random| folder.fields.set("namespace", text(*random.pick(&NAMESPACES[1..])))),
            (25, |folder, random| folder.fields.set("namePrefix", text(*random.pick(&["p-", "a-", "web-"])))),
            (20, |folder, random| folder.fields.set("nameSuffix", text(*random.pick(&["-s", "-z"])))),
            (15, |folder, _| {
                folder.fields.set("commonLabels", map([("team", text("blue")), ("app", text("common"))]))
            }),
            (20, |folder, random| folder.labels(random)),
            (15, |folder, random| {
                folder.fields.set("commonAnnotations", map([("note", text(*random.pick(&["a", "1"])))]))
            }),
            (20, |folder, random| folder.images(random)),
            (15, |folder, random| folder.replicas(random)),
            (45, |folder, random| folder.patches(random)),
            (15, |folder, random| folder.legacy_strategic(random)),
            (15, |folder, random| folder.legacy_json(random)),
            (30, |folder, random| folder.config_maps(random)),
            (20, |folder, random| folder.secrets(random)),
            (10, |folder, random| {
                let mut options = map([("labels", map([("made", text("yes"))]))]);
                if random.percent(50) {
                    options.set("disableNameSuffixHash", raw("true"));
                }
                if random.percent(30) {
                    options.set("immutable", raw("true"));
                }
                folder.fields.set("generatorOptions", options);
            }),
            (35, |folder, random| folder.replacements(random)),
            (12, |folder, random| folder.configurations(random)),
            (12, |folder, random| folder.transformers(random)),
            (8, |folder, random| {
                folder.fields.set("sortOptions", map([("order", text(*random.pick(&["fifo", "legacy"])))]))
            }),
            (8, |folder, random| {
                let all = ["originAnnotations", "transformerAnnotations", "managedByLabel"];
                let some = list([text(*random.pick(&all)), text(*random.pick(&all))]);
                folder.fields.set("buildMetadata", some);
            }),
            (6, |folder, random| folder.openapi(random)),
        ];
        for (chance, step) in steps {
            if random.percent(chance) {
                step(self, random);
            }
        }
    }

    fn labels(&mut self, random: &mut Random) {
        let mut entry = map([("pairs", map([("extra", text("on")), ("zone", text("a"))]))]);
        match random.below(4) {
            0 => entry.set("includeSelectors", raw("true")),
            1 => entry.set("includeTemplates", raw("true")),
            2 => {
                let field = map([
                    ("kind", text("Widget")),
                    ("path", text("spec/deep/labels")),
                    ("create", raw("true")),
                ]);
                entry.set("fields", list([field]));
            }
            _ => {}
        }
        self.fields.set("labels", list([entry]));
    }

    fn images(&mut self, random: &mut Random) {
        let names = ["nginx", "redis", "acme.io:5000/tool", "acme.io/web.app", "acme.io/web-app", "tool"];
        let mut image = map([("name", text(*random.pick(&names)))]);
        for (key, value) in
            [("newName", "mirror.io/x"), ("newTag", "v9"), ("digest", "sha256:123"), ("tagSuffix", "-fips")]
        {
            if random.percent(40) {
                image.set(key, text(value));
            }
        }
        let _ = IMAGES;
        self.fields.set("images", list([image]));
    }

    fn replicas(&mut self, random: &mut Random) {
        let scalable = |object: &&Object| ["Deployment", "StatefulSet"].contains(&object.kind.as_str());
        let known: Vec<String> =
            self.known.iter().filter(scalable).map(|object| object.name.clone()).collect();
        if known.is_empty() {
            return;
        }
        let entry = map([("name", text(random.pick(&known))), ("count", raw(random.below(9).to_string()))]);
        self.fields.set("replicas", list([entry]));
    }

    fn target(&self, random: &mut Random) -> Yaml {
        let object = random.pick(&self.known);
        let mut target = map([("kind", text(&object.kind))]);
        match random.below(5) {
            0 => target.set("name", text(&object.name)),
            1 => target.set("name", text(*random.pick(&[".*", "w.*", "web|api", "nothing"]))),
            2 => target.set(
                "labelSelector",
                text(*random.pick(&["app=web", "app", "!tier", "app in (web, api)", "tier!=1"])),
            ),
            3 => target.set("namespace", text(*random.pick(&NAMESPACES[1..]))),
            _ => target.set("annotationSelector", text("app")),
        }
        if random.percent(20) {
            target.set("version", text(*random.pick(&["v1", "v1beta1", "v.*"])));
        }
        target
    }

    /// A strategic merge patch of an object.
    fn strategic(&self, random: &mut Random, of: &Object) -> Yaml {
        let mut metadata = map([("name", text(&of.name))]);
        if !of.namespace.is_empty() {
            metadata.set("namespace", text(&of.namespace));
        }
        if random.percent(30) {
            let mut marks = marks(random);
            if random.percent(30) {
                marks.set("app", raw("null"));
            }
            let key = *random.pick(&["labels", "annotations"]);
            metadata.set(key, marks);
        }
        if random.percent(10) {
            metadata.set("finalizers", list([text("acme.io/new"), text("acme.io/hold")]));
        }
        let mut patch =
            map([("apiVersion", text(&of.api_version)), ("kind", text(&of.kind)), ("metadata", metadata)]);
        if random.percent(4) {
            patch.set("$patch", text(*random.pick(&["delete", "replace", "merge"])));
            return patch;
        }
        match of.kind.as_str() {
            "ConfigMap" => patch.set("data", map([("key", scalar_text(random)), ("gone", raw("null"))])),
            "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => {
                let pod = self.pod_patch(random);
                patch.set("spec", map([("template", map([("spec", pod)]))]));
            }
            "Pod" => patch.set("spec", self.pod_patch(random)),
            "Service" => patch.set("spec", map([("ports", ports(random, "port"))])),
            "Widget" | "Cluster" | "MachineDeployment" | "KubeadmConfigTemplate" => {
                let mut spec = map([
                    ("mode", scalar(random)),
                    ("new", map([("x", scalar(random)), ("gone", raw("null"))])),
                ]);
                match random.below(5) {
                    0 => spec.set("plain", list([text("z")])),
                    1 => spec.set(
                        "deep",
                        map([
                            ("$patch", text(*random.pick(&["replace", "delete", "merge"]))),
                            ("only", raw("1")),
                        ]),
                    ),
                    2 => spec.set(
                        "deep",
                        map([("list", list([map([("name", text("b")), ("value", raw("2"))])]))]),
                    ),
                    3 => spec.set("deep", raw("null")),
                    _ => {}
                }
                patch.set("spec", spec);
            }
            _ => {}
        }
        patch
    }

    fn pod_patch(&self, random: &mut Random) -> Yaml {
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

    fn operations(&self, random: &mut Random) -> Yaml {
        let mut all = vec![map([
            ("op", text("add")),
            ("path", text("/metadata/annotations")),
            ("value", map([("by", text("json"))])),
        ])];
        if random.percent(50) {
            all.push(map([
                ("op", text("add")),
                ("path", text("/metadata/annotations/acme.io~1x")),
                ("value", text("1")),
            ]));
        }
        if random.percent(30) {
            all.push(map([
                ("op", text("replace")),
                ("path", text("/metadata/name")),
                ("value", text("json-name")),
            ]));
        }
        if random.percent(20) {
            all.push(map([
                ("op", text("add")),
                ("path", text("/extra")),
                ("value", list([scalar(random), raw("on")])),
            ]));
            all.push(map([("op", text("add")), ("path", text("/extra/-")), ("value", text("end"))]));
            all.push(map([("op", text("copy")), ("from", text("/extra/0")), ("path", text("/extra/1"))]));
        }
        list(all)
    }

    fn patches(&mut self, random: &mut Random) {
        if self.known.is_empty() {
            return;
        }
        let mut entries = Vec::new();
        for index in 0..=random.below(2) {
            let of = random.pick(&self.known).clone();
            let mut entry = map([]);
            let content = match random.below(3) {
                0 => self.strategic(random, &of),
                1 => {
                    entry.set("target", self.target(random));
                    self.strategic(random, &of)
                }
                _ => {
                    entry.set("target", self.target(random));
                    self.operations(random)
                }
            };
            let content = content.document(random);
            if random.percent(50) {
                let name = format!("patch-{index}.yaml");
                self.file(&name, content);
                entry.set("path", text(name));
            } else {
                entry.set("patch", text(content));
            }
            if random.percent(10) {
                // Labels that kustomize sets at several places of one object stay one label: where a kind
                // changes in between, a later one shows at places that it does not reach.
                let kind = (self.folder == "base").to_string();
                entry.set("options", map([("allowNameChange", raw("true")), ("allowKindChange", raw(kind))]));
            }
            entries.push(entry);
        }
        self.fields.set("patches", list(entries));
    }

    fn legacy_strategic(&mut self, random: &mut Random) {
        if self.known.is_empty() {
            return;
        }
        let of = random.pick(&self.known).clone();
        let content = self.strategic(random, &of).document(random);
        if random.percent(50) {
            self.fields.set("patchesStrategicMerge", list([text(content)]));
        } else {
            self.file("strategic.yaml", content);
            self.fields.set("patchesStrategicMerge", list([text("strategic.yaml")]));
        }
    }

    fn legacy_json(&mut self, random: &mut Random) {
        if self.known.is_empty() {
            return;
        }
        let of = random.pick(&self.known).clone();
        let target = map([("kind", text(&of.kind)), ("name", text(&of.name))]);
        let operations = self.operations(random).document(random);
        self.fields.set("patchesJson6902", list([map([("target", target), ("patch", text(operations))])]));
    }

    fn sources(&mut self, random: &mut Random, entry: &mut Yaml) {
        let literals = ["a=1", "b='two words'", "c=\"x\"", "d=<&>", "e="];
        entry.set("literals", list([text(*random.pick(&literals)), text("z=last")]));
        if random.percent(40) {
            self.file("some.env", "# comment\nFOO=bar\n\nBAR = x=y \nEMPTY\n".to_owned());
            entry.set("envs", list([text("some.env")]));
        }
        if random.percent(40) {
            self.tree.files.insert(format!("{}/raw.bin", self.folder), vec![0xff, 0, 1, 2, 0x80]);
            self.file("file.txt", "long text, ".repeat(12));
            entry.set("files", list([text("file.txt"), text("key=raw.bin")]));
        }
    }

    fn config_maps(&mut self, random: &mut Random) {
        let mut entry = map([("name", text(name(random)))]);
        if random.percent(25) {
            entry.set("namespace", text(*random.pick(&NAMESPACES[1..])));
        }
        let there = self.known.iter().find(|object| object.kind == "ConfigMap").cloned();
        if let Some(there) = there.filter(|_| random.percent(50)) {
            entry.set("name", text(&there.name));
            if !there.namespace.is_empty() {
                entry.set("namespace", text(&there.namespace));
            }
            entry.set("behavior", text(*random.pick(&["merge", "replace"])));
        } else if self.known.iter().any(|object| object.kind == "ConfigMap") && !random.percent(5) {
            entry.set("name", text(format!("made-{}", self.folder)));
        }
        self.sources(random, &mut entry);
        if random.percent(30) {
            let mut options = map([("annotations", map([("made", text("here"))]))]);
            if random.percent(40) {
                options.set("disableNameSuffixHash", raw("true"));
            }
            entry.set("options", options);
        }
        let name = entry.get("name").cloned();
        if let (Some(Yaml::Text(name)), None) = (name, entry.get("behavior")) {
            let namespace = match entry.get("namespace") {
                Some(Yaml::Text(namespace)) => namespace.clone(),
                _ => String::new(),
            };
            let yaml = map([]);
            let (api_version, kind) = ("v1".to_owned(), "ConfigMap".to_owned());
            self.known.push(Object { api_version, kind, name, namespace, yaml });
        }
        self.fields.set("configMapGenerator", list([entry]));
    }

    fn secrets(&mut self, random: &mut Random) {
        let mut entry = map([("name", text(format!("{}-{}", random.pick(&["web", "token"]), self.folder)))]);
        if random.percent(30) {
            entry.set("type", text("acme.io/token"));
        }
        self.sources(random, &mut entry);
        self.fields.set("secretGenerator", list([entry]));
    }

    fn replacements(&mut self, random: &mut Random) {
        if self.known.is_empty() {
            return;
        }
        let custom: Vec<Object> =
            self.known.iter().filter(|object| has_custom_body(&object.kind)).cloned().collect();
        let (any_source, any_target) = (random.percent(40), random.percent(10));
        let from = |any: bool| if custom.is_empty() || any { &self.known } else { &custom };
        let of = random.pick(from(any_source)).clone();
        let to = random.pick(from(any_target)).clone();
        let mut source = map([("kind", text(&of.kind)), ("name", text(&of.name))]);
        if !of.namespace.is_empty() {
            source.set("namespace", text(&of.namespace));
        }
        let mut parts = true;
        if random.percent(70) {
            let fields = match of.kind.as_str() {
                "ConfigMap" => vec!["metadata.name", "data.key"],
                kind if has_custom_body(kind) => vec![
                    "spec.version",
                    "spec.version",
                    "spec.count",
                    "spec.mode",
                    "spec.deep.list.0.name",
                    "spec.deep.list.[name=b].name",
                    "spec.plain",
                    "spec.deep",
                    "spec.gone",
                ],
                _ => vec!["metadata.name", "kind"],
            };
            let field = *random.pick(&fields);
            parts = field == "spec.version";
            source.set("fieldPath", text(field));
        }
        if random.percent(25) {
            let index = if parts { random.below(3) } else { 0 };
            let delimiter = *random.pick(&[".", "-", ""]);
            source.set("options", map([("delimiter", text(delimiter)), ("index", raw(index.to_string()))]));
        }
        let there = [
            "spec.version",
            "spec.mode",
            "spec.mode",
            "spec.plain.0",
            "spec.plain.*",
            "spec.json.c",
            "spec.deep.list.[name=a].value",
            "spec.deep.list.*.name",
            "spec.deep.list.[name=b].name",
            "spec.version",
        ];
        let made = [
            "metadata.annotations.[acme.io/set]",
            "spec.made.up",
            "spec.parts.[name=q].value",
            "spec.plain.2",
            "metadata.name",
        ];
        let risky = ["spec.count", "spec.json.a.b", "metadata.annotations.app", "spec.gone.0", "spec.made.*"];
        let creates = random.percent(50);
        let mut paths = Vec::new();
        for _ in 0..=random.below(2) {
            paths.push(text(match random.below(12) {
                0 => *random.pick(&risky),
                1..4 if creates => *random.pick(&made),
                _ => *random.pick(&there),
            }));
        }
        let mut target = map([("fieldPaths", list(paths))]);
        let mut select = map([("kind", text(&to.kind))]);
        if random.percent(50) {
            select.set("name", text(&to.name));
        }
        target.set("select", select);
        let mut options = map([("create", raw(creates.to_string()))]);
        if random.percent(25) {
            options.set("delimiter", text(*random.pick(&[".", "-"])));
            options.set("index", raw(*random.pick(&["-1", "0", "1", "9"])));
        }
        target.set("options", options);
        if random.percent(20) {
            target.set("reject", list([map([("name", text(*random.pick(&NAMES)))])]));
        }
        let mut entry = map([("targets", list([target]))]);
        if random.percent(15) {
            entry.set("sourceValue", text(*random.pick(&["12", "fixed"])));
        } else {
            entry.set("source", source);
        }
        if random.percent(25) {
            let content = list([entry]).document(random);
            self.file("replacement.yaml", content);
            self.fields.set("replacements", list([map([("path", text("replacement.yaml"))])]));
        } else {
            self.fields.set("replacements", list([entry]));
        }
    }

    fn configurations(&mut self, random: &mut Random) {
        let mut config = map([]);
        if random.percent(60) {
            let fields = list([map([("kind", text("Widget")), ("path", text("spec/deep/ref/name"))])]);
            config.set(
                "nameReference",
                list([map([("kind", text("Secret")), ("version", text("v1")), ("fieldSpecs", fields)])]),
            );
        }
        for (key, path) in [
            ("namePrefix", "spec/mode"),
            ("commonLabels", "spec/labels"),
            ("commonAnnotations", "spec/notes"),
            ("namespace", "spec/space"),
            ("images", "spec/deep/image"),
            ("replicas", "spec/count"),
        ] {
            if random.percent(30) {
                let mut field =
                    map([("path", text(path)), ("kind", text(*random.pick(&["Widget", "Cluster"])))]);
                if random.percent(50) {
                    field.set("create", raw("true"));
                }
                config.set(key, list([field]));
            }
        }
        if config != map([]) {
            let content = config.document(random);
            self.file("config.yaml", content);
            self.fields.set("configurations", list([text("config.yaml")]));
        }
    }

    fn transformers(&mut self, random: &mut Random) {
        let fields = |path: &str, create: &str| list([map([("path", text(path)), ("create", raw(create))])]);
        let head = |kind: &str| {
            map([
                ("apiVersion", text("builtin")),
                ("kind", text(kind)),
                ("metadata", map([("name", text("step"))])),
            ])
        };
        let transformer = match random.below(5) {
            0 => {
                let mut step = head("PrefixTransformer");
                step.set("prefix", text("t-"));
                step.set("fieldSpecs", fields("metadata/name", "false"));
                step
            }
            1 => {
                let mut step = head("PrefixSuffixTransformer");
                step.set("prefix", text("https://"));
                step.set("fieldSpecs", fields("metadata/annotations/app", "false"));
                step
            }
            2 => {
                let mut step = head("LabelTransformer");
                step.set("labels", map([("step", text("label"))]));
                step.set("fieldSpecs", fields("metadata/labels", "true"));
                step
            }
            3 => {
                let mut step = head("NamespaceTransformer");
                step.set("metadata", map([("name", text("step")), ("namespace", text("stepped"))]));
                step.set("unsetOnly", raw(*random.pick(&["true", "false"])));
                step.set(
                    "setRoleBindingSubjects",
                    text(*random.pick(&["allServiceAccounts", "none", "defaultOnly"])),
                );
                step
            }
            _ => {
                let mut step = head("AnnotationsTransformer");
                step.set("annotations", map([("step", text("note"))]));
                step.set("fieldSpecs", fields("metadata/annotations", "true"));
                step
            }
        };
        let content = transformer.document(random);
        if random.percent(50) {
            self.fields.set("transformers", list([text(content)]));
        } else {
            self.file("step.yaml", content);
            self.fields.set("transformers", list([text("step.yaml")]));
        }
    }

    fn openapi(&mut self, random: &mut Random) {
        let schema = "{\"definitions\": {\"io.acme.Widget\": {\"properties\": {\"spec\": {\"properties\": {\"deep\": {\"properties\": {\"list\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}, \"x-kubernetes-patch-merge-key\": \"name\", \"x-kubernetes-patch-strategy\": \"merge\"}}}}}}, \"x-kubernetes-group-version-kind\": [{\"group\": \"acme.io\", \"version\": \"v1\", \"kind\": \"Widget\"}]}}}";
        if self.folder == "top" || random.percent(20) {
            self.file("schema.json", schema.to_owned());
            self.fields.set("openapi", map([("path", text("schema.json"))]));
        }
    }
}

fn has_custom_body(kind: &str) -> bool {
    ["Widget", "Cluster", "MachineDeployment", "KubeadmConfigTemplate"].contains(&kind)
}

fn scalar_text(random: &mut Random) -> Yaml {
    text(*random.pick(&["patched", "12", "a b"]))
}
