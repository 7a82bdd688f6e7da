//! What one call is lent: the world through its lease, the session, the way to further calls.

use crate::{
    call::Call,
    catalogue::Offer,
    executor::Executor,
    intake::{self, Stated},
    run::{Lease, LeasedJobs, NestedCalls, Purpose, Stopwatch, Terms},
    session::{Keeper, Session},
};
use haft_core::{Allowance, Cancel, Cx, Effects, Ground, Needs, RealPath, Secret, SessionView, Sink, Touch};
use haft_policy::{Access, JudgedLine, LinePath, Policy, Subject};
use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

/// What a call made inside another inherits.
#[derive(Clone)]
pub(crate) struct Parent {
    pub(crate) session: Arc<Session>,
    pub(crate) cancel: Cancel,
    pub(crate) watch: Arc<Stopwatch>,
    pub(crate) turn: Option<u64>,
}

impl Executor {
    /// A lease for a preview: the judged paths, to look at only.
    pub(crate) fn look_only(call: &Call, stated: &Stated) -> Arc<Lease> {
        Lease::new(Terms::new(stated.subject.effects.clone(), call.session.policies(), Purpose::Preview))
    }

    /// What a tool gets: handles through its lease, which dies with the call.
    pub(crate) fn cx(&self, call: &Call, stated: &Stated, lease: &Arc<Lease>) -> Cx {
        let watch = call.watch.clone().unwrap_or_else(|| Stopwatch::start(Duration::MAX, call.outer.clone()));
        let parent = Parent {
            session: Arc::clone(&call.session),
            cancel: call.cancel.clone(),
            watch: Arc::new(watch),
            turn: call.request.turn,
        };
        let (session, sink): (Arc<dyn SessionView>, Arc<dyn Sink>) =
            (call.session.clone(), call.sink.clone());
        let jobs = LeasedJobs {
            session: Arc::clone(&call.session),
            call: call.id.clone(),
            cancel: call.cancel.clone(),
            lease: Arc::clone(lease),
            sink: Arc::clone(&sink),
            captures: call.captures.clone(),
            processes: Arc::clone(&self.world.processes),
        };
        Cx {
            call: call.id.clone(),
            world: lease.lend(&self.world),
            jobs: Arc::new(jobs),
            session,
            nested: Arc::new(NestedCalls {
                executor: self.clone(),
                parent,
                call: call.id.clone(),
                next: AtomicU64::new(0),
                delegates: stated.subject.effects == Effects::Delegated,
                lease: Arc::clone(lease),
            }),
            sink,
            cancel: call.cancel.clone(),
            paths: Arc::clone(&stated.paths),
        }
    }
}

/// The lease of a run: what was judged, and what goes with it. Its processes are given these variables.
pub(crate) fn lease(call: &Call, offer: &Offer, stated: &Stated, given: Vec<(String, Secret)>) -> Arc<Lease> {
    let (session, subject) = (&call.session, &stated.subject);
    let purpose = if offer.tool.starts_processes() { Purpose::Program } else { Purpose::Run };
    let temp = &session.policy().temp;
    let keeper =
        session.is_recorded().then(|| Keeper::new(session, &call.id, &offer.name, call.request.turn));
    Lease::new(Terms {
        given,
        variables: variables(subject, temp),
        allowance: allowance(subject, &session.policy()),
        masks: session.masks().clone(),
        keeper,
        ..Terms::new(subject.effects.clone(), session.policies(), purpose)
    })
}

/// What the processes of a call get on top: where temporary files are free, and that git which is only asked is kept
/// from running programs.
fn variables(subject: &Subject, temp: &[String]) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> =
        temp.first().map(|temp| ("TMPDIR".to_owned(), temp.clone())).into_iter().collect();
    if subject.read_only && subject.lines.iter().any(|line| !line.neutral_git.is_empty()) {
        variables
            .extend(intake::NEUTRAL.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    }
    variables
}

/// Programs that make something else of a path than a file that they open: nothing can be opened for them beforehand, so
/// outside the workspace they fail in the sandbox.
const NO_FILES: [&str; 10] =
    ["mkdir", "rmdir", "mkfifo", "mknod", "ln", "mv", "install", "rsync", "rm", "unlink"];

