//! Links to changelogs that a release's own notes give.
//!
//! Giant Swarm's `README.md` beside `release.yaml` names each component twice: in a list below
//! `### Components` or `### Apps`, and as a heading of its own changelog
//! (<https://github.com/giantswarm/devctl/blob/main/pkg/release/release_notes.go> writes it so):
//!
//! ```text
//! ### Components
//! - Flatcar from v4593.2.2 to [v4593.2.4](https://www.flatcar.org/releases/#release-4593.2.4)
//! ### cert-exporter [v2.9.1...v2.9.2](https://github.com/giantswarm/cert-exporter/compare/v2.9.1...v2.9.2)
//! ```
//!
//! Only these links count. A link is never put together from a name and a version, because repositories have other
//! names than their apps (`node-exporter` is `node-exporter-app`).

/// Longest link that is taken over.
const LONGEST: usize = 400;

/// The links of a release's notes in their order, by the name of the component or app in lower case. Other lists and
/// text are skipped: the changelogs themselves mention components too.
pub(crate) fn changelogs(notes: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut in_list = false;
    for line in notes.lines() {
        let line = line.trim();
        let heading = line.trim_start_matches('#').trim();
        let entry = if line.starts_with('#') {
            in_list = ["components", "apps"].contains(&heading.to_ascii_lowercase().as_str());
            Some(heading.strip_prefix("(NEW)").unwrap_or(heading).trim())
        } else if in_list {
            line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))
        } else {
            None
        };
        let Some((name, link)) = entry.and_then(named_link) else { continue };
        if !found.contains(&(name.clone(), link.clone())) {
            found.push((name, link));
        }
    }
    found
}

/// `Flatcar from v1 to [v2](link)` or `cert-exporter [v1...v2](link)`: the name and the link.
fn named_link(entry: &str) -> Option<(String, String)> {
    let (before, after) = entry.split_once('[')?;
    let (_, after) = after.split_once("](")?;
    let (link, _) = after.split_once(')')?;
    let mut words = before.split_whitespace();
    let name = words.next()?;
    // `cilium app v1 [...]` is running text about something else.
    let is_step = words.next().is_none_or(|word| word == "from" || word == "to" || is_version(word));
    (is_step && is_safe(link)).then(|| (name.to_lowercase(), link.to_owned()))
}

fn is_version(word: &str) -> bool {
    word.strip_prefix('v').unwrap_or(word).starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a link may be in a pull request: on the web, without a character that could end it early, and not to an
/// issue or pull request, where GitHub would show the mention.
fn is_safe(link: &str) -> bool {
    let mentions = link.contains("/pull/") || link.contains("/issues/") || link.contains("/discussions/");
    let plain = |c: char| c.is_ascii_graphic() && !"<>()[]{}\"'`|\\^".contains(c);
    link.starts_with("https://") && link.len() <= LONGEST && link.chars().all(plain) && !mentions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_that_the_notes_give_to_a_component_count() {
        let notes = "\
# :zap: Giant Swarm Release v29.1.0 for CAPA :zap:

See [the blog](https://example.com/blog).

### Components

- Flatcar from v3815.2.5 to [v3975.2.0](https://www.flatcar.org/releases#release-3975.2.0)
- Kubernetes from v1.29.7 to [v1.29.8](https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.29.md#changelog-since-v1297)
- os-tooling from v1.31.0 to v1.33.1

### Apps

- cert-exporter from v2.9.1 to v2.9.2

### cert-exporter [v2.9.1...v2.9.2](https://github.com/giantswarm/cert-exporter/compare/v2.9.1...v2.9.2)

#### Added

- cilium from v1 to [v2](https://github.com/giantswarm/cilium-app/compare/v1...v2)
- Chart: Add VPA. ([#382](https://github.com/giantswarm/cert-exporter/pull/382))

### (NEW) cluster-aws [1.0.0](https://github.com/giantswarm/cluster-aws/releases/tag/v1.0.0)
### evil [v1](javascript:alert)
### worse [v1](https://example.com/a)b<c>)
### mentioned [v1](https://github.com/o/r/pull/1)
";
        let expected = [
            ("flatcar", "https://www.flatcar.org/releases#release-3975.2.0"),
            (
                "kubernetes",
                "https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.29.md#changelog-since-v1297",
            ),
            ("cert-exporter", "https://github.com/giantswarm/cert-exporter/compare/v2.9.1...v2.9.2"),
            ("cluster-aws", "https://github.com/giantswarm/cluster-aws/releases/tag/v1.0.0"),
            ("worse", "https://example.com/a"),
        ];
        let expected: Vec<(String, String)> =
            expected.iter().map(|(name, link)| ((*name).to_owned(), (*link).to_owned())).collect();
        assert_eq!(changelogs(notes), expected);
    }
}
