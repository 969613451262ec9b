//! GitHub's published limits, and what a call takes of them.

use serde::{Deserialize, Serialize};

/// What a call, or several, take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Requests, which the primary limit counts.
    pub requests: u32,
    /// Points: 1 for `GET`, `HEAD`, `OPTIONS` and a GraphQL query, 5 for what writes.
    pub points: u32,
    /// Requests that create content.
    pub content: u32,
}

impl Cost {
    /// A call that reads.
    pub const READ: Self = Self { requests: 1, points: 1, content: 0 };
    /// A call that writes.
    pub const WRITE: Self = Self { requests: 1, points: 5, content: 0 };
    /// A call that creates content: a pull request, an issue, a comment, a check.
    pub const CONTENT: Self = Self { requests: 1, points: 5, content: 1 };

    pub(super) const fn covers(self, other: Self) -> bool {
        self.requests >= other.requests && self.points >= other.points && self.content >= other.content
    }

    pub(super) const fn less(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            points: self.points.saturating_sub(other.points),
            content: self.content.saturating_sub(other.content),
        }
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            points: self.points.saturating_add(other.points),
            content: self.content.saturating_add(other.content),
        }
    }

    /// What of it counts for longer than a minute.
    pub(super) const fn content_alone(self) -> Self {
        Self { requests: 0, points: 0, content: self.content }
    }

    pub(super) const fn is_nothing(self) -> bool {
        self.requests == 0 && self.points == 0 && self.content == 0
    }
}

/// The secondary limits of the callers that GitHub counts together, REST and GraphQL as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    pub points_a_minute: u32,
    /// Requests a minute that create content.
    pub content_a_minute: u32,
    /// The same an hour.
    pub content_an_hour: u32,
    /// Requests at once.
    pub concurrent: u32,
}

impl RateLimits {
    /// As GitHub publishes them for github.com
    /// (<https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits>).
    pub const PUBLISHED: Self =
        Self { points_a_minute: 900, content_a_minute: 80, content_an_hour: 500, concurrent: 100 };
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimit {
    /// Requests an hour, as headers tell.
    Primary,
    PointsAMinute,
    /// Requests a minute that create content.
    ContentAMinute,
    /// The same an hour.
    ContentAnHour,
    /// Requests at once.
    Concurrent,
    /// GitHub asked to be left alone.
    AskedToWait,
}

impl RateLimit {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Primary,
        Self::PointsAMinute,
        Self::ContentAMinute,
        Self::ContentAnHour,
        Self::Concurrent,
        Self::AskedToWait,
    ];

    /// The word for it in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::PointsAMinute => "points-a-minute",
            Self::ContentAMinute => "content-a-minute",
            Self::ContentAnHour => "content-an-hour",
            Self::Concurrent => "concurrent",
            Self::AskedToWait => "asked-to-wait",
        }
    }

    /// What it is, for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Primary => "GitHub's limit of requests an hour",
            Self::PointsAMinute => "GitHub's limit of 900 points a minute",
            Self::ContentAMinute => "GitHub's limit of 80 requests a minute that create content",
            Self::ContentAnHour => "GitHub's limit of 500 requests an hour that create content",
            Self::Concurrent => "GitHub's limit of 100 requests at once",
            Self::AskedToWait => "GitHub's Retry-After",
        }
    }
}
