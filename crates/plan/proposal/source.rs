//! The source state that a proposal offers, the digest of what it writes, and their trailers.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use capstan_model::file_change::FileChange;
use capstan_model::source::{SourceContent, SourceId};
use capstan_model::tree::CommitId;

/// Trailer of Capstan's commits: the source offered and its content, as [`SourceState`] is written.
pub const TRAILER_SOURCE: &str = "Capstan-Source";
/// Trailer of Capstan's commits: the repository and commit that the release comes from, where that is
/// another repository.
pub const TRAILER_RELEASES: &str = "Capstan-Releases";
/// Trailer of Capstan's commits: digest of what was written.
pub const TRAILER_PLAN: &str = "Capstan-Plan";
/// Trailer of Capstan's commits: a code under Capstan's key, without which the other trailers are anybody's word.
pub const TRAILER_SEAL: &str = "Capstan-Seal";

/// The value of a trailer in a commit's message. Only the last paragraph counts, so that a quoted message above does
/// not. Of a trailer that occurs twice, the last one counts.
pub fn trailer_value<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    let paragraph = message.trim_end().rsplit("\n\n").next()?;
    let value = |line: &'a str| line.split_once(':').filter(|(name, _)| name.trim() == key);
    paragraph.lines().rev().find_map(value).map(|(_, value)| value.trim())
}

/// A source of change and its content: `aws/v22.0.0@9d1f…`, `aws/v22.0.0@9d1f…+0a1b…` of a release that reads files
/// outside of its folder, `values://gauss/peu01.yaml@9d1f…` of a source of another kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceState {
    source: SourceId,
    content: Option<SourceContent>,
}

impl SourceState {
    /// The state of a source with that content; `None` where the content is unknown.
    pub const fn new(source: SourceId, content: Option<SourceContent>) -> Self {
        Self { source, content }
    }

    /// Reads what [`fmt::Display`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (source, content) = text.rsplit_once('@')?;
        let content = match content {
            "-" => None,
            content => Some(SourceContent::parse(content)?),
        };
        Some(Self { source: SourceId::parse(&decode(source)?)?, content })
    }

    pub const fn source(&self) -> &SourceId {
        &self.source
    }
}

impl fmt::Display for SourceState {
    /// Control characters, blanks and `%` are written as `%XX`: a trailer is one line. So is what GitHub takes for a
    /// reference in a commit's message, where a folder called `fixes #1` would close an issue: `#`, `@`, and the dash
    /// of `GH-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.source.to_string();
        for (at, c) in source.char_indices() {
            let refers = match c {
                '#' | '@' => true,
                '-' => source[..at].to_ascii_lowercase().ends_with("gh"),
                _ => false,
            };
            if c.is_control() || c.is_whitespace() || c == '%' || refers {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    write!(f, "%{byte:02X}")?;
                }
            } else {
                write!(f, "{c}")?;
            }
        }
        match &self.content {
            Some(content) => write!(f, "@{content}"),
            None => f.write_str("@-"),
        }
    }
}

pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Another repository that releases come from: `acme/releases@1a2b…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasesOrigin {
    /// `owner/name`
    pub repository: String,
    /// The tip of its default branch when the upgrade was planned.
    pub commit: CommitId,
}

impl fmt::Display for ReleasesOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.repository, self.commit)
    }
}

/// Digest of the files that a proposal writes: their paths and whole new contents. It does not depend on the contents
/// before, so it stays the same when the base moves elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlanDigest(Arc<str>);

impl PlanDigest {
    /// The digest of what these changes write; a file whose text stays counts for nothing.
    pub fn of(files: &[FileChange]) -> Self {
        let changed = files.iter().filter(|file| file.before != file.after);
        Self::of_contents(changed.map(|file| (file.path.as_str(), file.after.as_deref().map(str::as_bytes))))
    }

    /// The same of paths and contents (`None` = the file goes), in any order.
    pub fn of_contents<'a>(contents: impl Iterator<Item = (&'a str, Option<&'a [u8]>)>) -> Self {
        let mut contents: Vec<_> = contents.collect();
        contents.sort_unstable();
        let mut hash = Sha256::new();
        for (path, content) in contents {
            // Lengths before contents: no two different lists give the same bytes.
            hash.update((path.len() as u64).to_be_bytes());
            hash.update(path.as_bytes());
            match content {
                Some(content) => {
                    hash.update([1]);
                    hash.update((content.len() as u64).to_be_bytes());
                    hash.update(content);
                }
                None => hash.update([0]),
            }
        }
        Self(capstan_model::digest::hex(&hash.finalize())[..32].into())
    }

    /// Reads a digest from a trailer; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (hex && text.len() == 32).then(|| Self(text.into()))
    }

    /// 32 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::ids::{ContentId, ReleaseId};
    use capstan_model::tree::{RepoPath, TreeId};

    #[test]
    fn a_source_reads_back_what_it_writes() {
        let plain = ContentId::from(TreeId::parse("9d1f000000000000000000000000000000000000").unwrap());
        let path = capstan_model::tree::OutsidePath::parse("../parts/pool.yaml").unwrap();
        let blob = capstan_model::tree::BlobId::parse(&"0".repeat(40)).unwrap();
        let reading = ContentId { reads: [(path, blob)].into(), ..plain.clone() };
        let written = [
            "aws/v22.0.0",
            "a@b/v1.0.0",
            "odd\nname/v1.0.0",
            "50%/v1.0.0",
            "values://a@b c.yaml",
            "fixes #1/acme/x#2/v1.0.0",
            "closes:GH-3/v1.0.0",
        ];
        for name in written {
            for content in [None, Some(&plain), Some(&reading)] {
                let id = SourceId::parse(name).unwrap();
                let source = SourceState::new(id, content.map(SourceContent::from));
                let text = source.to_string();
                assert!(!text.contains(['\n', '#']) && !text.contains("GH-"), "{text}");
                assert_eq!(SourceState::parse(&text).unwrap(), source);
            }
        }
        let release = ReleaseId::from_path("aws/v22.0.0");
        let of = |content| SourceState::new(SourceId::from(&release), Some(SourceContent::from(content)));
        assert_ne!(of(&plain), of(&reading));
        let as_before = SourceState::parse("a#1@b/v1.0.0@-").unwrap();
        assert_eq!(as_before.to_string(), "a%231%40b/v1.0.0@-");
        assert_eq!(SourceState::parse("aws/v22.0.0"), None);
        assert_eq!(SourceState::parse("aws/v22.0.0@nonsense"), None);
        assert_eq!(SourceState::parse("@-"), None);
    }

    #[test]
    fn only_trailers_of_the_last_paragraph_count() {
        let message = "Upgrade\n\nCapstan-Plan: quoted\n\nCapstan-Source: a/v1.0.0@-\nCapstan-Plan: 12\n";
        assert_eq!(trailer_value(message, TRAILER_PLAN), Some("12"));
        assert_eq!(trailer_value(message, TRAILER_SOURCE), Some("a/v1.0.0@-"));
        assert_eq!(trailer_value("Capstan-Plan: 1\n\nmore", TRAILER_PLAN), None);
    }

    #[test]
    fn the_digest_depends_on_what_is_written_and_on_nothing_else() {
        let file = |before: Option<&str>, after: Option<&str>| FileChange {
            path: RepoPath::parse("a/base/x.yaml").unwrap(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let written = PlanDigest::of(&[file(Some("old"), Some("new"))]);
        assert_eq!(written, PlanDigest::of(&[file(Some("other"), Some("new"))]));
        assert_ne!(written, PlanDigest::of(&[file(Some("old"), None)]));
        assert_ne!(written, PlanDigest::of(&[file(Some("new"), Some("new"))]));
        assert_eq!(PlanDigest::parse(written.as_str()), Some(written));
    }
}
