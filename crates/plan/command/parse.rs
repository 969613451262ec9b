//! From a comment's text to commands.

use super::visible::visible_lines;
use crate::settings::CommandPrefix;
use crate::verbs::{Command, Verb};
use capstan_model::spelling::nearest;

/// Commands that one comment may hold; what follows is not obeyed.
pub const MAX_COMMANDS: usize = 10;

/// A line that begins like a command and is not a valid one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// There is no such command.
    Unknown {
        /// What was written.
        word: String,
        /// What may have been meant.
        meant: Option<Verb>,
    },
    /// What follows the verb is not what it takes.
    Arguments {
        verb: Verb,
        /// What follows it.
        given: String,
        /// What was expected, as the rest of a sentence that begins with the verb.
        why: String,
    },
    /// A field of the form that asks for a new cluster is not as it should be.
    Form {
        /// The field's label.
        field: &'static str,
        /// What is wrong, as the rest of a sentence that begins with it.
        why: String,
    },
    /// The comment holds more than [`MAX_COMMANDS`]; it ends the list.
    TooMany,
}

impl CommandError {
    /// What was written, for the audit trail: short, on one line.
    pub fn written(&self) -> String {
        match self {
            Self::Unknown { word, .. } => quoted(word),
            // It would have values of variables.
            Self::Arguments { verb: verb @ Verb::Create, .. } => verb.word().to_owned(),
            Self::Arguments { verb, given, .. } => quoted(&format!("{} {given}", verb.word())),
            Self::Form { field, .. } => format!("the form's field {field}"),
            Self::TooMany => format!("more than {MAX_COMMANDS} commands"),
        }
    }

    /// The answer to the comment's author, in Markdown.
    pub fn answer(&self, prefix: &CommandPrefix) -> String {
        match self {
            Self::Unknown { word, meant: Some(meant) } => {
                format!("There is no command {}; did you mean `{prefix} {}`?", quoted(word), meant.word())
            }
            Self::Unknown { word, meant: None } => {
                format!("There is no command {}; `{prefix} help` lists them.", quoted(word))
            }
            Self::Arguments { verb, given, why } => {
                let word = verb.word();
                let found =
                    if given.is_empty() { String::new() } else { format!(", found {}", quoted(given)) };
                let written = match verb.syntax() {
                    "" => format!("write `{prefix} {word}` alone on its line"),
                    syntax => format!("write `{prefix} {word} {syntax}`"),
                };
                format!("`{prefix} {word}` {why}{found}: {written}.")
            }
            Self::Form { field, why } => format!(
                "The form's field **{field}** {why}. Open the form again with that corrected: Capstan ignores an edited text."
            ),
            Self::TooMany => {
                format!("A comment may have {MAX_COMMANDS} commands; Capstan ignored the rest of this one.")
            }
        }
    }
}

/// What a command begins with.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    /// As the settings say.
    pub prefix: &'a CommandPrefix,
    /// The App's name, where it is known: `@capstan plan` is `/capstan plan`.
    pub app: Option<&'a str>,
}

impl Address<'_> {
    /// What follows it on a line that begins with it.
    fn rest<'l>(&self, line: &'l str) -> Option<&'l str> {
        let mention = || {
            let name = line.strip_prefix('@')?;
            let (head, rest) = name.split_at_checked(self.app?.len())?;
            // Logins have no case. GitHub shows the App as `capstan[bot]`, and some write that.
            let rest = rest.strip_prefix("[bot]").unwrap_or(rest);
            self.app.filter(|app| head.eq_ignore_ascii_case(app)).map(|_| rest)
        };
        let rest = line.strip_prefix(self.prefix.as_str()).or_else(mention)?;
        rest.chars().next().is_none_or(char::is_whitespace).then(|| rest.trim())
    }
}

