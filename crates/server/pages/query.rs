//! The query of a page's address: filters and the number of the page, read leniently and written back.

use askama::Template;
use url::form_urlencoded;

use capstan_ports::ListExtent;

/// A page of a list begins with 1.
const FARTHEST_PAGE: u64 = 100_000;

/// The fields of a query or a form, each once.
pub(crate) struct QueryFields(Vec<(String, String)>);

impl QueryFields {
    /// Reads `a=b&c=d`. Unknown fields are ignored.
    pub(crate) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The first of that name, without blanks round it; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.trim().chars().take(200).collect()).unwrap_or_default()
    }

    /// The same, as it was sent.
    pub(crate) fn whole(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The number of the page.
    pub(super) fn page(&self) -> u64 {
        self.text("page").parse().ok().filter(|page| (1..=FARTHEST_PAGE).contains(page)).unwrap_or(1)
    }
}

/// The part of a list that a page shows.
pub(super) const fn extent(page: u64, size: u32) -> ListExtent {
    ListExtent { skip: (page - 1) * size as u64, take: size }
}

/// An address with the fields that are not empty.
pub(super) fn address(path: &str, fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// The address of a page of a list: what narrows the list, and the number of the page unless it is the first.
pub(super) fn page_address(path: &str, fields: &[(&str, &str)], page: u64) -> String {
    let number = if page > 1 { page.to_string() } else { String::new() };
    let mut fields = fields.to_vec();
    fields.push(("page", number.as_str()));
    address(path, &fields)
}

/// A path below this server or GitHub, a part each; slashes within a part part it further.
pub(super) fn path(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts.iter().flat_map(|part| part.split('/')) {
        path.push('/');
        for byte in part.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    path
}

/// The links to the pages before and after. It is HTML itself: a page shows it by its name.
#[derive(Template)]
#[template(
    ext = "html",
    source = r##"{% if before.is_some() || after.is_some() %}
<nav class="pager" aria-label="Pages of {{ list.name }}">
  {% if let Some(before) = before %}<a rel="prev" href="{{ before }}">{{ list.before }}</a>{% endif %}
  <span>{{ shown }}</span>
  {% if let Some(after) = after %}<a rel="next" href="{{ after }}">{{ list.after }}</a>{% endif %}
</nav>
{% endif %}"##
)]
pub(super) struct Pager {
    list: Paged,
    /// `101 to 200 of 1234`
    pub(super) shown: String,
    before: Option<String>,
    after: Option<String>,
}

impl askama::filters::HtmlSafe for Pager {}

/// A list that is shown in pages.
#[derive(Clone, Copy)]
pub(super) struct Paged {
    /// What it is a list of, for those who hear the page.
    name: &'static str,
    /// The words of the links.
    before: &'static str,
    after: &'static str,
}

impl Paged {
    /// By name.
    pub(super) const fn sorted(name: &'static str) -> Self {
        Self { name, before: "Before", after: "After" }
    }

    /// By time, the newest first.
    pub(super) const fn newest_first(name: &'static str) -> Self {
        Self { name, before: "Newer", after: "Older" }
    }
}

impl Pager {
    /// Of a list; `more` says whether something follows, `total` how many there are where that is known.
    pub(super) fn new(
        list: Paged,
        at: ListExtent,
        count: usize,
        more: bool,
        total: Option<u64>,
        to: impl Fn(u64) -> String,
    ) -> Self {
        let page = at.skip / u64::from(at.take).max(1) + 1;
        let last = at.skip + count as u64;
        let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
        let shown = if count == 0 { "nothing".to_owned() } else { format!("{} to {last}{of}", at.skip + 1) };
        Self { list, shown, before: (page > 1).then(|| to(page - 1)), after: more.then(|| to(page + 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_page_number_means_the_first_page() {
        for (query, page) in
            [("", 1), ("page=3", 3), ("page=0", 1), ("page=-1", 1), ("page=x", 1), ("page=99999999999", 1)]
        {
            assert_eq!(QueryFields::parse(query).page(), page, "{query}");
        }
    }

    #[test]
    fn addresses_hold_what_was_asked_and_no_more() {
        assert_eq!(address("/", &[("q", ""), ("state", "")]), "/");
        assert_eq!(address("/", &[("q", "a&b ü"), ("state", "held")]), "/?q=a%26b+%C3%BC&state=held");
        assert_eq!(page_address("/", &[("q", "a")], 1), "/?q=a");
        assert_eq!(page_address("/", &[("q", "")], 3), "/?page=3");
        assert_eq!(path(&["clusters", "acme/gitops", "gauss/p u"]), "/clusters/acme/gitops/gauss/p%20u");
    }
}
