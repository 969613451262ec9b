//! Elements of HTML that were opened and not closed.

/// Elements whose name begins a block of HTML (CommonMark 4.6, condition 6): what they enclose may be hidden.
const BLOCKS: [&str; 62] = [
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// Elements whose text is not read as Markdown up to their end.
const RAW: [&str; 4] = ["script", "pre", "style", "textarea"];

/// Elements besides those that may hide what they enclose, attributes or not.
const HIDING: [&str; 20] = [
    "applet",
    "audio",
    "button",
    "canvas",
    "datalist",
    "embed",
    "map",
    "math",
    "meter",
    "noembed",
    "noscript",
    "object",
    "picture",
    "plaintext",
    "progress",
    "select",
    "svg",
    "template",
    "video",
    "xmp",
];

/// Elements that enclose nothing.
const VOID: [&str; 16] = [
    "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param",
    "source", "track", "wbr",
];

/// Elements that need not be closed, and that hide nothing by themselves.
const OFTEN_OPEN: [&str; 10] = ["dd", "dt", "li", "p", "tbody", "td", "tfoot", "th", "thead", "tr"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    /// In lower case.
    name: String,
    closes: bool,
    has_attributes: bool,
}

impl Tag {
    /// Whether what it opens may hide what follows.
    fn may_hide(&self) -> bool {
        let is = |names: &[&str]| names.contains(&self.name.as_str());
        if self.closes || is(&VOID) {
            return false;
        }
        self.has_attributes || (is(&BLOCKS) || is(&RAW) || is(&HIDING)) && !is(&OFTEN_OPEN)
    }
}

/// Elements that were opened and not closed, outermost first.
#[derive(Debug, Default)]
pub(super) struct Elements(Vec<String>);

impl Elements {
    /// Whether something may be hidden by one of them.
    pub(super) fn may_hide(&self) -> bool {
        !self.0.is_empty()
    }

    /// Reads a text that is neither code nor a comment.
    pub(super) fn read(&mut self, text: &str) {
        // Beyond the last of these there is no tag.
        let mut rest = text.rfind('>').map_or("", |last| &text[..=last]);
        while let Some(at) = rest.find('<') {
            rest = &rest[at..];
            let length = match tag_at(rest) {
                Some((tag, length)) => {
                    self.take(tag);
                    length
                }
                None => 1,
            };
            rest = &rest[length..];
        }
    }

    /// How many are open.
    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }

    /// Ends a quotation that began with `depth` open elements. The elements inside of it end with it, except those
    /// that end by their own name alone.
    pub(super) fn leave(&mut self, depth: usize) {
        let inner = self.0.split_off(depth.min(self.0.len()));
        let stays = |name: &String| RAW.contains(&name.as_str()) || HIDING.contains(&name.as_str());
        self.0.extend(inner.into_iter().filter(stays));
    }

    /// An element begins or ends.
    fn take(&mut self, tag: Tag) {
        if tag.may_hide() {
            self.0.push(tag.name);
        } else if tag.closes
            && let Some(at) = self.0.iter().rposition(|open| *open == tag.name)
        {
            self.0.truncate(at);
        }
    }
}

fn name_of(text: &str) -> &str {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return "";
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(text.len());
    &text[..end]
}

/// The tag at the start of a text, and its length; `None` if there is none. A `>` between quotes does not end the
/// tag, unless the quotes are never closed.
fn tag_at(text: &str) -> Option<(Tag, usize)> {
    let rest = text.strip_prefix('<')?;
    let closes = rest.starts_with('/');
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let name = name_of(rest);
    let after = &rest[name.len()..];
    if name.is_empty() || !after.starts_with([' ', '\t', '\n', '/', '>']) {
        return None;
    }
    let mut quote = None;
    let end = after.char_indices().find(|&(_, c)| match quote {
        None if matches!(c, '"' | '\'') => {
            quote = Some(c);
            false
        }
        None => c == '>',
        Some(open) => {
            if open == c {
                quote = None;
            }
            false
        }
    });
    let end = end.map(|(at, _)| at).or_else(|| after.find('>'))?;
    let has_attributes = !after[..end].trim_matches([' ', '\t', '\n', '/']).is_empty();
    let tag = Tag { name: name.to_ascii_lowercase(), closes, has_attributes };
    Some((tag, text.len() - after.len() + end + 1))
}
