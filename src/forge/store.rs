//! One bare Git repository on disk: objects through gix, references as loose files, and the `git` program for
//! what only it does well (three-way merges, patches, walks and the wire protocol).
//!
//! References are written as loose files and never packed: the forge holds one lock while it changes them, so a
//! rename is all the atomicity that is needed, and reading one costs no process. Nothing here knows about pull
//! requests or events.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gix::ObjectId;
use gix::objs::{Kind, Write as _};

/// What can go wrong below the level of GitHub's semantics.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The `git` program could not be run, or refused.
    #[error("git {command} failed: {stderr}")]
    Git {
        /// The arguments it was given.
        command: String,
        /// What it said, or why it did not start.
        stderr: String,
    },
    /// A file of the repository could not be read or written.
    #[error("cannot access {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The object database refused to read or write.
    #[error("object database: {0}")]
    Odb(String),
    /// An object is absent or is not what its name promises.
    #[error("object {id} is not a readable {expected}")]
    Object {
        /// The object asked for.
        id: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// A reference name that Git would refuse, or that collides with a folder of references.
    #[error("{0} is not a usable reference name")]
    ReferenceName(String),
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

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Octal digits as Git writes them, six of them: `100644`, `040000`.
    pub(crate) mode: String,
    pub(crate) id: ObjectId,
}

impl Entry {
    pub(crate) fn is_tree(&self) -> bool {
        self.mode == "040000"
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.mode.as_str() {
            "040000" => "tree",
            "160000" => "commit",
            _ => "blob",
        }
    }
}

/// A file that differs between two trees.
#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) before: Option<Entry>,
    pub(crate) after: Option<Entry>,
}

/// A bare repository.
pub(crate) struct Store {
    path: PathBuf,
    odb: gix::ThreadSafeRepository,
}

impl Store {
    /// Creates an empty bare repository.
    pub(crate) fn create(path: &Path, default_branch: &str) -> Result<Store, StoreError> {
        let mut init = Command::new("git");
        init.args(["init", "--quiet", "--bare", "--template=", "--initial-branch", default_branch]).arg(path);
        run(quiet(&mut init), b"")?;
        let store_config = [
            ("gc.auto", "0"),
            ("receive.autogc", "false"),
            ("uploadpack.allowFilter", "true"),
            ("uploadpack.allowReachableSHA1InWant", "true"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("core.logAllRefUpdates", "false"),
        ];
        for (key, value) in store_config {
            let mut config = Command::new("git");
            config.arg("-C").arg(path).args(["config", key, value]);
            run(quiet(&mut config), b"")?;
        }
        let odb =
            gix::ThreadSafeRepository::open(path).map_err(|error| StoreError::Odb(error.to_string()))?;
        Ok(Store { path: path.to_owned(), odb })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A `git` command on this repository, without this machine's own configuration.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.path);
        quiet(&mut command);
        command
    }

    /// Runs `git` and returns what it wrote.
    pub(crate) fn git(&self, args: &[&str]) -> Result<Vec<u8>, StoreError> {
        run(self.command().args(args), b"")
    }

    /// Reads an object, `None` where it is absent.
    pub(crate) fn read(&self, id: ObjectId) -> Result<Option<(Kind, Vec<u8>)>, StoreError> {
        let repository = self.odb.to_thread_local();
        let object = repository.try_find_object(id).map_err(|error| StoreError::Odb(error.to_string()))?;
        Ok(object.map(|object| {
            let object = object.detach();
            (object.kind, object.data)
        }))
    }

    pub(crate) fn write(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        let repository = self.odb.to_thread_local();
        repository.objects.write_buf(kind, data).map_err(|error| StoreError::Odb(error.to_string()))
    }

    pub(crate) fn blob(&self, id: ObjectId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(id)?.filter(|(kind, _)| *kind == Kind::Blob).map(|(_, data)| data))
    }

    /// Reads a commit, `None` where there is no such object or it is of another kind.
    pub(crate) fn commit(&self, id: ObjectId) -> Result<Option<Commit>, StoreError> {
        let Some((Kind::Commit, data)) = self.read(id)? else { return Ok(None) };
        parse_commit(id, &data).map(Some).ok_or(StoreError::Object { id: id.to_string(), expected: "commit" })
    }

    /// Reads a commit that must exist.
    pub(crate) fn known_commit(&self, id: ObjectId) -> Result<Commit, StoreError> {
        self.commit(id)?.ok_or(StoreError::Object { id: id.to_string(), expected: "commit" })
    }

