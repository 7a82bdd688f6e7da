//! Handles lent to one call: they refuse what wasn't judged, and everything after the call's end.

use haft_core::{
    BoxFuture, Cancel, Command, Effects, Entry, Exit, Failure, FailureKind, FileChange, FileKind, FileLock,
    Files, GrepHit, GrepQuery, Http, HttpRequest, HttpResponse, Listing, PathArg, Processes, RealPath, Skip,
    Stat, Stdio, Touch, WalkOptions, WalkReport, World, WriteMode,
};
use haft_policy::Policy;
use std::{ops::ControlFlow, sync::Arc};

/// What one call was judged to touch, until it ends.
pub(crate) struct Lease {
    effects: Effects<RealPath>,
    purpose: Purpose,
    over: Cancel,
    /// What they deny to be read is left out of trees.
    policies: Vec<Arc<Policy>>,
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

impl Lease {
    pub(crate) fn new(effects: Effects<RealPath>, policies: Vec<Arc<Policy>>, purpose: Purpose) -> Arc<Self> {
        Arc::new(Self { effects, purpose, over: Cancel::new(), policies })
    }

    /// The same lease anew.
    pub(crate) fn again(&self) -> Arc<Self> {
        Self::new(self.effects.clone(), self.policies.clone(), self.purpose)
    }

    /// Ends it; the handles refuse everything from now.
    pub(crate) fn end(&self) {
        self.over.fire();
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
            ..world.clone()
        }
    }

    fn denies(&self, at: &RealPath) -> bool {
        self.policies.iter().any(|policy| policy.denies_read(at))
    }

    fn alive(&self) -> Result<(), Failure> {
        if self.is_over() {
            return Err(Failure::new(
                FailureKind::Cancelled,
                "the call has ended; its handles no longer work",
            ));
        }
        Ok(())
    }

    fn may_read(&self, at: &RealPath) -> Result<(), Failure> {
        self.alive()?;
        let judged = match &self.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => touches.iter().any(|touch| match touch {
                Touch::Read(path) | Touch::Write(path) => path == at,
                // A tree was judged as a whole; what a rule denies in it is left out, not only by walks.
                Touch::ReadTree(path) | Touch::WriteTree(path) => {
                    path.covers(at) && (path == at || !self.denies(at))
                }
                Touch::Command(_) => true,
                Touch::Host(_) | Touch::Session(_) => false,
            }),
        };
        if judged { Ok(()) } else { Err(undeclared("read", at)) }
    }

    /// Whether everything in that folder may be looked at.
    fn may_walk(&self, at: &RealPath) -> Result<(), Failure> {
        self.may_read(at)?;
        let judged = match &self.effects {
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

    fn may_write(&self, at: &RealPath) -> Result<(), Failure> {
        self.alive()?;
        if self.purpose == Purpose::Preview {
            return Err(Failure::internal("a preview can't write").diagnose(format!("preview wrote {at}")));
        }
        let judged = match &self.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => touches.iter().any(|touch| match touch {
                Touch::Write(path) => path == at,
                Touch::WriteTree(path) => path.covers(at),
                _ => false,
            }),
        };
        if judged { Ok(()) } else { Err(undeclared("write", at)) }
    }

    fn may_start(&self) -> Result<(), Failure> {
        self.alive()?;
        let judged = match &self.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => {
                self.purpose == Purpose::Program
                    || touches.iter().any(|touch| matches!(touch, Touch::Command(_)))
            }
        };
        if judged && self.purpose != Purpose::Preview {
            return Ok(());
        }
        Err(Failure::internal("this tool can't start processes").diagnose("its effects name no command"))
    }

    fn may_send(&self, url: &str) -> Result<(), Failure> {
        self.alive()?;
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or(host);
        let judged = match &self.effects {
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
        if judged && self.purpose != Purpose::Preview {
            return Ok(());
        }
        Err(Failure::internal(format!("the tool didn't state that it contacts {host}")))
    }
}

fn undeclared(what: &str, at: &RealPath) -> Failure {
    Failure::internal(format!("the tool tried to {what} {at}, which it hadn't stated"))
        .diagnose("Tool::effects must name every path that Tool::run uses")
}

/// One handle through a lease.
pub(crate) struct Leased<T: ?Sized> {
    lease: Arc<Lease>,
    inner: Arc<T>,
}

impl Leased<dyn Files> {
    fn narrowed(&self, options: &WalkOptions) -> WalkOptions {
        let (lease, given) = (Arc::clone(&self.lease), options.skip.clone());
        let skip: Skip =
            Arc::new(move |path| lease.denies(path) || given.as_ref().is_some_and(|given| given(path)));
        WalkOptions { skip: Some(skip), ..options.clone() }
    }
}

impl Files for Leased<dyn Files> {
    fn workspace(&self) -> RealPath {
        self.inner.workspace()
    }

    fn resolve(&self, path: &PathArg) -> Result<RealPath, Failure> {
        self.lease.alive()?;
        self.inner.resolve(path)
    }

    fn stat(&self, at: &RealPath) -> Result<Stat, Failure> {
        self.lease.may_read(at)?;
        self.inner.stat(at)
    }

    fn read(&self, at: &RealPath, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        self.lease.may_read(at)?;
        self.inner.read(at, offset, max_bytes)
    }

    fn list(&self, at: &RealPath, max: usize) -> Result<Listing, Failure> {
        self.lease.may_read(at)?;
        self.inner.list(at, max)
    }

    fn write(&self, at: &RealPath, content: &[u8], mode: &WriteMode) -> Result<FileChange, Failure> {
        self.lease.may_write(at)?;
        self.inner.write(at, content, mode)
    }

    fn walk(
        &self,
        tree: &RealPath,
        options: &WalkOptions,
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        self.lease.may_walk(tree)?;
        let lease = &self.lease;
        self.inner.walk(tree, &self.narrowed(options), &mut |entry| {
            if lease.is_over() { ControlFlow::Break(()) } else { visit(entry) }
        })
    }

    fn grep(
        &self,
        tree: &RealPath,
        query: &GrepQuery,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        self.lease.may_read(tree)?;
        if self.inner.stat(tree).is_ok_and(|stat| stat.kind == FileKind::Folder) {
            self.lease.may_walk(tree)?;
        }
        let query = GrepQuery { walk: self.narrowed(&query.walk), ..query.clone() };
        let lease = &self.lease;
        self.inner.grep(tree, &query, &mut |hit| {
            if lease.is_over() { ControlFlow::Break(()) } else { visit(hit) }
        })
    }

    fn lock(&self, at: &RealPath, cancel: &Cancel) -> Result<Box<dyn FileLock>, Failure> {
        self.lease.may_write(at)?;
        self.inner.lock(at, cancel)
    }
}

impl Processes for Leased<dyn Processes> {
    fn run<'a>(
        &'a self,
        command: Command,
        cancel: &'a Cancel,
        output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> BoxFuture<'a, Result<Exit, Failure>> {
        match self.lease.may_start() {
            // A process that was started by something the tool left behind goes with the call.
            Ok(()) => Box::pin(async move {
                tokio::select! {
                    exit = self.inner.run(command, cancel, output) => exit,
                    () = self.lease.over.fired() => Err(Failure::cancelled()),
                }
            }),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }
}

impl Http for Leased<dyn Http> {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, Failure>> {
        match self.lease.may_send(&request.url) {
            Ok(()) => self.inner.send(request),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }
}
