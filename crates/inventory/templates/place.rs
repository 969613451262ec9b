//! Placing values in the scalars of what a template came to (T3, T4), and proving that nothing else changed.

use capstan_model::object::FieldPath;
use capstan_yaml::{
    Document, Entry, Node, NodeKind, Scalar, ScalarStyle, Span, Value, YamlFile, same_meaning,
};

use super::layout::{Splice, TemplateSlot, written};
use super::{CLOSE, OPEN, TEXT_BYTES};
use crate::context::text_of;
use crate::engine::weight;

/// A value that was put aside.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    /// It.
    pub(super) value: Value,
    /// How it is written as text, where a filter said so.
    pub(super) text: Option<String>,
    /// The values that it is made of.
    pub(super) reads: Vec<FieldPath>,
}

/// What is known of the template's side.
pub(super) trait TemplateSource {
    /// The width of the `indent` that was applied last to what came out at this byte.
    fn indent_at(&self, offset: usize) -> Option<usize>;
    /// A literal of the expression there that would mean something in YAML.
    fn literal_at(&self, offset: usize) -> Option<&str>;
}

/// What came out, with values in it.
#[derive(Debug)]
pub(super) struct PlacedOutput {
    pub(super) text: String,
    pub(super) documents: Vec<PlacedDocument>,
}

#[derive(Debug)]
pub(super) struct PlacedDocument {
    /// With its values.
    pub(super) node: Node,
    /// Where it begins in what came out.
    pub(super) offset: usize,
    /// The fields that hold values: the field, where its scalar begins, and the values that were read.
    pub(super) placed: Vec<(FieldPath, usize, Vec<FieldPath>)>,
}

/// Why values cannot be placed.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Where in what came out.
    pub(super) offset: usize,
    /// What is wrong.
    pub(super) message: String,
    /// The values that were read there.
    pub(super) reads: Vec<FieldPath>,
    /// Whether it comes to too much.
    pub(super) is_limit: bool,
}

impl Wrong {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), reads: Vec::new(), is_limit: false }
    }
}

/// Places values in a text that holds their marks.
pub(super) fn place(text: &str, marks: &[Mark], source: &dyn TemplateSource) -> Result<PlacedOutput, Wrong> {
    let file = YamlFile::read(text).map_err(|error| {
        let offset = offset_of(text, error.position.line as usize, error.position.column as usize);
        Wrong::new(offset, format!("the output is not YAML: {}", without_marks(&error.message)))
    })?;
    if let Some(twice) = file.documents().iter().find_map(|document| document.duplicate_key.as_ref()) {
        return Err(Wrong::new(
            twice.offset,
            format!("the key `{}` occurs twice", without_marks(&twice.key)),
        ));
    }
    if let Some((offset, message)) =
        file.documents().iter().find_map(|document| file.misread_key(&document.root))
    {
        return Err(Wrong::new(offset, message));
    }
    let mut placer =
        Placer { text, marks, source, splices: Vec::new(), placed: Vec::new(), left: TEXT_BYTES };
    let mut documents = Vec::new();
    for document in file.documents() {
        let node = placer.node(&document.root, TemplateSlot::Root, &FieldPath::root())?;
        let placed = std::mem::take(&mut placer.placed);
        documents.push(PlacedDocument { node, offset: begin(text, document), placed });
    }
    let text = placer.spliced();
    prove(&text, &documents)?;
    Ok(PlacedOutput { text, documents })
}

/// Reads the text again: every document means what it should.
fn prove(text: &str, documents: &[PlacedDocument]) -> Result<(), Wrong> {
    let refuse = |offset, why: String| {
        Err(Wrong::new(
            offset,
            format!("a value cannot be placed here: {why}. Write this part in another style"),
        ))
    };
    let file = match YamlFile::read(text) {
        Ok(file) => file,
        Err(error) => return refuse(documents.first().map_or(0, |first| first.offset), error.message),
    };
    if file.documents().len() != documents.len() {
        return refuse(0, "documents would run into one another".to_owned());
    }
    for (read, placed) in file.documents().iter().zip(documents) {
        if let Some(twice) = &read.duplicate_key {
            return refuse(placed.offset, format!("the key `{}` would be there twice", twice.key));
        }
        if !same_meaning(&read.root, &placed.node) {
            return refuse(placed.offset, "it would be read as something else".to_owned());
        }
    }
    Ok(())
}

/// The first line of a document's content.
fn begin(text: &str, document: &Document) -> usize {
    let at = document.root.span.start;
    if at > 0 || text.is_empty() { at } else { document.span.start }
}

struct Placer<'p> {
    text: &'p str,
    marks: &'p [Mark],
    source: &'p dyn TemplateSource,
    splices: Vec<Splice>,
    placed: Vec<(FieldPath, usize, Vec<FieldPath>)>,
    /// How many bytes and slots of values may still be placed: a mark in captured text may stand there many times.
    left: usize,
}

