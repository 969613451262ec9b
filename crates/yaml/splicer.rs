//! From changes to splices: block collections and single values.
//!
//! Comments stay with what they stand beside: those directly above a removed key or item go with it, and so
//! does one behind it. What is added goes right behind the value before it, so that comments
//! above the next key stay above that. Indentation is learnt from the neighbourhood.

use super::change::{EditRefusal, NodeChange, NodeEdit};
use super::flow;
use super::layout;
use super::literal;
use super::node::{Entry, Node, NodeKind, Scalar, ScalarStyle};
use super::quoting::{ScalarContext, holds_literal, restyle, write_inline, write_key};
use super::read::skip_blank;
use super::slot::ValueSlot;
use super::source::{Splice, TerminatedText};
use super::touch::touch;
use super::writer::{NodeLayout, Writer, pad};
use capstan_model::object::FieldPath;

/// Makes the splices of one document.
pub(super) struct Splicer<'a> {
    pub(super) source: &'a TerminatedText,
    /// The document's root, to learn its layout from.
    pub(super) root: &'a Node,
    pub(super) splices: Vec<Splice>,
}

/// A key with its value, or an item with its dash, of a block collection.
struct Child<'a> {
    start: usize,
    end: usize,
    value: &'a Node,
    slot: ValueSlot,
}

/// What was done about the first children of a block collection.
struct BlockHead {
    /// From which child on the others stand on their own lines.
    from: usize,
    /// Up to before which child what is added was added.
    done: Option<usize>,
}

type SpliceResult = Result<(), EditRefusal>;

impl<'a> Splicer<'a> {
    fn splice(&mut self, range: std::ops::Range<usize>, text: impl Into<String>) {
        self.splices.extend(Splice::of(range, text));
    }

    /// Makes the splices of a change of `node`.
    pub(super) fn walk(&mut self, node: &'a Node, change: &NodeChange, slot: ValueSlot) -> SpliceResult {
        if change.is_nothing() {
            return Ok(());
        }
        if let NodeEdit::Set(new) = &change.own {
            return self.replace(node, new, slot, &change.path);
        }
        let flowing = self.is_flow(node);
        if !node.is_empty_collection() && flowing {
            return self.flow(node, change);
        }
        match &node.kind {
            NodeKind::Mapping(entries) if !entries.is_empty() => {
                if matches!(slot, ValueSlot::Flow { .. }) {
                    return self.pair_in_flow(entries, change);
                }
                self.mapping(node, entries, change, slot)
            }
            NodeKind::Sequence(items) if !items.is_empty() => self.sequence(node, items, change, slot),
            _ => self.replace(node, &change.intend(node), slot, &change.path),
        }
    }

    /// What happens to the content of a flow collection.
    fn flow(&mut self, node: &'a Node, change: &NodeChange) -> SpliceResult {
        let children = flow::children_of(self.source, node);
        for (index, below) in &change.below {
            if let (Some(child), false) = (children.get(*index), matches!(below.own, NodeEdit::Remove)) {
                self.walk(child.value, below, ValueSlot::Flow { head: child.head })?;
            }
        }
        self.splices.extend(flow::change(self.source, node, &children, change)?);
        Ok(())
    }

    /// `[a: 1]`: its value may change, no more.
    fn pair_in_flow(&mut self, entries: &'a [Entry], change: &NodeChange) -> SpliceResult {
        let removes = change.below.values().any(|change| matches!(change.own, NodeEdit::Remove));
        if removes || !change.keys.is_empty() {
            let start = entries.first().map_or(0, |entry| entry.key_span.start);
            return Err(EditRefusal::new("a pair without braces in a list", &change.path, start));
        }
        for (index, below) in &change.below {
            if let Some(entry) = entries.get(*index) {
                let head = self.source.after_colon(entry.key_span.end);
                self.walk(&entry.value, below, ValueSlot::Flow { head })?;
            }
        }
        Ok(())
    }

