//! A page of Markdown, taken apart.

use std::collections::BTreeSet;

use capstan_report::anchor;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A page, with what tests look at.
#[derive(Debug, Default)]
pub struct Page {
    /// From the root of the repository.
    pub path: String,
    /// The fragments that links may name.
    pub anchors: BTreeSet<String>,
    pub links: Vec<String>,
    pub blocks: Vec<Block>,
    /// Code within text.
    pub spans: Vec<String>,
    pub tables: Vec<Table>,
    /// Running text, a paragraph or an item of a list each. Code within it is one word.
    pub prose: Vec<String>,
}

/// A block of code.
#[derive(Debug, Default)]
pub struct Block {
    /// `docs/flux.md:12`
    pub place: String,
    pub heading: String,
    pub info: String,
    pub text: String,
}

/// A table without its head.
#[derive(Debug, Default)]
pub struct Table {
    /// Fragment of the heading above the table.
    pub heading: String,
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Default, Clone)]
pub struct Cell {
    pub text: String,
    pub codes: Vec<String>,
}

impl Page {
    pub fn read(path: &str, text: &str) -> Self {
        let mut page = Self { path: path.to_owned(), ..Self::default() };
        let (mut heading, mut hidden) = (String::new(), Vec::new());
        let (mut in_heading, mut block): (Option<String>, Option<Block>) = (None, None);
        let mut cell: Option<Cell> = None;
        let (mut in_table, mut prose) = (false, String::new());
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            // A list item has no events of a paragraph, unless there is a blank line in it: any other event ends its
            // text.
            if !in_table && in_heading.is_none() && block.is_none() {
                match &event {
                    Event::Text(text) => prose.push_str(text),
                    Event::Code(code) => {
                        prose.push_str(&format!("`{}`", code.replace(char::is_whitespace, "_")))
                    }
                    Event::SoftBreak | Event::HardBreak => prose.push(' '),
                    Event::Start(Tag::Link { .. } | Tag::Emphasis | Tag::Strong)
                    | Event::End(TagEnd::Link | TagEnd::Emphasis | TagEnd::Strong) => {}
                    _ => page.prose.extend((!prose.trim().is_empty()).then(|| std::mem::take(&mut prose))),
                }
            }
            match event {
                Event::Start(Tag::Heading { .. }) => in_heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    heading = anchor(&in_heading.take().unwrap());
                    assert!(page.anchors.insert(heading.clone()), "{path}: two headings are `{heading}`");
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.to_string(),
                        CodeBlockKind::Indented => "indented".to_owned(),
                    };
                    let line = text[..range.start].matches('\n').count() + 1;
                    let place = format!("{path}:{line}");
                    block = Some(Block { place, heading: heading.clone(), info, text: String::new() });
                }
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.to_string())
                }
                Event::End(TagEnd::Table) => in_table = false,
                Event::Start(Tag::Table(_)) => {
                    in_table = true;
                    page.tables.push(Table { heading: heading.clone(), rows: Vec::new() });
                }
                Event::Start(Tag::TableRow) => page.tables.last_mut().unwrap().rows.push(Vec::new()),
                Event::Start(Tag::TableCell) => cell = Some(Cell::default()),
                Event::End(TagEnd::TableCell) => {
                    // The cells of a table's head do not belong to a row.
                    page.tables
                        .last_mut()
                        .unwrap()
                        .rows
                        .last_mut()
                        .into_iter()
                        .for_each(|row| row.extend(cell.take()));
                }
                Event::Text(text) => {
                    if let Some(block) = &mut block {
                        block.text.push_str(&text);
                    } else {
                        in_heading.iter_mut().for_each(|heading| heading.push_str(&text));
                        cell.iter_mut().for_each(|cell| cell.text.push_str(&text));
                    }
                }
                Event::Code(code) => {
                    in_heading.iter_mut().for_each(|heading| heading.push_str(&code));
                    if let Some(cell) = &mut cell {
                        cell.text.push_str(&code);
                        cell.codes.push(code.to_string());
                    }
                    page.spans.push(code.to_string());
                }
                Event::Html(html) | Event::InlineHtml(html) => hidden.push(html.to_string()),
                _ => {}
            }
        }
        assert!(hidden.is_empty(), "{path}: nobody would see {hidden:?}: write it as code");
        page
    }

    /// The rows of the tables below that heading.
    pub fn rows(&self, heading: &str) -> Vec<&Vec<Cell>> {
        let tables = self.tables.iter().filter(|table| table.heading == heading);
        let rows: Vec<&Vec<Cell>> = tables.flat_map(|table| &table.rows).collect();
        assert!(!rows.is_empty(), "{} has no table below #{heading}", self.path);
        rows
    }
}

/// A page by its path from the root of the repository.
pub fn of(path: &str) -> Page {
    Page::read(path, &std::fs::read_to_string(crate::root().join(path)).unwrap())
}

#[test]
fn a_page_is_taken_apart() {
    let page = Page::read(
        "a.md",
        "# What `render` means, 1.\n\n- [x](b.md#y)\n\n  ```yaml Fleet\n  a: 1\n  ```\n\n| a | b |\n|---|---|\n| `x`: y | z |\n\nend\n",
    );
    assert_eq!(page.anchors.iter().collect::<Vec<_>>(), ["what-render-means-1"]);
    assert_eq!(page.links, ["b.md#y"]);
    let [block] = page.blocks.as_slice() else { unreachable!("{page:?}") };
    assert_eq!(
        (block.place.as_str(), block.info.as_str(), block.text.as_str()),
        ("a.md:5", "yaml Fleet", "a: 1\n")
    );
    assert_eq!(page.prose, ["x", "end"], "neither headings nor code nor tables");
    let row = page.rows("what-render-means-1")[0];
    assert_eq!(
        (row[0].text.as_str(), row[0].codes.as_slice(), row.len()),
        ("x: y", ["x".to_owned()].as_slice(), 2)
    );
}
