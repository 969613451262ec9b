//! `GET /campaigns`, and a page for each campaign: its waves with their progress, which clusters wait for what, and its
//! windows and freezes on a time line.
//!
//! Buttons stop and resume it. What they ask for is recorded, and carried out by the repository's next run as a comment
//! would be: that run asks GitHub what the person may, and the audit trail has its answer.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use capstan_bot::page_orders::CampaignButton;
use capstan_campaign::simulation::{Event, Happening, History, Sample, TimeLine, picture_until_now};
use capstan_campaign::time::{Calendar, open_times};
use capstan_campaign::wording::{minute, open_in_words};
use capstan_listener::answer::HttpRefusal;
use capstan_model::wording::sentence;
use capstan_ports::{
    AuditFilter, CampaignProgress, MovingCluster, MovingStage, Ordered, PageOrder, RecordsError, ShownAudit,
    ShownCampaign, WaveProgress,
};
use jiff::{SignedDuration, Timestamp};

use super::access::Visitor;
use super::frame::{Titled, not_there, page, unavailable};
use super::prose::{Html, prose};
use super::query::{QueryFields, address, extent, path};
use super::site::Site;

/// The time line shows at least so much of the past and of what comes.
const PAST: SignedDuration = SignedDuration::from_hours(24);
const COMING: SignedDuration = SignedDuration::from_hours(24 * 7);
/// It goes back no further than that.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 60);

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p>A campaign moves a release through the clusters of a repository, wave by wave.</p>
{% if rows.is_empty() %}
<p>No release moves through a campaign now.</p>
{% else %}
<table class="cards" role="table">
  <caption>Releases that move through campaigns</caption>
  <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Campaign</th><th role="columnheader" scope="col">Release</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">Wave</th><th role="columnheader" scope="col">Done</th></tr></thead>
  <tbody role="rowgroup">
    {% for row in rows %}
    <tr role="row">
      <th role="rowheader" scope="row"><a href="{{ row.url }}">{{ row.name }}</a><span class="quiet">{{ row.repository }}</span></th>
      <td role="cell" data-label="Release">{{ row.release }}</td>
      <td role="cell" data-label="State"><span class="badge mood-{{ row.mood }}">{{ row.state }}</span></td>
      <td role="cell" data-label="Wave">{{ row.wave }}</td>
      <td role="cell" data-label="Done">{{ row.done }} of {{ row.clusters }}</td>
    </tr>
    {% endfor %}
  </tbody>
</table>
{% endif %}
"##
)]
struct ListContent {
    rows: Vec<ListedCampaign>,
}

