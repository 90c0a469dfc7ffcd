//! The smallest rules that would allow a call the next time, as they would be saved. Where none can be written that
//! allows no more than was seen, there are none. It saves and decides nothing.

use super::Scope;
use super::shell::PREFIXES;
use super::{Call, Policy, Rule, Rules, Verdict};
use ostler_wire::{Access, Mark, Segment, ToolDeclaration};
use std::path::Path;

/// Rules for one call; who needs more is doing something that should be looked at each time.
const MAX_RULES: usize = 8;
const MAX_SPEC: usize = 400;

/// Writing here changes what is run or what is asked the next time.
const NEVER: &[&str] = &[
    ".git",
    ".ostler",
    "ostler.toml",
    ".mcp.json",
    ".ssh",
    ".gnupg",
    ".envrc",
    ".vscode",
];

/// Environment that makes a command another one.
const FOREIGN_ENV: &[&str] = &[
    "BASH_ENV", "DYLD_", "EDITOR", "ENV", "GIT_", "IFS", "LD_", "NODE_", "PAGER", "PATH", "PERL",
    "PYTHON", "RUBY", "RUSTC", "SHELL", "VISUAL",
];

/// Rules in their canonical form that together allow this call; empty when that cannot be said safely.
pub fn propose(tool: &ToolDeclaration, accesses: &[Access], scope: &Scope) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    let mut add = |rule: String| {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    };
    let shell = accesses.iter().any(|a| matches!(a, Access::Run(_)));
    let server = accesses.iter().find_map(|access| {
        let Access::Mcp { server, tool, .. } = access else {
            return None;
        };
        Some((server, tool))
    });
    if let Some((server, name)) = server {
        add(format!("mcp__{server}__{name}"));
    }
    // A reader's redirection needs a word all the same.
    let wanted = |a: &&Access| a.needs_permission() || matches!(a, Access::Run(_));
    for access in accesses.iter().filter(wanted) {
        let rule = match access {
            Access::Run(segments) => match of_segments(segments, scope) {
                Some(found) => {
                    found.into_iter().for_each(&mut add);
                    continue;
                }
                None => return Vec::new(),
            },
            Access::Mcp { .. } => continue,
            // Whoever allows the command allows what its words cause; redirections were seen with it.
            Access::Write(_) | Access::Net(_) if shell || server.is_some() => continue,
            Access::Write(path) => edit(path, scope),
            Access::Net(host) => net(host),
            Access::Delegate { role, .. } => is_literal(role).then(|| format!("Delegate({role})")),
            Access::History => Some(tool.name.clone().into_owned()),
            Access::Read(_) | Access::Job(_) | Access::Memory => None,
        };
        match rule {
            Some(rule) => add(rule),
            None => return Vec::new(),
        }
    }
    if rules.len() > MAX_RULES || !suffice(&rules, tool, accesses, scope) {
        return Vec::new();
    }
    rules
}

/// What is proposed must read back as itself and do what it promises.
fn suffice(rules: &[String], tool: &ToolDeclaration, accesses: &[Access], scope: &Scope) -> bool {
    let parsed = rules.iter().map(|text| {
        let rule = Rule::parse(text, "proposal").ok()?;
        (rule.canonical() == *text).then_some(rule)
    });
    let Some(allow) = parsed.collect::<Option<Vec<Rule>>>() else {
        return false;
    };
    let policy = Policy {
        rules: Rules {
            allow,
            ..Rules::default()
        },
        ..Policy::default()
    };
    let call = Call {
        tool,
        accesses,
        scope,
        resolved: &[],
    };
    !rules.is_empty() && policy.decide(call).verdict == Verdict::Allow
}

/// Rules that allow the commands of a call word for word, and their redirections, where the policy does not yet.
pub fn exact_commands(policy: &Policy, accesses: &[Access], scope: &Scope) -> Option<Vec<String>> {
    let mut rules = Vec::new();
    let allows = |segment: &Segment| policy.rules.allow.iter().any(|r| r.allows_segment(segment));
    let segments = accesses.iter().flat_map(|access| match access {
        Access::Run(segments) => segments.as_slice(),
        Access::Read(_)
        | Access::Write(_)
        | Access::Net(_)
        | Access::Mcp { .. }
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::Memory
        | Access::History => &[],
    });
    for segment in segments {
        let reads = |access: &Access| matches!(access, Access::Read(path) if !path.starts_with(&scope.root));
        if (!segment.read_only || segment.does.iter().any(reads)) && !allows(segment) {
            rules.push(exact_command(segment).filter(|_| segment.plain)?);
        }
        rules.extend(of_needs(segment, |path| literal_edit(path, scope))?);
    }
    Some(rules)
}

