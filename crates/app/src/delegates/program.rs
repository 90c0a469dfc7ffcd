//! Other agents for calls of programs, which are no part of a session.

use super::Delegates;
use ostler_delegate::Delegation;
use ostler_delegate::services::Defaults;
use ostler_delegate::setup::Setup;
use ostler_engine::agents::foreign::ForeignLauncher;
use ostler_engine::roles::Roles;
use std::sync::Arc;

impl Delegates {
    /// The service for a call, with these roles, and how they are set up.
    pub fn for_call(
        &self,
        roles: &Roles,
        launcher: Arc<ForeignLauncher>,
        defaults: Defaults,
    ) -> (Delegation, Setup) {
        let setup = self.setup.with_roles(&roles.0);
        let launch = self.ground.launch(launcher);
        let delegation = self.delegation(setup.clone(), launch, None, defaults);
        (delegation, setup)
    }
}
