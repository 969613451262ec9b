//! Who reads a text in the end, and so what `${V}` may mean in it ([U3]).
//!
//! A field that Kubernetes or a controller reads holds a value: `${V}` there is a variable of the manifest. A text that
//! a machine reads while it boots, or that a shell runs there, has variables of its own in the same spelling. One table
//! says which is which, by place. The variables that afterburn fills in at boot are known by their names in any place,
//! for kubeadm's arguments hold them too (`provider-id: aws:///${COREOS_EC2_AVAILABILITY_ZONE}/…`).
//!
//! [U3]: crate::substitution#u3

use capstan_model::object::Step;
use capstan_yaml::{Entry, Node, NodeKind};

/// Who reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextReader {
    /// Kubernetes or a controller.
    Controller,
    /// Other software, whose settings they are: what `${V}` means there is unknown.
    Other,
    /// The machine, at boot: a shell, Ignition or cloud-init, which have variables of their own in the same spelling.
    Machine,
}

/// One row: such texts are read so below this key, in a mapping at that one (any where it is empty), in an object of
/// these kinds (any where there are none, and where the kind is not known).
struct ReaderRow(&'static [&'static str], &'static str, &'static str, RowTopic, TextReader);

/// Of what a row speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowTopic {
    /// Of every text below.
    Below,
    /// Of the field where it is a text itself: the same name is a reference elsewhere.
    Text,
}

const ANY: &[&str] = &[];
const MAPS: &[&str] = &["ConfigMap", "Secret"];

/// The table; the first row that fits decides. What a row says `Machine` of is not asked again below.
const TABLE: &[ReaderRow] = &[
    ReaderRow(ANY, "files", "content", RowTopic::Below, TextReader::Machine),
    ReaderRow(ANY, "containerLinuxConfig", "additionalConfig", RowTopic::Below, TextReader::Machine),
    ReaderRow(ANY, "additionalUserData", "config", RowTopic::Below, TextReader::Machine),
    ReaderRow(ANY, "", "additionalUserData", RowTopic::Text, TextReader::Machine),
    ReaderRow(ANY, "", "script", RowTopic::Text, TextReader::Machine),
    ReaderRow(ANY, "", "userData", RowTopic::Text, TextReader::Machine),
    ReaderRow(ANY, "", "userdata", RowTopic::Text, TextReader::Machine),
    ReaderRow(ANY, "", "args", RowTopic::Below, TextReader::Other),
    ReaderRow(ANY, "", "command", RowTopic::Below, TextReader::Other),
    ReaderRow(ANY, "", "files", RowTopic::Below, TextReader::Other),
    ReaderRow(ANY, "", "ignition", RowTopic::Below, TextReader::Other),
    ReaderRow(ANY, "", "values", RowTopic::Below, TextReader::Other),
    // A provider's components: who installs the provider fills in its variables.
    ReaderRow(MAPS, "data", "components", RowTopic::Below, TextReader::Machine),
    ReaderRow(MAPS, "", "data", RowTopic::Below, TextReader::Other),
    ReaderRow(MAPS, "", "stringData", RowTopic::Below, TextReader::Other),
];

/// How lists of commands end in all providers' bootstrap configs (`preKubeadmCommands`, `bootCommands`,
/// `preRKE2Commands`, …).
const COMMANDS: &str = "Commands";

/// How a text begins that is a script or cloud-init's own, in any place.
const SCRIPTS: [&str; 2] = ["#!", "#cloud-config"];

/// How afterburn's variables begin: Flatcar's, and upstream's. They are never clusterctl's.
const AFTERBURN: [&str; 2] = ["COREOS_", "AFTERBURN_"];

/// Whether a variable is one that the machine has at boot.
pub(crate) fn is_of_the_machine(variable: &str) -> bool {
    AFTERBURN.iter().any(|prefix| variable.starts_with(prefix))
}

/// A place in an object, moved along while the object is walked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    kind: Option<&'a str>,
    /// The key of the mapping or list at hand.
    key: &'a str,
    reader: TextReader,
    /// A row speaks of the field if it is a text.
    if_text: bool,
}

impl<'a> Cursor<'a> {
    /// An object as a whole; some fields of one have no kind.
    pub(crate) const fn of(kind: Option<&'a str>) -> Self {
        Self { kind, key: "", reader: TextReader::Controller, if_text: false }
    }

