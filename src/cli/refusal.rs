//! A cluster that cannot be planned, as an element of the printed array.

use capstan_model::finding::Place;
use capstan_model::ids::ClusterId;
use serde_json::{Value, json};

use capstan_fleet::generator::Refused;

/// The element of a cluster that cannot be planned.
pub(super) fn refusal(cluster: &ClusterId, refused: &Refused) -> Value {
    json!({"cluster": cluster.as_str(), "error": error(refused)})
}

/// The `error` of such an element.
pub(super) fn error(refused: &Refused) -> Value {
    let place = refused.place.as_ref();
    json!({
        "message": refused.message,
        "file": place.map(Place::file),
        "line": place.and_then(Place::line),
        "column": place.and_then(Place::column),
    })
}
