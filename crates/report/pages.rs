//! Where people read what a rule means, and why something was refused.
//!
//! A build may set the address of the published documentation, by `CAPSTAN_DOCUMENTATION_URL`. A page is then
//! named by its address, otherwise by the command that prints it.

use std::fmt::Write;

use capstan_plan::policy::About;

const PUBLISHED: Option<&str> = option_env!("CAPSTAN_DOCUMENTATION_URL");

/// The fragment of a heading, as GitHub and mdBook make it.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A path as a relative URI reference: characters that could end a link or the path are escaped.
pub(super) fn percent_encoded(path: &str) -> String {
    path.bytes().fold(String::with_capacity(path.len()), |mut uri, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
        uri
    })
}

/// Declares each refusal with the page and the heading below `docs/` that explain it.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident => $place:literal,)*) => {
        /// Why something is refused or waits, as far as people read of it. Each reason has its page.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Refusal {
            $($(#[$doc])* $name,)*
        }

        impl Refusal {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The page below `docs/` and its heading: `commands.md#who-may`.
            pub const fn place(self) -> &'static str {
                match self {
                    $(Self::$name => $place,)*
                }
            }
        }
    };
}

refusals! {
    // Commands in comments.
    /// The author of the comment may not use the command there.
    MayNot => "commands.md#who-may",
    /// The comment was edited by another person, or its author has not seen what it would overwrite or
    /// approve.
    NotObeyed => "commands.md#what-is-not-obeyed",
    /// There is no such command, or its arguments are wrong.
    NotUnderstood => "commands.md#commands",
    /// The command is about a proposal or a cluster that does not exist.
    NothingThere => "troubleshooting.md#on-a-pull-request",
    /// A decision cannot be stored anywhere.
    NotNoted => "dashboard.md#what-is-decided-here",
    /// There is no conflict that could be settled so.
    NotSettled => "troubleshooting.md#on-a-pull-request",
    /// The settings let Capstan write nothing (`mode: observe`).
    Observed => "settings.md#capstanyaml",
    /// There is no previous state that could be offered.
    NotRolledBack => "upgrades.md#rollback",
    /// An approval does not count, or is missing.
    NotApproved => "pull-requests.md#approvals",
    /// Something prevents a merge, or GitHub rejects it.
    NotMerged => "pull-requests.md#merging",
    /// A cluster is not created by comment.
    NotCreated => "create-cluster.md#by-comment",
    /// A cluster is not retired by comment.
    NotRetired => "create-cluster.md#retire-one",
    /// The result of a change of the inventory is not put on the author's branch.
    NotRenderedInline => "inventory.md#on-the-authors-branch",
    /// A live cluster was not asked, does not answer, or cannot decide.
    NoPreflight => "pull-requests.md#with-a-reconciler",

    // States of proposals and pull requests.
    /// A proposal waits, is not updated, or cannot be written: the word of its state says which.
    State => "troubleshooting.md#states-of-a-proposal",
    /// No reconciler of the management cluster has enrolled.
    NotEnrolled => "install-reconciler.md#3-enrol",
    /// The settings cannot be read.
    Settings => "settings.md#all-keys",
    /// It exceeds the limits of what is read.
    Limits => "limits.md#limits",
    /// The upgrade is not written until somebody decides.
    Blocked => "upgrades.md#complete-or-not-at-all",
    /// A pull request conflicts with its base, or Capstan itself failed.
    NotJudged => "troubleshooting.md#on-a-pull-request",
    /// A pull request is not for the default branch, and what it would bring there is unknown.
    NotOnDefault => "pull-requests.md#stacks-and-other-branches",

    // The command line.
    /// Flags or arguments that do not fit together, or do not exist.
    Usage => "command-line.md#flags",
    /// There is no repository, or no such revision.
    Checkout => "troubleshooting.md#on-the-command-line",
    /// There is no cluster, release, file or folder of that name.
    NotFound => "troubleshooting.md#on-the-command-line",
    /// The releases are in another repository, which was not given.
    ReleasesElsewhere => "releases.md#releases-in-another-repository",
    /// Something in the repository cannot be read or written.
    Unreadable => "troubleshooting.md#on-the-command-line",
    /// There is no rule of that name.
    NoSuchRule => "rules.md#rules",
    /// Rules found errors, or conflicts block.
    ErrorsStand => "command-line.md#exit-codes",
    /// A cluster cannot be rendered.
    NotRendered => "render.md#what-render-means",
    /// The names of live templates cannot be read, or are not needed.
    TemplateNames => "template-names.md#where-a-management-cluster-claims-it",
    /// The settings or the first release cannot be made.
    NotBegun => "first-contact.md#in-a-checkout",
    /// A cluster is not made on a checkout.
    NotCreatedHere => "create-cluster.md#on-a-checkout",
    /// Providers are not rendered.
    Providers => "providers.md#what-is-read",
    /// A reconciler is not invited or revoked.
    Agents => "install-reconciler.md#3-enrol",
    /// The bot's database is damaged, or cannot be exported to or imported from a file.
    Database => "database.md#check-export-import",
    /// A setting of the bot or the reconciler is missing or wrong, or refers to something that is not
    /// available.
    Starting => "troubleshooting.md#when-the-bot-starts",
}

impl Refusal {
    /// The page as `capstan help` takes it: `commands#who-may`.
    pub fn topic(self) -> String {
        self.place().replacen(".md", "", 1)
    }

