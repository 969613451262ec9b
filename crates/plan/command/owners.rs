//! Who owns a path: GitHub's `CODEOWNERS`.
//!
//! It is read as GitHub reads it
//! (<https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners>).
//! Patterns are those of `.gitignore`, and the last match decides. A pattern without owners leaves its paths
//! without owners. Lines with patterns that GitHub does not support (`!`, character classes) are skipped.

use crate::settings::Principal;

/// Where the file may be; the first that exists counts.
pub const CODE_OWNERS_FILES: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

/// GitHub reads no larger one, in bytes.
const LARGEST: usize = 3 << 20;

/// The owners of a repository's paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeOwners(Vec<Line>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    patterns: Vec<String>,
    owners: Vec<CodeOwner>,
}

/// Who owns something.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CodeOwner {
    Known(Principal),
    /// An e-mail address: GitHub alone knows whose.
    Unknown(String),
}

impl CodeOwners {
    /// Reads a file. Lines that GitHub passes over are passed over.
    pub fn read(text: &str) -> Self {
        if text.len() > LARGEST {
            return Self::default();
        }
        Self(text.lines().filter_map(line).collect())
    }

    /// The owners if the file cannot be read: all paths have owners, but they are unknown.
    pub fn unreadable() -> Self {
        let owners = vec![CodeOwner::Unknown(String::new())];
        Self(vec![Line { patterns: vec!["**".to_owned()], owners }])
    }

    /// The owners of a path that are people or teams; `None` if it has no owners.
    pub fn of(&self, path: &str) -> Option<Vec<&Principal>> {
        let last = self
            .0
            .iter()
            .rfind(|line| line.patterns.iter().any(|pattern| glob_match::glob_match(pattern, path)))?;
        let known = last.owners.iter().filter_map(|owner| match owner {
            CodeOwner::Known(principal) => Some(principal),
            CodeOwner::Unknown(_) => None,
        });
        (!last.owners.is_empty()).then(|| known.collect())
    }
}

fn line(text: &str) -> Option<Line> {
    // A comment begins anywhere but in an escaped `#`.
    let end = text.char_indices().find(|(at, c)| *c == '#' && !text[..*at].ends_with('\\'));
    let text = end.map_or(text, |(at, _)| &text[..at]);
    let mut words = split_words(text).into_iter();
    let pattern = words.next()?;
    let patterns = patterns(&pattern)?;
    let owners: Option<Vec<CodeOwner>> = words.map(|word| owner(&word)).collect();
    Some(Line { patterns, owners: owners? })
}

/// Words between blanks; `\ ` is a blank in a word.
fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut escaped) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            c if c.is_whitespace() && !escaped => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            c => word.push(c),
        }
        escaped = false;
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn owner(word: &str) -> Option<CodeOwner> {
    if word.starts_with('@') {
        return Principal::parse(word).ok().map(CodeOwner::Known);
    }
    word.contains('@').then(|| CodeOwner::Unknown(word.to_owned()))
}

/// The patterns over whole paths that mean the same as a pattern of the file.
fn patterns(pattern: &str) -> Option<Vec<String>> {
    if pattern.starts_with('!') || pattern.contains(['[', ']', '{', '}']) {
        return None;
    }
    let inner = pattern.strip_prefix('/').unwrap_or(pattern);
    let is_folder = inner.ends_with('/');
    let inner = inner.trim_end_matches('/');
    if inner.is_empty() {
        return is_folder.then(|| vec!["**".to_owned()]);
    }
    // A pattern with a slash in it, other than at its end, begins at the root.
    let is_from_root = pattern.starts_with('/') || inner.contains('/');
    let from = if is_from_root || inner.starts_with("**") { String::new() } else { "**/".to_owned() };
    let below = format!("{from}{inner}/**");
    // What ends in `/*` are the files of that folder, and not those below.
    let is_shallow = inner.ends_with("/*");
    let itself = (!is_folder).then(|| format!("{from}{inner}"));
    Some(itself.into_iter().chain((!is_shallow).then_some(below)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(file: &str, path: &str) -> String {
        match CodeOwners::read(file).of(path) {
            None => "-".to_owned(),
            Some(owners) => owners.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        }
    }

    /// The examples of GitHub's documentation, in other words.
    #[test]
    fn the_last_pattern_that_matches_says_who_owns_a_path() {
        let file = "\
# everything
*       @acme/all @ada
*.js    @grace # scripts
*.go docs@example.com
/build/logs/ @linus
docs/*  @writer
apps/   @octo
/apps/github
/gauss/**/overlay/ @acme/gauss
with\\ blank/ @blank
!gone @x
bad[a] @x
*.txt nobody
";
        for (path, expected) in [
            ("README.md", "@acme/all @ada"),
            ("src/a.js", "@grace"),
            ("main.go", ""),
            ("build/logs/x/y", "@linus"),
            ("sub/build/logs/x", "@acme/all @ada"),
            ("docs/start.md", "@writer"),
            ("docs/build/more.md", "@acme/all @ada"),
            ("apps/x", "@octo"),
            ("sub/apps/x/y", "@octo"),
            ("apps/github", "-"),
            ("apps/github/x", "-"),
            ("gauss/peu01/overlay/a/b.yaml", "@acme/gauss"),
            ("gauss/peu01/base/b.yaml", "@acme/all @ada"),
            ("with blank/x", "@blank"),
            ("notes.txt", "@acme/all @ada"),
        ] {
            assert_eq!(owners(file, path), expected, "{path}");
        }
        assert_eq!(owners("", "README.md"), "-");
        assert_eq!(owners("/gauss/ @ada", "README.md"), "-");
    }
}
