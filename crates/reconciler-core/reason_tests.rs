//! A reason in a line and in a status: what is known of its object, its field and its file.

use capstan_live::applying::{ApiRefusal, RefusalKind};
use capstan_model::finding::{Place, Severity};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::RepoPath;
use capstan_ports::LiveError;

use crate::reason::{Reason, not_answered};

fn control_plane() -> ObjectId {
    ObjectId {
        group: "controlplane.cluster.x-k8s.io".to_owned(),
        kind: "KubeadmControlPlane".to_owned(),
        namespace: Some("my-org".to_owned()),
        name: "peu01".to_owned(),
    }
}

fn file() -> RepoPath {
    RepoPath::parse("gauss/peu01/cp.yaml").unwrap()
}

#[test]
fn a_line_names_the_file_and_the_object_where_they_are_known() {
    let plain = || Reason::plain("Invalid", "cannot be");
    let of_object = || Reason { object: Some(control_plane()), ..plain() };
    for (reason, expected) in [
        (plain(), "cannot be"),
        (of_object(), "KubeadmControlPlane my-org/peu01: cannot be"),
        (plain().written(Place::whole(file())), "gauss/peu01/cp.yaml: cannot be"),
        (plain().written(Place::known(file(), Some(7), Some(3))), "gauss/peu01/cp.yaml:7: cannot be"),
        (
            of_object().written(Place::line_of(file(), 7)),
            "gauss/peu01/cp.yaml:7: KubeadmControlPlane my-org/peu01: cannot be",
        ),
    ] {
        assert_eq!(reason.line(), expected);
    }
}

#[test]
fn a_status_has_no_field_for_an_object_as_a_whole() {
    for (field, expected) in [
        (None, None),
        (Some(FieldPath::root()), None),
        (Some(FieldPath::root().key("spec").key("a/b")), Some("/spec/a~1b")),
    ] {
        let status = Reason { field, ..Reason::plain("Invalid", "") }.to_status();
        assert_eq!(status.field.as_deref(), expected);
    }
}

#[test]
fn a_status_keeps_the_line_and_leaves_the_column_out() {
    let status = Reason::plain("Invalid", "no").written(Place::known(file(), Some(7), Some(3))).to_status();
    assert_eq!((status.file.as_deref(), status.line), (Some("gauss/peu01/cp.yaml"), Some(7)));
    let status = Reason::plain("Invalid", "no").written(Place::whole(file())).to_status();
    assert_eq!((status.file.as_deref(), status.line), (Some("gauss/peu01/cp.yaml"), None));
}

#[test]
fn the_place_that_was_said_last_counts() {
    let reason = Reason::plain("Invalid", "no").written(Place::line_of(file(), 7));
    assert_eq!(reason.written(Place::line_of(file(), 9)).place.unwrap().line(), Some(9));
}

#[test]
fn an_api_server_that_may_answer_soon_is_away_and_one_that_refuses_is_not() {
    let doing = || "reading Cluster my-org/peu01".to_owned();
    let refusal = |kind, status| ApiRefusal { status, kind, message: "no".to_owned(), causes: Vec::new() };
    for (error, kind) in [
        (LiveError::Unreachable { doing: doing(), reason: "timeout".to_owned() }, "ManagementClusterAway"),
        (LiveError::Refused { doing: doing(), refusal: refusal(RefusalKind::Forbidden, 403) }, "NotAnswered"),
        (LiveError::Malformed { doing: doing(), reason: "no name".to_owned() }, "NotAnswered"),
    ] {
        let reason = not_answered(&error);
        assert_eq!((reason.kind, reason.severity), (kind, Severity::Warning), "{error}");
    }
}
