//! The real definitions, for tests.

use super::{Origin, SchemaFile, Schemas};
use crate::shared_data;
use crate::tree::RepoPath;

/// Every definition of the shared data; `None`, said aloud, where there is none.
pub(crate) fn real_definitions() -> Option<Schemas> {
    let below = |folder: &str| {
        let named = |(name, bytes): (String, Vec<u8>)| (format!("{folder}/{name}"), bytes);
        Some(shared_data::files(folder)?.into_iter().map(named).collect::<Vec<_>>())
    };
    let files = [below("crds")?, below("providers/operator-configmaps")?].concat();
    let definitions =
        files.into_iter().filter(|(name, _)| name.ends_with(".yaml")).map(|(name, bytes)| SchemaFile {
            path: RepoPath::parse(&name).unwrap(),
            origin: Origin::Repository,
            bytes: Ok(bytes.into()),
        });
    Some(Schemas::read(definitions))
}
