//! What is kept stays so while others do something to it, and what can't be kept is set aside.

use super::*;

#[tokio::test]
async fn what_is_replaced_from_outside_meanwhile_is_told() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    for (content, is_told) in [("[user]\n\tname = n\n", false), ("[core]\n\tfsmonitor = x\n", true)] {
        let sandbox = place.sandbox(place.confinement());
        let replace = || {
            fs::write(place.path("w/.git/new"), content).unwrap();
            fs::rename(place.path("w/.git/new"), place.path("w/.git/config")).unwrap();
        };
        let ran = place.meanwhile(sandbox, "true", replace).await;
        let noticed = ran.exit.confined.unwrap().noticed;
        assert_eq!(
            noticed.iter().any(|notice| notice.contains("w/.git/config was replaced")),
            is_told,
            "{noticed:?}"
        );
    }
}

#[tokio::test]
async fn the_end_of_another_haft_takes_nothing_away_that_is_needed() {
    let place = Place::new();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let other = Sandbox::new(place.confinement(), place.path("another-state"));
    // The one that made what stands for `.haft` ends first.
    let (first, second) = (Meeting::new(&place, "first"), Meeting::new(&place, "second"));
    let maker = tokio::spawn(run(sandbox, place.command(&first.script())));
    first.reached().await;
    let script = format!("{} (mkdir -p .haft/tools; mv .haft x) 2>/dev/null; ls -A .haft", second.script());
    let user = tokio::spawn(run(other, place.command(&script)));
    second.reached().await;
    first.go_on().await;
    assert!(maker.await.unwrap().unwrap().is_ok());
    second.go_on().await;
    let ran = user.await.unwrap().unwrap();
    assert_eq!(ran.text, "");
    assert!(!place.path("w/.haft").exists() && !place.path("w/x").exists());
}

#[tokio::test]
async fn a_workspace_may_have_any_name_but_not_be_everything() {
    let place = Place::new();
    fs::rename(place.path("w"), place.path("w\nw")).unwrap();
    let mut confinement = place.confinement();
    for path in confinement.writable.iter_mut().chain(confinement.kept.iter_mut().map(|kept| &mut kept.path))
    {
        *path = path.replace(&place.text("w"), &place.text("w\nw"));
    }
    if !has(&place.sandbox(confinement.clone()), &[Layer::Namespaces]) {
        return;
    }
    let command =
        |script: &str| Command { cwd: RealPath::new(&place.text("w\nw"), ""), ..place.command(script) };
    let script = "echo x > src/new; mkdir .vscode/x 2>/dev/null || echo kept";
    let ran = run(place.sandbox(confinement), command(script)).await.unwrap();
    assert_eq!(ran.text, "kept\n");
    assert!(place.path("w\nw/src/new").exists() && !place.path("w\nw/.vscode").exists());
    let all = Confinement { writable: vec!["/".to_owned()], ..Confinement::default() };
    let refused = run(place.sandbox(all), command("touch src/ran")).await.err().unwrap();
    assert!(refused.text.contains("root folder") && refused.text.contains("outside=true"), "{refused}");
    assert!(!place.path("w\nw/src/ran").exists());
}

#[tokio::test]
async fn what_a_link_leads_to_is_kept_and_the_link_comes_back() {
    let place = Place::new();
    fs::remove_dir(place.path("w/.git/hooks")).unwrap();
    for folder in ["w/hooks", "w/editor"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    for (target, link) in [("../hooks", "w/.git/hooks"), ("editor", "w/.vscode")] {
        std::os::unix::fs::symlink(target, place.path(link)).unwrap();
    }
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let script = "(echo x > hooks/post-commit || echo x > .git/hooks/y || echo x > editor/z) 2>/dev/null && echo wrote; \
                  rm .git/hooks .vscode; mkdir .git/hooks && echo x > .git/hooks/post-commit";
    let ran = run(sandbox, place.command(script)).await.unwrap();
    assert_eq!(ran.text, "");
    assert_eq!(fs::read_link(place.path("w/.git/hooks")).unwrap(), Path::new("../hooks"));
    assert_eq!(fs::read_link(place.path("w/.vscode")).unwrap(), Path::new("editor"));
    assert!(place.path("w/.git/hooks.set-aside/post-commit").exists());
    assert_eq!(ran.exit.confined.unwrap().noticed.len(), 2);
}

#[tokio::test]
async fn what_must_not_be_made_is_set_aside() {
    let place = Place::new();
    fs::write(place.path("w/.profile"), "mine").unwrap();
    let watched = vec![place.text("w/.profile"), place.text("w/.zshenv")];
    let confinement = Confinement { watched, ..place.confinement() };
    let script = "echo x > .zshenv; echo x >> .profile; touch .other";
    let ran = run(place.sandbox(confinement), place.command(script)).await.unwrap();
    let noticed = ran.exit.confined.unwrap().noticed;
    assert!(noticed.len() == 1 && noticed[0].contains(".zshenv.set-aside"), "{noticed:?}");
    assert!(!place.path("w/.zshenv").exists() && place.path("w/.zshenv.set-aside").exists());
    assert!(place.path("w/.profile").exists() && place.path("w/.other").exists());
}

#[tokio::test]
async fn settings_that_a_command_makes_are_set_aside_unless_it_was_let_make_them() {
    let place = Place::new();
    let confinement = Confinement { watched: vec![place.text("w/.mcp.json")], ..place.confinement() };
    if !has(&place.sandbox(confinement.clone()), &[Layer::Namespaces]) {
        return;
    }
    let ran = run(place.sandbox(confinement.clone()), place.command("echo x > .mcp.json")).await.unwrap();
    let noticed = ran.exit.confined.unwrap().noticed;
    assert!(
        noticed.iter().any(|notice| notice.contains(".mcp.json") && notice.contains("set aside")),
        "{noticed:?}"
    );
    assert!(!place.path("w/.mcp.json").exists());
    let allowed = Allowance { files: vec![place.text("w/.mcp.json")], ..Allowance::default() };
    let command = Command { confined: Some(allowed), ..place.command("echo x > .mcp.json") };
    let ran = run(place.sandbox(confinement), command).await.unwrap();
    assert!(ran.exit.confined.unwrap().noticed.is_empty());
    assert_eq!(fs::read_to_string(place.path("w/.mcp.json")).unwrap(), "x\n");
}
