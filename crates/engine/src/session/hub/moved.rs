//! `/host`: a session goes on at another place, between turns. What it had open at the old one is ended first; the log says
//! where it is from then on, and the model is told with the next prompt.

use super::scope::{completer, scope_of};
use super::{LocalHub, show_start};
use crate::commands::{self, tasks};
use crate::log::LogError;
use crate::session::SessionTask;
use crate::tool::Scope;
use ostler_context::interfaces::Person;
use ostler_sources::instructions;
use ostler_state::agents::children::Opener;
use ostler_state::hooks::Hooks;
use ostler_state::session::Link;
use ostler_state::settings::{Arrival, HubSettings};
use ostler_wire::{Body, Deed, Notice, Settings, View, Word};
use std::sync::Arc;

/// The command.
const HOST: &str = "host";

/// The link that a session with these settings depends on.
pub(super) fn link(options: &HubSettings) -> Option<Link> {
    let place = options.toolbox.elsewhere.as_ref()?;
    Some((place.name.clone(), place.link.clone()?))
}

/// Opens sub-agents as this hub opens sessions.
pub(super) fn opener(hub: LocalHub) -> Opener {
    Box::new(move |child| hub.open_child(child))
}

/// The same with other settings.
pub(super) fn openers(hub: LocalHub) -> Box<dyn Fn(Arc<HubSettings>) -> Opener + Send + Sync> {
    Box::new(move |options| {
        let mut hub = hub.clone();
        hub.options = options;
        opener(hub)
    })
}

impl SessionTask {
    /// The place that a line names for the session to go on at.
    pub(in crate::session) fn named_place(&self, line: &str) -> Option<String> {
        let words = line.trim().strip_prefix(HOST)?;
        let is_command = words.starts_with(char::is_whitespace) && !words.trim().is_empty();
        (is_command && self.session.options.commands.places.is_some())
            .then(|| words.trim().to_owned())
    }

    /// Goes on there. Until the link stands and the log says so, everything is as it was.
    pub(in crate::session) async fn go_to(&mut self, words: &str) -> View {
        let language = self.session.options.run.language;
        if let Some(refused) = tasks::refusal(&self.session.inbox, language) {
            return refused;
        }
        let Some(places) = self.session.options.commands.places.clone() else {
            return View::Error(language.fill(Word::NoCommand, &[HOST]));
        };
        let person = self.session.state.settings.server_questions.clone();
        let person = person.map(|person| -> Arc<dyn Person> { Arc::new(person) });
        let stop = self.session.inbox.turn();
        let arrival = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => Err(language.say(Word::HostStopped).to_owned()),
                arrival = places.go(words, person) => arrival,
            }
        };
        let arrival = match self.session.inbox.attend(arrival).await {
            Ok(Ok(arrival)) => arrival,
            Ok(Err(why)) => return View::Error(why),
            Err(_) => return View::Error(language.say(Word::HostStopped).to_owned()),
        };
        match self.arrive(arrival).await {
            Ok(view) => view,
            Err(error) => View::Error(error.say(language)),
        }
    }

    async fn arrive(&mut self, arrival: Arrival) -> Result<View, LogError> {
        let Arrival { settings, notes } = arrival;
        let language = self.session.options.run.language;
        let options = Arc::new(self.session.options.moved_to(settings));
        let is_same = options.place_name() == self.session.options.place_name()
            && options.paths.root == self.session.options.paths.root;
        let (host, root) = (
            options.place_name(),
            options.paths.root.display().to_string(),
        );
        let shown = options.place_shown();
        let shown = shown.as_deref().unwrap_or(language.say(Word::HostHere));
        let said = language.fill(Word::HostIs, &[shown, &root]);
        if is_same {
            return Ok(View::Text(said));
        }
        self.session.begin()?;
        let left = self
            .session
            .state
            .services
            .sandbox
            .finish()
            .await
            .into_iter();
        let left = left.map(|text| Body::Notice(Notice { text }));
        let settings = Settings {
            host: Some(host.to_owned()),
            root: Some(root),
            ..Settings::default()
        };
        let bodies = left.chain([Body::Settings(settings)]);
        self.session.state.commit(bodies.collect())?;
        self.settle_in(options);
        let found = Box::pin(ostler_confine::recover(self.recovery())).await;
        let notes = found.into_iter().chain(notes);
        let lines: Vec<String> = notes.collect();
        Ok(match lines.is_empty() {
            // An entry has said it.
            true => View::Do(Deed::Compose(String::new())),
            false => View::Text(lines.join("\n")),
        })
    }

    /// Takes what is about the place from these settings. Of what the person allowed for the session nothing holds there.
    fn settle_in(&mut self, options: Arc<HubSettings>) {
        let state = &mut self.session.state;
        state.policy = Arc::new(options.permissions.policy.clone());
        state.permissions.forget_grants();
        state.scope = Arc::new(scope_of(&options, state.services.artifacts.dir()));
        state.services.move_to(&options);
        let transcript = state.settings.hooks.transcript();
        state.settings.hooks = Hooks::new(options.hooks.clone(), transcript);
        state.extensions.extras.clone_from(&options.commands.extras);
        state
            .extensions
            .rule_watch
            .clone_from(&options.permissions.watch);
        state.open_own_files();
        show_start(state, &options, &state.conversation.model.reference());
        self.session
            .inbox
            .children
            .open_with((self.session.moving.opener)(options.clone()));
        self.session
            .inbox
            .answer_with(commands::answer_at_once, completer(&self.session.state));
        let notifier = self.session.state.notifier();
        self.session.inbox.notify_with(notifier);
        self.session.inbox.name_place(options.place_shown());
        self.session.moving.link.send_replace(link(&options));
        self.session.options = options;
        let facts = self.facts_there();
        self.session.opening.context = Some(facts.clone());
        self.session.facts = Some(facts);
    }

    /// Where the session is, and what the project there tells the model, for the next prompt.
    fn facts_there(&self) -> String {
        let options = &self.session.options;
        let mut text = LocalHub::environment_of(options);
        let homes = (
            options.paths.home.as_path(),
            options.paths.user_home.as_deref(),
        );
        let root = options.stand_in();
        let scope = Scope::new(root, options.paths.user_home.clone());
        let border = self.session.state.policy.instructions_border(&scope);
        let found = instructions::load(homes, root, &border, options.run.language);
        let known = &self.session.state.conversation.prefix.system;
        if !found.text.is_empty() && !known.contains(&found.text) {
            let there = options.run.redactor.text(found.text);
            text.push_str(&format!("\n<instructions>\n{there}\n</instructions>"));
        }
        text
    }
}
