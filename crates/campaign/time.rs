//! Durations, windows and freezes as settings write them.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest duration that settings may name: what takes longer is a mistake in writing.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 90);

/// A duration as Kubernetes writes it: `30m`, `2h30m`, `24h`; days are hours. At most 90 days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(SignedDuration);

impl Period {
    /// Reads `2h30m`.
    ///
    /// # Errors
    /// What it should look like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a duration from 0s to 2160h (such as 30m, 2h30m or 24h)");
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"hms".contains(&byte));
        if !is_plain || !text.ends_with(['h', 'm', 's']) {
            return Err(wrong());
        }
        match text.parse::<SignedDuration>() {
            Ok(duration) if !duration.is_negative() && duration <= LONGEST => Ok(Self(duration)),
            _ => Err(wrong()),
        }
    }

    /// So many minutes.
    pub const fn minutes(minutes: i64) -> Self {
        Self(SignedDuration::from_mins(minutes))
    }

    /// So many seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(SignedDuration::from_secs(seconds))
    }

    /// As the clock's library counts it.
    pub const fn duration(self) -> SignedDuration {
        self.0
    }

    /// Whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    /// The moment that much after another; the last there is, beyond the calendar's end.
    pub fn after(self, moment: Timestamp) -> Timestamp {
        moment.checked_add(self.0).unwrap_or(Timestamp::MAX)
    }

    fn before(self, moment: Timestamp) -> Timestamp {
        moment.checked_sub(self.0).unwrap_or(Timestamp::MIN)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let parts = [(seconds / 3_600, 'h'), (seconds % 3_600 / 60, 'm'), (seconds % 60, 's')];
        let mut is_empty = true;
        for (count, unit) in parts.into_iter().filter(|(count, _)| *count > 0) {
            is_empty = false;
            write!(f, "{count}{unit}")?;
        }
        if is_empty { f.write_str("0s") } else { Ok(()) }
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Period {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A time zone by its name in the IANA database: `Europe/Berlin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneName {
    name: String,
    zone: TimeZone,
}

impl ZoneName {
    /// Finds a zone.
    ///
    /// # Errors
    /// There is no such name.
    pub fn parse(name: &str) -> Result<Self, String> {
        let wrong = || format!("`{name}` is not a time zone (such as UTC or Europe/Berlin)");
        let zone = TimeZone::get(name).map_err(|_unknown| wrong())?;
        Ok(Self { name: name.to_owned(), zone })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    pub const fn zone(&self) -> &TimeZone {
        &self.zone
    }
}

impl Default for ZoneName {
    fn default() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }
}

impl<'de> Deserialize<'de> for ZoneName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for ZoneName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

/// When pull requests may be opened: for a while from each moment of a cron expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    /// When it begins, like a CronJob (minute, hour, day of the month, month, day of the week): `0 9 * * MON-FRI`.
    #[schemars(with = "String")]
    pub cron: Cron,
    /// How long it is open: `8h`.
    #[schemars(with = "String")]
    pub duration: Period,
}

/// A cron expression of five fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron(String);

impl Cron {
    /// Checks an expression.
    ///
    /// # Errors
    /// What it should look like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            |why: &str| format!("`{text}` is not a cron expression of five fields (0 9 * * MON-FRI): {why}");
        if text.split_whitespace().count() != 5 {
            return Err(wrong("write minute, hour, day of the month, month and day of the week"));
        }
        match cronexpr::parse_crontab(&format!("{text} UTC")) {
            Ok(_) => Ok(Self(text.to_owned())),
            // The library draws the expression with a mark below the wrong field: its last line says what is wrong.
            Err(error) => {
                let said = error.to_string();
                Err(wrong(said.lines().last().unwrap_or_default().trim_start_matches(['^', ' '])))
            }
        }
    }

    /// The first moment after another at which it is due; `None` where there is none in the years to come.
    fn next(&self, zone: &ZoneName, after: Timestamp) -> Option<Timestamp> {
        let timetable = cronexpr::parse_crontab(&format!("{} {}", self.0, zone.as_str())).ok()?;
        let next = timetable.find_next(after.to_string().as_str()).ok()?;
        Some(next.timestamp())
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Cron {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A time in which nothing starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Freeze {
    /// Its beginning, in the campaign's time zone: `2026-12-20` or `2026-12-20T18:00`.
    #[schemars(with = "String")]
    pub from: Moment,
    /// Its end; that moment is no longer frozen.
    #[schemars(with = "String")]
    pub until: Moment,
    /// The reason, for everyone who waits.
    pub reason: String,
}

/// A moment of the wall's clock: `2026-12-20`, or `2026-12-20T18:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(DateTime);

impl Moment {
    /// Reads a day, or a day and a time.
    ///
    /// # Errors
    /// What it should look like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:T".contains(&byte));
        match text.parse::<DateTime>() {
            Ok(moment) if is_plain => Ok(Self(moment)),
            _ => Err(format!("`{text}` is not a day or a time of a day (2026-12-20, 2026-12-20T18:00)")),
        }
    }

    /// The same in a zone; where clocks are put forward over it, the moment after.
    pub fn within(self, zone: &ZoneName) -> Timestamp {
        zone.zone().to_timestamp(self.0).unwrap_or(Timestamp::MAX)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// When the waves of a campaign may begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calendar {
    /// The zone of windows and freezes.
    pub time_zone: ZoneName,
    /// Times in which nothing begins.
    pub freezes: Vec<Freeze>,
    /// The waves, in their order.
    pub waves: Vec<WaveCalendar>,
}

/// When a wave may begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveCalendar {
    pub name: String,
    /// Its windows; without any it may always.
    pub windows: Vec<Window>,
}

/// Whether something may be begun now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowOpening {
    /// It may, until then at least; `None` = without an end.
    Open(Option<Timestamp>),
    /// Not before then; `None` = never, as these settings stand.
    Shut {
        /// When it may.
        until: Option<Timestamp>,
        /// The freeze's reason; `None` where no window is open without a freeze.
        freeze: Option<String>,
    },
}

