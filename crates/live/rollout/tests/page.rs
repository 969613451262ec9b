//! `docs/machines.md` has what the tables say.

use std::fs;
use std::path::Path;

use crate::rollout::facts;
use crate::rollout::pools::{Keeping, PoolEffect, PoolFacts, PoolRow, SHARED, TABLE};

#[test]
fn the_page_on_machines_has_the_tables() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md");
    let page = fs::read_to_string(page).unwrap();
    let others = ["K0sControlPlane", "RKE2ControlPlane", "TalosControlPlane"].map(|kind| {
        format!("| {kind} | {} |", fields(facts::own_fields_that_roll(kind).unwrap_or_default()))
    });
    for part in [
        others.join("\n"),
        format!(
            "Fields below `kubeadmConfigSpec` that replace no machine: {}.",
            fields(facts::KUBEADM_IGNORED)
        ),
        format!(
            "Other fields of a control plane that replace no machine: {}.",
            fields(facts::CONTROL_PLANE_IN_PLACE)
        ),
        format!("Fields of workers that replace machines: {}.", fields(facts::WORKER_ROLLS)),
        format!(
            "Fields of workers that change on the machines that are there: {}.",
            fields(facts::WORKERS_IN_PLACE)
        ),
        format!("Fields of every pool that replace no instance: {}.", fields(SHARED)),
        TABLE.iter().map(row).collect::<Vec<_>>().join("\n"),
    ] {
        let flat = page.replace('\n', " ");
        assert!(page.contains(&part) || flat.contains(&part), "docs/machines.md lacks\n{part}");
    }
}

fn fields(pointers: &[&str]) -> String {
    pointers.iter().map(|pointer| name(pointer)).collect::<Vec<_>>().join(", ")
}

/// A field as a person writes it.
fn name(pointer: &str) -> String {
    format!("`{}`", pointer.trim_start_matches("/spec/").trim_start_matches('/').replace('/', "."))
}

fn row(row: &PoolRow) -> String {
    let of = |effect: PoolEffect| {
        let of_effect = row.fields.iter().filter(|(_, other)| *other == effect);
        let mut named: Vec<String> = of_effect.map(|(field, _)| name(field)).collect();
        if row.rest == effect {
            named.push(if row.fields.is_empty() { "all fields" } else { "all other fields" }.to_owned());
        }
        if named.is_empty() { "-".to_owned() } else { named.join(", ") }
    };
    let word = |effect| match effect {
        PoolEffect::Replaces => "replaces",
        PoolEffect::OnlyNew => "only new",
        PoolEffect::NotYet => "later",
        PoolEffect::InPlace => "in place",
        PoolEffect::ProviderDecides => "provider",
    };
    let mut version = word(PoolFacts::of(row.kind, None).version()).to_owned();
    if !row.but_for.is_empty() {
        version = format!("{version}, unless {} is set", name(row.but_for));
    }
    let keeping = match row.keeping {
        Keeping::Never => "-".to_owned(),
        Keeping::Where(field) => format!("{} is true", name(field)),
        Keeping::Unless(field) => format!("{} is not true", name(field)),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {version} | {} | {keeping} |",
        row.kind,
        of(PoolEffect::Replaces),
        of(PoolEffect::OnlyNew),
        of(PoolEffect::NotYet),
        of(PoolEffect::InPlace),
        of(PoolEffect::ProviderDecides),
        word(row.bootstrap)
    )
}