    fn is_flow(&self, node: &Node) -> bool {
        !matches!(node.kind, NodeKind::Scalar(_))
            && self.source.text()[node.span.start..].starts_with(['{', '['])
    }

    fn mapping(
        &mut self,
        node: &'a Node,
        entries: &'a [Entry],
        change: &NodeChange,
        slot: ValueSlot,
    ) -> SpliceResult {
        let column = self.source.column(node.span.start);
        let mut children = Vec::with_capacity(entries.len());
        for entry in entries {
            let Some(head) = self.source.after_colon(entry.key_span.end) else {
                let reason = format!("the key `{}` is written in a way that is not edited", entry.key);
                return Err(EditRefusal::new(reason, &change.path, entry.key_span.start));
            };
            children.push(Child {
                start: entry.key_span.start,
                end: entry.value.span.end.max(head),
                value: &entry.value,
                slot: ValueSlot::Key { head, column },
            });
        }
        let mut added = Vec::new();
        if !change.keys.is_empty() {
            let writer = Writer { layout: layout::near(self.source, node, self.root) };
            for new in &change.keys {
                let mut text = write_key(&new.key, ScalarContext::Block);
                text.push(':');
                writer.after_key(&mut text, &new.node, column);
                added.push((new.at, text));
            }
        }
        self.children(node, &children, &added, change, column, slot)
    }

    fn sequence(
        &mut self,
        node: &'a Node,
        items: &'a [Node],
        change: &NodeChange,
        slot: ValueSlot,
    ) -> SpliceResult {
        let column = self.source.column(node.span.start);
        let mut children: Vec<Child<'a>> = Vec::with_capacity(items.len());
        for item in items {
            let from = children.last().map_or(node.span.start, |last| last.end);
            let dash = skip_blank(self.source.text(), from);
            if self.source.text().as_bytes().get(dash) != Some(&b'-') {
                return Err(EditRefusal::new(
                    "the dash of an item was not found",
                    &change.path,
                    item.span.start,
                ));
            }
            let slot = ValueSlot::Dash { head: dash + 1, column };
            children.push(Child { start: dash, end: item.span.end.max(dash + 1), value: item, slot });
        }
        let mut added = Vec::new();
        if !change.items.is_empty() {
            let mut writer = Writer { layout: layout::near(self.source, node, self.root) };
            if let Some(width) = layout::item_width(self.source, node) {
                writer.layout.item = width;
            }
            for (at, item) in &change.items {
                let mut text = String::new();
                writer.dash(&mut text);
                writer.after_dash(&mut text, item, column);
                added.push((*at, text));
            }
        }
        self.children(node, &children, &added, change, column, slot)
    }

