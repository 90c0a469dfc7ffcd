//! What can go wrong with a file, as codes and sentences for the model. The codes differ from tool to tool by contract.

use crate::tool::{Context, FileServices, ToolError};
use ostler_host::Error;
use std::path::Path;

/// Names of a folder that are compared with one that is missing.
const MAX_NAMES: usize = 2000;
const MAX_SUGGESTED: usize = 3;
/// Likeness of names worth telling.
const MIN_LIKENESS: f32 = 0.6;

#[derive(Debug)]
pub enum Fault {
    Host(Error),
    Timeout,
    Interrupted,
}

/// The codes of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    Read,
    Edit,
    Write,
}

impl Faults {
    /// The error of a tool that was to work on `path`.
    pub async fn tell(self, cx: &Context<FileServices>, path: &Path, fault: Fault) -> ToolError {
        let shown = cx.scope.shown(path);
        let code = self.code(&fault);
        let error = match fault {
            Fault::Timeout => {
                return ToolError::new(
                    code,
                    format!("{shown} did not answer in time. Try another way, or later."),
                );
            }
            Fault::Interrupted => return ToolError::new(code, "Interrupted."),
            Fault::Host(error) => error,
        };
        let hint = match (self, error.code()) {
            (_, "not_found") => match near(cx, path).await {
                Some(names) => format!(" Did you mean {names}?"),
                None if self == Faults::Edit => {
                    " Use write_file to make it, or glob to find it.".into()
                }
                None => " Use glob to find it.".into(),
            },
            (_, "outside") => " A call that names this path asks the person for it.".into(),
            (Faults::Read, "is_directory") => " Use ls.".into(),
            (Faults::Read | Faults::Edit | Faults::Write, _) => String::new(),
        };
        ToolError::new(code, format!("{error}.{hint}"))
    }

    fn code(self, fault: &Fault) -> &'static str {
        let error = match (self, fault) {
            (Faults::Read | Faults::Edit | Faults::Write, Fault::Interrupted) => {
                return "interrupted";
            }
            (Faults::Read, Fault::Timeout) => return "timeout",
            (Faults::Edit, Fault::Timeout) => return "read_error",
            (Faults::Write, Fault::Timeout) => return "write_error",
            (Faults::Read | Faults::Edit | Faults::Write, Fault::Host(error)) => error,
        };
        match (self, error.code()) {
            (Faults::Read, code @ ("not_found" | "is_directory" | "forbidden" | "outside")) => code,
            (Faults::Read, _) => "read_error",
            (Faults::Edit, code @ ("read_error" | "write_error")) => code,
            (Faults::Edit, "mkdir_error") => "write_error",
            (Faults::Edit, _) => "path_error",
            (Faults::Write, "mkdir_error") => "mkdir_error",
            (Faults::Write, "path_error") if matches!(error, Error::NotDirectory { .. }) => {
                "mkdir_error"
            }
            (Faults::Write, "path_error") => "invalid_input",
            (Faults::Write, _) => "write_error",
        }
    }
}

/// Names in the same folder that the missing one may be meant for.
async fn near(cx: &Context<FileServices>, path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent()?;
    let listing = super::answered(cx.host.list(folder, MAX_NAMES, &cx.guard.border))
        .await
        .ok()?;
    let names: Vec<&str> = listing
        .entries
        .iter()
        .filter_map(|entry| entry.name.to_str())
        .collect();
    let found = similar::get_close_matches(wanted, &names, MAX_SUGGESTED, MIN_LIKENESS);
    let shown: Vec<String> = found
        .iter()
        .map(|name| cx.scope.shown(&folder.join(name)))
        .collect();
    match shown.split_last()? {
        (only, []) => Some(only.clone()),
        (last, others) => Some(format!("{} or {last}", others.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use std::io;

    #[tokio::test]
    async fn every_tool_has_its_own_codes() {
        let bench = Bench::new();
        let cx = bench.narrow("test");
        let path = || bench.path("f");
        let host = |error: Error| Fault::Host(error);
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        for (fault, codes) in [
            (
                &(|| Fault::Timeout) as &dyn Fn() -> Fault,
                ["timeout", "read_error", "write_error"],
            ),
            (&|| Fault::Interrupted, ["interrupted"; 3]),
            (
                &|| host(Error::NotFound { path: path() }),
                ["not_found", "path_error", "write_error"],
            ),
            (
                &|| host(Error::IsDirectory { path: path() }),
                ["is_directory", "path_error", "write_error"],
            ),
            (
                &|| host(Error::NotRegular { path: path() }),
                ["forbidden", "path_error", "write_error"],
            ),
            (
                &|| host(Error::NotDirectory { path: path() }),
                ["read_error", "path_error", "mkdir_error"],
            ),
            (
                &|| host(Error::BadPath { path: path() }),
                ["read_error", "path_error", "invalid_input"],
            ),
            (
                &|| {
                    host(Error::Read {
                        path: path(),
                        source: full(),
                    })
                },
                ["read_error", "read_error", "write_error"],
            ),
            (
                &|| {
                    host(Error::Write {
                        path: path(),
                        source: full(),
                    })
                },
                ["read_error", "write_error", "write_error"],
            ),
            (
                &|| {
                    host(Error::MakeDirectory {
                        path: path(),
                        source: full(),
                    })
                },
                ["read_error", "write_error", "mkdir_error"],
            ),
        ] {
            for (faults, code) in [Faults::Read, Faults::Edit, Faults::Write]
                .into_iter()
                .zip(codes)
            {
                let told = faults.tell(&cx, &path(), fault()).await;
                assert_eq!(told.code, code, "{faults:?} {told:?}");
                assert!(told.message.ends_with(['.', '?']), "{told:?}");
            }
        }
    }
}
