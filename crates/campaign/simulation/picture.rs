//! The time line as a picture: per wave how many clusters are done, and below it what was open and rolling.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::{Happening, History, Sample};
use crate::settings::CampaignSettings;

/// Width and height of the picture's plots, and where they begin, in pixels.
const WIDTH: f64 = 880.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 34.0;
const GAP: f64 = 10.0;
const TOP: f64 = 50.0;
/// So many dates have room.
const DATES: i64 = 16;

/// A picture of what happened, as SVG: no script, no font of its own, readable in light and dark.
pub fn picture(settings: &CampaignSettings, history: &History) -> String {
    let mut svg = String::new();
    let (Some(first), Some(last)) = (history.samples.first(), history.samples.last()) else { return svg };
    let span = seconds(last.at) - seconds(first.at);
    let x = |at: Timestamp| {
        if span > 0.0 { LEFT + (seconds(at) - seconds(first.at)) / span * WIDTH } else { LEFT }
    };
    let rows = settings.waves.len() + 2;
    let height = TOP + (ROW + GAP) * f64::from(u32::try_from(rows).unwrap_or(u32::MAX)) + 30.0;
    let _infallible = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {height:.0}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n<style>svg{{color-scheme:light dark;background:Canvas;fill:CanvasText}}.done{{fill:#2a8a4a}}.open{{fill:#3b73c4}}.rolling{{fill:#b9770e}}.frame,.day{{fill:none;stroke:GrayText}}.day{{stroke-dasharray:2 4}}.stop{{fill:none;stroke:#c62828;stroke-width:2}}</style>\n<title>{}</title>\n<text x=\"{LEFT:.0}\" y=\"20\" font-size=\"15\">{}</text>\n",
        LEFT + WIDTH + 70.0,
        escaped(&settings.name),
        escaped(&format!(
            "Campaign {}: {} to {}",
            settings.name,
            day(settings, first.at),
            day(settings, last.at)
        ))
    );
    let mut y = TOP;
    for (at, wave) in settings.waves.iter().enumerate() {
        let of = |sample: &Sample| sample.done.get(at).copied().unwrap_or_default();
        row(&mut svg, history, (y, &x), (&format!("{} done", wave.name), "done", &of));
        y += ROW + GAP;
    }
    row(&mut svg, history, (y, &x), ("open", "open", &|sample| sample.open));
    y += ROW + GAP;
    row(&mut svg, history, (y, &x), ("rolling", "rolling", &|sample| sample.rolling));
    y += ROW;
    days(&mut svg, settings, (first.at, last.at), (y, &x));
    stops(&mut svg, history, (y, &x));
    svg.push_str("</svg>\n");
    svg
}

/// A line at the beginning of each day, and its date below; of so many days only that all dates have room.
fn days(
    svg: &mut String,
    settings: &CampaignSettings,
    (first, last): (Timestamp, Timestamp),
    (bottom, x): (f64, &dyn Fn(Timestamp) -> f64),
) {
    let zone = settings.time_zone.zone();
    let midnight = |at: Timestamp| at.to_zoned(zone.clone()).start_of_day().ok();
    let apart = last.duration_since(first).as_hours() / 24 / DATES + 1;
    let mut day = midnight(first);
    while let Some(at) = day.filter(|day| day.timestamp() <= last) {
        if at.timestamp() >= first {
            let at_x = x(at.timestamp());
            let _infallible = writeln!(
                svg,
                "<path class=\"day\" d=\"M{at_x:.1} {TOP:.1}V{bottom:.1}\"/><text x=\"{at_x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                at.strftime("%b %-d")
            );
        }
        day = at.checked_add(Span::new().days(apart)).ok();
    }
}

/// A line where the campaign was stopped, and why, for whoever points at it.
fn stops(svg: &mut String, history: &History, (bottom, x): (f64, &dyn Fn(Timestamp) -> f64)) {
    for event in &history.events {
        if let Happening::Stopped(why) = &event.what {
            let _infallible = writeln!(
                svg,
                "<path class=\"stop\" d=\"M{:.1} {TOP:.1}V{bottom:.1}\"><title>{}</title></path>",
                x(event.at),
                escaped(&format!("The campaign is stopped: {why}"))
            );
        }
    }
}

/// What a plot is called, its colour's class, and its value.
type Plotted<'a> = (&'a str, &'a str, &'a dyn Fn(&Sample) -> u32);

/// One plot: a step for each change, scaled to its highest value, which is written at its end.
fn row(
    svg: &mut String,
    history: &History,
    (y, x): (f64, &dyn Fn(Timestamp) -> f64),
    (name, class, of): Plotted<'_>,
) {
    let most = history.samples.iter().map(of).max().unwrap_or_default();
    let scale = if most > 0 { ROW / f64::from(most) } else { 0.0 };
    let bottom = y + ROW;
    let mut path = format!("M{LEFT:.1} {bottom:.1}");
    let mut before = 0;
    for sample in &history.samples {
        let value = of(sample);
        if value != before {
            let (at, from, to) =
                (x(sample.at), bottom - f64::from(before) * scale, bottom - f64::from(value) * scale);
            let _infallible = write!(path, "L{at:.1} {from:.1}L{at:.1} {to:.1}");
            before = value;
        }
    }
    let (end, last) = (LEFT + WIDTH, bottom - f64::from(before) * scale);
    let _infallible = write!(path, "L{end:.1} {last:.1}L{end:.1} {bottom:.1}Z");
    let _infallible = writeln!(
        svg,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text><path class=\"{class}\" d=\"{path}\"/><rect class=\"frame\" x=\"{LEFT:.0}\" y=\"{y:.0}\" width=\"{WIDTH:.0}\" height=\"{ROW:.0}\"/><text x=\"{:.0}\" y=\"{:.0}\">{most}</text>",
        LEFT - 8.0,
        y + 21.0,
        escaped(name),
        end + 8.0,
        y + 12.0
    );
}

#[expect(clippy::cast_precision_loss, reason = "seconds of some years are far below 2^52")]
fn seconds(at: Timestamp) -> f64 {
    at.as_second() as f64
}

fn day(settings: &CampaignSettings, at: Timestamp) -> String {
    let zone: &TimeZone = settings.time_zone.zone();
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
