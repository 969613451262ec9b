//! What all pages share.

use askama::Template;

use super::page::Page;
use crate::error::ApiError;

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style|safe }}</style>
</head>
<body>
<nav class="bar"><a href="/"><b>forge</b> · all repositories</a><span class="quiet small">a stand-in for GitHub on this machine</span></nav>
<main>
<h1>{{ title }}</h1>
{{ body|safe }}
</main>
</body>
</html>"#
)]
struct PageLayout<'a> {
    style: &'static str,
    title: &'a str,
    body: &'a str,
}

pub(super) fn page(page: &Page) -> String {
    let layout = PageLayout { style: include_str!("style.css"), title: &page.title, body: &page.body };
    layout.render().unwrap_or_default()
}

/// A template's text.
pub(super) fn rendered(template: &impl Template) -> Result<String, ApiError> {
    template.render().map_err(|error| ApiError::new(500, error.to_string()))
}

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_people_write_stays_text() {
        assert_eq!(escape("<b a=\"1\" b='2'>&"), "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
    }
}