/// Freezes and windows examined in a row before the answer is that there is no opening.
const PATIENCE: usize = 1_000;

/// Whether something may be begun now: within one of the windows (always, where there are none) and no freeze.
pub fn opening(windows: &[Window], freezes: &[Freeze], zone: &ZoneName, now: Timestamp) -> WindowOpening {
    let frozen = |at: Timestamp| {
        freezes.iter().find(|freeze| freeze.from.within(zone) <= at && at < freeze.until.within(zone))
    };
    let why = frozen(now).map(|freeze| freeze.reason.clone());
    let mut at = now;
    for _ in 0..PATIENCE {
        if let Some(freeze) = frozen(at) {
            at = freeze.until.within(zone);
            continue;
        }
        match window(windows, zone, at) {
            WindowOpening::Open(until) if at == now => {
                let frozen_at =
                    freezes.iter().map(|freeze| freeze.from.within(zone)).filter(|from| *from > now);
                return WindowOpening::Open(frozen_at.chain(until).min());
            }
            WindowOpening::Open(_) => return WindowOpening::Shut { until: Some(at), freeze: why },
            WindowOpening::Shut { until: Some(next), .. } => at = next,
            WindowOpening::Shut { until: None, .. } => break,
        }
    }
    WindowOpening::Shut { until: None, freeze: why }
}

/// Openings of windows examined for the times within a span.
const OPENINGS: usize = 5_000;

