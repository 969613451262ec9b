//! What overlays name: an attempt a row that is refused, and what customers honestly do.

use super::tests::{BASE, NEIGHBOUR, beside};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

/// A base with what an honest overlay may name.
const OWN: &str = "\
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: peu01}
spec: {identityRef: {name: cloud, cloudName: openstack}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: peu01-md-0}
spec: {template: {spec: {flavor: m1, identityRef: {name: cloud, cloudName: openstack}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: peu01-md-0}
spec: {template: {spec: {files: [{path: /a, contentFrom: {secret: {name: made-by-hand, key: a}}}]}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01}
spec: {version: v1.30.1, machineTemplate: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: peu01-md-0}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: ours}
spec: {variables: [{name: size, required: false, schema: {openAPIV3Schema: {type: string}}}]}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: pool}
spec: {prefix: 24}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: plane}
";

fn found(overlay: &str) -> Vec<String> {
    beside([&format!("{BASE}{OWN}"), overlay], [NEIGHBOUR, ""], "{}")
}

fn object(api_version: &str, kind: &str, spec: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: mine}}\nspec: {spec}\n")
}

fn infrastructure(kind: &str, spec: &str) -> String {
    object(INFRASTRUCTURE, kind, spec)
}

fn cluster(spec: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: peu01, namespace: org}}\nspec: {spec}\n"
    )
}

fn workers(spec: &str) -> String {
    object(
        "cluster.x-k8s.io/v1beta2",
        "MachineDeployment",
        &format!("{{clusterName: peu01, template: {{spec: {{clusterName: peu01, {spec}}}}}}}"),
    )
}

fn config(spec: &str) -> String {
    object(
        "bootstrap.cluster.x-k8s.io/v1beta1",
        "KubeadmConfigTemplate",
        &format!("{{template: {{spec: {{{spec}}}}}}}"),
    )
}

fn template(kind: &str, spec: &str) -> String {
    infrastructure(kind, &format!("{{template: {{spec: {{{spec}}}}}}}"))
}

fn class_patch(patch: &str) -> String {
    object(
        "cluster.x-k8s.io/v1beta1",
        "ClusterClass",
        &format!(
            "{{patches: [{{name: p, definitions: [{{selector: {{kind: OpenStackClusterTemplate}}, jsonPatches: [{patch}]}}]}}]}}"
        ),
    )
}

