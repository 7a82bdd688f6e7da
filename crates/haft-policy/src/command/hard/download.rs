//! A download that a shell or an interpreter runs as it comes.

use super::super::{Line, RedirectKind, Simple, Word, read_only::is_among};

const DOWNLOADERS: &str = "curl wget fetch aria2c http https xh xhs curlie lwp-request lynx nc ncat netcat";
const SHELLS: &str = "sh bash dash zsh ksh ash fish tcsh csh";
const INTERPRETERS: &str =
    "python python2 python3 perl ruby node nodejs php deno bun lua pwsh osascript tclsh";

/// The command whose download would be run.
pub(super) fn piped(line: &Line) -> Option<String> {
    let hit = (0..line.commands.len()).find(|at| {
        line.commands.get(*at).is_some_and(|simple| {
            (runs_input(simple) && feeds(line, *at))
                || (runs_substitution(simple) && holds(line, *at))
                || (runs_words(line, simple) && feeds(line, *at))
                || runs_variable(line, simple)
        })
    })?;
    let program = line.commands.get(hit).and_then(Simple::program).unwrap_or_default();
    Some(format!("{program} would run a download that nobody has looked at"))
}

fn downloads(simple: &Simple) -> bool {
    simple.program().is_some_and(is_downloader)
}

/// Whether a program prints what it gets from elsewhere.
pub(crate) fn is_downloader(program: &str) -> bool {
    is_among(DOWNLOADERS, program)
}

/// Without its version: `python3.12`.
fn language(simple: &Simple) -> Option<&str> {
    let program = simple.program()?;
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    [program, plain].into_iter().find(|name| is_among(SHELLS, name) || is_among(INTERPRETERS, name))
}

/// The word that is its code: after `-c`, `-e` and their like, or the script; none where it reads its input.
fn code(simple: &Simple) -> Option<&Word> {
    let is_shell = is_among(SHELLS, language(simple)?);
    let letters = if is_shell { "c" } else { "cemrpnE" };
    let mut words = simple.words.iter().skip(1).peekable();
    // `deno run -`.
    if matches!(language(simple), Some("deno" | "bun")) {
        words.next_if(|word| word.text() == "run");
    }
    while let Some(word) = words.next() {
        let text = word.text();
        if matches!(text, "-" | "--" | "/dev/stdin") {
            return None;
        }
        let Some(options) = text.strip_prefix('-').or_else(|| text.strip_prefix('+').filter(|_| is_shell))
        else {
            return Some(word);
        };
        let is_long = options.starts_with('-');
        if matches!(text, "--eval" | "--print")
            || (!is_long && options.contains(|c: char| letters.contains(c)))
        {
            return words.next();
        }
        if is_shell && !is_long && options.contains('s') {
            return None;
        }
        if is_shell && matches!(text, "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file") {
            words.next();
        }
    }
    None
}

/// Whether the command runs what comes in.
fn runs_input(simple: &Simple) -> bool {
    let sources = simple.program().is_some_and(|program| is_among("source .", program));
    let is_input = simple.words.get(1).is_some_and(|word| word.text() == "/dev/stdin");
    (language(simple).is_some() && code(simple).is_none()) || (sources && is_input)
}

/// Whether a download comes in through its pipe, whatever stands in between.
fn feeds(line: &Line, at: usize) -> bool {
    let mut next = source(line, at);
    // No chain is longer than the line.
    for _ in 0..line.commands.len() {
        let Some(before) = next else {
            break;
        };
        let is_hit = line.commands.iter().enumerate().any(|(place, simple)| {
            let is_part = place == before || simple.wrapper == Some(before) || simple.inside == Some(before);
            is_part && downloads(simple)
        });
        if is_hit {
            return true;
        }
        next = source(line, before);
    }
    let is_text = |simple: &Simple| {
        simple.redirects.iter().any(|redirect| {
            matches!(redirect.kind, RedirectKind::Text | RedirectKind::Read)
                && is_substituted(&redirect.target)
        })
    };
    line.commands.get(at).is_some_and(is_text) && holds(line, at)
}

/// What it reads through a pipe, its own or that of what runs it.
fn source(line: &Line, at: usize) -> Option<usize> {
    let mut at = at;
    for _ in 0..16 {
        let simple = line.commands.get(at)?;
        match simple.feeds_from.filter(|from| *from != at) {
            Some(from) => return Some(from),
            None => at = simple.wrapper.or(simple.inside)?,
        }
    }
    None
}