/// What the processes of a call may do in the sandbox: what was judged that it writes, temporary files, and what the
/// tool's own profile comes to. None where they run outside. What is merely named to a program opens nothing: it may do
/// anything with that.
fn allowance(subject: &Subject, policy: &Policy) -> Option<Allowance> {
    let touches = subject.effects.touches();
    let profile = subject.spec.profile.as_ref();
    let is_kept_in = subject.spec.confined || profile.is_some();
    if !is_kept_in || profile.is_some_and(|profile| profile.off) || touches.contains(&Touch::Unconfined) {
        return None;
    }
    let own = profile.map(|profile| {
        let ground = Ground { roots: &policy.work(), home: policy.home.as_deref() };
        profile.allowance(&Needs::of(&subject.spec, &subject.effects), ground)
    });
    let mut allowance = Allowance { writable: policy.temp.clone(), ..own.unwrap_or_default() };
    for touch in touches {
        match touch {
            Touch::Write(path) => allowance.files.push(path.absolute()),
            Touch::WriteTree(path) => {
                // What a described tool states may be a file as well, and one that isn't there yet.
                allowance.files.extend(profile.map(|_| path.absolute()));
                allowance.writable.push(path.absolute());
            }
            Touch::Read(_)
            | Touch::ReadTree(_)
            | Touch::Host(_)
            | Touch::Command(_)
            | Touch::Server(_)
            | Touch::Session(_)
            | Touch::Unconfined
            | Touch::Outlives => {}
        }
    }
    for line in &subject.lines {
        open_for(line, &mut allowance);
    }
    for paths in [&mut allowance.writable, &mut allowance.files] {
        paths.sort();
        paths.dedup();
    }
    Some(allowance)
}

/// Adds what a line writes.
fn open_for(line: &JudgedLine, allowance: &mut Allowance) {
    for named in &line.paths {
        let Some(real) = named.path.as_ref().map(|path| &path.real) else { continue };
        match named.word.access {
            Access::WriteTree => allowance.writable.push(real.absolute()),
            Access::Write if makes_files(line, named) => allowance.files.push(real.absolute()),
            // In the workspace it lifts what would keep just this path.
            Access::Write if !real.is_outside() => allowance.writable.push(real.absolute()),
            Access::Named if lands_in_a_copy(line, named, real) => allowance.files.push(real.absolute()),
            Access::Write | Access::Named | Access::Read | Access::ReadTree | Access::Tracked => {}
        }
    }
}

/// Whether what writes a path opens it as a file.
fn makes_files(line: &JudgedLine, named: &LinePath) -> bool {
    named.word.is_redirect || program(line, named).is_none_or(|program| !NO_FILES.contains(&program))
}

/// Whether a path is what a file becomes that is copied into a folder.
fn lands_in_a_copy(line: &JudgedLine, named: &LinePath, real: &RealPath) -> bool {
    let is_target = |other: &LinePath| {
        let folder = other.path.as_ref().map(|path| &path.real);
        other.word.command == named.word.command
            && other.word.access == Access::Write
            && !other.word.is_redirect
            && folder.is_some_and(|folder| folder.join(real.file_name()).absolute() == real.absolute())
    };
    program(line, named) == Some("cp") && line.paths.iter().any(is_target)
}

