//! Pushes: which may take something away from the other side, and which rewrite a protected branch.

use super::{call, is_given};
use crate::{
    command::{
        Simple, Word,
        grammar::{Item, items, names, operands},
    },
    wild::Wild,
};

/// The options of `push`, as far as they tell options from operands.
const PUSH: &str = "-fdnqvu46 -o: --force --force-with-lease[=] --force-if-includes --no-force-with-lease --delete \
    --mirror --all --branches --tags --prune --follow-tags --no-follow-tags --atomic --push-option= --repo= \
    --receive-pack= --exec= --signed[=] --no-verify --verify --set-upstream --dry-run --progress --porcelain --thin \
    --no-thin --quiet --verbose --ipv4 --ipv6 --recurse-submodules=";

/// How a push treats what is there.
struct Push<'a> {
    is_forced: bool,
    deletes: bool,
    all: bool,
    refs: Vec<&'a str>,
}

fn push(words: &[Word]) -> Push<'_> {
    let items = items(PUSH, words);
    let strange = items.iter().filter_map(|item| match item {
        Item::Strange(word) => Some(word.text()),
        _ => None,
    });
    let given: Vec<&str> = names(&items).chain(strange).collect();
    // git completes abbreviations.
    let has = |option: &str, least: usize| {
        given.iter().any(|name| name.len() >= least && (option.starts_with(name) || *name == option))
    };
    let known = operands(&items).filter_map(Word::exact);
    Push {
        is_forced: given.iter().any(|name| *name == "-f" || name.starts_with("--force-with-lease"))
            || has("--force", 4)
            || has("--force-with-lease", 5),
        deletes: given.contains(&"-d") || has("--delete", 4),
        all: has("--all", 4) || has("--branches", 4) || has("--mirror", 3),
        refs: if given.contains(&"--repo") { known.collect() } else { known.skip(1).collect() },
    }
}

/// Whether a push may take something away from the other side.
pub(super) fn rewrites(words: &[Word]) -> bool {
    let has = |long: &[&str]| words.iter().any(|word| is_given(word, long, ""));
    let push = push(words);
    push.is_forced
        || push.deletes
        || has(&["--mirror", "--prune"])
        || push.refs.iter().any(|reference| reference.starts_with(['+', ':']))
}

/// A push that rewrites or deletes a protected branch: `main`, `master`, `release/*` and those of the globs.
pub(crate) fn forced_protected_push(simple: &Simple, protected: &[String]) -> Option<String> {
    let call = call(simple).filter(|call| call.action == "push")?;
    let push = push(call.rest);
    if call.rest.iter().any(|word| is_given(word, &["--mirror"], "")) {
        return Some("git push --mirror rewrites every branch on the other side".to_owned());
    }
    if push.is_forced && push.all {
        return Some("a forced push of all branches rewrites the protected ones".to_owned());
    }
    push.refs.iter().find_map(|reference| {
        let (is_forced, reference) = match reference.strip_prefix('+') {
            Some(rest) => (true, rest),
            None => (push.is_forced || push.deletes, *reference),
        };
        let (source, branch) = reference.split_once(':').unwrap_or((reference, reference));
        let deletes = source.is_empty() && !branch.is_empty();
        let branch = branch.strip_prefix("refs/").unwrap_or(branch);
        let branch = branch.strip_prefix("heads/").unwrap_or(branch);
        let is_hit = (is_forced || deletes) && is_protected(branch, protected);
        is_hit.then(|| format!("a forced push would rewrite or delete the protected branch {branch}"))
    })
}

/// Whether the branch, or what a pattern for branches may name, is protected.
fn is_protected(branch: &str, protected: &[String]) -> bool {
    let named = ["main", "master"];
    let globs = std::iter::once("release/*").chain(protected.iter().map(String::as_str));
    // An empty side means all branches that are on both sides.
    branch.is_empty()
        || named.contains(&branch)
        || globs.clone().any(|glob| Wild::new(glob).matches(branch))
        || (branch.contains('*')
            && named.into_iter().chain(globs).any(|name| Wild::new(branch).matches(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::typed::typed;

    #[test]
    fn a_protected_branch_is_never_force_pushed() {
        let protected = ["prod-*".to_owned()];
        let hit = |text: &str| forced_protected_push(&typed(text).line.commands[0], &protected).is_some();
        for text in [
            "git push --force origin main",
            "git push -f origin master",
            "git push origin main -f",
            "git push -uf origin main",
            "git push --forc origin main",
            "git push --force-with-lease origin main",
            "git push --force-with-lease=main origin main",
            "git push --force-w origin main",
            "git push origin +main",
            "git push origin +HEAD:main",
            "git push origin +refs/heads/main",
            "git push -f origin HEAD:refs/heads/main",
            "git push origin :main",
            "git push origin --delete main",
            "git push -d origin main",
            "git push --mirror",
            "git push --mir",
            "git push --all --force",
            "git push -f origin release/1.2",
            "git push -f origin x:prod-eu",
            "git push -f origin x main",
            "git push origin '+refs/heads/*:refs/heads/*'",
            "git push -f origin :",
            "git -C x push -f origin main",
            "git -c a.b=c push origin +main",
            "/usr/bin/git push -f origin main",
        ] {
            assert!(hit(text), "{text}");
        }
        for text in [
            "git push",
            "git push --force",
            "git push origin main",
            "git push origin HEAD:main",
            "git push -f origin feature/main",
            "git push -f origin main:x",
            "git push origin +x",
            "git push --follow-tags origin main",
            "git push --delete origin x",
            "git push --force-if-includes origin main",
            "git fetch -f origin main",
            "git push origin --all",
        ] {
            assert!(!hit(text), "{text}");
        }
    }
}
