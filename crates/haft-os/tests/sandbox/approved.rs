//! What was approved is opened, and nothing beside it.

use super::*;

#[tokio::test]
async fn an_approval_outside_opens_one_file_and_not_its_folder() {
    let place = Place::new();
    for (name, sandbox) in sandboxes(&place) {
        let files = ["new", "made", "left", "file"].map(|name| place.text(&format!("outside/{name}")));
        let writable = vec![place.text("outside/absent")];
        let allowance = Allowance { files: files.into(), writable, ..Allowance::default() };
        let script = "cd ../outside; echo a > new; touch made; echo b >> file; \
                      for to in other absent/x ../home/new; do (echo x > $to) 2>/dev/null && echo wrote $to; done; \
                      (mkdir absent || mv file moved || ln new hard || ln -s new soft) 2>/dev/null && echo changed; true";
        let command = Command { confined: Some(allowance), ..place.command(script) };
        let ran = run(sandbox, command).await.unwrap();
        assert_eq!(ran.text, "", "{name}");
        let read = |name: &str| fs::read_to_string(place.path("outside").join(name)).ok();
        assert_eq!(read("new").as_deref(), Some("a\n"), "{name}");
        // What nobody wrote isn't left behind.
        assert_eq!((read("made").as_deref(), read("left")), (Some(""), None), "{name}");
        assert_eq!(read("file").as_deref(), Some("beforeb\n"), "{name}");
        assert_eq!(fs::read_dir(place.path("outside")).unwrap().count(), 3, "{name}");
        fs::write(place.path("outside/file"), "before").unwrap();
        for made in ["new", "made"] {
            fs::remove_file(place.path("outside").join(made)).unwrap();
        }
    }
}

#[tokio::test]
async fn an_approval_in_a_kept_folder_opens_one_file_of_it() {
    let place = Place::new();
    fs::create_dir(place.path("w/.vscode")).unwrap();
    fs::write(place.path("w/.vscode/settings.json"), "{}").unwrap();
    let sandbox = place.sandbox(place.confinement());
    if !has(&sandbox, &[Layer::Namespaces]) {
        return;
    }
    let files = ["w/.vscode/settings.json", "w/.vscode/new.json", "w/.haft/x"].map(|name| place.text(name));
    let allowance = Allowance { files: files.into(), ..Allowance::default() };
    let script = "echo 1 > .vscode/settings.json; echo 2 > .vscode/new.json; echo 3 > .haft/x; \
                  (echo x > .vscode/tasks.json || echo x > .haft/y) 2>/dev/null && echo wrote; true";
    let command = Command { confined: Some(allowance), ..place.command(script) };
    assert_eq!(run(sandbox, command).await.unwrap().text, "");
    for (name, expected) in
        [(".vscode/settings.json", "1\n"), (".vscode/new.json", "2\n"), (".haft/x", "3\n")]
    {
        assert_eq!(fs::read_to_string(place.path("w").join(name)).unwrap(), expected, "{name}");
    }
}
