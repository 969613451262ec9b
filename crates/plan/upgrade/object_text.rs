//! The text of one object of the base, as a document of its own.

use crate::merge::cluster_objects::Base;
use capstan_yaml::{YamlFile, own_text, write};

/// One object's own text as a document, with the comments that are its own. The text of an item of a `List` is moved to
/// the margin. Where that changes what it says (it names an anchor, for one), the object is written from its value.
pub(super) fn document_text(base: &Base, object: usize) -> Option<String> {
    if base.objects[object].path.is_root() {
        let yaml = &base.file_of(object).yaml;
        let mut own = own_text(yaml, base.objects[object].document)?.to_owned();
        if !own.ends_with('\n') {
            own.push('\n');
        }
        return Some(own);
    }
    let own = item_text(base, object)?;
    let node = base.node(object);
    let margin = base.position(object, node.span.start).column.saturating_sub(1);
    let moved = at_margin(&own, usize::try_from(margin).ok()?).filter(|text| {
        let read = YamlFile::read(text.as_str());
        read.is_ok_and(|file| match file.documents() {
            [document] => document.root.value() == node.value(),
            _ => false,
        })
    });
    Some(moved.unwrap_or_else(|| write(node)))
}

/// The text of an item of a `List`, as the file has it.
fn item_text(base: &Base, object: usize) -> Option<String> {
    let span = &base.node(object).span;
    let text = base.file_of(object).yaml.text();
    let rest = text.get(span.end..)?;
    let line_end =
        if text[..span.end].ends_with('\n') { 0 } else { rest.find('\n').map_or(rest.len(), |at| at + 1) };
    let mut own = text.get(span.start..span.end + line_end)?.to_owned();
    if !own.ends_with('\n') {
        own.push('\n');
    }
    Some(own)
}

/// Lines of which all but the first stand so far from the margin, without that distance.
fn at_margin(text: &str, margin: usize) -> Option<String> {
    let mut moved = String::with_capacity(text.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        moved.push_str(match line.get(..margin).filter(|_| at > 0) {
            _ if at == 0 || line.trim().is_empty() => line.trim_start_matches(' '),
            Some(blank) if blank.bytes().all(|byte| byte == b' ') => line.get(margin..)?,
            _ => return None,
        });
    }
    Some(moved)
}
