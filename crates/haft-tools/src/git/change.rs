//! What is to be changed, and the line that a person would type for it.

/// One change, its values checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Files as they are now are staged.
    Add {
        paths: Vec<String>,
    },
    /// What is staged becomes a commit; amended it takes the place of the last one.
    Commit {
        message: Option<String>,
        amend: bool,
    },
    BranchAdd {
        name: String,
        rev: Option<String>,
    },
    BranchRemove {
        name: String,
        force: bool,
    },
    /// What isn't committed is put away.
    StashAdd {
        message: Option<String>,
        paths: Vec<String>,
    },
    /// What was put away comes back; with `drop` the stash goes.
    StashApply {
        at: String,
        drop: bool,
    },
    StashRemove {
        at: String,
    },
    /// Another branch; with `make` a new one; without a name a commit.
    Switch {
        name: Option<String>,
        make: bool,
        rev: Option<String>,
    },
    WorktreeAdd {
        path: String,
        name: Option<String>,
        rev: Option<String>,
    },
    WorktreeRemove {
        path: String,
        force: bool,
    },
    Fetch {
        remote: String,
        name: Option<String>,
    },
    /// Without a name the branch that is checked out.
    Push {
        remote: String,
        name: Option<String>,
        force: bool,
    },
}

impl Change {
    /// The words behind `git`, as the gates judge them. What runs has further options that say how git answers, and
    /// names made exact.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Words::default();
        match self {
            Self::Add { paths } => words.of(&["add", "--"]).all(paths),
            Self::Commit { message, amend } => words
                .of(&["commit"])
                .when(*amend, "--amend")
                .of(if message.is_some() { &["-F", "-"] } else { &["--no-edit"] }),
            Self::BranchAdd { name, rev } => words.of(&["branch", name]).all(rev),
            Self::BranchRemove { name, force } => {
                words.of(&["branch", if *force { "-D" } else { "-d" }, name])
            }
            Self::StashAdd { message, paths } => {
                words.of(&["stash", "push"]);
                if let Some(message) = message {
                    words.of(&["-m", message]);
                }
                words.of(&["--"]).all(paths)
            }
            Self::StashApply { at, drop } => words.of(&["stash", if *drop { "pop" } else { "apply" }, at]),
            Self::StashRemove { at } => words.of(&["stash", "drop", at]),
            Self::Switch { name: Some(name), make, rev } => {
                words.of(&["switch"]).when(*make, "-c").of(&[name]).all(rev)
            }
            Self::Switch { name: None, rev, .. } => words.of(&["switch", "--detach"]).all(rev),
            Self::WorktreeAdd { path, name, rev } => {
                words.of(&["worktree", "add"]).when(name.is_some(), "-b").all(name).of(&["--", path]).all(rev)
            }
            Self::WorktreeRemove { path, force } => {
                words.of(&["worktree", "remove"]).when(*force, "--force").of(&["--", path])
            }
            Self::Fetch { remote, name } => words.of(&["fetch", remote]).all(name),
            Self::Push { remote, name, force } => words
                .of(&["push"])
                .when(*force, "--force-with-lease")
                .of(&[remote, name.as_deref().unwrap_or("HEAD")]),
        };
        words.0
    }

    /// The first word.
    pub(super) fn action(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Commit { .. } => "commit",
            Self::BranchAdd { .. } | Self::BranchRemove { .. } => "branch",
            Self::StashAdd { .. } | Self::StashApply { .. } | Self::StashRemove { .. } => "stash",
            Self::Switch { .. } => "switch",
            Self::WorktreeAdd { .. } | Self::WorktreeRemove { .. } => "worktree",
            Self::Fetch { .. } => "fetch",
            Self::Push { .. } => "push",
        }
    }

    /// Whether it takes away what nobody can bring back by a further action.
    pub(super) fn is_destructive(&self) -> bool {
        match self {
            Self::Commit { amend, .. } => *amend,
            Self::BranchRemove { force, .. }
            | Self::WorktreeRemove { force, .. }
            | Self::Push { force, .. } => *force,
            Self::StashRemove { .. } => true,
            Self::Add { .. }
            | Self::BranchAdd { .. }
            | Self::StashAdd { .. }
            | Self::StashApply { .. }
            | Self::Switch { .. }
            | Self::WorktreeAdd { .. }
            | Self::Fetch { .. } => false,
        }
    }
}

/// Words, one after the other.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn of(&mut self, words: &[&str]) -> &mut Self {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    fn all<'w>(&mut self, words: impl IntoIterator<Item = &'w String>) -> &mut Self {
        self.0.extend(words.into_iter().cloned());
        self
    }

    fn when(&mut self, holds: bool, word: &str) -> &mut Self {
        if holds { self.of(&[word]) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: &Change, line: &str, is_destructive: bool) {
        assert_eq!(change.words().join(" "), line);
        assert_eq!(change.words()[0], change.action());
        assert_eq!(change.is_destructive(), is_destructive, "{line}");
    }

    #[test]
    fn each_change_is_the_line_that_a_person_would_type() {
        let s = str::to_owned;
        let some = |text: &str| Some(text.to_owned());
        check(&Change::Add { paths: vec![s("a"), s("-b")] }, "add -- a -b", false);
        check(&Change::Commit { message: some("m"), amend: false }, "commit -F -", false);
        check(&Change::Commit { message: some("m"), amend: true }, "commit --amend -F -", true);
        check(&Change::Commit { message: None, amend: true }, "commit --amend --no-edit", true);
        check(&Change::BranchAdd { name: s("x"), rev: some("v1") }, "branch x v1", false);
        check(&Change::BranchRemove { name: s("x"), force: false }, "branch -d x", false);
        check(&Change::BranchRemove { name: s("x"), force: true }, "branch -D x", true);
        let paths = vec![s(".")];
        check(&Change::StashAdd { message: some("w"), paths }, "stash push -m w -- .", false);
        check(&Change::StashApply { at: s("stash@{1}"), drop: true }, "stash pop stash@{1}", false);
        check(&Change::StashRemove { at: s("stash@{0}") }, "stash drop stash@{0}", true);
        check(&Change::Switch { name: some("x"), make: true, rev: None }, "switch -c x", false);
        check(&Change::Switch { name: None, make: false, rev: some("v1") }, "switch --detach v1", false);
        let add = Change::WorktreeAdd { path: s("../w"), name: some("x"), rev: some("v1") };
        check(&add, "worktree add -b x -- ../w v1", false);
        check(
            &Change::WorktreeRemove { path: s("../w"), force: true },
            "worktree remove --force -- ../w",
            true,
        );
        check(&Change::Fetch { remote: s("origin"), name: None }, "fetch origin", false);
        let push = |name: Option<&str>, force| Change::Push {
            remote: s("origin"),
            name: name.map(str::to_owned),
            force,
        };
        check(&push(None, false), "push origin HEAD", false);
        check(&push(Some("x"), true), "push --force-with-lease origin x", true);
    }
}
