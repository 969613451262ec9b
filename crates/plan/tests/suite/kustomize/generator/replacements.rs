//! Replacements, from fields that exist to fields that exist, or that are to be made.

use super::super::objects::{NAMES, Object, Shape, has_custom_body};
use super::super::write::{Yaml, list, map, raw, text};
use super::folder::Folder;
use super::named;
use capstan_test_support::random::Random;

/// A field: its path and its value.
pub(super) type Found = (String, Yaml);

impl Folder<'_> {
    pub(super) fn replacements(&mut self, random: &mut Random) {
        let mut entries = Vec::new();
        for _ in 0..=random.below(2) {
            if self.known.is_empty() {
                return;
            }
            let (source, value) = self.source(random);
            let mut targets = Vec::new();
            for _ in 0..=random.below(2) {
                targets.push(self.target_of_replacement(random, &value));
            }
            let mut entry = map([("targets", list(targets))]);
            match source {
                Some(source) => entry.set("source", source),
                None => entry.set("sourceValue", value),
            }
            entries.push(entry);
        }
        self.tree.uses("replacements");
        if random.percent(25) {
            self.tree.uses("replacements: in a file");
            let mut entries = list(entries);
            if random.percent(15) {
                self.tree.uses("keys in another case");
                entries = entries.in_other_case(random);
            }
            let content = entries.document(random);
            self.file("replacement.yaml", content);
            self.fields.set("replacements", list([map([("path", text("replacement.yaml"))])]));
        } else {
            self.fields.set("replacements", list(entries));
        }
    }

    /// Where a value comes from, and the value as it was written.
    fn source(&mut self, random: &mut Random) -> (Option<Yaml>, Yaml) {
        if random.percent(15) {
            return (None, text(*random.pick(&["12", "fixed"])));
        }
        let of = random.pick(&self.known).clone();
        let mut source = map([]);
        named(&of).into_iter().for_each(|(field, value)| source.set(field, value));
        let mut fields = readable(&of);
        if has_custom_body(&of.kind) && of.shape == Shape::Written && random.percent(30) {
            // Whole lists and mappings.
            fields.extend(["spec.plain", "spec.deep"].map(|path| (path.to_owned(), map([]))));
        }
        let (path, value) = random.pick(&fields).clone();
        if path != "metadata.name" || random.percent(50) {
            source.set("fieldPath", text(&path));
        }
        if let Yaml::Text(whole) = &value
            && random.percent(40)
        {
            let delimiter = *random.pick(&[".", "-", "/"]);
            let is_sure = of.shape == Shape::Written && path.starts_with("spec.");
            let parts = if is_sure { whole.split(delimiter).count() } else { 1 };
            let index = raw(random.below(parts).to_string());
            self.tree.uses("replacements: parts of a text");
            source.set("options", map([("delimiter", text(delimiter)), ("index", index)]));
        }
        (Some(source), value)
    }

    fn target_of_replacement(&mut self, random: &mut Random, value: &Yaml) -> Yaml {
        let of = random.pick(&self.known).clone();
        let all: Vec<&Object> = self.known.iter().filter(|object| object.kind == of.kind).collect();
        let is_for_all = random.percent(35);
        let mut select = map([("kind", text(&of.kind))]);
        if !is_for_all {
            named(&of).into_iter().for_each(|(field, value)| select.set(field, value));
        }
        let mut fields: Vec<String> = writable(&of, value);
        if is_for_all {
            fields.retain(|path| all.iter().all(|object| writable(object, value).contains(path)));
        }
        let creates = fields.is_empty() || random.percent(35);
        if creates {
            self.tree.uses("replacements: create");
            fields.push("metadata.annotations.[acme.io/set]".to_owned());
            if has_custom_body(&of.kind) {
                fields.push("spec.made.up".to_owned());
            }
            if has_custom_body(&of.kind) && all.iter().all(|object| object.shape == Shape::Written) {
                fields.extend(["spec.plain.2", "spec.deep.list.[name=q].value"].map(str::to_owned));
            }
        }
        let mut paths = vec![random.pick(&fields).clone()];
        if random.percent(30) {
            paths.push(random.pick(&fields).clone());
        }
        if random.percent(2) {
            let risky = ["spec.count", "metadata.annotations.app", "spec.gone.0", "spec.made.*"];
            paths.push((*random.pick(&risky)).to_owned());
        }
        let mut options = map([("create", raw(creates.to_string()))]);
        let is_text = |path: &String| path.starts_with("spec.version") || path.ends_with("image");
        if paths.iter().all(is_text) && matches!(value, Yaml::Text(_)) && random.percent(50) {
            options.set("delimiter", text(*random.pick(&[".", "-"])));
            options.set("index", raw(*random.pick(&["-1", "0", "1", "9"])));
            self.tree.uses("replacements: parts of a text");
        }
        let mut target = map([("select", select), ("fieldPaths", list(paths.iter().map(text)))]);
        target.set("options", options);
        if random.percent(15) {
            target.set("reject", list([map([("name", text(*random.pick(&NAMES)))])]));
        }
        let kind = of.kind;
        self.shake(|object| object.kind == kind);
        target
    }
}

