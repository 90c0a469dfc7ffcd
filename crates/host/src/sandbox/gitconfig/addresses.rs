//! Where the settings of git may lead: to another machine, by a way that git knows itself, and into no branch of the person's.

/// Ways to reach a repository on another machine that git knows itself; any other is a program, or a path.
const SCHEMES: &[&str] = &["http", "https", "ssh", "git", "git+ssh", "ssh+git"];
/// Schemes whose other side runs hooks as whoever comes.
const BY_LOGIN: &[&str] = &["ssh", "git", "git+ssh", "ssh+git"];
/// This machine, by name.
const LOCAL_HOSTS: &[&str] = &["localhost", "localhost.localdomain", "ip6-localhost"];
/// Where a fetch may write: never to branches of the person's.
const FETCHED: &[&str] = &["refs/remotes/", "refs/tags/", "refs/notes/", "refs/pull/"];

/// Leads to another machine, by a way that git knows itself: no helper (`ext::command`), no option for ssh, no path.
pub(super) fn is_address(value: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    if value.contains(odd) || value.starts_with('-') || value.contains("::") {
        return false;
    }
    if let Some((scheme, rest)) = value.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let is_other = is_host(authority) && !is_this_machine(authority);
        let by_login = BY_LOGIN.contains(&scheme);
        return SCHEMES.contains(&scheme) && is_host(authority) && (is_other || !by_login);
    }
    // As git tells `host:path` from a path.
    let Some((host, path)) = value.split_once(':') else {
        return false;
    };
    !path.is_empty() && is_host(host) && !is_this_machine(host)
}

/// `user@host:port`, each of plain characters; none of them is an option.
fn is_host(authority: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "._-+~%:@[]!$&=".contains(c);
    let mut parts = authority.split('@');
    let host = parts.next_back().unwrap_or_default();
    !host.is_empty()
        && authority.chars().all(is_plain)
        && !host.starts_with('-')
        && parts.all(|part| !part.starts_with('-'))
}

/// Where a login would be at home here, and run hooks as the person. Odd ways to write a number are taken for it.
fn is_this_machine(authority: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.to_ascii_lowercase();
    // Within brackets stands an address, before the last colon a host.
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.');
    if let Ok(address) = name.parse::<std::net::IpAddr>() {
        let v4 = match address {
            std::net::IpAddr::V4(v4) => Some(v4),
            std::net::IpAddr::V6(v6) => v6.to_ipv4(),
        };
        return address.is_loopback()
            || address.is_unspecified()
            || v4.is_some_and(|v4| v4.is_loopback() || v4.octets()[0] == 0);
    }
    let is_number = |part: &str| {
        let hex = part.strip_prefix("0x").unwrap_or(part);
        part.chars().all(|c| c.is_ascii_digit())
            || (hex != part && hex.chars().all(|c| c.is_ascii_hexdigit()))
    };
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy().to_ascii_lowercase();
    let first = own.split('.').next().unwrap_or_default();
    LOCAL_HOSTS.contains(&name)
        || name.ends_with(".localhost")
        || name.contains(['%', ':'])
        || name.split('.').all(is_number)
        || name == own
        || (!first.is_empty() && (name == first || name == format!("{first}.local")))
}

/// Writes where fetched things lie, or nowhere.
pub(super) fn is_fetch(value: &str) -> bool {
    let Some((_, target)) = value.split_once(':') else {
        return true;
    };
    !target.contains("..") && FETCHED.iter().any(|place| target.starts_with(place))
}
