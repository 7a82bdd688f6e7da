//! Commands in a real sandbox: each layer alone and all together. What this machine can't do is left out and said.
#![allow(
    unsafe_code,
    reason = "what this program does as a child has to start before the test harness makes threads"
)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and makes files and processes of its own"
)]

#[path = "sandbox/approved.rs"]
mod approved;
#[path = "sandbox/git.rs"]
mod git;
#[path = "sandbox/kept.rs"]
mod kept;
#[path = "sandbox/reach.rs"]
mod reach;

use haft_core::{
    Allowance, Cancel, Command, Confined, Confinement, Exit, Failure, FailureKind, Kept, Layer,
    Processes as _, Reach, RealPath, Status, Stdio, TerminalSize, Tether,
};
use haft_os::{Environment, OsProcesses, Sandbox};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::{Path, PathBuf},
    process::{Child, Stdio as Pipe},
    time::Duration,
};

/// Within a sandbox that bubblewrap puts up, this program is started again as its first process.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    haft_os::serve_child();
}

/// A workspace, a folder beside it, and haft's own; not beneath the temporary folders, which are writable.
struct Place {
    root: tempfile::TempDir,
}

/// What a command gave.
struct Ran {
    exit: Exit,
    text: String,
}

impl Ran {
    fn is_ok(&self) -> bool {
        self.exit.status == Status::Code(0)
    }
}

impl Place {
    fn new() -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let root = tempfile::tempdir_in(base).unwrap();
        for folder in ["w/.git/hooks", "w/src", "home/.ssh", "outside", "state"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("w/.git/config"), "[core]\n").unwrap();
        fs::write(root.path().join("home/.ssh/id"), "the-secret-key").unwrap();
        fs::write(root.path().join("home/.netrc"), "the-secret-login").unwrap();
        fs::write(root.path().join("home/notes"), "plain").unwrap();
        fs::write(root.path().join("outside/file"), "before").unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn confinement(&self) -> Confinement {
        let kept = |name: &str| Kept { path: self.text(name), even_absent: true };
        Confinement {
            writable: vec![self.text("w")],
            kept: ["w/.git/hooks", "w/.git/config", "w/.haft", "w/.vscode"].map(kept).into(),
            hidden: vec![self.text("home/.ssh"), self.text("home/.netrc"), self.text("home/.none")],
            network: Reach::Closed,
            ..Confinement::default()
        }
    }

    fn sandbox(&self, confinement: Confinement) -> Sandbox {
        Sandbox::new(confinement, self.path("state"))
    }

    /// Runs a command that begins with [`Meeting::script`] of `at`, and does something else before it goes on.
    async fn meanwhile(&self, sandbox: Sandbox, script: &str, act: impl FnOnce()) -> Ran {
        let meeting = Meeting::new(self, "at");
        let ran = tokio::spawn(run(sandbox, self.command(&format!("{} {script}", meeting.script()))));
        meeting.reached().await;
        act();
        meeting.go_on().await;
        ran.await.unwrap().unwrap()
    }

    fn command(&self, script: &str) -> Command {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        let cwd = RealPath::new(&self.text("w"), "");
        Command { merged: true, confined: Some(Allowance::default()), ..Command::new(argv, cwd) }
    }
}

/// Where a command waits for the test: two pipes in the workspace.
struct Meeting {
    name: &'static str,
    pipes: [PathBuf; 2],
}

