//! Who looks at the pages, through which door, and what a form must carry to be accepted.
//!
//! | door | who |
//! |---|---|
//! | the internal listener on a loopback address | people who use this machine: they see and do everything without signing in, but order no campaign |
//! | the internal listener on any other address | nobody: reaching it proves nothing |
//! | the public listener | people who signed in at GitHub; without a configured sign-in there are no pages at all |
//!
//! The loopback door answers only to names of this machine itself, so that a site with a name that leads to
//! 127.0.0.1 (DNS rebinding) reads nothing. A form is accepted if the browser says that it comes from here
//! (`Sec-Fetch-Site`, `Origin`), and only with the page's token, which another site cannot read.
//!
//! *Who may act?* People with write access to the repository: a push or a comment of theirs starts the bot
//! anyway, so a button gives them nothing new. People with read access may not. A campaign is stopped and
//! resumed as by a comment: the run that does it asks GitHub for the person's rights
//! ([`capstan_bot::page_orders`]).

use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};

use super::query::{QueryFields, address};
use super::site::Site;
use capstan_bot::page_orders::may_order;
use capstan_bot::visitors::Person;
use capstan_listener::answer::HttpRefusal;
use capstan_ports::{ShownCampaign, VisibleRepositories};

/// The cookie that holds a session: by its prefix browsers take it over https (and from this machine) alone, for this
/// host and all of its paths.
pub(super) const SESSION_COOKIE: &str = "__Host-capstan-session";

/// Through which listener somebody comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The internal one, on a loopback address.
    Loopback,
    /// The internal one, on another address.
    Inside,
    Public,
}

/// Somebody who may look.
#[derive(Debug, Clone)]
pub(super) enum Visitor {
    /// Somebody at this machine.
    Local {
        /// What forms carry.
        form_token: Arc<str>,
    },
    /// Somebody who has signed in.
    Person(Arc<Person>),
}

impl Visitor {
    pub(super) fn sight(&self) -> VisibleRepositories {
        match self {
            Self::Local { .. } => VisibleRepositories::Everything,
            Self::Person(person) => person.sight(),
        }
    }

    /// Whether they may have things done in a repository.
    pub(super) fn may_write(&self, repository: u64) -> bool {
        match self {
            Self::Local { .. } => true,
            Self::Person(person) => person.may_write(repository),
        }
    }

    /// What the forms on their pages carry.
    pub(super) fn form_token(&self) -> &str {
        match self {
            Self::Local { form_token } => form_token,
            Self::Person(person) => &person.form_token,
        }
    }

    /// Who they are, in the audit trail. A login has no blank in it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Local { .. } => "the local page",
            Self::Person(person) => &person.login,
        }
    }

    pub(super) fn login(&self) -> Option<&str> {
        match self {
            Self::Local { .. } => None,
            Self::Person(person) => Some(&person.login),
        }
    }

    /// Whether they are shown the buttons that stop and resume a campaign. GitHub says who may, and it knows nobody of
    /// those at this machine.
    pub(super) fn may_order(&self, campaign: &ShownCampaign) -> bool {
        match self {
            Self::Local { .. } => false,
            // An order is noted in the dashboard issue.
            Self::Person(person) => {
                campaign.dashboard.is_some() && may_order(person, campaign.repository, &campaign.progress)
            }
        }
    }

    /// Whether a form comes from a page that the person was shown. The form is read here, so that no handler
    /// forgets the check. Returns the fields of a form that does.
    pub(super) async fn believes(
        &self,
        site: &Site,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<QueryFields, HttpRefusal> {
        let form = site.form(headers, body).await?;
        let refuse = |why: &str| {
            HttpRefusal::new(
                StatusCode::FORBIDDEN,
                "This form did not come from a page of Capstan's: load it again",
            )
            .because(&why)
        };
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
        if header("sec-fetch-site").is_some_and(|site| site != "same-origin") {
            return Err(refuse("Sec-Fetch-Site names another site"));
        }
        let own = match (self, &site.visitors) {
            (Self::Person(_), Some(visitors)) => visitors.origin().to_owned(),
            _ => format!("http://{}", header(HOST.as_str()).unwrap_or_default()),
        };
        if header(ORIGIN.as_str()).is_some_and(|origin| !origin.eq_ignore_ascii_case(&own)) {
            return Err(refuse("Origin names another site"));
        }
        let token = form.whole("token").as_bytes();
        let own = self.form_token().as_bytes();
        if own.is_empty() || verify_slices_are_equal(token, own).is_err() {
            return Err(refuse("the form's token is missing or wrong"));
        }
        Ok(form)
    }
}

/// What is answered to somebody who is shown no page.
pub(super) struct NotShown(Box<Response>);

impl NotShown {
    fn refused(status: StatusCode, sentence: &'static str, why: &dyn std::fmt::Display) -> Self {
        Self(Box::new(HttpRefusal::new(status, sentence).because(why).into_response()))
    }
}

impl IntoResponse for NotShown {
    fn into_response(self) -> Response {
        *self.0
    }
}

impl FromRequestParts<Site> for Visitor {
    type Rejection = NotShown;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, NotShown> {
        match parts.extensions.get::<Door>() {
            Some(Door::Loopback) if names_this_machine(&parts.headers) => {
                Ok(Self::Local { form_token: Arc::clone(&site.local_token) })
            }
            Some(Door::Loopback) => Err(NotShown::refused(
                StatusCode::MISDIRECTED_REQUEST,
                "These pages are available only as localhost and 127.0.0.1",
                &"the Host header has another name",
            )),
            Some(Door::Inside) => Err(NotShown::refused(
                StatusCode::FORBIDDEN,
                "Sign in to see pages, or open them on a loopback address: see `capstan help page`",
                &"the internal listener is not on a loopback address",
            )),
            Some(Door::Public) => signed_in(parts, site).await,
            None => Err(nothing_here()),
        }
    }
}

fn nothing_here() -> NotShown {
    NotShown(Box::new(HttpRefusal::new(StatusCode::NOT_FOUND, "There is nothing here").into_response()))
}

async fn signed_in(parts: &Parts, site: &Site) -> Result<Visitor, NotShown> {
    let Some(visitors) = &site.visitors else { return Err(nothing_here()) };
    if let Some(cookie) = cookie(&parts.headers, SESSION_COOKIE) {
        match visitors.recognise(cookie).await {
            Ok(Some(person)) => return Ok(Visitor::Person(person)),
            Ok(None) => {}
            Err(error) => {
                let sentence = "GitHub does not say what you may see: try again in a moment";
                return Err(NotShown::refused(StatusCode::SERVICE_UNAVAILABLE, sentence, &error));
            }
        }
    }
    if parts.method == Method::GET || parts.method == Method::HEAD {
        let wanted = parts.uri.path_and_query().map_or("/", |wanted| wanted.as_str());
        let login = Redirect::to(&address("/login", &[("next", wanted)])).into_response();
        return Err(NotShown(Box::new(login)));
    }
    Err(NotShown::refused(StatusCode::UNAUTHORIZED, "Sign in first", &"no user is signed in"))
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Whether `Host` names this machine as only its own users can: by a loopback address or `localhost`.
pub(crate) fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_nobody_else_can_give_are_this_machines() {
        let is_own = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            names_this_machine(&headers)
        };
        for host in
            ["127.0.0.1", "127.0.0.1:8082", "localhost:8082", "LOCALHOST", "[::1]:8082", "a.localhost"]
        {
            assert!(is_own(host), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8082", "10.0.0.1", "", "[::2]"]
        {
            assert!(!is_own(host), "{host}");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }
}
