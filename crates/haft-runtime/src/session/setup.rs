//! The parts that a host gives a session.

use super::{Grants, JOBS_MAX, Pins, Renewal, Session};
use crate::{
    catalogue::{Catalogue, ToolSet},
    find::Deferral,
    hooks::Hooks,
};
use haft_core::{Approver, Clock, NoApprover, StateFolder};
use haft_policy::{Policy, secrets::Masker};
use std::sync::Arc;

/// What a session is made of.
pub struct SessionSetup {
    /// Its id: letters, digits, `-` and `_`.
    pub id: String,
    /// The session above, for a subagent: its policy holds too.
    pub parent: Option<Arc<Session>>,
    /// The tools of the location.
    pub catalogue: Catalogue,
    /// Which of them it sees.
    pub tools: ToolSet,
    /// When definitions of tools that leave it to haft are sent.
    pub deferral: Deferral,
    /// How many tokens the model takes at all, where that is known: in a small window fewer definitions are sent.
    pub window_tokens: Option<u64>,
    /// Mode, rules, grants.
    pub policy: Policy,
    /// Who answers questions.
    pub approver: Arc<dyn Approver>,
    /// Where "always" is saved; without it, answers hold once.
    pub grants: Option<Arc<dyn Grants>>,
    /// Where log and long results go; without it nothing is kept.
    pub state: Option<Arc<dyn StateFolder>>,
    /// What is asked before and after calls.
    pub hooks: Arc<Hooks>,
    /// Which definitions of foreign tools the user has let run; without it all of them count as known.
    pub pins: Option<Arc<dyn Pins>>,
    /// What the policy is kept in step with, looked at before each call; without it, it stays as it is.
    pub renewal: Option<Arc<dyn Renewal>>,
    /// Wall time for the log.
    pub clock: Arc<dyn Clock>,
    /// What takes secrets out of results, progress and the log; without it they stay as they are.
    pub masker: Option<Arc<Masker>>,
    /// How many jobs there may be at once.
    pub jobs_max: usize,
    /// Whether the session goes on after a call, so that a job can be looked at later. Not for a process that makes
    /// one call: it starts no job but one that is to be kept.
    pub lasting: bool,
}

impl SessionSetup {
    /// A session in memory with nobody to ask.
    pub fn new(id: impl Into<String>, catalogue: Catalogue, policy: Policy, clock: Arc<dyn Clock>) -> Self {
        Self {
            id: id.into(),
            parent: None,
            catalogue,
            tools: ToolSet::all(),
            deferral: Deferral::default(),
            window_tokens: None,
            policy,
            approver: Arc::new(NoApprover),
            grants: None,
            state: None,
            hooks: Arc::default(),
            pins: None,
            renewal: None,
            clock,
            masker: None,
            jobs_max: JOBS_MAX,
            lasting: true,
        }
    }
}
