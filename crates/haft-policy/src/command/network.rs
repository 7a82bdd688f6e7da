//! Whether a command can send something away, and where to.

use super::{
    JudgedLine, Simple, Word, git,
    grammar::{items, operands},
    read_only::{has_inner, is_among, is_system, read_only},
    variables::harmless,
};

/// Programs of the system that change files and talk to nobody.
const LOCAL: &str = "mkdir rmdir cp mv rm unlink touch chmod chown chgrp ln tee dd truncate mktemp mkfifo shred \
    uniq tree file gzip gunzip xz unxz bzip2 unzip kill wait export unset set exit return read shift pushd popd umask \
    cd sleep";

/// Those among them that are the shell itself, so that what is set for them leads no program.
const SHELL: &str = "export unset set exit return read shift pushd popd umask cd wait";

/// What git does on this machine alone.
const GIT_LOCAL: &str = "add commit checkout switch restore reset stash branch tag merge rebase cherry-pick revert rm mv \
    init clean apply am config worktree bisect notes gc reflog status diff log show blame";

/// Programs that take what they are given to another machine.
const CARRIERS: &str = "ssh scp sftp rsync nc ncat telnet";

/// Options of the programs that fetch, as far as they tell options from addresses.
const FETCH: &str = "-fgGIiJklLnNpqRsSvZ046O -XHdAeubmyYCrQtUxoTKcDEPFw: --request= --header= --data= --data-raw= \
    --data-binary= --data-urlencode= --form= --output= --output-document= --user= --user-agent= --max-time= --retry= \
    --connect-timeout= --silent --show-error --fail --location --head --insecure --compressed --include --quiet \
    --directory-prefix= --tries= --timeout= --write-out= --json= --get --verbose --no-progress-meter";

/// Where the command may send something: a host, or the program's name where the host isn't known; none where it
/// surely sends nothing.
pub(crate) fn way_out(line: &JudgedLine, at: usize) -> Option<String> {
    let simple = line.line.commands.get(at)?;
    if let Some(host) = simple.redirects.iter().find_map(|redirect| socket(&redirect.target)) {
        return Some(host);
    }
    // What a wrapper or a shell text runs is looked at by itself; one that runs it on another machine sends it there.
    let is_carried = simple.program().is_some_and(|program| is_among(CARRIERS, program));
    if simple.words.is_empty() || (has_inner(line, at) && !is_carried) || read_only(line, at).is_ok() {
        return None;
    }
    let Some(program) = simple.program() else {
        return Some(simple.words.first().map_or("a program", Word::text).to_owned());
    };
    let is_own = line.programs.get(at).and_then(Option::as_deref).is_none_or(is_system);
    if is_own
        && !simple.words.first().is_some_and(|word| word.text().contains("./"))
        && is_among(LOCAL, program)
        && (is_among(SHELL, program) || sets_nothing(simple))
    {
        return None;
    }
    match program {
        "git" if stays(line, at, simple) => None,
        "curl" | "wget" | "http" | "https" | "fetch" => {
            Some(fetched(simple).unwrap_or_else(|| program.to_owned()))
        }
        _ if is_carried => Some(remote(simple).unwrap_or_else(|| program.to_owned())),
        _ => Some(program.to_owned()),
    }
}

/// `/dev/tcp/host/port`, which bash opens itself; what isn't known may be one.
fn socket(target: &Word) -> Option<String> {
    let text = target.text();
    let rest = text.strip_prefix("/dev/tcp/").or_else(|| text.strip_prefix("/dev/udp/"));
    if let Some(rest) = rest {
        return Some(rest.split('/').next().unwrap_or(rest).to_owned());
    }
    let may_be = target.exact().is_none() && "/dev/tcp/".starts_with(target.prefix());
    may_be.then(|| text.to_owned())
}

