//! `capstan help`: of a command what clap says, of a topic the page of the documentation.
//!
//! A topic is a page's name below `docs/`, with or without `.md`, or the id of a rule; `#HEADING` behind it asks for one
//! section. Where a command has the name of a page, the command is meant: `providers.md` means the page.

mod pages;

use capstan_model::spelling::{did_you_mean_one, near, suggestion};
use capstan_report::{Refusal, anchor};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::arguments::Help;
use super::{CommandFailure, CommandOutcome, examples, output, text};

pub(super) fn run(asked: &Help) -> Result<CommandOutcome, CommandFailure> {
    output::print(&in_words(&asked.words)?)?;
    Ok(CommandOutcome::Done)
}

fn in_words(words: &[String]) -> Result<String, CommandFailure> {
    if let Some(help) = of_command(words) {
        return Ok(help);
    }
    match words {
        [word] if word == "pages" => Ok(list()),
        [topic] => of_page(topic),
        _ => Err(no_such_command(words)),
    }
}

/// What `--help` prints, and the page of the same name.
fn of_command(words: &[String]) -> Option<String> {
    let mut command = examples::command();
    command.build();
    let mut found = &mut command;
    for word in words {
        found = found.find_subcommand_mut(word)?;
    }
    let help = found.render_long_help().to_string();
    let page = match words {
        [] => "Pages of the documentation: capstan help pages\n".to_owned(),
        [name] if pages::page(name).is_some() => {
            format!("Its page of the documentation: capstan help {name}.md\n")
        }
        _ => return Some(help),
    };
    Some(format!("{}\n\n{page}", help.trim_end()))
}

fn list() -> String {
    let row = |name: &str| Some(vec![name.to_owned(), pages::title(pages::page(name)?).to_owned()]);
    let rows: Vec<Vec<String>> = pages::names().filter_map(row).collect();
    text::table(&["topic", "page"], &rows)
        + "\ncapstan help TOPIC prints one, capstan help RULE that of a rule\n"
}

fn of_page(topic: &str) -> Result<String, CommandFailure> {
    let (name, heading) = match topic.split_once('#') {
        Some((name, heading)) => (name, Some(heading)),
        None => (topic, None),
    };
    // As a message names it, as a file of the repository, or as a link of another page.
    let name = name.trim_start_matches("../");
    let name = name.strip_prefix("docs/").unwrap_or(name);
    let name = name.strip_suffix(".md").unwrap_or(name);
    let Some(page) = pages::page(name) else { return Err(no_such_page(topic, name)) };
    let Some(heading) = heading else { return Ok(page.to_owned()) };
    let headings = headings(page);
    section(page, &headings, heading).map(|section| format!("{}\n", section.trim_end())).ok_or_else(|| {
        let anchors: Vec<&str> = headings.iter().map(|heading| heading.anchor.as_str()).collect();
        let near: Vec<String> =
            near(heading, anchors.iter().copied()).iter().map(|near| format!("{name}#{near}")).collect();
        let hint = match did_you_mean_one(&near) {
            // The first heading is the page's own.
            none if none.is_empty() && anchors.len() > 1 => format!("; it has {}", anchors[1..].join(", ")),
            hint => hint,
        };
        CommandFailure::Usage(
            Refusal::NotFound,
            format!("the page `{name}` has no heading `{heading}`{hint} (`capstan help {name}.md` prints the page)"),
        )
    })
}

fn no_such_page(topic: &str, name: &str) -> CommandFailure {
    let command = examples::command();
    // A topic with a heading, an extension or a folder is not a command.
    let mut known = if topic.contains(['#', '.', '/']) { vec![] } else { subcommands(&command) };
    for known_name in pages::names().chain(capstan_plan::policy::ids()) {
        known.push(known_name);
    }
    let hint = suggestion(name.trim_start_matches("rules/"), known);
    CommandFailure::Usage(
        Refusal::NotFound,
        format!("there is no command and no page `{topic}`{hint} (`capstan help pages` lists the pages)"),
    )
}

/// The first word that is not a command below the previous ones.
fn no_such_command(words: &[String]) -> CommandFailure {
    let command = examples::command();
    let (mut found, mut before) = (&command, Vec::new());
    for word in words {
        let Some(below) = found.find_subcommand(word) else {
            let hint = suggestion(word, subcommands(found));
            let lists = ["capstan", "help"].into_iter().chain(before).collect::<Vec<_>>().join(" ");
            let message = match found.has_subcommands() {
                true => {
                    format!("there is no command `{}`{hint} (`{lists}` lists the commands)", words.join(" "))
                }
                false => format!(
                    "there is no command `{}`: `{}` has no commands below it",
                    words.join(" "),
                    found.get_name()
                ),
            };
            return CommandFailure::Usage(Refusal::Usage, message);
        };
        found = below;
        before.push(word.as_str());
    }
    CommandFailure::Usage(Refusal::Usage, format!("there is no command `{}`", words.join(" ")))
}

