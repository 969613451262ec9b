//! `GET /clusters/<owner>/<name>/<folder>`: one cluster: its state, its proposals and checks, what its repository's
//! work and budget let become of it, what its reconciler reported, the merges that changed it, and what was done about it.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use capstan_campaign::wording::minute;
use capstan_live::agent::{KubeconfigPlace, MachineAge, RolloutReport};
use capstan_report::{ProposalState, TargetDetail};
use jiff::Timestamp;

use super::access::Visitor;
use super::audit::AuditLine as Entry;
use super::detail::UpgradeDetail;
use super::fleet::folder_url;
use super::frame::{Titled, ago, not_there, page, unavailable};
use super::prose::{Html, prose};
use super::query::{Paged, Pager, QueryFields, extent, page_address, path};
use super::queue;
use super::row::{Row, row};
use super::site::Site;
use capstan_ports::{AuditFilter, RecordsError, ShownMerge, ShownTarget, VisibleRepositories};

const PER_PAGE: u32 = 50;

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p class="quiet"><a href="{{ repository_url }}">{{ repository }}</a>, <a href="{{ folder_url }}">its folder</a></p>
{% for one in states %}
<section aria-labelledby="state-{{ loop.index }}">
  <h2 id="state-{{ loop.index }}">State{% if states.len() > 1 || one.kind != "release" %}: {{ one.kind }}{% endif %}</h2>
  <p><span class="badge mood-{{ one.row.mood }}">{{ one.row.state }}</span> {{ one.meaning }}</p>
  <p class="reason">{{ one.row.reason }}</p>
  <dl class="facts">
    {% if let Some(kubernetes) = one.row.kubernetes %}<dt>Kubernetes</dt><dd>{{ kubernetes }}{% if let Some(then) = one.row.kubernetes_offered %} → {{ then }}{% endif %}</dd>{% endif %}
    <dt>Release</dt><dd>{{ one.row.at }}</dd>
    <dt>Offered</dt><dd>{{ one.row.offered }}</dd>
    <dt>Proposal</dt><dd>{% if let Some(proposal) = one.row.proposal %}<a href="{{ proposal.0 }}">#{{ proposal.1 }}</a>{% else %}none{% endif %}</dd>
    <dt>Check</dt><dd>{% if let Some(check) = one.row.check %}<span class="mood-{{ check.0 }}">{{ check.1 }}</span>{% else %}none{% endif %}</dd>
    {% if let Some(wave) = one.row.wave %}<dt>Wave</dt><dd>{{ wave }}</dd>{% endif %}
    {% if let Some(since) = one.row.since %}<dt>Since</dt><dd><time datetime="{{ since.0 }}">{{ since.1 }}</time></dd>{% endif %}
    {% if let Some(hold) = one.row.hold %}<dt>Hold</dt><dd>{{ hold }}</dd>{% endif %}
  </dl>
  {% if let Some(detail) = one.detail %}{{ detail }}{% endif %}
</section>
{% endfor %}
{% if let Some(work) = work %}
<section aria-labelledby="queue">
  <h2 id="queue">Queue and budget</h2>
  <p><span class="badge mood-{{ work.mood }}">{{ work.state }}</span> Its repository: {{ work.job }}.</p>
  {% if let Some(why) = work.why %}<p class="reason">{{ why }}</p>{% endif %}
  <dl class="facts">
    <dt>Proposals open</dt><dd>{{ work.open }}</dd>
    <dt>Opened in the last hour</dt><dd>{{ work.opened }}</dd>
  </dl>
</section>
{% endif %}
<section aria-labelledby="rollout">
  <h2 id="rollout">Rollout</h2>
  {% if let Some(rollout) = rollout %}
  <p><span class="mood-{{ rollout.mood }}">{{ rollout.state }}</span>, reported {{ rollout.at }}{% if let Some(words) = rollout.words %}: {{ words }}{% endif %}</p>
  {% if !rollout.reasons.is_empty() %}<ul>{% for reason in rollout.reasons %}<li>{{ reason }}</li>{% endfor %}</ul>{% endif %}
  {% if !rollout.machines.is_empty() %}
  <table class="cards" role="table">
    <caption>Machines{% if rollout.left_out > 0 %} that are named{% endif %}: {{ rollout.ages }}</caption>
    <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Machine</th><th role="columnheader" scope="col">Owner</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">Age</th></tr></thead>
    <tbody role="rowgroup">
      {% for machine in rollout.machines %}
      <tr role="row">
        <th role="rowheader" scope="row">{{ machine.name }}</th>
        <td role="cell" data-label="Owner"><span>{{ machine.owner }}</span></td>
        <td role="cell" data-label="State">{{ machine.state }}</td>
        <td role="cell" data-label="Age"><span class="mood-{{ machine.mood }}">{{ machine.age }}</span>{% if let Some(created) = machine.created %}, <time datetime="{{ created.0 }}">{{ created.1 }}</time>{% endif %}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
  {% if rollout.left_out > 0 %}<p>{{ rollout.left_out }} more machines are not named.</p>{% endif %}
  {% endif %}
  {% else %}
  <p>No reconciler has reported on it.</p>
  {% endif %}
