//! Settings of one value each: addresses, numbers, URLs.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use capstan_plan::settings::OperatorHost;
use capstan_server::Mode;
use url::Url;

use super::sources::{Setting, SettingOrigin, SettingSources};

/// The hosts of the setting, else those of the default.
pub(super) fn provider_hosts(
    sources: &SettingSources,
    default: Vec<OperatorHost>,
) -> Result<Vec<OperatorHost>, String> {
    let Some(setting) = sources.setting("provider-hosts") else { return Ok(default) };
    setting.each(OperatorHost::parse)
}

pub(super) fn mode(sources: &SettingSources) -> Result<Mode, String> {
    let Some(setting) = sources.setting("dry-run") else { return Ok(Mode::Live) };
    match setting.text.as_str() {
        "true" => Ok(Mode::DryRun),
        "false" => Ok(Mode::Live),
        _ => Err(setting.wrong("is neither `true` nor `false`")),
    }
}

pub(super) fn listen(sources: &SettingSources, default_port: u16) -> Result<SocketAddr, String> {
    let default = SocketAddr::from(([127, 0, 0, 1], default_port));
    sources.setting("listen").map_or(Ok(default), |setting| address(&setting))
}

pub(super) fn optional_listen(
    sources: &SettingSources,
    name: &'static str,
) -> Result<Option<SocketAddr>, String> {
    sources.setting(name).map(|setting| address(&setting)).transpose()
}

fn address(setting: &Setting) -> Result<SocketAddr, String> {
    setting.text.parse().map_err(|_| {
        setting.wrong(
            "is not an address with a port; expected one such as 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080",
        )
    })
}

pub(super) fn number(
    sources: &SettingSources,
    name: &'static str,
    taken: RangeInclusive<usize>,
) -> Result<Option<usize>, String> {
    let Some(setting) = sources.setting(name) else { return Ok(None) };
    match setting.text.parse() {
        Ok(number) if taken.contains(&number) => Ok(Some(number)),
        _ => Err(setting.wrong(&format!("is not a number from {} to {}", taken.start(), taken.end()))),
    }
}

pub(super) fn seconds(
    sources: &SettingSources,
    name: &'static str,
    taken: RangeInclusive<usize>,
) -> Result<Option<Duration>, String> {
    let seconds = number(sources, name, taken)?;
    Ok(seconds.map(|seconds| Duration::from_secs(seconds as u64)))
}

pub(super) fn public_url(sources: &SettingSources) -> Result<Option<Url>, String> {
    sources.setting("public-url").map(|setting| web_url(&setting)).transpose()
}

pub(super) fn api_url(sources: &SettingSources) -> Result<Url, String> {
    let setting = sources
        .setting("github-api-url")
        .unwrap_or_else(|| Setting::new("github-api-url", SettingOrigin::Default, "https://api.github.com"));
    let mut url = web_url(&setting)?;
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

pub(super) fn web_url(setting: &Setting) -> Result<Url, String> {
    let url = Url::parse(&setting.text).map_err(|error| {
        setting.wrong(&format!("is not a URL ({error}); expected one such as https://host/path"))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(setting.wrong("must begin with https:// (or http:// for a test forge)"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(format!(
            "{} must hold no user, password, query or fragment: give scheme, host, port and path only",
            setting.described()
        ));
    }
    Ok(url)
}