/// The commands of a comment, in their order. The prefix alone asks for help.
pub fn parse(address: Address<'_>, body: &str) -> Vec<Result<Command, CommandError>> {
    let mut found = Vec::new();
    for line in visible_lines(body) {
        let Some(rest) = address.rest(&line) else { continue };
        if found.len() == MAX_COMMANDS {
            found.push(Err(CommandError::TooMany));
            break;
        }
        found.push(command(rest));
    }
    found
}

fn command(rest: &str) -> Result<Command, CommandError> {
    let (word, given) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if word.is_empty() {
        return Ok(Command::Help);
    }
    let given = given.trim();
    match Verb::named(word) {
        Some(verb) => {
            verb.with(given).map_err(|why| CommandError::Arguments { verb, given: given.to_owned(), why })
        }
        None => Err(CommandError::Unknown {
            word: word.to_owned(),
            meant: nearest(word, Verb::ALL.iter().map(|verb| verb.word())).and_then(Verb::named),
        }),
    }
}

/// A user's words in an answer: short, on one line, without formatting and mentions.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let plain = |c: char| if c == '`' || c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().count() > LONGEST {
        shown.push('…');
    }
    format!("`{}`", shown.trim())
}

#[cfg(test)]
mod tests {
    use super::super::help;
    use super::*;
    use crate::verbs::OfCluster;

    fn said(body: &str) -> Vec<String> {
        let prefix = CommandPrefix::default();
        let word = |result: Result<Command, CommandError>| match result {
            Ok(command) => command.verb().word().to_owned(),
            Err(error) => error.answer(&prefix),
        };
        let address = Address { prefix: &prefix, app: Some("capstan") };
        parse(address, body).into_iter().map(word).collect()
    }

    #[test]
    fn commands_stand_at_the_start_of_visible_lines() {
        let cases: [(&str, &[&str]); 29] = [
            ("/capstan plan", &["plan"]),
            ("/capstan plan\r\n/capstan help\r\n", &["plan", "help"]),
            ("/capstan", &["help"]),
            ("/capstan\tPLAN  ", &["plan"]),
            ("thanks!\n\n/capstan replan", &["replan"]),
            ("please /capstan plan", &[]),
            (" /capstan plan", &[]),
            ("/capstanplan", &[]),
            ("/Capstan plan", &[]),
            ("```\n/capstan plan\n```\n/capstan help", &["help"]),
            ("~~~sh\n/capstan plan\n```\n/capstan plan\n~~~\n", &[]),
            ("````\n```\n/capstan plan\n````\n/capstan help", &["help"]),
            ("```\n/capstan plan", &[]),
            ("    ```\n/capstan plan", &["plan"]),
            ("``` not ` a fence\n/capstan plan", &["plan"]),
            ("    /capstan plan", &[]),
            ("> /capstan plan", &[]),
            ("> quoted\n/capstan plan\n\n/capstan help", &["help"]),
            ("<!-- /capstan plan -->\n<!--\n/capstan plan\n-->\n/capstan help", &["help"]),
            ("/capstan plan <!-- why -->", &["plan"]),
            ("`<!--` begins a comment\n/capstan plan", &["plan"]),
            ("<pre>\n/capstan plan\n</pre>\n/capstan help", &["help"]),
            ("text <!-- open\n/capstan plan\n\n/capstan help", &["help"]),
            ("@capstan plan\n@Capstan[bot] help", &["plan", "help"]),
            ("@capstan", &["help"]),
            ("@capstans plan\n@cap plan\n@\nask @capstan plan", &[]),
            ("/capstan hold audit until 2026-12-01\n/capstan keep /spec/replicas", &["hold", "keep"]),
            ("/capstan take all\n/capstan keep MachinePool/a all", &["take", "keep"]),
            ("", &[]),
        ];
        for (body, expected) in cases {
            assert_eq!(said(body), expected, "{body}");
        }
    }

