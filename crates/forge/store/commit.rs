//! Commits, and their ids.

use gix::ObjectId;

/// Parses forty hexadecimal digits.
pub(crate) fn parse_id(text: &str) -> Option<ObjectId> {
    if text.len() == 40 { ObjectId::from_hex(text.as_bytes()).ok() } else { None }
}

/// Who wrote a commit, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) seconds: i64,
}

impl Signature {
    fn parse(line: &str) -> Signature {
        let (name, rest) = line.split_once('<').unwrap_or((line, ""));
        let (email, time) = rest.split_once('>').unwrap_or((rest, ""));
        let seconds = time.split_whitespace().next().and_then(|s| s.parse().ok()).unwrap_or(0);
        Signature { name: name.trim().to_owned(), email: email.to_owned(), seconds }
    }

    fn line(&self) -> String {
        format!("{} <{}> {} +0000", self.name, self.email, self.seconds)
    }
}

/// A commit, parsed.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) id: ObjectId,
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Signature,
    pub(crate) committer: Signature,
    pub(crate) message: String,
    /// The `gpgsig` header, unfolded.
    pub(crate) signature: Option<String>,
    /// The commit object without its signature: what was signed.
    pub(crate) payload: String,
}

/// What a new commit says.
pub(crate) struct NewCommit<'a> {
    pub(crate) tree: ObjectId,
    pub(crate) parents: &'a [ObjectId],
    pub(crate) author: &'a Signature,
    pub(crate) committer: &'a Signature,
    pub(crate) message: &'a str,
}

impl NewCommit<'_> {
    /// The commit object's bytes without a signature.
    pub(crate) fn payload(&self) -> String {
        let parents: String = self.parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        format!(
            "tree {}\n{parents}author {}\ncommitter {}\n\n{}",
            self.tree,
            self.author.line(),
            self.committer.line(),
            self.message
        )
    }
}

/// Reads a commit object's bytes.
pub(super) fn parse_commit(id: ObjectId, data: &[u8]) -> Option<Commit> {
    let text = String::from_utf8_lossy(data);
    let (head, message) = text.split_once("\n\n")?;
    let mut tree = None;
    let mut parents = Vec::new();
    let (mut author, mut committer) = (None, None);
    let mut signature: Option<String> = None;
    let mut unsigned = Vec::new();
    let mut in_signature = false;
    for line in head.split('\n') {
        if in_signature && let Some(folded) = line.strip_prefix(' ') {
            if let Some(signature) = &mut signature {
                signature.push('\n');
                signature.push_str(folded);
            }
            continue;
        }
        in_signature = false;
        match line.split_once(' ') {
            Some(("gpgsig", first)) => {
                signature = Some(first.to_owned());
                in_signature = true;
                continue;
            }
            Some(("tree", value)) => tree = parse_id(value),
            Some(("parent", value)) => parents.push(parse_id(value)?),
            Some(("author", value)) => author = Some(Signature::parse(value)),
            Some(("committer", value)) => committer = Some(Signature::parse(value)),
            _ => {}
        }
        unsigned.push(line);
    }
    Some(Commit {
        id,
        tree: tree?,
        parents,
        author: author?,
        committer: committer?,
        message: message.to_owned(),
        signature,
        payload: format!("{}\n\n{message}", unsigned.join("\n")),
    })
}
