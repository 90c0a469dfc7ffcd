//! Addresses of servers as text.

use url::Url;

/// A URL without its user, password, query and fragment, for messages.
pub(crate) fn without_secrets(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut url) => {
            url.set_query(None);
            url.set_fragment(None);
            // These fail only for addresses that can have no user.
            _ = url.set_username("");
            _ = url.set_password(None);
            url.into()
        }
        Err(_) => split_query(url).0.to_owned(),
    }
}

/// What stands before and after the first `?`.
pub(crate) fn split_query(text: &str) -> (&str, &str) {
    text.split_once('?').unwrap_or((text, ""))
}
