//! Where a remote is, and what it answers to a push.

use super::repository::{Known, Repository};
use haft_core::Failure;

/// How git gets to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By a path on this machine: its programs run here.
    Path,
    /// Over a network.
    Network,
}

/// The settings by which the other end, where it is on this machine, runs nothing that its repository names.
const QUIET: &str = "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c gc.auto=0 \
    -c maintenance.auto=false -c receive.autogc=false -c receive.denyCurrentBranch=refuse";

/// The settings of a repository of its own that name programs for talking to others.
fn names_program(key: &str) -> bool {
    let is_of_remote = key.starts_with("remote.")
        && [".uploadpack", ".receivepack", ".vcs"].iter().any(|last| key.ends_with(last));
    let is_helper = key.starts_with("credential.") && key.ends_with(".helper");
    let is_core = ["core.sshcommand", "core.gitproxy", "core.askpass", "credential.helper"].contains(&key);
    is_of_remote || is_helper || is_core
}

/// Refuses to talk to a remote by way of programs that the repository names. The user's own settings are trusted.
fn refuse_programs(known: &[Known]) -> Result<(), Failure> {
    let is_own = |known: &&Known| matches!(known.scope.as_str(), "local" | "worktree");
    match known.iter().filter(is_own).find(|known| names_program(&known.key)) {
        None => Ok(()),
        Some(known) => Err(Failure::conflict(format!(
            "the repository's own settings name a program for talking to remotes ({}), which isn't run here; use git \
             through bash, or have the setting moved to the user's own",
            known.key
        ))),
    }
}

/// The way to an address.
///
/// # Errors
/// A conflict for one that only a further program can reach.
fn way(url: &str) -> Result<Way, Failure> {
    let head = url.split('/').next().unwrap_or_default();
    let refused = || {
        Err(Failure::conflict(format!(
            "{} is no address that is contacted here; there are https, ssh, git and paths",
            shown(url)
        )))
    };
    if url.is_empty() || url.starts_with('-') || url.contains(char::is_control) || head.contains("::") {
        return refused();
    }
    if let Some((scheme, _)) = url.split_once("://") {
        return match scheme {
            "https" | "http" | "ssh" | "git" | "git+ssh" | "ssh+git" => Ok(Way::Network),
            "file" => Ok(Way::Path),
            _ => refused(),
        };
    }
    // `host:path`; a colon behind a slash belongs to a path.
    Ok(if head.contains(':') { Way::Network } else { Way::Path })
}

/// An address without the words by which one is let in.
pub(super) fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) =
                rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
        }
        None => url.to_owned(),
    }
}

/// Where a remote is.
#[derive(Debug, Clone)]
pub(super) struct Remote {
    /// Its address, for readers.
    pub(super) url: String,
    way: Way,
}

impl Remote {
    /// Looks it up.
    ///
    /// # Errors
    /// Not found where no such remote is set up; a conflict where its address, or the repository's settings, would
    /// have a program run.
    pub(super) async fn find(git: &Repository<'_>, name: &str, is_push: bool) -> Result<Self, Failure> {
        refuse_programs(&git.known)?;
        let mut words = vec!["remote", "get-url", "--all"];
        if is_push {
            words.push("--push");
        }
        words.push(name);
        let urls = git.ask(&words).await?;
        if !urls.is_ok() {
            let names = git.list(&["remote"]).await?.text().replace('\n', ", ");
            let names = if names.is_empty() { "none is".to_owned() } else { format!("there are {names}") };
            return Err(Failure::not_found(format!("no remote \"{name}\" is set up; {names}")));
        }
        let urls = urls.text();
        let mut ways = urls.lines().map(way);
        let first = ways.next().unwrap_or_else(|| way(""))?;
        for other in ways {
            if other? != first {
                return Err(Failure::conflict(format!(
                    "\"{name}\" has addresses of different kinds; use git through bash for it"
                )));
            }
        }
        Ok(Self { url: urls.lines().map(shown).collect::<Vec<_>>().join(", "), way: first })
    }

    /// What keeps the other end from running programs, where it is on this machine: `service` is `upload-pack` or
    /// `receive-pack`.
    pub(super) fn quiet(&self, service: &str) -> Option<String> {
        (self.way == Way::Path).then(|| format!("--{service}={QUIET} {service}"))
    }
}

