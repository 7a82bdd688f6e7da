//! Handles lent to one call: they refuse what wasn't judged, and everything after the call's end.

use super::lease::{Lease, denied};
use crate::session::CONTENT_MAX_BYTES;
use haft_core::{
    BoxFuture, Cancel, Command, Confined, Entry, Exit, Failure, FileChange, FileKind, FileLock, FileOp,
    FileTraits, Files, GrepHit, GrepQuery, Http, HttpRequest, HttpResponse, Listing, PathArg, Processes,
    RealPath, Shell, Short, Skip, Stat, Stdio, WalkOptions, WalkReport, Web, WebPage, WebRequest, WriteMode,
};
use std::{ops::ControlFlow, sync::Arc};

/// One handle through a lease.
pub(super) struct Leased<T: ?Sized> {
    pub(super) lease: Arc<Lease>,
    pub(super) inner: Arc<T>,
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
        if let Some(keeper) = &self.lease.terms.keeper {
            keeper.saw(offset, max_bytes, &bytes);
        }
        Ok(bytes)
    }

    fn read_short(&self, at: &RealPath, max_bytes: usize) -> Result<Short, Failure> {
        self.lease.may_see(at)?;
        let short = self.inner.read_short(at, max_bytes)?;
        if let (Some(keeper), Some(bytes)) = (&self.lease.terms.keeper, &short.bytes) {
            keeper.saw(0, max_bytes.saturating_add(1), bytes);
        }
        Ok(short)
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
        match &self.lease.terms.keeper {
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
        match &self.lease.terms.keeper {
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
        self.lease.terms.masks.refuse_new(content, before)
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
        // What goes on after its call is started as a job.
        let command = Command { keep: false, ..self.lease.bind(command) };
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
    use crate::run::lease::{Purpose, Terms};
    use haft_core::{Effects, Touch, WebUrl};

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
        let lease = Lease::new(Terms::new(host("example.com"), Vec::new(), Purpose::Run));
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
        let local = Lease::new(Terms::new(host("localhost:3000"), Vec::new(), Purpose::Run));
        assert!(reaches(&local, "http://localhost:3000/").await);
        assert!(!reaches(&local, "http://localhost/").await);
        let preview = Lease::new(Terms::new(host("example.com"), Vec::new(), Purpose::Preview));
        assert!(!reaches(&preview, "https://example.com/").await);
        let command = Effects::Only(vec![Touch::Command("curl example.com".into())]);
        assert!(
            !reaches(&Lease::new(Terms::new(command, Vec::new(), Purpose::Program)), "https://example.com/")
                .await
        );
    }
}