impl Meeting {
    fn new(place: &Place, name: &'static str) -> Self {
        let pipes = ["here", "there"].map(|pipe| place.path(&format!("w/{name}-{pipe}")));
        for pipe in &pipes {
            let _ = fs::remove_file(pipe);
            assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        Self { name, pipes }
    }

    /// What the command says to come here.
    fn script(&self) -> String {
        format!("echo > {0}-here; cat {0}-there >/dev/null;", self.name)
    }

    async fn reached(&self) {
        let pipe = self.pipes[0].clone();
        tokio::task::spawn_blocking(move || drop(fs::read(pipe))).await.unwrap();
    }

    async fn go_on(&self) {
        let pipe = self.pipes[1].clone();
        tokio::task::spawn_blocking(move || fs::write(pipe, "").unwrap()).await.unwrap();
    }
}

async fn run(sandbox: Sandbox, command: Command) -> Result<Ran, Failure> {
    let processes = OsProcesses::new(Environment::of_process()).confined_by(sandbox);
    let mut bytes = Vec::new();
    let mut push = |_: Stdio, piece: &[u8]| bytes.extend_from_slice(piece);
    let exit = processes.run(command, &Cancel::new(), &mut push).await?;
    Ok(Ran { exit, text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// The layers of this machine; says which of the wanted ones are missing.
fn has(sandbox: &Sandbox, wanted: &[Layer]) -> bool {
    let there = sandbox.confined().layers;
    let missing: Vec<_> = wanted.iter().filter(|layer| !there.contains(layer)).collect();
    if !missing.is_empty() {
        println!("left out: this machine has no {missing:?}");
    }
    missing.is_empty()
}

/// All sandboxes that keep files in: with namespaces and Landlock, with each alone.
fn sandboxes(place: &Place) -> Vec<(&'static str, Sandbox)> {
    let make = || place.sandbox(place.confinement());
    let mut all = Vec::new();
    if has(&make(), &[Layer::Namespaces, Layer::Landlock]) {
        all.push(("all", make()));
    }
    if has(&make(), &[Layer::Namespaces]) {
        all.push(("namespaces alone", make().without(Layer::Landlock)));
    }
    let through = make().by_bubblewrap();
    if has(&through, &[Layer::Bubblewrap]) {
        all.push(("bubblewrap", through));
        all.push(("bubblewrap alone", make().without(Layer::Landlock).by_bubblewrap()));
    }
    if has(&make(), &[Layer::Landlock]) {
        all.push(("landlock alone", make().without(Layer::Namespaces)));
    }
    all
}

#[tokio::test]
async fn a_command_writes_its_workspace_and_nothing_else() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let script = format!(
            "echo in > src/new && mkdir -p a/b && mv src/new a/b/moved && echo more >> a/b/moved && rm -r a && echo fine; \
             for to in {out}/file {out}/new {home}/new /etc/haft-test ../outside/file; do \
             (echo x > $to) 2>/dev/null && echo wrote $to; done; \
             ln -s {out}/file link; (echo x > link) 2>/dev/null && echo wrote through a link; \
             (mv {out}/file {out}/f2 || rm -f {out}/file || ln {out}/file hard) 2>/dev/null && echo changed; \
             {mode} rm -f link; true",
            out = place.text("outside"),
            home = place.text("home"),
            // Landlock has no rule for it, and that is said.
            mode = if name.starts_with("landlock") {
                String::new()
            } else {
                format!("chmod 777 {}/file 2>/dev/null && echo changed its mode;", place.text("outside"))
            },
        );
        let ran = run(sandbox, place.command(&script)).await.unwrap();
        assert_eq!(ran.text, "fine\n", "{name}");
        assert_eq!(fs::read_to_string(place.path("outside/file")).unwrap(), "before", "{name}");
        assert!(!ran.exit.confined.unwrap().layers.is_empty());
    }
}

#[tokio::test]
async fn secrets_are_not_read() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let script = format!(
            "cat {home}/.ssh/id {home}/.netrc 2>/dev/null; ln -s {home}/.ssh/id l; cat l 2>/dev/null; rm l; \
             cat {home}/notes; cp -r {home} copy 2>/dev/null; grep -r the-secret copy; rm -rf copy; true",
            home = place.text("home"),
        );
        let ran = run(sandbox, place.command(&script)).await.unwrap();
        assert_eq!(ran.text, "plain", "{name}");
    }
}

