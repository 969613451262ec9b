//! Variables, from fields that exist. Objects contain their names whether they are defined or not.

use super::super::objects::VARIABLES;
use super::super::write::{list, map, text};
use super::folder::Folder;
use super::replacements::readable;
use capstan_test_support::random::Random;

impl Folder<'_> {
    pub(super) fn vars(&mut self, random: &mut Random) {
        let mut entries = Vec::new();
        for _ in 0..=random.below(2) {
            let name = *random.pick(&VARIABLES);
            // A name that is defined twice fails, now and then.
            if self.known.is_empty() || (!self.tree.variables.insert(name) && random.below(50) != 0) {
                continue;
            }
            let of = random.pick(&self.known).clone();
            let mut object = map([("name", text(&of.name)), ("kind", text(&of.kind))]);
            match of.api_version.split_once('/') {
                Some((group, version)) if random.percent(30) => {
                    object.set("group", text(group));
                    object.set("version", text(version));
                }
                _ => object.set("apiVersion", text(&of.api_version)),
            }
            let twin = |other: &&_| -> bool {
                let other: &super::Object = other;
                other.kind == of.kind && other.name == of.name
            };
            if !of.namespace.is_empty() && (self.known.iter().filter(twin).count() > 1 || random.percent(30))
            {
                object.set("namespace", text(&of.namespace));
            }
            let mut entry = map([("name", text(name)), ("objref", object)]);
            let (path, _) = random.pick(&readable(&of)).clone();
            if path != "metadata.name" || random.percent(50) {
                entry.set("fieldref", map([("fieldPath", text(path))]));
            }
            entries.push(entry);
        }
        if !entries.is_empty() {
            self.set("vars", list(entries));
        }
    }
}
