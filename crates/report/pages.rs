//! Where people read what a rule means, and why something was refused.
//!
//! A build may say where the book of `docs/` is published, by `CAPSTAN_DOCUMENTATION_URL`. A page is named by its address
//! there, and else by the command that prints it.

use std::fmt::Write;

use capstan_plan::policy::About;

const PUBLISHED: Option<&str> = option_env!("CAPSTAN_DOCUMENTATION_URL");

/// The fragment of a heading, as GitHub and mdBook make it.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A path as a relative URI reference: whatever could end a link or the path is escaped.
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

/// Declares what is refused with the page and the heading below `docs/` that explain it: the one place that says so.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident => $place:literal,)*) => {
        /// What is refused, or waits, as far as a person is told of it. Each has its page.
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
    /// Who commented may not use the command there.
    MayNot => "commands.md#who-may",
    /// The words of a comment may not be its author's, or its author has not seen what it would overwrite or approve.
    NotObeyed => "commands.md#what-is-not-obeyed",
    /// No such command, or not such arguments.
    NotUnderstood => "commands.md#commands",
    /// The command is about a proposal or a cluster that is not there.
    NothingThere => "troubleshooting.md#on-a-pull-request",
    /// A decision has no place to stand in.
    NotNoted => "dashboard.md#what-is-decided-here",
    /// No conflict that could be settled so.
    NotSettled => "troubleshooting.md#on-a-pull-request",
    /// The settings have nothing written.
    Observed => "settings.md#capstanyaml",
    /// There is no way back that could be offered.
    NotRolledBack => "upgrades.md#rollback",
    /// An approval does not count, or is missing.
    NotApproved => "pull-requests.md#approvals",
    /// Something stands against a merge, or GitHub does not take it.
    NotMerged => "pull-requests.md#merging",
    /// A cluster is not created by comment.
    NotCreated => "create-cluster.md#by-comment",
    /// A cluster is not retired by comment.
    NotRetired => "create-cluster.md#retire-one",
    /// What a change of the inventory comes to is not put on its own branch.
    NotRenderedInline => "inventory.md#on-the-authors-branch",
    /// A live cluster was not asked, does not answer, or cannot tell.
    NoPreflight => "pull-requests.md#with-a-reconciler",

    // How proposals and pull requests stand.
    /// A proposal waits, is left alone, or cannot be written: its state's word says which.
    State => "troubleshooting.md#states-of-a-proposal",
    /// No reconciler of the management cluster has enrolled.
    NotEnrolled => "install-reconciler.md#3-enrol",
    /// The settings cannot be read.
    Settings => "settings.md#all-keys",
    /// It is beyond the limits of what is read.
    Limits => "limits.md#limits",
    /// The upgrade must not be written before somebody has decided something.
    Blocked => "upgrades.md#complete-or-not-at-all",
    /// A pull request conflicts with its base, or Capstan itself failed.
    NotJudged => "troubleshooting.md#on-a-pull-request",
    /// A pull request does not aim at the default branch, and nobody knows what it would bring there.
    NotOnDefault => "pull-requests.md#stacks-and-other-branches",

    // The command line.
    /// Flags or arguments that do not go together, or are none.
    Usage => "command-line.md#flags",
    /// No repository, or no such revision.
    Checkout => "troubleshooting.md#on-the-command-line",
    /// No cluster, release, file or folder of that name.
    NotFound => "troubleshooting.md#on-the-command-line",
    /// The releases are in another repository, which was not given.
    ReleasesElsewhere => "releases.md#releases-in-another-repository",
    /// Something in the repository cannot be read, or not be written.
    Unreadable => "troubleshooting.md#on-the-command-line",
    /// No rule of that name.
    NoSuchRule => "rules.md#rules",
    /// Errors of rules, or conflicts that block, stand.
    ErrorsStand => "command-line.md#exit-codes",
    /// A cluster cannot be rendered.
    NotRendered => "render.md#what-render-means",
    /// The names of live templates cannot be read, or are not asked for.
    TemplateNames => "template-names.md#where-a-management-cluster-claims-it",
    /// No settings or no first release can be made.
    NotBegun => "first-contact.md#in-a-checkout",
    /// A cluster is not made on a checkout.
    NotCreatedHere => "create-cluster.md#on-a-checkout",
    /// Providers are not rendered.
    Providers => "providers.md#what-is-read",
    /// A reconciler is not invited or revoked.
    Agents => "install-reconciler.md#3-enrol",
    /// The bot's database is not well, or cannot be written to or read from a file.
    Database => "database.md#check-export-import",
    /// A setting of the bot or the reconciler is missing or wrong, or something that it names is away.
    Starting => "troubleshooting.md#when-the-bot-starts",
}

impl Refusal {
    /// The page as `capstan help` takes it: `commands#who-may`.
    pub fn topic(self) -> String {
        self.place().replacen(".md", "", 1)
    }

    /// The page for those who read text: its address, or the command that prints it.
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

    /// The way to the page as a sentence: [`prose`](super::markdown::prose) makes a link of an address in it.
    pub fn sentence(self) -> String {
        format!("See `{}`.", self.page())
    }

    /// `text`, which is Markdown and ends a line, with the way to the page behind it.
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
    // Behind a list or a table it would be read as its last line.
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

/// The heading over reasons why an upgrade must not be written.
pub(super) fn blocked_head() -> String {
    format!("### The upgrade is blocked\n\nWhat stops an upgrade: {}.\n\n", Refusal::Blocked.shown())
}

/// The heading over findings, with the way to their rules' pages: once, whatever is found.
pub(super) fn findings_head() -> String {
    head(PUBLISHED)
}

/// The address of a rule's page; of the source that the page names where nobody knows where pages are published, for an
/// address has to be absolute (SARIF, 3.49.12).
pub(super) fn address(rule: &About) -> String {
    address_below(PUBLISHED, rule)
}

fn head(published: Option<&str>) -> String {
    let pages = published.map(|base| format!(", or <{}/rules.html>", base.trim_end_matches('/')));
    format!("\n### Findings\n\nWhat a rule means: `capstan rules RULE`{}.\n\n", pages.unwrap_or_default())
}

fn address_below(published: Option<&str>, rule: &About) -> String {
    match published {
        Some(base) => format!("{}/rules/{}.html", base.trim_end_matches('/'), rule.entry.id()),
        None => rule.source().to_owned(),
    }
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