#[tokio::test]
async fn what_is_kept_stays_also_where_it_is_absent_or_its_folder_is_renamed() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let script = "
        try() { (eval \"$1\") 2>/dev/null && echo \"did: $1\"; }
        try 'echo x > .git/hooks/pre-commit'
        try 'echo x >> .git/config'
        try 'mkdir .haft/tools'
        try 'mkdir -p .vscode && echo x > .vscode/settings.json'
        try 'mv .git .old'
        try 'mv .git/hooks .git/other'
        try 'rmdir .git/hooks'
        try 'rm -f .git/config'
        try 'mv .haft x'
        try 'umount .git/hooks'
        try 'mount -t tmpfs none src'
        try 'unshare -r true'
        echo objects > .git/index && echo committed
        true";
    let ran = run(sandbox, place.command(script)).await.unwrap();
    assert_eq!(ran.text, "committed\n");
    // Nothing that was made for it is left.
    assert!(!place.path("w/.haft").exists() && !place.path("w/.vscode").exists());
    assert!(place.path("w/.git/hooks").is_dir());
    assert_eq!(fs::read_to_string(place.path("w/.git/config")).unwrap(), "[core]\n");
    assert!(ran.exit.confined.unwrap().is_whole());
}

#[tokio::test]
async fn what_was_approved_can_be_written() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let files = vec![place.text("outside/new"), place.text("w/.git/config")];
        let allowance = Allowance { files, ..Allowance::default() };
        let script = format!("echo a > {}/new && echo b >> .git/config", place.text("outside"));
        let command = Command { confined: Some(allowance), ..place.command(&script) };
        let ran = run(sandbox, command).await.unwrap();
        assert!(ran.is_ok(), "{name}: {}", ran.text);
        assert_eq!(fs::read_to_string(place.path("outside/new")).unwrap(), "a\n", "{name}");
    }
}

#[tokio::test]
async fn a_repository_cannot_be_made_where_there_is_none() {
    let place = Place::new();
    fs::remove_dir_all(place.path("w/.git")).unwrap();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let script = "(mkdir -p .git/hooks && echo x > .git/hooks/x; echo x > .git/config; mv .git g) 2>/dev/null; ls -A .git g 2>/dev/null; true";
    assert_eq!(run(sandbox, place.command(script)).await.unwrap().text, ".git:\n");
    assert!(!place.path("w/.git").exists() && !place.path("w/g").exists());
}

/// A server that answers every connection with a line.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut head = [0; 2048];
            let _ = stream.read(&mut head);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nreached\n");
        }
    });
    port
}

/// Asks for a page with bash's own sockets, so that no program has to be there.
fn ask(port: u16) -> String {
    format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && printf \"GET / HTTP/1.0\\r\\n\\r\\n\" >&3 && cat <&3' 2>/dev/null || echo refused"
    )
}

#[tokio::test]
async fn a_closed_network_reaches_nobody() {
    let place = Place::new();
    let port = server();
    for (name, sandbox) in sandboxes(&place) {
        let ran = run(sandbox, place.command(&ask(port))).await.unwrap();
        assert_eq!(ran.text, "refused\n", "{name}");
    }
    let open = Confinement { network: Reach::Open, ..place.confinement() };
    let ran = run(place.sandbox(open), place.command(&ask(port))).await.unwrap();
    assert!(ran.text.contains("reached"), "{}", ran.text);
}

#[tokio::test]
async fn only_an_allowed_host_is_reached_and_only_by_the_proxy() {
    let place = Place::new();
    let (allowed, other) = (server(), server());
    let network = Reach::Hosts(vec![format!("127.0.0.1:{allowed}"), "localhost".to_owned()]);
    let confinement = Confinement { network, ..place.confinement() };
    if !has(&place.sandbox(confinement.clone()), &[Layer::Namespaces]) {
        return;
    }
    let by_proxy = |target: &str, method: &str| {
        format!(
            "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128 && printf \"{method} {target} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\" >&3 && head -1 <&3'"
        )
    };
    let cases = [
        (by_proxy(&format!("http://127.0.0.1:{allowed}/"), "GET"), "200 OK"),
        (by_proxy(&format!("127.0.0.1:{allowed}"), "CONNECT"), "200 Connection"),
        (by_proxy(&format!("http://127.0.0.1:{other}/"), "GET"), "403"),
        (by_proxy(&format!("127.0.0.1:{other}"), "CONNECT"), "403"),
        // An allowed name that means an address of this machine.
        (by_proxy(&format!("http://localhost:{other}/"), "GET"), "403"),
        (by_proxy("http://169.254.169.254/", "GET"), "403"),
        (by_proxy("http://[::1]:1/", "GET"), "403"),
        (by_proxy("/", "GET"), "400"),
        (ask(allowed), "refused"),
        ("echo $HTTPS_PROXY".to_owned(), "http://127.0.0.1:3128"),
    ];
    for (script, expected) in cases {
        let ran = run(place.sandbox(confinement.clone()), place.command(&script)).await.unwrap();
        assert!(ran.text.contains(expected), "{script}: {}", ran.text);
    }
}