</section>
{% if let Some(key) = key %}
<section aria-labelledby="key">
  <h2 id="key">Key of its owners</h2>
  <p><code>{{ key.file }}</code>, {{ key.place }}{% if let Some(until) = key.until %}, valid until {{ until }}{% endif %}. SHA-256 <span class="id">{{ key.sha256 }}</span></p>
  {% if !key.owners.is_empty() %}<p>Encrypted to:</p>
  <ul>{% for owner in key.owners %}<li>{{ owner.0 }} <span class="id">{{ owner.1 }}</span></li>{% endfor %}</ul>{% endif %}
</section>
{% endif %}
{% if !merges.is_empty() %}
<section aria-labelledby="merges">
  <h2 id="merges">Merges</h2>
  <table class="cards" role="table">
    <caption>Merges whose machines were followed, newest first</caption>
    <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Pull request</th><th role="columnheader" scope="col">Merged</th><th role="columnheader" scope="col">Applied by</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">What happened</th></tr></thead>
    <tbody role="rowgroup">
      {% for merge in merges %}
      <tr role="row">
        <th role="rowheader" scope="row"><a href="{{ merge.url }}">#{{ merge.number }}</a></th>
        <td role="cell" data-label="Merged">{{ merge.at }}</td>
        <td role="cell" data-label="Applied by">{{ merge.by }}</td>
        <td role="cell" data-label="State">{{ merge.state }}</td>
        <td role="cell" data-label="What happened">{% if merge.turns.is_empty() %}<span class="quiet">nothing yet</span>{% else %}<ol>{% for turn in merge.turns %}<li>{{ turn }}</li>{% endfor %}</ol>{% endif %}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
</section>
{% endif %}
<section aria-labelledby="history">
  <h2 id="history">History</h2>
  {% if entries.is_empty() %}
  <p>There are no entries yet.</p>
  {% else %}
  <table class="cards" role="table">
    <caption>Entries {{ pager.shown }}, newest first</caption>
    <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">When</th><th role="columnheader" scope="col">Who</th><th role="columnheader" scope="col">What</th><th role="columnheader" scope="col">Detail</th></tr></thead>
    <tbody role="rowgroup">
      {% for entry in entries %}
      <tr role="row">
        <th role="rowheader" scope="row">{{ entry.at }}</th>
        <td role="cell" data-label="Who">{{ entry.actor }}</td>
        <td role="cell" data-label="What">{{ entry.action }}</td>
        <td role="cell" data-label="Detail">{{ entry.detail }}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
  {{ pager }}
  {% endif %}
</section>
"##
)]
struct ClusterContent<'a> {
    repository: &'a str,
    repository_url: String,
    folder_url: String,
    states: Vec<StateSection<'a>>,
    work: Option<queue::QueueLine<'a>>,
    rollout: Option<Rollout<'a>>,
    key: Option<OwnersKey>,
    merges: Vec<MergeLine>,
    entries: Vec<Entry<'a>>,
    pager: Pager,
}

struct StateSection<'a> {
    kind: &'a str,
    row: Row<'a>,
    meaning: &'static str,
    detail: Option<Html>,
}

struct Rollout<'a> {
    mood: &'static str,
    state: String,
    at: String,
    words: Option<Html>,
    reasons: Vec<Html>,
    machines: Vec<ShownMachine<'a>>,
    /// How many of those that are named are old and new.
    ages: String,
    left_out: u32,
}

struct ShownMachine<'a> {
    name: &'a str,
    owner: &'a str,
    state: &'a str,
    age: &'static str,
    mood: &'static str,
    /// When it was created, and how long ago that is.
    created: Option<(Timestamp, String)>,
}

/// The file in which owners find a key.
struct OwnersKey {
    file: &'static str,
    place: &'static str,
    until: Option<String>,
    sha256: String,
    /// Names and fingerprints.
    owners: Vec<(String, String)>,
}

struct MergeLine {
    number: u64,
    url: String,
    at: String,
    by: String,
    state: &'static str,
    turns: Vec<String>,
}

