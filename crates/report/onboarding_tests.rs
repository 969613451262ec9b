//! What the first pull request says, and how long it may get.

use super::*;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::tree::RepoPath;
use capstan_plan::onboarding::AppliedWith;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn cluster(id: &str, release: ReleaseGuess, offer: FirstOffer) -> Onboarded {
    let place = Place::whole(path("flux/clusters.yaml"));
    let applier =
        Applier { with: AppliedWith::FluxKustomization, name: "flux-system/peu01".to_owned(), place };
    Onboarded { id: ClusterId::new(path(id)), applied_by: vec![applier], release, offer }
}

fn fitting() -> FittingRelease {
    FittingRelease {
        release: ReleaseId::from_path("aws/v1.0.0"),
        equal: 19,
        differing: 1,
        missing: 0,
        percent: 95,
    }
}

fn offered() -> FirstOffer {
    let machines = RolledMachines::Known(3);
    FirstOffer::Offered { to: "aws/v1.1.0".to_owned(), changes: 2, machines, blocked: None }
}

#[test]
fn the_body_tells_clusters_fits_appliers_and_offers() {
    let onboarding = Onboarding {
        settings: "mode: observe\n".to_owned(),
        clusters: vec![
            cluster("gauss/peu01", ReleaseGuess::Fits(fitting()), offered()),
            Onboarded {
                applied_by: Vec::new(),
                ..cluster("gauss/peu|02", ReleaseGuess::NoCandidate, FirstOffer::Nothing(None))
            },
        ],
        sets: Vec::new(),
        left: vec![FileError::new(
            rules::CLUSTER_OUTSIDE,
            Place::line_of(path("old/@acme.yaml"), 7),
            "old holds 2 clusters: move `a` <img>",
        )],
        crowded: 0,
        example: None,
        releases: vec![ReleaseId::from_path("aws/v1.0.0"), ReleaseId::from_path("aws/v1.1.0")],
    };
    let body = onboarding_body(&onboarding);
    for line in [
        "2 clusters, 2 releases.",
        "| `gauss/peu01` | `aws/v1.0.0` | 95%: 19 fields equal, 1 otherwise, 0 missing | Flux Kustomization `flux-system/peu01` |",
        "| `gauss/peu\\|02` | unknown | no release that it could come from | none found |",
        "- `old/@acme.yaml:7`: old holds 2 clusters: move `a` &lt;img&gt;",
        "| `gauss/peu01` | `aws/v1.1.0` | 2 changes, replaces 3 machines |",
    ] {
        assert!(body.lines().any(|known| known == line), "{line}\n{body}");
    }
    assert!(!body.contains("### Releases"), "{body}");
    assert!(says_onboarding(&format!("Mine.\n{body}"), &onboarding));
    assert!(!says_onboarding(&body, &Onboarding { releases: Vec::new(), ..onboarding }));
}

#[test]
fn without_releases_it_says_how_the_first_is_made() {
    let onboarding = Onboarding {
        settings: String::new(),
        clusters: vec![cluster("gauss/it's", ReleaseGuess::NoCandidate, FirstOffer::Nothing(None))],
        sets: Vec::new(),
        left: Vec::new(),
        crowded: 2,
        example: Some(ReleaseExample::of(
            capstan_model::ids::ClusterId::new(path("gauss/it's")),
            ["AWSCluster"],
        )),
        releases: Vec::new(),
    };
    let body = onboarding_body(&onboarding);
    assert!(body.contains("`capstan init --release aws/v1.0.0 --from 'gauss/it'\\''s' --write`"), "{body}");
    assert!(
        body.contains("and the clusters of 2 folders here have none of their own")
            && body.contains("\n\n`capstan init --write --move`\n"),
        "{body}"
    );
    let alone = onboarding_body(&Onboarding { crowded: 0, example: None, ..onboarding });
    assert!(!alone.contains("capstan init --release") && !alone.contains("--move"), "{alone}");
}

#[test]
fn a_provider_set_alone_is_named() {
    let onboarding = Onboarding {
        settings: String::new(),
        clusters: Vec::new(),
        sets: vec![capstan_model::ids::ClusterId::new(path("mc-eu/providers"))],
        left: Vec::new(),
        crowded: 0,
        example: None,
        releases: Vec::new(),
    };
    let body = onboarding_body(&onboarding);
    let said = "\n### Provider sets\n\nThese folders hold objects of the Cluster API operator. Capstan upgrades them like clusters. No file says yet which management cluster runs one: name it in `managementClusters`, as the settings show.\n\n- `mc-eu/providers`\n";
    assert!(body.contains(said), "{body}");
}

#[test]
fn thousands_of_clusters_and_places_are_cut_with_a_count() {
    let long = "x".repeat(100);
    let many = |at: usize| cluster(&format!("{long}/{at}"), ReleaseGuess::Fits(fitting()), offered());
    let left = |at: u32| {
        FileError::new(rules::CLUSTER_OUTSIDE, Place::line_of(path("a.yaml"), at), "é".repeat(5_000))
    };
    let onboarding = Onboarding {
        settings: String::new(),
        clusters: (0..5_000).map(many).collect(),
        sets: Vec::new(),
        left: (1..500).map(left).collect(),
        crowded: 0,
        example: None,
        releases: Vec::new(),
    };
    let body = onboarding_body(&onboarding);
    assert!(body.len() <= 61_000, "{}", body.len());
    assert!(body.contains("5000 clusters, 0 releases."), "{body}");
    assert!(body.contains(" more clusters.\n") && body.contains(" more places.\n"), "{body}");
    assert!(body.contains("### What to do next") && body.contains("### Releases"), "{body}");
}