#[tokio::test]
async fn a_tools_own_profile_takes_the_workspace_away_and_opens_folders() {
    let place = Place::new();
    let port = server();
    for (name, sandbox) in sandboxes(&place) {
        let allowance = Allowance {
            closed: vec![place.text("w")],
            writable: vec![place.text("w/src")],
            folders: vec![place.text("home/.cache/own")],
            network: Some(Reach::Closed),
            ..Allowance::default()
        };
        let script = format!(
            "for to in new .git/config .haft {home}/new {home}/.cache/other; do (echo x > $to) 2>/dev/null && echo wrote $to; done; \
             echo a > src/a && echo b > {home}/.cache/own/b && echo fine; {}",
            ask(port),
            home = place.text("home"),
        );
        let command = Command { confined: Some(allowance), ..place.command(&script) };
        let ran = run(sandbox, command).await.unwrap();
        assert_eq!(ran.text, "fine\nrefused\n", "{name}");
        assert_eq!(fs::read_to_string(place.path("home/.cache/own/b")).unwrap(), "b\n", "{name}");
        assert!(!place.path("w/.haft").exists(), "{name}");
    }
}

#[tokio::test]
async fn a_tools_own_profile_reaches_its_hosts_where_the_network_is_closed_for_others() {
    let place = Place::new();
    let port = server();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let network = Some(Reach::Hosts(vec![format!("127.0.0.1:{port}")]));
    let allowance = Allowance { network, ..Allowance::default() };
    let script = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128 && printf \"GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\" >&3 && head -1 <&3'"
    );
    let command = Command { confined: Some(allowance), ..place.command(&script) };
    let ran = run(sandbox, command).await.unwrap();
    assert!(ran.text.contains("200 OK"), "{}", ran.text);
}

#[tokio::test]
async fn bubblewrap_keeps_hides_and_reaches_as_own_namespaces_do() {
    let place = Place::new();
    let (allowed, other) = (server(), server());
    let network = Reach::Hosts(vec![format!("127.0.0.1:{allowed}")]);
    let confinement = Confinement { network, required: true, ..place.confinement() };
    let make = || place.sandbox(confinement.clone()).by_bubblewrap();
    if !has(&make(), &[Layer::Bubblewrap]) {
        return;
    }
    let by_proxy = |port: u16| {
        format!(
            "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128 && printf \"GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\" >&3 && head -1 <&3 | cut -c 10-12'"
        )
    };
    let script = format!(
        "for to in .git/hooks/x .git/config .haft/x {out}/file; do (echo x > $to) 2>/dev/null && echo wrote $to; done; \
         (mv .git .old || cat {home}/.ssh/id {home}/.netrc) 2>/dev/null; echo x > src/made && echo x > /dev/null && echo fine; \
         {}; {}; {}",
        by_proxy(allowed),
        by_proxy(other),
        ask(allowed),
        out = place.text("outside"),
        home = place.text("home"),
    );
    let ran = run(make(), place.command(&script)).await.unwrap();
    assert_eq!(ran.text, "fine\n200\n403\nrefused\n");
    let held = ran.exit.confined.unwrap();
    assert!(held.is_whole() && held.layers.contains(&Layer::Bubblewrap) && !place.path("w/.haft").exists());

    let missing = Command { argv: vec!["/no/such/program".to_owned()], ..place.command("") };
    let failure = run(make(), missing).await.err().unwrap();
    assert!(failure.kind == FailureKind::NotFound && failure.text.contains("/no/such/program"), "{failure}");

    // A polite end is the command's own business, not bubblewrap's.
    let polite = place.command("trap 'echo asked to end; exit 3' TERM; echo up; while :; do sleep 0.1; done");
    let processes = OsProcesses::new(Environment::of_process()).confined_by(make());
    let (cancel, mut text) = (Cancel::new(), String::new());
    let mut take = |_: Stdio, piece: &[u8]| {
        text.push_str(&String::from_utf8_lossy(piece));
        if text.contains("up\n") {
            cancel.fire();
        }
    };
    let exit = processes.run(polite, &cancel, &mut take).await.unwrap();
    // The shell may say of its own child that it was ended, too.
    assert!(text.starts_with("up\n") && text.ends_with("asked to end\n"), "{text}");
    assert_eq!(exit.status, Status::Code(3));
}

