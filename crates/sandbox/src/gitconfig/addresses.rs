//! Where the settings of git may lead: to another machine, by a way that git knows itself, and into no branch of the person's.

use crate::address::is_this_machine;

/// Ways to reach a repository on another machine that git knows itself; any other is a program, or a path.
const SCHEMES: &[&str] = &["http", "https", "ssh", "git", "git+ssh", "ssh+git"];
/// Schemes whose other side runs hooks as whoever comes.
const BY_LOGIN: &[&str] = &["ssh", "git", "git+ssh", "ssh+git"];
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
    // As git tells `host:path` from a path. Brackets may hold a colon, and whatever stands in them.
    let end = value.find(']').unwrap_or_default();
    let (start, rest) = value.split_at(end);
    let Some((host, path)) = rest.split_once(':') else {
        return false;
    };
    let host = format!("{start}{host}");
    let host = host.as_str();
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

/// Writes where fetched things lie, or nowhere.
pub(super) fn is_fetch(value: &str) -> bool {
    let Some((_, target)) = value.split_once(':') else {
        return true;
    };
    !target.contains("..") && FETCHED.iter().any(|place| target.starts_with(place))
}
