//! What one call was judged to touch, and what that lets it do until it ends.

use super::leased::Leased;
use crate::{seal::Masks, session::Keeper};
use haft_core::{Allowance, Cancel, Command, Effects, Failure, FailureKind, RealPath, Secret, Touch, World};
use haft_policy::Policy;
use std::sync::Arc;

/// What one call was judged to touch, until it ends.
pub(crate) struct Lease {
    pub(super) terms: Terms,
    pub(super) over: Cancel,
}

/// What a lease lets its call do, and what goes with it.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) effects: Effects<RealPath>,
    pub(crate) purpose: Purpose,
    /// What they deny to be read is left out of trees.
    pub(crate) policies: Vec<Arc<Policy>>,
    /// Variables that every process of the call is given, whatever the tool says of them.
    pub(crate) given: Vec<(String, Secret)>,
    /// Variables that it gets on top of its own and of those.
    pub(crate) variables: Vec<(String, String)>,
    /// What its processes may do in the sandbox; none runs them outside.
    pub(crate) allowance: Option<Allowance>,
    /// What was masked in results, and must not be written as it was shown.
    pub(crate) masks: Masks,
    /// Remembers what is changed through it, for undo.
    pub(crate) keeper: Option<Arc<Keeper>>,
}

/// What a lease is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Looking only: nothing can be written, started or sent.
    Preview,
    /// A run.
    Run,
    /// The run of a tool whose nature it is to start processes.
    Program,
}

impl Terms {
    /// Just these effects, under these policies.
    pub(crate) fn new(effects: Effects<RealPath>, policies: Vec<Arc<Policy>>, purpose: Purpose) -> Self {
        Self {
            effects,
            purpose,
            policies,
            given: Vec::new(),
            variables: Vec::new(),
            allowance: None,
            masks: Masks::default(),
            keeper: None,
        }
    }
}

impl Lease {
    pub(crate) fn new(terms: Terms) -> Arc<Self> {
        Arc::new(Self { terms, over: Cancel::new() })
    }

    /// A lease on the same terms.
    pub(crate) fn again(&self) -> Arc<Self> {
        Self::new(self.terms.clone())
    }

    /// What must be said of the changes that were made through it.
    pub(crate) fn warning(&self) -> Option<String> {
        self.terms.keeper.as_ref().and_then(|keeper| keeper.warning())
    }

    /// Ends it; the handles refuse everything from now.
    pub(crate) fn end(&self) {
        self.over.fire();
    }

    /// Fires with its end.
    pub(super) fn ended(&self) -> Cancel {
        self.over.clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.is_fired()
    }

    /// The world through this lease.
    pub(crate) fn lend(self: &Arc<Self>, world: &World) -> World {
        World {
            files: Arc::new(Leased { lease: Arc::clone(self), inner: Arc::clone(&world.files) }),
            processes: Arc::new(Leased { lease: Arc::clone(self), inner: Arc::clone(&world.processes) }),
            http: Arc::new(Leased { lease: Arc::clone(self), inner: Arc::clone(&world.http) }),
            web: Arc::new(Leased { lease: Arc::clone(self), inner: Arc::clone(&world.web) }),
            ..world.clone()
        }
    }

    pub(super) fn denies(&self, at: &RealPath) -> bool {
        self.terms.policies.iter().any(|policy| policy.denies_read(at))
    }

    /// A tree was judged as a whole; what a rule keeps from being changed in it stays as it is.
    pub(super) fn denies_write(&self, at: &RealPath) -> bool {
        self.terms.policies.iter().any(|policy| policy.denies_write(at))
    }

    /// Whether a search through contents leaves it out.
    pub(super) fn keeps_from_search(&self, at: &RealPath) -> bool {
        self.terms.policies.iter().any(|policy| policy.keeps_from_search(at))
    }

    pub(super) fn alive(&self) -> Result<(), Failure> {
        if self.is_over() {
            return Err(Failure::new(
                FailureKind::Cancelled,
                "the call has ended; its handles no longer work",
            ));
        }
        Ok(())
    }