fn program<'l>(line: &'l JudgedLine, named: &LinePath) -> Option<&'l str> {
    line.line.commands.get(named.word.command?)?.program()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Permission, Profile, Reach, Risk, Spec, WorkspaceUse};
    use haft_policy::{Dialect, JudgedPath, Mode, Pin, path_words, read_line};
    use serde_json::json;

    fn subject(spec: Spec, effects: Effects<RealPath>) -> Subject {
        Subject {
            call: CallId::outer(1),
            tool: "x".into(),
            spec: Arc::new(spec),
            owner: "folder:t".into(),
            input: Arc::new(json!({})),
            effects,
            paths: Vec::new(),
            permission: Permission::Confirm,
            asked_by: None,
            read_only: false,
            mutates: true,
            risk: Risk::Standard,
            risk_declared: false,
            own: None,
            tool_hash: None,
            pin: Pin::Known,
            lines: Vec::new(),
            hooks: Vec::new(),
        }
    }

    fn policy() -> Policy {
        let mut policy = Policy::new(Mode::Default, RealPath::new("/w", ""));
        policy.temp.push("/tmp/own".to_owned());
        policy
    }

    #[test]
    fn a_described_tool_gets_what_it_stated_and_what_its_profile_says() {
        let write = Effects::Only(vec![Touch::WriteTree(RealPath::new("/w", "out"))]);
        let plain = Spec::new("x", "d").with_profile(Profile::default());
        let given = allowance(&subject(plain.clone(), write), &policy()).unwrap();
        assert_eq!(given.writable, ["/tmp/own", "/w/out"]);
        assert_eq!(given.files, ["/w/out"]);
        assert_eq!((given.closed, given.network), (vec!["/w".to_owned()], Some(Reach::Closed)));
        let opened = Profile { workspace: Some(WorkspaceUse::Write), ..Profile::default() };
        let given = allowance(&subject(plain.with_profile(opened), Effects::none()), &policy()).unwrap();
        assert!(given.closed.is_empty() && given.writable == ["/tmp/own"]);
    }

    #[test]
    fn nothing_holds_a_tool_that_has_no_sandbox_or_was_let_out() {
        for profile in [Profile::outside(), Profile { off: true, ..Profile::default() }] {
            let spec = Spec::new("x", "d").with_profile(profile);
            assert_eq!(allowance(&subject(spec, Effects::Everything), &policy()), None);
        }
        assert_eq!(allowance(&subject(Spec::new("x", "d"), Effects::Everything), &policy()), None);
        let line = || Effects::Only(vec![Touch::Command("true".into())]);
        let commands = Spec::new("bash", "d").confined();
        let own = allowance(&subject(commands.clone(), line()), &policy()).unwrap();
        assert_eq!(own, Allowance { writable: vec!["/tmp/own".to_owned()], ..Allowance::default() });
        let Effects::Only(mut touches) = line() else { unreachable!() };
        touches.push(Touch::Unconfined);
        assert_eq!(allowance(&subject(commands, Effects::Only(touches)), &policy()), None);
    }

    /// What a line in `/w` opens: trees, then files. Its paths are taken by their letters.
    fn opened(text: &str) -> (Vec<String>, Vec<String>) {
        let line = read_line(text, Dialect::Bash);
        let paths = path_words(&line).into_iter().map(|word| {
            let real = match word.text.strip_prefix('/') {
                Some(beneath) => RealPath::new("/", beneath.trim_end_matches('/')),
                None => RealPath::new("/w", &word.text),
            };
            let path = Some(JudgedPath { written: real.absolute(), real });
            LinePath { word, path, has_parent: true, tracked: Arc::from([]) }
        });
        let paths = paths.collect();
        let line = JudgedLine { text: text.into(), line: Arc::new(line), paths, ..JudgedLine::default() };
        let mut allowance = Allowance::default();
        open_for(&line, &mut allowance);
        (allowance.writable, allowance.files)
    }

    #[test]
    fn what_is_written_is_opened_and_nothing_that_is_merely_named() {
        for (line, trees, files) in [
            ("echo x > /o/new", &[][..], &["/o/new"][..]),
            ("touch /o/a", &[], &["/o/a"]),
            ("cp a /o/b", &[], &["/o/b", "/o/b/a"]),
            ("cp a /o/", &[], &["/o", "/o/a"]),
            ("./tool /o/x --to=/o/y", &[], &[]),
            ("mkdir /o/new", &[], &[]),
            ("ln -s a /o/new", &[], &[]),
            ("rm /o/a", &[], &[]),
            ("mkdir .vscode", &["/w/.vscode"], &[]),
            ("rm -r /o/a", &["/o/a"], &[]),
            ("cp -r a /o", &["/o"], &[]),
            ("cat /o/a", &[], &[]),
        ] {
            let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
            assert_eq!(opened(line), (owned(trees), owned(files)), "{line}");
        }
    }
}
