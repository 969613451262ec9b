//! What is shown of a refusal, whatever it says: so much, and no value.

use serde_json::json;

use super::super::{ApiRefusal, LONGEST_MESSAGE};
use super::status;

#[test]
fn a_long_message_is_cut_at_characters() {
    let refusal = ApiRefusal::read(400, &status(400, "BadRequest", &"é".repeat(2000), &[]));
    assert_eq!(refusal.message.chars().count(), LONGEST_MESSAGE);
    assert_eq!(refusal.message, format!("{}…", "é".repeat(511)));
    let many: Vec<(&str, &str, &str)> =
        (0..100).map(|_| ("FieldValueForbidden", "spec.version", "Forbidden: no")).collect();
    let refusal = ApiRefusal::read(422, &status(422, "Invalid", "is invalid", &many));
    assert_eq!(refusal.message.chars().count(), LONGEST_MESSAGE);
}

/// Whatever a server or something before it writes: nothing that may not be shown, and no panic.
#[test]
fn no_value_is_ever_shown_at_any_place() {
    use proptest::prelude::*;
    let filler = "[ -~\n]{0,200}";
    let opening = proptest::sample::select(vec![
        "Invalid value: ",
        "Duplicate value: ",
        "Unsupported value: ",
        "expected string, got ",
        "object: {\"data\":",
        "Diff: ",
        "map[a:",
    ]);
    let message = (filler, opening, filler, filler)
        .prop_map(|(before, opening, inside, after)| format!("{before}{opening}{inside}s3cret{after}"));
    proptest!(|(message in message, code in 400_u16..600, told in any::<bool>(), field in "[a-z.\\[\\]\"=0-9]{0,40}")| {
        let causes = [("FieldValueInvalid", field.as_str(), message.as_str())];
        let body = status(code, "Invalid", &message, if told { &causes } else { &[] });
        let refusal = ApiRefusal::read(code, &body);
        let shown = format!("{refusal} {:?}", refusal.causes);
        prop_assert!(!shown.contains("s3cret"), "{shown}");
        prop_assert!(refusal.message.chars().count() <= LONGEST_MESSAGE);
        if let Some(field) = refusal.causes.iter().find_map(|cause| cause.field.as_ref()) {
            field.path_in(&json!({"a": [{"b": 1}]}));
        }
    });
}
