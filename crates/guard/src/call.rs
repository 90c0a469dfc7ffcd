//! A call as the rules see it: what it touches, by its own words and where that really lies.

use super::folders::tree_of;
use super::rules::Rule;
use super::shell::is_listed;
use super::{Scope, glob};
use ostler_wire::{Access, Mark, Segment, ToolDeclaration, ToolMark};
use std::path::{Component, Path, PathBuf};

/// Paths and what they are without symlinks, found by the caller: only those that differ. A whole tree (`folder/**`)
/// stands beside itself once the caller has looked into it, and beside each file in it that a rule restricts.
pub type Resolved = [(PathBuf, PathBuf)];

/// One call in question.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub tool: &'a ToolDeclaration,
    pub accesses: &'a [Access],
    pub scope: &'a Scope,
    pub resolved: &'a Resolved,
}

impl<'a> Call<'a> {
    /// The path as named, and as it is.
    pub(super) fn forms(&self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let real = self
            .resolved
            .iter()
            .filter(move |(literal, real)| literal == path && real != path);
        std::iter::once(path).chain(real.map(|(_, real)| real.as_path()))
    }

    /// The path as it is: what it leads to, or itself. Links that a pattern may name stand beside it.
    pub(super) fn real(&self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let mut others = self.forms(path).skip(1).peekable();
        let text = path.to_string_lossy();
        let is_elsewhere = match (tree_of(path), glob::is_pattern(&text)) {
            // What was found there by rules does not stand for all that lies below such a folder.
            (Some(folder), _) => others.peek().is_some() && !is_listed(&folder),
            (None, true) => {
                let mut beside = self.resolved.iter().filter(|(named, _)| named == path);
                beside
                    .next()
                    .is_some_and(|(_, real)| is_same_pattern(path, real))
            }
            (None, false) => others.peek().is_some(),
        };
        self.forms(path).skip(usize::from(is_elsewhere))
    }

    pub(super) fn runs(&self) -> bool {
        self.accesses.iter().any(|a| matches!(a, Access::Run(_)))
    }

    /// Real paths of the files that the call names.
    pub(super) fn touched(&self) -> Vec<PathBuf> {
        let mut touched = Vec::new();
        for access in self.accesses {
            if let (Access::Read(path) | Access::Write(path), false) = (access, self.runs()) {
                touched.extend(self.real(path).map(Path::to_owned));
            }
        }
        touched.dedup();
        touched
    }

    /// The same, where a tree that was looked into is only what was found there.
    pub(super) fn found(&self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let looked = tree_of(path).is_some()
            && self
                .resolved
                .iter()
                .any(|(literal, real)| literal == path && real == path);
        self.forms(path).skip(usize::from(looked))
    }

    /// Whether the call names this very file, or takes a folder away that holds it. Trees are looked into as they are
    /// walked, or by the sandbox.
    pub(super) fn opens(&self, file: &Path) -> bool {
        let takes_folders = !self.runs() && shows_what_was(self.tool);
        self.accesses.iter().any(|access| match access {
            Access::Read(path) => self.forms(path).any(|p| p == file),
            Access::Write(path) => self
                .forms(path)
                .any(|p| p == file || takes_folders && file.starts_with(p)),
            Access::Run(segments) => {
                let mut names = segments.iter().flat_map(|segment| &segment.names);
                names.any(|path| self.forms(path).any(|p| p == file))
            }
            Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => false,
        })
    }

    /// Whether the call changes this or something in it, or takes a folder away that holds it. Which folders a command
    /// takes along is for the sandbox to hold.
    pub(super) fn changes(&self, reserved: &Path) -> bool {
        let takes_folders = !self.runs() && shows_what_was(self.tool);
        self.accesses
            .iter()
            .filter_map(Access::write_path)
            .any(|path| {
                self.forms(path).any(|path| {
                    path.starts_with(reserved) || takes_folders && reserved.starts_with(path)
                })
            })
    }