    /// Writes a commit; the signature goes into a `gpgsig` header.
    pub(crate) fn write_commit(
        &self,
        commit: &NewCommit<'_>,
        signature: Option<&str>,
    ) -> Result<ObjectId, StoreError> {
        let payload = commit.payload();
        let Some(signature) = signature else { return self.write(Kind::Commit, payload.as_bytes()) };
        let (head, message) = payload.split_once("\n\n").unwrap_or((&payload, ""));
        let folded = signature.trim_end().replace('\n', "\n ");
        self.write(Kind::Commit, format!("{head}\ngpgsig {folded}\n\n{message}").as_bytes())
    }

    /// The entries of one tree, by name.
    pub(crate) fn tree(&self, id: ObjectId) -> Result<BTreeMap<String, Entry>, StoreError> {
        let malformed = || StoreError::Object { id: id.to_string(), expected: "tree" };
        let Some((Kind::Tree, data)) = self.read(id)? else { return Err(malformed()) };
        let mut entries = BTreeMap::new();
        let mut rest = data.as_slice();
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(malformed)?;
            let nul = rest.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
            let id = rest.get(nul + 1..nul + 21).ok_or_else(malformed)?;
            let mode = String::from_utf8_lossy(&rest[..space]);
            let name = String::from_utf8_lossy(&rest[space + 1..nul]).into_owned();
            let id = ObjectId::try_from(id).map_err(|_| malformed())?;
            entries.insert(name, Entry { mode: format!("{mode:0>6}"), id });
            rest = &rest[nul + 21..];
        }
        Ok(entries)
    }

    fn write_tree(&self, entries: &BTreeMap<String, Entry>) -> Result<ObjectId, StoreError> {
        // Git orders folders as if their names ended in a slash.
        let mut ordered: Vec<_> = entries.iter().collect();
        ordered.sort_by_key(|(name, entry)| {
            if entry.is_tree() { format!("{name}/").into_bytes() } else { name.as_bytes().to_vec() }
        });
        let mut data = Vec::new();
        for (name, entry) in ordered {
            data.extend_from_slice(entry.mode.trim_start_matches('0').as_bytes());
            data.push(b' ');
            data.extend_from_slice(name.as_bytes());
            data.push(0);
            data.extend_from_slice(entry.id.as_slice());
        }
        self.write(Kind::Tree, &data)
    }

    /// A tree with the given paths set (`Some`) or removed (`None`); folders that become empty go.
    pub(crate) fn edit_tree(
        &self,
        base: Option<ObjectId>,
        edits: &[(String, Option<Entry>)],
    ) -> Result<ObjectId, StoreError> {
        let mut entries = match base {
            Some(base) => self.tree(base)?,
            None => BTreeMap::new(),
        };
        let mut below: BTreeMap<&str, Vec<(String, Option<Entry>)>> = BTreeMap::new();
        for (path, entry) in edits {
            match path.split_once('/') {
                Some((folder, rest)) => {
                    below.entry(folder).or_default().push((rest.to_owned(), entry.clone()))
                }
                None => match entry {
                    Some(entry) => drop(entries.insert(path.clone(), entry.clone())),
                    None => drop(entries.remove(path)),
                },
            }
        }
        for (folder, edits) in below {
            let current = entries.get(folder).filter(|entry| entry.is_tree()).map(|entry| entry.id);
            let tree = self.edit_tree(current, &edits)?;
            if tree == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
                entries.remove(folder);
            } else {
                entries.insert(folder.to_owned(), Entry { mode: "040000".to_owned(), id: tree });
            }
        }
        self.write_tree(&entries)
    }

    /// The entry at a path below a tree.
    pub(crate) fn entry(&self, tree: ObjectId, path: &str) -> Result<Option<Entry>, StoreError> {
        let mut entry = Entry { mode: "040000".to_owned(), id: tree };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !entry.is_tree() {
                return Ok(None);
            }
            match self.tree(entry.id)?.remove(name) {
                Some(next) => entry = next,
                None => return Ok(None),
            }
        }
        Ok(Some(entry))
    }

    /// Every entry below a tree, folders included, in path order.
    pub(crate) fn flatten(&self, tree: ObjectId) -> Result<BTreeMap<String, Entry>, StoreError> {
        let mut found = BTreeMap::new();
        self.flatten_into(tree, "", &mut found)?;
        Ok(found)
    }

    fn flatten_into(
        &self,
        tree: ObjectId,
        prefix: &str,
        found: &mut BTreeMap<String, Entry>,
    ) -> Result<(), StoreError> {
        for (name, entry) in self.tree(tree)? {
            let path = format!("{prefix}{name}");
            if entry.is_tree() {
                self.flatten_into(entry.id, &format!("{path}/"), found)?;
            }
            found.insert(path, entry);
        }
        Ok(())
    }

    /// The files that differ between two trees; renames are a removal and an addition.
    pub(crate) fn diff(
        &self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
    ) -> Result<Vec<FileChange>, StoreError> {
        let mut changes = Vec::new();
        self.diff_into(before, after, "", &mut changes)?;
        changes.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(changes)
    }

    fn diff_into(
        &self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        prefix: &str,
        changes: &mut Vec<FileChange>,
    ) -> Result<(), StoreError> {
        if before == after {
            return Ok(());
        }
        let mut left = before.map(|id| self.tree(id)).transpose()?.unwrap_or_default();
        let right = after.map(|id| self.tree(id)).transpose()?.unwrap_or_default();
        let mut pairs: Vec<(String, Option<Entry>, Option<Entry>)> =
            right.into_iter().map(|(name, entry)| (name.clone(), left.remove(&name), Some(entry))).collect();
        pairs.extend(left.into_iter().map(|(name, entry)| (name, Some(entry), None)));
        for (name, before, after) in pairs {
            if before == after {
                continue;
            }
            let path = format!("{prefix}{name}");
            let trees = (before.as_ref().filter(|e| e.is_tree()), after.as_ref().filter(|e| e.is_tree()));
            if trees.0.is_some() || trees.1.is_some() {
                let (left, right) = (trees.0.map(|e| e.id), trees.1.map(|e| e.id));
                self.diff_into(left, right, &format!("{path}/"), changes)?;
            }
            let (before, after) = (before.filter(|e| !e.is_tree()), after.filter(|e| !e.is_tree()));
            if before.is_some() || after.is_some() {
                changes.push(FileChange { path, before, after });
            }
        }
        Ok(())
    }

    /// Whether `ancestor` is reachable from `commit`.
    pub(crate) fn is_ancestor(&self, ancestor: ObjectId, commit: ObjectId) -> Result<bool, StoreError> {
        if ancestor == commit || self.commit(commit)?.is_some_and(|found| found.parents.contains(&ancestor)) {
            return Ok(true);
        }
        let mut command = self.command();
        command.args(["merge-base", "--is-ancestor", &ancestor.to_string(), &commit.to_string()]);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        Ok(status.is_ok_and(|status| status.success()))
    }

    /// The best common ancestor, `None` for unrelated histories.
    pub(crate) fn merge_base(&self, left: ObjectId, right: ObjectId) -> Result<Option<ObjectId>, StoreError> {
        if self.is_ancestor(left, right)? {
            return Ok(Some(left));
        }
        let found = self.git(&["merge-base", &left.to_string(), &right.to_string()]);
        Ok(found.ok().and_then(|out| parse_id(String::from_utf8_lossy(&out).trim())))
    }

    /// The commits reachable from `to` and not from `from`, oldest first.
    pub(crate) fn commits_between(
        &self,
        from: Option<ObjectId>,
        to: ObjectId,
    ) -> Result<Vec<ObjectId>, StoreError> {
        if from == Some(to) {
            return Ok(Vec::new());
        }
        if let Some(from) = from
            && self.commit(to)?.is_some_and(|commit| commit.parents == [from])
        {
            return Ok(vec![to]);
        }
        let mut args = vec!["rev-list".to_owned(), "--topo-order".into(), "--reverse".into(), to.to_string()];
        args.extend(from.map(|from| format!("^{from}")));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let out = self.git(&args)?;
        Ok(String::from_utf8_lossy(&out).lines().filter_map(parse_id).collect())
    }

    /// The tree of a three-way merge, `None` where it conflicts.
    pub(crate) fn merge_trees(
        &self,
        ours: ObjectId,
        theirs: ObjectId,
    ) -> Result<Option<ObjectId>, StoreError> {
        if self.is_ancestor(ours, theirs)? {
            return Ok(Some(self.known_commit(theirs)?.tree));
        }
        let mut command = self.command();
        command.args(["merge-tree", "--write-tree", "--no-messages", "--allow-unrelated-histories"]);
        command.args([ours.to_string(), theirs.to_string()]);
        let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(&command, &error))?;
        match output.status.code() {
            Some(0) => {
                let out = String::from_utf8_lossy(&output.stdout);
                Ok(out.lines().next().and_then(parse_id))
            }
            Some(1) => Ok(None),
            _ => Err(refused(&command, &output.stderr)),
        }
    }

    /// A unified diff between two trees.
    pub(crate) fn patch(&self, before: ObjectId, after: ObjectId) -> Result<String, StoreError> {
        let out =
            self.git(&["diff", "--no-color", "--no-renames", &before.to_string(), &after.to_string()])?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Reads a reference by its full name (`refs/heads/main`).
    pub(crate) fn reference(&self, name: &str) -> Option<ObjectId> {
        let text = std::fs::read_to_string(self.path.join(usable_name(name).ok()?)).ok()?;
        parse_id(text.trim())
    }

    /// Creates or moves a reference.
    pub(crate) fn set_reference(&self, name: &str, id: ObjectId) -> Result<(), StoreError> {
        let path = self.path.join(usable_name(name)?);
        if path.is_dir() {
            return Err(StoreError::ReferenceName(name.to_owned()));
        }
        let io = |source| StoreError::Io { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|_| StoreError::ReferenceName(name.to_owned()))?;
        }
        let fresh = self.path.join("capstan-new-reference");
        std::fs::write(&fresh, format!("{id}\n")).map_err(io)?;
        std::fs::rename(&fresh, &path).map_err(io)
    }

    /// Deletes a reference and the folders that become empty.
    pub(crate) fn delete_reference(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path.join(usable_name(name)?);
        std::fs::remove_file(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
        let keep = [self.path.join("refs"), self.path.join("refs/heads"), self.path.join("refs/tags")];
        let mut folder = path.parent();
        while let Some(current) = folder {
            if keep.iter().any(|kept| kept == current) || std::fs::remove_dir(current).is_err() {
                break;
            }
            folder = current.parent();
        }
        Ok(())
    }

    /// All references whose full name starts with a prefix, in order.
    pub(crate) fn references(&self, prefix: &str) -> Vec<(String, ObjectId)> {
        let mut found = Vec::new();
        let mut folders = vec![self.path.join("refs")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&self.path).unwrap_or(&path).to_string_lossy().into_owned();
                if let (true, Some(id)) = (name.starts_with(prefix), self.reference(&name)) {
                    found.push((name, id));
                }
            }
        }
        found.sort();
        found
    }
}

