//! Which addresses belong to this machine or its network: no call reaches them without a word of the person. Pure.

pub use ostler_host::proxy::is_public_address;

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
}
