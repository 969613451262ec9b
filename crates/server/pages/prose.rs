//! Sentences with a little Markdown in them, as HTML: reasons, titles and details are written for pull requests too.
//!
//! Only two things mean something: code between backticks, and `#12`, which is a pull request or an issue of the
//! sentence's repository. Everything else is text and is escaped, no matter who wrote it; a backslash before a punctuation
//! mark is Markdown's, and goes.

use std::fmt::{self, Write as _};

/// HTML that was made here, of texts that were escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl askama::filters::HtmlSafe for Html {}

impl Html {
    /// What a template gave, which escapes.
    pub(super) fn of(template: &impl askama::Template) -> Result<Self, askama::Error> {
        template.render().map(Self)
    }

    /// What was made as HTML elsewhere, of texts that were escaped there.
    pub(super) const fn made(html: String) -> Self {
        Self(html)
    }

    fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }

    fn element(&mut self, name: &str, text: &str) {
        self.0.push_str(&format!("<{name}>"));
        self.text(text);
        self.0.push_str(&format!("</{name}>"));
    }
}

/// A sentence about the repository at that address; without an address, numbers stay as they are.
pub(super) fn prose(sentence: &str, repository: Option<&str>) -> Html {
    let mut html = Html::default();
    let mut rest = sentence;
    let mut before = None;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        rest = match character {
            '`' => match code(rest) {
                Some((text, after)) => {
                    html.element("code", text);
                    after
                }
                None => {
                    html.text("`");
                    after
                }
            },
            '#' if !before.is_some_and(char::is_alphanumeric) => match (number(after), repository) {
                (Some((number, after)), Some(repository)) => {
                    html.0.push_str("<a href=\"");
                    html.text(repository);
                    // Infallible: it goes into a text.
                    write!(html.0, "/pull/{number}\">#{number}</a>").ok();
                    after
                }
                _ => {
                    html.text("#");
                    after
                }
            },
            '\\' if after.starts_with(|next: char| next.is_ascii_punctuation()) => {
                let next = after.chars().next().map_or(0, char::len_utf8);
                html.text(&after[..next]);
                &after[next..]
            }
            other => {
                html.text(other.encode_utf8(&mut [0; 4]));
                after
            }
        };
        before = Some(character);
    }
    html
}

/// The code between as many backticks as a text begins with, and what follows.
fn code(text: &str) -> Option<(&str, &str)> {
    let fence = text.len() - text.trim_start_matches('`').len();
    let inner = &text[fence..];
    let mut from = 0;
    while let Some(at) = inner[from..].find('`').map(|at| at + from) {
        let run = inner[at..].len() - inner[at..].trim_start_matches('`').len();
        if run == fence {
            let code = &inner[..at];
            // A blank on both sides only keeps backticks apart.
            let plain = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
            let plain = plain.filter(|code| !code.trim().is_empty()).unwrap_or(code);
            return Some((plain, &inner[at + run..]));
        }
        from = at + run;
    }
    None
}

/// The number that a text begins with, and what follows.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let after = &text[digits..];
    let is_word = after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    if is_word { None } else { Some((text[..digits].parse().ok()?, after)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_numbers_are_elements_and_everything_else_is_text() {
        for (sentence, expected) in [
            (
                "#12 offers `aws/v22.0.0`.",
                "<a href=\"https://g/a/b/pull/12\">#12</a> offers <code>aws/v22.0.0</code>.",
            ),
            ("`a<b>` & <script>", "<code>a&lt;b&gt;</code> &amp; &lt;script&gt;"),
            ("a `` b`c `` d", "a <code>b`c</code> d"),
            ("an open ` stays", "an open ` stays"),
            ("x#12, #a, #, #12b", "x#12, #a, #, #12b"),
            ("(#7)", "(<a href=\"https://g/a/b/pull/7\">#7</a>)"),
            ("a \\* b \\<i\\>", "a * b &lt;i&gt;"),
            ("ü`é`", "ü<code>é</code>"),
            ("\"quoted\" 'so'", "&quot;quoted&quot; &#39;so&#39;"),
            ("#99999999999999999999", "#99999999999999999999"),
        ] {
            assert_eq!(prose(sentence, Some("https://g/a/b")).to_string(), expected, "{sentence}");
        }
        assert_eq!(prose("#12", None).to_string(), "#12");
    }
}
