//! At which address a host is reached: of one network of its network data, or of the Machine that has it.
//!
//! Network data is OpenStack's `network_data.json`, or the same as YAML:
//! <https://docs.openstack.org/nova/latest/user/metadata.html>.

use core::net::IpAddr;

use capstan_yaml::YamlFile;
use serde_json::Value;

/// Why there is no address. No value of the Secret is shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAddress {
    /// The Secret holds something else.
    #[error("its network data is neither JSON nor YAML")]
    Unreadable,
    /// It has other networks.
    #[error("its network data has no network `{0}`")]
    NoNetwork(String),
    /// The network is there, the address is given elsewhere.
    #[error("network `{0}` of its network data has no address")]
    Given(String),
    /// The value is not an address of a host.
    #[error("the address of network `{0}` of its network data is not a host's address")]
    Malformed(String),
    /// It would have to be read from what must not be read.
    #[error("its networkData names the Secret of a management controller, which Capstan does not read")]
    Secret,
    /// There is neither network data nor a Machine with an address.
    #[error("it has no address yet: neither network data nor a Machine with an internal address")]
    Nowhere,
}

/// The address of the network with this id.
///
/// # Errors
/// Where it has none that another machine could reach.
pub fn of_network_data(text: &str, id: &str) -> Result<IpAddr, NoAddress> {
    let networks = networks(text).ok_or(NoAddress::Unreadable)?;
    let network = networks.iter().find(|(held, _)| held == id);
    let (_, address) = network.ok_or_else(|| NoAddress::NoNetwork(id.to_owned()))?;
    let address = address.as_deref().ok_or_else(|| NoAddress::Given(id.to_owned()))?;
    read(address).ok_or_else(|| NoAddress::Malformed(id.to_owned()))
}

/// The first internal address of a Machine (`status.addresses`).
///
/// # Errors
/// Where it has none yet.
pub fn of_machine(machine: &Value) -> Result<IpAddr, NoAddress> {
    let addresses = machine.pointer("/status/addresses").and_then(Value::as_array);
    let internal = addresses.into_iter().flatten().filter(|address| address["type"] == "InternalIP");
    internal.filter_map(|address| address["address"].as_str()).find_map(read).ok_or(NoAddress::Nowhere)
}

/// An address that another machine can reach; the length of a prefix behind it is of no interest.
fn read(text: &str) -> Option<IpAddr> {
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    prefix.map_or(Ok(0), str::parse::<u8>).ok()?;
    let address: IpAddr = address.parse().ok()?;
    let is_own_link = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.to_ipv4_mapped().is_some(),
    };
    (!address.is_unspecified() && !address.is_loopback() && !address.is_multicast() && !is_own_link)
        .then_some(address)
}

/// Ids of networks, each with its address.
fn networks(text: &str) -> Option<Vec<(String, Option<String>)>> {
    if let Ok(data) = serde_json::from_str::<Value>(text) {
        let networks = data.get("networks")?.as_array()?;
        let one = |network: &Value| {
            let address = network["ip_address"].as_str().filter(|address| !address.is_empty());
            Some((network["id"].as_str()?.to_owned(), address.map(str::to_owned)))
        };
        return Some(networks.iter().filter_map(one).collect());
    }
    let file = YamlFile::read(text).ok()?;
    let networks = file.documents().first()?.root.get("networks")?.as_sequence()?;
    let one = |network: &capstan_yaml::Node| {
        let address = network.text_at("ip_address").filter(|address| !address.is_empty());
        Some((network.text_at("id")?.to_owned(), address.map(str::to_owned)))
    };
    Some(networks.iter().filter_map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DATA: &str = r#"{"links": [], "networks": [
        {"id": "oam-ipv4", "link": "bond0", "type": "ipv4", "ip_address": "10.23.25.102", "netmask": "255.255.255.0"},
        {"id": "oam-ipv6", "type": "ipv6", "ip_address": "2001:db8::17/64"},
        {"id": "pxe", "type": "ipv4_dhcp"},
        {"id": "evil", "type": "ipv4", "ip_address": "10.0.0.1\n  server evil 10.6.6.6"},
        {"id": "self", "type": "ipv4", "ip_address": "127.0.0.1"},
        {"id": "link", "type": "ipv6", "ip_address": "fe80::1"}]}"#;

    #[test]
    fn json_and_yaml_say_the_same() {
        let yaml = "networks:\n- id: oam-ipv4\n  type: ipv4\n  ip_address: 10.23.25.102\n- {id: oam-ipv6, ip_address: '2001:db8::17/64'}\n- {id: pxe}\n- {id: self, ip_address: 127.0.0.1}\n";
        for data in [DATA, yaml] {
            assert_eq!(of_network_data(data, "oam-ipv4"), Ok("10.23.25.102".parse().unwrap()));
            assert_eq!(of_network_data(data, "oam-ipv6"), Ok("2001:db8::17".parse().unwrap()));
            assert_eq!(of_network_data(data, "pxe"), Err(NoAddress::Given("pxe".to_owned())));
            assert_eq!(of_network_data(data, "no"), Err(NoAddress::NoNetwork("no".to_owned())));
            assert_eq!(of_network_data(data, "self"), Err(NoAddress::Malformed("self".to_owned())));
        }
    }

    #[test]
    fn an_invalid_address_is_refused_and_not_repeated() {
        for id in ["evil", "link"] {
            assert_eq!(of_network_data(DATA, id), Err(NoAddress::Malformed(id.to_owned())));
        }
        for text in ["", "a: [", "[]", "networks: 5", "{\"networks\": {}}"] {
            assert_eq!(of_network_data(text, "a"), Err(NoAddress::Unreadable), "{text:?}");
        }
    }

    #[test]
    fn else_the_internal_address_of_the_machine() {
        let machine = json!({"status": {"addresses": [
            {"type": "Hostname", "address": "bm-1"},
            {"type": "ExternalIP", "address": "192.0.2.1"},
            {"type": "InternalIP", "address": "10.0.0.5"}]}});
        assert_eq!(of_machine(&machine), Ok("10.0.0.5".parse().unwrap()));
        assert_eq!(of_machine(&json!({})), Err(NoAddress::Nowhere));
    }
}
