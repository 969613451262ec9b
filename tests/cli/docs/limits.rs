//! The tables of `docs/limits.md`: each figure is a constant's, and each bound has its tests.

use std::fs;

use super::{page, root};

/// A cell of a table: where its row begins, its column, what it says, and the tests that go to these bounds and beyond them.
/// `{file NAME}` is the value of a constant below `crates`; `{file NAME.field}` that of a field behind that name.
type Figures = (&'static str, usize, &'static str, &'static [&'static str]);

const AT_EACH_BOUND: &str = "an_answer_is_read_at_each_bound_and_refused_beyond";

const LIMITS: &[Figures] = &[
    ("a file", 1, "{git/lib.rs MAXIMUM_FILE_BYTES}", &["a_commit_is_read_at_each_bound_and_refused_beyond"]),
    (
        "a YAML text",
        1,
        "{yaml/limits.rs DEPTH} levels, {yaml/limits.rs NODES} values, {yaml/limits.rs DOCUMENTS} documents; anchors \
         repeat at most {yaml/limits.rs REPEATED_BYTES}",
        &["a_text_is_read_at_each_bound_and_refused_beyond"],
    ),
    (
        "a render",
        1,
        "{yaml/limits.rs DEPTH} levels, {kustomize/render/budget.rs VALUES} values, {kustomize/render/budget.rs BYTES} of \
         text, {kustomize/render/budget.rs OBJECTS} objects, {kustomize/render/budget.rs BUILDS} kustomizations, \
         {kustomize/render/budget.rs STEPS} steps",
        &["a_render_is_done_at_each_bound_and_refused_beyond"],
    ),
    (
        "a regular expression of a kustomization",
        1,
        "{kustomize/render/budget.rs EXPRESSION_BYTES} compiled",
        &["an_expression_is_compiled_up_to_its_bound"],
    ),
    (
        "a text with variables",
        1,
        "{envsubst/dialect.rs TEXT}, and {envsubst/dialect.rs CLUSTERCTL.texts} for all of a document; above that, \
         expressions stay as they are, and a finding says so",
        &["a_text_is_made_at_its_bound_and_refused_beyond", "all_texts_of_a_document_share_a_bound"],
    ),
    (
        "an expression in a value",
        1,
        "{inventory/engine/mod.rs EXPRESSION_FUELS} steps, {inventory/context.rs LINKS} expressions that need each other \
         in a row, {inventory/engine/rows.rs ROW} operators in a row (a.b + 1 has two), {inventory/engine/convert.rs DEPTH} levels",
        &[
            "an_expression_is_computed_at_each_bound_and_refused_beyond",
            "steps_are_taken_up_to_their_bound",
            "a_long_chain_is_reported_in_either_reading_order",
            "rows_are_counted_and_lists_are_not",
        ],
    ),
    (
        "all expressions in the values of one cluster",
        1,
        "{inventory/engine/mod.rs EXPRESSIONS_FUEL} steps, and values of {inventory/engine/mod.rs VALUES_WEIGHT} together; \
         an expression counts as at least 200 steps",
        &["expressions_are_computed_up_to_what_they_may_take_together"],
    ),
    (
        "a release's templates",
        1,
        "{inventory/templates/mod.rs TEXT_BYTES}, includes {inventory/templates/mod.rs INCLUDES} deep, \
         {inventory/engine/rows.rs ROW} operators or branches in a row",
        &[
            "templates_are_rendered_at_each_bound_and_refused_beyond",
            "includes_go_as_deep_as_they_may_and_no_deeper",
            "rows_are_counted_and_lists_are_not",
        ],
    ),
    (
        "one template",
        1,
        "{inventory/engine/mod.rs FUELS} steps, {inventory/engine/mod.rs RECURSION} levels (an include takes 10, a call 4), \
         {inventory/engine/count.rs MOST} values in named values",
        &["steps_are_taken_up_to_their_bound", "templates_are_rendered_at_each_bound_and_refused_beyond"],
    ),
    (
        "all templates of one cluster",
        1,
        "{inventory/engine/mod.rs RENDER_FUEL} steps, {inventory/templates/mod.rs TEXT_BYTES} of text, \
         {inventory/templates/mod.rs TEXT_BYTES} of values in it, {inventory/templates/mod.rs OBJECTS} objects",
        &["steps_are_taken_up_to_their_bound", "templates_are_rendered_at_each_bound_and_refused_beyond"],
    ),
    (
        "all clusters of an inventory, or all examples of releases, in one validate",
        1,
        "{inventory/steps.rs MOST} steps",
        &["an_exceeded_sum_is_reported_once"],
    ),
    (
        "what a release reads outside its folder",
        1,
        "{model/ids/content.rs MOST_READS} files",
        &["a_release_reads_as_many_files_elsewhere_as_it_may_and_no_more"],
    ),
    (
        "a live inventory",
        1,
        "{reconciler/reconcile/live_inventory/read.rs OBJECTS} objects, {reconciler/reconcile/live_inventory/read.rs BYTES} \
         of them and of its unpacked releases, {reconciler/reconcile/live_inventory/release.rs BYTES} a release, \
         {reconciler/reconcile/live_inventory/making.rs BYTES} of clusters' folders",
        &[
            "an_inventory_is_read_at_each_bound_and_refused_beyond",
            "a_release_is_unpacked_up_to_its_bound",
            "folders_are_taken_at_their_bound_and_refused_beyond",
        ],
    ),
    (
        "a commit",
        1,
        "{git/commit_tree.rs MAXIMUM_ENTRIES} files and folders (above that, a folder that repeats inside others is not \
         listed, and nothing else is lost), {git/commit_tree.rs MAXIMUM_PATH_BYTES} of paths, \
         {git/commit_tree.rs MAXIMUM_DEPTH} folders deep, {git/commit_tree.rs MAXIMUM_FOLDER_BYTES} for the list of one folder",
        &[
            "a_commit_is_listed_at_each_bound_and_refused_beyond",
            "a_commit_is_read_at_each_bound_and_refused_beyond",
            "a_commit_that_lists_too_much_is_refused_with_words_and_fetched_once",
        ],
    ),
];

