//! Frees the name of a tool from what servers leave around it of a model's notation: channels, namespaces, numbers,
//! brackets and quotes. Which tool a name means is not decided here.

/// Spaces of names that say nothing of where a tool runs. Others, such as `ssh`, may mean another tool of that name.
const NAMESPACES: [&str; 10] = [
    "functions",
    "function",
    "default_api",
    "tools",
    "tool",
    "api",
    "builtin",
    "builtins",
    "assistant",
    "namespace",
];
/// Before the name in a message of a channel.
const RECIPIENT: &str = "to=";
/// Begins a mark of a channel.
const CHANNEL: &str = "<|";

/// The name itself.
pub fn bare_name(name: &str) -> &str {
    let mut bare = name.trim();
    if let Some((before, after)) = bare.rsplit_once(RECIPIENT)
        && (before.is_empty() || before.ends_with(char::is_whitespace))
    {
        bare = after;
    }
    bare = bare.split(CHANNEL).next().unwrap_or(bare);
    bare = bare.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    bare = bare.strip_suffix("()").unwrap_or(bare);
    if let Some((before, number)) = bare.rsplit_once(':')
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        bare = before;
    }
    while let Some(after) = without_namespace(bare) {
        bare = after;
    }
    bare
}

fn without_namespace(name: &str) -> Option<&str> {
    let (space, after) = name.split_once(['.', ':', '/', ' '])?;
    let known = NAMESPACES
        .iter()
        .any(|known| space.eq_ignore_ascii_case(known));
    let after = after.trim_start_matches(':');
    (known && !after.is_empty()).then_some(after)
}
