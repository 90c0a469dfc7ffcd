//! Whether an address or a name leads to this machine, and to a server of ours on it. Names that only a server of names knows
//! are not looked up.

use ostler_files::read_small;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

/// This machine, by name.
const LOCAL_HOSTS: &[&str] = &["localhost", "localhost.localdomain", "ip6-localhost"];
/// Names that the system knows without asking anybody.
const HOSTS: &str = "/etc/hosts";
const MAX_HOSTS: u64 = 4 << 20;

/// Whether a connection to `address` could reach the server that listens on `server`.
pub fn leads_to(address: SocketAddr, server: SocketAddr) -> bool {
    address.port() == server.port()
        && (address.ip().to_canonical() == server.ip().to_canonical()
            || is_own_address(address.ip()))
}

/// Whether this part of an address, `user@host:port`, leads to this machine, where a login is at home: its names, those that
/// its table of hosts has for it, and its addresses. What is written oddly is taken for it.
pub fn is_this_machine(authority: &str) -> bool {
    let table = read_small(Path::new(HOSTS), MAX_HOSTS).unwrap_or_default();
    is_in_table(authority, &String::from_utf8_lossy(&table))
}

fn is_in_table(authority: &str, table: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.to_ascii_lowercase();
    // Within brackets stands an address, before the last colon a host.
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.');
    if let Ok(address) = name.parse::<IpAddr>() {
        let is_zero = |v4: Ipv4Addr| v4.is_loopback() || v4.octets()[0] == 0;
        let v4 = match address {
            IpAddr::V4(v4) => Some(v4),
            IpAddr::V6(v6) => v6.to_ipv4(),
        };
        return v4.is_some_and(is_zero) || is_own_address(address);
    }
    let is_number = |part: &str| {
        let hex = part.strip_prefix("0x").unwrap_or(part);
        part.chars().all(|c| c.is_ascii_digit())
            || (hex != part && hex.chars().all(|c| c.is_ascii_hexdigit()))
    };
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy().to_ascii_lowercase();
    let first = own.split('.').next().unwrap_or_default();
    // `[user@host]` and `[host` are read in more ways than one.
    authority.starts_with('[')
        || authority.contains(']') != authority.contains('[')
        || host.starts_with('[')
        || LOCAL_HOSTS.contains(&name)
        || name.ends_with(".localhost")
        || name.contains(['%', ':'])
        || name.split('.').all(is_number)
        || name == own
        || (!first.is_empty() && (name == first || name == format!("{first}.local")))
        || is_own_name(name, table)
}

/// Whether the table has an address of this machine for the name.
fn is_own_name(name: &str, table: &str) -> bool {
    let lines = table.lines().map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        line.split_whitespace()
    });
    let mut own = lines.filter_map(|mut words| {
        let address: IpAddr = words.next()?.parse().ok()?;
        let mut names = words.map(|word| word.trim_end_matches('.'));
        names
            .any(|word| word.eq_ignore_ascii_case(name))
            .then_some(address)
    });
    own.any(is_own_address)
}

/// Whether the address is one of this machine's.
fn is_own_address(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    if ip.is_loopback() || ip.is_unspecified() {
        return true;
    }
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Nothing is sent: the system only chooses the address that it would send from, which for an own one is itself.
    let chosen = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    chosen.is_ok_and(|chosen| chosen.ip().to_canonical() == ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_a_server_of_this_machine_is_known() {
        let server = "127.0.0.1:8787".parse().unwrap();
        for (address, expect) in [
            ("127.0.0.1:8787", true),
            ("127.8.8.8:8787", true),
            ("0.0.0.0:8787", true),
            ("[::1]:8787", true),
            ("[::]:8787", true),
            ("[::ffff:127.0.0.1]:8787", true),
            ("127.0.0.1:8788", false),
            ("192.0.2.1:8787", false),
            ("[2001:db8::1]:8787", false),
        ] {
            assert_eq!(
                leads_to(address.parse().unwrap(), server),
                expect,
                "{address}"
            );
        }
        let table = "127.0.1.1 box.example box # mine\n::1 six\n192.0.2.1 other\n";
        for (authority, expect) in [
            ("localhost", true),
            ("me@LocalHost.:22", true),
            ("me@127.0.0.1", true),
            ("127.1", true),
            ("0x7f000001", true),
            ("[me@localhost]", true),
            ("[me@localhost:22]", true),
            ("[localhost", true),
            ("me@[::1]:22", true),
            ("me@[::ffff:127.0.0.1]", true),
            ("app.localhost", true),
            ("me@box.example", true),
            ("BOX:2222", true),
            ("six", true),
            ("mine", false),
            ("other", false),
            ("git@a.example:22", false),
            ("me@192.0.2.1", false),
            ("[2001:db8::1]:22", false),
            ("me@[2001:db8::1]", false),
        ] {
            assert_eq!(is_in_table(authority, table), expect, "{authority}");
        }
        let wide = "192.0.2.7:80".parse().unwrap();
        assert!(leads_to("192.0.2.7:80".parse().unwrap(), wide));
    }
}
