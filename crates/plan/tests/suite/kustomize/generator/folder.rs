//! One kustomization: its files, what it includes, and the objects that it knows.

use super::super::objects::{Object, Shape, object};
use super::super::write::{Yaml, list, map, raw, text};
use super::Tree;
use capstan_test_support::random::Random;

/// A kustomization being made.
pub(super) struct Folder<'t> {
    pub(super) tree: &'t mut Tree,
    pub(super) name: String,
    /// The objects that its next step meets.
    pub(super) known: Vec<Object>,
    pub(super) fields: Yaml,
}

impl<'t> Folder<'t> {
    pub(super) fn new(tree: &'t mut Tree, name: &str, known: Vec<Object>) -> Self {
        Self { tree, name: name.to_owned(), known, fields: map([]) }
    }

    pub(super) fn file(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        self.tree.files.insert(format!("{}/{name}", self.name), content.into());
    }

    /// Sets a field of the kustomization that is a feature.
    pub(super) fn set(&mut self, feature: &'static str, value: Yaml) {
        self.tree.uses(feature);
        self.fields.set(feature, value);
    }

    pub(super) fn write(mut self, random: &mut Random) -> Vec<Object> {
        if random.percent(15) {
            self.tree.uses("keys in another case");
            self.fields = self.fields.in_other_case(random);
        }
        let content = self.fields.document(random);
        let name =
            *random.pick(&["kustomization.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization"]);
        self.file(name, content);
        self.known
    }

    pub(super) fn resources(&mut self, random: &mut Random, below: &[&str]) {
        let mut names: Vec<Yaml> = Vec::new();
        let folders: Vec<Yaml> = below.iter().map(|folder| text(*folder)).collect();
        if !folders.is_empty() && random.percent(15) {
            self.set("bases", Yaml::List(folders));
        } else {
            names.extend(folders);
        }
        let count = if below.is_empty() { 3 + random.below(5) } else { random.below(3) };
        let objects: Vec<Object> = (0..count).filter_map(|_| self.object(random)).collect();
        for (at, few) in objects.chunks(4).enumerate() {
            let documents: Vec<String> = few.iter().map(|object| object.yaml.document(random)).collect();
            let name = format!("objects-{at}.yaml");
            self.file(&name, documents.join("---\n"));
            names.push(text(name));
        }
        self.known.extend(objects);
        if random.percent(10) {
            names.push(self.settings(random));
        }
        if random.percent(6) {
            names.push(self.listed(random));
        }
        if names.is_empty() {
            let name = self.tree.new_name("lone");
            self.file("one.yaml", format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"));
            names.push(text("one.yaml"));
        }
        self.fields.set("resources", Yaml::List(names));
    }

    /// An object whose identity nothing else has, almost always.
    fn object(&mut self, random: &mut Random) -> Option<Object> {
        let clashes = random.below(400) == 0;
        (0..8).map(|_| object(random)).find(|new| self.tree.takes(new) || clashes)
    }

    /// An object for tools, which kustomize does not print.
    fn settings(&mut self, random: &mut Random) -> Yaml {
        let local = map([("config.kubernetes.io/local-config", text("true"))]);
        let metadata = map([("name", text(self.tree.new_name("settings"))), ("annotations", local)]);
        let tool = map([
            ("apiVersion", text("acme.io/v1")),
            ("kind", text("Settings")),
            ("metadata", metadata),
            ("data", map([("image", text("tool:v9")), ("count", raw("7"))])),
        ]);
        let content = tool.document(random);
        self.file("settings.yaml", content);
        text("settings.yaml")
    }

    /// Objects in a `List`.
    fn listed(&mut self, random: &mut Random) -> Yaml {
        let objects: Vec<Object> = (0..2).filter_map(|_| self.object(random)).collect();
        let items = list(objects.iter().map(|object| object.yaml.clone()));
        let content = map([("apiVersion", text("v1")), ("kind", text("List")), ("items", items)]);
        self.known.extend(objects);
        self.tree.uses("resources: List");
        let content = content.document(random);
        self.file("listed.yaml", content);
        text("listed.yaml")
    }

    pub(super) fn component(&mut self, random: &mut Random) {
        let name = format!("{}-part", self.name);
        let mut part = Folder::new(&mut *self.tree, &name, std::mem::take(&mut self.known));
        part.fields.set("apiVersion", text("kustomize.config.k8s.io/v1alpha1"));
        part.fields.set("kind", text("Component"));
        part.fields.set("commonAnnotations", map([("part", text("yes"))]));
        part.generate(random);
        part.change(random);
        self.known = part.write(random);
        self.set("components", list([text(format!("../{name}"))]));
    }

    /// Objects of a kind are no longer as they were written.
    pub(super) fn shake(&mut self, is_meant: impl Fn(&Object) -> bool) {
        for object in self.known.iter_mut().filter(|object| is_meant(object)) {
            object.shape = Shape::Changed;
        }
    }
}
