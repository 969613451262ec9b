//! What templates come to.

use super::*;
use crate::testing::{file, inventory, lines};
use crate::values::Member;

mod errors;
mod hostile;
mod jinja;
mod part;
mod placing;

/// A render of these templates (name and text) for the cluster `c` with these values.
pub(super) fn rendered(templates: &[(&str, &str)], values: &str) -> Result<RenderedTemplates, Vec<String>> {
    let folder = RepoPath::parse("aws/v1.0.0/templates").unwrap();
    let files: Vec<SourceText> =
        templates.iter().map(|(name, text)| file(&format!("{folder}/{name}"), text)).collect();
    let read = Templates::read(&folder, &files).map_err(|findings| lines(&findings))?;
    let inventory = inventory(&format!(
        "ClusterDefinition c: {{in: {{site: fra1}}, values: {values}}}\nSite fra1: {{}}\n"
    ));
    assert_eq!(lines(&inventory.findings), [""; 0]);
    let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
    let values = member.values(None);
    assert_eq!(lines(&values.findings), [""; 0]);
    let folder = RepoPath::parse("acme/c").unwrap();
    let cluster = Cluster { name: "c", folder: &folder, levels: &member.levels, clusters: None };
    read.render(cluster, &values).map_err(|findings| lines(&findings))
}

/// The head of an object named `one`.
pub(super) const HEAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n";

/// The text of one template below [`HEAD`].
pub(super) fn text(template: &str, values: &str) -> Result<String, Vec<String>> {
    let rendered = rendered(&[("a.yaml", &format!("{HEAD}{template}"))], values)?;
    Ok(rendered.files[0].text.strip_prefix(HEAD).unwrap().to_owned())
}

/// What one template below [`HEAD`] means, without its head.
pub(super) fn meaning(template: &str, values: &str) -> Result<String, Vec<String>> {
    let rendered = rendered(&[("a.yaml", &format!("{HEAD}{template}"))], values)?;
    let mut value = rendered.files[0].objects[0].node.value();
    let fields = value.as_object_mut().unwrap();
    fields.retain(|key, _| !["apiVersion", "kind", "metadata"].contains(&key.as_str()));
    Ok(value.to_string())
}
