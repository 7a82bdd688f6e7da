//! Sockets, secrets and devices that are out of reach, and what root may.

use super::*;

#[tokio::test]
async fn sockets_are_out_of_reach_whatever_their_names_and_folders() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    // A name with spaces, and one of which the kernel's list knows only what it is called in its folder.
    let spaced = place.path("outside/a service .sock");
    let _spaced = UnixListener::bind(&spaced).unwrap();
    let mut relative = std::process::Command::new("python3");
    let bind = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('near.sock'); s.listen(); print(flush=True); sys.stdin.read()";
    relative.args(["-c", bind]).current_dir(place.path("w/src")).stdin(Pipe::piped()).stdout(Pipe::piped());
    let relative = relative.spawn().map(|mut child| {
        let _ = child.stdout.take().unwrap().read(&mut [0]);
        Stranger(child)
    });
    if relative.is_err() {
        println!("left out: there is no python3 to bind a relative name");
    }
    let script =
        format!("test -S '{}' && echo spaced; test -S src/near.sock && echo near; true", spaced.display());
    assert_eq!(run(sandbox, place.command(&script)).await.unwrap().text, "");
}

#[tokio::test]
async fn sockets_that_services_make_later_are_out_of_reach_in_their_folder() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement());
    let Ok(folder) = tempfile::tempdir_in("/run") else {
        println!("left out: this user can't make a folder in /run");
        return;
    };
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let socket = folder.path().join("late.sock");
    let script = format!("test -S {} && echo there; ls /run/lock 2>/dev/null; true", socket.display());
    let mut listener = None;
    let ran = place.meanwhile(sandbox, &script, || listener = UnixListener::bind(&socket).ok()).await;
    assert!(listener.is_some());
    assert_eq!(ran.text, "");
    // Names of machines are found as ever.
    let sandbox = place.sandbox(place.confinement());
    let ran =
        run(sandbox, place.command("cat /etc/resolv.conf /etc/hosts >/dev/null && echo read")).await.unwrap();
    assert_eq!(ran.text, "read\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_end_while_a_sandbox_is_put_up_are_no_hurdle() {
    let place = Place::new();
    let folder = place.path("outside/service");
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_over = std::sync::Arc::clone(&over);
    let services = std::thread::spawn(move || {
        let mut count = 0;
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            fs::create_dir(&folder).unwrap();
            let listener = UnixListener::bind(folder.join("sock")).unwrap();
            // Long enough to be seen by most, and not by all until the end.
            drop(std::process::Command::new("true").status());
            fs::remove_dir_all(&folder).unwrap();
            drop(listener);
            count += 1;
        }
        count
    });
    for (name, sandbox) in sandboxes(&place) {
        let processes = OsProcesses::new(Environment::of_process()).confined_by(sandbox);
        for number in 0..20 {
            let mut said = Vec::new();
            let mut take = |_: Stdio, bytes: &[u8]| said.extend_from_slice(bytes);
            let exit = processes.run(place.command("echo ran"), &Cancel::new(), &mut take).await;
            let said = String::from_utf8_lossy(&said);
            assert!(
                exit.as_ref().is_ok_and(|exit| exit.status == Status::Code(0)),
                "{name}: command {number}: {exit:?}, saying {said}"
            );
            assert_eq!(said, "ran\n", "{name}: nothing is said but what the command says");
        }
    }
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(services.join().unwrap() > 0);
}

#[tokio::test]
async fn a_socket_of_somebody_else_in_a_closed_folder_is_no_gap() {
    let place = Place::new();
    if !rustix::process::geteuid().is_root() {
        println!("left out: only root makes what is another user's");
        return;
    }
    fs::create_dir(place.path("outside/theirs")).unwrap();
    let _listener = UnixListener::bind(place.path("outside/theirs/socket")).unwrap();
    for at in ["outside/theirs/socket", "outside/theirs"] {
        std::os::unix::fs::chown(place.path(at), Some(4_711), Some(4_711)).unwrap();
        fs::set_permissions(place.path(at), fs::Permissions::from_mode(0o700)).unwrap();
    }
    for (name, sandbox) in sandboxes(&place) {
        let ran =
            run(sandbox, place.command("cat ../outside/theirs/socket 2>/dev/null; echo ran")).await.unwrap();
        assert_eq!(ran.text, "ran\n", "{name}");
    }
}

