//! `wrong-type`

use super::evidence::Survey;
use super::fitting::{MisfitKind, defined_in};
use super::rule::{About, Example, Rule};
use super::unknown_field::DEFINITION;
use crate::upgrade::{hide_beside, name_beside, redact};
use capstan_kustomize::render::{Content, Placed};
use capstan_kustomize::schema::Type;
use capstan_model::finding::{Finding, rules};
use capstan_yaml::Value;

pub(super) struct WrongType;

static ABOUT: About = About {
    entry: rules::WRONG_TYPE,
    summary: "A value is not of the type that its definition wants, or none of the values that it allows.",
    reason: "The API server refuses the whole object, and whatever applies the folder stops there. Often a string \
             lacks its quotes: YAML reads `1.30` as a number and `yes` as true. Judged are kinds whose \
             CustomResourceDefinition stands in the repository (or in `.capstan/crds`), and without one Cluster \
             API's own kinds and those of kubeadm's bootstrap and control plane, in v1beta1 and v1beta2.",
    source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation",
    bad: Example::Tree(&[("crds/clusters.yaml", DEFINITION), ("peu01/base/cluster.yaml", NUMBER)]),
    good: Example::Tree(&[("crds/clusters.yaml", DEFINITION), ("peu01/base/cluster.yaml", STRING)]),
};

const NUMBER: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerCluster
metadata: {name: peu01, namespace: org}
spec:
  loadBalancer:
    imageTag: 2.9 # <--
    mode: Managed
";
const STRING: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerCluster
metadata: {name: peu01, namespace: org}
spec:
  loadBalancer:
    imageTag: '2.9'
    mode: Managed
";

impl Rule for WrongType {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for misfit in cluster.misfits() {
            let (object, path) = (misfit.object, &misfit.path);
            let mapping = path.parent().and_then(|parent| object.value.pointer(&parent.to_string()));
            let said = |value: &Value| {
                let value = hide_beside(path, mapping.and_then(name_beside), value.clone());
                redact(&object.id, path, Some(&value)).to_string()
            };
            let (is, wanted) = match &misfit.kind {
                MisfitKind::UnknownField(_) => continue,
                MisfitKind::Type { wanted, found } => {
                    let found = noun(found, &said);
                    let hint = hint(*wanted, misfit_scalar(&misfit.kind));
                    (found, format!("{}{hint}", wanted.noun()))
                }
                MisfitKind::Choice { allowed, found } => {
                    let allowed: Vec<String> = allowed.iter().take(12).map(Value::to_string).collect();
                    (said(found), format!("one of {}", allowed.join(", ")))
                }
            };
            let message = format!(
                "`{path}` of {} is {is}, and {} ({}) wants {wanted}: the API server refuses the object",
                object.id,
                object.api_version,
                defined_in(misfit.origin),
            );
            verdicts.push(
                Finding::new(rules::WRONG_TYPE, message).object(&object.id).path(path).place(misfit.place),
            );
        }
    }
}

fn misfit_scalar<'a>(kind: &MisfitKind<'a>) -> Option<&'a Value> {
    match kind {
        MisfitKind::Type { found: Placed { content: Content::Scalar(scalar), .. }, .. } => {
            Some(scalar.value())
        }
        _ => None,
    }
}

fn noun(value: &Placed, said: &dyn Fn(&Value) -> String) -> String {
    match &value.content {
        Content::Mapping(_) => "a mapping".to_owned(),
        Content::Sequence(_) => "a list".to_owned(),
        Content::Scalar(scalar) => match scalar.value() {
            Value::Bool(truth) => truth.to_string(),
            value if value.is_number() => format!("the number {}", said(value)),
            value => format!("the string {}", said(value)),
        },
    }
}

/// What to do about the quotes, where that is all.
fn hint(wanted: Type, value: Option<&Value>) -> &'static str {
    match (wanted, value) {
        (Type::String | Type::IntOrString, Some(Value::Bool(_) | Value::Number(_))) => " (put it in quotes)",
        (Type::Integer | Type::Number, Some(Value::String(text))) if text.parse::<f64>().is_ok() => {
            " (leave out the quotes)"
        }
        (Type::Boolean, Some(Value::String(text))) if matches!(text.as_str(), "true" | "false") => {
            " (leave out the quotes)"
        }
        _ => "",
    }
}
