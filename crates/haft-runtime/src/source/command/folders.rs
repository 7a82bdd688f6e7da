//! Keeps the catalogue in step with the folders of one root.

use super::{CommandRoot, load};
use crate::{
    catalogue::Catalogue,
    source::{Found, Registered, Synced},
};
use haft_core::Files;
use std::sync::Arc;

/// The registered tools of one root. Dropping it takes them out of the catalogue.
pub struct CommandFolders {
    root: CommandRoot,
    registered: Registered,
}

impl CommandFolders {
    /// Nothing is read before the first sync.
    pub fn new(root: CommandRoot) -> Self {
        Self { root, registered: Registered::default() }
    }

    /// Its root.
    pub fn root(&self) -> &CommandRoot {
        &self.root
    }

    /// Reads the root anew: registers what is new or changed, drops what is gone, replaces its problems.
    ///
    /// Blocking: call it off the async threads.
    pub fn sync(&mut self, catalogue: &Catalogue, files: &dyn Files) -> Synced {
        let loaded = load(files, &self.root);
        let found = loaded.tools.into_iter().map(|tool| Found {
            hash: Arc::clone(&tool.hash),
            path: tool.path.clone(),
            line: tool.name_line,
            tool: Arc::new(tool),
        });
        self.registered.sync(catalogue, &self.root.owner, (found.collect(), loaded.problems))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Tree;
    use super::*;
    use haft_core::RealPath;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    fn with(tree: Tree, name: &str, description: &str) -> Tree {
        let manifest =
            format!("{{\n\"name\": \"{name}\", \"description\": \"{description}\", \"command\": \"cat\"}}");
        tree.with(&format!("/w/t/{name}/tool.json"), &manifest, 0o644)
    }

    fn folders() -> CommandFolders {
        CommandFolders::new(CommandRoot::new(RealPath::new("/w", "t"), "t"))
    }

    fn names(list: &[Arc<str>]) -> Vec<&str> {
        list.iter().map(|name| &**name).collect()
    }

    #[test]
    fn the_catalogue_follows_the_folders() {
        let (catalogue, mut folders) = (Catalogue::new(), folders());
        let two = with(with(Tree::default(), "a", "one"), "b", "one");
        assert_eq!(names(&folders.sync(&catalogue, &two).added), ["a", "b"]);
        let before = catalogue.snapshot();
        assert_eq!(folders.sync(&catalogue, &two), Synced::default());
        assert!(Arc::ptr_eq(&before, &catalogue.snapshot()), "nothing changed, so prompts stay cached");
        let synced = folders.sync(&catalogue, &with(two.clone(), "a", "two"));
        assert_eq!((names(&synced.changed), synced.added.len()), (vec!["a"], 0));
        let snapshot = catalogue.snapshot();
        let offer = snapshot.get("a").unwrap();
        assert_eq!((offer.spec().description.as_str(), offer.owner.as_ref()), ("two", "folder:t"));
        assert!(offer.hash.as_ref().is_some_and(|hash| hash.len() == 64));
        let synced = folders.sync(&catalogue, &with(Tree::default(), "b", "one"));
        assert_eq!(names(&synced.removed), ["a"]);
        assert!(catalogue.snapshot().was_offered("a") && catalogue.snapshot().get("b").is_some());
        drop(folders);
        assert!(catalogue.snapshot().get("b").is_none());
    }

    #[test]
    fn a_tool_that_broke_is_gone_until_it_is_mended() {
        let (catalogue, mut folders) = (Catalogue::new(), folders());
        let good = with(Tree::default(), "a", "one");
        folders.sync(&catalogue, &good);
        let synced = folders.sync(&catalogue, &Tree::default().with("/w/t/a/tool.json", "{", 0o644));
        assert_eq!(names(&synced.removed), ["a"]);
        assert_eq!(catalogue.problems().len(), 1);
        assert_eq!(names(&folders.sync(&catalogue, &good).added), ["a"]);
        assert!(catalogue.problems().is_empty());
    }

    #[test]
    fn a_folder_can_not_hide_a_built_in() {
        let (catalogue, mut folders) = (Catalogue::new(), folders());
        let built_in = haft_core::tool("read", "Reads.").run(|_: Nothing, _| async move { Ok("") });
        catalogue.register(built_in, "core").unwrap().keep();
        let tree = with(with(Tree::default(), "read", "mine"), "b", "one");
        assert_eq!(names(&folders.sync(&catalogue, &tree).added), ["b"]);
        assert_eq!(catalogue.snapshot().get("read").unwrap().owner.as_ref(), "core");
        let problem = catalogue.problems().remove(0);
        assert!(
            problem.to_string().starts_with("t/read/tool.json:2: \"read\" hides a built-in"),
            "{problem}"
        );
        assert!(problem.fix.contains("another name"));
    }
}
