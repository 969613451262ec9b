//! The Secret of a cluster's owners, which others may have written.

use capstan_live::owners::OwnersForm;
use capstan_model::object::ObjectId;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::secret::{StoredKubeconfig, is_capstans, manifest, read};
use super::step::{Handed, LastOwnersFile};
use crate::resources::KeyRecipient;

fn cluster() -> ObjectId {
    ObjectId {
        group: "cluster.x-k8s.io".to_owned(),
        kind: "Cluster".to_owned(),
        namespace: Some("my-org".to_owned()),
        name: "peu01".to_owned(),
    }
}

/// A file with the content `abc`, whose SHA-256 FIPS 180-2 gives.
fn stored(generation: u64, fingerprint: &str, form: OwnersForm) -> StoredKubeconfig {
    let file = LastOwnersFile {
        generation,
        form,
        input: "in".to_owned(),
        issued_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
    };
    let recipient = KeyRecipient {
        name: "ada".to_owned(),
        fingerprint: fingerprint.to_owned(),
        key: Some("age1".to_owned()),
    };
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
    StoredKubeconfig { file, recipients: vec![recipient], sha256, content: b"abc".to_vec() }
}

fn live() -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "metadata": {"uid": "u1"}})
}

#[test]
fn no_key_is_written_to_the_secret_or_taken_from_it() {
    let mut secret = manifest(&cluster(), &live(), &stored(1, "f1", OwnersForm::Certificate));
    assert!(!secret.to_string().contains("age1"));
    let said = secret["metadata"]["annotations"]["capstan.dev/owners-key"].as_str().unwrap();
    let forged = said.replace("\"fingerprint\":\"f1\"", "\"fingerprint\":\"f1\",\"key\":\"age1eve\"");
    secret["metadata"]["annotations"]["capstan.dev/owners-key"] = forged.into();
    assert_eq!(read(&secret).unwrap().recipients[0].key, None);
}

#[test]
fn a_secret_with_another_content_is_not_read() {
    for (content, is_read) in
        [(json!("YWJj"), true), (json!("YWJk"), false), (json!("%"), false), (json!(7), false)]
    {
        let mut secret = manifest(&cluster(), &live(), &stored(1, "f1", OwnersForm::Admin));
        secret["data"]["kubeconfig.age"] = content.clone();
        assert_eq!(read(&secret).is_some(), is_read, "{content}");
        assert!(is_capstans(&secret));
    }
}

#[test]
fn a_file_without_a_secret_has_another_name_than_an_encrypted_one() {
    for (form, key) in [
        (OwnersForm::Certificate, "kubeconfig.age"),
        (OwnersForm::Admin, "kubeconfig.age"),
        (OwnersForm::Login, "kubeconfig"),
    ] {
        let secret = manifest(&cluster(), &live(), &stored(1, "f1", form));
        assert_eq!(secret["data"], json!({key: "YWJj"}));
    }
}

#[test]
fn the_secret_goes_with_its_cluster_only_where_that_has_a_uid() {
    let owner =
        json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "peu01", "uid": "u1"}]);
    for (live, owners) in
        [(live(), owner), (json!({"apiVersion": "v1"}), Value::Null), (Value::Null, Value::Null)]
    {
        let secret = manifest(&cluster(), &live, &stored(1, "f1", OwnersForm::Admin));
        assert_eq!(secret["metadata"]["ownerReferences"], owners, "{live}");
    }
}

#[test]
fn a_newer_file_begins_a_group_and_an_impossible_number_does_not() {
    // The greatest number of a group is below 2^52.
    for (generation, expected, recipients) in [
        (0, 3, vec!["f0"]),
        (2, 3, vec!["f0"]),
        (3, 3, vec!["f0", "f1"]),
        (4, 4, vec!["f1"]),
        (4_503_599_627_370_495, 4_503_599_627_370_495, vec!["f1"]),
        (4_503_599_627_370_496, 3, vec!["f0"]),
        (u64::MAX, 3, vec!["f0"]),
    ] {
        let mut handed = Handed { generation: 3, recipients: ["f0".to_owned()].into() };
        handed.remember(&stored(generation, "f1", OwnersForm::Certificate));
        let known: Vec<&str> = handed.recipients.iter().map(String::as_str).collect();
        assert_eq!((handed.generation, known), (expected, recipients), "{generation}");
    }
}
