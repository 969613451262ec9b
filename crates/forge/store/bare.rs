//! A bare repository on disk, and its objects.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gix::ObjectId;
use gix::objs::{Kind, Write as _};

use super::commit::{Commit, NewCommit, parse_commit};
use super::error::StoreError;
use super::process::{quiet, run};

/// A bare repository.
pub(crate) struct Store {
    pub(super) path: PathBuf,
    odb: gix::ThreadSafeRepository,
    /// For walks through histories, which meet the same commits again and again.
    walker: Mutex<gix::Repository>,
}

/// Bytes of commits that are kept for walks.
const KEPT_FOR_WALKS: usize = 32 << 20;

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
        let mut walker = odb.to_thread_local();
        walker.object_cache_size(KEPT_FOR_WALKS);
        Ok(Store { path: path.to_owned(), odb, walker: Mutex::new(walker) })
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

    /// The repository of one thread.
    pub(super) fn repository(&self) -> gix::Repository {
        self.odb.to_thread_local()
    }

    /// The repository that remembers what it read, for walks.
    pub(super) fn walker(&self) -> MutexGuard<'_, gix::Repository> {
        self.walker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an object, `None` where it is absent.
    pub(crate) fn read(&self, id: ObjectId) -> Result<Option<(Kind, Vec<u8>)>, StoreError> {
        let repository = self.repository();
        let object = repository.try_find_object(id).map_err(|error| StoreError::Odb(error.to_string()))?;
        Ok(object.map(|object| {
            let object = object.detach();
            (object.kind, object.data)
        }))
    }

    pub(crate) fn write(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        let repository = self.repository();
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
}