/// An overlay, the field that is reported, and the reason.
fn attempts() -> Vec<(String, &'static str, &'static str)> {
    let core = "cluster.x-k8s.io/v1beta2";
    let control = "controlplane.cluster.x-k8s.io/v1beta1";
    let machine = |kind: &str, spec: &str| infrastructure(kind, spec);
    vec![
        (infrastructure("ProxmoxCluster", "{credentialsRef: {name: a, namespace: capmox-system}}"), "/spec/credentialsRef/name", "NamesOutside"),
        (infrastructure("GCPCluster", "{credentialsRef: {name: a, namespace: other}}"), "/spec/credentialsRef/name", "NamesOutside"),
        (infrastructure("LinodeCluster", "{credentialsRef: {name: a, namespace: other}}"), "/spec/credentialsRef/name", "NamesOutside"),
        (infrastructure("LinodeCluster", "{credentialsRef: {name: cloud-two}}"), "/spec/credentialsRef/name", "NeighboursSecret"),
        (infrastructure("LinodeCluster", "{credentialsRef: {name: by-hand}}"), "/spec/credentialsRef/name", "NotBrought"),
        (infrastructure("CloudStackCluster", "{failureDomains: [{name: a, acsEndpoint: {name: b, namespace: other}}]}"), "/spec/failureDomains/0/acsEndpoint/name", "NamesOutside"),
        (infrastructure("CloudStackCluster", "{failureDomains: [{name: a, acsEndpoint: {name: cloud-two}}]}"), "/spec/failureDomains/0/acsEndpoint/name", "NeighboursSecret"),
        (template("Metal3MachineTemplate", "userData: {name: a, namespace: other}"), "/spec/template/spec/userData/name", "NamesOutside"),
        (template("Metal3MachineTemplate", "metaData: {name: a}"), "/spec/template/spec/metaData/name", "NotBrought"),
        (template("Metal3MachineTemplate", "networkData: {name: cloud-two}"), "/spec/template/spec/networkData/name", "NeighboursSecret"),
        (template("Metal3MachineTemplate", "dataTemplate: {name: a, namespace: other}"), "/spec/template/spec/dataTemplate/name", "NamesOutside"),
        (infrastructure("Metal3DataTemplate", "{metaData: {ipAddressesFromIPPool: [{key: ip, name: anothers}]}}"), "/spec/metaData/ipAddressesFromIPPool/0/name", "NotBrought"),
        (infrastructure("OpenStackCluster", "{identityRef: {type: ClusterIdentity, name: platform, cloudName: a}}"), "/spec/identityRef/name", "OthersIdentity"),
        (template("OpenStackMachineTemplate", "identityRef: {name: by-hand, cloudName: a}"), "/spec/template/spec/identityRef/name", "NotBrought"),
        (infrastructure("AzureCluster", "{identityRef: {kind: AzureClusterIdentity, name: a}}"), "/spec/identityRef/name", "OthersIdentity"),
        (template("AzureMachineTemplate", "userAssignedIdentities: [{providerID: 'azure:///subscriptions/a'}]"), "/spec/template/spec/userAssignedIdentities/0/providerID", "Exists"),
        (infrastructure("AzureManagedControlPlane", "{identity: {userAssignedIdentityResourceID: /subscriptions/a}}"), "/spec/identity/userAssignedIdentityResourceID", "OthersIdentity"),
        (infrastructure("HetznerCluster", "{hetznerSecretRef: {name: hetzner, key: {hcloudToken: t}}}"), "/spec/hetznerSecretRef/name", "NotBrought"),
        (infrastructure("NutanixCluster", "{prismCentral: {credentialRef: {kind: Secret, name: cloud-two}}}"), "/spec/prismCentral/credentialRef/name", "NeighboursSecret"),
        (cluster("{controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: peu02}}"), "/spec/controlPlaneRef/name", "NotBrought"),
        (cluster("{infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AWSCluster, name: peu02}}"), "/spec/infrastructureRef/name", "NotBrought"),
        (cluster("{topology: {classRef: {name: ours, namespace: other}}}"), "/spec/topology/classRef/name", "NamesOutside"),
        (cluster("{topology: {class: ours, classNamespace: other}}"), "/spec/topology/class", "NamesOutside"),
        (cluster("{topology: {class: theirs}}"), "/spec/topology/class", "NotBrought"),
        (cluster("{topology: {variables: [{name: identityRef, value: {name: by-hand}}]}}"), "/spec/topology/variables/0/value/name", "NotBrought"),
        (cluster("{topology: {variables: [{name: imagePullSecretName, value: by-hand}]}}"), "/spec/topology/variables/0/value", "NotBrought"),
        (cluster("{topology: {workers: {machineDeployments: [{class: a, name: b, variables: {overrides: [{name: credentials, value: {secretRef: {name: cloud-two}}}]}}]}}}"), "/spec/topology/workers/machineDeployments/0/variables/overrides/0/value/secretRef/name", "NeighboursSecret"),
        (workers("infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: peu02-md-0}"), "/spec/template/spec/infrastructureRef/name", "NotBrought"),
        (workers("bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: theirs}}"), "/spec/template/spec/bootstrap/configRef/name", "NotBrought"),
        (workers("bootstrap: {dataSecretName: by-hand}"), "/spec/template/spec/bootstrap/dataSecretName", "NotBrought"),
        (config("files: [{path: /a, contentFrom: {secret: {name: platforms, key: a}}}]"), "/spec/template/spec/files/0/contentFrom/secret/name", "NotBrought"),
        // The base gives it to the cloud's controller, and to no machine.
        (config("files: [{path: /a, contentFrom: {secret: {name: cloud, key: clouds.yaml}}}]"), "/spec/template/spec/files/0/contentFrom/secret/name", "NotBrought"),
        (config("files: [{path: /a, contentFrom: {secret: {name: peu01-cloud-config, key: clouds.yaml}}}]"), "/spec/template/spec/files/0/contentFrom/secret/name", "NotBrought"),
        (config("users: [{name: a, passwdFrom: {secret: {name: platforms, key: a}}}]"), "/spec/template/spec/users/0/passwdFrom/secret/name", "NotBrought"),
        (object(control, "RKE2ControlPlane", "{manifestsConfigMapReference: {name: a, namespace: kube-system}}"), "/spec/manifestsConfigMapReference/name", "NamesOutside"),
        (object(control, "RKE2ControlPlane", "{manifestsConfigMapReference: {name: by-hand}}"), "/spec/manifestsConfigMapReference/name", "NotBrought"),
        (object(control, "RKE2ControlPlane", "{serverConfig: {etcd: {backupConfig: {s3: {s3CredentialSecret: {name: cloud-two}}}}}}"), "/spec/serverConfig/etcd/backupConfig/s3/s3CredentialSecret/name", "NeighboursSecret"),
        (object(control, "KamajiControlPlane", "{dataStoreName: tenants}"), "/spec/dataStoreName", "NotBrought"),
        (object(control, "KamajiControlPlane", "{dataStoreSchema: tenant_two}"), "/spec/dataStoreSchema", "Exists"),
        (object(control, "KamajiControlPlane", "{deployment: {serviceAccountName: admin}}"), "/spec/deployment/serviceAccountName", "NotBrought"),
        (object(control, "K0smotronControlPlane", "{manifests: [{name: a, hostPath: {path: /etc}}]}"), "/spec/manifests/0/hostPath", "HostPath"),
        (object(core, "Machine", "{clusterName: peu01, providerID: 'openstack:///1'}"), "/spec/providerID", "Exists"),
        (object(core, "MachinePool", "{clusterName: peu01, providerIDList: ['aws:///a/i-1']}"), "/spec/providerIDList/0", "Exists"),
        (machine("AWSMachine", "{instanceID: i-1}"), "/spec/instanceID", "Exists"),
        (machine("LinodeMachine", "{instanceID: 7}"), "/spec/instanceID", "Exists"),
        (machine("ProxmoxMachine", "{virtualMachineID: 100}"), "/spec/virtualMachineID", "Exists"),
        (object("ipam.cluster.x-k8s.io/v1beta1", "IPAddress", "{address: 10.0.0.1, poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: theirs}}"), "/spec/poolRef/name", "NotBrought"),
        (object("ipam.cluster.x-k8s.io/v1beta1", "IPAddressClaim", "{poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: GlobalInClusterIPPool, name: all}}"), "/spec/poolRef/name", "NotBrought"),
        (template("VSphereMachineTemplate", "network: {devices: [{addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: theirs}]}]}"), "/spec/template/spec/network/devices/0/addressesFromPools/0/name", "NotBrought"),
        (template("DockerMachineTemplate", "extraMounts: [{hostPath: /var/run/docker.sock, containerPath: /a}]"), "/spec/template/spec/extraMounts/0/hostPath", "HostPath"),
        (template("KubevirtMachineTemplate", "virtualMachineTemplate: {metadata: {namespace: other}, spec: {}}"), "/spec/template/spec/virtualMachineTemplate/metadata/namespace", "NamesOutside"),
        (template("KubevirtMachineTemplate", "virtualMachineTemplate: {spec: {template: {spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: theirs}}]}}}}"), "/spec/template/spec/virtualMachineTemplate/spec/template/spec/volumes/0/persistentVolumeClaim/claimName", "NotBrought"),
        (infrastructure("KubevirtCluster", "{infraClusterSecretRef: {name: theirs, namespace: org}}"), "/spec/infraClusterSecretRef/name", "OthersKubeconfig"),
        (object("addons.cluster.x-k8s.io/v1beta2", "ClusterResourceSet", "{clusterSelector: {matchLabels: {a: b}}, resources: [{kind: Secret, name: by-hand}]}"), "/spec/resources/0/name", "NotBrought"),
        (object("addons.cluster.x-k8s.io/v1alpha1", "HelmChartProxy", "{clusterSelector: {matchLabels: {a: b}}, credentials: {secret: {name: a, namespace: other}, key: b}}"), "/spec/credentials/secret/name", "NamesOutside"),
        (object(core, "MachineHealthCheck", "{clusterName: peu01, remediationTemplate: {kind: Metal3RemediationTemplate, apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, name: theirs}}"), "/spec/remediationTemplate/name", "NotBrought"),
        // The platform's login would be sent there.
        (infrastructure("VSphereCluster", "{server: vcenter.evil.example}"), "/spec/server", "Server"),
        (
            infrastructure("NutanixCluster", "{prismCentral: {address: evil.example}}"),
            "/spec/prismCentral/address",
            "Server",
        ),
        // A provider that Capstan does not know.
        (infrastructure("AcmeCluster", "{login: {name: a, namespace: other}}"), "/spec/login/name", "NamesOutside"),
        (infrastructure("AcmeCluster", "{loginRef: {name: a}}"), "/spec/loginRef/name", "NotBrought"),
        (infrastructure("AcmeCluster", "{loginIdentity: {name: a}}"), "/spec/loginIdentity/name", "NotBrought"),
        (infrastructure("AcmeCluster", "{tokenSecret: a}"), "/spec/tokenSecret", "NotBrought"),
        (infrastructure("AcmeCluster", "{owner: {kind: Widget, name: a}}"), "/spec/owner/name", "NotBrought"),
        (class_patch("{op: add, path: /spec/template/spec/identityRef, value: {name: by-hand}}"), "/spec/patches/0/definitions/0/jsonPatches/0/value/name", "NotBrought"),
        (class_patch("{op: replace, path: /spec/template/spec/identityRef/name, value: by-hand}"), "/spec/patches/0/definitions/0/jsonPatches/0/value/name", "NotBrought"),
        (class_patch("{op: add, path: /spec/template/spec/identityRef, valueFrom: {variable: login}}"), "/spec/patches/0/definitions/0/jsonPatches/0/valueFrom", "Unclear"),
        (class_patch("{op: add, path: /spec/template/spec, valueFrom: {template: \"identityRef: {name: a}\"}}"), "/spec/patches/0/definitions/0/jsonPatches/0/valueFrom", "Unclear"),
        (
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Machine\nmetadata: {name: mine, annotations: {metal3.io/BareMetalHost: org/anothers}}\nspec: {}\n".to_owned(),
            "/metadata/annotations/metal3.io~1BareMetalHost",
            "NotBrought",
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: mine, annotations: {replicator.v1.mittwald.de/replicate-from: other/a}}\n".to_owned(),
            "/metadata/annotations/replicator.v1.mittwald.de~1replicate-from",
            "NamesOutside",
        ),
    ]
}

