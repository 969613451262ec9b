//! Ours beside theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_kustomize::render::{Folders, RenderError, RenderErrorKind, render};
use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use serde_json::Value;

use super::kubectl::Printed;

/// A snapshot in memory.
pub(super) struct Files {
    entries: Vec<TreeEntry>,
    contents: Vec<Arc<[u8]>>,
}

impl Files {
    pub(super) fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        // As Git orders them, and as the tree is searched.
        let mut files: Vec<(RepoPath, Vec<u8>)> =
            files.into_iter().map(|(path, bytes)| (RepoPath::parse(&path).unwrap(), bytes)).collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        let entry = |(index, (path, _)): (usize, &(RepoPath, Vec<u8>))| TreeEntry {
            path: path.clone(),
            kind: EntryKind::File,
            blob: BlobId::parse(&format!("{index:040x}")).unwrap(),
        };
        let entries = files.iter().enumerate().map(entry).collect();
        Self { entries, contents: files.into_iter().map(|(_, bytes)| bytes.into()).collect() }
    }
}

impl Tree for Files {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        let at = self.entries.binary_search_by(|other| other.path.cmp(&entry.path)).unwrap();
        Ok(Arc::clone(&self.contents[at]))
    }

    fn folder_id(&self, _: &RepoPath) -> Option<TreeId> {
        None
    }
}

/// What Capstan makes of a folder.
pub(super) enum Rendered {
    Objects(Vec<Value>),
    /// A patch that finds nothing: a finding, where kustomize stops.
    Lost(String),
    Refused(RenderError),
}

pub(super) fn ours(tree: &Files, folder: &str) -> Rendered {
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let folders = Folders { cluster: path("no/where"), base: path(folder), overlay: path("no/where") };
    match render(tree, &folders) {
        Err(error) => Rendered::Refused(error),
        Ok(rendered) => match rendered.patches.iter().find_map(|patch| patch.lost.clone()) {
            Some(lost) => Rendered::Lost(lost),
            None => Rendered::Objects(rendered.objects.into_iter().map(|object| object.value).collect()),
        },
    }
}

/// How the two compare.
#[derive(Debug)]
pub(super) enum Verdict {
    Equal,
    BothRefuse,
    /// Capstan refuses a field by its name that kustomize renders.
    Unsupported(String),
    /// kubectl prints something whose name is a number, say, and Capstan refuses it.
    NoObject,
    Different(String),
}

pub(super) fn compare(ours: Rendered, theirs: &Printed) -> Verdict {
    match (ours, theirs) {
        (Rendered::Objects(ours), Printed::Objects(theirs)) => match difference(&ours, theirs) {
            None => Verdict::Equal,
            Some(difference) => Verdict::Different(difference),
        },
        (Rendered::Objects(_), Printed::Failed(error)) => {
            Verdict::Different(format!("rendered, and kubectl fails: {error}"))
        }
        (_, Printed::Failed(_)) => Verdict::BothRefuse,
        (Rendered::Refused(_), Printed::Objects(theirs)) if !theirs.iter().all(is_object) => {
            Verdict::NoObject
        }
        (Rendered::Lost(lost), Printed::Objects(_)) => Verdict::Different(format!("a patch is lost: {lost}")),
        (Rendered::Refused(error), Printed::Objects(_)) => {
            let said = error.to_string();
            let field = said.split('`').nth(1).filter(|_| error.trouble() == RenderErrorKind::Unsupported);
            match field {
                Some(field) => Verdict::Unsupported(field.to_owned()),
                None => Verdict::Different(format!(
                    "refused, and kubectl renders it: {}:{}: {said}",
                    error.place().file(),
                    error.place().line().unwrap_or_default()
                )),
            }
        }
    }
}

/// What Kubernetes takes for one: its name is a string.
fn is_object(value: &Value) -> bool {
    let namespace = &value["metadata"]["namespace"];
    let texts = [&value["apiVersion"], &value["kind"], &value["metadata"]["name"]];
    texts.iter().all(|text| text.is_string()) && (namespace.is_null() || namespace.is_string())
}

fn difference(ours: &[Value], theirs: &[Value]) -> Option<String> {
    let name = |value: &Value| {
        format!("{} {} {}", value["kind"], value["metadata"]["namespace"], value["metadata"]["name"])
    };
    for (at, (one, other)) in ours.iter().zip(theirs).enumerate() {
        if one != other {
            if name(one) != name(other) {
                let names = |all: &[Value]| all.iter().map(name).collect::<Vec<_>>().join(", ");
                return Some(format!(
                    "object {at} is another:\n  ours   {}\n  theirs {}",
                    names(ours),
                    names(theirs)
                ));
            }
            let mut found = Vec::new();
            differing(one, other, String::new(), &mut found);
            return Some(format!("{}:\n  {}", name(one), found.join("\n  ")));
        }
    }
    (ours.len() != theirs.len()).then(|| format!("{} objects, and kubectl has {}", ours.len(), theirs.len()))
}

fn differing(one: &Value, other: &Value, path: String, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (key, value) in ours {
                match theirs.get(key) {
                    Some(other) => differing(value, other, format!("{path}/{key}"), found),
                    None => found.push(format!("{path}/{key}: ours {value}, theirs none")),
                }
            }
            for (key, value) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
                found.push(format!("{path}/{key}: ours none, theirs {value}"));
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{path}: ours {one}, theirs {other}")),
    }
}

/// Verdicts by kind, for people.
#[derive(Default)]
pub(super) struct Table {
    counts: BTreeMap<String, usize>,
    pub(super) different: Vec<String>,
}

impl Table {
    pub(super) fn add(&mut self, what: &str, verdict: Verdict) {
        let row = match verdict {
            Verdict::Equal => "equal objects".to_owned(),
            Verdict::NoObject => "kubectl prints what is no object, Capstan refuses".to_owned(),
            Verdict::BothRefuse => "kubectl fails, Capstan refuses".to_owned(),
            Verdict::Unsupported(field) => format!("refused for `{field}`"),
            Verdict::Different(why) => {
                self.different.push(format!("{what}: {why}"));
                "DIFFERENT".to_owned()
            }
        };
        *self.counts.entry(row).or_default() += 1;
    }

    pub(super) fn print(&self, title: &str) {
        println!("{title}");
        for (row, count) in &self.counts {
            println!("{count:6} {row}");
        }
    }
}
