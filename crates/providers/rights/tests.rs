use capstan_yaml::YamlFile;

use super::*;

fn objects(text: &str) -> Vec<Value> {
    YamlFile::read(text).unwrap().documents().iter().map(|document| document.root.value()).collect()
}

fn account(namespace: &str, name: &str) -> RightsSubject {
    RightsSubject::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() }
}

/// What a subject may do, in words.
fn held(text: &str, subject: &RightsSubject) -> Vec<String> {
    let objects = objects(text);
    let held = SubjectRights::of(&objects).held_by(subject);
    grants(held.iter()).iter().map(ToString::to_string).collect()
}

const AGGREGATED: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: aggregated}
aggregationRule:
  clusterRoleSelectors:
  - matchLabels: {aggregate-to-manager: \"true\"}
  - matchExpressions: [{key: tier, operator: In, values: [a, b]}]
rules:
- {apiGroups: [''], resources: [nodes], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: core, labels: {aggregate-to-manager: \"true\"}}
rules:
- {apiGroups: [''], resources: [secrets], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: infrastructure, labels: {tier: b}}
rules:
- {apiGroups: [infrastructure.cluster.x-k8s.io], resources: ['*'], verbs: ['*']}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: other, labels: {tier: c}}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: aggregated}
subjects:
- {kind: ServiceAccount, name: manager, namespace: capi-system}
";

#[test]
fn an_aggregated_role_holds_what_its_selectors_choose_and_nothing_of_its_own() {
    assert_eq!(
        held(AGGREGATED, &account("capi-system", "manager")),
        [
            "get, list of secrets everywhere",
            "every verb of everything of infrastructure.cluster.x-k8s.io everywhere",
        ]
    );
    assert_eq!(held(AGGREGATED, &account("other", "manager")), [""; 0]);
}

#[test]
fn aggregated_roles_may_choose_one_another() {
    let text = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a, labels: {of: b}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {of: a}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: b, labels: {of: a}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {of: b}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: c, labels: {of: b}}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: x}
roleRef: {kind: ClusterRole, name: a}
subjects: [{kind: ServiceAccount, name: manager, namespace: capi}]
";
    assert_eq!(held(text, &account("capi", "manager")), ["get of pods everywhere"]);
}

/// One row a binding: what it says, who is asked for, what that one may do.
#[test]
fn bindings_give_what_their_role_says_where_they_count() {
    const ROLES: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: ['', apps], resources: [pods, deployments], verbs: [get]}
- {nonResourceURLs: [/metrics, /healthz*], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: election, namespace: a}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [x], verbs: [get, update]}
---
";
    for (binding, subject, wanted) in [
        (
            "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: reader}\nsubjects: [{kind: ServiceAccount, namespace: a, name: s}]",
            account("a", "s"),
            &[
                "get of the paths /healthz*, /metrics",
                "get of deployments, pods everywhere",
                "get of deployments.apps, pods.apps everywhere",
            ][..],
        ),
        (
            "kind: RoleBinding\nmetadata: {name: b, namespace: a}\nroleRef: {kind: ClusterRole, name: reader}\nsubjects: [{kind: ServiceAccount, name: s}]",
            account("a", "s"),
            &["get of deployments, pods in namespace a", "get of deployments.apps, pods.apps in namespace a"],
        ),
        (
            "kind: RoleBinding\nmetadata: {name: b, namespace: a}\nroleRef: {kind: Role, name: election}\nsubjects: [{kind: User, name: 'system:serviceaccount:c:s'}]",
            account("c", "s"),
            &["get, update of leases.coordination.k8s.io named x in namespace a"],
        ),
        (
            "kind: RoleBinding\nmetadata: {name: b, namespace: b}\nroleRef: {kind: Role, name: election}\nsubjects: [{kind: ServiceAccount, name: s}]",
            account("b", "s"),
            &["everything that Role election allows (the role is not available), in namespace b"],
        ),
        (
            "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: reader}\nsubjects: [{kind: Group, name: 'system:serviceaccounts:a'}]",
            account("a", "whoever"),
            &[
                "get of the paths /healthz*, /metrics",
                "get of deployments, pods everywhere",
                "get of deployments.apps, pods.apps everywhere",
            ],
        ),
        (
            "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, namespace: a, name: s}]",
            account("a", "s"),
            &["every verb of the path *", "every verb of everything everywhere"],
        ),
        (
            "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: 'system:auth-delegator'}\nsubjects: [{kind: ServiceAccount, namespace: a, name: s}]",
            account("a", "s"),
            &[
                "everything that ClusterRole system:auth-delegator allows (the role is not available), everywhere",
            ],
        ),
    ] {
        let text = format!("{ROLES}apiVersion: rbac.authorization.k8s.io/v1\n{binding}\n");
        assert_eq!(held(&text, &subject), wanted, "{binding}");
    }
}

