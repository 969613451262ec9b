//! The way to the release that an inventory asks for.

use super::*;

#[test]
fn the_way_leads_to_the_release_that_is_asked_for_and_no_further_one_minor_at_a_time() {
    const ROWS: [&str; 8] = [
        "aws/v1.0.0 1.30",
        "aws/v1.2.0 1.31",
        "aws/v1.3.0 1.31",
        "aws/v2.0.0 1.32",
        "aws/v2.1.0 1.32 deprecated",
        "aws/v3.0.0 1.33",
        "aws/v4.0.0 1.34",
        "capa/v9.0.0 1.31",
    ];
    for (at, kubernetes, wished, track, expected) in [
        ("aws/v1.0.0", "1.30", "aws/v3.0.0", Track::Any, "aws/v1.3.0"),
        ("aws/v1.0.0", "1.30", "aws/v1.2.0", Track::Any, "aws/v1.2.0"),
        ("aws/v1.3.0", "1.31", "aws/v3.0.0", Track::Any, "aws/v2.0.0"),
        ("aws/v2.0.0", "1.32", "aws/v3.0.0", Track::Any, "aws/v3.0.0"),
        // What is asked for by name is taken whatever its state.
        ("aws/v2.0.0", "1.32", "aws/v2.1.0", Track::Any, "aws/v2.1.0"),
        ("aws/v3.0.0", "1.33", "aws/v3.0.0", Track::Any, "The cluster is up to date with aws/v3.0.0."),
        (
            "aws/v3.0.0",
            "1.33",
            "aws/v2.0.0",
            Track::Any,
            "The inventory asks for aws/v2.0.0, which is older than the cluster's release: it must be named explicitly.",
        ),
        (
            "aws/v1.0.0",
            "1.30",
            "capa/v9.0.0",
            Track::Any,
            "The inventory asks for capa/v9.0.0, which belongs to another provider than the cluster: it must be named explicitly.",
        ),
        (
            "aws/v1.0.0",
            "1.30",
            "aws/v8.0.0",
            Track::Any,
            "The inventory asks for aws/v8.0.0, which does not exist.",
        ),
        // A customer's overlay still holds back.
        ("aws/v1.0.0", "1.30", "aws/v3.0.0", Track::Minor, "aws/v1.3.0"),
        (
            "aws/v1.3.0",
            "1.31",
            "aws/v3.0.0",
            Track::Minor,
            "The inventory asks for aws/v3.0.0, which is outside the track `minor` of the cluster.",
        ),
        (
            "aws/v1.0.0",
            "1.30",
            "aws/v3.0.0",
            Track::None,
            "The cluster's track is `none`, so nothing is offered.",
        ),
        ("-", "1.30", "aws/v2.0.0", Track::Any, "aws/v1.3.0"),
    ] {
        let settings = EffectiveSettings { wished: Some(ReleaseId::from_path(wished)), ..settings(track) };
        let offer = offer(&standing(at, kubernetes), &settings, &catalogue(&ROWS), None, TODAY).unwrap();
        assert_eq!(said(&offer), expected, "{at} {wished} {track}");
    }
}

#[test]
fn what_a_release_with_templates_brings_to_the_cluster_counts_and_not_what_it_says_by_itself() {
    let brings = |version: &str| KubernetesVersion::parse(version).unwrap();
    let standing = TargetPosition {
        brings: [
            (ReleaseId::from_path("aws/v2.0.0"), brings("v1.31.0")),
            (ReleaseId::from_path("aws/v3.0.0"), brings("v1.32.0")),
        ]
        .into(),
        ..standing("aws/v1.0.0", "1.30")
    };
    let catalogue = catalogue(&["aws/v1.0.0 -", "aws/v2.0.0 -", "aws/v3.0.0 -"]);
    let offer = offer(&standing, &settings(Track::Any), &catalogue, None, TODAY).unwrap();
    assert_eq!(said(&offer), "aws/v2.0.0");
    assert_eq!(offer.step().unwrap().follows, [ReleaseId::from_path("aws/v3.0.0")]);
}
