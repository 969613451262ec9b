//! Where people read what a rule means.
//!
//! A page is named by its path in Capstan's repository; whoever builds may say where the book of `docs/` is published,
//! by `CAPSTAN_DOCUMENTATION_URL`.

use capstan_plan::policy::About;

const PUBLISHED: Option<&str> = option_env!("CAPSTAN_DOCUMENTATION_URL");

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
    let pages = match published {
        Some(base) => format!("<{}/rules.html>", base.trim_end_matches('/')),
        None => "`docs/rules/RULE.md` in Capstan's documentation".to_owned(),
    };
    format!("\n### Findings\n\nWhat a rule means: `capstan rules RULE`, or {pages}.\n\n")
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
        assert!(head(None).contains("or `docs/rules/RULE.md` in Capstan's documentation.\n"));
    }
}
