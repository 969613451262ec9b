//! `capstan help`: of a command what clap says, of a topic the page of the documentation.
//!
//! A topic is a page's name below `docs/`, with or without `.md`, or the id of a rule; `#HEADING` behind it asks for one
//! section. Where a command has the name of a page, the command is meant: `providers.md` means the page.

mod pages;

use capstan_model::spelling::nearest;
use capstan_report::{Refusal, anchor};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::arguments::Help;
use super::{Failure, Outcome, examples, output, text};

pub(super) fn run(asked: &Help) -> Result<Outcome, Failure> {
    output::print(&told(&asked.words)?)?;
    Ok(Outcome::Done)
}

fn told(words: &[String]) -> Result<String, Failure> {
    if let Some(help) = of_command(words) {
        return Ok(help);
    }
    match words {
        [word] if word == "pages" => Ok(list()),
        [topic] => of_page(topic),
        _ => Err(Failure::Usage(
            Refusal::Usage,
            format!("there is no command `{}`; `capstan help` lists the commands", words.join(" ")),
        )),
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
}

fn of_page(topic: &str) -> Result<String, Failure> {
    let (name, heading) = match topic.split_once('#') {
        Some((name, heading)) => (name, Some(heading)),
        None => (topic, None),
    };
    let name = name.strip_prefix("docs/").unwrap_or(name);
    let name = name.strip_suffix(".md").unwrap_or(name);
    let Some(page) = pages::page(name) else { return Err(no_such_page(name)) };
    match heading {
        None => Ok(page.to_owned()),
        Some(heading) => {
            section(page, heading).map(|section| format!("{}\n", section.trim_end())).ok_or_else(|| {
                let headings = headings(page);
                let near = nearest(heading, headings.iter().map(|heading| heading.anchor.as_str()));
                let hint = near.map(|near| format!("; did you mean `{name}#{near}`?")).unwrap_or_default();
                Failure::Usage(
                    Refusal::NotFound,
                    format!("the page `{name}` has no heading `{heading}`{hint}"),
                )
            })
        }
    }
}

fn no_such_page(name: &str) -> Failure {
    let command = examples::command();
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut known: Vec<&str> = commands.map(clap::Command::get_name).collect();
    for known_name in pages::names().chain(capstan_plan::policy::ids()) {
        known.push(known_name);
    }
    let hint = nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Failure::Usage(
        Refusal::NotFound,
        format!("there is no command and no page `{name}`{hint} (`capstan help pages` lists the pages)"),
    )
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
fn section<'p>(page: &'p str, anchor: &str) -> Option<&'p str> {
    let headings = headings(page);
    let at = headings.iter().position(|heading| heading.anchor == anchor)?;
    let asked = &headings[at];
    let next = headings[at + 1..].iter().find(|heading| heading.level <= asked.level);
    Some(&page[asked.start..next.map_or(page.len(), |next| next.start)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Result<String, String> {
        told(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).map_err(
            |failure| match failure {
                Failure::Usage(_, message) | Failure::Failed(_, message) => message,
            },
        )
    }

    #[test]
    fn commands_pages_rules_and_sections_are_told() {
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
        has(&["pages"], "", "\n");
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
            "the page `commands` has no heading `who-my`; did you mean `commands#who-may`?",
        );
        says(
            &["providers", "fetsh"],
            "there is no command `providers fetsh`; `capstan help` lists the commands",
        );
    }

    #[test]
    fn a_section_ends_where_a_heading_is_not_below_it() {
        let page = "# A\n\na\n\n## B `x`\n\nb\n\n### C\n\nc\n\n```sh\n# no heading\n```\n\n## D\n\nd\n";
        assert_eq!(section(page, "b-x"), Some("## B `x`\n\nb\n\n### C\n\nc\n\n```sh\n# no heading\n```\n\n"));
        assert_eq!(section(page, "d"), Some("## D\n\nd\n"));
        assert_eq!(section(page, "a"), Some(page));
        assert_eq!(section(page, "no-heading"), None);
    }

    #[test]
    fn whatever_a_message_names_is_there() {
        for refusal in Refusal::ALL {
            let topic = refusal.topic();
            assert!(
                asked(&[&topic]).unwrap().starts_with("## ") || asked(&[&topic]).unwrap().starts_with('#'),
                "{topic}"
            );
        }
    }
}