/// Whether git does its work on this machine, and nothing of the workspace's choosing.
fn stays(line: &JudgedLine, at: usize, simple: &Simple) -> bool {
    git::call(simple).is_some_and(|call| {
        let first = call.rest.first().map_or("", Word::text);
        // `rebase -x` and `bisect run` start programs.
        let runs = match call.action {
            "bisect" => !is_among("start good bad old new skip reset log terms view", first),
            "rebase" => call.rest.iter().any(|word| {
                let text = word.exact().unwrap_or("-x");
                text.starts_with("--e")
                    || (text.starts_with('-') && !text.starts_with("--") && text.contains('x'))
            }),
            _ => false,
        };
        call.is_plain && !runs && is_among(GIT_LOCAL, call.action)
    }) && sets_nothing(simple)
        && git::is_neutral(line, at)
}

/// Whether only variables are set that lead no program.
fn sets_nothing(simple: &Simple) -> bool {
    simple.assignments.iter().all(|(name, value)| harmless(name, value).is_ok())
}

/// The host of the one address that is fetched.
fn fetched(simple: &Simple) -> Option<String> {
    let own = if simple.program() == Some("wget") { "-OPoUTt:" } else { "" };
    let items = items(&format!("{own} {FETCH}"), simple.words.get(1..)?);
    let mut addresses = operands(&items).map(|word| word.exact().map(host));
    let first = addresses.next()??;
    addresses.all(|other| other.as_deref() == Some(first.as_str())).then_some(first)
}

/// The host of an address.
fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((literal, _)) => literal,
        None => host.split(':').next().unwrap_or(host),
    };
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// `user@host`, `host:path`.
fn remote(simple: &Simple) -> Option<String> {
    let words = simple.words.get(1..)?;
    let mut known = words.iter().filter_map(Word::exact).filter(|text| !text.starts_with('-'));
    let is_shell = matches!(simple.program(), Some("ssh"));
    let named = known.find(|text| text.contains('@') || (!is_shell && text.contains(':')));
    let first = words.first().and_then(Word::exact).filter(|text| !text.starts_with('-') && is_shell);
    let text = named.or(first)?;
    Some(host(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::typed::typed;

    fn out(text: &str) -> Option<String> {
        let line = typed(text);
        (0..line.line.commands.len()).find_map(|at| way_out(&line, at))
    }

    #[test]
    fn a_way_out_is_named_by_its_host() {
        let cases = [
            ("curl https://a.b/c", "a.b"),
            ("curl -sS -H x:y 'https://u:p@A.B:8443/c?d'", "a.b"),
            ("curl https://a.b https://c.d", "curl"),
            ("curl \"$X\"", "curl"),
            ("wget -O x 'http://[::1]/y'", "::1"),
            ("ssh u@a.b ls", "a.b"),
            ("ssh a.b ls", "a.b"),
            ("scp x u@a.b:y", "a.b"),
            ("rsync -a x a.b:y", "a.b"),
            ("git push origin main", "git"),
            ("git fetch", "git"),
            ("npm install", "npm"),
            ("cargo build", "cargo"),
            ("python x.py", "python"),
            ("./x", "x"),
            ("$X y", "$X"),
            ("echo x > /dev/tcp/a.b/80", "a.b"),
            ("cat x | nc a.b 80", "nc"),
            ("timeout 5 curl a.b", "a.b"),
            ("git -c core.pager=x add .", "git"),
            ("git bisect run ./x", "git"),
            ("git rebase -x ./x main", "git"),
            ("git rebase --ex ./x main", "git"),
            ("GIT_SSH=./x git commit -m x", "git"),
            ("LD_PRELOAD=./x.so cp a b", "cp"),
        ];
        for (text, expected) in cases {
            assert_eq!(out(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_stays_here_has_none() {
        for text in [
            "ls",
            "cat x | grep y",
            "mkdir x",
            "cp a b",
            "rm -rf x",
            "git add .",
            "git commit -m x",
            "git rebase main",
            "git bisect good",
            "LC_ALL=C cp a b",
            "cd x",
            "A=b",
        ] {
            assert_eq!(out(text), None, "{text}");
        }
    }
}
