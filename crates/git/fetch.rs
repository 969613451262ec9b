//! Fetching commits over HTTP into a bare shallow repository.
//!
//! Two requests: the handshake, and one `fetch` of protocol version 2 that names the wanted commits by
//! their ids, and what is there already, so that only new objects travel. References are never listed:
//! a large repository has tens of thousands of them.

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use capstan_model::wording::with_causes;
use gix::ObjectId;
use gix::odb::pack;
use gix::protocol::fetch::{Arguments, Context, Negotiate, Options, Response, Shallow, Tags, negotiate};
use gix::protocol::handshake::Ref;
use gix::protocol::ls_refs::RefPrefixes;
use gix::protocol::transport::Service;
use gix::protocol::{Handshake, LsRefsCommand};

use super::access::{Connection, RemoteCredential, connect};
use super::mirror_limits::MirrorLimits;
use super::remote::RemoteBounds;

/// What Capstan calls itself.
const AGENT: &str = concat!("capstan/", env!("CARGO_PKG_VERSION"));

/// What it may cost to ask where a branch is.
const BRANCH: RemoteBounds = RemoteBounds { bytes: 32 << 20, within: Duration::from_secs(120) };
/// What a fetch may bring beside its pack, which is bounded by itself.
const BESIDE_PACK_BYTES: u64 = 32 << 20;

/// Why a commit was not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchFailure {
    /// The remote does not answer, or refuses the token.
    #[error("{0}")]
    Remote(String),
    /// The remote knows no such commit.
    #[error("the remote has no such commit")]
    NoSuchCommit,
    /// The transfer broke off, or what arrived does not fit to what is here: the mirror may be damaged.
    #[error("{0}")]
    Transfer(String),
    /// A limit was reached.
    #[error("{0}")]
    Limit(String),
}

/// What to fetch, from where, into what.
pub(super) struct Fetch<'a> {
    pub(super) repository: &'a gix::Repository,
    pub(super) url: &'a str,
    pub(super) access: &'a RemoteCredential,
    /// What is wanted: at least one.
    pub(super) commits: &'a [ObjectId],
    /// Commits that are here with all their content.
    pub(super) haves: Vec<ObjectId>,
    pub(super) limits: &'a MirrorLimits,
}

/// What was received.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) objects: u32,
    /// The marker that protects the new pack until a reference names its commit.
    pub(super) keep: Option<PathBuf>,
}

impl Fetch<'_> {
    /// Fetches the commits and their content, without their history.
    pub(super) fn run(self) -> Result<Received, FetchFailure> {
        let packs = self.repository.objects.store_ref().path().join("pack");
        let mut exceeded = None;
        let deadline = Instant::now() + self.limits.fetch_timeout;
        let result = self.transfer(&packs, deadline, &mut exceeded);
        match exceeded {
            Some(limit) => Err(FetchFailure::Limit(limit)),
            // Whatever of it took so long, the handshake for one.
            None if result.is_err() && Instant::now() > deadline => {
                Err(FetchFailure::Limit(self.limits.took_too_long()))
            }
            None => result,
        }
    }

    fn transfer(
        &self,
        packs: &Path,
        deadline: Instant,
        exceeded: &mut Option<String>,
    ) -> Result<Received, FetchFailure> {
        let bounds = RemoteBounds {
            bytes: self.limits.fetch_bytes.saturating_add(BESIDE_PACK_BYTES),
            within: self.limits.fetch_timeout,
        };
        let mut connection = connect(self.url, self.access, bounds).map_err(FetchFailure::Remote)?;
        let mut handshake = greet(&mut connection, self.access)?;
        let mut negotiation = Negotiation { commits: self.commits, haves: &self.haves };
        let mut received = Received { objects: 0, keep: None };
        gix::protocol::fetch(
            &mut negotiation,
            |pack, progress, interrupt| {
                let mut pack = BoundedPack { pack, taken: 0, deadline, limits: self.limits, exceeded };
                let written = pack::Bundle::write_to_directory(
                    &mut pack,
                    Some(packs),
                    progress,
                    interrupt,
                    Some(&self.repository.objects),
                    self.repository.object_hash(),
                    pack::bundle::write::Options::default(),
                )?;
                received = Received { objects: written.index.num_objects, keep: written.keep_path };
                Ok(true)
            },
            gix::progress::Discard,
            &AtomicBool::new(false),
            Context {
                handshake: &mut handshake,
                transport: &mut connection.transport,
                user_agent: ("agent", Some(AGENT.into())),
                trace_packetlines: false,
            },
            Options {
                shallow_file: self
                    .repository
                    .shallow_file()
                    .map_err(|error| FetchFailure::Transfer(with_causes(&error)))?,
                shallow: &Shallow::DepthAtRemote(std::num::NonZeroU32::MIN),
                tags: Tags::None,
                reject_shallow_remote: false,
            },
        )
        .map_err(|error| {
            let reason = with_causes(&error);
            if names_no_commit_of_theirs(&reason) {
                FetchFailure::NoSuchCommit
            } else {
                FetchFailure::Transfer(reason)
            }
        })?;
        Ok(received)
    }
}

/// Whether the other side says that it has no such commit: `upload-pack: not our ref 9d1f…`, `unknown object 9d1f…`.
/// Git has no code for it, only these words (upload-pack.c); GitHub uses them too.
fn names_no_commit_of_theirs(reason: &str) -> bool {
    reason.contains("not our ref") || reason.contains("unknown object")
}

