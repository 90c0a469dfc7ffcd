//! Hosts as rules name them, and which addresses belong to this machine or its network. Pure.

use ostler_files::glob_matches;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a rule says of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// A host or a pattern of hosts, maybe with a port; none means every host.
    pub spec: Option<String>,
}

impl HostRule {
    pub fn of(spec: &str) -> Self {
        Self {
            spec: Some(spec.to_owned()),
        }
    }

    /// Whether it speaks of the host; of a host without a port also where it names one.
    pub fn touches(&self, host: &str) -> bool {
        self.fits(host, Port::Any)
    }

    pub fn allows(&self, host: &str) -> bool {
        self.fits(host, Port::Same)
    }

    /// Whether it names exactly this host or this host with this port.
    pub fn names(&self, host: &str) -> bool {
        self.spec.as_deref() == Some(host)
    }

    fn fits(&self, host: &str, port: Port) -> bool {
        let Some(spec) = &self.spec else {
            return true;
        };
        if host == "*" {
            return spec == "*";
        }
        let (want, want_port) = host_and_port(spec);
        let (have, have_port) = host_and_port(host);
        let port_fits = match (want_port, have_port) {
            (None, _) => true,
            (Some(want), Some(have)) => want == have,
            (Some(_), None) => port == Port::Any,
        };
        port_fits && glob_matches(&plain_host(want), &plain_host(have))
    }
}

/// What a rule with a port says of a host without one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Port {
    Any,
    Same,
}

/// One spelling for all that mean the same host: `EVIL.com.`, `0x7f.1`, `[::ffff:127.0.0.1]`.
pub fn plain_host(host: &str) -> String {
    let lower = host.trim_end_matches('.').to_ascii_lowercase();
    if lower.contains(['*', '?']) {
        return lower;
    }
    let bracketed = match lower.contains(':') && !lower.starts_with('[') {
        true => format!("[{lower}]"),
        false => lower.clone(),
    };
    match url::Host::parse(&bracketed) {
        Ok(url::Host::Domain(name)) => name,
        Ok(url::Host::Ipv4(address)) => address.to_string(),
        Ok(url::Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => address.to_string(),
        },
        Err(_) => lower,
    }
}

pub fn host_and_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (host, Some(port))
        }
        Some(_) | None => (text, None),
    }
}

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
