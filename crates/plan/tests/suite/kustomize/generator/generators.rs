//! Config maps and secrets that are made of literals and files.

use super::super::objects::{NAMES, NAMESPACES, Object, Shape};
use super::super::write::{Yaml, list, map, raw, text};
use super::folder::Folder;
use super::{Namespaces, named};
use capstan_test_support::random::Random;

impl Folder<'_> {
    pub(super) fn generate(&mut self, random: &mut Random) {
        let names_plainly = random.percent(10) && {
            let mut options = map([("labels", map([("made", text("yes"))]))]);
            let plain = random.percent(50);
            if plain {
                options.set("disableNameSuffixHash", raw("true"));
            }
            if random.percent(30) {
                options.set("immutable", raw("true"));
            }
            self.set("generatorOptions", options);
            plain
        };
        if random.percent(35) {
            let mut entries = vec![self.config_map(random, names_plainly)];
            if random.percent(20) {
                entries.push(self.new_object(random, "ConfigMap", names_plainly));
            }
            self.set("configMapGenerator", Yaml::List(entries));
        }
        if random.percent(25) {
            let mut entry = self.new_object(random, "Secret", names_plainly);
            if random.percent(30) {
                entry.set("type", text("acme.io/token"));
            }
            self.set("secretGenerator", list([entry]));
        }
    }

    /// A new config map, or more for one that is there.
    fn config_map(&mut self, random: &mut Random, names_plainly: bool) -> Yaml {
        let there: Vec<Object> =
            self.known.iter().filter(|object| object.kind == "ConfigMap").cloned().collect();
        if there.is_empty() || random.percent(50) {
            return self.new_object(random, "ConfigMap", names_plainly);
        }
        let object = random.pick(&there);
        let mut entry = map([("behavior", text(*random.pick(&["merge", "replace"])))]);
        for (field, value) in named(object).into_iter().skip(1) {
            entry.set(field, value);
        }
        self.sources(random, &mut entry);
        self.tree.uses("configMapGenerator: merge or replace");
        let same = (object.name.clone(), object.namespace.clone());
        self.shake(|other| {
            other.kind == "ConfigMap" && (&other.name, &other.namespace) == (&same.0, &same.1)
        });
        entry
    }

    fn new_object(&mut self, random: &mut Random, kind: &str, names_plainly: bool) -> Yaml {
        let mut object = Object {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            name: (*random.pick(&NAMES)).to_owned(),
            namespace: String::new(),
            yaml: map([]),
            shape: Shape::Changed,
        };
        if random.percent(25) {
            object.namespace = (*random.pick(&NAMESPACES[1..])).to_owned();
        }
        // A name that workloads refer to, where it is free.
        if self.tree.namespaces == Namespaces::Moved && self.tree.takes(&object) {
            self.tree.uses("generated names: referred to");
        } else {
            object.name = self.tree.new_name("made");
        }
        let mut entry = map([]);
        for (field, value) in named(&object).into_iter().skip(1) {
            entry.set(field, value);
        }
        self.sources(random, &mut entry);
        let mut is_hashed = !names_plainly;
        if random.percent(30) {
            let mut options = map([("annotations", map([("made", text("here"))]))]);
            if random.percent(40) {
                options.set("disableNameSuffixHash", raw("true"));
                is_hashed = false;
            }
            entry.set("options", options);
        }
        if is_hashed {
            self.tree.uses("generated names: hash");
        }
        self.known.push(object);
        entry
    }

    fn sources(&mut self, random: &mut Random, entry: &mut Yaml) {
        let literals = ["a=1", "b='two words'", "c=\"x\"", "d=<&>", "e="];
        entry.set("literals", list([text(*random.pick(&literals)), text("z=last")]));
        if random.percent(40) {
            self.file("some.env", "# comment\nFOO=bar\n\nBAR = x=y \nEMPTY\n");
            entry.set("envs", list([text("some.env")]));
        }
        if random.percent(40) {
            self.file("raw.bin", [0xff, 0, 1, 2, 0x80]);
            self.file("file.txt", "long text, ".repeat(12));
            entry.set("files", list([text("file.txt"), text("key=raw.bin")]));
        }
    }
}
