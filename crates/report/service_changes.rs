//! Changes of the services inside a cluster: its network first, and people's edits.

use super::markdown::code_cell;
use capstan_plan::upgrade::{ServiceChange, ServiceCourse, Upgrade};

/// Edits listed for each service.
const MOST_EDITS: usize = 5;
const NAME: usize = 80;
const FIELD: usize = 160;

/// Above the rows.
pub(crate) const HEAD: &str = "\n### Services\n\nThey run inside the cluster. After the merge they are upgraded in their own order.\n\n| Service | Role | Old | New | Edits that stay |\n|---|---|---|---|---|\n";

/// A row for each service, in the order of the upgrade.
pub(crate) fn rows(upgrade: &Upgrade) -> Vec<String> {
    upgrade.services.iter().map(row).collect()
}

fn row(service: &ServiceChange) -> String {
    let version = |version: &Option<String>| match version {
        Some(version) => code_cell(version, NAME),
        None => "present".to_owned(),
    };
    let (old, new) = match service.course {
        ServiceCourse::Add => ("absent".to_owned(), version(&service.to)),
        ServiceCourse::Modify => (version(&service.from), version(&service.to)),
        ServiceCourse::Remove => (version(&service.from), "absent".to_owned()),
    };
    let settings = match service.settings.as_slice() {
        [] => String::new(),
        keys => format!(" ({})", code_cell(&keys.join(", "), NAME)),
    };
    format!(
        "| {}{settings} | {} | {old} | {new} | {} |\n",
        code_cell(&service.name, NAME),
        service.role,
        edits(service)
    )
}

fn edits(service: &ServiceChange) -> String {
    let named = service.kept.iter().take(MOST_EDITS).map(|edit| {
        if edit.path.is_root() {
            return format!("{} (whole)", code_cell(&edit.object.to_string(), FIELD));
        }
        let object = format!("{} {}", edit.object.kind, edit.object.name);
        code_cell(&format!("{object} {}", edit.path), FIELD)
    });
    let named: Vec<String> = named.collect();
    match service.kept.len().saturating_sub(MOST_EDITS) {
        0 if named.is_empty() => "none".to_owned(),
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::tests::upgrade;
    use capstan_model::object::{FieldPath, ObjectId};
    use capstan_plan::settings::ServiceRole;
    use capstan_plan::upgrade::KeptEdit;

    #[test]
    fn a_service_row_has_versions_and_edits() {
        let edit = |path: &str| KeptEdit {
            object: ObjectId {
                group: "apps".to_owned(),
                kind: "DaemonSet".to_owned(),
                namespace: Some("kube-system".to_owned()),
                name: "cilium".to_owned(),
            },
            path: FieldPath::parse(path).unwrap(),
        };
        let service = |name: &str, course, from: Option<&str>, to: Option<&str>| ServiceChange {
            name: name.to_owned(),
            role: ServiceRole::Cni,
            course,
            folder: None,
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
            settings: Vec::new(),
            kept: Vec::new(),
        };
        let moves = ServiceChange {
            kept: vec![edit("/spec/template/spec/tolerations"), edit("")],
            ..service("cilium", ServiceCourse::Modify, Some("1.15.3"), Some("1.16.0"))
        };
        let mut many = service("calico", ServiceCourse::Modify, None, None);
        many.settings = vec!["checks".to_owned(), "a|b`".to_owned()];
        many.kept = vec![edit("/spec"); 7];
        let goes = service("flannel", ServiceCourse::Remove, Some("0.25"), None);
        let told = rows(&Upgrade { services: vec![moves, many, goes], ..upgrade() });
        let one = "`DaemonSet cilium /spec`";
        assert_eq!(
            told,
            [
                "| `cilium` | cni | `1.15.3` | `1.16.0` | `DaemonSet cilium /spec/template/spec/tolerations`, `DaemonSet kube-system/cilium` (whole) |\n".to_owned(),
                format!("| `calico` (`` checks, a\\|b` ``) | cni | present | present | {one}, {one}, {one}, {one}, {one} and 2 more |\n"),
                "| `flannel` | cni | `0.25` | absent | none |\n".to_owned(),
            ]
        );
    }
}