fn usable_name(name: &str) -> Result<&str, StoreError> {
    let refused = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock")
    };
    let bad = !name.starts_with("refs/")
        || name.contains("..")
        || name.contains("@{")
        || name.contains(refused)
        || name.split('/').any(bad_part)
        || name.split('/').count() < 3;
    if bad { Err(StoreError::ReferenceName(name.to_owned())) } else { Ok(name) }
}

/// Parses forty hexadecimal digits.
pub(crate) fn parse_id(text: &str) -> Option<ObjectId> {
    if text.len() == 40 { ObjectId::from_hex(text.as_bytes()).ok() } else { None }
}

fn parse_commit(id: ObjectId, data: &[u8]) -> Option<Commit> {
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

fn quiet(command: &mut Command) -> &mut Command {
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
}

fn not_started(command: &Command, error: &io::Error) -> StoreError {
    let stderr = match error.kind() {
        io::ErrorKind::NotFound => "there is no program `git` on the PATH; install Git".to_owned(),
        _ => error.to_string(),
    };
    StoreError::Git { command: arguments(command), stderr }
}

fn refused(command: &Command, stderr: &[u8]) -> StoreError {
    StoreError::Git { command: arguments(command), stderr: String::from_utf8_lossy(stderr).trim().to_owned() }
}

fn arguments(command: &Command) -> String {
    command.get_args().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command with the given standard input and returns its standard output.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, StoreError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_started(command, &error))?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A second thread, because a child that answers while it still reads would otherwise block both sides.
        let writer = scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                stdin.write_all(input).ok();
            }
        });
        let output = child.wait_with_output();
        writer.join().ok();
        output
    });
    let output = output.map_err(|error| not_started(command, &error))?;
    if output.status.success() { Ok(output.stdout) } else { Err(refused(command, &output.stderr)) }
}
