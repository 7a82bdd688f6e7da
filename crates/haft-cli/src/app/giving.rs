//! A call whose processes get variables that no other tool's get.

use super::Keys;
use haft_core::{
    Bound, BoxFuture, Cancel, Command, Confined, Credential, Cx, Effects, Exit, Failure, Flags, Output,
    OwnCheck, Preview, Processes, Secret, SessionView, Shell, Stdio,
};
use std::sync::Arc;

/// A call that is given credentials by variable.
pub(super) struct Giving {
    bound: Box<dyn Bound>,
    given: Arc<[(String, Credential)]>,
    keys: Keys,
}

impl Giving {
    pub(super) fn new(bound: Box<dyn Bound>, given: Arc<[(String, Credential)]>, keys: Keys) -> Self {
        Self { bound, given, keys }
    }
}

impl Bound for Giving {
    fn effects(&self, session: &dyn SessionView) -> Effects {
        self.bound.effects(session)
    }

    fn flags(&self) -> Flags {
        self.bound.flags()
    }

    fn check(&self, session: &dyn SessionView) -> Option<OwnCheck> {
        self.bound.check(session)
    }

    fn preview<'a>(&'a self, cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        self.bound.preview(cx)
    }

    fn run(self: Box<Self>, mut cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        let mut env = Vec::with_capacity(self.given.len());
        for (name, credential) in self.given.iter() {
            match self.keys.find(credential) {
                Ok(value) => env.push((name.clone(), value)),
                Err(failure) => return Box::pin(std::future::ready(Err(failure))),
            }
        }
        cx.world.processes = Arc::new(Given { inner: Arc::clone(&cx.world.processes), env });
        self.bound.run(cx)
    }
}

/// Processes that get these variables besides.
struct Given {
    inner: Arc<dyn Processes>,
    env: Vec<(String, Secret)>,
}

impl Processes for Given {
    fn locate(&self, program: &str) -> Option<String> {
        self.inner.locate(program)
    }

    fn shell(&self) -> Shell {
        self.inner.shell()
    }

    fn sandbox(&self) -> Option<Confined> {
        self.inner.sandbox()
    }

    fn run<'a>(
        &'a self,
        mut command: Command,
        cancel: &'a Cancel,
        output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> BoxFuture<'a, Result<Exit, Failure>> {
        command.env.extend(self.env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
        self.inner.run(command, cancel, output)
    }
}