    /// The page for readers of plain text: its address, or the command that prints it.
    pub fn page(self) -> String {
        page_below(PUBLISHED, self)
    }

    /// The address of the page, where pages are published.
    pub fn link(self) -> Option<String> {
        PUBLISHED.map(|_| self.page())
    }

    /// The page in Markdown: a link, or the command as code.
    pub fn shown(self) -> String {
        shown_below(PUBLISHED, self)
    }

    /// The page as a sentence: [`prose`](super::markdown::prose) makes a link of the address in it.
    pub fn sentence(self) -> String {
        format!("See `{}`.", self.page())
    }

    /// `text`, which is Markdown and ends a line, followed by the page.
    pub fn after(self, text: &str) -> String {
        after_below(PUBLISHED, self, text)
    }
}

fn page_below(published: Option<&str>, refusal: Refusal) -> String {
    let place = refusal.place();
    match published {
        Some(base) => format!("{}/{}", base.trim_end_matches('/'), place.replacen(".md", ".html", 1)),
        None => format!("capstan help {}", refusal.topic()),
    }
}

fn after_below(published: Option<&str>, refusal: Refusal, text: &str) -> String {
    let text = text.trim_end_matches('\n');
    // Directly after a list or a table it would become part of the last line.
    let between = if text.contains('\n') { "\n\n" } else { " " };
    format!("{text}{between}See {}.\n", shown_below(published, refusal))
}

fn shown_below(published: Option<&str>, refusal: Refusal) -> String {
    let page = page_below(published, refusal);
    if published.is_some() { format!("<{page}>") } else { format!("`{page}`") }
}

/// Whether a quoted text is the address of a page.
pub(super) fn is_address(quoted: &str) -> bool {
    let in_an_address = |c: char| c.is_ascii_alphanumeric() || "-._/#".contains(c);
    PUBLISHED.and_then(|base| quoted.strip_prefix(base)).is_some_and(|rest| rest.chars().all(in_an_address))
}

/// The heading over the reasons why an upgrade is not written.
pub(super) fn blocked_head() -> String {
    format!("### The upgrade is blocked\n\nWhat stops an upgrade: {}.\n\n", Refusal::Blocked.shown())
}

/// The heading over findings, with the page of the rules, once.
pub(super) fn findings_head() -> String {
    head(PUBLISHED)
}

/// The address of a rule's page. Where no address is published, it is that of the page's source: SARIF
/// requires an absolute one (3.49.12).
pub(super) fn address(rule: &About) -> String {
    address_below(PUBLISHED, rule)
}

fn head(published: Option<&str>) -> String {
    let pages = published.map(|base| format!(", or <{}/rules.html>", base.trim_end_matches('/')));
    format!("\n### Findings\n\nWhat a rule means: `capstan rules RULE`{}.\n\n", pages.unwrap_or_default())
}

/// A rule's id in Markdown: a link where its page is published.
pub(super) fn rule_shown(rule: &str) -> String {
    rule_shown_below(PUBLISHED, rule)
}

fn rule_shown_below(published: Option<&str>, rule: &str) -> String {
    published
        .map_or_else(|| format!("`{rule}`"), |base| format!("[`{rule}`](<{}>)", page_of_rule(base, rule)))
}

fn address_below(published: Option<&str>, rule: &About) -> String {
    published.map_or_else(|| rule.source().to_owned(), |base| page_of_rule(base, rule.entry.id()))
}

fn page_of_rule(base: &str, rule: &str) -> String {
    format!("{}/rules/{rule}.html", base.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_of_where_its_page_is_published() {
        let rule = capstan_plan::policy::rule("kubernetes-minor-skip").unwrap().about();
        let published = Some("https://docs.example.com/capstan/");
        assert_eq!(
            address_below(published, rule),
            "https://docs.example.com/capstan/rules/kubernetes-minor-skip.html"
        );
        assert_eq!(
            address_below(None, rule),
            "https://kubernetes.io/releases/version-skew-policy/#supported-component-upgrade-order"
        );
        assert_eq!(
            rule_shown_below(published, "kubernetes-minor-skip"),
            "[`kubernetes-minor-skip`](<https://docs.example.com/capstan/rules/kubernetes-minor-skip.html>)"
        );
        assert_eq!(rule_shown_below(None, "kubernetes-minor-skip"), "`kubernetes-minor-skip`");
        assert!(head(published).contains("or <https://docs.example.com/capstan/rules.html>.\n"));
        assert!(head(None).ends_with("What a rule means: `capstan rules RULE`.\n\n"));
    }

    #[test]
    fn a_refusal_is_explained_where_its_page_is_published_or_printed() {
        let published = Some("https://docs.example.com/capstan/");
        assert_eq!(
            page_below(published, Refusal::MayNot),
            "https://docs.example.com/capstan/commands.html#who-may"
        );
        assert_eq!(page_below(None, Refusal::MayNot), "capstan help commands#who-may");
        assert_eq!(
            after_below(published, Refusal::MayNot, "No.\n"),
            "No. See <https://docs.example.com/capstan/commands.html#who-may>.\n"
        );
        assert_eq!(
            after_below(None, Refusal::MayNot, "No:\n\n- this\n"),
            "No:\n\n- this\n\nSee `capstan help commands#who-may`.\n"
        );
    }
}