fn subcommands(command: &clap::Command) -> Vec<&str> {
    command.get_subcommands().filter(|below| !below.is_hide_set()).map(clap::Command::get_name).collect()
}

struct Heading {
    anchor: String,
    level: HeadingLevel,
    /// Where it begins in the page, in bytes.
    start: usize,
}

fn headings(page: &str) -> Vec<Heading> {
    let (mut found, mut open): (Vec<Heading>, Option<String>) = (Vec::new(), None);
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(level)) => {
                let anchor = anchor(&open.take().unwrap_or_default());
                found.push(Heading { anchor, level, start: range.start });
            }
            Event::Text(text) | Event::Code(text) => open.iter_mut().for_each(|open| open.push_str(&text)),
            _ => {}
        }
    }
    found
}

/// The text below a heading, with it: to the next one that is not below it.
fn section<'p>(page: &'p str, headings: &[Heading], anchor: &str) -> Option<&'p str> {
    let at = headings.iter().position(|heading| heading.anchor == anchor)?;
    let asked = &headings[at];
    let next = headings[at + 1..].iter().find(|heading| heading.level <= asked.level);
    Some(&page[asked.start..next.map_or(page.len(), |next| next.start)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Result<String, String> {
        in_words(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).map_err(|failure| {
            match failure {
                CommandFailure::Usage(_, message) | CommandFailure::Failed(_, message) => message,
            }
        })
    }

    #[test]
    fn help_shows_commands_pages_rules_and_sections() {
        let has = |words: &[&str], begins: &str, ends: &str| {
            let said = asked(words).unwrap();
            assert!(said.starts_with(begins) && said.ends_with(ends), "{words:?}: {said}");
        };
        has(&[], "Upgrades fleets of", "\n\nPages of the documentation: capstan help pages\n");
        has(&["plan"], "Show the upgrades that", "\n");
        has(
            &["providers"],
            "Render the providers",
            "\n\nIts page of the documentation: capstan help providers.md\n",
        );
        has(&["providers", "fetch"], "Fetch the components", "\n");
        has(&["providers.md"], "# ", "\n");
        has(&["docs/settings.md"], "# ", "\n");
        has(&["kubernetes-minor-skip"], "# kubernetes-minor-skip\n", "\n");
        has(&["commands#who-may"], "## Who may\n", "\n");
        has(&["pages"], "\u{1b}[1mTOPIC", "that of a rule\n");
        has(&["../settings.md"], "# ", "\n");
    }

    #[test]
    fn what_is_not_there_has_its_nearest_name() {
        let says = |words: &[&str], message: &str| assert_eq!(asked(words).unwrap_err(), message);
        says(
            &["setings"],
            "there is no command and no page `setings`; did you mean `settings`? (`capstan help pages` lists the pages)",
        );
        says(
            &["commands#who-my"],
            "the page `commands` has no heading `who-my`; did you mean `commands#who-may`? (`capstan help commands.md` prints the page)",
        );
        says(
            &["from-flux"],
            "there is no command and no page `from-flux`; did you mean `tutorials/from-flux`? (`capstan help pages` lists the pages)",
        );
        says(&["plan", "campaigns"], "there is no command `plan campaigns`: `plan` has no commands below it");
        says(
            &["glossary#wave"],
            "the page `glossary` has no heading `wave` (`capstan help glossary.md` prints the page)",
        );
        says(
            &["settings#nothing"],
            "the page `settings` has no heading `nothing`; it has an-example, all-keys, capstanyaml, groups-of-clusters, title-of-a-proposal, capstanyaml-of-a-cluster, capstanyaml-of-an-overlay, capstanyaml-of-a-release (`capstan help settings.md` prints the page)",
        );
        says(
            &["providers", "fetsh"],
            "there is no command `providers fetsh`; did you mean `fetch`? (`capstan help providers` lists the commands)",
        );
    }

    #[test]
    fn a_section_ends_where_a_heading_is_not_below_it() {
        let page = "# A\n\na\n\n## B `x`\n\nb\n\n### C\n\nc\n\n```sh\n# no heading\n```\n\n## D\n\nd\n";
        assert_eq!(
            section(page, &headings(page), "b-x"),
            Some("## B `x`\n\nb\n\n### C\n\nc\n\n```sh\n# no heading\n```\n\n")
        );
        assert_eq!(section(page, &headings(page), "d"), Some("## D\n\nd\n"));
        assert_eq!(section(page, &headings(page), "a"), Some(page));
        assert_eq!(section(page, &headings(page), "no-heading"), None);
    }

    #[test]
    fn whatever_a_message_names_is_there() {
        for refusal in Refusal::ALL {
            let topic = refusal.topic();
            assert!(asked(&[&topic]).unwrap().starts_with('#'), "{topic}");
        }
    }
}