    /// What happens to the keys or items of a block collection. `added` says before which child.
    fn children(
        &mut self,
        node: &'a Node,
        children: &[Child<'a>],
        added: &[(usize, String)],
        change: &NodeChange,
        column: usize,
        slot: ValueSlot,
    ) -> SpliceResult {
        let removed =
            |index: usize| matches!(change.below.get(&index), Some(NodeChange { own: NodeEdit::Remove, .. }));
        if added.is_empty() && (0..children.len()).all(removed) {
            let empty = match node.kind {
                NodeKind::Sequence(_) => Node::sequence([]),
                _ => Node::mapping::<String>([]),
            };
            return self.replace(node, &empty, slot, &change.path);
        }
        for (index, below) in &change.below {
            if let (Some(child), false) = (children.get(*index), removed(*index)) {
                self.walk(child.value, below, child.slot)?;
            }
        }
        let gone = (0..children.len()).take_while(|index| removed(*index)).count();
        let BlockHead { from, done } = self.head_of_block(children, added, gone, column);
        for (index, child) in children.iter().enumerate().skip(from) {
            if removed(index) {
                if !self.source.starts_line(child.start) {
                    return Err(EditRefusal::new(
                        "it shares its line with another",
                        &change.path,
                        child.start,
                    ));
                }
                let before = index.checked_sub(1).and_then(|before| children.get(before));
                let start = match before {
                    Some(before) => self.source.own_lines(child.start, self.source.next_line(before.end)),
                    // The head of a document is its own.
                    None if column == 0 => self.source.line_start(child.start),
                    None => self.source.own_lines(child.start, 0),
                };
                self.splice(start..self.source.next_line(child.end), "");
            }
        }
        for (at, text) in added.iter().filter(|(at, _)| done.is_none_or(|done| *at > done)) {
            let place = match at.checked_sub(1).and_then(|before| children.get(before)) {
                Some(before) => self.source.next_line(before.end),
                None => children.first().map_or(0, |first| self.source.line_start(first.start)),
            };
            let mut line = String::with_capacity(column + text.len() + 1);
            pad(&mut line, column);
            line.push_str(text);
            line.push('\n');
            self.splice(place..place, line);
        }
        Ok(())
    }

    /// The first children, where the first of all shares its line with the dash around it (`- name: x`,
    /// `- - a`): what follows must move up to that dash.
    fn head_of_block(
        &mut self,
        children: &[Child<'a>],
        added: &[(usize, String)],
        gone: usize,
        column: usize,
    ) -> BlockHead {
        let nothing = BlockHead { from: 0, done: None };
        let Some(first) = children.first() else { return nothing };
        let early: Vec<&str> =
            added.iter().filter(|(at, _)| *at <= gone).map(|(_, text)| text.as_str()).collect();
        if self.source.starts_line(first.start) || (gone == 0 && early.is_empty()) {
            return nothing;
        }
        let mut break_line = String::from("\n");
        pad(&mut break_line, column);
        let mut text = early.join(&break_line);
        let Some(last) = gone.checked_sub(1).and_then(|last| children.get(last)) else {
            // Before the first one: it moves down.
            text.push_str(&break_line);
            self.splice(first.start..first.start, text);
            return BlockHead { from: 0, done: Some(0) };
        };
        let end = self.source.line_end(last.end);
        let next = children.get(gone).map(|next| next.start);
        let comments = next.is_some_and(|next| !self.source.text()[end..next].trim().is_empty());
        let range = match next {
            // The next one takes the place on the dash's line.
            Some(next) if text.is_empty() && !comments => first.start..next,
            // Comments in between stay on their lines, so the dash is alone on its line.
            Some(_) if text.is_empty() => {
                let before = &self.source.text()[..first.start];
                before.trim_end_matches(' ').len()..end
            }
            _ => first.start..end,
        };
        self.splice(range, text);
        BlockHead { from: gone, done: Some(gone) }
    }

    /// Puts a value in the place of another.
    fn replace(&mut self, old: &Node, new: &Node, slot: ValueSlot, path: &FieldPath) -> SpliceResult {
        let alias;
        let is_alias =
            old.shared && self.source.text().get(old.span.clone()).is_some_and(|own| own.starts_with('*'));
        let old = if is_alias {
            // Its text is a name, whatever its value.
            alias = Node { span: old.span.clone(), ..Node::scalar(Scalar::plain("")) };
            &alias
        } else {
            old
        };
        if let ValueSlot::Flow { head } = slot {
            if let (NodeKind::Scalar(scalar), NodeKind::Scalar(new)) = (&old.kind, &new.kind)
                && let Some(splice) =
                    touch(self.source, old, scalar, &restyle(scalar, new, ScalarContext::Flow))
            {
                self.splices.push(splice);
                return Ok(());
            }
            let text = flow::write(self.source, new, old);
            let text = match head {
                None if old.span.is_empty() && !matches!(slot, ValueSlot::Root) => format!(": {text}"),
                Some(head) if old.span.is_empty() && head == old.span.start => format!(" {text}"),
                _ => text,
            };
            self.splice(old.span.clone(), text);
            return Ok(());
        }
        if let (NodeKind::Scalar(scalar), NodeKind::Scalar(new)) = (&old.kind, &new.kind) {
            let new = restyle(scalar, new, ScalarContext::Block);
            if let Some(splice) = touch(self.source, old, scalar, &new) {
                self.splices.push(splice);
                return Ok(());
            }
            let is_line = |style| !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
            if is_line(scalar.style) && is_line(new.style) {
                self.replace_in_line(old, &new, slot);
                return Ok(());
            }
            let layout = layout::near(self.source, old, self.root);
            if let Some(splices) = literal::rewrite(self.source, old, scalar, &new, slot, layout) {
                self.splices.extend(splices);
                return Ok(());
            }
            let in_line = match new.style {
                ScalarStyle::Literal | ScalarStyle::Folded => {
                    let unfinished = self.source.is_unfinished(old.span.end);
                    !holds_literal(&new.text) || matches!(slot, ValueSlot::Root) || unfinished
                }
                _ => true,
            };
            if in_line {
                self.replace_in_line(old, &new, slot);
                return Ok(());
            }
            return self.hang(old, &Node::scalar(new), slot, layout, path);
        }
        let mut layout = layout::near(self.source, old, self.root);
        if let ValueSlot::Dash { .. } = slot {
            layout.item = layout::own_item_width(self.source, old, slot).unwrap_or(layout.item);
        }
        self.hang(old, new, slot, layout, path)
    }

    fn replace_in_line(&mut self, old: &Node, new: &Scalar, slot: ValueSlot) {
        let lead = if old.span.is_empty() && !matches!(slot, ValueSlot::Root) { " " } else { "" };
        let text = format!("{lead}{}", write_inline(new, ScalarContext::Block));
        self.splice(old.span.clone(), text);
    }

    /// Writes a value that may have several lines: the first stays on the key's line.
    fn hang(
        &mut self,
        old: &Node,
        new: &Node,
        slot: ValueSlot,
        layout: NodeLayout,
        path: &FieldPath,
    ) -> SpliceResult {
        let writer = Writer { layout };
        let mut text = String::new();
        let head = match slot {
            ValueSlot::Key { head, column } => {
                writer.after_key(&mut text, new, column);
                head
            }
            ValueSlot::Dash { head, column } => {
                writer.dash(&mut text);
                writer.after_dash(&mut text, new, column);
                text.remove(0);
                head
            }
            ValueSlot::Root => return self.replace_root(old, new, layout, path),
            ValueSlot::Flow { .. } => return Ok(()),
        };
        let (first, rest) = text.split_once('\n').unwrap_or((text.as_str(), ""));
        let rest = if rest.is_empty() { String::new() } else { format!("{rest}\n") };
        let block = !matches!(old.kind, NodeKind::Scalar(_)) && !self.is_flow(old);
        let end = if block { self.source.line_end(old.span.end) } else { old.span.end };
        if self.source.line_start(head) == self.source.line_start(old.span.start) {
            let after = self.source.next_line(end);
            self.splice(head..end.max(head), first);
            self.splice(after..after, rest);
        } else {
            self.splice(head..head, first);
            self.splice(self.source.next_line(head)..self.source.next_line(end), rest);
        }
        Ok(())
    }

    fn replace_root(&mut self, old: &Node, new: &Node, layout: NodeLayout, path: &FieldPath) -> SpliceResult {
        let mut text = String::new();
        Writer { layout }.block(&mut text, new, 0);
        if old.span.is_empty() {
            let place = self.source.next_line(old.span.end);
            text.push('\n');
            self.splice(place..place, text);
        } else if self.source.starts_line(old.span.start) {
            let end = if self.is_flow(old) { old.span.end } else { self.source.line_end(old.span.end) };
            self.splice(old.span.start..end, text);
        } else {
            return Err(EditRefusal::new("the value is on the marker's line", path, old.span.start));
        }
        Ok(())
    }
}
