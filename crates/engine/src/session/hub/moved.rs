//! `/host`: a session goes on at another place, between turns. What it had open at the old one is ended first; the log says
//! where it is from then on, and the model is told with the next prompt.

use super::scope::{completer, scope_of};
use super::{LocalHub, show_start};
use crate::agents::children::Opener;
use crate::commands::{self, tasks};
use crate::confine;
use crate::hooks::Hooks;
use crate::interfaces::Person;
use crate::log::LogError;
use crate::sources::instructions;
use crate::state::session::{Link, Session};
use crate::state::settings::{Arrival, HubSettings};
use crate::tool::Scope;
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

impl Session {
    /// The place that a line names for the session to go on at.
    pub(in crate::session) fn named_place(&self, line: &str) -> Option<String> {
        let words = line.trim().strip_prefix(HOST)?;
        let is_command = words.starts_with(char::is_whitespace) && !words.trim().is_empty();
        (is_command && self.options.commands.places.is_some()).then(|| words.trim().to_owned())
    }

    /// Goes on there. Until the link stands and the log says so, everything is as it was.
    pub(in crate::session) async fn go_to(&mut self, words: &str) -> View {
        let language = self.options.run.language;
        if let Some(refused) = tasks::refusal(&self.inbox, language) {
            return refused;
        }
        let Some(places) = self.options.commands.places.clone() else {
            return View::Error(language.fill(Word::NoCommand, &[HOST]));
        };
        let person = self.state.settings.server_questions.clone();
        let person = person.map(|person| -> Arc<dyn Person> { Arc::new(person) });
        let stop = self.inbox.turn();
        let arrival = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => Err(language.say(Word::HostStopped).to_owned()),
                arrival = places.go(words, person) => arrival,
            }
        };
        let arrival = match self.inbox.attend(arrival).await {
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
        let language = self.options.run.language;
        let options = Arc::new(self.options.moved_to(settings));
        let is_same = options.place_name() == self.options.place_name()
            && options.paths.root == self.options.paths.root;
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
        self.begin()?;
        let left = self.state.services.sandbox.finish().await.into_iter();
        let left = left.map(|text| Body::Notice(Notice { text }));
        let settings = Settings {
            host: Some(host.to_owned()),
            root: Some(root),
            ..Settings::default()
        };
        let bodies = left.chain([Body::Settings(settings)]);
        self.state.commit(bodies.collect())?;
        self.settle_in(options);
        let found = Box::pin(confine::recover(self.recovery())).await;
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
        let state = &mut self.state;
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
        self.inbox
            .children
            .open_with((self.moving.opener)(options.clone()));
        self.inbox
            .answer_with(commands::answer_at_once, completer(&self.state));
        let notifier = self.state.notifier();
        self.inbox.notify_with(notifier);
        self.inbox.name_place(options.place_shown());
        self.moving.link.send_replace(link(&options));
        self.options = options;
        let facts = self.facts_there();
        self.opening.context = Some(facts.clone());
        self.facts = Some(facts);
    }

    /// Where the session is, and what the project there tells the model, for the next prompt.
    fn facts_there(&self) -> String {
        let options = &self.options;
        let mut text = LocalHub::environment_of(options);
        let homes = (
            options.paths.home.as_path(),
            options.paths.user_home.as_deref(),
        );
        let root = options.stand_in();
        let scope = Scope::new(root, options.paths.user_home.clone());
        let border = self.state.policy.instructions_border(&scope);
        let found = instructions::load(homes, root, &border, options.run.language);
        let known = &self.state.conversation.prefix.system;
        if !found.text.is_empty() && !known.contains(&found.text) {
            let there = options.run.redactor.text(found.text);
            text.push_str(&format!("\n<instructions>\n{there}\n</instructions>"));
        }
        text
    }
}
