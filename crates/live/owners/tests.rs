//! What is written into a cluster for its owners, and read there.

use serde_json::json;

use super::*;

#[test]
fn a_binding_names_exactly_one_group_of_owners() {
    assert_eq!(bound(Some(&binding(7))), BindingWord::To(7));
    assert_eq!(bound(None), BindingWord::Nobody);
    for subjects in [
        json!([]),
        json!([{"kind": "User", "name": "capstan:owners:7"}]),
        json!([{"kind": "Group", "name": "capstan:owners:07"}]),
        json!([{"kind": "Group", "name": "capstan:owners:7"}, {"kind": "User", "name": "eve"}]),
    ] {
        assert_eq!(bound(Some(&json!({"subjects": subjects}))), BindingWord::Others, "{subjects}");
    }
    assert_eq!(
        binding(7)["subjects"],
        json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "capstan:owners:7"}])
    );
}

#[test]
fn a_request_is_open_signed_or_refused() {
    assert_eq!(
        requested(&json!({"status": {"conditions": [{"type": "Approved", "status": "True"}]}})),
        Requested::Open
    );
    assert_eq!(requested(&json!({"status": {"certificate": "UEVN"}})), Requested::Signed("PEM".to_owned()));
    let failed = json!({"status": {"conditions": [{"type": "Failed", "reason": "SignerValidationFailure", "message": "no"}]}});
    assert_eq!(requested(&failed), Requested::Refused("SignerValidationFailure: no".to_owned()));
}

#[test]
fn a_kubeconfig_is_read_and_written() {
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: peu01-admin@peu01\nclusters:\n- name: peu01\n  cluster: {server: 'https://10.0.0.1:6443', certificate-authority-data: Q0E=}\nusers:\n- name: peu01-admin\n  user: {client-certificate-data: UEVN, client-key-data: S0VZ}\ncontexts:\n- name: peu01-admin@peu01\n  context: {cluster: peu01, user: peu01-admin}\n";
    let endpoint = Endpoint::read(text).unwrap();
    assert_eq!(
        endpoint,
        Endpoint {
            server: "https://10.0.0.1:6443".to_owned(),
            authority: Some("Q0E=".to_owned()),
            tls_server_name: None,
            certificate: Some("PEM".to_owned()),
        }
    );
    let written = endpoint.with_certificate("peu01", "CERTIFICATE", "KEY");
    assert_eq!(
        Endpoint::read(&written).unwrap(),
        Endpoint { certificate: Some("CERTIFICATE".to_owned()), ..endpoint.clone() }
    );
    assert!(!written.contains("KEY"), "encoded");
    let login = serde_json::from_value(json!({"issuerUrl": "https://login.example.com", "clientId": "kubernetes", "extraScopes": ["groups"]})).unwrap();
    let written: serde_json::Value = serde_json::from_str(&endpoint.with_login("peu01", &login)).unwrap();
    assert_eq!(
        written["users"][0]["user"]["exec"]["args"],
        json!([
            "oidc-login",
            "get-token",
            "--oidc-issuer-url=https://login.example.com",
            "--oidc-client-id=kubernetes",
            "--oidc-extra-scope=groups"
        ])
    );
    assert_eq!(Endpoint::read(&text.replace("https://10", "http://10")), None);
}