fn of_segments(segments: &[Segment], scope: &Scope) -> Option<Vec<String>> {
    let mut rules = Vec::new();
    for segment in segments {
        if !segment.read_only {
            rules.push(command(segment)?);
        }
        rules.extend(of_needs(segment, |path| edit(path, scope))?);
    }
    Some(rules)
}

/// Rules for what a command does to files and hosts; none where a rule cannot say it.
fn of_needs(segment: &Segment, edit: impl Fn(&Path) -> Option<String>) -> Option<Vec<String>> {
    let needs = segment.needs.iter().filter(|n| n.needs_permission());
    let rules = needs.map(|need| match need {
        Access::Write(path) => edit(path),
        Access::Net(host) => net(host),
        Access::Read(_)
        | Access::Run(_)
        | Access::Mcp { .. }
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::Memory
        | Access::History => None,
    });
    rules.collect()
}

/// A rule for this very file.
fn literal_edit(path: &Path, scope: &Scope) -> Option<String> {
    let text = match path.strip_prefix(&scope.root) {
        Ok(below) => format!("./{}", below.to_str()?),
        Err(_) => path.to_str()?.to_owned(),
    };
    is_literal(&text).then(|| format!("Edit({text})"))
}

/// A prefix where more words do no more harm, else exactly this command.
fn command(segment: &Segment) -> Option<String> {
    if !segment.plain {
        return None;
    }
    let plain = segment.marks.is_empty();
    let words = |prefix: &&str| {
        let named: Option<Vec<&str>> = prefix
            .split(' ')
            .zip(
                segment
                    .argv
                    .iter()
                    .map(String::as_str)
                    .chain(std::iter::repeat("")),
            )
            .map(|(want, have)| match want {
                "_" => is_name(have).then_some(have),
                want => (want == have).then_some(have),
            })
            .collect();
        named.map(|words| words.join(" "))
    };
    if let Some(prefix) = PREFIXES.iter().find_map(words).filter(|_| plain) {
        return Some(format!("Bash({prefix}:*)"));
    }
    let foreign = |word: &String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| FOREIGN_ENV.iter().any(|bad| name.starts_with(bad)))
    };
    let leads = segment.argv.iter().take_while(|word| word.contains('='));
    let is_safe = !leads.clone().any(foreign)
        && !segment.text.ends_with('/')
        && !segment.marks.contains(&Mark::Privilege)
        && !segment.marks.contains(&Mark::Process);
    exact_command(segment).filter(|_| is_safe)
}

/// The rule for this very command, where one can say it.
fn exact_command(segment: &Segment) -> Option<String> {
    // The words of an exact rule are told apart by blanks alone.
    let apart = |word: &String| !word.is_empty() && !word.contains(char::is_whitespace);
    // What ends with a slash is a folder in a rule about paths; in a command it is a word as any other.
    let text = format!("{}.", segment.text);
    let exact =
        segment.argv.iter().all(apart) && is_literal(&text) && !segment.text.ends_with(":*");
    exact.then(|| format!("Bash({})", segment.text))
}

fn edit(path: &Path, scope: &Scope) -> Option<String> {
    let hidden = |path: &Path| {
        path.components()
            .any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
    };
    let guarded = path
        .components()
        .any(|part| NEVER.iter().any(|name| part.as_os_str() == *name));
    let text = match path.strip_prefix(&scope.root) {
        Ok(rest) if rest.as_os_str().is_empty() => return None,
        Ok(rest) => format!("./{}", rest.to_str()?),
        // Hidden files of a home are read by programs when they start.
        Err(_) if hidden(path) => return None,
        Err(_) => path.to_str()?.to_owned(),
    };
    (!guarded && is_literal(&text)).then(|| format!("Edit({text})"))
}

fn net(host: &str) -> Option<String> {
    (host != "*" && is_literal(host)).then(|| format!("Net({host})"))
}

