//! What an address is to this machine, and how a URL is shown.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use capstan_model::plain_http;
use url::Url;

/// The scope of an address. The order is that of permission: a client that may reach one may reach the
/// smaller ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressScope {
    /// Somewhere in the Internet.
    Internet,
    /// In a private network.
    Network,
    Machine,
    /// Its link, or a cloud's metadata service, which gives credentials to every caller; or an invalid
    /// address.
    Link,
}

impl AddressScope {
    /// As a sentence names its addresses.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Internet => "of the Internet",
            Self::Network => "of a private network",
            Self::Machine | Self::Link => "of this machine, its link or a metadata service",
        }
    }
}

/// The scope of an address, from the registries of special addresses
/// (<https://www.iana.org/assignments/iana-ipv4-special-registry>,
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>).
pub(crate) fn place(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => place_v4(address),
        IpAddr::V6(address) => place_v6(address),
    }
}

fn place_v4(address: Ipv4Addr) -> AddressScope {
    match address.octets() {
        [127, ..] => AddressScope::Machine,
        // Metadata services outside of the link: Alibaba's among the addresses that carriers share, Oracle's among those of
        // protocols, Azure's among those of the Internet.
        [0 | 224.., ..] | [169, 254, ..] | [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16] => {
            AddressScope::Link
        }
        [10, ..]
        | [192, 168, ..]
        | [172, 16..=31, ..]
        | [100, 64..=127, ..]
        | [198, 18..=19, ..]
        | [192, 0, 0, _] => AddressScope::Network,
        _ => AddressScope::Internet,
    }
}

fn place_v6(address: Ipv6Addr) -> AddressScope {
    // What carries an address of version 4 leads there.
    let [a, b, .., g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        place_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // The metadata services of AWS and Google.
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254]
        | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254]
        | [0xfe80..=0xfebf | 0xff00.., ..] => AddressScope::Link,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressScope::Machine,
        // Mapped, compatible (`::` is of these), and translated addresses.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            v4(g, h)
        }
        [0x64, 0xff9b, 1, ..] => AddressScope::Network,
        // 6to4.
        [0x2002, high, low, ..] => v4(high, low),
        // Unique local addresses, and the site-local ones of old.
        _ if (0xfc00..=0xfdff).contains(&a) || (0xfec0..=0xfeff).contains(&a) => AddressScope::Network,
        // A Teredo address contains another address, scrambled: nothing is published there.
        _ if (a, b) == (0x2001, 0) => AddressScope::Link,
        _ => AddressScope::Internet,
    }
}

/// Whether nobody asks a proxy for it: this machine, or this cluster.
pub(crate) fn is_near(url: &Url) -> bool {
    url.host_str().is_some_and(plain_http::is_private)
}

/// Host and port, where that is not the scheme's own: as lists of hosts write it.
pub fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// A URL without what may be secret in it: user, password, query and fragment.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Only fails for addresses that can hold none.
    let _none = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lie_where_the_registries_say() {
        for (address, expected) in [
            ("140.82.121.3", AddressScope::Internet),
            ("172.15.0.1", AddressScope::Internet),
            ("172.32.0.1", AddressScope::Internet),
            ("100.63.255.255", AddressScope::Internet),
            ("192.0.1.1", AddressScope::Internet),
            ("2606:50c0:8000::153", AddressScope::Internet),
            ("::ffff:140.82.121.3", AddressScope::Internet),
            ("10.0.0.1", AddressScope::Network),
            ("172.16.0.1", AddressScope::Network),
            ("172.31.255.254", AddressScope::Network),
            ("192.168.1.1", AddressScope::Network),
            ("100.64.0.1", AddressScope::Network),
            ("198.19.0.1", AddressScope::Network),
            ("fd12:3456::1", AddressScope::Network),
            ("fc00::1", AddressScope::Network),
            ("fec0::1", AddressScope::Network),
            ("::ffff:10.0.0.1", AddressScope::Network),
            ("64:ff9b::10.1.2.3", AddressScope::Network),
            ("2002:0a00:0001::1", AddressScope::Network),
            ("127.0.0.1", AddressScope::Machine),
            ("127.1.2.3", AddressScope::Machine),
            ("0.0.0.0", AddressScope::Link),
            ("169.254.169.254", AddressScope::Link),
            ("100.100.100.200", AddressScope::Link),
            ("192.0.0.192", AddressScope::Link),
            ("192.0.0.191", AddressScope::Network),
            ("168.63.129.16", AddressScope::Link),
            ("168.63.129.17", AddressScope::Internet),
            ("224.0.0.1", AddressScope::Link),
            ("255.255.255.255", AddressScope::Link),
            ("::1", AddressScope::Machine),
            ("::", AddressScope::Link),
            ("fe80::1", AddressScope::Link),
            ("ff02::1", AddressScope::Link),
            ("fd00:ec2::254", AddressScope::Link),
            ("fd20:ce::254", AddressScope::Link),
            ("::ffff:168.63.129.16", AddressScope::Link),
            ("::ffff:127.0.0.1", AddressScope::Machine),
            ("::127.0.0.1", AddressScope::Machine),
            ("::ffff:0:127.0.0.1", AddressScope::Machine),
            ("64:ff9b::169.254.169.254", AddressScope::Link),
            ("2002:7f00:0001::1", AddressScope::Machine),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", AddressScope::Link),
        ] {
            assert_eq!(place(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn addresses_are_shown_without_secrets() {
        let url = Url::parse("https://me:s3cret@host.example:8443/a/b?token=x#y").unwrap();
        assert_eq!(shown(&url), "https://host.example:8443/a/b");
        assert_eq!(host_of(&url), "host.example:8443");
        assert_eq!(host_of(&Url::parse("https://[::1]/").unwrap()), "[::1]");
    }
}
