//! Which addresses and names are public. Pure.
//!
//! Ranges by the IANA registries of special-purpose addresses; what only carries an IPv4 address inside is
//! judged by that address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PRIVATE: &str = "a private address";
const LOOPBACK: &str = "a loopback address";

/// Network, length of its prefix, and what it is; the first that holds names the reason.
const V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, "an address of this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, PRIVATE),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "an address shared behind a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, LOOPBACK),
    // The wire server of a cloud: public by its number, answered by the machine's own host.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a cloud's metadata address"),
    (Ipv4Addr::new(169, 254, 169, 254), 32, "a cloud's metadata address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, PRIVATE),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "an address for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "an address of a 6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, PRIVATE),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "an address for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::BROADCAST, 32, "the broadcast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// Within the networks above, and public all the same: port control and relay discovery.
const V4_PUBLIC: &[Ipv4Addr] = &[Ipv4Addr::new(192, 0, 0, 9), Ipv4Addr::new(192, 0, 0, 10)];

const V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "the unspecified address"),
    (Ipv6Addr::LOCALHOST, 128, LOOPBACK),
    (Ipv6Addr::UNSPECIFIED, 96, "an IPv4-compatible address"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "an address translated to a local IPv4 network"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 32, "a discard address"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "a Teredo address"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "an address for protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "an address for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a 6to4 address"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "an address for documentation"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "an address for segment routing"),
    // Hands out a machine's keys, as its like in IPv4.
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32, "a cloud's metadata address"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, PRIVATE),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "a link-local address"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "a site-local address"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "a multicast address"),
];

/// IPv4 in IPv6 clothes: as sockets see it, and as networks without IPv4 reach it.
const MAPPED: (Ipv6Addr, u32) = (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
/// All that is given out to the public.
const GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Ends of names that never mean a public host.
const LOCAL_NAMES: &[&str] = &["localhost", "localdomain", "local", "internal", "home.arpa"];

/// What the address is, where it isn't public.
pub(crate) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

/// Whether what an address is makes it somebody's own, and nothing that gives out keys or has another purpose.
pub(super) fn is_plain(what: &str) -> bool {
    [PRIVATE, LOOPBACK].contains(&what)
}

/// Whether a name is for use within a machine or a network, whatever it resolves to.
pub(crate) fn is_local_name(host: &str) -> bool {
    LOCAL_NAMES
        .iter()
        .any(|end| host.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.')))
}

fn v4(address: Ipv4Addr) -> Option<&'static str> {
    if V4_PUBLIC.contains(&address) {
        return None;
    }
    let within = |network: Ipv4Addr, prefix: u32| {
        let host_bits = 32 - prefix;
        address.to_bits() >> host_bits == network.to_bits() >> host_bits
    };
    V4.iter().find(|(network, prefix, _)| within(*network, *prefix)).map(|(_, _, what)| *what)
}

fn v6(address: Ipv6Addr) -> Option<&'static str> {
    let within = |network: Ipv6Addr, prefix: u32| {
        let host_bits = 128 - prefix;
        address.to_bits() >> host_bits == network.to_bits() >> host_bits
    };
    if within(MAPPED.0, MAPPED.1) || within(TRANSLATED.0, TRANSLATED.1) {
        return v4(last_four(address));
    }
    if let Some((_, _, what)) = V6.iter().find(|(network, prefix, _)| within(*network, *prefix)) {
        return Some(*what);
    }
    if !within(GLOBAL.0, GLOBAL.1) {
        return Some("not a public address");
    }
    // A tunnel within a site writes the IPv4 address of its end into the last half.
    let [_, _, _, _, mark, protocol, _, _] = address.segments();
    if matches!(mark, 0 | 0x200) && protocol == 0x5efe && v4(last_four(address)).is_some() {
        return Some("a tunnel to an address that isn't public");
    }
    None
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_special_range_is_refused_up_to_its_borders() {
        for (last_before, first, last, first_after) in [
            ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
            ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
            ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
            ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
            ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
            ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"),
            ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
            ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"),
            ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
            ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
            ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"),
            ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"),
            ("223.255.255.255", "224.0.0.0", "255.255.255.255", "1.1.1.1"),
            ("2606:4700::1111", "2001::", "2001:1ff:ffff::", "2001:200::1"),
            ("2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::1", "2001:db9::"),
            ("2001:ffff::", "2002::", "2002:ffff::", "2003::"),
            ("3ffe:ffff::", "3fff::", "3fff:fff:ffff::", "3fff:1000::"),
        ] {
            for (text, public) in [(last_before, true), (first, false), (last, false), (first_after, true)] {
                let said = not_public(text.parse().unwrap());
                assert_eq!(said.is_none(), public, "{text}: {said:?}");
            }
        }
    }

    #[test]
    fn an_address_inside_an_address_counts() {
        for (text, public) in [
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::127.0.0.1", false),
            ("::8.8.8.8", false),
            ("64:ff9b::10.0.0.1", false),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b:1::8.8.8.8", false),
            ("2002:7f00:1::", false),
            ("2606:4700::5efe:10.0.0.1", false),
            ("2606:4700::200:5efe:192.168.0.1", false),
            ("2606:4700::5efe:8.8.8.8", true),
            ("fd00:ec2::254", false),
            ("4000::1", false),
            ("192.0.0.9", true),
        ] {
            let said = not_public(text.parse().unwrap());
            assert_eq!(said.is_none(), public, "{text}: {said:?}");
        }
    }

    #[test]
    fn names_of_a_machine_or_a_network_are_local() {
        for (name, local) in [
            ("localhost", true),
            ("a.localhost", true),
            ("metadata.google.internal", true),
            ("printer.local", true),
            ("notlocalhost", false),
            ("localhost.example.com", false),
            ("internal.example.com", false),
        ] {
            assert_eq!(is_local_name(name), local, "{name}");
        }
    }
}
