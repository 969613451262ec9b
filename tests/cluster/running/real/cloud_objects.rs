//! Objects of the OpenStack resource controller on a real API server, by the shape of its definitions and with its
//! finalizer; what it says of them is written by hand. The controller itself makes some in `openstack::orc`.

use serde_json::{Value, json};

use super::{CUSTOMER, Parts, Town, rows};
use capstan_test_parts::plane::Plane;

/// As ORC 2.6.0 defines it, and as the OpenStack provider does, as far as a folder has to do with them.
const DEFINITIONS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: images.openstack.k-orc.cloud}
spec:
  group: openstack.k-orc.cloud
  names: {kind: Image, listKind: ImageList, plural: images, singular: image}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [cloudCredentialsRef]
            properties:
              cloudCredentialsRef:
                type: object
                required: [cloudName, secretName]
                properties: {cloudName: {type: string}, secretName: {type: string}}
              managementPolicy:
                type: string
                default: managed
                enum: [managed, unmanaged]
                x-kubernetes-validations: [{message: managementPolicy is immutable, rule: self == oldSelf}]
              resource:
                type: object
                properties:
                  visibility: {type: string}
                  content:
                    type: object
                    properties: {diskFormat: {type: string}}
                    x-kubernetes-validations: [{message: content is immutable, rule: self == oldSelf}]
          status:
            type: object
            properties:
              id: {type: string}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status, reason, message, lastTransitionTime]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
                    observedGeneration: {type: integer, format: int64}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: openstackmachinetemplates.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: OpenStackMachineTemplate, listKind: OpenStackMachineTemplateList, plural: openstackmachinetemplates, singular: openstackmachinetemplate}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
";

const FOLDER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: orc, namespace: gauss}
spec: {paused: true}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: orc, namespace: gauss}
spec:
  clusterName: orc
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      clusterName: orc
      version: v1.36.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: orc}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: orc, namespace: gauss}
spec: {template: {spec: {flavor: SCS-2V-4, image: {imageRef: {name: ubuntu}}}}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Image
metadata: {name: ubuntu, namespace: gauss}
spec:
  cloudCredentialsRef: {cloudName: openstack, secretName: orc-cloud-config}
  resource: {visibility: private, content: {diskFormat: qcow2}}
";

const NAME: &str = "gauss-orc";

/// The hand that plays the controller.
struct Orc<'a>(&'a Plane);

impl Orc<'_> {
    fn value(&self, kind: &str, name: &str, path: &str) -> String {
        let path = format!("jsonpath={{{path}}}");
        self.0.try_kubectl(&["get", kind, name, "-n", CUSTOMER, "-o", &path], "").unwrap_or_default()
    }

    fn uid(&self) -> String {
        self.value("images.openstack.k-orc.cloud", "ubuntu", ".metadata.uid")
    }

    fn patch(&self, patch: &Value, flags: &[&str]) {
        let patch = patch.to_string();
        let all = [
            &[
                "patch",
                "images.openstack.k-orc.cloud",
                "ubuntu",
                "-n",
                CUSTOMER,
                "--type=merge",
                "-p",
                &patch,
            ],
            flags,
        ];
        self.0.kubectl(&all.concat());
    }

    /// Takes it up as the controller does.
    fn takes_up(&self) {
        self.patch(&json!({"metadata": {"finalizers": ["openstack.k-orc.cloud/image"]}}), &[]);
    }

    fn lets_go(&self) {
        self.patch(&json!({"metadata": {"finalizers": null}}), &[]);
    }

    fn says(&self, id: Option<&str>, condition: [&str; 4]) {
        let [kind, status, reason, message] = condition;
        let generation = self.value("images.openstack.k-orc.cloud", "ubuntu", ".metadata.generation");
        let generation: i64 = generation.parse().unwrap();
        let status = json!({"id": id, "conditions": [{"type": kind, "status": status, "reason": reason,
            "message": message, "observedGeneration": generation, "lastTransitionTime": "2026-11-27T22:00:00Z"}]});
        self.patch(&json!({"status": status}), &["--subresource=status"]);
    }
}