    pub(super) fn may_read(&self, at: &RealPath) -> Result<(), Failure> {
        self.alive()?;
        let judged = match &self.terms.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => touches.iter().any(|touch| match touch {
                Touch::Read(path) | Touch::Write(path) => path == at,
                // A tree was judged as a whole; what a rule denies in it is left out, not only by walks.
                Touch::ReadTree(path) | Touch::WriteTree(path) => {
                    path.covers(at) && (path == at || !self.denies(at))
                }
                Touch::Command(_) => true,
                Touch::Host(_)
                | Touch::Server(_)
                | Touch::Session(_)
                | Touch::Unconfined
                | Touch::Outlives => false,
            }),
        };
        if judged { Ok(()) } else { Err(undeclared("read", at)) }
    }

    /// Whether its content may be seen: what holds secrets was judged only where it was named for itself.
    pub(super) fn may_see(&self, at: &RealPath) -> Result<(), Failure> {
        self.may_read(at)?;
        let Effects::Only(touches) = &self.terms.effects else { return Ok(()) };
        let is_named = touches
            .iter()
            .any(|touch| matches!(touch, Touch::Command(_)) || touch.path().is_some_and(|path| path == at));
        if is_named || !self.keeps_from_search(at) {
            return Ok(());
        }
        let text = format!("{at} may hold secrets, so it is left out where whole folders are read");
        Err(Failure::new(FailureKind::Permission, text))
    }

    /// Whether everything in that folder may be looked at.
    pub(super) fn may_walk(&self, at: &RealPath) -> Result<(), Failure> {
        self.may_read(at)?;
        let judged = match &self.terms.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => touches.iter().any(|touch| match touch {
                Touch::ReadTree(path) | Touch::WriteTree(path) => path.covers(at),
                Touch::Command(_) => true,
                _ => false,
            }),
        };
        if judged { Ok(()) } else { Err(undeclared("walk through", at)) }
    }

    pub(super) fn may_write(&self, at: &RealPath) -> Result<(), Failure> {
        self.alive()?;
        if self.terms.purpose == Purpose::Preview {
            return Err(Failure::internal("a preview can't write").diagnose(format!("preview wrote {at}")));
        }
        let touches = match &self.terms.effects {
            Effects::Everything => return Ok(()),
            Effects::Delegated => return Err(undeclared("write", at)),
            Effects::Only(touches) => touches,
        };
        if touches.iter().any(|touch| matches!(touch, Touch::Write(path) if path == at)) {
            return Ok(());
        }
        let mut trees = touches
            .iter()
            .filter_map(|touch| if let Touch::WriteTree(path) = touch { Some(path) } else { None });
        match trees.find(|tree| tree.covers(at)) {
            None => Err(undeclared("write", at)),
            Some(_) if self.denies_write(at) => Err(denied(at)),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn may_start(&self) -> Result<(), Failure> {
        self.alive()?;
        let judged = match &self.terms.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => {
                self.terms.purpose == Purpose::Program
                    || touches.iter().any(|touch| matches!(touch, Touch::Command(_)))
            }
        };
        if judged && self.terms.purpose != Purpose::Preview {
            return Ok(());
        }
        Err(Failure::internal("this tool can't start processes").diagnose("its effects name no command"))
    }

    /// The command as it was judged, whatever the tool says of it.
    pub(super) fn bind(&self, command: Command) -> Command {
        let mut command = command;
        let given = self.terms.given.iter();
        command.env.extend(given.map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        command.env.extend(self.terms.variables.iter().cloned());
        command.confined.clone_from(&self.terms.allowance);
        command
    }

    /// Whether what it starts may go on after the session.
    pub(super) fn may_outlive(&self) -> Result<(), Failure> {
        if self.terms.effects.touches().contains(&Touch::Outlives) {
            return Ok(());
        }
        Err(Failure::internal("the tool didn't state that what it starts outlives the session")
            .diagnose("Tool::effects must name Touch::Outlives"))
    }

    /// Whether it may give input to a running command, which is judged as the line that it may be.
    pub(super) fn may_feed(&self) -> Result<(), Failure> {
        self.may_steer()?;
        let judged = match &self.terms.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => touches.iter().any(|touch| matches!(touch, Touch::Command(_))),
        };
        if judged {
            return Ok(());
        }
        Err(Failure::internal("this tool can't write to running commands")
            .diagnose("its effects name no command"))
    }

    /// Whether it may end running commands or let them go on.
    pub(super) fn may_steer(&self) -> Result<(), Failure> {
        self.alive()?;
        if self.terms.purpose == Purpose::Preview {
            return Err(
                Failure::internal("a preview can't change anything").diagnose("preview steered a job")
            );
        }
        Ok(())
    }

    pub(super) fn may_send(&self, url: &str) -> Result<(), Failure> {
        self.alive()?;
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or(host);
        let judged = match &self.terms.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => touches.iter().any(|touch| match touch {
                Touch::Host(judged) => {
                    let bare = host.rsplit_once(':').map_or(host, |(name, _)| name);
                    judged.as_ref() == host || judged.as_ref() == bare
                }
                Touch::Command(_) => true,
                _ => false,
            }),
        };
        if judged && self.terms.purpose != Purpose::Preview {
            return Ok(());
        }
        Err(Failure::internal(format!("the tool didn't state that it contacts {host}")))
    }

    /// Whether this very host and port was judged. A command's freedom doesn't reach this handle, since what a
    /// command contacts is not the tool's own doing.
    pub(super) fn may_fetch(&self, authority: &str) -> Result<(), Failure> {
        self.alive()?;
        if self.terms.purpose == Purpose::Preview {
            return Err(Failure::internal("a preview can't fetch anything")
                .diagnose(format!("preview fetched from {authority}")));
        }
        let judged = match &self.terms.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => touches.iter().any(
                |touch| matches!(touch, Touch::Host(host) if host.as_ref().eq_ignore_ascii_case(authority)),
            ),
        };
        if judged {
            return Ok(());
        }
        Err(Failure::internal(format!("the tool tried to contact {authority}, which it hadn't stated"))
            .diagnose("Tool::effects must name every host that Tool::run contacts, as WebUrl::authority"))
    }
}

