//! The time line as text.

use std::fmt::Write as _;

use capstan_model::wording::count;
use jiff::Timestamp;

use super::history::{Happening, History};
use crate::settings::CampaignSettings;

/// What happened, a line an event, times in the campaign's zone; then what it took.
pub fn time_line(settings: &CampaignSettings, history: &History) -> String {
    let mut text = String::new();
    let wave = |at: usize| settings.waves.get(at).map_or("?", |wave| wave.name.as_str());
    let clock = |at: Timestamp| {
        let zoned = at.to_zoned(settings.time_zone.zone().clone());
        zoned.strftime("%a %Y-%m-%d %H:%M").to_string()
    };
    for event in &history.events {
        let what = match &event.what {
            Happening::Entered(at) => format!("wave `{}` begins", wave(*at)),
            Happening::Soaks(at, until) => {
                format!("wave `{}` is verified, and must stay healthy until {}", wave(*at), clock(*until))
            }
            Happening::Ended(at) => format!("wave `{}` has ended", wave(*at)),
            Happening::Shut(at, why) => format!("wave `{}` {why}", wave(*at)),
            Happening::Stopped(why) => format!("the campaign is stopped: {why}"),
            Happening::Skipped(cluster) => {
                format!("`{cluster}` is skipped: the campaign continues without it")
            }
        };
        let _infallible = writeln!(text, "{}  {what}", clock(event.at));
    }
    let most =
        |of: fn(&super::history::Sample) -> u32| history.samples.iter().map(of).max().unwrap_or_default();
    let many =
        |number: u32, one: &str, many: &str| count(usize::try_from(number).unwrap_or(usize::MAX), one, many);
    let _infallible = writeln!(
        text,
        "\nAt most {} open, {} rolling, and {} rolling or about to.",
        many(most(|sample| sample.open), "pull request was", "pull requests were"),
        many(most(|sample| sample.rolling), "cluster", "clusters"),
        many(most(|sample| sample.machines), "machine", "machines")
    );
    let done: u32 = history.samples.last().map_or(0, |last| last.done.iter().sum());
    match (history.ended, history.samples.first()) {
        (Some(ended), Some(first)) => {
            let hours = ended.duration_since(first.at).as_hours();
            let _infallible = writeln!(
                text,
                "{} done {} and {} after the push.",
                many(done, "cluster was", "clusters were"),
                whole(hours / 24, "day", "days"),
                whole(hours % 24, "hour", "hours")
            );
        }
        _ => {
            let _infallible = writeln!(text, "It stopped with {} done:", many(done, "cluster", "clusters"));
            for (at, why) in &history.standstill {
                let _infallible = writeln!(text, "- wave `{}`: {why}", wave(*at));
            }
        }
    }
    text
}

fn whole(number: i64, one: &str, many: &str) -> String {
    count(usize::try_from(number).unwrap_or_default(), one, many)
}
