//! Which kinds are namespaced, as the API server's discovery says.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::Scopes;

use capstan_ports::{ApiKind, LiveError, ManagementCluster};

/// What discovery said so far. A kind that is not served is asked for again: it may be installed meanwhile.
#[derive(Debug, Default)]
pub struct Kinds {
    known: Mutex<Scopes>,
}

impl Kinds {
    /// What is known.
    pub fn known(&self) -> Scopes {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Learns the scopes of these kinds; gives all that is known.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn learn(
        &self,
        live: &dyn ManagementCluster,
        kinds: &BTreeSet<ApiKind>,
    ) -> Result<Scopes, LiveError> {
        for kind in kinds {
            if self.known().of(&kind.group, &kind.kind).is_some() {
                continue;
            }
            let Some(scope) = live.scope(kind).await? else { continue };
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(&kind.group, &kind.kind, scope);
        }
        Ok(self.known())
    }
}

/// The kinds of objects, in the versions in which they are rendered.
pub(super) fn kinds_of(objects: &[RenderedObject]) -> BTreeSet<ApiKind> {
    objects.iter().map(|object| ApiKind::of_version(&object.api_version, &object.id.kind)).collect()
}