#[tokio::test]
async fn sockets_of_services_are_out_of_reach() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let socket = place.path("outside/service.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let script = format!("test -S {} && echo there || echo hidden", socket.display());
    assert_eq!(run(sandbox, place.command(&script)).await.unwrap().text, "hidden\n");
}

/// A process outside that knows nothing of haft.
struct Stranger(Child);

impl Stranger {
    fn new() -> Self {
        Self(std::process::Command::new("sleep").arg("47113").stdin(Pipe::null()).spawn().unwrap())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn other_processes_are_neither_signalled_nor_looked_into() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let mut stranger = Stranger::new();
        let (pid, own) = (stranger.0.id(), std::process::id());
        let script = format!(
            "kill -9 {pid} 2>/dev/null && echo killed; kill -9 {own} 2>/dev/null && echo killed haft; \
             cat /proc/{pid}/environ 2>/dev/null | tr '\\0' '\\n' | grep -c = ; cat /proc/{own}/environ >/dev/null 2>&1 && echo read; \
             cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' | grep CARGO_PKG; true"
        );
        let ran = run(sandbox, place.command(&script)).await.unwrap();
        let first = ran.text.lines().next().unwrap_or_default();
        assert_eq!((first, ran.text.lines().count()), ("0", 1), "{name}: {}", ran.text);
        assert!(stranger.0.try_wait().unwrap().is_none(), "{name}");
    }
}

#[tokio::test]
async fn a_terminal_of_its_own_works_in_there_too() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let script = "test -t 0 && test -t 1 && test -t 2 && echo all; stty size; echo direct > /dev/tty";
        let command = Command { terminal: Some(TerminalSize::default()), ..place.command(script) };
        let ran = run(sandbox, command).await.unwrap();
        assert_eq!(ran.text.replace('\r', ""), "all\n40 120\ndirect\n", "{name}");
    }
}

#[tokio::test]
async fn what_outlives_haft_stays_in_its_sandbox() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    assert!(std::process::Command::new("mkfifo").arg(place.path("w/gate")).status().unwrap().success());
    // Made for the command, since it must not be made by it; and tried once nobody is there any more.
    let script = "echo up; read x < gate; mkdir .haft/tools; echo x > ../outside/file; (sleep 300 &); echo over > said";
    let tether = Tether::closed();
    let command = Command { keep: true, tether: Some(tether.clone()), ..place.command(script) };
    let processes = OsProcesses::new(Environment::of_process()).confined_by(sandbox);
    let (up, cancel) = (tokio::sync::Notify::new(), Cancel::new());
    let mut take = |_: Stdio, _: &[u8]| up.notify_one();
    tokio::select! {
        ended = processes.run(command, &cancel, &mut take) => panic!("{ended:?}"),
        () = async { up.notified().await; tether.running().await } => {}
    }
    // Another command comes and goes meanwhile.
    let again = place.sandbox(place.confinement());
    assert!(run(again, place.command("true")).await.unwrap().is_ok());
    fs::write(place.path("w/gate"), "\n").unwrap();
    let began = std::time::Instant::now();
    let first = format!("/proc/{}", tether.pid().unwrap());
    while Path::new(&first).exists() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it ends with its program, and what that left too"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(fs::read_to_string(place.path("w/said")).unwrap(), "over\n");
    assert!(!place.path("w/.haft/tools").exists());
    assert_eq!(fs::read_to_string(place.path("outside/file")).unwrap(), "before");
}

#[tokio::test]
async fn refused_calls_fail_and_the_program_goes_on() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement()).without(Layer::Namespaces).without(Layer::Landlock);
    if !has(&sandbox, &[Layer::Seccomp]) {
        return;
    }
    let port = server();
    let script =
        format!("unshare -r true 2>/dev/null && echo unshared; {}; (sleep 0 & wait) && echo on", ask(port));
    let ran = run(sandbox, place.command(&script)).await.unwrap();
    assert_eq!(ran.text, "refused\non\n");
}