    /// The field of that name.
    #[must_use]
    pub(crate) fn key<'b>(&self, key: &'b str) -> Cursor<'b>
    where
        'a: 'b,
    {
        let place = Cursor { key, if_text: false, ..*self };
        if self.reader == TextReader::Machine {
            return place;
        }
        if key.ends_with(COMMANDS) {
            return Cursor { reader: TextReader::Machine, ..place };
        }
        let fits = |ReaderRow(kinds, parent, name, ..): &&ReaderRow| {
            *name == key
                && (parent.is_empty() || *parent == self.key)
                && (kinds.is_empty() || self.kind.is_none_or(|kind| kinds.contains(&kind)))
        };
        match TABLE.iter().find(fits) {
            Some(ReaderRow(.., RowTopic::Text, _)) => Cursor { if_text: true, ..place },
            Some(ReaderRow(.., RowTopic::Below, reader)) => Cursor { reader: *reader, ..place },
            None => place,
        }
    }

    /// The field at the end of these steps.
    #[must_use]
    pub(crate) fn at(self, steps: &'a [Step]) -> Self {
        steps.iter().fold(self, |place, step| match step {
            Step::Key(key) => place.key(key),
            Step::Index(_) | Step::New => place.item(),
        })
    }

    /// An item of the list.
    #[must_use]
    pub(crate) const fn item(self) -> Self {
        Self { if_text: false, ..self }
    }

    /// The field of that name in a mapping that is a JSON patch, perhaps, as ClusterClasses hold them: its
    /// value belongs to the place that the patch names.
    #[must_use]
    pub(crate) fn entry<'b>(&self, key: &'b str, patched: Option<&'b str>) -> Cursor<'b>
    where
        'a: 'b,
    {
        let Some(pointer) = patched.filter(|_| matches!(key, "value" | "valueFrom")) else {
            return self.key(key);
        };
        let is_item = |step: &&str| *step == "-" || step.bytes().all(|byte| byte.is_ascii_digit());
        let start = Cursor { kind: None, key: "", reader: self.reader, if_text: false };
        pointer.split('/').skip(1).filter(|step| !is_item(step)).fold(start, |place, key| place.key(key))
    }

    /// Who reads a text in this place.
    pub(crate) fn reader_of(&self, text: &str) -> TextReader {
        if self.if_text || SCRIPTS.iter().any(|start| text.starts_with(start)) {
            return TextReader::Machine;
        }
        self.reader
    }
}

/// Hands every text below to `see`, keys too, with who reads it.
pub(crate) fn texts<'n>(node: &'n Node, place: Cursor<'n>, see: &mut impl FnMut(&'n str, TextReader)) {
    match &node.kind {
        NodeKind::Scalar(scalar) => see(&scalar.text, place.reader_of(&scalar.text)),
        NodeKind::Sequence(items) => items.iter().for_each(|item| texts(item, place.item(), see)),
        NodeKind::Mapping(entries) => {
            let patched = patched_by(entries);
            for entry in entries {
                see(&entry.key, place.reader);
                texts(&entry.value, place.entry(&entry.key, patched), see);
            }
        }
    }
}

/// What a mapping patches, if it is a JSON patch.
pub(crate) fn patched_by(entries: &[Entry]) -> Option<&str> {
    let text = |key: &str| entries.iter().find(|entry| entry.key == key)?.value.as_str();
    pointer_of(text("op"), text("path"))
}

/// What a mapping patches whose `op` and `path` are these.
pub(crate) fn pointer_of<'n>(op: Option<&str>, path: Option<&'n str>) -> Option<&'n str> {
    op.and(path).filter(|path| path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_yaml::YamlFile;

    /// Each text says by its first letter who reads it.
    #[test]
    fn places_say_who_reads() {
        let text = "\
kind: KubeadmConfigTemplate
spec:
  name: c
  preKubeadmCommands: [m]
  postStartCommands: [m]
  files:
  - {path: o, content: m}
  ignition: {containerLinuxConfig: {additionalConfig: m, strict: o}}
  additionalUserData: {config: m}
  userData: {name: c}
  nested: {userData: m, script: m}
  plain: '#!/bin/sh m'
  patches:
  - {op: add, path: /spec/files/-, value: {path: o, content: m}}
  - {op: add, path: /spec/bootCommands/0, valueFrom: {template: m}}
  - {op: replace, path: /spec/replicas, value: c}
  data: {x: c}
";
        let file = YamlFile::read(text).unwrap();
        let root = &file.documents()[0].root;
        let mut seen = 0;
        texts(root.get("spec").unwrap(), Cursor::of(root.text_at("kind")), &mut |text, reader| {
            let expected = match text {
                "c" => TextReader::Controller,
                "o" => TextReader::Other,
                "m" | "#!/bin/sh m" => TextReader::Machine,
                _ => return,
            };
            seen += 1;
            assert_eq!(reader, expected, "{text} ({seen})");
        });
        assert_eq!(seen, 17);
    }

    #[test]
    fn the_data_of_config_maps_is_other_softwares() {
        for (kind, expected) in [
            (Some("ConfigMap"), TextReader::Other),
            (None, TextReader::Other),
            (Some("Machine"), TextReader::Controller),
        ] {
            assert_eq!(Cursor::of(kind).key("data").key("x").reader_of("x"), expected, "{kind:?}");
        }
    }
}
