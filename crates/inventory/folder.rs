//! The folder of a new cluster: a pattern with names in braces.

use std::collections::BTreeMap;
use std::fmt;

use capstan_model::spelling::hint;
use capstan_model::tree::RepoPath;

use super::origin::LevelKind;

/// `{customer}/{name}`: text and, in braces, a level or `name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderPattern {
    text: String,
    parts: Vec<FolderPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FolderPart {
    Text(String),
    Name,
    Level(LevelKind),
}

impl Default for FolderPattern {
    fn default() -> Self {
        let parts =
            vec![FolderPart::Level(LevelKind::Customer), FolderPart::Text("/".to_owned()), FolderPart::Name];
        Self { text: "{customer}/{name}".to_owned(), parts }
    }
}

impl FolderPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Why it is not valid, as a sentence without a full stop.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((word, behind)) = after.split_once('}') else {
                return Err(format!("`{text}` has a `{{` without its `}}`"));
            };
            if before.contains('}') {
                return Err(format!("`{text}` has a `}}` without its `{{`"));
            }
            if !before.is_empty() {
                parts.push(FolderPart::Text(before.to_owned()));
            }
            parts.push(match (word, LevelKind::of_word(word)) {
                ("name", _) => FolderPart::Name,
                (_, Some(level)) => FolderPart::Level(level),
                _ => {
                    let known = ["name", "environment", "customer", "site", "infraProvider"];
                    return Err(format!("`{{{word}}}` is not a level{}", hint(word, &known)));
                }
            });
            rest = behind;
        }
        if rest.contains('}') {
            return Err(format!("`{text}` has a `}}` without its `{{`"));
        }
        if !rest.is_empty() {
            parts.push(FolderPart::Text(rest.to_owned()));
        }
        if !parts.contains(&FolderPart::Name) {
            return Err(format!("`{text}` lacks `{{name}}`, so all clusters would share a folder"));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// The folder of a cluster.
    ///
    /// # Errors
    /// Why it has none: it has no level that the pattern names, or the result is not a path.
    pub fn folder(&self, name: &str, levels: &BTreeMap<LevelKind, String>) -> Result<RepoPath, String> {
        let mut path = String::new();
        for part in &self.parts {
            match part {
                FolderPart::Text(text) => path.push_str(text),
                FolderPart::Name => path.push_str(name),
                FolderPart::Level(level) => path.push_str(levels.get(level).ok_or_else(|| {
                    format!(
                        "the pattern `{}` of folders names {}, but this cluster is in none: write `in: {{{}: …}}`, or `folder`",
                        self.text,
                        level.kind(),
                        level.word()
                    )
                })?),
            }
        }
        RepoPath::parse(&path).map_err(|error| error.to_string())
    }
}

impl fmt::Display for FolderPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_make_folders_or_say_why_not() {
        let levels = BTreeMap::from([(LevelKind::Customer, "acme".to_owned())]);
        for (pattern, expected) in [
            ("{customer}/{name}", Ok("acme/peu01")),
            ("clusters/{customer}-x/{name}.d", Ok("clusters/acme-x/peu01.d")),
            ("{name}", Ok("peu01")),
            ("{customer}", Err("`{customer}` lacks `{name}`, so all clusters would share a folder")),
            ("{custmer}/{name}", Err("`{custmer}` is not a level; did you mean `customer`?")),
            ("{name", Err("`{name` has a `{` without its `}`")),
            ("name}{name}", Err("`name}{name}` has a `}` without its `{`")),
            ("{name}}", Err("`{name}}` has a `}` without its `{`")),
            (
                "{site}/{name}",
                Err(
                    "the pattern `{site}/{name}` of folders names Site, but this cluster is in none: write `in: {site: …}`, or `folder`",
                ),
            ),
            (
                "../{name}",
                Err(
                    "`../peu01` is not a path inside the repository (relative, without `.`, `..`, empty parts or backslashes)",
                ),
            ),
        ] {
            let made = FolderPattern::parse(pattern).and_then(|pattern| pattern.folder("peu01", &levels));
            let made = made.as_ref().map(RepoPath::as_str).map_err(String::as_str);
            assert_eq!(made, expected, "{pattern}");
        }
    }
}