const ANSWERS: &[Figures] = &[
    (
        "a workload cluster's API",
        1,
        "{k8s/bounds.rs WORKLOAD.answer.bytes} an answer, {k8s/bounds.rs WORKLOAD.list.bytes} a list",
        &["each_bound_is_kept_at_it_and_beyond_and_names_itself_and_the_server"],
    ),
    (
        "a workload cluster's API",
        2,
        "{k8s/bounds.rs WORKLOAD.answer.values} an answer, {k8s/bounds.rs WORKLOAD.list.values} a list; managedFields and \
         images in lists are passed over",
        &[
            "each_bound_is_kept_at_it_and_beyond_and_names_itself_and_the_server",
            "what_nobody_looks_at_in_a_list_counts_for_nothing",
        ],
    ),
    (
        "a workload cluster's API",
        3,
        "{k8s/bounds.rs WORKLOAD.pages} a list, of {k8s/bounds.rs WORKLOAD.page} objects",
        &["each_bound_is_kept_at_it_and_beyond_and_names_itself_and_the_server"],
    ),
    (
        "a workload cluster's API",
        4,
        "{k8s/workload_clusters.rs PATIENCE} a request, {k8s/bounds.rs WORKLOAD.list_time} a list",
        &["a_request_has_a_time_and_so_have_the_pages_of_a_list"],
    ),
    (
        "the management cluster's API",
        1,
        "{k8s/bounds.rs MANAGEMENT.answer.bytes} an answer, {k8s/bounds.rs MANAGEMENT.list.bytes} a list, \
         {k8s/watch/lines.rs LONGEST_LINE} an event; of Capstan's own kinds no bound for a list, of which a small part is kept",
        &[
            "a_list_of_the_management_cluster_ends_at_its_bound_too",
            "a_line_without_end_is_not_read_to_its_end",
        ],
    ),
    (
        "the management cluster's API",
        2,
        "{k8s/bounds.rs MANAGEMENT.list.values} a list; no bound for an answer",
        &["a_list_of_the_management_cluster_ends_at_its_bound_too"],
    ),
    (
        "the management cluster's API",
        4,
        "{k8s/connect.rs PATIENCE} a request",
        &["a_request_has_a_time_and_so_have_the_pages_of_a_list"],
    ),
    ("an OpenStack cloud", 1, "{openstack/http.rs MOST_BYTES} an answer", &[AT_EACH_BOUND]),
    (
        "an OpenStack cloud",
        2,
        "{openstack/http.rs MOST_VALUES} an answer, {openstack/session.rs MOST_VALUES} a list",
        &[AT_EACH_BOUND, "a_list_is_read_at_each_bound_and_refused_beyond"],
    ),
    (
        "an OpenStack cloud",
        3,
        "{openstack/session.rs MOST_PAGES} of {openstack/session.rs PAGE} items",
        &["a_list_is_read_at_each_bound_and_refused_beyond"],
    ),
    (
        "an OpenStack cloud",
        4,
        "{openstack/http.rs CALL} a call, {openstack/session.rs QUESTION} a question",
        &[AT_EACH_BOUND, "a_question_has_a_time_in_all"],
    ),
    ("Vault", 1, "{vault/http.rs MOST_BYTES} an answer", &[AT_EACH_BOUND]),
    ("Vault", 2, "{vault/http.rs MOST_VALUES} an answer", &[AT_EACH_BOUND]),
    ("Vault", 4, "{vault/http.rs CALL} a call", &[AT_EACH_BOUND]),
    (
        "a registry or GitHub release with components",
        1,
        "{registries/oci.rs MANIFEST_BYTES} a manifest, {registries/oci.rs MANIFESTS} manifests of an index; \
         {registries/github.rs ANSWER_BYTES} a list of releases; {registries/challenge.rs ANSWER_BYTES} a token; \
         {providers/published.rs METADATA_BYTES} of metadata, {yaml/limits.rs BYTES} of components",
        &[AT_EACH_BOUND],
    ),
    (
        "a registry or GitHub release with components",
        3,
        "{ports/components.rs FetchLimits.pages} of {registries/github.rs PER_PAGE} releases",
        &[AT_EACH_BOUND],
    ),
    (
        "a registry or GitHub release with components",
        4,
        "{ports/components.rs FetchLimits.timeout} an answer, {ports/components.rs FetchLimits.whole} a provider, \
         {ports/components.rs FetchLimits.redirects} redirects",
        &[AT_EACH_BOUND, "an_endless_answer_is_cut_off_after_a_while"],
    ),
    (
        "GitHub's API",
        1,
        "{github/limits.rs GitHubLimits.answer_bytes} an answer, {github/limits.rs GitHubLimits.list_bytes} a list",
        &[AT_EACH_BOUND],
    ),
    (
        "GitHub's API",
        3,
        "{github/limits.rs GitHubLimits.pages} of {github/transport.rs PER_PAGE} items",
        &[AT_EACH_BOUND],
    ),
    (
        "GitHub's API",
        4,
        "{github/limits.rs GitHubLimits.timeout} a call, {outbound/redirect.rs MOST_REDIRECTS} redirects",
        &[AT_EACH_BOUND, "who_is_followed_stays_at_the_server_and_is_asked_the_same"],
    ),
    (
        "GitHub's deliveries",
        1,
        "{server/webhook.rs BODY_LIMIT_BYTES}",
        &["a_delivery_at_the_limit_is_read_and_one_above_is_refused"],
    ),
    (
        "Git",
        1,
        "{git/remote.rs HANDSHAKE_BYTES} a handshake over HTTP, {git/mirror_limits.rs MirrorLimits.fetch_bytes} a fetch, \
         {git/mirror_limits.rs MirrorLimits.mirror_bytes} a mirror",
        &[
            "a_handshake_is_read_up_to_its_bound_and_no_further",
            "a_fetch_brings_as_much_as_it_may_in_its_time_and_no_more",
            "a_mirror_that_grows_beyond_its_bound_is_recreated",
        ],
    ),
    (
        "Git",
        4,
        "{git/mirror_limits.rs MirrorLimits.fetch_timeout} a fetch, {git/fetch.rs BRANCH.within} where a branch is; \
         {outbound/redirect.rs MOST_REDIRECTS} redirects",
        &[
            "a_fetch_brings_as_much_as_it_may_in_its_time_and_no_more",
            "an_answer_ends_by_bytes_and_by_time",
            "nobody_is_followed_to_another_server_with_a_token_or_without",
        ],
    ),
    (
        "agents, at the bot",
        1,
        "{live/agent/limits.rs ENROL_BYTES} an enrolment, {live/agent/limits.rs POST_BYTES} a post",
        &[
            "what_is_too_large_or_unreadable_is_refused_without_a_word_of_it",
            "what_the_other_side_sends_is_read_at_each_bound_and_refused_beyond",
        ],
    ),
    (
        "the bot, at an agent",
        1,
        "{agent-client/http.rs ANSWER_BYTES} an answer, {live/agent/limits.rs ARCHIVE_BYTES} an archive, \
         {live/agent/limits.rs UNPACKED_BYTES} unpacked",
        &[AT_EACH_BOUND, "what_unpacks_to_as_much_as_may_be_is_read_and_a_byte_more_is_refused"],
    ),
    (
        "the bot, at an agent",
        2,
        "{live/agent/limits.rs ARCHIVE_FILES} files",
        &["what_the_other_side_sends_is_read_at_each_bound_and_refused_beyond"],
    ),
    (
        "the bot, at an agent",
        4,
        "{agent-client/http.rs PATIENCE} beyond what was asked for",
        &[AT_EACH_BOUND, "a_call_has_its_patience_beyond_what_was_asked_for"],
    ),
    (
        "a webhook of a wave",
        1,
        "{webhooks/lib.rs MOST}",
        &["an_answer_is_a_word_in_time_and_of_bounded_size_and_everything_else_is_silence"],
    ),
];

