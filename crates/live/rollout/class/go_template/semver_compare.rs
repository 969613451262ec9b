//! sprig's `semverCompare`, as classes ask it of the version: one comparison with one version.
//!
//! As Masterminds/semver v3 (`constraints.go`) has it. Lists and ranges of constraints, wildcards, and versions with a
//! pre-release are not computed: their rules are many.

use super::uncomputed::Uncomputed;

/// Major, minor, patch, and how many of them are written out.
struct SemverVersion<'t> {
    numbers: [u64; 3],
    written: usize,
    /// After `-`.
    pre_release: Option<&'t str>,
}

/// Whether a version meets a constraint such as `>= v1.24.0`.
pub(super) fn semver_compare(constraint: &str, version: &str) -> Result<bool, Uncomputed> {
    let constraint = constraint.trim();
    let at = constraint.find(|letter: char| letter.is_ascii_digit() || letter == 'v').ok_or(Uncomputed)?;
    let (operator, wanted) = (constraint[..at].trim(), SemverVersion::parse(&constraint[at..])?);
    let version = SemverVersion::parse(version)?;
    if version.pre_release.is_some() || version.written < 3 {
        return Err(Uncomputed);
    }
    // A pre-release comes before its release.
    let below = version.numbers < wanted.numbers;
    let equal = version.numbers == wanted.numbers && wanted.pre_release.is_none();
    let whole = wanted.written == 3;
    match operator {
        "<" => Ok(below),
        ">=" | "=>" => Ok(!below),
        "<=" | "=<" if whole => Ok(below || equal),
        ">" if whole => Ok(!below && !equal),
        "" | "=" if whole => Ok(equal),
        "!=" if whole => Ok(!equal),
        "^" if whole && wanted.numbers[0] > 0 => Ok(!below && version.numbers[0] == wanted.numbers[0]),
        "~" if whole => Ok(!below && version.numbers[..2] == wanted.numbers[..2]),
        _ => Err(Uncomputed),
    }
}

impl<'t> SemverVersion<'t> {
    fn parse(text: &'t str) -> Result<Self, Uncomputed> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (numbers, pre_release) = match text.split_once('-') {
            Some((numbers, pre_release)) => (numbers, Some(pre_release)),
            None => (text, None),
        };
        let mut found = Self { numbers: [0; 3], written: 0, pre_release };
        for part in numbers.split('.') {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let place = found.numbers.get_mut(found.written).filter(|_| digits).ok_or(Uncomputed)?;
            *place = part.parse().map_err(|_| Uncomputed)?;
            found.written += 1;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comparison_as_masterminds_makes_it() {
        for (constraint, version, met) in [
            (">= v1.24.0", "v1.24.0", Ok(true)),
            (">=1.24", "v1.23.9", Ok(false)),
            ("< v1.25-0", "v1.24.17", Ok(true)),
            ("< v1.25-0", "v1.25.0", Ok(false)),
            ("<= 1.25.0", "v1.25.0", Ok(true)),
            ("> 1.25.0", "v1.25.0", Ok(false)),
            ("> 1.25.0-0", "v1.25.0", Ok(true)),
            ("1.21.1", "v1.21.1+build", Ok(true)),
            ("!= 1.21.1", "v1.21.1", Ok(false)),
            ("^1.22.0", "v1.35.1", Ok(true)),
            ("^1.22.0", "v2.0.0", Ok(false)),
            ("~1.22.3", "v1.22.2", Ok(false)),
            ("~1.22.3", "v1.22.9", Ok(true)),
            // `> 1.25` is beyond all of 1.25, and `= 1.25` any of it.
            ("> 1.25", "v1.25.1", Err(Uncomputed)),
            ("1.25", "v1.25.1", Err(Uncomputed)),
            (">= 1.24.0, < 1.26.0", "v1.25.0", Err(Uncomputed)),
            (">= 1.24.x", "v1.25.0", Err(Uncomputed)),
            (">= 1.24.0", "v1.25.0-rc.1", Err(Uncomputed)),
            (">= 1.24.0", "v1.25", Err(Uncomputed)),
            ("*", "v1.25.0", Err(Uncomputed)),
            ("", "v1.25.0", Err(Uncomputed)),
        ] {
            assert_eq!(semver_compare(constraint, version), met, "{version} {constraint}");
        }
    }
}
