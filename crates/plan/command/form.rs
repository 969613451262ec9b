//! The text that an issue begins with: commands, as in a comment, or the filled form that asks for a new cluster.
//!
//! GitHub writes what somebody fills into an
//! [issue form](https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema)
//! below headings of the third level that are the fields' labels, in their order; `_No response_` where a field was left
//! empty, and a fence round it where the field says `render`. The form is known by its first label. Fields of other
//! labels are the team's own, and nothing is read there.

use std::collections::BTreeMap;

use super::parse::{Address, CommandError, parse};
use crate::verbs::{ClusterFrom, Command};

/// The labels of the form's fields, in their order: the new cluster's folder, the release, and `KEY=VALUE` in lines.
pub const CREATE_FORM: [&str; 3] =
    ["Cluster to create", "Release to create it from", "Values of its variables"];

/// The commands of an issue's text, in their order.
pub fn parse_issue(address: Address<'_>, body: &str) -> Vec<Result<Command, CommandError>> {
    match filled(body) {
        Some(fields) => vec![cluster_of(&fields).map(Command::Create)],
        None => parse(address, body),
    }
}

/// The lines below each label of the form. `None` if the text is not this form.
fn filled(body: &str) -> Option<BTreeMap<&'static str, Vec<Vec<&str>>>> {
    let mut fields: BTreeMap<&'static str, Vec<Vec<&str>>> = BTreeMap::new();
    let mut open: Option<&'static str> = None;
    for (at, line) in body.trim_start().lines().enumerate() {
        match line.strip_prefix("### ") {
            Some(label) => {
                open = CREATE_FORM.into_iter().find(|known| *known == label.trim());
                if let Some(label) = open {
                    fields.entry(label).or_default().push(Vec::new());
                }
            }
            None => {
                if let Some(lines) = open.and_then(|label| fields.get_mut(label)?.last_mut()) {
                    lines.push(line.trim());
                }
            }
        }
        if at == 0 && open != Some(CREATE_FORM[0]) {
            return None;
        }
    }
    (!fields.is_empty()).then_some(fields)
}

fn cluster_of(fields: &BTreeMap<&'static str, Vec<Vec<&str>>>) -> Result<ClusterFrom, CommandError> {
    let [cluster, release, values] = CREATE_FORM;
    let error = |field: &'static str, why: &str| CommandError::Form { field, why: why.to_owned() };
    let lines = |field: &'static str| match fields.get(field).map(Vec::as_slice) {
        None => Ok(Vec::new()),
        Some([lines]) => Ok(answered(lines)),
        Some(_) => Err(error(field, "occurs twice")),
    };
    let one = |field: &'static str| match lines(field)?.as_slice() {
        [] => Err(error(field, "is empty")),
        [line] => Ok(*line),
        _ => Err(error(field, "has more than one line")),
    };
    let (folder, from, given) = (one(cluster)?, one(release)?, lines(values)?);
    let folder = ClusterFrom::folder(folder)
        .ok_or_else(|| error(cluster, "needs the new cluster's folder, as in `gauss/peu01`"))?;
    let from = ClusterFrom::release(from).map_err(|why| error(release, &why))?;
    let given = given.into_iter().filter(|line| !line.starts_with('#'));
    let pairs = given.map(|line| line.split_once('=').map(|(key, value)| (key.trim(), bare(value.trim()))));
    ClusterFrom::with(folder, from, pairs).map_err(|why| error(values, &why))
}

/// The lines of a field that say something, without the fence round them.
fn answered<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let said: Vec<&str> = lines.iter().copied().filter(|line| !line.is_empty()).collect();
    match said.as_slice() {
        ["_No response_"] => Vec::new(),
        [first, inner @ .., "```"] if first.starts_with("```") => inner.to_vec(),
        all => all.to_vec(),
    }
}

/// A value without the quotes round it.
fn bare(value: &str) -> &str {
    let within = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::CommandPrefix;

    fn said(body: &str) -> Vec<String> {
        let prefix = CommandPrefix::default();
        let word = |result: Result<Command, CommandError>| match result {
            Ok(Command::Create(ClusterFrom { cluster, release, variables })) => {
                format!("{cluster} from {release} {variables:?}")
            }
            Ok(command) => command.verb().word().to_owned(),
            Err(error) => error.answer(&prefix),
        };
        parse_issue(Address { prefix: &prefix, app: Some("capstan") }, body).into_iter().map(word).collect()
    }

    #[test]
    fn a_filled_form_asks_for_a_cluster() {
        let body = "### Cluster to create\n\ngauss/peu03\n\n### Release to create it from\n\naws/v22.0.0\n\n\
                    ### Values of its variables\n\n```shell\nCLUSTER_NAME=peu03\n\n# where\nREGION = eu-west-1\n\
                    OWNER=\"team a=b\"\n```\n\n### Ticket\n\n/capstan destroy gauss/peu01\n";
        let expected = r#"gauss/peu03 from aws/v22.0.0 {"CLUSTER_NAME": "peu03", "OWNER": "team a=b", "REGION": "eu-west-1"}"#;
        assert_eq!(said(body), [expected]);
        assert_eq!(said(&body.replace('\n', "\r\n")), [expected]);
        let bare = "### Cluster to create\n\n`gauss/peu03/`\n\n### Release to create it from\n\naws/v22.0.0\n\n\
                    ### Values of its variables\n\n_No response_";
        assert_eq!(said(bare), ["gauss/peu03 from aws/v22.0.0 {}"]);
    }

    #[test]
    fn a_form_with_a_mistake_says_which_field() {
        let again = "Open the form again with that corrected: Capstan ignores an edited text.";
        let form = |cluster: &str, release: &str, values: &str| {
            format!(
                "### Cluster to create\n\n{cluster}\n\n### Release to create it from\n\n{release}\n\n### Values of its variables\n\n{values}"
            )
        };
        let cases = [
            (form("_No response_", "aws/v22.0.0", ""), "**Cluster to create** is empty."),
            (form("a/b\nc/d", "aws/v22.0.0", ""), "**Cluster to create** has more than one line."),
            (
                form("../x", "aws/v22.0.0", ""),
                "**Cluster to create** needs the new cluster's folder, as in `gauss/peu01`.",
            ),
            (
                form("a/b", "newest", ""),
                "**Release to create it from** needs a release whose last part is a version, as in `from aws/v22.0.0`.",
            ),
            (
                form("a/b", "aws/v22.0.0", "REGION"),
                "**Values of its variables** needs values such as `REGION=eu-west-1`, with quotes around a value with blanks: `OWNER=\"team a\"`.",
            ),
            (
                form("a/b", "aws/v22.0.0", "A=1\nA=2"),
                "**Values of its variables** gives a variable two values.",
            ),
            (
                form("a/b", "aws/v22.0.0", "A=1\n\n### Values of its variables\n\nA=1"),
                "**Values of its variables** occurs twice.",
            ),
            ("### Cluster to create\n\na/b\n".to_owned(), "**Release to create it from** is empty."),
        ];
        for (body, expected) in cases {
            assert_eq!(said(&body), [format!("The form's field {expected} {again}")], "{body}");
        }
    }

    #[test]
    fn other_issues_hold_commands_or_nothing() {
        assert_eq!(said("Please.\n\n/capstan help\n"), ["help"]);
        assert_eq!(said("It fails.\n\n### Cluster to create\n\ngauss/peu03\n"), Vec::<String>::new());
        assert_eq!(said("### Cluster\n\ngauss/peu03\n"), Vec::<String>::new());
        assert_eq!(said(""), Vec::<String>::new());
    }
}
