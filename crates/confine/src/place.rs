//! The sandbox of a command at another place: the policy is made here, of paths there, and the plan there, by the helper.
//! Nothing of this machine is looked at. What of it no layer holds is compared there, and put back when the command has ended.

use super::folders::Folders;
use super::git_settings::SettingsCopies;
use super::settings::SHARED_MEMORY;
use super::{Confined, Outcome, SandboxSettings, Services, Terms, Way, token};
use ostler_host::Command;
use ostler_host::proxy::{Reach, WayOut};
use ostler_host::sandbox::{Elsewhere, EmptyHome, Layer, Network, Plan, Policy, UnixSockets};
use ostler_wire::Word;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn prepare(
    services: &Services,
    command: &Command,
    (terms, reach): (&Terms, Reach),
    layer: Option<Layer>,
) -> Outcome {
    let Some(layer) = layer else {
        return Outcome::Unavailable(Word::PlaceNoSandbox.into());
    };
    let policy = policy(&services.sandbox, terms);
    let temp = match terms.read_only {
        true => SHARED_MEMORY,
        false => "/tmp",
    };
    // Other layers have no network that a proxy could stand in.
    let is_led = policy.network == Network::Proxy && layer == Layer::Namespaces;
    let way = is_led.then(|| WayOut {
        token: token(),
        reach,
        asked: Arc::default(),
    });
    let elsewhere = Elsewhere {
        policy: policy.clone(),
        way: way.clone(),
    };
    Outcome::Confined(Box::new(Confined {
        plan: Arc::new(Plan::at_place(elsewhere, layer)),
        policy,
        layer,
        guarded: None,
        terms: Arc::new(terms.clone()),
        way: way.map(Way::There),
        cwd: command.cwd.clone(),
        folders: Folders::at_place(temp.into()),
        copies: SettingsCopies::default(),
        services: services.clone(),
    }))
}

/// What one command may touch there.
fn policy(settings: &SandboxSettings, terms: &Terms) -> Policy {
    let mut policy = settings.policy.clone();
    let opened = |path: &PathBuf| {
        let is_sealed = settings
            .sealed
            .iter()
            .any(|sealed| path.starts_with(sealed));
        !is_sealed
            && terms
                .readable
                .iter()
                .any(|readable| path.starts_with(readable))
    };
    policy.forbid_read.retain(|path| !opened(path));
    let is_hidden = |path: &Path| policy.forbid_read.iter().any(|f| path.starts_with(f));
    let granted: Vec<PathBuf> = terms
        .writable
        .iter()
        .filter(|path| !is_hidden(path))
        .cloned()
        .collect();
    if !terms.read_only {
        policy.writable.extend(granted);
    }
    if terms.read_only || terms.sees_as_reader {
        let mut shown = settings.reader.shown.clone();
        shown.extend(policy.writable.iter().cloned());
        shown.extend(terms.readable.iter().chain(&terms.shown).cloned());
        policy.empty_home = settings.reader.home.clone().map(|home| EmptyHome {
            shown,
            home,
            others: settings.reader.others.clone(),
        });
        policy
            .forbid_read
            .extend(settings.reader.hidden.iter().cloned());
    }
    match terms.read_only {
        true => Policy {
            fixed: std::mem::take(&mut policy.writable),
            protect: Vec::new(),
            private: vec![SHARED_MEMORY.into()],
            sockets: Vec::new(),
            unix: UnixSockets::None,
            network: Network::Off,
            ..policy
        },
        false => policy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    fn settings() -> SandboxSettings {
        SandboxSettings {
            policy: Policy {
                writable: vec!["/p".into(), "/tmp".into()],
                forbid_read: vec!["/home/u/.ssh".into(), "/home/u/notes".into()],
                protect: vec!["/p/.git/hooks".into()],
                network: Network::Loopback,
                ..Policy::default()
            },
            sealed: vec!["/home/u/.ssh".into()],
            reader: Reader {
                home: Some("/home/u".into()),
                ..Reader::default()
            },
            ..SandboxSettings::default()
        }
    }

    #[test]
    fn a_reader_writes_nothing_and_sees_no_home() {
        let terms = Terms {
            read_only: true,
            writable: vec!["/granted".into()],
            ..Terms::default()
        };
        let policy = policy(&settings(), &terms);
        assert!(policy.writable.is_empty() && policy.protect.is_empty());
        assert_eq!(policy.network, Network::Off);
        assert_eq!(policy.fixed, [PathBuf::from("/p"), "/tmp".into()]);
        let home = policy.empty_home.unwrap();
        assert_eq!(home.home, Path::new("/home/u"));
        assert_eq!(home.shown, [PathBuf::from("/p"), "/tmp".into()]);
    }

    #[test]
    fn what_was_granted_opens_all_but_what_is_sealed() {
        let terms = Terms {
            writable: vec!["/home/u/out".into(), "/home/u/.ssh/x".into()],
            readable: vec!["/home/u".into()],
            ..Terms::default()
        };
        let policy = policy(&settings(), &terms);
        let expect = ["/p", "/tmp", "/home/u/out"].map(PathBuf::from);
        assert_eq!(policy.writable, expect);
        assert_eq!(policy.forbid_read, [PathBuf::from("/home/u/.ssh")]);
        assert_eq!(policy.protect, [PathBuf::from("/p/.git/hooks")]);
        assert_eq!(policy.network, Network::Loopback);
    }
}