#[test]
fn an_overlay_names_nothing_that_is_not_its_folders() {
    let mut wrong = Vec::new();
    let attempts = attempts();
    assert!(attempts.len() >= 34, "{}", attempts.len());
    for (overlay, field, why) in attempts {
        let found = found(&overlay);
        let told = [format!(" {field} {why} ")];
        if found.len() != 1 || !told.iter().all(|told| found[0].contains(told.as_str())) {
            wrong.push(format!("{overlay}is {found:#?}\nnot {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same said by a base is the platform team's word.
#[test]
fn a_base_names_what_it_likes() {
    let mut wrong = Vec::new();
    for (object, ..) in attempts() {
        // What another folder's base brings it may not name either.
        if object.contains("peu02") || object.contains("cloud-two") || object.contains("kind: Cluster\n") {
            continue;
        }
        let base = format!("{BASE}---\n{object}");
        let found = beside([&base, ""], ["", ""], "{}");
        if !found.is_empty() {
            wrong.push(format!("{object}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_customers_honestly_do_is_not_refused() {
    let core = "cluster.x-k8s.io/v1beta2";
    let control = "controlplane.cluster.x-k8s.io/v1beta1";
    let secret = |name: &str| {
        format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData: {{a: b}}\n")
    };
    let map = |name: &str| {
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n")
    };
    let with = |first: String, second: String| format!("{first}{second}");
    let deployment = |spec: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata: {{name: peu01-md-0, namespace: org}}\nspec: {spec}\n"
        )
    };
    let plane = |spec: &str| {
        format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {{name: peu01, namespace: org}}\nspec: {spec}\n"
        )
    };
    let honest = [
        deployment("{replicas: 5}"),
        deployment(
            "{template: {metadata: {labels: {team: a}}, spec: {failureDomain: az-1, readinessGates: [{conditionType: a}]}}}",
        ),
        deployment(
            "{template: {spec: {taints: [{key: a, value: b, effect: NoSchedule, propagation: Always}]}}}",
        ),
        cluster("{clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}}"),
        cluster(
            "{topology: {variables: [{name: size, value: large}, {name: network, value: {name: net-1}}]}}",
        ),
        cluster(
            "{topology: {workers: {machineDeployments: [{class: default, name: md-1, replicas: 3, variables: {overrides: [{name: size, value: {flavor: {filter: {name: m1}}}}]}}]}}}",
        ),
        cluster("{topology: {classRef: {name: ours}}}"),
        cluster("{topology: {class: ours, classNamespace: org}}"),
        cluster(
            "{controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: peu01}}",
        ),
        cluster(
            "{infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, name: peu01, namespace: org}}",
        ),
        workers(
            "infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: peu01-md-0}, bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: peu01-md-0}}",
        ),
        with(
            workers(
                "infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, name: mine}, bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: mine}}",
            ),
            format!(
                "---\n{}---\n{}",
                template(
                    "OpenStackMachineTemplate",
                    "flavor: {filter: {name: m2}}, image: {filter: {name: ubuntu}}, sshKeyName: mine, securityGroups: [{filter: {name: web}}], ports: [{network: {filter: {name: net-1}}, fixedIPs: [{subnet: {filter: {name: sub-1}}}]}], rootVolume: {sizeGiB: 50}"
                ),
                config(
                    "joinConfiguration: {nodeRegistration: {name: '{{ local_hostname }}', kubeletExtraArgs: [{name: node-labels, value: a=b}]}}"
                )
            ),
        ),
        // With the login that the base gives the others.
        template("OpenStackMachineTemplate", "identityRef: {name: cloud, cloudName: openstack}"),
        with(
            template("OpenStackMachineTemplate", "identityRef: {name: mine, cloudName: openstack}"),
            secret("mine"),
        ),
        infrastructure(
            "AWSCluster",
            "{identityRef: {kind: AWSClusterStaticIdentity, name: peu01}, network: {vpc: {id: vpc-1}}, s3Bucket: {name: a}}",
        ),
        template(
            "AWSMachineTemplate",
            "instanceType: m5, ami: {id: ami-1}, iamInstanceProfile: nodes, sshKeyName: a, subnet: {filters: [{name: 'tag:a', values: [b]}]}, additionalSecurityGroups: [{id: sg-1}], cloudInit: {secureSecretsBackend: secrets-manager}",
        ),
        template(
            "AzureMachineTemplate",
            "vmSize: D2, identity: SystemAssigned, osDisk: {diskSizeGB: 128, managedDisk: {storageAccountType: Premium_LRS}}, image: {computeGallery: {gallery: a, name: b, version: c}}",
        ),
        with(
            template("AzureMachineTemplate", "vmSize: D2"),
            format!(
                "---\n{}",
                config(
                    "files: [{path: /etc/kubernetes/azure.json, contentFrom: {secret: {name: mine-azure-json, key: worker-node-azure.json}}}]"
                )
            ),
        ),
        template(
            "NutanixMachineTemplate",
            "cluster: {type: name, name: pe}, subnet: [{type: name, name: vlan}], image: {type: name, name: ubuntu}, project: {type: name, name: p}, additionalTrustBundle: {kind: String, name: a, data: b}",
        ),
        template("CloudStackMachineTemplate", "offering: {name: large}, template: {name: ubuntu}"),
        template(
            "VSphereMachineTemplate",
            "template: ubuntu, datastore: a, network: {devices: [{networkName: VM, dhcp4: true}]}",
        ),
        template("GCPMachineTemplate", "instanceType: n1, serviceAccounts: {email: default, scopes: [a]}"),
        with(config("files: [{path: /a, contentFrom: {secret: {name: mine, key: a}}}]"), secret("mine")),
        config("files: [{path: /a, contentFrom: {secret: {name: made-by-hand, key: a}}}]"),
        config(
            "files: [{path: /etc/hosts, content: 'secretRef: {name: a}'}], users: [{name: ops, sshAuthorizedKeys: [a]}], ntp: {servers: [a]}",
        ),
        config("files: [{path: /a, contentFrom: {secret: {name: peu01-etcd, key: tls.crt}}}]"),
        plane("{replicas: 3, rolloutStrategy: {type: RollingUpdate}}"),
        plane(
            "{kubeadmConfigSpec: {clusterConfiguration: {apiServer: {extraArgs: [{name: a, value: b}], extraVolumes: [{name: audit, hostPath: /etc/audit, mountPath: /etc/audit, pathType: File}]}}}}",
        ),
        plane(
            "{kubeadmConfigSpec: {preKubeadmCommands: [echo a], initConfiguration: {nodeRegistration: {criSocket: /run/a, name: n}}}}",
        ),
        with(object(control, "RKE2ControlPlane", "{manifestsConfigMapReference: {name: mine}}"), map("mine")),
        with(
            object(control, "RKE2ControlPlane", "{agentConfig: {resolvConf: {name: mine, namespace: org}}}"),
            map("mine"),
        ),
        object(
            control,
            "KamajiControlPlane",
            "{deployment: {serviceAccountName: plane}, addons: {coreDNS: {}}}",
        ),
        with(
            object(
                "addons.cluster.x-k8s.io/v1beta2",
                "ClusterResourceSet",
                "{clusterSelector: {matchLabels: {a: b}}, resources: [{kind: ConfigMap, name: mine}]}",
            ),
            map("mine"),
        ),
        with(
            object(
                "addons.cluster.x-k8s.io/v1beta2",
                "ClusterResourceSet",
                "{clusterSelector: {matchLabels: {a: b}}, resources: [{kind: Secret, name: mine}]}",
            ),
            secret("mine"),
        ),
        object(
            "addons.cluster.x-k8s.io/v1alpha1",
            "HelmChartProxy",
            "{clusterSelector: {matchLabels: {a: b}}, chartName: a, repoURL: 'https://charts.example.com', namespace: ingress-nginx, valuesTemplate: 'secretName: a'}",
        ),
        object(
            "addons.cluster.x-k8s.io/v1alpha1",
            "HelmReleaseProxy",
            "{clusterRef: {kind: Cluster, apiVersion: cluster.x-k8s.io/v1beta1, name: peu01}, releaseName: a, namespace: ingress}",
        ),
        object(
            core,
            "MachineHealthCheck",
            "{clusterName: peu01, selector: {matchLabels: {a: b}}, maxUnhealthy: 40%}",
        ),
        with(
            object(
                core,
                "MachineHealthCheck",
                "{clusterName: peu01, remediationTemplate: {kind: Metal3RemediationTemplate, apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, name: mine}}",
            ),
            format!("---\n{}", template("Metal3RemediationTemplate", "strategy: {type: Reboot}")),
        ),
        with(
            template(
                "Metal3MachineTemplate",
                "image: {url: 'http://a', checksum: b}, dataTemplate: {name: mine}, hostSelector: {matchLabels: {a: b}}",
            ),
            format!(
                "---\n{}",
                infrastructure(
                    "Metal3DataTemplate",
                    "{clusterName: peu01, metaData: {strings: [{key: a, value: b}], ipAddressesFromIPPool: [{key: ip, name: pool}], objectNames: [{key: name, object: machine}]}, networkData: {links: {ethernets: [{id: a, type: phy, macAddress: {fromHostInterface: eth0}}]}, networks: {ipv4: [{id: a, link: a, ipAddressFromIPPool: pool, routes: [{network: 0.0.0.0, gateway: {fromIPPool: pool}}]}]}}}"
                )
            ),
        ),
        template("DockerMachineTemplate", "customImage: kindest/node, preLoadImages: [a]"),
        template(
            "KubevirtMachineTemplate",
            "virtualMachineTemplate: {metadata: {namespace: org}, spec: {template: {spec: {domain: {devices: {disks: [{name: disk, disk: {bus: virtio}}]}}, volumes: [{name: disk, containerDisk: {image: a}}]}}}}",
        ),
        object(
            control,
            "K0sControlPlane",
            "{k0sConfigSpec: {k0s: {spec: {extensions: {helm: {charts: [{name: a, namespace: kube-system}]}}}}}}",
        ),
        infrastructure("AzureManagedMachinePool", "{name: pool0, mode: User, sku: D2}"),
        infrastructure("AWSFargateProfile", "{clusterName: peu01, selectors: [{namespace: default}]}"),
        class_patch(
            "{op: add, path: /spec/template/spec/managedSecurityGroups, value: {allowAllInClusterTraffic: true}}",
        ),
        class_patch("{op: add, path: /spec/template/spec/sshKeyName, valueFrom: {variable: key}}"),
        secret("registry").trim_start_matches("---\n").to_owned(),
        map("values").trim_start_matches("---\n").to_owned(),
    ];
    let mut wrong = Vec::new();
    assert!(honest.len() >= 34, "{}", honest.len());
    for overlay in honest {
        let found = found(&overlay);
        if !found.is_empty() {
            wrong.push(format!("{overlay}is {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const INLINE: &str = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: 'https://10.0.0.1:6443'}}], users: [{name: u, user: {token: t}}]}";

/// What controllers trust by its name comes from the base, and a kubeconfig among it is inline.
#[test]
fn secrets_that_controllers_trust_come_from_the_base_alone() {
    let secret = |name: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n  namespace: org\nstringData:\n  value: \"{value}\"\n"
        )
    };
    for name in [
        "peu01-kubeconfig",
        "peu01-user-kubeconfig",
        "peu01-owners-kubeconfig",
        "peu01-ca",
        "peu01-etcd",
        "peu01-sa",
        "peu01-proxy",
        "peu01-cca",
        "peu01-token",
        "peu01-cloud-config",
        "peu01-cloud-controllers",
        // Of a cluster that is in no folder, or comes later.
        "by-hand-kubeconfig",
        "later-ca",
    ] {
        let told = [format!("Secret org/{name} /metadata/name TrustedSecret c/overlay/a.yaml:4")];
        assert_eq!(found(&secret(name, INLINE)), told, "{name}");
        let base = format!("{BASE}---\n{}", secret(name, INLINE));
        assert_eq!(beside([&base, ""], ["", ""], "{}"), [""; 0], "{name}");
        let changed = secret(name, &INLINE.replace("10.0.0.1", "10.6.6.6"));
        let told = [format!("Secret org/{name} /stringData/value TrustedSecret c/overlay/a.yaml:7")];
        assert_eq!(beside([&base, &changed], ["", ""], "{}"), told, "{name}");
    }
    for name in ["registry-token", "peu01-registry", "ca"] {
        assert_eq!(found(&secret(name, "a")), [""; 0], "{name}");
    }
    // A name that the base has controllers log in by.
    let proxy = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: KubevirtCluster\nmetadata: {name: peu01}\nspec: {infraClusterSecretRef: {name: infra}}\n";
    let told = ["Secret org/infra /metadata/name TrustedSecret c/overlay/a.yaml:4"];
    assert_eq!(beside([&format!("{BASE}{proxy}"), &secret("infra", INLINE)], ["", ""], "{}"), told);
    for (hostile, says) in [
        ("token: t}", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}"),
        ("token: t}", "exec: {command: sh}}"),
        ("token: t}", "auth-provider: {name: a}}"),
        ("token: t}", "client-certificate: /a}"),
        ("token: t}", "client-key: /a}"),
        ("server: 'https://10.0.0.1:6443'", "server: 'https://a', certificate-authority: /a"),
        ("server: 'https://10.0.0.1:6443'", "server: 'https://a', proxy-url: 'http://b'"),
    ] {
        let value = INLINE.replace(hostile, says);
        for (name, field) in [("peu01-kubeconfig", "stringData"), ("by-hand-user-kubeconfig", "stringData")] {
            let base = format!("{BASE}---\n{}", secret(name, &value));
            let told = [format!("Secret org/{name} /{field}/value Kubeconfig c/base/a.yaml:36")];
            assert_eq!(beside([&base, ""], ["", ""], "{}"), told, "{says}");
        }
    }
    let encoded = secret("peu01-kubeconfig", "e30=").replace("stringData", "data");
    let told = ["Secret org/peu01-kubeconfig /data/value Kubeconfig c/base/a.yaml:36"];
    assert_eq!(beside([&format!("{BASE}---\n{encoded}"), ""], ["", ""], "{}"), told);
}
