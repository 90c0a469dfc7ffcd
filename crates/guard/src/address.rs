//! Which addresses belong to this machine or its network: no call reaches them without a word of the person. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Not an address of this machine or house.
pub fn is_public_address(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => match ip.to_ipv4_mapped().or_else(|| embedded_v4(ip)) {
            Some(inner) => is_public_v4(inner),
            None => {
                let [first, second, third, ..] = ip.segments();
                let is_local_nat = [first, second, third] == [0x64, 0xff9b, 1];
                !(ip.is_loopback()
                    || is_local_nat
                    || ip.is_unspecified()
                    || ip.is_multicast()
                    || first & 0xfe00 == 0xfc00
                    || first & 0xffc0 == 0xfe80
                    || first & 0xffc0 == 0xfec0)
            }
        },
    }
}

/// The host of an address with its port, where it is one of this machine or house: one port is all that is meant there, and
/// other servers stand behind the others.
pub fn with_local_port(host: &str, port: Option<u16>) -> String {
    let (name, has_port) = match host.rsplit_once(':') {
        Some((name, digits))
            if digits.chars().all(|c| c.is_ascii_digit()) && !name.ends_with(':') =>
        {
            (name, !name.contains(':') || name.ends_with(']'))
        }
        _ => (host, false),
    };
    let bare = name.trim_matches(['[', ']']).trim_end_matches('.');
    let is_local = bare.eq_ignore_ascii_case("localhost")
        || bare.to_ascii_lowercase().ends_with(".localhost")
        || bare.parse().is_ok_and(|ip| !is_public_address(ip));
    match port.filter(|_| is_local && !has_port) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// IPv4 inside ::/96 (as it was written before there was a mapped form), ::ffff:0:0:0/96, 64:ff9b::/96 (NAT64) and 2002::/16
/// (6to4). `::` and `::1` are none, and not public either way.
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, a, b]
        | [0, 0, 0, 0, 0xffff, 0, a, b]
        | [0x64, 0xff9b, 0, 0, 0, 0, a, b]
        | [0x2002, a, b, ..] => Some(Ipv4Addr::from(u32::from(a) << 16 | u32::from(b))),
        _ => None,
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_broadcast()
        || ip.is_multicast()
        || ip.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (b == 18 || b == 19))
        || (a == 192 && b == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_of_this_machine_has_its_port() {
        for (host, port, expect) in [
            ("127.0.0.1", Some(80), "127.0.0.1:80"),
            ("127.0.0.1:8080", Some(80), "127.0.0.1:8080"),
            ("localhost", Some(443), "localhost:443"),
            ("app.localhost", Some(80), "app.localhost:80"),
            ("10.0.0.5", Some(80), "10.0.0.5:80"),
            ("[::1]", Some(80), "[::1]:80"),
            ("[::1]:8080", Some(80), "[::1]:8080"),
            ("localhost", None, "localhost"),
            ("a.example", Some(443), "a.example"),
            ("8.8.8.8", Some(80), "8.8.8.8"),
        ] {
            assert_eq!(with_local_port(host, port), expect, "{host}");
        }
    }

    #[test]
    fn private_addresses_are_known() {
        for (ip, expect) in [
            ("8.8.8.8", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("2606:4700::1111", true),
            ("::1", false),
            ("fd00::1", false),
            ("fe80::1", false),
            ("::ffff:127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("2002:7f00:1::", false),
            ("64:ff9b::808:808", true),
            ("::", false),
            ("::127.0.0.1", false),
            ("::10.0.0.1", false),
            ("::ffff:0:127.0.0.1", false),
            ("::8.8.8.8", true),
            ("64:ff9b:1::7f00:1", false),
        ] {
            assert_eq!(is_public_address(ip.parse().unwrap()), expect, "{ip}");
        }
    }
}
