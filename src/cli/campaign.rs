//! `capstan campaign simulate [FILE]`

use std::convert::Infallible;
use std::fs;
use std::path::Path;

use capstan_campaign::membership::{Doubt, WaveCandidate, doubts, is_of, wave_of};
use capstan_campaign::settings::CampaignSettings;
use capstan_campaign::simulation::{Happening, History, Pace, Participant, picture, simulate, time_line};
use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_plan::settings::{REPOSITORY_FILE, read_campaigns};
use capstan_report::Refusal;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::arguments::{Campaign, CampaignCommand};
use super::context::Context;
use super::progress::{self, say};
use super::{CommandFailure, CommandOutcome, Format, output, text};
use capstan_budget::{Figures, RateLimit, RateLimits, Rehearsal};
use capstan_fleet::generator::{Fleet, PlannedWithReasons, campaign_candidate, plan_each};
use capstan_ports::{Clock as _, SystemClock};

pub(super) fn run(context: &Context<'_>, command: &Campaign) -> Result<CommandOutcome, CommandFailure> {
    let CampaignCommand::Simulate(command) = &command.command;
    let draft = command.file.as_ref().map(|file| read_draft(file)).transpose()?;
    let workspace = context.workspace()?;
    let mut fleet = context.fleet_with_releases(workspace.as_ref())?;
    let (source, campaigns) = match (draft, &command.file) {
        (Some(draft), Some(file)) => (file.display().to_string(), draft),
        _ => (REPOSITORY_FILE.to_owned(), fleet.settings().campaigns.clone()),
    };
    let settings = chosen(&source, &campaigns, command.campaign.as_deref())?;
    let clusters: Vec<ClusterId> = fleet.clusters().cloned().collect();
    context.find_old_releases(workspace.as_ref(), &mut fleet, &clusters);
    let (candidates, participants, mut outcome) = read_fleet(&fleet, &clusters, &settings);
    let begins = command.begins.unwrap_or_else(|| SystemClock.now());
    for doubt in doubts(&settings, &candidates, begins) {
        say!("warning: {}", doubtful(&settings, &doubt));
    }
    if participants.is_empty() {
        return Err(CommandFailure::Failed(
            Refusal::State,
            "no cluster in a wave is offered a release of this campaign: there is nothing to simulate (`capstan clusters` shows what is offered)".to_owned(),
        ));
    }
    let pace = Pace {
        begins,
        merge_after: command.merge_after,
        machine_takes: command.machine_takes,
        stuck_per_thousand: command.stuck_per_thousand,
        resume_after: command.resume_after,
        seed: command.seed,
    };
    let mut github = Rehearsal::new(RateLimits::PUBLISHED, command.requests_an_hour, begins, command.seed);
    let history = simulate(&settings, &participants, pace, &mut |wanted, count| github.open(wanted, count));
    let figures = github.figures();
    match command.output {
        Format::Text => output::print_text(&(time_line(&settings, &history) + &within_limits(&figures)))?,
        Format::Json => output::print_json(&to_json(&settings, &history, &figures))?,
        Format::Yaml => output::print_yaml(&to_json(&settings, &history, &figures))?,
    }
    if let Some(file) = &command.svg {
        write(file, &picture(&settings, &history))?;
    }
    if history.ended.is_none() {
        outcome = outcome.max(CommandOutcome::ErrorsStand);
    }
    Ok(outcome)
}

/// Campaigns of a file of their own.
fn read_draft(file: &Path) -> Result<Vec<CampaignSettings>, CommandFailure> {
    let named = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| CommandFailure::Usage(Refusal::Settings, format!("{named}: {error}")))?;
    read_campaigns(&text).map_err(|error| {
        // Places are in the file as it was typed, wherever it is.
        let line = |finding: Finding| {
            let place = [finding.line(), finding.column()].into_iter().flatten();
            let place: String = place.map(|number| format!(":{number}")).collect();
            format!("{named}{place}: {}", finding.message)
        };
        CommandFailure::of_settings(&named, error.findings().map(line).collect())
    })
}

/// The campaign that is meant.
fn chosen(
    file: &str,
    campaigns: &[CampaignSettings],
    named: Option<&str>,
) -> Result<CampaignSettings, CommandFailure> {
    let unreadable = |why: String| CommandFailure::Usage(Refusal::Settings, format!("{file}: {why}"));
    let names: Vec<&str> = campaigns.iter().map(|campaign| campaign.name.as_str()).collect();
    let listed = names.join(", ");
    match (named, campaigns) {
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(unreadable("it holds no `campaigns`; a draft is named as a file".to_owned())),
        (None, _) => {
            Err(unreadable(format!("it holds several campaigns ({listed}): name one with `--campaign`")))
        }
        (Some(name), _) => campaigns
            .iter()
            .find(|campaign| campaign.name == name)
            .cloned()
            .ok_or_else(|| unreadable(format!("there is no campaign `{name}` (there are: {listed})"))),
    }
}