/// The value of a constant, or of a field behind its name, as the page writes it.
fn figure(named: &str) -> String {
    let (file, name) = named.split_once(' ').unwrap();
    let source = fs::read_to_string(root().join("crates").join(file)).unwrap();
    let (before, last) = name.rsplit_once('.').unwrap_or(("", name));
    let start = before.split('.').filter(|part| !part.is_empty()).fold(0, |start, part| {
        let found = source[start..].find(part).unwrap_or_else(|| panic!("{file} has no {part}"));
        start + found + part.len()
    });
    let head = format!("{last}: ");
    let written = source[start..].split(head.as_str()).skip(1);
    written.filter_map(value).next().unwrap_or_else(|| panic!("{file} has no figure {name}"))
}

/// What begins with a type and a value, or with a value.
fn value(written: &str) -> Option<String> {
    let end = written.find([';', '\n'])?;
    let (expression, ends) = match written[..end].split_once(" = ") {
        Some((_, value)) => (value, ""),
        // An array's type has a semicolon in it.
        None => match written.split_once("] = ") {
            Some((kind, value)) if kind.starts_with('[') && !kind.contains('\n') => {
                (value.split(';').next()?, "")
            }
            _ => (written, ",}"),
        },
    };
    let expression = expression.split(|c| ends.contains(c)).next()?.trim();
    // Of several steps the last is the bound.
    let expression = expression.trim_matches(['[', ']']).rsplit(", ").next()?;
    let expression = expression.trim_start_matches("Some(").trim_matches(['"', ')']);
    if let Some(seconds) = expression.strip_prefix("Duration::from_secs(") {
        return Some(format!("{} s", number(seconds)?));
    }
    let product = expression.split(" * ").map(number).try_fold(1, |all, one| Some(all * one?));
    let shifted = expression.split_once(" << ").and_then(|(one, by)| Some(number(one)? << number(by)?));
    let value = product.or(shifted)?;
    let is_bytes = shifted.is_some() || expression.contains(" * ") || value % (1 << 20) == 0;
    Some(match value {
        _ if !is_bytes && value % 1_000_000 == 0 => format!("{} million", grouped(value / 1_000_000)),
        _ if !is_bytes => grouped(value),
        _ if value % (1 << 30) == 0 => format!("{} GiB", value >> 30),
        _ if value % (1 << 20) == 0 => format!("{} MiB", value >> 20),
        _ => format!("{} KiB", value >> 10),
    })
}

