//! Markdown as GitHub shows it, as far as pull requests, checks and comments need it.
//!
//! HTML in a text is shown as text, but for the few tags without attributes that fold and break lines.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

use super::layout::escape;

/// Tags that stay as they are.
const KEPT: [&str; 13] = [
    "<details>",
    "<details open>",
    "</details>",
    "<summary>",
    "</summary>",
    "<br>",
    "<br/>",
    "<br />",
    "<sub>",
    "</sub>",
    "<b>",
    "</b>",
    "<hr>",
];

pub(super) fn render(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Html(CowStr::from(safe(&raw))),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if is_web(&dest_url) { dest_url } else { CowStr::from("#") };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        // Nothing is loaded from elsewhere: an image is its text.
        Event::Start(Tag::Image { .. }) => Event::Text(CowStr::from("🖼 ")),
        Event::End(pulldown_cmark::TagEnd::Image) => Event::Text(CowStr::from("")),
        other => other,
    });
    let mut rendered = String::with_capacity(text.len() * 2);
    html::push_html(&mut rendered, events);
    rendered
}

fn is_web(address: &str) -> bool {
    ["http://", "https://", "/", "#"].iter().any(|start| address.starts_with(start))
}

/// Raw HTML with all but the kept tags as text; comments are left out.
fn safe(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('<') {
        out.push_str(&escape(&rest[..at]));
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = rest.find("-->").map_or("", |end| &rest[end + 3..]);
            continue;
        }
        let end = rest.find('>').map_or(rest.len(), |end| end + 1);
        let tag = &rest[..end];
        if KEPT.contains(&tag.to_ascii_lowercase().as_str()) {
            out.push_str(tag);
        } else {
            out.push_str(&escape(tag));
        }
        rest = &rest[end..];
    }
    out.push_str(&escape(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn tables_and_code_are_rendered() {
        let html = render("| a | b |\n|---|---|\n| `1` | **2** |\n");
        assert!(html.contains("<td><code>1</code></td><td><strong>2</strong></td>"), "{html}");
    }

    #[test]
    fn folded_parts_fold_and_hidden_ones_are_not_shown() {
        let html = render("<details>\n<summary>More</summary>\n\ntext\n\n</details>\n\n<!-- secret -->\n");
        assert!(html.contains("<details>\n<summary>More</summary>"), "{html}");
        assert!(!html.contains("secret"), "{html}");
    }

    #[test]
    fn other_html_and_other_addresses_do_nothing() {
        let html = render(
            "<script>alert(1)</script>\n\nan <img src=x onerror=alert(1)> [a](javascript:alert(1)) ![i](http://e/x.png)\n\n<details ontoggle=alert(1)>\n",
        );
        for bad in ["<script", "<img", "javascript:", "<details ontoggle"] {
            assert!(!html.contains(bad), "{bad} in {html}");
        }
    }
}
