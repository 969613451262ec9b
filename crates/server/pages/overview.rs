//! The part above the fleet: how versions of Kubernetes are spread over it, as a bar with its text, and what is rolling
//! now.

use std::cmp::Reverse;

use askama::Template;
use capstan_live::agent::RolloutState;
use capstan_model::version::KubernetesVersion;
use capstan_model::wording::count;
use capstan_ports::{ListPart, ShownRolling, SortKey, VersionShare};
use jiff::Timestamp;

use super::frame::ago;
use super::query::{address, path};

/// The bar has so many colours for versions; the oldest share the last one.
const COLOURS: usize = 6;
/// The colour of clusters whose version is not known.
const UNKNOWN: usize = COLOURS;
/// The width of the bar, in its own units.
const WIDTH: u64 = 1_000;

/// Both parts. It is HTML itself: a page shows it by its name.
#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<div class="overview">
{% if !shares.is_empty() %}
<section aria-labelledby="versions">
  <h2 id="versions">Versions of Kubernetes</h2>
  <svg class="spread" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">{% for one in shares %}<rect class="share-{{ one.colour }}" x="{{ one.from }}" width="{{ one.width }}" height="10"/>{% endfor %}</svg>
  <ul class="legend">
    {% for one in shares %}<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" focusable="false"><rect class="share-{{ one.colour }}" width="10" height="10"/></svg>{% if let Some(url) = one.url %}<a href="{{ url }}">{{ one.name }}</a>{% else %}{{ one.name }}{% endif %} <span class="quiet">{{ one.clusters }}</span></li>{% endfor %}
  </ul>
</section>
{% endif %}
<section aria-labelledby="rolling">
  <h2 id="rolling">Rolling now</h2>
  {% if rolling.is_empty() %}
  <p class="quiet">No reconciler reports machines that are being replaced.</p>
  {% else %}
  <ul class="rolling">
    {% for one in rolling %}<li><a href="{{ one.url }}">{{ one.name }}</a> <span class="mood-{{ one.mood }}">{{ one.words }}</span></li>{% endfor %}
    {% if more %}<li class="quiet">and more</li>{% endif %}
  </ul>
  {% endif %}
</section>
</div>"##
)]
pub(super) struct Overview {
    shares: Vec<VersionPart>,
    rolling: Vec<RollingCluster>,
    more: bool,
}

impl askama::filters::HtmlSafe for Overview {}

/// A version and how much of the fleet has it.
#[derive(Debug, PartialEq, Eq)]
struct VersionPart {
    name: String,
    /// The clusters that have it.
    url: Option<String>,
    clusters: String,
    colour: usize,
    /// In units of the bar.
    from: u64,
    width: u64,
}

/// A cluster whose machines are being replaced.
struct RollingCluster {
    name: String,
    url: String,
    mood: &'static str,
    words: String,
}

impl Overview {
    pub(super) fn of(versions: &[VersionShare], rolling: &ListPart<ShownRolling>, now: Timestamp) -> Self {
        let one = |one: &ShownRolling| RollingCluster {
            name: one.target.clone(),
            url: path(&["clusters", &one.repository_name, &one.target]),
            mood: if one.report.state == RolloutState::Stuck { "bad" } else { "open" },
            words: rolling_in_words(one, now),
        };
        Self {
            shares: shares(versions),
            rolling: rolling.items.iter().map(one).collect(),
            more: rolling.more,
        }
    }
}