    #[test]
    fn what_github_hides_is_not_obeyed() {
        let hidden = [
            "<script>\n/capstan replan\n</script>",
            "<script>\n\n/capstan replan\n\n</script>",
            "<STYLE>\n\n/capstan replan",
            "<textarea>\n\n/capstan replan\n</textarea>",
            "<div hidden>\n/capstan replan\n</div>",
            "<div hidden>\n\n/capstan replan\n\n</div>",
            "text <div\nhidden>\n\n/capstan replan\n\n</div>",
            "<details>\n<summary>log</summary>\n\n/capstan replan\n\n</details>",
            "<span hidden>\n/capstan replan\n</span>",
            "<x-y style=\"display:none\">\n\n/capstan replan",
            "<svg>\n\n/capstan replan",
            "- <template>\n\n/capstan replan",
            "<div hidden><b></b>\n\n/capstan replan",
            "<!---->\n<div hidden>\n\n/capstan replan",
            "<!--> <div hidden>\n\n/capstan replan\n\n</div> -->",
            "a <!--> <div hidden> -->\n\n/capstan replan",
            "<!--\n\n/capstan replan\n\n-->",
            "- <!--\n\n/capstan replan\n\n-->",
            "> <!--\n\n/capstan replan\n\n-->",
            "<?\n\n/capstan replan\n?>",
            "<![CDATA[\n\n/capstan replan\n]]>",
            "<!X\n\n/capstan replan\n>",
            "text <!--\n/capstan replan\n-->",
            "text <a title=\"\n/capstan replan\n\">x</a>",
            "[x]: /url \"\n/capstan replan\n\"",
            "[x]:\n/capstan",
            "[\n/capstan replan\n]: /url",
            "- [x]: /url \"\n/capstan replan\n\"",
            "[^1]: note\n/capstan replan",
            "![\n/capstan replan\n](image.png)",
            "![ \\] \n/capstan replan\n][x]",
            "[x](/url \"\n/capstan replan\n\")",
            "`\n/capstan replan\n`",
            "a `` b ` c\n/capstan replan\n``",
            "$$\n/capstan replan\n$$",
            "> quoted\n/capstan replan",
            ">\n/capstan replan",
            "- > quoted\n/capstan replan",
            "1. * > quoted\n/capstan replan",
            "- a\n\n    > quoted\n/capstan replan",
            "> - a\n>   b\n/capstan replan\nc",
            "> a\r/capstan replan",
            "```\r/capstan replan\r```",
            // Code in a list or a quotation closes nothing.
            "<div hidden>\n\n- ```html\n  </div>\n  ```\n\n/capstan replan",
            "<div hidden>\n\n> ```html\n> </div>\n> ```\n\n/capstan replan",
            "<div hidden>\n\n1.  ~~~\n    </div>\n    ~~~\n\n/capstan replan",
            "<div hidden>\n\n    </div>\n\n/capstan replan",
            "| a |\n|---|\n/capstan replan",
        ];
        for body in hidden {
            assert_eq!(said(body), Vec::<String>::new(), "{body}");
        }
    }

    #[test]
    fn what_is_beside_hidden_things_is_obeyed() {
        let seen = [
            "Takes a `Vec<String>`, or a Vec<String>, if a <b.\n/capstan plan",
            "<p>One<br>\n\nTwo <img src=x> <b>three</b>\n\n/capstan plan",
            "<details><summary>log</summary>\n\nlong\n\n</details>\n\n/capstan plan",
            "<!-- use <details> for logs -->\n\n/capstan plan",
            "<!--\n<div>\n-->\n/capstan plan",
            "- [x] done\n- [ ] not done\n\n/capstan plan",
            "see [docs](/url \"title\") and ![x](y)\n/capstan plan",
            "[x]: /url\n\n/capstan plan",
            "costs $5, or $$, a ` and a <!\n/capstan plan",
            "> <div hidden>\n\n/capstan plan",
            "> quoted\n\n- item\n/capstan plan",
            "\\`a\n/capstan plan\n`",
            "1 < 2 > 1 [ ( \\\n/capstan plan",
            "text\r/capstan plan",
            "# Title\n/capstan plan\n---",
            "- ```html\n  <div hidden>\n  ```\n\n/capstan plan",
            "> ```html\n> <div hidden>\n> ```\n\n/capstan plan",
            "- ```sh\n\n/capstan plan",
            "*one\n/capstan plan\ntwo*",
        ];
        for body in seen {
            assert_eq!(said(body), ["plan"], "{body}");
        }
    }