pub(super) async fn show(
    visitor: Visitor,
    State(site): State<Site>,
    Path((owner, name, target)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let fields = QueryFields::parse(&query.unwrap_or_default());
    let repository = format!("{owner}/{name}");
    shown(&site, &visitor, &repository, &target, &fields).await.unwrap_or_else(|error| unavailable(&error))
}

async fn shown(
    site: &Site,
    visitor: &Visitor,
    repository: &str,
    name: &str,
    fields: &QueryFields,
) -> Result<Response, RecordsError> {
    let sight = visitor.sight();
    let stamp = site.records.stamp(&sight).await?;
    let targets = site.records.target(&sight, repository, name).await?;
    let Some(first) = targets.first() else { return Ok(not_there()) };
    let merges = site.records.merges(first.repository, name).await?;
    let details = site.records.details(first.repository, name).await?;
    // A person who sees one of its clusters sees the repository.
    let own = VisibleRepositories::Repositories(BTreeSet::from([first.repository]));
    let repositories = site.records.shown_repositories(&own).await?;
    let at = extent(fields.page(), PER_PAGE);
    let filter = AuditFilter {
        target: Some(name.to_owned()),
        repository: repository.to_owned(),
        ..AuditFilter::default()
    };
    let part = site.records.audit_trail(&sight, &filter, at).await?;
    let repository_url = site.repository_url(&first.repository_name);
    let here = path(&["clusters", &first.repository_name, name]);
    let link = |page: u64| page_address(&here, &[], page);
    let content = ClusterContent {
        repository: &first.repository_name,
        folder_url: folder_url(&site.web_url, &first.repository_name, name),
        states: targets.iter().map(|target| state_section(site, target, &details)).collect(),
        work: repositories.first().map(|repository| queue::row(site, visitor, repository)),
        rollout: rollout(site, first, &repository_url),
        key: first.rollout.as_ref().and_then(owners_key),
        merges: merges.iter().map(|one| merge(one, &repository_url)).collect(),
        entries: part.items.iter().map(|entry| super::audit::row(site, entry)).collect(),
        pager: Pager::new(Paged::newest_first("its history"), at, part.items.len(), part.more, None, link),
        repository_url,
    };
    Ok(page(site, Some(visitor), &Titled { title: name, here: "", stamp: Some(stamp) }, &content))
}

fn state_section<'a>(
    site: &Site,
    target: &'a ShownTarget,
    details: &[(String, TargetDetail)],
) -> StateSection<'a> {
    let meaning = ProposalState::parse(&target.state).map_or("", ProposalState::meaning);
    let detail = details.iter().find(|(kind, _)| *kind == target.kind).map(|(_, detail)| detail);
    let detail = detail.and_then(|detail| {
        let repository = site.repository_url(&target.repository_name);
        Html::of(&UpgradeDetail::of(detail, &target.kind, &repository)).ok()
    });
    StateSection { kind: &target.kind, row: row(site, target), meaning, detail }
}

fn rollout<'a>(site: &Site, target: &'a ShownTarget, repository: &str) -> Option<Rollout<'a>> {
    let report = target.rollout.as_ref()?;
    let (mood, state) = row(site, target).rollout?;
    Some(Rollout {
        mood,
        state,
        at: minute(report.observed_at),
        words: report.words.as_ref().map(|words| prose(&words.to_string(), Some(repository))),
        reasons: report.reasons.iter().map(|reason| prose(&reason.sentence(), Some(repository))).collect(),
        machines: machines(report, site.clock.now()),
        ages: ages_in_words(report),
        left_out: report.machines_left_out,
    })
}

/// The machines, those that are yet to be replaced first.
fn machines(report: &RolloutReport, now: Timestamp) -> Vec<ShownMachine<'_>> {
    let of_age = |age: MachineAge, word: &'static str, mood: &'static str| {
        report.machines.iter().filter(move |machine| machine.age == age).map(move |machine| ShownMachine {
            name: machine.name.as_str(),
            owner: machine.owner.as_str(),
            state: machine.state.as_str(),
            age: word,
            mood,
            created: machine.created_at.map(|created| (created, ago(created, now))),
        })
    };
    of_age(MachineAge::Old, "old", "waits").chain(of_age(MachineAge::New, "new", "good")).collect()
}

/// `2 old, 3 new`
fn ages_in_words(report: &RolloutReport) -> String {
    let count = |age: MachineAge| report.machines.iter().filter(|machine| machine.age == age).count();
    format!("{} old, {} new", count(MachineAge::Old), count(MachineAge::New))
}

/// What is known of the key of a cluster's owners.
fn owners_key(report: &RolloutReport) -> Option<OwnersKey> {
    let key = report.kubeconfig.as_ref()?;
    Some(OwnersKey {
        file: key.form.file_name(),
        place: match key.place {
            KubeconfigPlace::Bot => "at the bot",
            KubeconfigPlace::Git => "at the bot and in the folder of the cluster",
        },
        until: key.expires_at.map(minute),
        sha256: key.sha256.clone(),
        owners: key
            .recipients
            .iter()
            .map(|one| (one.name.to_string(), one.fingerprint.to_string()))
            .collect(),
    })
}

fn merge(merge: &ShownMerge, repository: &str) -> MergeLine {
    let turns = merge.progress.turns.iter().map(|turn| {
        let words = turn.words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
        format!("{} {}{words}", minute(turn.at), turn.kind.as_str().to_lowercase())
    });
    MergeLine {
        number: merge.pull_request,
        url: format!("{repository}/pull/{}", merge.pull_request),
        at: minute(merge.merged_at),
        by: merge.management_cluster.clone(),
        state: merge.progress.state().as_str(),
        turns: turns.collect(),
    }
}