#[tokio::test]
async fn what_links_of_the_home_lead_to_is_hidden_too() {
    let place = Place::new();
    fs::create_dir(place.path("outside/keys")).unwrap();
    for (file, content) in
        [("keys/id", "the-secret-key"), ("login", "the-secret-login"), ("token", "the-secret")]
    {
        fs::write(place.path("outside").join(file), content).unwrap();
    }
    for (target, link) in
        [("outside/keys", "home/.aws"), ("outside/login", "home/.pgpass"), ("outside/token", "home/.ssh/t")]
    {
        std::os::unix::fs::symlink(place.path(target), place.path(link)).unwrap();
    }
    for namespaces in [true, false] {
        let mut confinement = place.confinement();
        confinement.hidden.extend([place.text("home/.aws"), place.text("home/.pgpass")]);
        let sandbox = place.sandbox(confinement);
        if !has(&sandbox, &[Layer::Namespaces, Layer::Landlock]) {
            return;
        }
        let sandbox = if namespaces { sandbox } else { sandbox.without(Layer::Namespaces) };
        let script = "cat ../outside/keys/id ../outside/login ../outside/token ../home/.aws/id 2>/dev/null; \
                      cat ../outside/file";
        assert_eq!(run(sandbox, place.command(script)).await.unwrap().text, "before", "{namespaces}");
    }
}

#[tokio::test]
async fn devices_are_those_that_harm_nobody() {
    let place = Place::new();
    let script = "echo x > /dev/null && head -c1 /dev/zero | od -An -c && head -c1 /dev/urandom | wc -c; \
                  cat /dev/fd/0 < /dev/null && echo out > /dev/stdout; exec 3<>/dev/ptmx && ls /dev/pts; \
                  echo x > /dev/shm/mine && cat /dev/shm/mine; (echo x > /dev/full) 2>/dev/null || echo full; \
                  find /dev/ -type b; find /dev/ -type c | grep -vE '^/dev/(null|zero|full|random|urandom|tty|pts/.*)$'; \
                  (touch /dev/new || mknod /dev/x b 8 0) 2>/dev/null && echo made; \
                  for to in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/self/oom_score_adj; do \
                  (: >> $to) 2>/dev/null && echo $to; done; true";
    for (name, sandbox) in sandboxes(&place).into_iter().filter(|(name, _)| !name.starts_with("landlock")) {
        let ran = run(sandbox, place.command(script)).await.unwrap();
        assert_eq!(ran.text, "  \\0\n1\nout\n0\nptmx\nx\nfull\n", "{name}");
    }
    assert!(!Path::new("/dev/shm/mine").exists());
}

#[tokio::test]
async fn raw_devices_are_not_read_without_namespaces_either() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement()).without(Layer::Namespaces);
    if !has(&sandbox, &[Layer::Landlock]) {
        return;
    }
    let script = "for device in $(find /dev -type b 2>/dev/null) /dev/mem /dev/kmsg; do \
                  (head -c1 $device >/dev/null) 2>/dev/null && echo $device; done; echo x > /dev/null && echo fine";
    assert_eq!(run(sandbox, place.command(script)).await.unwrap().text, "fine\n");
}

#[tokio::test]
async fn root_writes_a_workspace_of_somebody_else_and_nothing_more() {
    let place = Place::new();
    if !rustix::process::geteuid().is_root() {
        println!("left out: only root works on files of others");
        return;
    }
    let theirs = ["w", "w/src", "w/.git", "w/.git/config", "w/.git/hooks"];
    for at in theirs {
        std::os::unix::fs::chown(place.path(at), Some(4_711), Some(4_712)).unwrap();
    }
    fs::write(place.path("outside/private"), "a third user's").unwrap();
    std::os::unix::fs::chown(place.path("outside/private"), Some(4_713), Some(4_713)).unwrap();
    fs::set_permissions(place.path("outside/private"), fs::Permissions::from_mode(0o600)).unwrap();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let script = "echo x > src/new && mkdir a && chmod 700 src && touch -d '1 hour ago' src && chown 4711:4712 src/new && echo fine; \
                  for to in .git/config .git/hooks/x .haft/x ../outside/file /proc/sys/kernel/core_pattern; do \
                  (echo x > $to) 2>/dev/null && echo wrote $to; done; cat ../outside/private 2>/dev/null; \
                  (mount -t tmpfs x src || umount .git/hooks || unshare -n true) 2>/dev/null && echo mighty; \
                  grep CapEff /proc/self/status";
    for sandbox in
        [place.sandbox(place.confinement()), place.sandbox(place.confinement()).without(Layer::Landlock)]
    {
        let ran = run(sandbox, place.command(script)).await.unwrap();
        // To give files away, to write them whatever their mode says, to set their modes and times.
        assert_eq!(ran.text, "fine\nCapEff:\t000000000000000b\n");
        fs::remove_dir(place.path("w/a")).unwrap();
    }
}
