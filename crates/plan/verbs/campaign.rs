//! What people say to campaigns.

use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;

use super::argument::{Argument, in_a_line};

/// What is said to a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What it is to do.
    pub what: OrderWhat,
    /// Which campaign; all of the repository where none is named.
    pub of: Option<String>,
}

/// What a campaign is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderWhat {
    /// Stand still; why, in a person's words on one line.
    Stop(Option<String>),
    /// Go on; failures up to now are forgiven.
    Resume,
    /// Go on without a cluster.
    Skip(ClusterId),
}

impl Argument for Order {
    const SYNTAX: &'static str = "stop [REASON] | resume | skip CLUSTER [of CAMPAIGN]";

    fn read(given: &str) -> Result<Self, String> {
        let expected = || {
            "needs `stop`, `resume`, or `skip` and a cluster's folder, as in `skip gauss/peu01`. `of NAME` at the end selects one of several campaigns".to_owned()
        };
        let words: Vec<&str> = given.split_whitespace().map(|word| word.trim_matches('`')).collect();
        let (words, of) = match words.as_slice() {
            [before @ .., of, name] if of.eq_ignore_ascii_case("of") && !before.is_empty() => {
                (before, Some(in_a_line(name)?))
            }
            all => (all, None),
        };
        let (verb, rest) = words.split_first().ok_or_else(expected)?;
        let what = match (verb.to_ascii_lowercase().as_str(), rest) {
            ("stop", []) => OrderWhat::Stop(None),
            ("stop", reason) => OrderWhat::Stop(Some(in_a_line(&reason.join(" "))?)),
            ("resume", []) => OrderWhat::Resume,
            ("skip", [cluster]) => {
                let path =
                    RepoPath::parse(cluster.strip_prefix("./").unwrap_or(cluster).trim_end_matches('/'));
                let path = path.ok().filter(|path| !path.is_root()).ok_or_else(expected)?;
                OrderWhat::Skip(ClusterId::new(path))
            }
            _ => return Err(expected()),
        };
        Ok(Self { what, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_campaigns_is_read_as_it_is_declared() {
        let said = |given: &str| {
            Order::read(given).map(|Order { what, of }| {
                let what = match what {
                    OrderWhat::Stop(reason) => format!("stop: {}", reason.as_deref().unwrap_or("-")),
                    OrderWhat::Resume => "resume".to_owned(),
                    OrderWhat::Skip(cluster) => format!("skip {cluster}"),
                };
                (what, of.unwrap_or_default())
            })
        };
        for (given, what, of) in [
            ("stop", "stop: -", ""),
            ("STOP  the  freeze", "stop: the freeze", ""),
            ("stop wrong image of fleet", "stop: wrong image", "fleet"),
            ("stop of fleet", "stop: -", "fleet"),
            ("resume", "resume", ""),
            ("resume of `fleet`", "resume", "fleet"),
            ("skip gauss/peu01", "skip gauss/peu01", ""),
            ("skip ./peu01/ of fleet", "skip peu01", "fleet"),
        ] {
            assert_eq!(said(given), Ok((what.to_owned(), of.to_owned())), "{given}");
        }
        for given in ["", "go", "resume now", "skip", "skip ../x", "skip a/b c/d", "of fleet"] {
            assert!(said(given).unwrap_err().starts_with("needs `stop`, `resume`"), "{given}");
        }
        assert!(said(&format!("stop {}", "x".repeat(300))).is_err());
    }
}