/// Begins to talk with a remote.
fn greet(connection: &mut Connection, access: &RemoteCredential) -> Result<Handshake, FetchFailure> {
    let refused = match access {
        RemoteCredential::Public => "it needs a token or a password, but has none",
        RemoteCredential::Basic { .. } | RemoteCredential::Key { .. } => "the token is refused",
    };
    let greeted = gix::protocol::handshake(
        &mut connection.transport,
        Service::UploadPack,
        // Asked after a 401: what there is was sent already.
        |_| Err(gix::Error::from_error(gix::error::message(refused))),
        Vec::new(),
        &mut gix::progress::Discard,
    );
    greeted.map_err(|error| FetchFailure::Remote(connection.said().unwrap_or_else(|| with_causes(&error))))
}

/// The commit that a branch is at; `None` where the remote has no such branch. One or two requests, which
/// tell of that branch alone.
pub(super) fn resolve_branch(
    url: &str,
    access: &RemoteCredential,
    branch: &str,
) -> Result<Option<ObjectId>, FetchFailure> {
    let name = format!("refs/heads/{branch}");
    let mut connection = connect(url, access, BRANCH).map_err(FetchFailure::Remote)?;
    let handshake = greet(&mut connection, access)?;
    let references = match handshake.refs {
        Some(references) => references,
        None => {
            let mut prefixes = RefPrefixes::new();
            prefixes.extend([name.as_str().into()]);
            LsRefsCommand::new(Some(prefixes), &handshake.capabilities, ("agent", Some(AGENT.into())))
                .invoke_blocking(&mut connection.transport, &mut gix::progress::Discard, false)
                .map_err(|error| FetchFailure::Remote(with_causes(&error)))?
        }
    };
    Ok(references.into_iter().find_map(|reference| match reference {
        Ref::Direct { full_ref_name, object }
        | Ref::Peeled { full_ref_name, object, .. }
        | Ref::Symbolic { full_ref_name, object, .. } => (full_ref_name == name.as_str()).then_some(object),
        Ref::Unborn { .. } => None,
    }))
}

/// The whole negotiation in one round: what is wanted and what is here are both known beforehand.
struct Negotiation<'a> {
    commits: &'a [ObjectId],
    haves: &'a [ObjectId],
}

impl Negotiate for Negotiation<'_> {
    fn mark_complete_and_common_ref(&mut self) -> Result<negotiate::Action, gix::Error> {
        Ok(negotiate::Action::MustNegotiate { remote_ref_target_known: vec![false; self.commits.len()] })
    }

    fn add_wants(&mut self, arguments: &mut Arguments, _: &[bool]) -> bool {
        self.commits.iter().for_each(|commit| arguments.want(commit));
        true
    }

    fn one_round(
        &mut self,
        _: &mut negotiate::one_round::State,
        arguments: &mut Arguments,
        _: Option<&Response>,
    ) -> Result<(negotiate::Round, bool), gix::Error> {
        for have in self.haves {
            arguments.have(have);
        }
        let round = negotiate::Round {
            haves_sent: self.haves.len(),
            in_vain: 0,
            haves_to_send: self.haves.len(),
            previous_response_had_at_least_one_in_common: false,
        };
        Ok((round, true))
    }
}

/// A pack on its way, which ends with an error where it takes too long or brings too much.
struct BoundedPack<'a> {
    pack: &'a mut dyn BufRead,
    taken: u64,
    deadline: Instant,
    limits: &'a MirrorLimits,
    exceeded: &'a mut Option<String>,
}

impl BoundedPack<'_> {
    fn check(&mut self) -> io::Result<()> {
        let limit = if Instant::now() > self.deadline {
            self.limits.took_too_long()
        } else if self.taken > self.limits.fetch_bytes {
            format!("the fetch brought more than {} bytes", self.limits.fetch_bytes)
        } else {
            return Ok(());
        };
        *self.exceeded = Some(limit);
        Err(io::Error::other("a limit was reached"))
    }
}

impl Read for BoundedPack<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        let count = self.pack.read(buffer)?;
        self.taken += count as u64;
        Ok(count)
    }
}

impl BufRead for BoundedPack<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.check()?;
        self.pack.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.taken += count as u64;
        self.pack.consume(count);
    }
}

/// Bytes in the files of a folder (not of folders in it).
pub(super) fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_brings_as_much_as_it_may_in_its_time_and_no_more() {
        let fetched = |fetch_bytes: u64, deadline: Instant| {
            let limits = MirrorLimits { fetch_bytes, ..MirrorLimits::default() };
            let (mut pack, mut exceeded, mut brought) = (&b"ten bytes."[..], None, Vec::new());
            let mut pack =
                BoundedPack { pack: &mut pack, taken: 0, deadline, limits: &limits, exceeded: &mut exceeded };
            let read = pack.read_to_end(&mut brought);
            assert_eq!(read.is_ok(), exceeded.is_none());
            exceeded.map_or(Ok(brought.len()), Err)
        };
        let later = Instant::now() + Duration::from_secs(3_600);
        let before = Instant::now().checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(fetched(10, later), Ok(10));
        assert_eq!(fetched(9, later), Err("the fetch brought more than 9 bytes".to_owned()));
        assert_eq!(fetched(10, before), Err("the fetch took longer than 300 s".to_owned()));
    }

    #[test]
    fn a_commit_the_server_does_not_have_differs_from_a_broken_transfer() {
        for reason in [
            "fatal: remote error: upload-pack: not our ref 9d1f000000000000000000000000000000000000",
            "unknown object 9d1f000000000000000000000000000000000000",
        ] {
            assert!(names_no_commit_of_theirs(reason), "{reason}");
        }
        for reason in ["", "early EOF", "Repository not found.", "could not read the reference"] {
            assert!(!names_no_commit_of_theirs(reason), "{reason}");
        }
    }
}
