//! The prediction where the live names of templates are known ([U12](capstan_plan::templates#u12)).
//!
//! In Git a template of a claimed cluster keeps its logical name, so only its spec tells whether it changes; a
//! field that is written out but means what it meant before (a default) looks like a change there. The
//! reconciler has asked the API server what each spec comes to, and reports the live name for it: the same live
//! name is the same live object, another one is another template, and machines roll.

use super::cluster_change::LiveNames;
use super::facts;
use super::predict::{predict, rollouts};
use super::references::class_name;
use capstan_kustomize::render::RenderedObject;
use capstan_kustomize::schema::Schemas;
use capstan_model::kinds::is_cluster;
use capstan_model::object::FieldPath;
use capstan_plan::classes::ClassesElsewhere;
use capstan_plan::merge::AppliedBy;
use capstan_plan::templates::{Naming, TemplateNames, name_templates};
use capstan_plan::upgrade::{Certainty, Rollout};

/// What becomes of machines when a claimed cluster's reconciler applies `after` over `before`, judged by the
/// live names that it reported for the one and, before a merge, for the other: `certainty: exact`. A template
/// whose spec it was never asked about has no live name yet; then Git alone is judged by, as [`rollouts`] does.
///
/// A Cluster that changes its class stays `offline`, and so does what its variables bring: what the templates of a
/// class come to is the topology controller's doing. Classes found elsewhere keep their names in Git. So does whatever `rollout.after` replaces: it depends on when machines were made.
pub fn rollouts_live(
    before: &[RenderedObject],
    after: &[RenderedObject],
    names: [&TemplateNames; 2],
    elsewhere: &ClassesElsewhere,
    schemas: &Schemas,
) -> Vec<Rollout> {
    let [names_before, names_after] = names;
    let (mut old, mut new) = (before.to_vec(), after.to_vec());
    // A class that other folders use keeps the name in Git, which no live name is reported for.
    let mut named = name_templates(&mut old, names_before, &[]);
    named.extend(name_templates(&mut new, names_after, &[]));
    if named.iter().any(|template| template.naming == Naming::Content) {
        return rollouts(before, after, AppliedBy::Reconciler, elsewhere, schemas);
    }
    let live: LiveNames = named.into_iter().map(|template| (template.logical.kind, template.name)).collect();
    let class = |objects: &[RenderedObject], rollout: &Rollout| {
        let cluster = objects.iter().find(|object| object.id == rollout.object);
        cluster.and_then(|cluster| class_name(&cluster.value).map(str::to_owned))
    };
    let mut found = predict(&old, &new, AppliedBy::Reconciler, &live, elsewhere, schemas);
    for rollout in &mut found {
        let by_time = rollout.because.iter().any(|path| facts::is_rollout_after(&path.to_string()));
        let same_class = class(&old, rollout) == class(&new, rollout);
        let by_class = is_cluster(&rollout.object) && rollout.because.iter().any(is_made_by_class);
        if rollout.certainty == Certainty::Offline && same_class && !by_time && !by_class {
            rollout.certainty = Certainty::Exact;
        }
    }
    found
}

