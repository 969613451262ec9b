//! Pages for people.

use super::server::{Asked, Shared, Told};

pub(crate) fn answer(_shared: &Shared, _asked: &Asked) -> Told {
    Told::new(404, "text/plain", b"Not Found".to_vec())
}