    #[test]
    fn a_comment_made_to_be_slow_is_read_at_once() {
        for unit in [
            "`",
            "[",
            "](",
            "<a \"",
            "<a '>",
            "<!--",
            "$$$",
            "<div hidden>",
            "``` ",
            "\\`",
            "</div>",
            "[x]:\n",
            "a\n",
        ] {
            let body = unit.repeat(65_536 / unit.len());
            assert!(said(&body).is_empty(), "{unit}");
        }
    }

    #[test]
    fn a_mistyped_command_gets_an_answer_that_helps() {
        let cases = [
            ("/capstan paln", "There is no command `paln`; did you mean `/capstan plan`?"),
            ("/capstan deploy", "There is no command `deploy`; `/capstan help` lists them."),
            (
                "/capstan replan gauss/peu01",
                "`/capstan replan` takes no arguments, found `gauss/peu01`: write `/capstan replan` alone on its line.",
            ),
            (
                "/capstan plan gauss/peu01",
                "`/capstan plan` takes nothing but `for` and a cluster's folder, as in `for gauss/peu01`, found `gauss/peu01`: write `/capstan plan [for CLUSTER]`.",
            ),
            (
                "/capstan keep replicas",
                "`/capstan keep` needs the path of a field, as in `/spec/replicas`. If several objects have a conflict there, write `Kind/name` before it, found `replicas`: write `/capstan keep [for CLUSTER] [KIND/NAME] PATH`.",
            ),
            (
                "/capstan explain",
                "`/capstan explain` needs the id of a rule, as a finding or `capstan rules` names it: write `/capstan explain RULE`.",
            ),
            ("/capstan `@acme/all`", "There is no command `@acme/all`; `/capstan help` lists them."),
        ];
        for (body, answer) in cases {
            assert_eq!(said(body), [answer], "{body}");
        }
    }

    #[test]
    fn a_comment_is_obeyed_up_to_a_bound() {
        let answers = said(&"/capstan plan\n".repeat(12));
        assert_eq!(answers.len(), 11);
        assert_eq!(answers[9], "plan");
        assert_eq!(answers[10], "A comment may have 10 commands; Capstan ignored the rest of this one.");
    }

    #[test]
    fn another_prefix_is_obeyed_alone() {
        let prefix = CommandPrefix::parse("/fleet").unwrap();
        let address = Address { prefix: &prefix, app: None };
        assert_eq!(
            parse(address, "/capstan plan\n@capstan plan\n/fleet plan"),
            [Ok(Command::Plan(OfCluster(None)))]
        );
        assert!(help(&prefix).contains("| `/fleet replan` | rebuilds this proposal"));
    }

    #[test]
    fn the_help_names_every_command() {
        let text = help(&CommandPrefix::default());
        for line in [
            "| `/capstan help` | lists the commands | who may write |",
            "| `/capstan hold [for CLUSTER] [REASON] [until DATE]` |",
            "| `/capstan replan` |",
        ] {
            assert!(text.contains(line), "{line}");
        }
    }

    #[test]
    fn each_row_of_the_help_has_three_cells_whatever_the_syntax_says() {
        let text = help(&CommandPrefix::default());
        assert!(
            text.contains(r"| `/capstan campaign stop [REASON] \| resume \| skip CLUSTER [of CAMPAIGN]` |")
        );
        for row in text.lines().filter(|line| line.starts_with('|')) {
            let ends = row.replace(r"\|", "").matches('|').count();
            assert_eq!(ends, 4, "{row}");
        }
    }
}
