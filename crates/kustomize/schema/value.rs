//! Texts that stand for values: quantities, durations, versions.
//!
//! Read exactly, without floating point, as Kubernetes' own libraries read them:
//! <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>,
//! <https://pkg.go.dev/time#ParseDuration>.

/// The type of a field's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A Kubernetes quantity: `1Gi` is `1024Mi`, `1` is `"1"` and `1000m`.
    Quantity,
    /// A Go duration: `300s` is `5m0s`.
    Duration,
    /// A Kubernetes version: `1.30.2` is `v1.30.2`.
    Version,
}

impl ValueKind {
    /// `quantity`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quantity => "quantity",
            Self::Duration => "duration",
            Self::Version => "version",
        }
    }

    /// Whether two texts are the same value; `None` where one of them is not such a value.
    pub fn same(self, one: &str, other: &str) -> Option<bool> {
        match self {
            Self::Quantity => Some(Quantity::read(one)? == Quantity::read(other)?),
            Self::Duration => Some(nanoseconds(one)? == nanoseconds(other)?),
            Self::Version => Some(bare_version(one)? == bare_version(other)?),
        }
    }

    /// Whether a text is such a value.
    pub fn reads(self, text: &str) -> bool {
        self.same(text, text).is_some()
    }
}

/// A number as `digits * 2^twos * 5^fives`, digits divisible by neither: one form for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quantity {
    negative: bool,
    digits: u128,
    twos: i32,
    fives: i32,
}

impl Quantity {
    fn read(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let mut digits: u128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            digits = digits.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
        }
        let scale = i32::try_from(fraction.len()).ok()?;
        let (tens, twos) = read_suffix(suffix)?;
        Some(Self { negative, digits, twos: tens - scale + twos, fives: tens - scale }.reduced())
    }

    fn reduced(mut self) -> Self {
        if self.digits == 0 {
            return Self { negative: false, digits: 0, twos: 0, fives: 0 };
        }
        while self.digits.is_multiple_of(2) {
            (self.digits, self.twos) = (self.digits / 2, self.twos + 1);
        }
        while self.digits.is_multiple_of(5) {
            (self.digits, self.fives) = (self.digits / 5, self.fives + 1);
        }
        self
    }
}

/// A quantity's suffix as powers of ten and of two.
fn read_suffix(suffix: &str) -> Option<(i32, i32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        exponent => {
            let number: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            (number.abs() <= 1_000).then_some((number, 0))?
        }
    })
}

/// A Go duration in nanoseconds. A fraction of a nanosecond is cut off, as Go does.
pub fn nanoseconds(text: &str) -> Option<i128> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        // More than 18 digits behind the point are less than a nanosecond of every unit.
        let digits = &fraction[..fraction.len().min(18)];
        if !digits.is_empty() {
            let scale = 10_i128.pow(u32::try_from(digits.len()).ok()?);
            total = total.checked_add(digits.parse::<i128>().ok()? * unit / scale)?;
        }
        rest = after;
    }
    // Go's durations are 64 bits of nanoseconds.
    i64::try_from(sign * total).is_ok().then_some(sign * total)
}

/// A full version without its `v`: `1.30.2`, `1.30.2+rke2r1`.
fn bare_version(text: &str) -> Option<&str> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    let numbers = bare.split(['-', '+']).next()?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (numbers.split('.').count() == 3 && numbers.split('.').all(is_number)).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::ValueKind::{Duration, Quantity, Version};

    #[test]
    fn texts_of_one_value_are_the_same() {
        let cases = [
            (Quantity, "1Gi", "1024Mi", Some(true)),
            (Quantity, "1G", "1Gi", Some(false)),
            (Quantity, "1", "1000m", Some(true)),
            (Quantity, "0.5", "500m", Some(true)),
            (Quantity, ".5", "0.50", Some(true)),
            (Quantity, "1e3", "1k", Some(true)),
            (Quantity, "1E3", "1k", Some(true)),
            (Quantity, "1E", "1000P", Some(true)),
            (Quantity, "-0", "0Gi", Some(true)),
            (Quantity, "-1", "1", Some(false)),
            (Quantity, "9007199254740993", "9007199254740992", Some(false)),
            (Quantity, "1.1Gi", "1.1Gi", Some(true)),
            (Quantity, "1024", "1Ki", Some(true)),
            (Quantity, "1gi", "1Gi", None),
            (Quantity, "", "0", None),
            (Quantity, ".", "0", None),
            (Quantity, "1.2.3", "1", None),
            (Quantity, "99999999999999999999999999999999999999999", "1", None),
            (Duration, "300s", "5m0s", Some(true)),
            (Duration, "5m", "5m1s", Some(false)),
            (Duration, "1.5h", "90m", Some(true)),
            (Duration, "0", "0s", Some(true)),
            (Duration, "1h", "3600", None),
            (Duration, "-1m", "-60s", Some(true)),
            (Duration, "100ms", "0.1s", Some(true)),
            (Duration, "1d", "24h", None),
            (Duration, "9999999999999999999h", "1h", None),
            (Version, "v1.30.2", "1.30.2", Some(true)),
            (Version, "v1.30.2", "v1.30.3", Some(false)),
            (Version, "v1.30.2+rke2r1", "1.30.2+rke2r1", Some(true)),
            (Version, "v1.30.2+rke2r1", "v1.30.2", Some(false)),
            (Version, "1.30", "1.30", None),
            (Version, "v1.30.x", "v1.30.x", None),
        ];
        for (kind, one, other, expected) in cases {
            assert_eq!(kind.same(one, other), expected, "{kind:?} {one} {other}");
        }
    }
}