impl<'p> Placer<'p> {
    /// Makes room for a value.
    fn pay(&mut self, mark: &Mark, offset: usize) -> Result<(), Wrong> {
        let bytes = mark.text.as_ref().map_or_else(|| weight(&mark.value), |text| text.len() as u64);
        match self.left.checked_sub(usize::try_from(bytes).unwrap_or(usize::MAX)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let message = format!("the inserted values exceed {} MiB", TEXT_BYTES >> 20);
                Err(Wrong { is_limit: true, reads: mark.reads.clone(), ..Wrong::new(offset, message) })
            }
        }
    }

    /// The node with its values.
    fn node(&mut self, node: &Node, slot: TemplateSlot, path: &FieldPath) -> Result<Node, Wrong> {
        let flow = |open: char| self.text.get(node.span.clone()).is_some_and(|text| text.starts_with(open));
        let kind = match &node.kind {
            NodeKind::Scalar(scalar) if scalar.text.contains(OPEN) => {
                return self.scalar(node, scalar, &slot, path);
            }
            NodeKind::Scalar(scalar) => NodeKind::Scalar(scalar.clone()),
            NodeKind::Sequence(items) => {
                let slot = if matches!(slot, TemplateSlot::Flow) || flow('[') {
                    TemplateSlot::Flow
                } else {
                    TemplateSlot::Item
                };
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| self.node(item, slot.clone(), &path.index(at)));
                NodeKind::Sequence(items.collect::<Result<_, _>>()?)
            }
            NodeKind::Mapping(entries) => {
                let is_flow = matches!(slot, TemplateSlot::Flow) || flow('{');
                let entries = entries.iter().map(|entry| self.entry(entry, is_flow, path));
                NodeKind::Mapping(entries.collect::<Result<_, _>>()?)
            }
        };
        Ok(Node { kind, span: node.span.clone(), shared: node.shared })
    }

    fn entry(&mut self, entry: &Entry, is_flow: bool, path: &FieldPath) -> Result<Entry, Wrong> {
        let mut key = entry.key.clone();
        if key.contains(OPEN) {
            for mark in self.numbers(&entry.key, &entry.key_span)? {
                self.pay(mark, entry.key_span.start)?;
            }
            key = self.replaced(&entry.key, &entry.key_span)?.0;
            let quoted =
                written(&Node::string(key.as_str()), &TemplateSlot::Flow, self.text, &entry.key_span);
            self.splices.push(quoted);
        }
        let slot = if is_flow { TemplateSlot::Flow } else { TemplateSlot::Key(entry.key_span.clone()) };
        let value = self.node(&entry.value, slot, &path.key(&key))?;
        Ok(Entry { key, key_span: entry.key_span.clone(), value })
    }

    fn scalar(
        &mut self,
        node: &Node,
        scalar: &Scalar,
        slot: &TemplateSlot,
        path: &FieldPath,
    ) -> Result<Node, Wrong> {
        let marks = self.numbers(&scalar.text, &node.span)?;
        for mark in &marks {
            self.pay(mark, node.span.start)?;
        }
        let mut reads: Vec<FieldPath> = marks.iter().flat_map(|mark| mark.reads.clone()).collect();
        reads.sort();
        reads.dedup();
        self.placed.push((path.clone(), node.span.start, reads));
        let alone = scalar.text.starts_with(OPEN)
            && scalar.text.find(CLOSE) == scalar.text.len().checked_sub(CLOSE.len_utf8());
        if scalar.style == ScalarStyle::Plain {
            self.refuse_literals(&node.span)?;
        }
        let new = match (scalar.style, marks.as_slice()) {
            (ScalarStyle::Plain, [only]) if alone => Node::from_value(&only.value),
            (ScalarStyle::Literal | ScalarStyle::Folded, _) => {
                let text = self.block_text(scalar, &node.span)?;
                Node::scalar(Scalar { text, style: ScalarStyle::Literal })
            }
            _ => Node::string(self.replaced(&scalar.text, &node.span)?.0),
        };
        self.splices.push(written(&new, slot, self.text, &node.span));
        Ok(Node { span: node.span.clone(), ..new })
    }

    /// Jinja would paste a separator or a bracket that an expression gives; here it would be part of a text.
    fn refuse_literals(&self, span: &Span) -> Result<(), Wrong> {
        let raw = self.text.get(span.clone()).unwrap_or_default();
        for (at, _) in raw.match_indices(OPEN) {
            let offset = span.start + at;
            if let Some(literal) = self.source.literal_at(offset) {
                let message = format!(
                    "`{}` comes from an expression, but expressions cannot create structure: write it as text of the template, in `{{% if … %}}` if it is optional",
                    literal.replace('\n', "\\n")
                );
                return Err(Wrong::new(offset, message));
            }
        }
        Ok(())
    }

    fn numbers(&self, text: &str, span: &Span) -> Result<Vec<&'p Mark>, Wrong> {
        let mut found = Vec::new();
        for part in text.split(OPEN).skip(1) {
            let mark =
                part.split_once(CLOSE).and_then(|(number, _)| self.marks.get(number.parse::<usize>().ok()?));
            found.push(mark.ok_or_else(|| Wrong::new(span.start, "a value was split"))?);
        }
        Ok(found)
    }

    /// A text with values for its marks, and how many there were.
    fn replaced(&self, text: &str, span: &Span) -> Result<(String, usize), Wrong> {
        let marks = self.numbers(text, span)?;
        let mut out = String::new();
        for (at, part) in text.split(OPEN).enumerate() {
            match at.checked_sub(1).and_then(|mark| marks.get(mark)) {
                None => out.push_str(part),
                Some(mark) => {
                    out.push_str(&mark.text.clone().unwrap_or_else(|| text_of(&mark.value)));
                    out.push_str(part.split_once(CLOSE).map_or(part, |(_, rest)| rest));
                }
            }
        }
        Ok((out, marks.len()))
    }

    /// The text of a block scalar: the lines of a value are the scalar's lines, as deep as `indent` puts them.
    fn block_text(&self, scalar: &Scalar, span: &Span) -> Result<String, Wrong> {
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let (header, body) = raw.split_once('\n').unwrap_or((raw, ""));
        let indentation = body
            .lines()
            .find(|line| !line.trim().is_empty())
            .map_or(0, |line| line.len() - line.trim_start_matches(' ').len());
        // The marks of a scalar are in the text in the same order.
        let offsets: Vec<usize> = raw.match_indices(OPEN).map(|(at, _)| span.start + at).collect();
        let marks = self.numbers(&scalar.text, span)?;
        let mut out = String::new();
        for (at, part) in scalar.text.split(OPEN).enumerate() {
            let Some((mark, at)) = at.checked_sub(1).and_then(|at| Some((marks.get(at)?, at))) else {
                out.push_str(part);
                continue;
            };
            let indent = offsets.get(at).and_then(|offset| self.source.indent_at(*offset));
            match (&mark.text, indent) {
                (Some(text), indent) => {
                    let deeper = indent.map_or(0, |width| width.saturating_sub(indentation));
                    out.push_str(&text.replace('\n', &format!("\n{}", " ".repeat(deeper))));
                }
                (None, Some(_)) => {
                    for (number, line) in text_of(&mark.value).split('\n').enumerate() {
                        if number > 0 {
                            out.push('\n');
                            let blanks = line.len() - line.trim_start_matches(' ').len();
                            out.push_str(&line[blanks.min(indentation)..]);
                        } else {
                            out.push_str(line);
                        }
                    }
                }
                (None, None) => out.push_str(&text_of(&mark.value)),
            }
            out.push_str(part.split_once(CLOSE).map_or(part, |(_, rest)| rest));
        }
        Ok(chomped(&out, header))
    }

    /// The text with all splices; a remaining mark is in a comment, where it does not matter.
    fn spliced(&mut self) -> String {
        self.splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
        // An alias repeats its anchor's node.
        self.splices.dedup_by_key(|splice| splice.at.clone());
        let mut out = String::with_capacity(self.text.len());
        let mut from = 0;
        for splice in &self.splices {
            if splice.at.start < from {
                continue;
            }
            without(&mut out, &self.text[from..splice.at.start]);
            out.push_str(&splice.text);
            from = splice.at.end;
        }
        without(&mut out, &self.text[from..]);
        out
    }
}

/// The end of a block scalar as its header has it.
fn chomped(text: &str, header: &str) -> String {
    let header = header.split_once('#').map_or(header, |(before, _)| before);
    if header.contains('+') {
        return text.to_owned();
    }
    let body = text.trim_end_matches('\n');
    if header.contains('-') || body.is_empty() { body.to_owned() } else { format!("{body}\n") }
}

fn without(out: &mut String, text: &str) {
    for (at, part) in text.split(OPEN).enumerate() {
        match part.split_once(CLOSE) {
            Some((_, rest)) if at > 0 => out.push_str(rest),
            _ => out.push_str(part),
        }
    }
}

fn without_marks(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split(OPEN).enumerate() {
        match part.split_once(CLOSE) {
            Some((_, rest)) if at > 0 => out.push_str(&format!("{{{{ … }}}}{rest}")),
            _ => out.push_str(part),
        }
    }
    out
}

fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(0, |(at, _)| at)
}
