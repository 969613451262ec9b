//! The time line as a picture: per wave how many clusters are done, when its windows are open, and what is frozen.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::history::{Happening, History, Sample};
use crate::settings::CampaignSettings;
use crate::time::{Calendar, open_times};

/// Width and height of the picture's plots, and where they begin, in pixels.
const WIDTH: f64 = 880.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 34.0;
const GAP: f64 = 10.0;
const TOP: f64 = 50.0;
/// So many dates have room.
const DATES: i64 = 16;
/// A wave whose clusters are done in the last moment has a mark of this width.
const MARK: f64 = 3.0;
/// So many windows of a wave are drawn.
const WINDOWS: usize = 200;

/// Colours for light and dark, where no page has them.
const STYLE: &str = "<style>svg{color-scheme:light dark;background:Canvas;fill:CanvasText}.done{fill:#2a8a4a}.open{fill:#3b73c4}.rolling{fill:#b9770e}.window{fill:#3b73c4;opacity:.18}.freeze{fill:#c62828;opacity:.15}.frame,.day{fill:none;stroke:GrayText}.day{stroke-dasharray:2 4}.stop{fill:none;stroke:#c62828;stroke-width:2}</style>";

/// A picture of what happened, as SVG: no script, no font of its own, readable in light and dark.
pub fn picture(settings: &CampaignSettings, history: &History) -> String {
    let (Some(first), Some(last)) = (history.samples.first(), history.samples.last()) else {
        return String::new();
    };
    let calendar = settings.calendar();
    let drawing = Drawing {
        calendar: &calendar,
        history,
        first: first.at,
        last: last.at,
        until: last.at,
        totals: None,
    };
    let (from, to) = (drawing.minute(first.at), drawing.minute(last.at));
    let heading = escaped(&format!("Campaign {}: {from} to {to}", settings.name));
    let heading = format!("<text x=\"{LEFT:.0}\" y=\"20\" font-size=\"15\">{heading}</text>");
    drawing.svg("xmlns=\"http://www.w3.org/2000/svg\"", STYLE, &settings.name, &heading)
}

/// A running campaign.
#[derive(Debug, Clone, Copy)]
pub struct TimeLine<'a> {
    pub name: &'a str,
    /// Its windows and freezes.
    pub calendar: &'a Calendar,
    /// What happened.
    pub history: &'a History,
    /// What the picture shows.
    pub span: (Timestamp, Timestamp),
    /// Where what happened ends.
    pub now: Timestamp,
    /// The clusters of each wave.
    pub totals: &'a [u32],
}

/// A picture of a running campaign: what happened up to now, and what its calendar says beyond. The page
/// around it has the colours of its classes.
pub fn picture_until_now(line: &TimeLine<'_>) -> String {
    let drawing = Drawing {
        calendar: line.calendar,
        history: line.history,
        first: line.span.0,
        last: line.span.1,
        until: line.now,
        totals: Some(line.totals),
    };
    drawing.svg("class=\"time-line\"", "", &format!("Time line of campaign {}", line.name), "")
}

struct Drawing<'a> {
    calendar: &'a Calendar,
    history: &'a History,
    first: Timestamp,
    last: Timestamp,
    /// Where the plots end.
    until: Timestamp,
    /// The clusters of each wave, which its plot is scaled to; without them what was open and rolling is drawn too.
    totals: Option<&'a [u32]>,
}

/// What a plot is called, its colour's class, its value, and the highest that there may be, where that is known.
type Plotted<'a> = (&'a str, &'a str, &'a dyn Fn(&Sample) -> u32, Option<u32>);

