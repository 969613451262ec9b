//! Which changes are news, and which are echoes of one's own writes.

use capstan_model::object::ObjectId;
use capstan_ports::{ApiKind, LiveChange, ObjectChange};
use jiff::Timestamp;
use serde_json::json;

use super::kinds::{hosts, policies, templates};
use super::memory::HostMemory;

fn change(kind: &ApiKind, change: ObjectChange, resource_version: &str) -> LiveChange {
    let object = ObjectId {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: Some("edge".to_owned()),
        name: "a".to_owned(),
    };
    LiveChange { object, change, resource_version: resource_version.to_owned() }
}

fn service() -> HostMemory {
    let live =
        json!({"kind": "Service", "metadata": {"name": "a", "namespace": "edge", "resourceVersion": "7"}});
    HostMemory { services: [("edge".to_owned(), vec![live])].into(), ..HostMemory::default() }
}

#[test]
fn a_service_is_read_again_only_after_a_change_by_others() {
    let kind = |kind: &str| ApiKind::of_version("v1", kind);
    for (changed, version, kind, is_news) in [
        (ObjectChange::Spec, "7", kind("Service"), false),
        (ObjectChange::Spec, "8", kind("Service"), true),
        (ObjectChange::Status, "8", kind("Service"), true),
        (ObjectChange::Spec, "", kind("Service"), true),
        (ObjectChange::Deleted, "7", kind("Service"), true),
        (ObjectChange::Added, "7", kind("ConfigMap"), true),
        (ObjectChange::Deleted, "7", kind("ConfigMap"), false),
    ] {
        let mut memory = service();
        assert_eq!(memory.hears(&change(&kind, changed, version)), is_news, "{kind:?} {changed:?} {version}");
        assert_eq!(memory.services.is_empty(), is_news);
    }
}

#[test]
fn a_change_in_a_namespace_that_was_never_read_says_nothing_new() {
    let mut memory = HostMemory::default();
    assert!(!memory.hears(&change(&ApiKind::of_version("v1", "Service"), ObjectChange::Added, "1")));
}

#[test]
fn a_template_is_read_again_unless_only_its_status_changed() {
    for (changed, is_news) in [
        (ObjectChange::Status, false),
        (ObjectChange::Spec, true),
        (ObjectChange::Added, true),
        (ObjectChange::Deleted, true),
    ] {
        let mut memory = HostMemory { templates: Some(Vec::new()), ..HostMemory::default() };
        assert_eq!(memory.hears(&change(&templates(), changed, "1")), is_news, "{changed:?}");
        assert_eq!(memory.templates.is_none(), is_news, "{changed:?}");
    }
}

#[test]
fn an_unknown_host_is_news_unless_it_is_gone() {
    for (changed, is_news) in
        [(ObjectChange::Added, true), (ObjectChange::Status, true), (ObjectChange::Deleted, false)]
    {
        let mut memory = HostMemory { hosts: Some(Vec::new()), ..HostMemory::default() };
        assert_eq!(memory.hears(&change(&hosts(), changed, "1")), is_news, "{changed:?}");
        assert_eq!(memory.hosts.is_none(), is_news, "{changed:?}");
    }
}

#[test]
fn any_change_of_a_policy_is_news() {
    for changed in [ObjectChange::Added, ObjectChange::Spec, ObjectChange::Status, ObjectChange::Deleted] {
        let mut memory = HostMemory { policies: Some(Vec::new()), ..HostMemory::default() };
        assert!(memory.hears(&change(&policies(), changed, "1")) && memory.policies.is_none(), "{changed:?}");
    }
}

#[test]
fn what_was_logged_is_not_forgotten_with_the_rest() {
    let mut memory =
        HostMemory { unreadable: ["host a".to_owned()].into(), has_listed_machines: true, ..service() };
    memory.forget();
    assert_eq!((memory.unreadable.len(), memory.services.len(), memory.has_listed_machines), (1, 0, false));
}

#[test]
fn machines_are_listed_again_only_where_a_host_waits_for_them() {
    for (waits_for_machines, stay) in [(false, true), (true, false)] {
        let mut memory =
            HostMemory { machines: Some(Vec::new()), waits_for_machines, ..HostMemory::default() };
        memory.ask_again(Timestamp::UNIX_EPOCH);
        assert_eq!((memory.machines.is_some(), memory.waits_for_machines), (stay, false));
    }
}
