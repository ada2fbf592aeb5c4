//! Which addresses belong to everybody.
//!
//! An agent reads pages that anybody wrote, and a page can tell it to look at an address. What answers only inside of
//! this machine, its network or its cloud must not be reachable that way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of a host on the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !NOT_PUBLIC_V4.iter().any(|(network, length)| bits >> (32 - length) == network.to_bits() >> (32 - length))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let bits = address.to_bits();
    let is_in = |network: Ipv6Addr, length: u32| bits >> (128 - length) == network.to_bits() >> (128 - length);
    // RFC 6052: what a translator makes of an IPv4 address. Networks without IPv4 reach everything that way.
    if is_in(NAT64, 96) {
        return is_public_v4(Ipv4Addr::from_bits(bits as u32));
    }
    // RFC 3056: the IPv4 address of the router stands behind the prefix.
    if is_in(SIX_TO_FOUR, 16) {
        return is_public_v4(Ipv4Addr::from_bits((bits >> 80) as u32));
    }
    // Whatever lies outside is loopback, mapped, local, multicast or not given to anybody yet.
    is_in(GLOBAL_UNICAST, 3) && !NOT_PUBLIC_V6.iter().any(|(network, length)| is_in(*network, *length))
}

/// IANA's registry of special addresses, and addresses at which clouds speak to their machines.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Between carriers and their customers; Alibaba's metadata.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Azure's own agent, at an address that looks public.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Link-local; the metadata of most clouds.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // Protocol assignments; Oracle's metadata.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Benchmarks of devices.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and broadcast.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    (Ipv4Addr::new(255, 255, 255, 255), 32),
];

const GLOBAL_UNICAST: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
const SIX_TO_FOUR: Ipv6Addr = Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0);

/// What is special inside of 2000::/3.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 3] = [
    // Protocol assignments: Teredo, benchmarks, identifiers that are no addresses.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation, twice.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::*;

    fn address_of(url: &str) -> Option<IpAddr> {
        let url = Url::parse(url).ok()?;
        url.host_str()?.trim_matches(['[', ']']).parse().ok()
    }

    #[test]
    fn the_edges_of_every_special_network_are_where_the_registry_has_them() {
        for (network, inside, outside) in [
            ("0.0.0.0/8", ["0.0.0.0", "0.255.255.255"], vec!["1.0.0.0"]),
            ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], vec!["9.255.255.255", "11.0.0.0"]),
            ("100.64.0.0/10", ["100.64.0.0", "100.127.255.255"], vec!["100.63.255.255", "100.128.0.0"]),
            ("127.0.0.0/8", ["127.0.0.0", "127.255.255.255"], vec!["126.255.255.255", "128.0.0.0"]),
            ("168.63.129.16", ["168.63.129.16", "168.63.129.16"], vec!["168.63.129.15", "168.63.129.17"]),
            ("169.254.0.0/16", ["169.254.0.0", "169.254.255.255"], vec!["169.253.255.255", "169.255.0.0"]),
            ("metadata", ["169.254.169.254", "100.100.100.200"], vec![]),
            ("172.16.0.0/12", ["172.16.0.0", "172.31.255.255"], vec!["172.15.255.255", "172.32.0.0"]),
            ("192.0.0.0/24", ["192.0.0.0", "192.0.0.255"], vec!["191.255.255.255", "192.0.1.0"]),
            ("192.0.2.0/24", ["192.0.2.0", "192.0.2.255"], vec!["192.0.1.255", "192.0.3.0"]),
            ("192.88.99.0/24", ["192.88.99.0", "192.88.99.255"], vec!["192.88.98.255", "192.88.100.0"]),
            ("192.168.0.0/16", ["192.168.0.0", "192.168.255.255"], vec!["192.167.255.255", "192.169.0.0"]),
            ("198.18.0.0/15", ["198.18.0.0", "198.19.255.255"], vec!["198.17.255.255", "198.20.0.0"]),
            ("198.51.100.0/24", ["198.51.100.0", "198.51.100.255"], vec!["198.51.99.255", "198.51.101.0"]),
            ("203.0.113.0/24", ["203.0.113.0", "203.0.113.255"], vec!["203.0.112.255", "203.0.114.0"]),
            ("224.0.0.0/4", ["224.0.0.0", "239.255.255.255"], vec!["223.255.255.255"]),
            ("240.0.0.0/4", ["240.0.0.0", "255.255.255.255"], vec![]),
            ("::/128", ["::", "::1"], vec![]),
            ("compatible", ["::8.8.8.8", "::7f00:1"], vec![]),
            ("mapped", ["::ffff:127.0.0.1", "::ffff:8.8.8.8"], vec![]),
            ("translated", ["::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"], vec![]),
            ("64:ff9b::/96", ["64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254"], vec!["64:ff9b::8.8.8.8"]),
            ("64:ff9b:1::/48", ["64:ff9b:1::", "64:ff9b:1::8.8.8.8"], vec![]),
            ("100::/64", ["100::", "100::ffff"], vec![]),
            ("Teredo", ["2001::1", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"], vec![]),
            ("2001::/23", ["2001:2::", "2001:1ff:ffff::"], vec!["2001:200::", "2000:ffff::"]),
            ("2001:db8::/32", ["2001:db8::", "2001:db8:ffff::"], vec!["2001:db7::", "2001:db9::"]),
            ("6to4", ["2002:7f00:1::", "2002:a9fe:a9fe::1"], vec!["2002:808:808::"]),
            ("3fff::/20", ["3fff::", "3fff:fff:ffff::"], vec!["3ffe::", "3fff:1000::"]),
            ("2000::/3", ["1fff:ffff::", "4000::"], vec!["2000::1", "3fff:ffff::", "2606:4700:4700::1111"]),
            ("5f00::/16", ["5f00::", "5f00:ffff::"], vec![]),
            ("fc00::/7", ["fc00::", "fdff:ffff::"], vec![]),
            ("metadata", ["fd00:ec2::254", "fd20:ce::254"], vec![]),
            ("fe80::/10", ["fe80::1", "febf::"], vec![]),
            ("site-local", ["fec0::", "feff:ffff::"], vec![]),
            ("multicast", ["ff02::1", "ffff::"], vec![]),
        ] {
            for text in inside {
                assert!(!is_public(text.parse().unwrap()), "{network}: {text}");
            }
            for text in outside {
                assert!(is_public(text.parse().unwrap()), "{network}: {text}");
            }
        }
    }

    #[test]
    fn every_way_to_write_an_address_is_read_as_that_address() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0X7F.1",
            "0x7f.0x0.0x0.0x1",
            "0177.0.0.1",
            "0177.0.0.01",
            "017700000001",
            "127.0.0.1.",
            "2130706433.",
            "127.0.0.0x1",
            "１２７.０.０.１",
            "①②⑦.⓪.⓪.①",
            "127。0。0。1",
            "127%2e0%2e0%2e1",
            "%31%32%37.0.0.1",
        ] {
            let found = address_of(&format!("http://{host}/"));
            assert_eq!(found, Some("127.0.0.1".parse().unwrap()), "{host}");
        }
        for host in ["[::1]", "[0:0::0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fe80::1]"] {
            let found = address_of(&format!("http://{host}/")).unwrap();
            assert!(!is_public(found), "{host}");
        }
        // These are no hosts at all.
        for host in ["127.0.0.256", "1.2.3.4.5", "0x100000000", "[::1%25lo]", "[::1%lo]", "127.0.0.1x.1", "08.0.0.1"] {
            assert!(Url::parse(&format!("http://{host}/")).is_err(), "{host}");
        }
    }
}
