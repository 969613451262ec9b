//! What a kustomization does to all its objects: names, namespaces, labels, images, counts.

use super::super::objects::{NAMESPACES, Object};
use super::super::write::{Yaml, list, map, raw, text};
use super::Namespaces;
use super::folder::Folder;
use capstan_test_support::random::Random;

impl Folder<'_> {
    /// Steps in kustomize's order, each with the percentage of kustomizations that get it.
    pub(super) fn change(&mut self, random: &mut Random) {
        type Step = fn(&mut Folder<'_>, &mut Random);
        let steps: [(usize, Step); 18] = [
            (6, |folder, random| folder.openapi(random)),
            (12, |folder, random| folder.configurations(random)),
            (15, |folder, random| folder.legacy_strategic(random)),
            (45, |folder, random| folder.patches(random)),
            (25, |folder, random| folder.namespace(random)),
            (25, |folder, random| folder.set("namePrefix", text(*random.pick(&["p-", "a-", "web-"])))),
            (20, |folder, random| folder.set("nameSuffix", text(*random.pick(&["-s", "-z"])))),
            (20, |folder, random| folder.labels(random)),
            (18, |folder, random| {
                let app = *random.pick(&["common", "web"]);
                folder.set("commonLabels", map([("team", text("blue")), ("app", text(app))]));
            }),
            (15, |folder, random| {
                let notes = map([("note", text(*random.pick(&["a", "1"]))), ("app", text("noted"))]);
                folder.set("commonAnnotations", notes);
            }),
            (15, |folder, random| folder.legacy_json(random)),
            (15, |folder, random| folder.replicas(random)),
            (20, |folder, random| folder.images(random)),
            (40, |folder, random| folder.replacements(random)),
            (12, |folder, random| folder.transformers(random)),
            (25, |folder, random| folder.vars(random)),
            (8, |folder, random| {
                let order = *random.pick(&["fifo", "legacy"]);
                folder.set("sortOptions", map([("order", text(order))]));
            }),
            (8, |folder, random| {
                let all = ["originAnnotations", "transformerAnnotations", "managedByLabel"];
                let some = list([text(*random.pick(&all)), text(*random.pick(&all))]);
                folder.set("buildMetadata", some);
            }),
        ];
        for (chance, step) in steps {
            if random.percent(chance) {
                step(self, random);
            }
        }
    }

    fn namespace(&mut self, random: &mut Random) {
        if self.tree.namespaces == Namespaces::Moved {
            self.set("namespace", text(*random.pick(&NAMESPACES[1..])));
        }
    }

    fn labels(&mut self, random: &mut Random) {
        let mut entry =
            map([("pairs", map([("extra", text("on")), (*random.pick(&["zone", "app"]), text("a"))]))]);
        match random.below(4) {
            0 => {
                self.tree.uses("labels: selectors");
                entry.set("includeSelectors", raw("true"));
            }
            1 => {
                self.tree.uses("labels: templates");
                entry.set("includeTemplates", raw("true"));
            }
            2 => {
                self.tree.uses("labels: fields");
                let field = map([
                    ("kind", text("Widget")),
                    ("path", text("spec/deep/labels")),
                    ("create", raw("true")),
                ]);
                entry.set("fields", list([field]));
            }
            _ => {}
        }
        self.set("labels", list([entry]));
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
        self.set("images", list([image]));
    }

    fn replicas(&mut self, random: &mut Random) {
        let scalable = |object: &&Object| ["Deployment", "StatefulSet"].contains(&object.kind.as_str());
        let known: Vec<String> =
            self.known.iter().filter(scalable).map(|object| object.name.clone()).collect();
        if known.is_empty() {
            return;
        }
        let entry = map([("name", text(random.pick(&known))), ("count", raw(random.below(9).to_string()))]);
        self.set("replicas", list([entry]));
    }

    /// A field, maybe written as a file of its own.
    pub(super) fn field_or_file(
        &mut self,
        random: &mut Random,
        name: &str,
        content: &Yaml,
    ) -> (&'static str, Yaml) {
        let content = content.document(random);
        if random.percent(50) {
            self.tree.uses("patches: inline");
            return ("patch", text(content));
        }
        self.tree.uses("patches: in a file");
        self.file(name, content);
        ("path", text(name))
    }
}
