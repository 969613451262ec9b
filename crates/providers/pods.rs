//! The containers that an object's pods run.

use serde_json::Value;

/// Fields of pods' templates, by kind, on the way to the specification of the pod.
const POD_SPECS: [(&str, &[&str]); 7] = [
    ("Deployment", &["spec", "template", "spec"]),
    ("DaemonSet", &["spec", "template", "spec"]),
    ("StatefulSet", &["spec", "template", "spec"]),
    ("ReplicaSet", &["spec", "template", "spec"]),
    ("Job", &["spec", "template", "spec"]),
    ("CronJob", &["spec", "jobTemplate", "spec", "template", "spec"]),
    ("Pod", &["spec"]),
];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Container<'o>(&'o Value);

/// The containers of an object's pods, those that begin included; none where it runs no pods.
pub(crate) fn containers(object: &Value) -> impl Iterator<Item = Container<'_>> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let path = POD_SPECS.iter().find(|(of, _)| *of == kind).map(|(_, path)| *path);
    let pod = path.and_then(|path| path.iter().try_fold(object, |value, key| value.get(key)));
    let list = move |list: &str| pod.and_then(|pod| pod.get(list)?.as_array()).into_iter().flatten();
    list("containers").chain(list("initContainers")).map(Container)
}

impl<'o> Container<'o> {
    pub(crate) fn name(self) -> &'o str {
        self.0.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn image(self) -> Option<&'o str> {
        self.0.get("image").and_then(Value::as_str)
    }

    pub(crate) fn arguments(self) -> impl Iterator<Item = &'o str> {
        self.0.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// The feature gates that its arguments name, with what they say of each; the last one counts.
    pub(crate) fn feature_gates(self) -> impl Iterator<Item = (&'o str, &'o str)> {
        let said = self.arguments().filter_map(|argument| argument.strip_prefix(FEATURE_GATES));
        said.flat_map(|gates| gates.split(',')).filter_map(|gate| gate.split_once('='))
    }
}

/// How the argument begins that names feature gates.
pub(crate) const FEATURE_GATES: &str = "--feature-gates=";
