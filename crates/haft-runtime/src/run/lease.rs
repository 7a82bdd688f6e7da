//! Handles lent to one call: they refuse what wasn't judged, and everything after the call's end.

use crate::{
    seal::Masks,
    session::{CONTENT_MAX_BYTES, Keeper},
};
use haft_core::{
    Allowance, BoxFuture, Cancel, Command, Confined, Effects, Entry, Exit, Failure, FailureKind, FileChange,
    FileKind, FileLock, FileOp, FileTraits, Files, GrepHit, GrepQuery, Http, HttpRequest, HttpResponse,
    Listing, PathArg, Processes, RealPath, Shell, Skip, Stat, Stdio, Touch, WalkOptions, WalkReport, Web,
    WebPage, WebRequest, World, WriteMode,
};
use haft_policy::Policy;
use std::{ops::ControlFlow, sync::Arc};

/// What one call was judged to touch, until it ends.
#[derive(Clone)]
pub(crate) struct Lease {
    effects: Effects<RealPath>,
    purpose: Purpose,
    over: Cancel,
    /// What they deny to be read is left out of trees.
    policies: Vec<Arc<Policy>>,
    /// Variables that every process of the call gets on top of its own.
    variables: Vec<(String, String)>,
    /// What its processes may do in the sandbox; none runs them outside.
    allowance: Option<Allowance>,
    /// What was masked in results, and must not be written as it was shown.
    masks: Masks,
    /// Remembers what is changed through it, for undo.
    keeper: Option<Arc<Keeper>>,
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
        Arc::new(Self {
            effects,
            purpose,
            over: Cancel::new(),
            policies,
            variables: Vec::new(),
            allowance: None,
            masks: Masks::default(),
            keeper: None,
        })
    }

    /// The same lease, whose processes get these variables too.
    pub(crate) fn with_variables(self: Arc<Self>, variables: Vec<(String, String)>) -> Arc<Self> {
        if variables.is_empty() {
            return self;
        }
        let mut lease = Arc::unwrap_or_clone(self);
        lease.variables = variables;
        Arc::new(lease)
    }

    /// The same lease, whose processes run in the sandbox with this allowance; with none, outside.
    pub(crate) fn confined(self: Arc<Self>, allowance: Option<Allowance>) -> Arc<Self> {
        let mut lease = Arc::unwrap_or_clone(self);
        lease.allowance = allowance;
        Arc::new(lease)
    }

    /// The same lease, through which no placeholder of these is written.
    pub(crate) fn masked(self: Arc<Self>, masks: Masks) -> Arc<Self> {
        let mut lease = Arc::unwrap_or_clone(self);
        lease.masks = masks;
        Arc::new(lease)
    }

    /// The same lease, with somebody who remembers what is changed through it.
    pub(crate) fn with_keeper(self: Arc<Self>, keeper: Option<Arc<Keeper>>) -> Arc<Self> {
        let mut lease = Arc::unwrap_or_clone(self);
        lease.keeper = keeper;
        Arc::new(lease)
    }

    /// The same lease anew.
    pub(crate) fn again(&self) -> Arc<Self> {
        Self::new(self.effects.clone(), self.policies.clone(), self.purpose)
            .with_variables(self.variables.clone())
            .confined(self.allowance.clone())
            .masked(self.masks.clone())
            .with_keeper(self.keeper.clone())
    }

    /// What must be said of the changes that were made through it.
    pub(crate) fn warning(&self) -> Option<String> {
        self.keeper.as_ref().and_then(|keeper| keeper.warning())
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
            web: Arc::new(Leased { lease: Arc::clone(self), inner: Arc::clone(&world.web) }),
            ..world.clone()
        }
    }

    fn denies(&self, at: &RealPath) -> bool {
        self.policies.iter().any(|policy| policy.denies_read(at))
    }

    /// A tree was judged as a whole; what a rule keeps from being changed in it stays as it is.
    fn denies_write(&self, at: &RealPath) -> bool {
        self.policies.iter().any(|policy| policy.denies_write(at))
    }

    /// Whether a search through contents leaves it out.
    fn keeps_from_search(&self, at: &RealPath) -> bool {
        self.policies.iter().any(|policy| policy.keeps_from_search(at))
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
                Touch::Host(_) | Touch::Session(_) | Touch::Unconfined => false,
            }),
        };
        if judged { Ok(()) } else { Err(undeclared("read", at)) }
    }

    /// Whether its content may be seen: what holds secrets was judged only where it was named for itself.
    fn may_see(&self, at: &RealPath) -> Result<(), Failure> {
        self.may_read(at)?;
        let Effects::Only(touches) = &self.effects else { return Ok(()) };
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
        let touches = match &self.effects {
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

    /// Whether this very host and port was judged. A command's freedom doesn't reach this handle, since what a
    /// command contacts is not the tool's own doing.
    fn may_fetch(&self, authority: &str) -> Result<(), Failure> {
        self.alive()?;
        if self.purpose == Purpose::Preview {
            return Err(Failure::internal("a preview can't fetch anything")
                .diagnose(format!("preview fetched from {authority}")));
        }
        let judged = match &self.effects {
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

fn undeclared(what: &str, at: &RealPath) -> Failure {
    Failure::internal(format!("the tool tried to {what} {at}, which it hadn't stated"))
        .diagnose("Tool::effects must name every path that Tool::run uses")
}

fn denied(at: &RealPath) -> Failure {
    let text = format!("a rule denies changing {at}; leave it out, or have the rule changed");
    Failure::new(FailureKind::Permission, text)
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

    fn resolve_existing(&self, path: &PathArg) -> Result<RealPath, Failure> {
        self.lease.alive()?;
        self.inner.resolve_existing(path)
    }

    fn stat(&self, at: &RealPath) -> Result<Stat, Failure> {
        self.lease.may_read(at)?;
        self.inner.stat(at)
    }

    fn peek(&self, at: &RealPath) -> Option<Stat> {
        self.lease.may_read(at).ok()?;
        self.inner.peek(at)
    }

    fn read(&self, at: &RealPath, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        self.lease.may_see(at)?;
        let bytes = self.inner.read(at, offset, max_bytes)?;
        if let Some(keeper) = &self.lease.keeper {
            keeper.saw(offset, max_bytes, &bytes);
        }
        Ok(bytes)
    }

    fn list(&self, at: &RealPath, max: usize) -> Result<Listing, Failure> {
        self.lease.may_read(at)?;
        self.inner.list(at, max)
    }

    fn may_change(&self, at: &RealPath) -> Result<(), Failure> {
        self.lease.alive()?;
        if self.lease.denies_write(at) { Err(denied(at)) } else { self.inner.may_change(at) }
    }

    fn write(&self, at: &RealPath, content: &[u8], mode: &WriteMode) -> Result<FileChange, Failure> {
        self.lease.may_write(at)?;
        self.require_unmasked(at, content)?;
        match &self.lease.keeper {
            Some(keeper) => keeper.write(self.inner.as_ref(), at, content, mode),
            None => self.inner.write(at, content, mode),
        }
    }

    fn apply(&self, ops: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
        for at in ops.iter().flat_map(FileOp::paths) {
            self.lease.may_write(at)?;
        }
        for op in ops {
            if let FileOp::Write { at, content, .. } = op {
                self.require_unmasked(at, content)?;
            }
        }
        match &self.lease.keeper {
            Some(keeper) => keeper.apply(self.inner.as_ref(), ops),
            None => self.inner.apply(ops),
        }
    }

    fn traits(&self, at: &RealPath) -> Result<FileTraits, Failure> {
        self.lease.may_read(at)?;
        self.inner.traits(at)
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
        if self.inner.peek(tree).is_some_and(|stat| stat.kind == FileKind::Folder) {
            self.lease.may_walk(tree)?;
        }
        let (lease, named) = (Arc::clone(&self.lease), tree.clone());
        let mut walk = self.narrowed(&query.walk);
        let denied = walk.skip.take();
        // What was named for itself was judged for itself.
        walk.skip = Some(Arc::new(move |path| {
            denied.as_ref().is_some_and(|denied| denied(path))
                || (*path != named && lease.keeps_from_search(path))
        }));
        let query = GrepQuery { walk, ..query.clone() };
        let lease = &self.lease;
        self.inner.grep(tree, &query, &mut |hit| {
            if lease.is_over() { ControlFlow::Break(()) } else { visit(hit) }
        })
    }

    fn lock(&self, at: &RealPath, cancel: &Cancel) -> Result<Box<dyn FileLock>, Failure> {
        self.lease.may_write(at)?;
        self.inner.lock(at, cancel)
    }

    fn lock_all(&self, files: &[RealPath], cancel: &Cancel) -> Result<Vec<Box<dyn FileLock>>, Failure> {
        for at in files {
            self.lease.may_write(at)?;
        }
        self.inner.lock_all(files, cancel)
    }
}

impl Leased<dyn Files> {
    /// Tools turn placeholders of masked secrets back by themselves; one that is left would destroy what it stands for.
    fn require_unmasked(&self, at: &RealPath, content: &[u8]) -> Result<(), Failure> {
        let before = || self.inner.read(at, 0, CONTENT_MAX_BYTES).unwrap_or_default();
        self.lease.masks.refuse_new(content, before)
    }
}

impl Processes for Leased<dyn Processes> {
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
        command: Command,
        cancel: &'a Cancel,
        output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> BoxFuture<'a, Result<Exit, Failure>> {
        let mut command = command;
        command.env.extend(self.lease.variables.iter().cloned());
        // Whatever the tool says: it was judged by its declaration.
        command.confined.clone_from(&self.lease.allowance);
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

impl Web for Leased<dyn Web> {
    fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebPage, Failure>> {
        match self.lease.may_fetch(&request.url.authority()) {
            Ok(()) => Box::pin(async move {
                tokio::select! {
                    page = self.inner.fetch(request) => page,
                    () = self.lease.over.fired() => Err(Failure::cancelled()),
                }
            }),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::WebUrl;
    use haft_policy::{Action, Mode, Rule, RuleOrigin};

    #[test]
    fn a_tree_is_not_written_where_a_rule_denies_it() {
        let at = |beneath: &str| RealPath::new("/w", beneath);
        let origin =
            RuleOrigin { workspace: "/w".to_owned(), folder: "/w".to_owned(), ..RuleOrigin::default() };
        let mut policy = Policy::new(Mode::Default, at(""));
        policy.rules.push(Rule::parse(Action::Deny, "edit(secret/**)", &origin).unwrap());
        let policies = vec![Arc::new(policy)];
        let lease = |touch| Lease::new(Effects::Only(vec![touch]), policies.clone(), Purpose::Run);
        let tree = lease(Touch::WriteTree(at("")));
        assert!(tree.may_write(&at("a")).is_ok());
        assert_eq!(tree.may_write(&at("secret/k")).unwrap_err().kind, FailureKind::Permission);
        assert_eq!(tree.may_write(&RealPath::new("/x", "a")).unwrap_err().kind, FailureKind::Internal);
        assert!(tree.may_read(&at("secret/k")).is_ok(), "only changing it is denied");
        assert!(lease(Touch::Write(at("b"))).may_write(&at("a")).is_err());
        assert!(lease(Touch::ReadTree(at(""))).may_write(&at("a")).is_err());
    }

    /// Answers everything it is let near to.
    struct Reached;

    impl Web for Reached {
        fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebPage, Failure>> {
            Box::pin(std::future::ready(Ok(WebPage {
                url: request.url,
                hops: Vec::new(),
                status: 200,
                headers: Vec::new(),
                body: Vec::new(),
                cut: false,
                whole_bytes: None,
                elsewhere: None,
                from_cache: false,
            })))
        }
    }

    async fn reaches(lease: &Arc<Lease>, url: &str) -> bool {
        let web: Leased<dyn Web> = Leased { lease: Arc::clone(lease), inner: Arc::new(Reached) };
        web.fetch(WebRequest::new(WebUrl::parse(url).unwrap())).await.is_ok()
    }

    #[tokio::test]
    async fn only_the_very_host_that_was_judged_is_fetched_from() {
        let host = |name: &str| Effects::Only(vec![Touch::Host(name.into())]);
        let lease = Lease::new(host("example.com"), Vec::new(), Purpose::Run);
        for (url, reached) in [
            ("https://example.com/a", true),
            ("http://EXAMPLE.com./", true),
            ("https://example.com:8443/", false),
            ("https://www.example.com/", false),
            ("https://other.org/?example.com", false),
        ] {
            assert_eq!(reaches(&lease, url).await, reached, "{url}");
        }
        lease.end();
        assert!(!reaches(&lease, "https://example.com/").await);
        let local = Lease::new(host("localhost:3000"), Vec::new(), Purpose::Run);
        assert!(reaches(&local, "http://localhost:3000/").await);
        assert!(!reaches(&local, "http://localhost/").await);
        let preview = Lease::new(host("example.com"), Vec::new(), Purpose::Preview);
        assert!(!reaches(&preview, "https://example.com/").await);
        let command = Effects::Only(vec![Touch::Command("curl example.com".into())]);
        assert!(!reaches(&Lease::new(command, Vec::new(), Purpose::Program), "https://example.com/").await);
    }
}
