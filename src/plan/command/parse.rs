//! From a comment's text to commands.

use super::Command;
use super::visible::visible_lines;
use crate::settings::CommandPrefix;
use capstan_model::spelling::nearest;

/// Commands that one comment may hold; what follows is not obeyed.
pub const MAX_COMMANDS: usize = 10;

/// A line that begins like a command and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// There is no such command.
    Unknown {
        /// What was written.
        word: String,
        /// What may have been meant.
        meant: Option<Command>,
    },
    /// The command takes no arguments.
    Arguments {
        /// The command.
        command: Command,
        /// What follows it.
        given: String,
    },
    /// The comment holds more than [`MAX_COMMANDS`]; it ends the list.
    TooMany,
}

impl CommandError {
    /// The answer to whoever wrote it, in Markdown.
    pub fn answer(&self, prefix: &CommandPrefix) -> String {
        match self {
            Self::Unknown { word, meant: Some(meant) } => {
                format!("There is no command {}; did you mean `{prefix} {}`?", quoted(word), meant.word())
            }
            Self::Unknown { word, meant: None } => {
                format!("There is no command {}; `{prefix} help` lists them.", quoted(word))
            }
            Self::Arguments { command, given } => format!(
                "`{prefix} {word}` takes no arguments, found {}: write `{prefix} {word}` alone on its line.",
                quoted(given),
                word = command.word()
            ),
            Self::TooMany => {
                format!("A comment may hold {MAX_COMMANDS} commands; the rest of this one was not obeyed.")
            }
        }
    }
}

/// The commands of a comment, in their order. The prefix alone asks for help.
pub fn parse(prefix: &CommandPrefix, body: &str) -> Vec<Result<Command, CommandError>> {
    let mut found = Vec::new();
    for line in visible_lines(body) {
        let Some(rest) = line.strip_prefix(prefix.as_str()) else { continue };
        if rest.chars().next().is_some_and(|next| !next.is_whitespace()) {
            continue;
        }
        if found.len() == MAX_COMMANDS {
            found.push(Err(CommandError::TooMany));
            break;
        }
        found.push(command(rest.trim()));
    }
    found
}

fn command(rest: &str) -> Result<Command, CommandError> {
    let (word, given) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if word.is_empty() {
        return Ok(Command::Help);
    }
    let named =
        |word: &str| Command::ALL.iter().copied().find(|command| command.word().eq_ignore_ascii_case(word));
    match named(word) {
        Some(command) if given.trim().is_empty() => Ok(command),
        Some(command) => Err(CommandError::Arguments { command, given: given.trim().to_owned() }),
        None => Err(CommandError::Unknown {
            word: word.to_owned(),
            meant: nearest(word, Command::ALL.iter().map(|command| command.word())).and_then(named),
        }),
    }
}

/// Somebody's words in an answer: short, on one line, and without power to format or to call anybody.
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

    fn said(body: &str) -> Vec<String> {
        let prefix = CommandPrefix::default();
        let word = |result: Result<Command, CommandError>| match result {
            Ok(command) => command.word().to_owned(),
            Err(error) => error.answer(&prefix),
        };
        parse(&prefix, body).into_iter().map(word).collect()
    }

    #[test]
    fn commands_stand_at_the_start_of_visible_lines() {
        let cases: [(&str, &[&str]); 24] = [
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
    fn what_is_no_command_gets_an_answer_that_helps() {
        let cases = [
            ("/capstan paln", "There is no command `paln`; did you mean `/capstan plan`?"),
            ("/capstan deploy", "There is no command `deploy`; `/capstan help` lists them."),
            (
                "/capstan plan gauss/peu01",
                "`/capstan plan` takes no arguments, found `gauss/peu01`: write `/capstan plan` alone on its line.",
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
        assert_eq!(answers[10], "A comment may hold 10 commands; the rest of this one was not obeyed.");
    }

    #[test]
    fn another_prefix_is_obeyed_alone() {
        let prefix = CommandPrefix::parse("/fleet").unwrap();
        assert_eq!(parse(&prefix, "/capstan plan\n/fleet plan"), [Ok(Command::Plan)]);
        assert!(help(&prefix).contains("| `/fleet replan` | makes this proposal anew"));
    }

    #[test]
    fn the_help_names_every_command() {
        let text = help(&CommandPrefix::default());
        for line in
            ["| `/capstan help` | lists the commands |", "| `/capstan plan` |", "| `/capstan replan` |"]
        {
            assert!(text.contains(line), "{line}");
        }
    }
}