/// What waves tell clusters apart by, and of those that are offered a release the machines that it replaces.
fn read_fleet(
    fleet: &Fleet,
    clusters: &[ClusterId],
    settings: &CampaignSettings,
) -> (Vec<WaveCandidate>, Vec<Participant>, CommandOutcome) {
    progress::count_clusters(clusters.len());
    let (mut candidates, mut participants, mut outcome) = (Vec::new(), Vec::new(), CommandOutcome::Done);
    let read = |id: &ClusterId, planned: PlannedWithReasons| {
        let read = campaign_candidate(fleet, id, std::slice::from_ref(settings)).and_then(|candidate| {
            let upgrade = planned?.upgrade;
            let is_offered =
                !upgrade.files.is_empty() && upgrade.to.as_ref().is_some_and(|to| is_of(settings, to.path()));
            let machines = upgrade.rollouts.iter().map(|rollout| rollout.machines.unwrap_or(1));
            let machines = machines.fold(0, u32::saturating_add);
            let wave = wave_of(settings, &candidate).filter(|_| is_offered);
            let participant = wave.map(|wave| Participant { cluster: id.clone(), wave, machines });
            Ok((candidate, participant))
        });
        read.map_err(|refused| (id.clone(), refused))
    };
    let Ok(()) = plan_each(fleet, clusters, None, read, |read| {
        progress::cluster_done();
        match read {
            Ok((candidate, participant)) => {
                candidates.push(candidate);
                participants.extend(participant);
            }
            Err((id, refused)) => {
                text::complain(&id, &refused);
                outcome = CommandOutcome::PartlyFailed;
            }
        }
        Ok::<(), Infallible>(())
    });
    (candidates, participants, outcome)
}

fn doubtful(settings: &CampaignSettings, doubt: &Doubt) -> String {
    let wave = doubt.wave.and_then(|at| settings.waves.get(at));
    match wave {
        Some(wave) => format!("wave `{}` of campaign `{}`: {}", wave.name, settings.name, doubt.what),
        None => format!("campaign `{}`: {}", settings.name, doubt.what),
    }
}

fn write(file: &Path, picture: &str) -> Result<(), CommandFailure> {
    fs::write(file, picture)
        .map_err(|error| CommandFailure::Failed(Refusal::State, format!("{}: {error}", file.display())))
}

/// What was asked of GitHub, for people.
fn within_limits(figures: &Figures) -> String {
    let of = |limit: RateLimit| match limit {
        RateLimit::Primary => "requests an hour",
        RateLimit::PointsAMinute => "points a minute",
        RateLimit::ContentAMinute => "requests a minute that create content",
        RateLimit::ContentAnHour => "requests an hour that create content",
        RateLimit::Concurrent => "requests at once",
        RateLimit::AskedToWait => "waits",
    };
    let most =
        figures.most.iter().map(|(limit, most, allowed)| format!("{most} of {allowed} {}", of(*limit)));
    let most: Vec<String> = most.collect();
    let used = match figures.least_used {
        Some((limit, used)) => format!(
            "in every whole hour in which pull requests waited for them, at least {}.{} % of the {} was used",
            used / 10,
            used % 10,
            of(limit)
        ),
        None => "no pull request waited for them for an hour".to_owned(),
    };
    let exceeded: Vec<&str> = figures.exceeded().into_iter().map(of).collect();
    let exceeded = match exceeded.as_slice() {
        [] => "none was exceeded".to_owned(),
        some => format!("exceeded: {}", some.join(", ")),
    };
    format!(
        "GitHub's limits: {used}; {exceeded} (at most {}); the slowest of {} commands was answered in {}.{} s.\n",
        most.join(", "),
        figures.commands,
        figures.longest_answer.as_secs(),
        figures.longest_answer.subsec_millis() / 100
    )
}

fn limits_to_json(figures: &Figures) -> Value {
    let most = figures
        .most
        .iter()
        .map(|(limit, most, allowed)| json!({"limit": limit.as_str(), "most": most, "allowed": allowed}));
    json!({
        "least_used": figures.least_used.map(|(limit, used)| json!({"limit": limit.as_str(), "thousandths": used})),
        "most": most.collect::<Vec<_>>(),
        "exceeded": figures.exceeded().into_iter().map(RateLimit::as_str).collect::<Vec<_>>(),
        "commands": figures.commands,
        "longest_answer_ms": figures.longest_answer.as_millis(),
    })
}

/// `{"campaign","ended","done","events":[{"at","wave","what"}],"most":{"open","rolling","machines"},"standstill":[…],
/// "github":{"least_used","most":[{"limit","most","allowed"}],"exceeded":[…],"commands","longest_answer_ms"}}`
fn to_json(settings: &CampaignSettings, history: &History, figures: &Figures) -> Value {
    let wave = |at: usize| settings.waves.get(at).map(|wave| wave.name.clone());
    let event = |at: Timestamp, (wave, what, why): (Option<String>, &str, Option<String>)| json!({"at": at.to_string(), "wave": wave, "what": what, "why": why});
    let events: Vec<Value> = history
        .events
        .iter()
        .map(|one| {
            event(
                one.at,
                match &one.what {
                    Happening::Entered(at) => (wave(*at), "entered", None),
                    Happening::Soaks(at, until) => (wave(*at), "soaks", Some(format!("until {until}"))),
                    Happening::Ended(at) => (wave(*at), "ended", None),
                    Happening::Shut(at, why) => (wave(*at), "shut", Some(why.clone())),
                    Happening::Stopped(why) => (None, "stopped", Some(why.clone())),
                    Happening::Skipped(cluster) => (None, "skipped", Some(cluster.to_string())),
                },
            )
        })
        .collect();
    let most = |of: fn(&capstan_campaign::simulation::Sample) -> u32| {
        history.samples.iter().map(of).max().unwrap_or_default()
    };
    let standstill: Vec<Value> =
        history.standstill.iter().map(|(at, why)| json!({"wave": wave(*at), "why": why})).collect();
    json!({
        "campaign": settings.name,
        "ended": history.ended.map(|ended| ended.to_string()),
        "done": history.samples.last().map_or(0, |last| last.done.iter().sum::<u32>()),
        "events": events,
        "most": {
            "open": most(|sample| sample.open),
            "rolling": most(|sample| sample.rolling),
            "machines": most(|sample| sample.machines),
        },
        "standstill": standstill,
        "github": limits_to_json(figures),
    })
}