#[tokio::test]
async fn machines_wait_for_orc_and_an_interrupted_create_is_repeated() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    let orc = Orc(&town.plane);
    town.write([("gauss/orc/base/all.yaml", FOLDER)]);
    town.commit("A cluster with an image of its own", &[]);
    // Not installed: named, and nothing half applied.
    let refused = |reason: &'static str| {
        move |name: &str, status: &_| {
            let (ready, says) = rows::ready_and_reasons(status);
            let is_it = ready == "False Refused" && says[0].starts_with(reason);
            if is_it { Ok(()) } else { Err(format!("{name}: {ready} {says:?}")) }
        }
    };
    town.until("it is refused", &[], refused("CloudControllerMissing gauss/orc/base/all.yaml:26: ")).await;
    assert_eq!(orc.value("cluster", "orc", ".metadata.uid"), "");

    town.plane.apply(DEFINITIONS);
    let kinds =
        ["crd/images.openstack.k-orc.cloud", "crd/openstackmachinetemplates.infrastructure.cluster.x-k8s.io"];
    town.plane.kubectl(&[&["wait", "--for=condition=Established", "--timeout=60s"], &kinds[..]].concat());
    let withheld = |words: &'static str| {
        move |name: &str, status: &capstan_reconciler::reconcile::resources::ManagedClusterStatus| {
            let is_it = status.withheld.len() == 1 && status.withheld[0].contains(words);
            if is_it {
                Ok(())
            } else {
                Err(format!("{name}: {:?} {:?}", status.withheld, rows::ready_and_reasons(status)))
            }
        }
    };
    town.ask();
    town.until(
        "machines wait",
        &[],
        withheld("Image gauss/ubuntu is done: its controller has not observed it yet"),
    )
    .await;
    assert_eq!(orc.value("machinedeployment", "orc", ".metadata.uid"), "");
    orc.takes_up();
    orc.says(None, ["Progressing", "True", "TransientError", "503 Service Unavailable"]);
    town.until(
        "machines wait for a service that is away",
        &[],
        withheld("TransientError: 503 Service Unavailable"),
    )
    .await;

    // Its creation failed: the reconciler counts that and deletes the image. A process that is killed then forgets
    // neither.
    let first = orc.uid();
    let died = "invalid configuration creating image: Post \"http://127.0.0.1:9292/v2/images\": dial tcp 127.0.0.1:9292: connect: connection refused";
    orc.says(None, ["Progressing", "False", "InvalidConfiguration", died]);
    let image = |status: &capstan_reconciler::reconcile::resources::ManagedClusterStatus| {
        status.inventory.objects().iter().find(|object| object.kind == "Image").cloned()
    };
    town.until("Capstan recreates it", &[], |name, status| match image(status) {
        Some(image) if image.made_anew == 1 => Ok(()),
        other => Err(format!("{name}: {other:?}")),
    })
    .await;
    town.reconciler.kill();
    town.reconciler.start();
    let missing = town
        .wait(async || {
            let going = orc.value("images.openstack.k-orc.cloud", "ubuntu", ".metadata.deletionTimestamp");
            going.is_empty().then(|| "nobody deletes the image".to_owned()).into_iter().collect()
        })
        .await;
    assert_eq!(missing, [""; 0]);
    assert_eq!(orc.uid(), first);
    orc.lets_go();
    let missing = town
        .wait(async || {
            let now = orc.uid();
            (now.is_empty() || now == first).then(|| format!("the image is {now}")).into_iter().collect()
        })
        .await;
    assert_eq!(missing, [""; 0]);
    let made_anew =
        town.statuses().await[NAME].inventory.objects().iter().map(|object| object.made_anew).max();
    assert!(matches!(made_anew, Some(1 | 2)), "{made_anew:?}");

    // Given up for good: refused, in its words.
    orc.takes_up();
    orc.says(None, ["Progressing", "False", "UnrecoverableError", "quota exceeded"]);
    town.until("it is refused", &[], refused("CloudObjectGivenUp gauss/orc/base/all.yaml:26: ORC has given up, and retries only objects that are changed or recreated: UnrecoverableError: quota exceeded")).await;
    orc.says(Some("f00"), ["Available", "True", "Success", "OpenStack resource is available"]);
    town.ask();
    town.until("the machines are made", &[], |name, status| {
        if status.withheld.is_empty() && status.refused.is_empty() {
            Ok(())
        } else {
            Err(format!("{name}: {:?}", rows::ready_and_reasons(status)))
        }
    })
    .await;
    assert_ne!(orc.value("machinedeployment", "orc", ".metadata.uid"), "");
    let counts = &town.statuses().await[NAME];
    assert!(counts.inventory.objects().iter().all(|object| object.made_anew == 0), "{counts:?}");
}