/// What a remote answered for one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pushed {
    /// The address that answered, for readers; empty where none was told.
    pub(super) to: String,
    /// The branch, or another name without `refs/`.
    pub(super) name: String,
    pub(super) is_taken: bool,
    /// `1194154..a276013`, `[new branch]`, `[rejected] (fetch first)`.
    pub(super) summary: String,
}

/// Reads what `git push --porcelain` prints.
pub(super) fn pushed(out: &str) -> Vec<Pushed> {
    let mut to = String::new();
    let mut told = Vec::new();
    for line in out.lines() {
        if let Some(address) = line.strip_prefix("To ") {
            to = shown(address);
            continue;
        }
        let mut parts = line.splitn(3, '\t');
        let (Some(flag), Some(names), Some(summary)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if [" ", "+", "-", "*", "=", "!"].contains(&flag) {
            let name = names.rsplit(':').next().unwrap_or(names);
            let name =
                name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/")).unwrap_or(name);
            told.push(Pushed {
                to: to.clone(),
                name: name.to_owned(),
                is_taken: flag != "!",
                summary: summary.trim().to_owned(),
            });
        }
    }
    told
}

/// What to do about a push that was refused.
pub(super) fn advice(summary: &str) -> &'static str {
    if summary.contains("stale info") {
        "others have pushed since the last fetch: fetch, look at what is new, and push again"
    } else if summary.contains("fetch first") || summary.contains("non-fast-forward") {
        "the branch there has commits that this one hasn't: fetch and bring them in first"
    } else {
        "check with the remote's owner what it takes"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_ways_are_taken() {
        for (url, expected) in [
            ("https://h/x", Way::Network),
            ("git@h:x/y", Way::Network),
            ("ssh://h/x", Way::Network),
            ("h:x", Way::Network),
            ("../r.git", Way::Path),
            ("/a:b/r.git", Way::Path),
            ("./a:b", Way::Path),
            ("file:///r.git", Way::Path),
        ] {
            assert_eq!(way(url).unwrap(), expected, "{url}");
        }
        for url in ["ext::sh -c x", "foo::https://h", "ftp://h/x", "-oProxyCommand=x", "", "a\nb"] {
            assert!(way(url).is_err(), "{url}");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(shown("https://u:p@h:8443/x@y"), "https://h:8443/x@y");
        assert_eq!(shown("git@h:x"), "git@h:x");
    }

    #[test]
    fn programs_count_only_where_the_repository_names_them() {
        let known = |scope: &str, key: &str| {
            vec![Known { scope: scope.to_owned(), key: key.to_owned(), value: "x".to_owned() }]
        };
        for key in [
            "core.sshcommand",
            "credential.helper",
            "credential.https://h.helper",
            "remote.origin.uploadpack",
            "remote.o.vcs",
        ] {
            assert!(refuse_programs(&known("local", key)).is_err(), "{key}");
            assert!(refuse_programs(&known("global", key)).is_ok(), "{key}");
        }
        assert!(refuse_programs(&known("local", "remote.origin.url")).is_ok());
    }

    #[test]
    fn a_remotes_answer_is_read() {
        let out = "To ../r.git\n*\trefs/heads/a:refs/heads/a\t[new branch]\n!\trefs/heads/b:refs/heads/b\t[rejected] \
                   (fetch first)\n \trefs/heads/c:refs/heads/c\t1..2\nDone\n";
        let found: Vec<(bool, String)> =
            pushed(out).into_iter().map(|one| (one.is_taken, one.summary)).collect();
        let expected = [(true, "[new branch]"), (false, "[rejected] (fetch first)"), (true, "1..2")];
        assert_eq!(found, expected.map(|(taken, summary)| (taken, summary.to_owned())));
        let several = "To https://u:p@h/r\n*\trefs/heads/a:refs/heads/a\t[new branch]\n*\trefs/tags/v1:refs/tags/v1\t[new \
                       tag]\nDone\nTo ../s.git\n!\trefs/heads/a:refs/heads/a\t[rejected] (fetch first)\n";
        let told: Vec<String> = pushed(several)
            .into_iter()
            .map(|one| format!("{} {} {}", one.to, one.name, one.is_taken))
            .collect();
        assert_eq!(told, ["https://h/r a true", "https://h/r tags/v1 true", "../s.git a false"]);
        assert!(advice("[rejected] (stale info)").contains("others have pushed"));
    }
}
