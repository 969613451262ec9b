//! Which comments belong to what goes or is copied: those that stand directly above it, without a blank
//! line between. A file's head belongs to nobody, and what follows a value without a blank line, before
//! the next document, belongs to that value.

use super::file::YamlFile;
use super::node::{Node, NodeKind, Span};

/// Where the comment lines begin that stand directly above a line, as far in as its content; the line's own
/// start where there are none. Nothing before `floor` counts.
pub(super) fn above(text: &str, line: usize, column: usize, floor: usize) -> usize {
    let mut at = line;
    while at > floor {
        let before = text[..at - 1].rfind('\n').map_or(0, |feed| feed + 1);
        let content = text[before..at].trim_start_matches(' ');
        let is_comment = content.starts_with('#') && at - before - content.len() == column;
        if before < floor || !is_comment {
            break;
        }
        at = before;
    }
    at
}

/// The same for the line with which a document begins. Right behind other lines the comments are theirs:
/// the file's head, or what is said of the document before.
pub(super) fn above_document(text: &str, line: usize, floor: usize) -> usize {
    let at = above(text, line, 0, floor);
    let before = text.get(floor..at).unwrap_or_default();
    let is_set_off = before.ends_with("\n\n") || before.ends_with("\n\r\n");
    if is_set_off && !before.trim().is_empty() { at } else { line }
}

/// The text of a document's root with its own comments above it; without those of the file and of others.
pub fn own_text(file: &YamlFile, document: usize) -> Option<&str> {
    let text = file.text();
    let document = file.documents().get(document)?;
    let span = &document.root.span;
    let line = text[..span.start].rfind('\n').map_or(0, |feed| feed + 1);
    let start = if document.marker.is_empty() {
        above_document(text, line, 0)
    } else {
        let behind = text[document.marker.end..].find('\n').map(|feed| document.marker.end + feed + 1);
        behind.filter(|behind| *behind <= line).map_or(line, |behind| above(text, line, 0, behind))
    };
    // What shares its line with the marker has no line of its own.
    let start = if text[line..span.start].trim().is_empty() { start } else { span.start };
    let ended = if text[..span.end].ends_with('\n') {
        span.end
    } else {
        text[span.end..].find('\n').map_or(text.len(), |feed| span.end + feed + 1)
    };
    text.get(start..ended)
}

/// A file's documents as parts of its text, each with the comments that are its own. The parts follow one another without
/// a gap: together they are the file, whose head is the first one's.
pub fn document_parts(file: &YamlFile) -> Vec<Span> {
    let (text, documents) = (file.text(), file.documents());
    let between = documents.windows(2).filter_map(|pair| {
        let [before, next] = pair else { return None };
        Some(above_document(text, next.marker.start, before.marker.end))
    });
    let starts: Vec<usize> = documents.first().map(|_| 0).into_iter().chain(between).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// All comments of a file, by the byte of their `#`; without the blank space at their end.
pub fn all(file: &YamlFile) -> Vec<(usize, &str)> {
    fn scalars(node: &Node, found: &mut Vec<Span>) {
        match &node.kind {
            NodeKind::Scalar(_) => found.push(node.span.clone()),
            NodeKind::Mapping(entries) => entries.iter().for_each(|entry| {
                found.push(entry.key_span.clone());
                scalars(&entry.value, found);
            }),
            NodeKind::Sequence(items) => items.iter().for_each(|item| scalars(item, found)),
        }
    }
    let text = file.text();
    let mut spans = Vec::new();
    file.documents().iter().for_each(|document| scalars(&document.root, &mut spans));
    spans.sort_by_key(|span| span.start);
    let (mut found, mut next, mut at) = (Vec::new(), 0, 0);
    while let Some(offset) = text[at..].find('#').map(|offset| at + offset) {
        while spans.get(next).is_some_and(|span| span.end <= offset) {
            next += 1;
        }
        let is_text = spans.get(next).is_some_and(|span| span.contains(&offset));
        if is_text || !text[..offset].ends_with([' ', '\t', '\n', '\r']) && offset > 0 {
            at = offset + 1;
            continue;
        }
        let end = text[offset..].find('\n').map_or(text.len(), |feed| offset + feed);
        found.push((offset, text[offset..end].trim_end()));
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_falls_into_its_documents_with_their_comments() {
        let text =
            "# licence\n---\na: 1 # one\n\n# of two\n---\n# also of two\nb: 2\n# of two still\n---\nc: 3";
        let file = YamlFile::read(text).unwrap();
        let parts: Vec<&str> = document_parts(&file).into_iter().map(|part| &text[part]).collect();
        assert_eq!(
            parts,
            [
                "# licence\n---\na: 1 # one\n\n",
                "# of two\n---\n# also of two\nb: 2\n# of two still\n",
                "---\nc: 3"
            ]
        );
        assert_eq!(document_parts(&YamlFile::read("# alone\n").unwrap()), [0..8; 0]);
    }

    #[test]
    fn comments_differ_from_texts() {
        let text = "# head\na: b # beside\nc: 'x # y'\nd: |\n  # a text\n  z\n# last\ne: f#g\n";
        let file = YamlFile::read(text).unwrap();
        let found: Vec<&str> = all(&file).into_iter().map(|(_, comment)| comment).collect();
        assert_eq!(found, ["# head", "# beside", "# last"]);
    }
}