/// A right in short: `NAMESPACE|GROUP|RESOURCE|NAME|VERB`, with `-` where there is none.
fn right(text: &str) -> RbacRight {
    let parts: Vec<&str> = text.split('|').collect();
    let some = |part: &str| (part != "-").then(|| part.to_owned());
    match parts.as_slice() {
        [path, verb] => RbacRight::Path { path: (*path).to_owned(), verb: (*verb).to_owned() },
        [namespace, group, resource, name, verb] => RbacRight::Resource {
            namespace: some(namespace),
            group: some(group).unwrap_or_default(),
            resource: (*resource).to_owned(),
            name: some(name),
            verb: (*verb).to_owned(),
        },
        _ => panic!("{text}"),
    }
}

#[test]
fn what_is_held_covers_what_it_says_and_no_more() {
    for (held, asked, covers) in [
        ("-|-|pods|-|*", "-|-|pods|-|get", true),
        ("-|-|pods|-|get", "-|-|pods|-|*", false),
        ("-|-|*|-|get", "-|-|pods|-|get", true),
        ("-|-|*|-|get", "-|-|pods/log|-|get", true),
        ("-|-|pods|-|get", "-|-|pods/log|-|get", false),
        ("-|-|*/scale|-|get", "-|-|deployments/scale|-|get", true),
        ("-|-|*/scale|-|get", "-|-|deployments|-|get", false),
        ("-|*|pods|-|get", "-|apps|pods|-|get", true),
        ("-|apps|pods|-|get", "-|-|pods|-|get", false),
        ("-|-|pods|-|get", "a|-|pods|-|get", true),
        ("a|-|pods|-|get", "-|-|pods|-|get", false),
        ("a|-|pods|-|get", "b|-|pods|-|get", false),
        ("-|-|pods|-|get", "-|-|pods|x|get", true),
        ("-|-|pods|x|get", "-|-|pods|-|get", false),
        ("-|*|*|-|*", "a|apps|deployments/scale|x|patch", true),
        ("/healthz*|get", "/healthz/ready|get", true),
        ("/healthz*|get", "/metrics|get", false),
        ("*|*", "/metrics|get", true),
        ("/metrics|get", "/metrics|post", false),
    ] {
        let set = RightSet::of(BTreeSet::from([right(held)]));
        assert_eq!(set.covers(&right(asked)), covers, "{held} {asked}");
        assert!(set.covers(&right(held)));
    }
}

#[test]
fn a_gain_is_what_was_not_covered() {
    let set = |rights: &[&str]| RightSet::of(rights.iter().map(|text| right(text)).collect());
    let before = set(&["-|-|pods|-|*", "a|-|secrets|-|get"]);
    let after = set(&["-|-|pods|-|get", "-|-|secrets|-|get", "a|-|secrets|-|get", "-|-|pods/exec|-|create"]);
    let words = |rights: Vec<RbacRight>| grants(&rights).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        words(after.beyond(&before).cloned().collect()),
        ["create of pods/exec everywhere", "get of secrets everywhere"]
    );
    assert_eq!(words(before.beyond(&after).cloned().collect()), ["every verb of pods everywhere"]);
    // A right that another one covers is not listed twice.
    assert_eq!(after.iter().count(), 3);
}