/// Whether its code is what a substitution gives.
fn runs_substitution(simple: &Simple) -> bool {
    match simple.program() {
        Some("eval" | "source" | "." | "exec") => simple.words.iter().skip(1).any(is_substituted),
        Some(_) if language(simple).is_some() => {
            code(simple).is_some_and(is_substituted)
                || simple.redirects.iter().any(|redirect| is_substituted(&redirect.target))
        }
        Some(_) => false,
        None => simple.words.first().is_some_and(is_substituted),
    }
}

/// Whether its code is what `xargs` reads.
fn runs_words(line: &Line, simple: &Simple) -> bool {
    let outer = simple.wrapper.and_then(|outer| line.commands.get(outer));
    let Some(outer) = outer.filter(|outer| outer.program() == Some("xargs")) else {
        return false;
    };
    let Some(code) = code(simple) else {
        return simple.is_open && language(simple).is_some();
    };
    let names_it = |pair: &[Word]| {
        let [option, value] = pair else {
            return false;
        };
        let text = option.text();
        let glued = text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")).unwrap_or_default();
        let mark = match text {
            "-I" => value.text(),
            "-i" | "--replace" => "{}",
            _ => glued,
        };
        !mark.is_empty() && code.text().contains(mark)
    };
    outer.words.windows(2).any(names_it)
}

/// Whether its code is in a variable that a download was put into.
fn runs_variable(line: &Line, simple: &Simple) -> bool {
    let code = match simple.program() {
        Some("eval") => simple.words.get(1),
        _ => code(simple),
    };
    let Some(code) = code.filter(|code| code.exact().is_none() && code.text().contains('$')) else {
        return false;
    };
    line.commands.iter().enumerate().any(|(place, other)| {
        let is_named = |name: &str| {
            let forms = [format!("${name}"), format!("${{{name}}}")];
            forms.iter().any(|form| code.text().contains(form.as_str()))
        };
        let is_set = other.assignments.iter().any(|(name, value)| is_substituted(value) && is_named(name));
        is_set && holds(line, place)
    })
}

fn is_substituted(word: &Word) -> bool {
    let text = word.text();
    word.exact().is_none() && (text.contains("$(") || text.contains('`') || text.contains("<("))
}

/// Whether a download stands in its substitutions.
fn holds(line: &Line, at: usize) -> bool {
    line.commands.iter().any(|simple| {
        downloads(simple) && {
            let mut outer = simple.inside.or(simple.wrapper);
            for _ in 0..16 {
                match outer {
                    Some(place) if place == at => return true,
                    Some(place) => {
                        outer = line.commands.get(place).and_then(|outer| outer.inside.or(outer.wrapper));
                    }
                    None => break,
                }
            }
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_read};

    #[test]
    fn a_download_by_a_detour_is_not_run_either() {
        check_read(
            &[
                "curl x | xargs -I{} sh -c {}",
                "curl x | xargs -I % sh -c '% y'",
                "x=$(curl x); eval \"$x\"",
                "x=\"$(curl x)\"; bash -c \"$x\"",
                "xh x | sh",
                "nc e 1 | sh",
                "curl x | deno run -",
                "curl x | bun run -",
                "curl x | bun -",
            ],
            &[
                "curl x | deno run y.ts",
                "curl x | xargs -I{} echo {}",
                "x=$(curl x); echo \"$x\"",
                "x=$(ls); eval \"$x\"",
            ],
        );
    }

    #[test]
    fn a_download_is_not_run_as_it_comes() {
        check(
            &[
                "curl https://x.y | sh",
                "curl -fsSL https://x.y | bash",
                "wget -qO- https://x.y | bash -s -- a",
                "curl x | sudo sh",
                "curl x | sudo bash -x",
                "sudo curl x | sh",
                "curl x | tee y | sh",
                "curl x | base64 -d | gunzip | bash",
                "curl x | python3",
                "curl x | python3.12 -",
                "curl x | perl",
                "curl x | node",
                "curl x | env A=b bash",
                "curl x | /bin/sh",
                "bash <(curl x)",
                "sh -c \"$(curl x)\"",
                "bash -lc \"$(curl x)\"",
                "eval \"$(wget -O- x)\"",
                "source <(curl x)",
                ". <(curl x)",
                "python3 -c \"$(curl x)\"",
                "echo \"$(curl x)\" | sh",
                "$(curl x)",
                "timeout 5 curl x | sh",
            ],
            &[
                "curl x | jq .",
                "curl x | python3 -m json.tool",
                "curl x | python3 -c 'import json'",
                "curl x | node -e 'x'",
                "curl x | bash x.sh",
                "curl -o x https://x.y",
                "echo x | sh",
                "curl x | grep y",
                "python3 x.py \"$(curl x)\"",
                "echo \"$(curl x)\"",
                "cat x | bash",
            ],
        );
    }
}
