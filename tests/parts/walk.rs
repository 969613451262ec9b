//! Pages whose commands are run: the tutorials and the examples.
//!
//! A page that [`is_walk`] is a walk: its blocks are taken in their order, in an empty folder.
//!
//! | info string | does |
//! |---|---|
//! | `console` | runs each command behind `$ ` (going on behind `> `) and compares what it prints |
//! | `yaml file:PATH` and the like | writes the file |
//! | anything else | nothing here: `tests/cli/docs/blocks.rs` reads it |
//!
//! `…` in the shown output matches any text; a whole line of it matches any lines. A command that `capstan` ends with
//! another code than 0 prints the page that explains it last, and a page shows that line.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use capstan_forge::Forge;
use capstan_test_support::tally;

use crate::page::{Block, Page};
use crate::{program, root};

/// What a block of a walk writes: the path behind `file:`.
pub fn written_file(block: &Block) -> Option<&str> {
    block.info.split_once(" file:").map(|(_, path)| path)
}

/// Whether the commands of a page are run.
pub fn is_walk(path: &str) -> bool {
    path.starts_with("docs/tutorials/") || path == "docs/examples.md"
}

/// A folder in which the commands of a page are run.
struct Walk {
    folder: tempfile::TempDir,
    /// Where the next command runs.
    at: PathBuf,
    path: OsString,
    variables: Vec<(String, String)>,
}

impl Walk {
    fn new(variables: &[(&str, &str)], programs: &[&Path]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let capstan = program().parent().unwrap().to_owned();
        let programs = std::iter::once(capstan).chain(programs.iter().map(|folder| folder.to_path_buf()));
        let others = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(programs.chain(std::env::split_paths(&others))).unwrap();
        let at = folder.path().join("walk");
        fs::create_dir(&at).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { at, folder, path, variables: variables.collect() }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What a command prints, on both outputs, as a terminal would show it.
    fn run(&mut self, command: &str) -> String {
        let ended = self.folder.path().join("ended");
        let script = format!("exec 2>&1\ntrap 'echo \"$? $PWD\" >\"$ENDED\"' EXIT\n{command}");
        let said = tally::command("bash")
            .args(["-uo", "pipefail", "-c", &script])
            .current_dir(&self.at)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("PATH", &self.path)
            .env("HOME", self.folder.path())
            .env("ENDED", &ended)
            .env("CAPSTAN", root())
            .env("NO_PROXY", "*")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Ada")))
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "ada@example.com")))
            .env_remove("GIT_DIR")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let ended = fs::read_to_string(ended).unwrap();
        let (code, at) = ended.trim_end().split_once(' ').unwrap();
        self.at = PathBuf::from(at);
        let names_its_page = said.lines().last().is_some_and(|line| line.starts_with("see capstan help "));
        assert_eq!(code != "0", names_its_page, "`{command}` ended with {code}:\n{said}");
        said
    }
}

/// The commands of a block of `console`, each with what the page shows of it.
pub fn commands(block: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), line.strip_prefix("> "), all.last_mut()) {
            (Some(command), _, _) => all.push((command.to_owned(), String::new())),
            (None, Some(more), Some((command, shown))) if shown.is_empty() => {
                command.push('\n');
                command.push_str(more);
            }
            (None, _, Some((_, shown))) => {
                shown.push_str(line);
                shown.push('\n');
            }
            (None, _, None) => assert!(line.is_empty(), "`{line}` stands before any command"),
        }
    }
    all
}

/// Whether a page shows what was printed.
pub fn shows(shown: &str, printed: &str) -> bool {
    let [shown, printed] = [shown, printed].map(|text| text.trim_end().lines().collect::<Vec<_>>());
    shows_lines(&shown, &printed)
}

fn shows_lines(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        (["…", more @ ..], _) => (0..=printed.len()).any(|at| shows_lines(more, &printed[at..])),
        ([line, more @ ..], [other, others @ ..]) => shows_line(line, other) && shows_lines(more, others),
        (shown, printed) => shown.is_empty() && printed.is_empty(),
    }
}

fn shows_line(shown: &str, printed: &str) -> bool {
    let Some((first, more)) = shown.split_once('…') else { return shown.trim_end() == printed.trim_end() };
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let parts: Vec<&str> = more.split('…').collect();
    let [between @ .., last] = parts.as_slice() else { return false };
    for part in between {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Walks through a page; `between` is called after each command.
pub fn walk(page: &Page, variables: &[(&str, &str)], programs: &[&Path], mut between: impl FnMut()) {
    let mut walk = Walk::new(variables, programs);
    let mut run = 0;
    for block in &page.blocks {
        if let Some(path) = written_file(block) {
            walk.write(path, &block.text);
        }
        if block.info != "console" {
            continue;
        }
        for (command, shown) in commands(&block.text) {
            let printed = walk.run(&command);
            assert!(
                shows(&shown, &printed),
                "{}: $ {command}\n-- the page shows\n{shown}\n-- printed is\n{printed}",
                block.place
            );
            run += 1;
            between();
        }
    }
    assert!(run > 3, "{}: {run} commands: the test looks in the wrong place", page.path);
}

/// What a demo prints for people who want to push: a repository's address, and a file with credentials for it.
pub fn access(forge: &Forge, repository: &str, folder: &Path) -> (String, PathBuf) {
    let address = forge.url().trim_start_matches("http://");
    let credentials = folder.join("git-credentials");
    let token = forge.token_for("ada").unwrap();
    fs::write(&credentials, format!("http://ada:{token}@{address}\n")).unwrap();
    (format!("http://ada@{address}/{repository}.git"), credentials)
}

#[test]
fn what_a_page_shows_is_held_against_what_is_printed() {
    for (shown, printed) in [
        ("a\nb\n", "a\nb\n"),
        ("", ""),
        ("a\n…\nd\n", "a\nb\nc\nd\n"),
        ("a\n…\nd\n", "a\nd\n"),
        ("a\n…", "a\n"),
        ("one 9d1… two…", "one 9d1f3a two three\n"),
    ] {
        assert!(shows(shown, printed), "{shown:?} does not show {printed:?}");
    }
    for (shown, printed) in
        [("", "a"), ("a", ""), ("a\n…\nd", "a\nb"), ("…\nb", "a\nb c"), ("b…", "a b"), ("a…b…c", "a c")]
    {
        assert!(!shows(shown, printed), "{shown:?} shows {printed:?}");
    }
    let block = "$ cat <<E |\n> two\n> E\n> sort\ntwo\n$ true\n";
    let expected = [("cat <<E |\ntwo\nE\nsort", "two\n"), ("true", "")];
    assert_eq!(commands(block), expected.map(|(command, shown)| (command.to_owned(), shown.to_owned())));
}