#[tokio::test]
async fn root_has_no_special_rights() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let ran = run(sandbox, place.command("grep -E '^Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | cut -f2 | sort -u; grep NoNewPrivs /proc/self/status"))
            .await
            .unwrap();
        let is_root = rustix::process::geteuid().is_root();
        let first = ran.text.lines().next().unwrap_or_default();
        assert!(!is_root || first == "0000000000000000", "{name}: {}", ran.text);
        assert!(ran.text.ends_with("NoNewPrivs:\t1\n"), "{name}: {}", ran.text);
    }
}

#[tokio::test]
async fn how_a_program_ends_and_what_it_leaves_is_seen_as_ever() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let ran = run(sandbox, place.command("echo out; exit 7")).await.unwrap();
        assert_eq!((ran.text.as_str(), ran.exit.status), ("out\n", Status::Code(7)), "{name}");
        assert_eq!(ran.exit.survivor_count, 0, "{name}");
    }
    for (name, sandbox) in sandboxes(&place) {
        let ran = run(sandbox, place.command("kill -9 $$")).await.unwrap();
        assert_eq!(ran.exit.status, Status::Signal(9), "{name}");
    }
    for (name, sandbox) in sandboxes(&place) {
        let ran = run(sandbox, place.command("sleep 47114 & setsid sleep 47114 & echo ready")).await.unwrap();
        assert_eq!((ran.text.as_str(), ran.exit.survivor_count), ("ready\n", 2), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_commands_stopped_anywhere_leave_nothing() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let processes = OsProcesses::new(Environment::of_process()).confined_by(sandbox);
        let mut seed = 0x2545_F491_u32;
        let commands = (0..100_u32).map(|number| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let time = Duration::from_micros(u64::from(seed >> 16));
            let command = place.command("trap '' TERM; sleep 47115 & (setsid sleep 47115 &); wait");
            (number, time, command)
        });
        for (number, time, command) in commands.collect::<Vec<_>>() {
            let cancel = Cancel::new();
            let mut said = Vec::new();
            let mut ignore = |_: Stdio, bytes: &[u8]| said.extend_from_slice(bytes);
            // Dropped, so that no grace passes.
            let ran = tokio::time::timeout(time, processes.run(command, &cancel, &mut ignore)).await;
            assert!(
                ran.is_err(),
                "{name}: command {number} ended by itself: {:?}, saying {}",
                ran.map(|ran| ran.map(|exit| exit.status)),
                String::from_utf8_lossy(&said)
            );
        }
        let lives = || {
            let all = fs::read_dir("/proc").unwrap().flatten();
            all.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok())
                .any(|line| line.contains("47115"))
        };
        let end = std::time::Instant::now() + Duration::from_secs(20);
        while lives() && std::time::Instant::now() < end {
            tokio::task::yield_now().await;
        }
        assert!(!lives(), "{name}");
    }
    // What stood in for absent paths is gone, at the latest with the next command.
    drop(run(place.sandbox(place.confinement()), place.command("true")).await);
    assert!(!place.path("w/.haft").exists());
}

#[tokio::test]
async fn a_sandbox_that_is_required_and_not_whole_refuses_and_names_what_is_missing() {
    let place = Place::new();
    let confinement = Confinement { required: true, ..place.confinement() };
    let sandbox = place.sandbox(confinement).without(Layer::Namespaces);
    let failure = run(sandbox, place.command("echo ran > src/ran")).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.text.contains("protected paths") && failure.text.contains("haft doctor"), "{failure}");
    assert!(!place.path("w/src/ran").exists());
}

#[tokio::test]
async fn what_is_missing_is_named_with_each_command() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement()).without(Layer::Namespaces);
    let ran = run(sandbox, place.command("true")).await.unwrap();
    let Confined { layers, gaps, .. } = ran.exit.confined.unwrap();
    assert!(!layers.contains(&Layer::Namespaces) && gaps.iter().any(|gap| gap.contains("protected paths")));
}
