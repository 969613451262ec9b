//! `<provider>/requests.yaml`: what Giant Swarm's teams ask of releases to come.
//!
//! ```yaml
//! releases:
//! - name: ">= 34.2.0 < 35.0.0"        # the releases that are meant
//!   requests:
//!   - name: security-bundle           # a component or an app
//!     version: ">= 1.17.1 < 1.18.0"   # the versions that are let through
//!     except: [{releaseVersion: 34.3.0, reason: "tested as it is"}]
//! ```
//!
//! # What it means upstream
//! Two programs read the file. `devctl release create` drafts a release and takes of each component
//! the newest version that the first fitting request lets through
//! (<https://github.com/giantswarm/devctl/blob/main/pkg/release/requests.go>). The repository's own test
//! then demands that every release that is `active` and not archived meets **all** requests of **all**
//! entries whose `name` fits it; a requested component that the release does not have is not met either
//! (<https://github.com/giantswarm/releases/blob/master/releases_test.go>). The page on pinning says
//! that the first fitting entry wins; neither program does that.
//!
//! # What it means here
//! The test's reading. A release that does not meet its requests is unfinished, whatever its `state`
//! says, so it is not offered: the next step goes to the newest release that does, and the plan names
//! the one passed over. `--to` may take it, and then the rule `release-breaks-requests` warns.
//! Archived releases and those that are not `active` are not judged: nobody offers them anyway.
//!
//! Two things differ from upstream on purpose. An exception counts for the release that it names (the test compares it
//! with the wrong range). An entry that cannot be read is reported and asks for nothing, where `devctl` skips it in
//! silence. Only providers that have a `release.yaml` have requests: a file of that name beside other releases is
//! ignored.

use super::parts::{Release, ReleaseState, Unmet};
use super::range::VersionRange;
use capstan_model::finding::{FileError, Place, Position, rules};
use capstan_model::tree::RepoPath;
use capstan_model::version::ReleaseVersion;
use capstan_yaml::{Node, YamlFile};

/// The file's name.
pub(crate) const FILE: &str = "requests.yaml";

/// What is asked of a provider's releases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    requests: Vec<ReleaseRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ReleaseRequest {
    releases: VersionRange,
    name: String,
    version: VersionRange,
    except: Vec<ReleaseVersion>,
    position: Position,
}

impl Requests {
    /// Reads the file. What cannot be used is a problem of its own and asks for nothing.
    pub fn read(path: &RepoPath, file: &YamlFile) -> (Self, Vec<FileError>) {
        let mut reader = RequestReader { path, file, requests: Vec::new(), problems: Vec::new() };
        for document in file.documents() {
            reader.document(&document.root);
        }
        (Self { requests: reader.requests }, reader.problems)
    }

    /// The requests that a release does not meet, in the order of the file.
    pub fn unmet(&self, release: &Release, file: &RepoPath) -> Vec<Unmet> {
        if release.state != ReleaseState::Active {
            return Vec::new();
        }
        let version = release.version.to_string();
        let concerns = |request: &&ReleaseRequest| {
            request.releases.holds(&version) == Some(true) && !request.except.contains(&release.version)
        };
        let judged = self.requests.iter().filter(concerns).filter_map(|request| {
            let found = release.version_of(&request.name).map(|version| version.as_str().to_owned());
            // A version that cannot be compared breaks nothing: unknown is not wrong.
            let is_met = found.as_ref().is_some_and(|found| request.version.holds(found) != Some(false));
            (!is_met).then(|| Unmet {
                name: request.name.clone(),
                wanted: request.version.to_string(),
                found,
                place: Place::at(file.clone(), request.position),
            })
        });
        judged.collect()
    }
}

struct RequestReader<'a> {
    path: &'a RepoPath,
    file: &'a YamlFile,
    requests: Vec<ReleaseRequest>,
    problems: Vec<FileError>,
}

impl RequestReader<'_> {
    fn document(&mut self, root: &Node) {
        if root.is_null() {
            return;
        }
        let Some(entries) = root.get("releases") else {
            return self.problem(root, "the list `releases` is missing: write requests under it");
        };
        for entry in self.list(entries, "`releases` must be a list").unwrap_or_default() {
            let Some(releases) = self.range(entry, "name", "an entry must name releases in `name`") else {
                continue;
            };
            let requests = entry.get("requests").map(|node| self.list(node, "`requests` must be a list"));
            for request in requests.flatten().unwrap_or_default() {
                self.request(&releases, request);
            }
        }
    }

    fn request(&mut self, releases: &VersionRange, request: &Node) {
        let Some(name) = scalar(request, "name") else {
            return self.problem(request, "a request must name a component or an app in `name`");
        };
        let Some(version) = self.range(request, "version", "a request must say which versions in `version`")
        else {
            return;
        };
        let exceptions = request.get("except").map(|node| self.list(node, "`except` must be a list"));
        let mut except = Vec::new();
        for exception in exceptions.flatten().unwrap_or_default() {
            match scalar(exception, "releaseVersion").and_then(|text| ReleaseVersion::parse(&text)) {
                Some(version) => except.push(version),
                None => self.problem(exception, "an exception must name one release in `releaseVersion`"),
            }
        }
        let position = self.file.position(request.span.start);
        self.requests.push(ReleaseRequest { releases: releases.clone(), name, version, except, position });
    }

    fn range(&mut self, node: &Node, key: &str, missing: &str) -> Option<VersionRange> {
        let Some(text) = scalar(node, key) else {
            self.problem(node, missing);
            return None;
        };
        match VersionRange::parse(&text) {
            Ok(range) => Some(range),
            Err(error) => {
                self.problem(node.get(key).unwrap_or(node), &error.to_string());
                None
            }
        }
    }

    fn list<'n>(&mut self, node: &'n Node, message: &str) -> Option<&'n [Node]> {
        if node.is_null() {
            return None;
        }
        let items = node.as_sequence();
        if items.is_none() {
            self.problem(node, message);
        }
        items
    }

    fn problem(&mut self, node: &Node, message: &str) {
        let place = Place::at(self.path.clone(), self.file.position(node.span.start));
        let message = format!("{message}; until then it requests nothing");
        self.problems.push(FileError::new(rules::INVALID_SETTINGS, place, message));
    }
}

fn scalar(node: &Node, key: &str) -> Option<String> {
    let value = node.get(key).filter(|value| !value.is_null())?;
    Some(value.as_scalar()?.text.clone())
}