fn number(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok()
}

/// `1,000`
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    parts.join(",")
}

#[test]
fn every_figure_is_a_constant_and_every_bound_has_its_tests() {
    let page = page("docs/limits.md");
    for (heading, cells) in [("limits", LIMITS), ("what-others-answer", ANSWERS)] {
        let rows = page.rows(heading);
        for (what, column, says, tests) in cells {
            let row = rows.iter().find(|row| row[0].text == *what);
            let row = row.unwrap_or_else(|| panic!("docs/limits.md says nothing of {what}"));
            let expected: String = says
                .split('{')
                .enumerate()
                .map(|(at, part)| match part.split_once('}') {
                    Some((named, rest)) if at > 0 => figure(named) + rest,
                    _ => part.to_owned(),
                })
                .collect();
            assert_eq!(row[*column].text, expected, "docs/limits.md, {what}");
            let files = &row.last().unwrap().codes;
            let sources: Vec<String> =
                files.iter().map(|file| fs::read_to_string(root().join(file)).unwrap()).collect();
            for test in *tests {
                let is_there = |source: &String| source.contains(&format!("fn {test}("));
                assert!(sources.iter().any(is_there), "none of {files:?} has the test {test} of {what}");
            }
        }
        for row in &rows {
            let what = &row[0].text;
            for (column, cell) in row.iter().enumerate().skip(1).take(row.len() - 2) {
                let is_held = cells.iter().any(|(row, at, ..)| row == what && *at == column);
                let has_figure = cell.text.contains(|c: char| c.is_ascii_digit());
                assert!(is_held || !has_figure, "docs/limits.md, {what}: no test holds `{}`", cell.text);
            }
            assert!(!row.last().unwrap().codes.is_empty(), "docs/limits.md, {what}: it names no test");
        }
    }
}
