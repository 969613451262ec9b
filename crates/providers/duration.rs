//! Durations as Go reads and prints them: `1h30m`, `15s`, `500ms`
//! (<https://pkg.go.dev/time#ParseDuration>).

const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Go counts nanoseconds in 63 bits.
const LONGEST_SECONDS: f64 = 9_223_372_036.0;

/// A duration in whole seconds, halves away from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) i64);

/// Reads a duration; `None` for any other text.
pub(crate) fn parse(text: &str) -> Option<Seconds> {
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Some(Seconds(0));
    }
    let mut seconds = 0.0;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let is_number = number.bytes().any(|byte| byte.is_ascii_digit()) && number.matches('.').count() <= 1;
        let unit_end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, next) = behind.split_at(unit_end);
        let (_, factor) = UNITS.iter().find(|(name, _)| is_number && *name == unit)?;
        // `1.` and `.5` are numbers to Go.
        seconds += format!("0{number}0")
            .parse::<f64>()
            .ok()
            .filter(|_| number.contains('.'))
            .or_else(|| number.parse().ok())?
            * factor;
        if seconds > LONGEST_SECONDS {
            return None;
        }
        rest = next;
        if rest.is_empty() {
            break;
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded above")]
    let whole = seconds.round() as i64;
    Some(Seconds(if negative { -whole } else { whole }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in [
            ("10m", Some(600)),
            ("1h30m", Some(5400)),
            ("1.5s", Some(2)),
            ("1400ms", Some(1)),
            ("0", Some(0)),
            ("-15s", Some(-15)),
            (".5m", Some(30)),
            ("1.m", Some(60)),
            ("10", None),
            ("m", None),
            ("", None),
            ("1 m", None),
            ("1d", None),
            ("1..5s", None),
            ("9999999h", None),
        ] {
            assert_eq!(parse(text).map(|seconds| seconds.0), seconds, "{text}");
        }
    }
}