/// The parts of the bar, the newest version first; nothing where no version is known.
fn shares(versions: &[VersionShare]) -> Vec<VersionPart> {
    if versions.iter().all(|share| share.version.is_none()) {
        return Vec::new();
    }
    let mut ordered: Vec<&VersionShare> = versions.iter().collect();
    let rank = |share: &VersionShare| {
        share.version.as_deref().and_then(KubernetesVersion::parse).map(|one| one.rank())
    };
    ordered.sort_by_key(|share| (Reverse(rank(share)), share.version.clone()));
    let all: u64 = ordered.iter().map(|share| share.clusters).sum();
    let (known, unknown): (Vec<&VersionShare>, _) =
        ordered.into_iter().partition(|share| share.version.is_some());
    // More versions than colours: the last colour is for all older ones.
    let own = if known.len() > COLOURS { COLOURS - 1 } else { known.len() };
    let (own, older) = known.split_at_checked(own).unwrap_or_default();
    let clusters = |shares: &[&VersionShare]| shares.iter().map(|share| share.clusters).sum::<u64>();
    let mut parts: Vec<(String, Option<String>, u64, usize)> = Vec::new();
    for (colour, share) in own.iter().enumerate() {
        let version = share.version.as_deref().unwrap_or_default();
        let url = address("/", &[("kubernetes", version)]);
        parts.push((version.to_owned(), Some(url), share.clusters, colour));
    }
    if !older.is_empty() {
        let url = address("/", &[("sort", SortKey::Kubernetes.as_str())]);
        parts.push(("older".to_owned(), Some(url), clusters(older), COLOURS - 1));
    }
    if !unknown.is_empty() {
        parts.push(("not known".to_owned(), None, clusters(&unknown), UNKNOWN));
    }
    let mut before = 0;
    let part = |(name, url, clusters, colour)| {
        // Both ends are rounded alike, so that the parts meet.
        let end = |clusters: u64| clusters.saturating_mul(WIDTH).checked_div(all).unwrap_or_default();
        let from = end(before);
        before += clusters;
        let width = end(before) - from;
        let clusters = count(usize::try_from(clusters).unwrap_or(usize::MAX), "cluster", "clusters");
        VersionPart { name, url, clusters, colour, from, width }
    };
    parts.into_iter().map(part).collect()
}

fn rolling_in_words(one: &ShownRolling, now: Timestamp) -> String {
    let report = &one.report;
    let word = if report.state == RolloutState::Stuck { "stuck" } else { "rolling" };
    let since = report.since.map_or_else(String::new, |since| format!(" for {}", ago(since, now)));
    let machines = match report.wanted {
        0 => String::new(),
        wanted => format!(", {} of {wanted} machines are new", report.ready),
    };
    format!("{word}{since}{machines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(version: Option<&str>, clusters: u64) -> VersionShare {
        VersionShare { version: version.map(str::to_owned), clusters }
    }

    fn part(
        name: &str,
        url: Option<&str>,
        clusters: &str,
        colour: usize,
        (from, width): (u64, u64),
    ) -> VersionPart {
        let (name, url, clusters) = (name.to_owned(), url.map(str::to_owned), clusters.to_owned());
        VersionPart { name, url, clusters, colour, from, width }
    }

    #[test]
    fn the_newest_version_comes_first_and_the_parts_fill_the_bar() {
        let versions = [
            share(Some("v1.9.11"), 1),
            share(None, 1),
            share(Some("v1.31.10"), 2),
            share(Some("v1.31.9"), 3),
        ];
        assert_eq!(
            shares(&versions),
            [
                part("v1.31.10", Some("/?kubernetes=v1.31.10"), "2 clusters", 0, (0, 285)),
                part("v1.31.9", Some("/?kubernetes=v1.31.9"), "3 clusters", 1, (285, 429)),
                part("v1.9.11", Some("/?kubernetes=v1.9.11"), "1 cluster", 2, (714, 143)),
                part("not known", None, "1 cluster", 6, (857, 143)),
            ]
        );
    }

    #[test]
    fn there_is_no_bar_where_no_version_is_known() {
        assert_eq!(shares(&[share(None, 4)]), []);
        assert_eq!(shares(&[]), []);
    }

    #[test]
    fn the_oldest_of_many_versions_are_one_part() {
        let newest = |minors: std::ops::Range<u32>| {
            let versions: Vec<VersionShare> =
                minors.map(|minor| share(Some(&format!("v1.{minor}.0")), 1)).collect();
            shares(&versions)
        };
        let six = newest(20..26);
        assert_eq!(six[5], part("v1.20.0", Some("/?kubernetes=v1.20.0"), "1 cluster", 5, (833, 167)));
        let eight = newest(20..28);
        assert_eq!(eight.len(), 6);
        assert_eq!(eight[4], part("v1.23.0", Some("/?kubernetes=v1.23.0"), "1 cluster", 4, (500, 125)));
        assert_eq!(eight[5], part("older", Some("/?sort=kubernetes"), "3 clusters", 5, (625, 375)));
    }

    #[test]
    fn names_are_escaped() {
        let nothing = ListPart { items: Vec::new(), more: false };
        let html =
            Overview::of(&[share(Some("v1.31.0+<b>"), 2)], &nothing, Timestamp::UNIX_EPOCH).render().unwrap();
        assert!(html.contains("href=\"/?kubernetes=v1.31.0%2B%3Cb%3E\">v1.31.0+&#60;b&#62;</a>"), "{html}");
        assert!(html.contains("No reconciler reports machines that are being replaced."), "{html}");
    }
}
