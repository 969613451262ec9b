//! Moments and windows as people read them.

use jiff::Timestamp;

use crate::time::{Window, ZoneName};

/// A moment: `2026-11-21 13:05 UTC`.
pub fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// When a window is open: `every day 17:00 to 03:00 (UTC)`. An expression for which there are no such words stays as it
/// is: `0 17 1 * * for 10h (UTC)`.
pub fn open_in_words(window: &Window, zone: &ZoneName) -> String {
    let words = in_words(window).unwrap_or_else(|| format!("{} for {}", window.cron, window.duration));
    format!("{words} ({})", zone.as_str())
}

fn in_words(window: &Window) -> Option<String> {
    const DAY: i64 = 24 * 60;
    let cron = window.cron.to_string();
    let fields: Vec<&str> = cron.split_whitespace().collect();
    let [minute, hour, "*", "*", days] = fields[..] else { return None };
    let (minute, hour): (i64, i64) = (minute.parse().ok()?, hour.parse().ok()?);
    let begins = hour * 60 + minute;
    let clock = |minutes: i64| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let (days, begin) = (days_in_words(days)?, clock(begins));
    let seconds = window.duration.duration().as_secs();
    Some(match seconds / 60 {
        minutes if seconds % 60 == 0 && minutes < DAY => {
            format!("{days} {begin} to {}", clock((begins + minutes) % DAY))
        }
        _ => format!("{days} from {begin}, for {}", window.duration),
    })
}

/// `every day`, `Monday to Friday`, `every Monday and Thursday`
fn days_in_words(field: &str) -> Option<String> {
    if field == "*" {
        return Some("every day".to_owned());
    }
    if let Some((first, last)) = field.split_once('-') {
        return Some(format!("{} to {}", day(first)?, day(last)?));
    }
    let days: Vec<&str> = field.split(',').map(day).collect::<Option<_>>()?;
    let (last, others) = days.split_last()?;
    Some(if others.is_empty() {
        format!("every {last}")
    } else {
        format!("every {} and {last}", others.join(", "))
    })
}

fn day(text: &str) -> Option<&'static str> {
    Some(match text.to_ascii_uppercase().as_str() {
        "0" | "7" | "SUN" => "Sunday",
        "1" | "MON" => "Monday",
        "2" | "TUE" => "Tuesday",
        "3" | "WED" => "Wednesday",
        "4" | "THU" => "Thursday",
        "5" | "FRI" => "Friday",
        "6" | "SAT" => "Saturday",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Cron, Period};

    #[test]
    fn windows_read_as_people_write_them() {
        for (cron, duration, words) in [
            ("0 17 * * *", "10h", "every day 17:00 to 03:00 (Europe/Berlin)"),
            ("30 9 * * MON-FRI", "7h30m", "Monday to Friday 09:30 to 17:00 (Europe/Berlin)"),
            ("0 0 * * 1-5", "1h", "Monday to Friday 00:00 to 01:00 (Europe/Berlin)"),
            ("5 22 * * 7", "30m", "every Sunday 22:05 to 22:35 (Europe/Berlin)"),
            (
                "0 8 * * mon,tue,THU",
                "4h",
                "every Monday, Tuesday and Thursday 08:00 to 12:00 (Europe/Berlin)",
            ),
            ("0 0 * * SAT", "48h", "every Saturday from 00:00, for 48h (Europe/Berlin)"),
            ("0 6 * * *", "24h", "every day from 06:00, for 24h (Europe/Berlin)"),
            ("0 6 * * *", "90s", "every day from 06:00, for 1m30s (Europe/Berlin)"),
            ("0 17 1 * *", "10h", "0 17 1 * * for 10h (Europe/Berlin)"),
            ("*/5 17 * * *", "1m", "*/5 17 * * * for 1m (Europe/Berlin)"),
            ("0 17 * * 1-3,5", "1h", "0 17 * * 1-3,5 for 1h (Europe/Berlin)"),
        ] {
            let window =
                Window { cron: Cron::parse(cron).unwrap(), duration: Period::parse(duration).unwrap() };
            let zone = ZoneName::parse("Europe/Berlin").unwrap();
            assert_eq!(open_in_words(&window, &zone), words);
        }
    }

    #[test]
    fn a_moment_has_no_seconds() {
        assert_eq!(minute("2026-11-30T18:55:06.699194487Z".parse().unwrap()), "2026-11-30 18:55 UTC");
    }
}
