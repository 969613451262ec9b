//! The attempts, and what stops each of them.

/// What one overlay brings. NAME is the row's name.
pub(super) struct Attempt {
    /// The folder is `gauss/NAME`.
    pub(super) name: &'static str,
    /// `overlay/a.yaml`; of [`super::references::OF_BASES`], `base/a.yaml`.
    pub(super) overlay: &'static str,
    /// Why it is refused: line, and message.
    pub(super) says: &'static [(u32, &'static str)],
    /// Whether the service account has no right to it either.
    pub(super) wall: Wall,
}

/// Where an attempt that Capstan let through would end.
pub(super) enum Wall {
    /// At the API server, which says so.
    Rights(&'static str),
    /// Nowhere: the service account may write the objects of the customer's own namespace.
    None,
}

use Wall::{None as Nowhere, Rights};

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt {
        name: "rights-everywhere",
        overlay: "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: capstan-applier, namespace: gauss}]
",
        says: &[
            (
                1,
                "ClusterRoleBinding NAME belongs to the whole management cluster, not to one folder: apply it from elsewhere",
            ),
            (1, "ClusterRoleBinding NAME: an overlay may neither add nor change rights (RBAC); base may"),
        ],
        wall: Rights(
            "cannot patch resource \"clusterrolebindings\" in API group \"rbac.authorization.k8s.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "impersonation",
        overlay: "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules: [{apiGroups: [''], resources: [users, groups, serviceaccounts], verbs: [impersonate]}]
",
        says: &[
            (
                1,
                "ClusterRole NAME belongs to the whole management cluster, not to one folder: apply it from elsewhere",
            ),
            (1, "ClusterRole NAME: an overlay may neither add nor change rights (RBAC); base may"),
        ],
        wall: Rights(
            "cannot patch resource \"clusterroles\" in API group \"rbac.authorization.k8s.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "rights-at-home",
        overlay: "\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
",
        says: &[(
            1,
            "RoleBinding gauss/NAME: an overlay may neither add nor change rights (RBAC); base may",
        )],
        wall: Rights(
            "cannot patch resource \"rolebindings\" in API group \"rbac.authorization.k8s.io\" in the namespace \"gauss\"",
        ),
    },
    Attempt {
        name: "more-rights",
        overlay: "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: capstan-applier}
rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]
",
        says: &[(
            1,
            "Role gauss/capstan-applier: an overlay may neither add nor change rights (RBAC); base may",
        )],
        wall: Rights(
            "cannot patch resource \"roles\" in API group \"rbac.authorization.k8s.io\" in the namespace \"gauss\"",
        ),
    },
    Attempt {
        name: "new-namespace",
        overlay: "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: NAME\n",
        says: &[
            (1, "Namespace NAME: an overlay may neither add nor change namespaces; base may"),
            (
                4,
                "Namespace NAME is outside this folder's namespace (gauss): remove it, or apply it from elsewhere",
            ),
        ],
        wall: Rights("cannot patch resource \"namespaces\" in API group \"\" in the namespace \"NAME\""),
    },
    Attempt {
        name: "label-of-namespace",
        overlay: "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: newton\n  labels: {pod-security.kubernetes.io/enforce: privileged}\n",
        says: &[
            (1, "Namespace newton: an overlay may neither add nor change namespaces; base may"),
            (
                4,
                "Namespace newton is outside this folder's namespace (gauss): remove it, or apply it from elsewhere",
            ),
        ],
        wall: Rights("cannot patch resource \"namespaces\" in API group \"\" in the namespace \"newton\""),
    },
    Attempt {
        name: "anothers-namespace",
        overlay: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: victim-a\n  namespace: newton\ndata: {key: stolen}\n",
        says: &[
            (
                1,
                "ConfigMap newton/victim-a is already applied from the folder newton/victim, and an object belongs to one folder: rename it, or remove it there first",
            ),
            (
                5,
                "ConfigMap newton/victim-a is outside this folder's namespace (gauss): remove it, or apply it from elsewhere",
            ),
        ],
        wall: Rights("cannot patch resource \"configmaps\" in API group \"\" in the namespace \"newton\""),
    },
    Attempt {
        name: "system-namespace",
        overlay: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extension-apiserver-authentication\n  namespace: kube-system\ndata: {client-ca-file: mine}\n",
        says: &[(
            5,
            "ConfigMap kube-system/extension-apiserver-authentication is outside this folder's namespace (gauss): remove it, or apply it from elsewhere",
        )],
        wall: Rights(
            "cannot patch resource \"configmaps\" in API group \"\" in the namespace \"kube-system\"",
        ),
    },
    Attempt {
        name: "second-cluster",
        overlay: "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: NAME-2}\nspec: {paused: true}\n",
        says: &[(
            1,
            "Cluster gauss/NAME-2 comes from the overlay, but a folder's clusters come from its base: move it there",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "anothers-cluster",
        overlay: "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: victim\n  namespace: newton\nspec: {paused: false}\n",
        says: &[
            (1, "Cluster newton/victim comes from the overlay, but a folder's clusters come from its base: move it there"),
            (
                1,
                "Cluster newton/victim is already applied from the folder newton/victim, and an object belongs to one folder: rename it, or remove it there first",
            ),
            (
                5,
                "Cluster newton/victim is outside this folder's namespace (gauss): remove it, or apply it from elsewhere",
            ),
        ],
        wall: Rights(
            "cannot patch resource \"clusters\" in API group \"cluster.x-k8s.io\" in the namespace \"newton\"",
        ),
    },
    Attempt {
        name: "neighbours-object",
        overlay: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: neighbour-a}\ndata: {key: stolen}\n",
        says: &[(
            1,
            "ConfigMap gauss/neighbour-a is already applied from the folder gauss/neighbour, and an object belongs to one folder: rename it, or remove it there first",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-machines",
        overlay: "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME}
spec:
  clusterName: neighbour
  replicas: 0
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      clusterName: neighbour
      version: v1.34.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: none}
",
        says: &[
            (
                5,
                "MachineDeployment gauss/NAME belongs to the Cluster neighbour, which is not in this folder: name a Cluster of this folder",
            ),
            (
                13,
                "MachineDeployment gauss/NAME names Secret none in `/spec/template/spec/bootstrap/dataSecretName`, but this folder does not have it. An overlay may name only the folder's own objects, or what base names in the same field. Add it, or name it in base",
            ),
            (
                11,
                "MachineDeployment gauss/NAME belongs to the Cluster neighbour, which is not in this folder: name a Cluster of this folder",
            ),
            (
                14,
                "MachineDeployment gauss/NAME names DevMachineTemplate none in `/spec/template/spec/infrastructureRef/name`, but this folder does not have it. An overlay may name only the folder's own objects, or what base names in the same field. Add it, or name it in base",
            ),
        ],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-authority",
        overlay: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: neighbour-ca\n  labels:\n    cluster.x-k8s.io/cluster-name: neighbour\n",
        says: &[
            (
                6,
                "Secret gauss/neighbour-ca belongs to the Cluster neighbour, which is not in this folder: name a Cluster of this folder",
            ),
            (
                4,
                "Secret gauss/neighbour-ca: Cluster API treats it as a Secret of the Cluster neighbour in the folder gauss/neighbour: give it another name, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
            ),
        ],
        wall: Nowhere,
    },
    Attempt {
        name: "identity",
        overlay: "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\nmetadata: {name: NAME}\nspec: {allowedNamespaces: {}}\n",
        says: &[(
            1,
            "AWSClusterStaticIdentity NAME: an overlay may neither add nor change identities that have no namespace; base may",
        )],
        wall: Rights(
            "cannot patch resource \"awsclusterstaticidentities\" in API group \"infrastructure.cluster.x-k8s.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "owner-label",
        overlay: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME-c\n  labels:\n    capstan.dev/cluster: neighbour\n",
        says: &[(
            6,
            "ConfigMap gauss/NAME-c has the mark `capstan.dev/cluster`, which only Capstan sets: remove it",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "owner-annotation",
        overlay: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME-a\n  annotations:\n    applier.capstan.dev/owner: gauss/neighbour\n",
        says: &[(
            6,
            "ConfigMap gauss/NAME-a has the mark `applier.capstan.dev/owner`, which only Capstan sets: remove it",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "release-mark",
        overlay: "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: NAME\n  namespace: gauss\n  annotations:\n    capstan.dev/release: aws/v99.0.0\nspec: {paused: true}\n",
        says: &[(
            7,
            "Cluster gauss/NAME has the mark `capstan.dev/release`, which only Capstan sets: remove it",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "owner-reference",
        overlay: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: NAME-s\n  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: neighbour-a, uid: 00000000-0000-4000-8000-000000000003}]\n",
        says: &[(
            5,
            "Secret gauss/NAME-s has `ownerReferences`. They name a UID of one management cluster; where that UID does not exist, Kubernetes deletes the object. Remove them",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "finalizer",
        overlay: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: NAME-s\n  finalizers: [acme.example/never]\n",
        says: &[(
            5,
            "Secret gauss/NAME-s: an overlay may not set finalizers, because the object could never be deleted: remove them",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "tombstone-as-object",
        overlay: "apiVersion: capstan.dev/v1alpha1\nkind: ClusterSettings\nmetadata: {name: NAME}\ndelete: cluster\n",
        says: &[(
            1,
            "ClusterSettings gauss/NAME: Capstan never applies Capstan's own objects from a cluster's folder",
        )],
        wall: Rights("ClusterSettings.capstan.dev is not served in version v1alpha1"),
    },
    Attempt {
        name: "fleet",
        overlay: "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: NAME}\nspec: {managementCluster: mine, source: {git: {url: 'https://example.com/mine'}}}\n",
        says: &[(1, "Fleet gauss/NAME: Capstan never applies Capstan's own objects from a cluster's folder")],
        wall: Rights(
            "cannot patch resource \"fleets\" in API group \"capstan.dev\" in the namespace \"gauss\"",
        ),
    },
    Attempt {
        name: "inventory",
        overlay: "apiVersion: capstan.dev/v1alpha1\nkind: ManagedCluster\nmetadata:\n  name: newton-victim\n  namespace: capstan-system\nspec: {cluster: gauss/NAME, fleet: fleet}\n",
        says: &[
            (
                1,
                "ManagedCluster capstan-system/newton-victim: Capstan never applies Capstan's own objects from a cluster's folder",
            ),
            (
                5,
                "ManagedCluster capstan-system/newton-victim is outside this folder's namespace (gauss): remove it, or apply it from elsewhere",
            ),
        ],
        wall: Rights(
            "cannot patch resource \"managedclusters\" in API group \"capstan.dev\" in the namespace \"capstan-system\"",
        ),
    },
    Attempt {
        name: "provider",
        overlay: "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: NAME}\nspec: {version: v1.0.0}\n",
        says: &[(
            1,
            "CoreProvider gauss/NAME: Capstan never applies providers of Cluster API from a cluster's folder",
        )],
        wall: Rights(
            "cannot patch resource \"coreproviders\" in API group \"operator.cluster.x-k8s.io\" in the namespace \"gauss\"",
        ),
    },
    Attempt {
        name: "definition",
        overlay: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: clusters.cluster.x-k8s.io}\nspec: {scope: Cluster}\n",
        says: &[
            (
                1,
                "CustomResourceDefinition clusters.cluster.x-k8s.io belongs to the whole management cluster, not to one folder: apply it from elsewhere",
            ),
            (
                1,
                "CustomResourceDefinition clusters.cluster.x-k8s.io: an overlay may neither add nor change definitions of kinds; base may",
            ),
        ],
        wall: Rights(
            "cannot patch resource \"customresourcedefinitions\" in API group \"apiextensions.k8s.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "webhook-of-all",
        overlay: "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: NAME}\nwebhooks: []\n",
        says: &[
            (
                1,
                "MutatingWebhookConfiguration NAME belongs to the whole management cluster, not to one folder: apply it from elsewhere",
            ),
            (
                1,
                "MutatingWebhookConfiguration NAME: an overlay may neither add nor change admission webhooks and policies; base may",
            ),
        ],
        wall: Rights(
            "cannot patch resource \"mutatingwebhookconfigurations\" in API group \"admissionregistration.k8s.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "policy-of-all",
        overlay: "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: NAME}\nspec: {policyName: keep, validationActions: [Deny]}\n",
        says: &[
            (
                1,
                "ValidatingAdmissionPolicyBinding NAME belongs to the whole management cluster, not to one folder: apply it from elsewhere",
            ),
            (
                1,
                "ValidatingAdmissionPolicyBinding NAME: an overlay may neither add nor change admission webhooks and policies; base may",
            ),
        ],
        wall: Rights(
            "cannot patch resource \"validatingadmissionpolicybindings\" in API group \"admissionregistration.k8s.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "runtime-extension",
        overlay: "apiVersion: runtime.cluster.x-k8s.io/v1beta2\nkind: ExtensionConfig\nmetadata: {name: NAME}\nspec: {clientConfig: {url: 'https://example.com'}}\n",
        says: &[
            (
                1,
                "ExtensionConfig NAME belongs to the whole management cluster, not to one folder: apply it from elsewhere",
            ),
            (1, "ExtensionConfig NAME: an overlay may neither add nor change runtime extensions; base may"),
        ],
        wall: Rights(
            "cannot patch resource \"extensionconfigs\" in API group \"runtime.cluster.x-k8s.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "service-account",
        overlay: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: capstan-applier}\nautomountServiceAccountToken: true\n",
        says: &[(
            1,
            "ServiceAccount gauss/capstan-applier: an overlay may neither add nor change service accounts; base may",
        )],
        wall: Rights(
            "cannot patch resource \"serviceaccounts\" in API group \"\" in the namespace \"gauss\"",
        ),
    },
    Attempt {
        name: "token",
        overlay: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: NAME\n  annotations: {kubernetes.io/service-account.name: capstan-applier}\ntype: kubernetes.io/service-account-token\n",
        says: &[(
            6,
            "Secret gauss/NAME: an overlay may not request a token of a service account: remove it",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "other-controller",
        overlay: "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME}
spec: {interval: 1m, prune: true, path: ./, sourceRef: {kind: GitRepository, name: mine}}
",
        says: &[(
            1,
            "Kustomization gauss/NAME runs on the management cluster with the rights of another controller. An overlay may touch it only if `spec.kubeConfig.secretRef` names the kubeconfig of the cluster that it is for",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "release-here",
        overlay: "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: mine}}
",
        says: &[(
            1,
            "HelmRelease gauss/NAME runs on the management cluster with the rights of another controller. An overlay may touch it only if `spec.kubeConfig.secretRef` names the kubeconfig of the cluster that it is for",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "others-service-account",
        overlay: "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME}
spec: {interval: 1m, prune: true, path: ./, sourceRef: {kind: GitRepository, name: mine}, serviceAccountName: capstan-applier}
",
        says: &[(
            1,
            "Kustomization gauss/NAME runs on the management cluster with the rights of another controller. An overlay may touch it only if `spec.kubeConfig.secretRef` names the kubeconfig of the cluster that it is for",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "release-brought-home",
        overlay: "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gauss}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: ours}}
",
        says: &[(
            4,
            "HelmRelease gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/kubeConfig` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "emptied-kubeconfig",
        overlay: "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gauss}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: ours}, kubeConfig: {secretRef: {name: ''}}}
",
        says: &[(
            4,
            "HelmRelease gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/kubeConfig` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "release-aside",
        overlay: "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gauss}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: ours}, kubeConfig: {secretRef: {name: NAME-kubeconfig}}, targetNamespace: kube-system}
",
        says: &[(
            4,
            "HelmRelease gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/targetNamespace` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "release-with-account",
        overlay: "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gauss}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: ours}, kubeConfig: {secretRef: {name: NAME-kubeconfig}}, serviceAccountName: capstan-applier}
",
        says: &[(
            4,
            "HelmRelease gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/serviceAccountName` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "other-chart",
        overlay: "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gauss}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: mine}, kubeConfig: {secretRef: {name: NAME-kubeconfig}}}
",
        says: &[(
            4,
            "HelmRelease gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/chartRef` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "other-account",
        overlay: "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: gauss}
spec:
  interval: 1m
  prune: true
  path: ./ours
  sourceRef: {kind: GitRepository, name: ours}
  serviceAccountName: capstan-applier
",
        says: &[(
            9,
            "Kustomization gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/serviceAccountName` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "no-account",
        overlay: "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: gauss}
spec:
  interval: 1m
  prune: true
  path: ./ours
  sourceRef: {kind: GitRepository, name: ours}
  serviceAccountName: ''
",
        says: &[(
            9,
            "Kustomization gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/serviceAccountName` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "without-account",
        overlay: "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: gauss}
spec:
  interval: 1m
  prune: true
  path: ./ours
  sourceRef: {kind: GitRepository, name: ours}
",
        says: &[(
            5,
            "Kustomization gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/serviceAccountName` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "kustomization-aside",
        overlay: "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: gauss}
spec:
  interval: 1m
  prune: true
  path: ./ours
  sourceRef: {kind: GitRepository, name: ours}
  serviceAccountName: restricted
  targetNamespace: kube-system
",
        says: &[(
            10,
            "Kustomization gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/targetNamespace` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "other-source",
        overlay: "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: gauss}
spec:
  interval: 1m
  prune: true
  path: ./ours
  sourceRef: {kind: GitRepository, name: mine}
  serviceAccountName: restricted
",
        says: &[(
            8,
            "Kustomization gauss/NAME: only base may say where it runs, with which rights and from which source: leave `/spec/sourceRef` as it is in base",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-addons",
        overlay: "\
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: NAME}
spec:
  clusterSelector: {matchLabels: {team: neighbour}}
  resources: [{kind: ConfigMap, name: NAME-a}]
",
        says: &[(
            5,
            "ClusterResourceSet gauss/NAME also selects the Cluster neighbour of the folder gauss/neighbour: select by a label that only Clusters of this folder have, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    // Of a Cluster that somebody made by hand no folder tells.
    Attempt {
        name: "strangers-addons",
        overlay: "\
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: NAME}
spec:
  clusterSelector: {matchLabels: {team: by-hand}}
  resources: [{kind: ConfigMap, name: NAME-a}]
",
        says: &[(
            5,
            "ClusterResourceSet gauss/NAME also selects the Cluster by-hand, which is not in this folder: select by a label that only Clusters of this folder have",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "strangers-chart",
        overlay: "\
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmReleaseProxy
metadata: {name: NAME}
spec:
  clusterRef: {kind: Cluster, name: by-hand}
  chartName: mine
",
        says: &[(
            5,
            "HelmReleaseProxy gauss/NAME belongs to the Cluster by-hand, which is not in this folder: name a Cluster of this folder",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "strangers-kubeconfig",
        overlay: "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: mine}, kubeConfig: {secretRef: {name: by-hand-kubeconfig}}}
",
        says: &[
            (
                4,
                "HelmRelease gauss/NAME names OCIRepository mine in `/spec/chartRef/name`, but this folder does not have it. An overlay may name only the folder's own objects, or what base names in the same field. Add it, or name it in base",
            ),
            (
                4,
                "HelmRelease gauss/NAME runs in the cluster whose kubeconfig is in the Secret by-hand-kubeconfig: an overlay may name only kubeconfigs of this folder's clusters (`<cluster>-kubeconfig`)",
            ),
        ],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-chart",
        overlay: "\
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {name: NAME}
spec:
  clusterSelector: {matchExpressions: [{key: team, operator: Exists}]}
  chartName: mine
  repoURL: https://charts.example.com
",
        says: &[(
            5,
            "HelmChartProxy gauss/NAME also selects the Cluster neighbour of the folder gauss/neighbour: select by a label that only Clusters of this folder have, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-profile",
        overlay: "\
apiVersion: config.projectsveltos.io/v1beta1
kind: ClusterProfile
metadata: {name: NAME}
spec:
  clusterSelector: {matchLabels: {team: neighbour}}
",
        says: &[
            (
                1,
                "ClusterProfile NAME belongs to the whole management cluster, not to one folder: apply it from elsewhere",
            ),
            (
                1,
                "ClusterProfile NAME: overlays may add and change objects of Cluster API, ConfigMaps and Secrets. The platform team may also allow ClusterProfile, under `clusters.overlayKinds` in .capstan.yaml",
            ),
            (
                5,
                "ClusterProfile NAME also selects the Cluster neighbour of the folder gauss/neighbour: select by a label that only Clusters of this folder have, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
            ),
        ],
        wall: Rights(
            "cannot patch resource \"clusterprofiles\" in API group \"config.projectsveltos.io\" at the cluster scope",
        ),
    },
    Attempt {
        name: "neighbours-etcd",
        overlay: "\
apiVersion: v1
kind: Secret
metadata:
  name: neighbour-etcd
",
        says: &[(
            4,
            "Secret gauss/neighbour-etcd: Cluster API treats it as a Secret of the Cluster neighbour in the folder gauss/neighbour: give it another name, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-sa",
        overlay: "\
apiVersion: v1
kind: Secret
metadata:
  name: neighbour-sa
",
        says: &[(
            4,
            "Secret gauss/neighbour-sa: Cluster API treats it as a Secret of the Cluster neighbour in the folder gauss/neighbour: give it another name, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-proxy",
        overlay: "\
apiVersion: v1
kind: Secret
metadata:
  name: neighbour-proxy
",
        says: &[(
            4,
            "Secret gauss/neighbour-proxy: Cluster API treats it as a Secret of the Cluster neighbour in the folder gauss/neighbour: give it another name, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "neighbours-kubeconfig",
        overlay: "\
apiVersion: v1
kind: Secret
metadata:
  name: neighbour-kubeconfig
",
        says: &[(
            4,
            "Secret gauss/neighbour-kubeconfig: Cluster API treats it as a Secret of the Cluster neighbour in the folder gauss/neighbour: give it another name, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "files-of-neighbour",
        overlay: "\
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: NAME}
spec:
  template:
    spec:
      files:
      - path: /stolen
        contentFrom: {secret: {name: neighbour-kubeconfig, key: value}}
",
        says: &[(
            9,
            "KubeadmConfigTemplate gauss/NAME names the Secret neighbour-kubeconfig of the folder gauss/neighbour: name one of this folder, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "login-of-neighbour",
        overlay: "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AcmeCluster
metadata: {name: NAME}
spec:
  login:
    secretRef: {name: login-two}
",
        says: &[(
            6,
            "AcmeCluster gauss/NAME names the Secret login-two of the folder gauss/neighbour: name one of this folder, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
    Attempt {
        name: "identity-of-neighbour",
        overlay: "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AcmeCluster
metadata: {name: NAME}
spec:
  identityRef: {kind: AcmeClusterIdentity, name: two}
",
        says: &[(
            5,
            "AcmeCluster gauss/NAME uses the credentials AcmeClusterIdentity two of the folder gauss/neighbour: name credentials of this folder, or state in `clusters.oneOwner` in .capstan.yaml that both folders have one owner",
        )],
        wall: Nowhere,
    },
];

/// The rows whose base also has a `base/flux.yaml`, and its content.
pub(super) const BASES: &[(&str, &str)] = &[
    ("release-brought-home", RELEASE),
    ("emptied-kubeconfig", RELEASE),
    ("release-aside", RELEASE),
    ("release-with-account", RELEASE),
    ("other-chart", RELEASE),
    ("other-account", KUSTOMIZATION),
    ("no-account", KUSTOMIZATION),
    ("without-account", KUSTOMIZATION),
    ("kustomization-aside", KUSTOMIZATION),
    ("other-source", KUSTOMIZATION),
];

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: ours}, kubeConfig: {secretRef: {name: NAME-kubeconfig}}}
";
const KUSTOMIZATION: &str = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME}
spec:
  interval: 1m
  prune: true
  path: ./ours
  sourceRef: {kind: GitRepository, name: ours}
  serviceAccountName: restricted
";

/// What the neighbour brings besides.
pub(super) const NEIGHBOURS: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: login-two}
stringData: {password: \"2\"}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AcmeClusterIdentity
metadata: {name: two}
spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AcmeCluster
metadata: {name: two}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: two}
spec: {template: {spec: {backend: {inMemory: {}}}}}
";

/// What the folder `waiting` brings besides: a control plane, which nobody makes ready.
pub(super) const WAITING: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AcmeControlPlane
metadata: {name: two}
";

/// A Cluster in the customer's namespace that is not in any folder.
pub(super) const BY_HAND: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: by-hand, namespace: gauss, labels: {team: by-hand}}
spec: {paused: true}
";

/// Customers here may bring what Flux carries out: the boundary alone says how.
pub(super) const FLUX_RIGHTS: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: flux, namespace: gauss}
rules:
- apiGroups: [helm.toolkit.fluxcd.io, kustomize.toolkit.fluxcd.io]
  resources: ['*']
  verbs: [get, list, watch, create, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: flux, namespace: gauss}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: flux}
subjects: [{kind: ServiceAccount, name: capstan-applier, namespace: gauss}]
";

/// Inside Capstan's boundary, and not granted to the service account: only the API server refuses it.
pub(super) const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: second-wall}\nspec: {ports: [{port: 80}]}\n";

/// A base, too, ends at the rights of the service account of the namespace that it names.
pub(super) const INTRUDER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: intruder, namespace: kube-system}
spec: {paused: true}
";

/// Group, version, kind, plural, scope.
pub(super) type Kind = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Kinds that overlays try and that Cluster API does not bring.
pub(super) const KINDS: &[Kind] = &[
    (
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "AWSClusterStaticIdentity",
        "awsclusterstaticidentities",
        "Cluster",
    ),
    ("operator.cluster.x-k8s.io", "v1alpha2", "CoreProvider", "coreproviders", "Namespaced"),
    ("addons.cluster.x-k8s.io", "v1alpha1", "HelmChartProxy", "helmchartproxies", "Namespaced"),
    ("addons.cluster.x-k8s.io", "v1alpha1", "HelmReleaseProxy", "helmreleaseproxies", "Namespaced"),
    ("config.projectsveltos.io", "v1beta1", "ClusterProfile", "clusterprofiles", "Cluster"),
    ("infrastructure.cluster.x-k8s.io", "v1beta2", "AcmeCluster", "acmeclusters", "Namespaced"),
    (
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "AcmeClusterIdentity",
        "acmeclusteridentities",
        "Namespaced",
    ),
    ("controlplane.cluster.x-k8s.io", "v1beta2", "AcmeControlPlane", "acmecontrolplanes", "Namespaced"),
    ("controlplane.cluster.x-k8s.io", "v1beta1", "RKE2ControlPlane", "rke2controlplanes", "Namespaced"),
    ("infrastructure.cluster.x-k8s.io", "v1alpha1", "ProxmoxCluster", "proxmoxclusters", "Namespaced"),
    (
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "Metal3MachineTemplate",
        "metal3machinetemplates",
        "Namespaced",
    ),
    ("infrastructure.cluster.x-k8s.io", "v1beta1", "OpenStackCluster", "openstackclusters", "Namespaced"),
    (
        "infrastructure.cluster.x-k8s.io",
        "v1alpha1",
        "KubevirtMachineTemplate",
        "kubevirtmachinetemplates",
        "Namespaced",
    ),
];

/// Flux's, where its own definitions are not at hand.
pub(super) const FLUX_KINDS: &[Kind] = &[
    ("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations", "Namespaced"),
    ("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases", "Namespaced"),
];
