//! Puts one layer of configuration over another.

use super::{Backend, Setup};

/// The project's document over the person's. A role of the project replaces that of the person; of a backend, each
/// model and each setting.
pub fn merge(user: Setup, project: Setup) -> Setup {
    let mut merged = user;
    for (name, over) in project.backend {
        let under = merged.backend.entry(name).or_default();
        put_over(under, over);
    }
    merged.roles.extend(project.roles);
    merged
}

fn put_over(under: &mut Backend, over: Backend) {
    under.models.extend(over.models);
    under.timeout_secs = over.timeout_secs.or(under.timeout_secs);
    under.fallback = over.fallback.or(under.fallback.take());
    under.adapter = over.adapter.or(under.adapter.take());
}