/// Means itself in a rule: no pattern, nothing that is cut off or cannot be seen.
pub(super) fn is_literal(text: &str) -> bool {
    text.len() <= MAX_SPEC
        && text.trim() == text
        && !text.is_empty()
        && !text.ends_with('/')
        && !text.contains(|c: char| "*?[]".contains(c) || c.is_control())
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-:.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Place, accesses, analyse};
    use crate::testing::tool;

    fn scope() -> Scope {
        Scope::new("/repo", Some("/home/me".into()))
    }

    fn of(command: &str) -> Vec<String> {
        let scope = scope();
        let place = Place {
            cwd: scope.root.clone(),
            root: &scope.root,
            home: scope.user_home.as_deref(),
            open: &[],
        };
        propose(tool("bash"), &accesses(analyse(command, &place)), &scope)
    }

    #[test]
    fn commands() {
        for (command, expect) in [
            ("cargo test --all", &["Bash(cargo test:*)"][..]),
            ("cargo testing", &["Bash(cargo testing)"]),
            ("npm test", &["Bash(npm test:*)"]),
            ("npm run build -- --watch", &["Bash(npm run build:*)"]),
            ("npm run -s", &[]),
            ("npm run", &[]),
            ("git commit -m 'a b'", &["Bash(git commit:*)"]),
            ("git push origin main", &["Bash(git push origin main)"]),
            ("make -j4 all", &["Bash(make:*)"]),
            ("make SHELL=x", &[]),
            ("go test -exec x ./...", &[]),
            ("mkdir -p out", &["Bash(mkdir -p out)"]),
            ("rm -rf build", &["Bash(rm -rf build)"]),
            ("rm -rf *", &[]),
            ("touch 'a b'", &[]),
            ("touch a b", &["Bash(touch a b)"]),
            ("python3 gen.py", &["Bash(python3 gen.py)"]),
            ("python3 -c 'print(1)'", &["Bash(python3 -c print(1))"]),
            ("python3 -c 'print( 1)'", &[]),
            ("sh x.sh", &[]),
            ("sudo make", &[]),
            ("nohup make", &[]),
            ("kill 1", &[]),
            ("./run", &[]),
            ("$X a", &[]),
            ("cargo test $(x)", &[]),
            ("FOO=1 cargo test", &["Bash(FOO=1 cargo test)"]),
            ("PATH=. cargo test", &[]),
            ("ls", &[]),
            ("ls && make", &["Bash(make:*)"]),
            ("make > out.log 2>&1", &["Bash(make:*)", "Edit(./out.log)"]),
            ("echo a > a.txt", &["Edit(./a.txt)"]),
            ("echo a > .git/config", &[]),
            ("echo a > ~/.bashrc", &[]),
            ("echo a > /tmp/x", &["Edit(/tmp/x)"]),
            (
                "cd sub && npm test && git add -A",
                &["Bash(npm test:*)", "Bash(git add:*)"],
            ),
            (
                "curl -s https://a.example/x",
                &["Bash(curl -s https://a.example/x)"],
            ),
        ] {
            assert_eq!(of(command), expect, "{command}");
        }
    }

    #[test]
    fn other_calls() {
        let write = |path: &str| Access::Write(path.into());
        for (name, access, expect) in [
            (
                "edit_file",
                write("/repo/src/a.rs"),
                &["Edit(./src/a.rs)"][..],
            ),
            ("edit_file", write("/repo"), &[]),
            ("edit_file", write("/repo/[id].tsx"), &[]),
            ("edit_file", write("/repo/ostler.toml"), &[]),
            ("edit_file", write("/etc/hosts"), &["Edit(/etc/hosts)"]),
            (
                "fetch_url",
                Access::Net("a.example:8080".into()),
                &["Net(a.example:8080)"],
            ),
            ("fetch_url", Access::Net("*".into()), &[]),
            ("remember", Access::Memory, &[]),
            (
                "delegate",
                Access::Delegate {
                    role: "review".into(),
                    read_only: false,
                },
                &["Delegate(review)"],
            ),
            (
                "mcp__files__write",
                Access::Mcp {
                    server: "files".into(),
                    tool: "write".into(),
                    read_only: false,
                },
                &["mcp__files__write"],
            ),
        ] {
            assert_eq!(propose(tool(name), &[access], &scope()), expect, "{name}");
        }
    }
}
