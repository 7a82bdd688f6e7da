//! git inside works, and git outside runs nothing that a command planted.

use super::*;

/// git as a user has it who set nothing up.
fn git(folder: &Path, arguments: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(folder).args([
        "-c",
        "user.name=n",
        "-c",
        "user.email=e",
        "-c",
        "protocol.file.allow=always",
    ]);
    let ended =
        git.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let ended = ended.output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// What makes git in a command as plain as [`git`].
const PLAIN_GIT: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=n \
                         GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e;";

/// A workspace that is a repository with one commit.
fn committed(place: &Place, at: &str) {
    let folder = place.path(at);
    let _ = fs::remove_dir_all(folder.join(".git"));
    fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "-q", "-b", "main"]);
    fs::write(folder.join("file"), "1").unwrap();
    git(&folder, &["add", "file"]);
    git(&folder, &["commit", "-q", "-m", "one"]);
}

/// A workspace with a repository, one deeper in it, a submodule, a further working folder outside, and a program that leaves a mark when somebody outside has git run it.
fn repositories(place: &Place) {
    for folder in ["w", "linked"] {
        let _ = fs::remove_dir_all(place.path(folder));
    }
    fs::create_dir_all(place.path("w/src")).unwrap();
    committed(place, "w");
    committed(place, "w/known");
    git(&place.path("w"), &["submodule", "add", "-q", "./known", "sub"]);
    git(&place.path("w"), &["commit", "-q", "-m", "two"]);
    git(&place.path("w"), &["worktree", "add", "-q", "../linked"]);
    let trap = format!("#!/bin/sh\ntouch {}\n", place.text("outside/ran"));
    fs::write(place.path("w/trap"), trap).unwrap();
    fs::set_permissions(place.path("w/trap"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Asks git for the state of every folder, as a user's shell or editor does, and tells whether the trap went off.
fn goes_off(place: &Place) -> bool {
    let mut waiting = vec![place.path("w"), place.path("linked")];
    while let Some(folder) = waiting.pop() {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(&folder).arg("status").env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
        let entries = fs::read_dir(&folder).unwrap().flatten();
        waiting.extend(entries.filter(|entry| entry.file_type().unwrap().is_dir()).map(|entry| entry.path()));
    }
    fs::remove_file(place.path("outside/ran")).is_ok()
}

#[tokio::test]
async fn what_a_command_plants_makes_no_git_outside_run_anything() {
    let place = Place::new();
    let confinement = place.confinement();
    let confinement = Confinement { writable: vec![place.text("w"), "/var/tmp".to_owned()], ..confinement };
    if !has(&place.sandbox(confinement.clone()), &[Layer::Namespaces]) {
        return;
    }
    let evil = |file: &str| format!("printf '[core]\n\tfsmonitor = {}\n' >> {file};", place.text("w/trap"));
    let bare = |at: &str| {
        format!(
            "mkdir -p {at}/objects {at}/refs {at}/in; echo ref: refs/heads/x > {at}/HEAD; \
             printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = in\n' > {at}/config; {}",
            evil(&format!("{at}/config"))
        )
    };
    let new = format!("git init -q new; {}", evil("new/.git/config"));
    let far = bare("far");
    let out = "/var/tmp/haft-far";
    // So that git writes its index when it is asked for the state.
    let touched = "touch -d '1 hour ago' file";
    let hooked = format!("cd new; touch file; git add file; {touched}");
    let cases = [
        ("settings", evil(".git/config") + &evil(".git/config.worktree")),
        ("settings elsewhere", format!("{far} echo ../far > .git/commondir")),
        ("another repository in its place", format!("{new} mv .git .g; mv new/.git .git")),
        ("a new repository", new.clone()),
        ("one in another's place", format!("{new} mv known old; mv new known; mv new/.git known/.git")),
        ("settings of one that was there", evil("known/.git/config")),
        ("settings elsewhere of one that was there", format!("{far} echo $PWD/far > known/.git/commondir")),
        ("settings of a submodule", evil(".git/modules/sub/config")),
        (
            "settings of all submodules",
            format!("mv .git/modules m; cp -r m .git/modules; {}", evil(".git/modules/sub/config")),
        ),
        ("a file instead of a folder", format!("{far} mkdir led; echo gitdir: ../far > led/.git")),
        ("a link", format!("{far} mkdir led; ln -s ../far led/.git")),
        ("what is out of sight", format!("{} mkdir led; echo gitdir: {out} > led/.git", bare(out))),
        ("what is to come out of sight", format!("mkdir led; echo gitdir: {out} > led/.git; {}", bare(out))),
        ("a bare repository", bare("src/bare")),
        (
            "one within a repository's own folder",
            format!("{new} mv new/.git .git/hidden; mv .git/hidden .git/info/.git"),
        ),
        (
            "a working folder",
            format!("git worktree add -q more; {far} echo $PWD/far > .git/worktrees/more/commondir"),
        ),
        ("a working folder that was there", format!("{far} echo $PWD/far > .git/worktrees/linked/commondir")),
        ("a hook", format!("git init -q new; cp trap new/.git/hooks/post-index-change; {hooked}")),
        (
            "a hook of one that was there",
            format!("cp trap known/.git/hooks/post-index-change; cd known; {touched}"),
        ),
    ];
    for (what, script) in &cases {
        repositories(&place);
        let script = format!("{PLAIN_GIT} ({script}) 2>/dev/null; true");
        let ran = run(place.sandbox(confinement.clone()), place.command(&script)).await.unwrap();
        assert!(!goes_off(&place), "{what}: {:?}", ran.exit.confined);
        // What was the user's is still there.
        assert!(place.path("w/.git/HEAD").exists() && place.path("w/sub/.git").exists(), "{what}");
    }
    // The same in two steps: what the first one left isn't taken for the user's.
    repositories(&place);
    let sandbox = place.sandbox(confinement.clone());
    let processes = OsProcesses::new(Environment::of_process()).confined_by(sandbox);
    for script in ["mkdir -p step/.git", &format!("{far} mv far/* step/.git")] {
        let mut ignore = |_: Stdio, _: &[u8]| {};
        processes.run(place.command(script), &Cancel::new(), &mut ignore).await.unwrap();
    }
    assert!(!goes_off(&place));
    let _ = fs::remove_dir_all(out);
}

#[tokio::test]
async fn repositories_are_made_and_used_as_ever() {
    let place = Place::new();
    repositories(&place);
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let script = format!(
        "{PLAIN_GIT} set -e; echo 2 > file; git commit -qam two; git checkout -q -b other; git stash list; \
         git init -q new; cd new; git remote add origin https://example.org/x; touch a; git add a; git commit -qm a; \
         cd ../known; echo 2 > file; git commit -qam two; cd ..; git worktree add -q more; cd more; echo 3 > file; \
         git commit -qam three; echo fine"
    );
    let ran = run(sandbox, place.command(&script)).await.unwrap();
    assert_eq!(ran.text, "fine\n");
    assert_eq!(ran.exit.confined.unwrap().noticed, [""; 0]);
    for folder in ["w/new", "w/known", "w/more", "linked"] {
        git(&place.path(folder), &["status"]);
    }
    assert!(!place.path("w/.git/commondir").exists());
    // From the next command on they are kept too, and that is a failure like others.
    let script = format!("{PLAIN_GIT} git remote add x y; cd new; git remote add x y");
    let ran = run(place.sandbox(place.confinement()), place.command(&script)).await.unwrap();
    assert_eq!(ran.text.matches("Device or resource busy").count(), 2, "{}", ran.text);
}

#[tokio::test]
async fn commits_are_made_in_a_further_working_folder_and_in_a_submodule() {
    let place = Place::new();
    repositories(&place);
    for folder in ["linked", "w/sub"] {
        let at = |name: &str| place.text(&format!("{folder}/{name}"));
        let names = [".git/hooks", ".git/config", ".haft"];
        let confinement = Confinement {
            writable: vec![place.text(folder)],
            kept: names.map(|name| Kept { path: at(name), even_absent: true }).into(),
            ..Confinement::default()
        };
        if !has(&place.sandbox(confinement.clone()), &[Layer::Namespaces]) {
            return;
        }
        let script = format!(
            "{PLAIN_GIT} echo 2 > file; git commit -qam two && git checkout -q -b b-$$ && echo 3 > file && git commit -qam three \
             && git log --format=%s -1; dir=$(git rev-parse --git-dir); common=$(git rev-parse --git-common-dir); \
             for to in $common/hooks/post-commit $common/config $dir/commondir $dir/config.worktree .git; do \
             (echo x >> $to) 2>/dev/null && echo wrote $to; done; true"
        );
        let cwd = RealPath::new(&place.text(folder), "");
        let command = Command { cwd, ..place.command(&script) };
        let ran = run(place.sandbox(confinement), command).await.unwrap();
        assert!(ran.text.starts_with("three\n"), "{folder}: {}", ran.text);
        // Nobody reads a further file of settings there unless that is switched on.
        let wrote: Vec<&str> =
            ran.text.lines().skip(1).filter(|line| !line.ends_with("/config.worktree")).collect();
        assert_eq!(wrote, [""; 0], "{folder}");
    }
}
