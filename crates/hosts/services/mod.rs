//! The services in front of the hosts: load balancers, jump hosts and issuers of tokens, as configurations
//! and as objects.
//!
//! Every value that a stranger could have written (names, addresses, ports, keys) is a type that only holds what is
//! harmless where it goes: nothing is escaped, everything is parsed.
//!
//! | file | tells |
//! |---|---|
//! | `address` | at which address a host is reached |
//! | `haproxy` | a configuration of HAProxy |
//! | `host_key` | a host key of a jump host |
//! | `dex` | a configuration of Dex |
//! | `ssh` | a configuration of OpenSSH's server, and who may come |
//! | `balancer` | a load balancer of a SIPCluster, as its objects |
//! | `jump_host` | a jump host of a SIPCluster, as its objects |
//! | `issuer` | an issuer of tokens of a SIPCluster, as its objects, and when its certificate is renewed |
//! | `objects` | what those objects have in common |

pub mod address;
pub mod balancer;
pub mod dex;
pub mod haproxy;
pub mod host_key;
pub mod issuer;
pub mod jump_host;
pub mod objects;
pub mod ssh;