/// The fields that a source may name.
pub(super) fn readable(object: &Object) -> Vec<Found> {
    let mut found = vec![("metadata.name".to_owned(), text(&object.name))];
    match object.shape {
        Shape::Changed if has_custom_body(&object.kind) => {
            found.push(("spec.version".to_owned(), text("v1")));
        }
        Shape::Changed => found.push(("kind".to_owned(), text(&object.kind))),
        Shape::Written => collect(&object.yaml, "", &mut found),
    }
    found.retain(|(_, value)| !matches!(value, Yaml::Raw(raw) if raw == "null"));
    found
}

/// The fields that take such a value.
fn writable(object: &Object, value: &Yaml) -> Vec<String> {
    let mut found = Vec::new();
    match object.shape {
        Shape::Changed if has_custom_body(&object.kind) => {
            found.push(("spec.version".to_owned(), text("v1")));
        }
        Shape::Changed => {}
        Shape::Written => {
            collect(&object.yaml, "", &mut found);
            if has_custom_body(&object.kind) {
                let texts = ["spec.json.c", "spec.json.a.b", "spec.plain.*", "spec.deep.list.*.name"];
                found.extend(texts.map(|path| (path.to_owned(), text("text"))));
            }
        }
    }
    let is_number = |yaml: &Yaml| matches!(yaml, Yaml::Raw(raw) if raw.parse::<u32>().is_ok());
    found.retain(|(path, old)| {
        let fits = matches!(old, Yaml::Text(_)) || (is_number(old) && is_number(value));
        fits && path.starts_with("spec.")
    });
    found.into_iter().map(|(path, _)| path).collect()
}

/// Every scalar below `spec` and `data`, with its path.
fn collect(yaml: &Yaml, path: &str, found: &mut Vec<Found>) {
    match yaml {
        Yaml::Map(entries) => {
            for (key, value) in entries {
                let is_top = path.is_empty();
                if is_top && !["spec", "data"].contains(&key.as_str()) {
                    continue;
                }
                let key = if key.contains('.') { format!("[{key}]") } else { key.clone() };
                collect(value, &if is_top { key } else { format!("{path}.{key}") }, found);
            }
        }
        Yaml::List(items) => {
            for (at, item) in items.iter().enumerate() {
                let step = match item.get("name") {
                    Some(Yaml::Text(name)) => format!("[name={name}]"),
                    _ => at.to_string(),
                };
                collect(item, &format!("{path}.{step}"), found);
            }
        }
        Yaml::Raw(_) | Yaml::Text(_) => found.push((path.to_owned(), yaml.clone())),
    }
}
