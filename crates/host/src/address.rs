//! Whether an address leads to this machine, and to a server of ours on it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Whether a connection to `address` could reach the server that listens on `server`.
pub fn leads_to(address: SocketAddr, server: SocketAddr) -> bool {
    address.port() == server.port()
        && (address.ip().to_canonical() == server.ip().to_canonical()
            || is_own_address(address.ip()))
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
        let wide = "192.0.2.7:80".parse().unwrap();
        assert!(leads_to("192.0.2.7:80".parse().unwrap(), wide));
    }
}