struct ListedCampaign {
    name: String,
    url: String,
    repository: String,
    release: String,
    state: &'static str,
    mood: &'static str,
    wave: String,
    done: u32,
    clusters: u32,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p class="quiet"><a href="{{ repository_url }}">{{ repository }}</a></p>
{% if let Some(answer) = answer %}<p class="answer" role="status"><span class="badge mood-{{ answer.mood }}">{{ answer.word }}</span> {{ answer.sentence }}</p>
{% endif %}{% if let Some(token) = form_token %}<div class="orders">
  {% if stop.is_some() %}<form class="filters" method="post" action="{{ order_path }}">
    <input type="hidden" name="token" value="{{ token }}"><input type="hidden" name="do" value="stop">
    <label>Reason <input name="reason" maxlength="200" placeholder="optional"></label>
    <button>Stop the campaign</button>
  </form>{% endif %}
  {% if resume.is_some() %}<form class="filters" method="post" action="{{ order_path }}">
    <input type="hidden" name="token" value="{{ token }}"><input type="hidden" name="do" value="resume">
    <button>Resume the campaign</button>
  </form>{% endif %}
</div>
{% endif %}<p class="quiet">{{ who_may }}{% if let Some(command) = stop %} A comment <code>{{ command }}</code> on {% if let Some(dashboard) = dashboard %}<a href="{{ dashboard }}">the dashboard issue</a>{% else %}the dashboard issue{% endif %} stops it.{% endif %}{% if let Some(command) = resume %} A comment <code>{{ command }}</code> on {% if let Some(dashboard) = dashboard %}<a href="{{ dashboard }}">the dashboard issue</a>{% else %}the dashboard issue{% endif %} resumes it.{% endif %}</p>
{% for one in releases %}
<section aria-labelledby="release-{{ loop.index }}">
  <h2 id="release-{{ loop.index }}">{{ one.release }}</h2>
  <p><span class="badge mood-{{ one.mood }}">{{ one.state }}</span>{% if let Some(stopped) = one.stopped %} on {{ stopped.0 }}: {{ stopped.1 }}{% endif %}</p>
  {% if !one.skipped.is_empty() %}<p>It continues without {% for skipped in one.skipped %}{% if !loop.first %}, {% endif %}<a href="{{ skipped.1 }}">{{ skipped.0 }}</a>{% endfor %}.</p>{% endif %}
  <div class="scroll" role="region" tabindex="0" aria-label="Time line of {{ one.release }}">{{ one.picture }}</div>
  <p class="quiet key"><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" focusable="false"><rect class="done" width="10" height="10"/></svg>done <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" focusable="false"><rect class="window" width="10" height="10"/></svg>a window is open <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" focusable="false"><rect class="freeze" width="10" height="10"/></svg>frozen</p>
  <table class="cards" role="table">
    <caption>Waves of {{ one.release }}</caption>
    <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Wave</th><th role="columnheader" scope="col">Progress</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">Windows</th></tr></thead>
    <tbody role="rowgroup">
      {% for wave in one.waves %}
      <tr role="row">
        <th role="rowheader" scope="row">{{ wave.name }}</th>
        <td role="cell" data-label="Progress"><svg class="progress" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="rest" width="100" height="6"/><rect class="done" width="{{ wave.percent }}" height="6"/></svg><span>{{ wave.progress }}</span></td>
        <td role="cell" data-label="State"><span>{{ wave.state }}</span></td>
        <td role="cell" data-label="Windows">{% if wave.windows.is_empty() %}<span class="quiet">always open</span>{% else %}<ul class="plain">{% for window in wave.windows %}<li>{{ window }}</li>{% endfor %}</ul>{% endif %}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
  {% if !one.freezes.is_empty() %}
  <h3>Freezes</h3>
  <ul>{% for freeze in one.freezes %}<li>{{ freeze }}</li>{% endfor %}</ul>
  {% endif %}
  {% if one.clusters.is_empty() %}
  <p>Every cluster of it is done.</p>
  {% else %}
  <table class="cards" role="table">
    <caption>Clusters of {{ one.release }} that are not done</caption>
    <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Cluster</th><th role="columnheader" scope="col">Wave</th><th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">What it waits for</th><th role="columnheader" scope="col">Machines</th></tr></thead>
    <tbody role="rowgroup">
      {% for cluster in one.clusters %}
      <tr role="row">
        <th role="rowheader" scope="row"><a href="{{ cluster.url }}">{{ cluster.name }}</a></th>
        <td role="cell" data-label="Wave">{{ cluster.wave }}</td>
        <td role="cell" data-label="State"><span class="badge mood-{{ cluster.mood }}">{{ cluster.state }}</span></td>
        <td role="cell" data-label="What it waits for"><span>{{ cluster.why }}</span></td>
        <td role="cell" data-label="Machines">{{ cluster.machines }}</td>
      </tr>
      {% endfor %}
    </tbody>
  </table>
  {% if one.left_out > 0 %}<p>{{ one.left_out }} more are not done.</p>{% endif %}
  {% endif %}
</section>
{% endfor %}
"##
)]
struct CampaignContent<'a> {
    repository: String,
    repository_url: String,
    /// The address of the dashboard issue.
    dashboard: Option<String>,
    /// What its forms carry, where the visitor is shown them.
    form_token: Option<&'a str>,
    /// Where its forms go.
    order_path: String,
    /// The command that stops it, where a release in it continues.
    stop: Option<String>,
    /// The command that resumes it, where a release in it is stopped.
    resume: Option<String>,
    who_may: String,
    /// What became of the order that the address names.
    answer: Option<OrderAnswer>,
    releases: Vec<ShownRelease>,
}

/// What became of an order.
struct OrderAnswer {
    word: &'static str,
    mood: &'static str,
    sentence: String,
}