/// Whether a field of a Cluster acts on machines through patches of its class.
fn is_made_by_class(path: &FieldPath) -> bool {
    let path = path.to_string();
    let through = ["/spec/topology/class", "/spec/clusterNetwork", "/metadata"];
    path.contains("/variables") || through.iter().any(|begin| path.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{DEPLOYMENT, rendered, summary_of};
    use super::*;
    use capstan_plan::templates::{LiveTemplate, SpecDigest};

    fn live(before: &[RenderedObject], after: &[RenderedObject], names: [&TemplateNames; 2]) -> Vec<Rollout> {
        rollouts_live(before, after, names, &ClassesElsewhere::default(), Schemas::built_in())
    }

    fn tree(replicas: u32, version: &str, spec: &str) -> Vec<RenderedObject> {
        let deployment = DEPLOYMENT
            .replace("replicas: 5", &format!("replicas: {replicas}"))
            .replace("v1.30.2", version)
            .replace("{configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: md}}", "{dataSecretName: md}");
        rendered(&format!(
            "{deployment}---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\nmetadata: {{name: md, namespace: org}}\nspec: {spec}\n"
        ))
    }

    const A: &str = "{template: {spec: {customImage: a}}}";
    const A_WITH_DEFAULT: &str = "{template: {spec: {customImage: a, bootstrapTimeout: 3m}}}";
    const B: &str = "{template: {spec: {customImage: b}}}";

    /// What a reconciler reports: specs and the live names that hold for them.
    fn names(specs: &[(&str, &str)]) -> TemplateNames {
        let one = |(spec, live): &(&str, &str)| {
            let template = tree(5, "v1.30.2", spec).pop().unwrap();
            LiveTemplate {
                group: template.id.group.clone(),
                kind: template.id.kind.clone(),
                namespace: template.id.namespace.clone(),
                name: template.id.name.clone(),
                live: (*live).to_owned(),
                spec: SpecDigest::of(template.value.get("spec").unwrap()),
            }
        };
        TemplateNames::new(specs.iter().map(one).collect()).unwrap()
    }

    #[test]
    fn live_names_tell_whether_a_template_changes() {
        let was = tree(5, "v1.30.2", A);
        let is = |spec: &str| tree(5, "v1.30.2", spec);
        let rolls = "[/spec/template/spec/infrastructureRef/name] 5/0/0";
        let with = |is: &[RenderedObject], after: &[(&str, &str)]| {
            summary_of(&live(&was, is, [&names(&[(A, "md-x")]), &names(after)]))
        };
        // What is written out and means the same stays the live object that it is: in Git alone it rolls.
        let (elsewhere, schemas) = (ClassesElsewhere::default(), Schemas::built_in());
        let from_git = rollouts(&was, &is(A_WITH_DEFAULT), AppliedBy::Reconciler, &elsewhere, schemas);
        assert_eq!(summary_of(&from_git), format!("5 offline {rolls}"));
        assert_eq!(with(&is(A_WITH_DEFAULT), &[(A_WITH_DEFAULT, "md-x")]), "nothing");
        assert_eq!(with(&is(B), &[(A, "md-x"), (B, "md-y")]), format!("5 exact {rolls}"));
        // A spec that was not sent to the API server.
        assert_eq!(with(&is(B), &[(A, "md-x")]), format!("5 offline {rolls}"));
        assert_eq!(with(&is(B), &[]), format!("5 offline {rolls}"));
        assert_eq!(with(&is(A), &[(A, "md-x")]), "nothing");
    }

    #[test]
    fn what_no_template_decides_is_exact_too() {
        let known = names(&[(A, "md")]);
        let (was, is) = (tree(5, "v1.30.2", A), tree(5, "v1.31.0", A));
        let rolls = summary_of(&live(&was, &is, [&known, &known]));
        assert_eq!(rolls, "5 exact [/spec/template/spec/version] 5/0/0");
        let more = tree(7, "v1.30.2", A);
        assert_eq!(summary_of(&live(&was, &more, [&known, &known])), "0 exact [/spec/replicas] 0/2/0");
    }

    /// Which machines are older than a time no name tells.
    #[test]
    fn what_a_time_replaces_stays_offline() {
        let known = names(&[(A, "md")]);
        let was = tree(5, "v1.30.2", A);
        let mut is = was.clone();
        let deployment = is.iter_mut().find(|object| object.id.kind == "MachineDeployment").unwrap();
        deployment.value["spec"]["rolloutAfter"] = "2026-12-01T00:00:00Z".into();
        let rolls = summary_of(&live(&was, &is, [&known, &known]));
        assert_eq!(rolls, "5 offline [/spec/rolloutAfter] 5/0/0");
    }
}