    /// Whether a deny or ask rule speaks of any part of the call.
    pub(super) fn is_hit_by(&self, rule: &Rule) -> bool {
        let Call { tool, scope, .. } = *self;
        rule.covers_tool(tool)
            || self.accesses.iter().any(|access| match access {
                Access::Run(segments) => segments.iter().any(|segment| {
                    rule.touches_segment(segment)
                        || rule.is_about_paths()
                            && segment.names.iter().any(|path| {
                                self.found(path).any(|p| {
                                    rule.touches_read(p, scope) || rule.touches_write(p, scope)
                                })
                            })
                        || rule.is_about_paths()
                            && segment.is_unsure()
                            && names_path(rule, segment, scope)
                }),
                Access::Read(path) => self
                    .found(path)
                    .any(|p| rule.touches_read(p, scope) || rule.touches_tool_path(tool, p, scope)),
                Access::Write(path) => self.found(path).any(|p| {
                    rule.touches_write(p, scope)
                        || rule.touches_tool_path(tool, p, scope)
                        || (shows_what_was(tool) && rule.touches_read(p, scope))
                }),
                Access::Net(host) => rule.touches_host(host) || rule.touches_tool(tool, host),
                Access::Delegate { role, .. } => rule.touches_role(tool, role),
                Access::Mcp { .. } | Access::Job(_) | Access::Memory | Access::History => false,
            })
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.accesses.iter().any(|access| matches!(access, Access::Run(segments) if segments.iter().any(Segment::is_unsure)))
    }

    pub(super) fn effects(&self) -> Vec<String> {
        let mut out = Vec::new();
        for access in self.accesses {
            match access {
                Access::Read(path) => out.push(format!("read {}", self.scope.shown(path))),
                Access::Write(path) => out.push(format!("write {}", self.scope.shown(path))),
                Access::Net(host) => out.push(format!("net {host}")),
                Access::Mcp { server, tool, .. } => out.push(format!("mcp {server} {tool}")),
                Access::Job(id) => out.push(format!("job {id}")),
                Access::Delegate { role, .. } => out.push(format!("delegate {role}")),
                Access::Memory => out.push("memory".into()),
                Access::History => out.push("history of all projects".into()),
                Access::Run(segments) => {
                    for segment in segments {
                        out.push(format!("run {}", segment.text));
                        out.extend(segment.marks.iter().map(|mark| match mark {
                            Mark::Delete => "delete".to_owned(),
                            Mark::Privilege => "privilege".to_owned(),
                            Mark::Process => "process control".to_owned(),
                            Mark::Unsure => "unsure".to_owned(),
                        }));
                    }
                }
            }
        }
        out.dedup();
        out
    }
}

/// A path rule binds a text that names the path, where nothing better is known of the text.
fn names_path(rule: &Rule, segment: &Segment, scope: &Scope) -> bool {
    std::iter::once(&segment.text)
        .chain(&segment.also)
        .any(|text| {
            text.split(|c: char| c.is_whitespace() || ";|&<>(){}`\"'=,:".contains(c))
                .filter(|word| !word.is_empty())
                .any(|word| {
                    let path = scope.path(&word.replace('\\', ""));
                    rule.touches_read(&path, scope) || rule.touches_write(&path, scope)
                })
        })
}

/// Whether `real` is the folder of the pattern without links, with the same pattern behind it.
fn is_same_pattern(pattern: &Path, real: &Path) -> bool {
    let is_plain = |part: &Component<'_>| !glob::is_pattern(&part.as_os_str().to_string_lossy());
    let rest: PathBuf = pattern.components().skip_while(is_plain).collect();
    real != pattern && real.ends_with(&rest)
}

/// Changing a part of a file tells what was there, and moving one puts it where it may be read; replacing it does neither.
pub(super) fn shows_what_was(tool: &ToolDeclaration) -> bool {
    !tool.has(ToolMark::ReplacesWhole)
}