impl Drawing<'_> {
    fn svg(&self, attributes: &str, style: &str, title: &str, heading: &str) -> String {
        let rows = self.calendar.waves.len() + if self.totals.is_none() { 2 } else { 0 };
        let height = TOP + (ROW + GAP) * f64::from(u32::try_from(rows).unwrap_or(u32::MAX)) + 30.0;
        let mut svg = format!(
            "<svg {attributes} viewBox=\"0 0 {:.0} {height:.0}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n{style}\n<title>{}</title>\n{heading}\n",
            LEFT + WIDTH + 110.0,
            escaped(title)
        );
        let mut y = TOP;
        for (at, wave) in self.calendar.waves.iter().enumerate() {
            self.windows(&mut svg, at, y);
            let of = |sample: &Sample| sample.done.get(at).copied().unwrap_or_default();
            let total = self.totals.map(|totals| totals.get(at).copied().unwrap_or_default());
            self.row(&mut svg, y, (&wave.name, "done", &of, total));
            y += ROW + GAP;
        }
        if self.totals.is_none() {
            self.row(&mut svg, y, ("open", "open", &|sample| sample.open, None));
            y += ROW + GAP;
            self.row(&mut svg, y, ("rolling", "rolling", &|sample| sample.rolling, None));
            y += ROW + GAP;
        }
        let bottom = y - GAP;
        self.freezes(&mut svg, bottom);
        self.days(&mut svg, bottom);
        self.stops(&mut svg, bottom);
        if self.until < self.last {
            let x = self.x(self.until);
            let _infallible = writeln!(
                svg,
                "<path class=\"now\" d=\"M{x:.1} {TOP:.1}V{bottom:.1}\"/><text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">now</text>",
                TOP - 8.0
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The place of a moment; a moment outside of the picture is at its edge.
    fn x(&self, at: Timestamp) -> f64 {
        let span = seconds(self.last) - seconds(self.first);
        if span <= 0.0 {
            return LEFT;
        }
        LEFT + ((seconds(at) - seconds(self.first)) / span).clamp(0.0, 1.0) * WIDTH
    }

    /// When a wave's windows are open.
    fn windows(&self, svg: &mut String, wave: usize, y: f64) {
        let Some(wave) = self.calendar.waves.get(wave) else { return };
        let zone = &self.calendar.time_zone;
        for (from, to) in open_times(&wave.windows, zone, (self.first, self.last), WINDOWS) {
            let (x, end) = (self.x(from), self.x(to));
            let words = format!("Open from {} to {}", self.minute(from), self.minute(to));
            let _infallible = writeln!(
                svg,
                "<rect class=\"window\" x=\"{x:.1}\" y=\"{y:.0}\" width=\"{:.1}\" height=\"{ROW:.0}\"><title>{words}</title></rect>",
                end - x
            );
        }
    }

    /// What is frozen, over all waves.
    fn freezes(&self, svg: &mut String, bottom: f64) {
        let zone = &self.calendar.time_zone;
        for freeze in &self.calendar.freezes {
            let (from, to) = (freeze.from.within(zone), freeze.until.within(zone));
            if to <= self.first || from >= self.last {
                continue;
            }
            let (x, end) = (self.x(from), self.x(to));
            let words =
                format!("Frozen from {} to {}: {}", self.minute(from), self.minute(to), freeze.reason);
            let _infallible = writeln!(
                svg,
                "<rect class=\"freeze\" x=\"{x:.1}\" y=\"{TOP:.0}\" width=\"{:.1}\" height=\"{:.0}\"><title>{}</title></rect>",
                end - x,
                bottom - TOP,
                escaped(&words)
            );
        }
    }

    /// A line at the beginning of each day, and its date below; of so many days only that all dates have room.
    fn days(&self, svg: &mut String, bottom: f64) {
        let zone = self.calendar.time_zone.zone();
        let midnight = |at: Timestamp| at.to_zoned(zone.clone()).start_of_day().ok();
        let apart = self.last.duration_since(self.first).as_hours() / 24 / DATES + 1;
        let mut day = midnight(self.first);
        while let Some(at) = day.filter(|day| day.timestamp() <= self.last) {
            if at.timestamp() >= self.first {
                let at_x = self.x(at.timestamp());
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

    /// A line where the campaign was stopped, and why, as the line's title.
    fn stops(&self, svg: &mut String, bottom: f64) {
        for event in &self.history.events {
            if let Happening::Stopped(why) = &event.what {
                let _infallible = writeln!(
                    svg,
                    "<path class=\"stop\" d=\"M{:.1} {TOP:.1}V{bottom:.1}\"><title>{}</title></path>",
                    self.x(event.at),
                    escaped(&format!("The campaign is stopped: {why}"))
                );
            }
        }
    }

    /// One plot: a step for each change, scaled to its highest value, which is written at its end.
    fn row(&self, svg: &mut String, y: f64, (name, class, of, total): Plotted<'_>) {
        let most = self.history.samples.iter().map(of).max().unwrap_or_default();
        let highest = total.unwrap_or(most);
        let scale = if highest > 0 { ROW / f64::from(highest) } else { 0.0 };
        let bottom = y + ROW;
        let mut path = format!("M{LEFT:.1} {bottom:.1}");
        let end = self.x(self.until);
        let mut before = 0;
        for sample in &self.history.samples {
            let value = of(sample);
            if value != before {
                let (at, from, to) = (
                    self.x(sample.at).min(end - MARK).max(LEFT),
                    bottom - f64::from(before) * scale,
                    bottom - f64::from(value) * scale,
                );
                let _infallible = write!(path, "L{at:.1} {from:.1}L{at:.1} {to:.1}");
                before = value;
            }
        }
        let last = bottom - f64::from(before) * scale;
        let _infallible = write!(path, "L{end:.1} {last:.1}L{end:.1} {bottom:.1}Z");
        let done = if class == "done" { " done" } else { "" };
        let label =
            total.map_or_else(|| format!("{most}{done}"), |total| format!("{before} of {total}{done}"));
        let _infallible = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text><path class=\"{class}\" d=\"{path}\"/><rect class=\"frame\" x=\"{LEFT:.0}\" y=\"{y:.0}\" width=\"{WIDTH:.0}\" height=\"{ROW:.0}\"/><text x=\"{:.0}\" y=\"{:.0}\">{label}</text>",
            LEFT - 8.0,
            y + 21.0,
            escaped(name),
            LEFT + WIDTH + 8.0,
            y + 12.0
        );
    }

    fn minute(&self, at: Timestamp) -> String {
        let zone: &TimeZone = self.calendar.time_zone.zone();
        at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of some years are far below 2^52")]
fn seconds(at: Timestamp) -> f64 {
    at.as_second() as f64
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
