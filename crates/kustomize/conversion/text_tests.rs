//! Steps on texts: several from one reading come to what they come to one by one, and there is an end to it.

use super::*;
use crate::conversion::convert;
use crate::schema::Schemas;
use capstan_test_support::shared_data;

fn conversion_of(root: &Node) -> Option<Conversion> {
    let (group, _) = root.get("apiVersion")?.as_str()?.split_once('/')?;
    let conversion = convert(root, &format!("{group}/v1beta2"), Schemas::built_in()).ok()?;
    (!conversion.steps.is_empty()).then(|| in_order_of(root, conversion))
}

/// A class with this many classes of workers, as people write them.
fn class(workers: usize) -> YamlFile {
    let mut text = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata:
  name: quick
spec:
  controlPlane:
    ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, name: quick}
  workers:
    machineDeployments:
"
    .to_owned();
    for at in 0..workers {
        text.push_str(&format!(
            "    # Workers of rack {at}.
    - class: rack-{at}
      nodeDrainTimeout: 10m # long jobs
      template:
        bootstrap:
          ref: # joins by kubeadm
            apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
            kind: KubeadmConfigTemplate
            name: rack-{at}
        infrastructure:
          ref:
            apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
            kind: MetalMachineTemplate
            name: rack-{at}
      machineHealthCheck:
        nodeStartupTimeout: 5m
        unhealthyConditions:
        - {{type: Ready, status: Unknown, timeout: 300s}}
"
        ));
    }
    YamlFile::read(&text).unwrap()
}

/// Bytes read to convert a file, in lengths of its text; and the text after it.
fn readings(file: &YamlFile) -> (usize, YamlFile) {
    let conversion = conversion_of(&file.documents()[0].root).unwrap();
    let mut replay = Replay::default();
    let after = replay.objects(file, &[(&FieldPath::root(), &conversion)]).unwrap();
    ((MOST_READ - replay.left).div_ceil(file.text().len()), after)
}

#[test]
fn a_class_with_five_hundred_classes_of_workers_takes_as_many_readings_as_one_with_five() {
    let (few, _) = readings(&class(5));
    let (many, after) = readings(&class(500));
    assert!(many <= few, "{few} readings of five classes, {many} of five hundred");
    // What goes out of `template` goes behind it, and what is left last stays in its place.
    let last = "    # Workers of rack 499.
    - class: rack-499
      deletion:
        nodeDrainTimeoutSeconds: 600 # long jobs
      infrastructure:
        templateRef:
          apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
          kind: MetalMachineTemplate
          name: rack-499
      bootstrap:
        templateRef: # joins by kubeadm
          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
          kind: KubeadmConfigTemplate
          name: rack-499
      healthCheck:
        checks:
          unhealthyNodeConditions:
          - {type: Ready, status: Unknown, timeoutSeconds: 300}
          nodeStartupTimeoutSeconds: 300
";
    let at = after.text().find("    # Workers of rack 499.").unwrap();
    assert_eq!(&after.text()[at..], last);
}

#[test]
fn what_needs_too_many_readings_is_refused_with_what_to_do() {
    let file = class(5);
    let conversion = conversion_of(&file.documents()[0].root).unwrap();
    let mut replay = Replay { left: 3 * file.text().len() };
    let refused = replay.objects(&file, &[(&FieldPath::root(), &conversion)]).unwrap_err();
    assert_eq!(
        refused.reason,
        "the document is too large to rewrite field by field: split it into smaller documents, or convert it in a separate change"
    );
    assert!(file.text().len() * 100 < MOST_READ);
}

#[test]
fn steps_done_together_leave_the_text_that_they_leave_one_by_one() {
    let Some(files) = shared_data::yaml_files() else { return };
    let (mut done, mut troubles) = (0, Vec::new());
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Ok(file) = YamlFile::read(&text) else { continue };
        for document in file.documents() {
            let Some(conversion) = conversion_of(&document.root) else { continue };
            let Ok(alone) = YamlFile::read(&text[document.span.clone()]) else { continue };
            let mut one_by_one = Ok(alone.clone());
            for step in &conversion.steps {
                let step = Conversion { steps: vec![step.clone()], ..Conversion::default() };
                one_by_one = one_by_one.and_then(|file| replay(&file, &FieldPath::root(), &step));
            }
            let together = replay(&alone, &FieldPath::root(), &conversion);
            let text = |after: &Result<YamlFile, EditRefused>| {
                after.as_ref().map(|file| file.text().to_owned()).map_err(|refused| refused.reason.clone())
            };
            done += 1;
            if text(&together) != text(&one_by_one) {
                let (together, one_by_one) = (text(&together), text(&one_by_one));
                troubles.push(format!("{}: {together:?}\nand one by one {one_by_one:?}", path.display()));
            }
        }
    }
    assert!(
        done > 100 && troubles.is_empty(),
        "{} of {done} differ:\n{}",
        troubles.len(),
        troubles.join("\n")
    );
}