/// When windows are open within a span, the first `most` times; windows that meet count as one.
pub fn open_times(
    windows: &[Window],
    zone: &ZoneName,
    (from, until): (Timestamp, Timestamp),
    most: usize,
) -> Vec<(Timestamp, Timestamp)> {
    let after = |window: &Window, at| window.cron.next(zone, at).filter(|begins| *begins < until);
    let mut next: Vec<Option<Timestamp>> =
        windows.iter().map(|window| after(window, window.duration.before(from))).collect();
    let mut times: Vec<(Timestamp, Timestamp)> = Vec::new();
    for _ in 0..OPENINGS {
        let openings = windows.iter().zip(&mut next).filter_map(|(window, at)| Some(((*at)?, window, at)));
        let Some((begins, window, at)) = openings.min_by_key(|(begins, ..)| *begins) else { break };
        *at = after(window, begins);
        let ends = window.duration.after(begins).min(until);
        let full = times.len() == most;
        match times.last_mut() {
            _ if ends <= from => {}
            Some((_, end)) if begins <= *end => *end = ends.max(*end),
            _ if full => break,
            _ => times.push((begins.max(from), ends)),
        }
    }
    times
}

fn window(windows: &[Window], zone: &ZoneName, now: Timestamp) -> WindowOpening {
    if windows.is_empty() {
        return WindowOpening::Open(None);
    }
    let ends = windows.iter().filter_map(|window| {
        // The last beginning whose window can still be open is the first one after that.
        let begins = window.cron.next(zone, window.duration.before(now))?;
        (begins <= now).then(|| window.duration.after(begins))
    });
    if let Some(end) = ends.max() {
        return WindowOpening::Open(Some(end));
    }
    WindowOpening::Shut {
        until: windows.iter().filter_map(|window| window.cron.next(zone, now)).min(),
        freeze: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn berlin() -> ZoneName {
        ZoneName::parse("Europe/Berlin").unwrap()
    }

    fn office() -> Window {
        Window { cron: Cron::parse("0 9 * * MON-FRI").unwrap(), duration: Period::parse("8h").unwrap() }
    }

    #[test]
    fn windows_are_open_from_day_to_day_and_join_where_they_meet() {
        let times = |windows: &[Window], from: &str, until: &str, most: usize| -> Vec<String> {
            let times = open_times(windows, &berlin(), (at(from), at(until)), most);
            times.into_iter().map(|(from, until)| format!("{from} {until}")).collect()
        };
        // From Friday 12:00 in Berlin to Tuesday 10:00: cut off at both ends, and nothing at the weekend.
        assert_eq!(
            times(&[office()], "2026-11-27T11:00:00Z", "2026-12-01T09:00:00Z", 10),
            [
                "2026-11-27T11:00:00Z 2026-11-27T16:00:00Z",
                "2026-11-30T08:00:00Z 2026-11-30T16:00:00Z",
                "2026-12-01T08:00:00Z 2026-12-01T09:00:00Z",
            ]
        );
        assert_eq!(
            times(&[office()], "2026-11-28T00:00:00Z", "2026-12-31T00:00:00Z", 1),
            ["2026-11-30T08:00:00Z 2026-11-30T16:00:00Z"]
        );
        let evening =
            Window { cron: Cron::parse("0 17 * * MON").unwrap(), duration: Period::parse("2h").unwrap() };
        assert_eq!(
            times(&[office(), evening], "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", 10),
            ["2026-11-30T08:00:00Z 2026-11-30T18:00:00Z"]
        );
        assert_eq!(times(&[], "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", 10), Vec::<String>::new());
        // Ten openings a day are one time: so many times are so many days.
        let hourly = Window {
            cron: Cron::parse("0 8-17 * * MON-FRI").unwrap(),
            duration: Period::parse("1h").unwrap(),
        };
        let days = times(&[hourly], "2026-11-30T00:00:00Z", "2027-03-30T00:00:00Z", 20);
        assert_eq!((days.len(), days[0].as_str()), (20, "2026-11-30T07:00:00Z 2026-11-30T17:00:00Z"));
        assert_eq!(days[19], "2026-12-25T07:00:00Z 2026-12-25T17:00:00Z");
    }

    fn freeze(from: &str, until: &str) -> Freeze {
        let reason = "end of the year".to_owned();
        Freeze { from: Moment::parse(from).unwrap(), until: Moment::parse(until).unwrap(), reason }
    }

    #[test]
    fn durations_are_read_and_written_as_kubernetes_does() {
        for (text, seconds) in
            [("0s", 0), ("30m", 1_800), ("2h30m", 9_000), ("24h", 86_400), ("1h0m5s", 3_605)]
        {
            assert_eq!(Period::parse(text).unwrap().duration().as_secs(), seconds, "{text}");
        }
        assert_eq!(Period::parse("90m").unwrap().to_string(), "1h30m");
        assert_eq!(Period::default().to_string(), "0s");
        for wrong in ["", "24", "1d", "-1h", "2161h", "1h 30m", "1.5h", "PT1H", "h"] {
            assert!(Period::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_window_follows_the_zones_clock_through_the_change_of_time() {
        // 2026-10-23 is a Friday in summer time (UTC+2), 2026-10-26 a Monday in winter time (UTC+1).
        let open = |now: &str| opening(&[office()], &[], &berlin(), at(now));
        assert_eq!(open("2026-10-23T07:00:00Z"), WindowOpening::Open(Some(at("2026-10-23T15:00:00Z"))));
        assert_eq!(open("2026-10-23T14:59:59Z"), WindowOpening::Open(Some(at("2026-10-23T15:00:00Z"))));
        let monday = WindowOpening::Shut { until: Some(at("2026-10-26T08:00:00Z")), freeze: None };
        assert_eq!(open("2026-10-23T15:00:00Z"), monday);
        assert_eq!(open("2026-10-25T12:00:00Z"), monday);
        assert_eq!(open("2026-10-26T07:59:59Z"), monday);
        assert_eq!(open("2026-10-26T08:00:00Z"), WindowOpening::Open(Some(at("2026-10-26T16:00:00Z"))));
    }

    #[test]
    fn a_freeze_shuts_windows_and_says_why_and_until_when() {
        let freezes = [freeze("2026-12-21", "2027-01-04")];
        let open = |now: &str| opening(&[office()], &freezes, &berlin(), at(now));
        // Friday: open as usual. Saturday: the next window is in the freeze, so it is the one after.
        assert_eq!(open("2026-12-18T10:00:00Z"), WindowOpening::Open(Some(at("2026-12-18T16:00:00Z"))));
        let january = Some(at("2027-01-04T08:00:00Z"));
        assert_eq!(open("2026-12-19T10:00:00Z"), WindowOpening::Shut { until: january, freeze: None });
        let freeze = Some("end of the year".to_owned());
        assert_eq!(open("2026-12-22T10:00:00Z"), WindowOpening::Shut { until: january, freeze });
        assert_eq!(
            opening(&[], &freezes, &berlin(), at("2026-12-20T10:00:00Z")),
            WindowOpening::Open(Some(at("2026-12-20T23:00:00Z"))),
            "until the freeze begins, midnight in Berlin"
        );
    }

    #[test]
    fn what_never_comes_is_said() {
        let leap = Window { cron: Cron::parse("0 0 30 2 *").unwrap(), duration: Period::minutes(60) };
        let never = WindowOpening::Shut { until: None, freeze: None };
        assert_eq!(opening(&[leap], &[], &berlin(), at("2026-10-23T07:00:00Z")), never);
        for wrong in ["", "* * * *", "61 * * * *", "0 9 * * MON-XXX", "0 9 * * MON UTC"] {
            assert!(Cron::parse(wrong).is_err(), "{wrong}");
        }
        assert!(ZoneName::parse("Europe/Atlantis").is_err());
        for wrong in ["2026-13-01", "tomorrow", "2026-12-20T18:00Z", "2026-12-20T25:00"] {
            assert!(Moment::parse(wrong).is_err(), "{wrong}");
        }
    }
}