pub(super) fn undeclared(what: &str, at: &RealPath) -> Failure {
    Failure::internal(format!("the tool tried to {what} {at}, which it hadn't stated"))
        .diagnose("Tool::effects must name every path that Tool::run uses")
}

pub(super) fn denied(at: &RealPath) -> Failure {
    let text = format!("a rule denies changing {at}; leave it out, or have the rule changed");
    Failure::new(FailureKind::Permission, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_policy::{Action, Mode, Rule, RuleOrigin};

    #[test]
    fn a_tree_is_not_written_where_a_rule_denies_it() {
        let at = |beneath: &str| RealPath::new("/w", beneath);
        let origin =
            RuleOrigin { workspace: "/w".to_owned(), folder: "/w".to_owned(), ..RuleOrigin::default() };
        let mut policy = Policy::new(Mode::Default, at(""));
        policy.rules.push(Rule::parse(Action::Deny, "edit(secret/**)", &origin).unwrap());
        let policies = vec![Arc::new(policy)];
        let lease =
            |touch| Lease::new(Terms::new(Effects::Only(vec![touch]), policies.clone(), Purpose::Run));
        let tree = lease(Touch::WriteTree(at("")));
        assert!(tree.may_write(&at("a")).is_ok());
        assert_eq!(tree.may_write(&at("secret/k")).unwrap_err().kind, FailureKind::Permission);
        assert_eq!(tree.may_write(&RealPath::new("/x", "a")).unwrap_err().kind, FailureKind::Internal);
        assert!(tree.may_read(&at("secret/k")).is_ok(), "only changing it is denied");
        assert!(lease(Touch::Write(at("b"))).may_write(&at("a")).is_err());
        assert!(lease(Touch::ReadTree(at(""))).may_write(&at("a")).is_err());
    }
}