/// A release that moves through the campaign.
struct ShownRelease {
    release: String,
    state: &'static str,
    mood: &'static str,
    /// When it was stopped, and why.
    stopped: Option<(String, Html)>,
    /// Names and addresses.
    skipped: Vec<(String, String)>,
    picture: Html,
    waves: Vec<ShownWave>,
    freezes: Vec<String>,
    clusters: Vec<ShownCluster>,
    left_out: usize,
}

struct ShownWave {
    name: String,
    percent: u32,
    progress: String,
    state: Html,
    windows: Vec<String>,
}

struct ShownCluster {
    name: String,
    url: String,
    wave: String,
    state: &'static str,
    mood: &'static str,
    why: Html,
    machines: String,
}

pub(super) async fn list(visitor: Visitor, State(site): State<Site>) -> Response {
    let campaigns = match site.records.moving_campaigns(&visitor.sight()).await {
        Ok(campaigns) => campaigns,
        Err(error) => return unavailable(&error),
    };
    let content = ListContent { rows: campaigns.iter().map(listed).collect() };
    page(&site, Some(&visitor), &Titled { title: "Campaigns", here: "/campaigns", stamp: None }, &content)
}

pub(super) async fn show(
    visitor: Visitor,
    State(site): State<Site>,
    Path((owner, name, campaign)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let order = QueryFields::parse(&query.unwrap_or_default()).text("order");
    shown(&site, &visitor, (&format!("{owner}/{name}"), &campaign), &order)
        .await
        .unwrap_or_else(|error| unavailable(&error))
}

async fn shown(
    site: &Site,
    visitor: &Visitor,
    (repository, campaign): (&str, &str),
    order: &str,
) -> Result<Response, RecordsError> {
    let stamp = site.records.stamp(&visitor.sight()).await?;
    let wanted = site.records.moving_campaign(&visitor.sight(), repository, campaign).await?;
    let Some(first) = wanted.first() else { return Ok(not_there()) };
    let repository_url = site.repository_url(&first.repository_name);
    let release =
        |one: &ShownCampaign| release(&one.progress, &one.repository_name, &repository_url, site.clock.now());
    let may_order = visitor.may_order(first);
    let command = |button: CampaignButton, is_wanted: bool| {
        button.command(&first.progress.prefix, campaign).filter(|_| is_wanted)
    };
    let is_stopped = |one: &ShownCampaign| one.progress.stopped.is_some();
    let content = CampaignContent {
        form_token: may_order.then(|| visitor.form_token()),
        order_path: format!("{}/order", path(&["campaigns", &first.repository_name, campaign])),
        stop: command(CampaignButton::Stop, !wanted.iter().all(is_stopped)),
        resume: command(CampaignButton::Resume, wanted.iter().any(is_stopped)),
        who_may: who_may(visitor, first),
        answer: answer(site, visitor, &first.repository_name, order).await?,
        repository: first.repository_name.clone(),
        dashboard: first.dashboard.map(|issue| format!("{repository_url}/issues/{issue}")),
        releases: wanted.iter().map(release).collect(),
        repository_url: repository_url.clone(),
    };
    Ok(page(
        site,
        Some(visitor),
        &Titled { title: campaign, here: "/campaigns", stamp: Some(stamp) },
        &content,
    ))
}

pub(super) async fn order(
    visitor: Visitor,
    State(site): State<Site>,
    Path((owner, name, campaign)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let fields = match visitor.believes(&site, &headers, body).await {
        Ok(fields) => fields,
        Err(refusal) => return refusal.into_response(),
    };
    ordered(&site, &visitor, (&format!("{owner}/{name}"), &campaign), &fields)
        .await
        .unwrap_or_else(|error| unavailable(&error))
}

async fn ordered(
    site: &Site,
    visitor: &Visitor,
    (repository, campaign): (&str, &str),
    fields: &QueryFields,
) -> Result<Response, RecordsError> {
    let moving = site.records.moving_campaign(&visitor.sight(), repository, campaign).await?;
    let Some(first) = moving.first() else { return Ok(not_there()) };
    if !visitor.may_order(first) {
        let sentence = "You may not stop or resume this campaign: its page says who may";
        let refusal = HttpRefusal::new(StatusCode::FORBIDDEN, sentence);
        return Ok(refusal.because(&format_args!("{} may not", visitor.name())).into_response());
    }
    let button = CampaignButton::parse(&fields.text("do"));
    let Some(given) = button.and_then(|button| button.given(campaign, fields.whole("reason"))) else {
        let sentence = "The form must ask for `stop` or `resume`, with a reason of at most 200 characters";
        let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, sentence);
        return Ok(refusal.because(&"the form asks for no command").into_response());
    };
    let id = match site.records.order(first.repository, visitor.name(), &given).await? {
        Ordered::Recorded(id) => id,
        Ordered::NotThere => return Ok(not_there()),
        Ordered::TooMany => {
            let sentence = "Too many of your orders wait in this repository: order again when they are carried out, or comment on the dashboard issue";
            let refusal = HttpRefusal::new(StatusCode::TOO_MANY_REQUESTS, sentence);
            return Ok(refusal.because(&"too many orders wait").into_response());
        }
    };
    tracing::info!(repository = %first.repository_name, actor = visitor.name(), command = %given, order = %id, "ordered on the page");
    let page = path(&["campaigns", &first.repository_name, campaign]);
    Ok(Redirect::to(&address(&page, &[("order", &id)])).into_response())
}

/// Who may stop and resume a campaign.
fn who_may(visitor: &Visitor, campaign: &ShownCampaign) -> String {
    let besides: Vec<String> = campaign.progress.ordered_by.iter().map(ToString::to_string).collect();
    let besides = match besides.as_slice() {
        [] => String::new(),
        named => format!(", and by the settings {}", named.join(", ")),
    };
    let mut words = format!("Administrators of the repository{besides} may stop and resume it.");
    if visitor.login().is_none() {
        words.push_str(" The buttons are shown to people who sign in through GitHub.");
    } else if campaign.dashboard.is_none() {
        words.push_str(" The buttons need the dashboard issue, where Capstan records it.");
    }
    words
}

/// What became of an order on this page, as the audit trail says; `None` where it knows none of that id.
async fn answer(
    site: &Site,
    visitor: &Visitor,
    repository: &str,
    order: &str,
) -> Result<Option<OrderAnswer>, RecordsError> {
    let is_id = |id: &str| id.len() == 26 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !order.strip_prefix(PageOrder::ID_PREFIX).is_some_and(is_id) {
        return Ok(None);
    }
    let filter =
        AuditFilter { text: order.to_owned(), repository: repository.to_owned(), ..AuditFilter::default() };
    let found = site.records.audit_trail(&visitor.sight(), &filter, extent(1, 10)).await?.items;
    // The newest says what became of it; others may only name it.
    let is_of_order =
        |entry: &&ShownAudit| entry.action == "campaign-ordered" || entry.action.starts_with("command-");
    Ok(found.iter().find(is_of_order).map(order_answer))
}

fn order_answer(entry: &ShownAudit) -> OrderAnswer {
    let by = &entry.actor;
    let (word, mood, sentence) = match entry.action.as_str() {
        "campaign-ordered" => (
            "recorded",
            "waits",
            format!(
                "Capstan carries out the order of {by} when it next looks at the repository, usually within seconds."
            ),
        ),
        "command-carried-out" => {
            ("done", "good", format!("The order of {by} was carried out. Its effect is shown below."))
        }
        "command-refused" => {
            ("refused", "bad", format!("GitHub or the settings do not allow {by} to do this."))
        }
        _ => {
            let sentence =
                format!("The order of {by} was not carried out. The audit trail says why: {}", entry.detail);
            ("not possible", "bad", sentence)
        }
    };
    OrderAnswer { word, mood, sentence }
}

fn listed(one: &ShownCampaign) -> ListedCampaign {
    let progress = &one.progress;
    let (state, mood) = state(progress);
    let done = progress.waves.iter().map(WaveProgress::done_clusters).sum();
    let at = progress.waves.iter().position(|wave| wave.done_clusters() < wave.clusters);
    let names = progress.calendar.waves.iter().map(|wave| wave.name.as_str());
    ListedCampaign {
        name: progress.campaign.clone(),
        url: path(&["campaigns", &one.repository_name, &progress.campaign]),
        repository: one.repository_name.clone(),
        release: progress.release.clone(),
        state,
        mood,
        wave: at.and_then(|at| names.clone().nth(at)).unwrap_or("all are done").to_owned(),
        done,
        clusters: progress.waves.iter().map(|wave| wave.clusters).sum(),
    }
}

fn state(progress: &CampaignProgress) -> (&'static str, &'static str) {
    match &progress.stopped {
        Some(_) => ("stopped", "bad"),
        None if progress.waves.iter().all(|wave| wave.done_clusters() >= wave.clusters) => ("done", "good"),
        None => ("under way", "open"),
    }
}

fn release(
    progress: &CampaignProgress,
    repository: &str,
    repository_url: &str,
    now: Timestamp,
) -> ShownRelease {
    let (state, mood) = state(progress);
    let words = |text: &str| prose(text, Some(repository_url));
    let wave_name = |at: usize| progress.calendar.waves.get(at).map_or("", |wave| wave.name.as_str());
    let cluster_url = |cluster: &str| path(&["clusters", repository, cluster]);
    let cluster = |one: &MovingCluster| ShownCluster {
        name: one.cluster.to_string(),
        url: cluster_url(one.cluster.as_str()),
        wave: wave_name(one.wave).to_owned(),
        state: one.stage.as_str(),
        mood: match one.stage {
            MovingStage::Failed => "bad",
            MovingStage::Rolling | MovingStage::Open => "open",
            MovingStage::Waiting => "waits",
        },
        why: words(&one.why),
        machines: one.machines.map_or_else(|| "not known".to_owned(), |machines| machines.to_string()),
    };
    let calendar = &progress.calendar;
    let wave = |(at, wave): (usize, &WaveProgress)| {
        let windows = calendar.waves.get(at).map(|wave| wave.windows.as_slice()).unwrap_or_default();
        ShownWave {
            name: wave_name(at).to_owned(),
            percent: percent(wave),
            progress: wave_in_words(wave),
            state: words(&wave.state),
            windows: windows
                .iter()
                .map(|window| sentence(&open_in_words(window, &calendar.time_zone)))
                .collect(),
        }
    };
    let zone = &calendar.time_zone;
    let freezes = calendar.freezes.iter().filter(|freeze| freeze.until.within(zone) > now);
    ShownRelease {
        release: progress.release.clone(),
        state,
        mood,
        stopped: progress.stopped.as_ref().map(|stop| (minute(stop.at), words(&stop.why))),
        skipped: progress.skipped.iter().map(|one| (one.to_string(), cluster_url(one.as_str()))).collect(),
        picture: Html::made(time_line(progress, now)),
        waves: progress.waves.iter().enumerate().map(wave).collect(),
        freezes: freezes
            .map(|freeze| {
                let (from, until) = (freeze.from.within(zone), freeze.until.within(zone));
                format!("{} to {}: {}", minute(from), minute(until), freeze.reason)
            })
            .collect(),
        clusters: progress.clusters.iter().map(cluster).collect(),
        left_out: progress.left_out,
    }
}

fn percent(wave: &WaveProgress) -> u32 {
    wave.done_clusters().saturating_mul(100).checked_div(wave.clusters).unwrap_or(100)
}

/// `3 of 8 done, 1 rolling, 2 open`
fn wave_in_words(wave: &WaveProgress) -> String {
    if wave.clusters == 0 {
        return "no cluster is in it".to_owned();
    }
    let mut words = format!("{} of {} done", wave.done_clusters(), wave.clusters);
    for (count, stage) in [
        (wave.failed, MovingStage::Failed),
        (wave.rolling, MovingStage::Rolling),
        (wave.open, MovingStage::Open),
    ] {
        if count > 0 {
            words.push_str(&format!(", {count} {}", stage.as_str()));
        }
    }
    words
}

/// What is known of a campaign's past, and its calendar for the days that come, as a picture.
fn time_line(progress: &CampaignProgress, now: Timestamp) -> String {
    let history = history(progress, now);
    let first = history.samples.first().map_or(now, |sample| sample.at);
    let soaks = progress.waves.iter().filter_map(|wave| wave.soaks_until);
    let opens = progress.calendar.waves.iter().filter_map(|wave| next_opening(&progress.calendar, wave, now));
    let last = soaks.chain(opens).chain([after(now, COMING)]).max().unwrap_or(now);
    let last = last.min(after(now, LONGEST));
    let totals: Vec<u32> = progress.waves.iter().map(|wave| wave.clusters).collect();
    picture_until_now(&TimeLine {
        name: &progress.campaign,
        calendar: &progress.calendar,
        history: &history,
        span: (first, last),
        now,
        totals: &totals,
    })
}

/// The end of a wave's next opening, within the time that a picture may show; of a long one, a part.
fn next_opening(
    calendar: &Calendar,
    wave: &capstan_campaign::time::WaveCalendar,
    now: Timestamp,
) -> Option<Timestamp> {
    let span = (now, after(now, LONGEST));
    let next = open_times(&wave.windows, &calendar.time_zone, span, 1);
    next.first().map(|(begins, end)| *end.min(&after(*begins, COMING)))
}

fn after(moment: Timestamp, duration: SignedDuration) -> Timestamp {
    moment.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// The clusters that were done at each moment, as far as anybody says when.
fn history(progress: &CampaignProgress, now: Timestamp) -> History {
    let dated = progress.waves.iter().flat_map(|wave| &wave.done).map(|(at, _)| *at);
    let stopped = progress.stopped.as_ref().map(|stop| stop.at);
    let earliest = dated.clone().chain(stopped).chain([after(now, -PAST)]).min().unwrap_or(now);
    let first = earliest.max(after(now, -LONGEST));
    let mut times: Vec<Timestamp> = dated.chain([first, now]).filter(|at| *at >= first).collect();
    times.sort_unstable();
    times.dedup();
    let done_at = |wave: &WaveProgress, at: Timestamp| {
        let dated = wave.done.iter().filter(|(done, _)| *done <= at);
        dated.fold(wave.done_undated, |sum, (_, count)| sum.saturating_add(*count))
    };
    let sample = |at: Timestamp| Sample {
        at,
        open: 0,
        rolling: 0,
        machines: 0,
        done: progress.waves.iter().map(|wave| done_at(wave, at)).collect(),
    };
    let stop = progress.stopped.as_ref();
    History {
        events: stop
            .map(|stop| Event { at: stop.at, what: Happening::Stopped(stop.why.clone()) })
            .into_iter()
            .collect(),
        samples: times.into_iter().map(sample).collect(),
        ended: None,
        standstill: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use capstan_campaign::facts::Stop;
    use capstan_campaign::time::{Cron, Freeze, Moment, Period, WaveCalendar, Window, ZoneName};
    use capstan_model::ids::ClusterId;
    use capstan_model::tree::RepoPath;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn id(path: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(path).unwrap())
    }

    fn wave(clusters: u32, done_undated: u32, done: &[(&str, u32)]) -> WaveProgress {
        WaveProgress {
            state: "is under way; the pull request of `gauss/<b>` is not merged".to_owned(),
            soaks_until: None,
            clusters,
            failed: 0,
            rolling: 0,
            open: 0,
            done_undated,
            done: done.iter().map(|(time, count)| (at(time), *count)).collect(),
        }
    }

    fn progress() -> CampaignProgress {
        let office =
            Window { cron: Cron::parse("0 9 * * MON-FRI").unwrap(), duration: Period::parse("8h").unwrap() };
        let freeze = Freeze {
            from: Moment::parse("2026-12-01").unwrap(),
            until: Moment::parse("2026-12-02").unwrap(),
            reason: "the <audit>".to_owned(),
        };
        CampaignProgress {
            campaign: "fleet".to_owned(),
            release: "aws/v22.0.0".to_owned(),
            prefix: "/capstan".to_owned(),
            ordered_by: Vec::new(),
            stopped: None,
            skipped: BTreeSet::from([id("gauss/lab")]),
            calendar: Calendar {
                time_zone: ZoneName::parse("UTC").unwrap(),
                freezes: vec![freeze],
                waves: vec![
                    WaveCalendar { name: "canary".to_owned(), windows: Vec::new() },
                    WaveCalendar { name: "all".to_owned(), windows: vec![office] },
                ],
            },
            waves: vec![
                wave(2, 0, &[("2026-11-28T10:00:00Z", 1), ("2026-11-28T15:00:00Z", 1)]),
                WaveProgress { failed: 1, open: 2, ..wave(4, 1, &[]) },
            ],
            clusters: vec![MovingCluster {
                cluster: id("gauss/peu01"),
                wave: 1,
                machines: Some(8),
                stage: MovingStage::Open,
                why: String::new(),
            }],
            left_out: 0,
        }
    }

    #[test]
    fn the_past_is_what_was_done_at_each_moment() {
        let history = history(&progress(), at("2026-11-29T12:00:00Z"));
        let samples: Vec<(String, Vec<u32>)> =
            history.samples.into_iter().map(|sample| (sample.at.to_string(), sample.done)).collect();
        let sample = |time: &str, done: &[u32]| (time.to_owned(), done.to_vec());
        assert_eq!(
            samples,
            [
                sample("2026-11-28T10:00:00Z", &[1, 1]),
                sample("2026-11-28T15:00:00Z", &[2, 1]),
                sample("2026-11-29T12:00:00Z", &[2, 1]),
            ]
        );
    }

    #[test]
    fn windows_freezes_and_a_stop_are_on_the_time_line_and_nothing_is_unescaped() {
        let why = "the rollout of `gauss/peu02` is stuck.".to_owned();
        let stopped = Some(Stop { at: at("2026-11-29T09:00:00Z"), why, by_person: false });
        let progress = CampaignProgress { stopped, ..progress() };
        let svg = time_line(&progress, at("2026-11-29T12:00:00Z"));
        for (what, count) in [
            // Monday to Friday of the coming week, and Friday the 27th is past.
            ("class=\"window\"", 5),
            ("class=\"freeze\"", 1),
            ("<title>Frozen from 2026-12-01 00:00 to 2026-12-02 00:00: the &lt;audit&gt;</title>", 1),
            ("<title>Open from 2026-11-30 09:00 to 2026-11-30 17:00</title>", 1),
            ("class=\"stop\"", 1),
            ("class=\"now\"", 1),
            (">2 of 2 done</text>", 1),
            (">1 of 4 done</text>", 1),
            ("<style>", 0),
            ("style=", 0),
            ("<audit>", 0),
        ] {
            assert_eq!(svg.matches(what).count(), count, "{what} in {svg}");
        }
    }

    #[test]
    fn a_wave_says_how_far_its_clusters_are() {
        let progress = progress();
        assert_eq!(wave_in_words(&progress.waves[0]), "2 of 2 done");
        // All that its clusters are, not only those that are listed.
        assert_eq!(wave_in_words(&progress.waves[1]), "1 of 4 done, 1 failed, 2 open");
        assert_eq!(wave_in_words(&wave(0, 0, &[])), "no cluster is in it");
        assert_eq!((percent(&progress.waves[0]), percent(&progress.waves[1])), (100, 25));
        assert_eq!(percent(&wave(0, 0, &[])), 100);
    }

    #[test]
    fn a_release_is_shown_with_what_waits_and_what_is_frozen() {
        let shown =
            release(&progress(), "acme/gitops", "https://github.com/acme/gitops", at("2026-11-29T12:00:00Z"));
        assert_eq!((shown.state, shown.mood), ("under way", "open"));
        assert_eq!(shown.freezes, ["2026-12-01 00:00 UTC to 2026-12-02 00:00 UTC: the <audit>"]);
        assert_eq!(shown.skipped, [("gauss/lab".to_owned(), "/clusters/acme/gitops/gauss/lab".to_owned())]);
        assert_eq!(
            shown.waves[1].state.to_string(),
            "is under way; the pull request of <code>gauss/&lt;b&gt;</code> is not merged"
        );
        assert_eq!(shown.waves[1].windows, ["Monday to Friday 09:00 to 17:00 (UTC)"]);
        assert_eq!((shown.clusters[0].wave.as_str(), shown.clusters[0].state), ("all", "open"));
        let later =
            release(&progress(), "acme/gitops", "https://github.com/acme/gitops", at("2026-12-02T00:00:00Z"));
        assert_eq!(later.freezes, Vec::<String>::new());
    }
}
