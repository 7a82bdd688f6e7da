//! Which words of a line are paths, and how the programs use them.
//!
//! Readers come from the positive list, writers from a table of their own; of any other program each word counts as
//! a path that it may do anything with. Text is given as written, with `$HOME` as `~` and `$PWD` as `.`; a text
//! with another expansion in it can't be resolved. A command whose words aren't all known yet (`xargs rm`) has one
//! more entry with an **empty text** and [`Cwd::Unknown`]: any path may be used so. A pattern over names is given as
//! such; where it matches nothing the shell hands it on as it is, so what may be written has one more entry for that.

mod archives;
mod changes;
mod copies;
mod writers;

use super::{
    Access, Cwd, Line, PathWord, Redirect, RedirectKind, Simple, Word, git,
    glob::{matches_name, unquoted},
    grammar::{Item, completed, is_process, items, names},
    place::of_word,
    read_only::{Operands, Row, fits, fits_a_row, is_among, is_test_with_value, roots, rows},
};
use copies::Given;
use writers::{Shape, WRITERS, Writer};

/// Longer words are no paths.
const PATH_MAX: usize = 4096;

/// Options of the editors of streams.
const SED: &str =
    "-nErsuz -i? -I? -l: -e: -f:@ --quiet --silent --in-place[=] --expression= --file=@ --regexp-extended";
const AWK: &str = "-F: -v: -f:@ --file=@ --field-separator= --assign=";
const XARGS: &str = "-0rtxopi -nLPIsEdJR: -a:@ --null --no-run-if-empty --verbose --interactive --exit --max-args= \
    --max-lines= --max-procs= --replace= --max-chars= --delimiter= --eof= --process-slot-var= --arg-file=@";

/// Options of git's actions whose value is a file that is read.
const GIT_FILES: &str = "--pathspec-from-file=@ --pathspec-file-nul";
const GIT_TEXTS: &str = "-aepqvsnoi -mcC: -S? -u? -F:@ -t:@ --file=@ --template=@ --message= --author= --date= \
    --reuse-message= --reedit-message= --fixup= --squash= --trailer= --cleanup= --amend --all --no-verify --no-edit";
const GIT_BLAMES: &str =
    "-lstfewnpcbkM -C? -L: -S:@ --ignore-revs-file=@ --contents=@ --ignore-rev= --date= --since=";

/// Wrappers of which a word is a text that is read as a line of its own.
const TEXT_WRAPPERS: &str = "sh bash dash zsh ksh eval trap su script runuser watch";

/// The paths among the words of a line.
pub fn path_words(line: &Line) -> Vec<PathWord> {
    let mut found = Vec::new();
    let is_moved = changes::moves_home(line);
    let mut inners: Vec<Option<&Simple>> = vec![None; line.commands.len()];
    for simple in &line.commands {
        if let Some(inner) = simple.wrapper.or(simple.inside).and_then(|outer| inners.get_mut(outer)) {
            inner.get_or_insert(simple);
        }
    }
    for (at, (simple, inner)) in line.commands.iter().zip(inners).enumerate() {
        let mut paths = Paths {
            command: Some(at),
            cwd: simple.cwd.clone(),
            is_redirect: false,
            is_moved,
            found: &mut found,
        };
        paths.redirects(&simple.redirects);
        paths.command(simple, inner.map(|inner| (inner, inner.wrapper == Some(at))));
    }
    Paths { command: None, cwd: Cwd::Start, is_redirect: false, is_moved, found: &mut found }
        .redirects(&line.redirects);
    changes::forget_behind_links(line, &mut found);
    found
}

/// The paths found so far, and the command that is being read.
struct Paths<'f> {
    command: Option<usize>,
    cwd: Cwd,
    is_redirect: bool,
    /// Whether the line may change what `~`, `$HOME`, `$PWD` or a folder's name stand for.
    is_moved: bool,
    found: &'f mut Vec<PathWord>,
}

impl Paths<'_> {
    fn add(&mut self, access: Access, text: impl Into<String>) {
        self.push(access, text.into(), false);
    }

    fn push(&mut self, access: Access, text: String, is_pattern: bool) {
        let is_lost = self.is_moved && matches!(self.cwd, Cwd::Moved(_));
        let path = PathWord {
            command: self.command,
            access,
            text,
            cwd: if is_lost { Cwd::Unknown } else { self.cwd.clone() },
            is_redirect: self.is_redirect,
            is_pattern,
        };
        // Only what one word gives twice is left out.
        if !self.found.iter().rev().take(8).any(|known| *known == path) {
            self.found.push(path);
        }
    }

    /// A path that nobody can tell: it is nowhere that is known.
    fn unknown(&mut self, access: Access, text: &str) {
        let cwd = std::mem::replace(&mut self.cwd, Cwd::Unknown);
        self.add(access, text);
        self.cwd = cwd;
    }

    /// A word that is a path.
    fn word(&mut self, access: Access, word: &Word) {
        match word {
            Word::Exact(text) if text.is_empty() || text == "-" => {}
            Word::Exact(text) if text == "/dev/null" && access < Access::Write => {}
            _ if is_process(word) => {}
            // No system opens it, but what it is short of being normal nobody tells here.
            Word::Exact(text) if text.len() > PATH_MAX => {
                self.unknown(access, &text.chars().take(80).collect::<String>());
            }
            Word::Exact(text) if text.contains("://") => {
                if let Some(path) = text.strip_prefix("file://") {
                    self.add(access, path);
                }
            }
            Word::Glob { text, .. } => match unquoted(text).filter(|plain| plain.len() <= PATH_MAX) {
                // No home: a tilde that expands makes a word of the other kind.
                Some(plain) if plain.starts_with('~') => self.pattern(access, format!("./{plain}")),
                Some(plain) => self.pattern(access, plain),
                None => self.unknown(access, text),
            },
            Word::Exact(_) => self.add(access, of_word(word)),
            Word::Unknown { text: raw, .. } => self.expansion(access, raw, of_word(word)),
        }
    }

    /// A word with an expansion in it, and its text with the well-known folders put in.
    fn expansion(&mut self, access: Access, raw: &str, text: String) {
        let is_home = text == "~" || text.starts_with("~/");
        let expands_first = raw.starts_with(['~', '$']) || raw.starts_with("\"$");
        let is_wild = |c: char| "*?[]!^".contains(c);
        if self.is_moved || text.len() > PATH_MAX || (text.starts_with('~') && !(is_home && expands_first)) {
            self.unknown(access, &text);
        } else if text.chars().all(is_literal) {
            self.add(access, text);
        } else if unquoted(raw).is_some() && text.chars().all(|c| is_literal(c) || is_wild(c)) {
            self.pattern(access, text);
        } else {
            self.unknown(access, &text);
        }
    }

    /// A pattern over names.
    fn pattern(&mut self, access: Access, text: String) {
        let is_above = |part: &str| part.contains(['*', '?', '[']) && matches_name(part, "..");
        // Some shells take the folder above for a name like others.
        if matches!(access, Access::ReadTree | Access::WriteTree) && text.split('/').any(is_above) {
            let parts: Vec<&str> =
                text.split('/').map(|part| if is_above(part) { ".." } else { part }).collect();
            self.push(access, parts.join("/"), false);
        }
        if access >= Access::Write || access == Access::Named {
            self.push(access, text.clone(), false);
        }
        self.push(access, text, true);
    }

    /// A word of a program that isn't known: itself, and what could be a path in it.
    fn named(&mut self, word: &Word) {
        let Some(text) = word.exact() else {
            return self.word(Access::Named, word);
        };
        let mut parts = Vec::new();
        match text.strip_prefix('-') {
            None => {
                parts.push(text);
                parts.extend(text.split_once('=').map(|(_, value)| value));
                parts
                    .extend(text.split_once(':').map(|(before, _)| before).filter(|part| part.contains('/')));
            }
            Some(option) => match option.split_once('=') {
                Some((_, value)) => parts.push(value),
                None if option.starts_with('-') => {}
                None => {
                    let mut letters = option.chars();
                    letters.next();
                    parts.push(letters.as_str());
                    parts.extend(option.find('/').and_then(|at| option.get(at..)));
                }
            },
        }
        for part in parts {
            self.word(Access::Named, &Word::known(part));
            if let Some((_, file)) = part.split_once('@') {
                self.word(Access::Named, &Word::known(file));
            }
        }
    }

    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            let text = redirect.target.text();
            let is_free =
                matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty")
                    || text.starts_with("/dev/fd/");
            let accesses: &[Access] = match redirect.kind {
                _ if is_free => &[],
                RedirectKind::Read => &[Access::Read],
                RedirectKind::Write => &[Access::Write],
                RedirectKind::ReadWrite => &[Access::Read, Access::Write],
                RedirectKind::Copy | RedirectKind::Text => &[],
            };
            let cwd = std::mem::replace(&mut self.cwd, redirect.cwd.clone());
            self.is_redirect = true;
            for access in accesses {
                self.word(*access, &redirect.target);
            }
            self.is_redirect = false;
            self.cwd = cwd;
        }
    }

    /// Its words; of what it runs, only whether that is the end of its own words is of interest.
    fn command(&mut self, simple: &Simple, inner: Option<(&Simple, bool)>) {
        let Some((_, words)) = simple.words.split_first() else {
            return;
        };
        let program = simple.program().unwrap_or_default();
        let access = match program {
            "git" => Some(self.git(simple)),
            "find" => {
                self.find(words);
                None
            }
            "sed" | "gsed" => Some(self.sed(words)),
            "awk" | "gawk" | "mawk" | "nawk" => Some(self.scripted(AWK, words, Access::Read)),
            "dd" => Some(self.copied(words)),
            "tar" | "bsdtar" | "gtar" => Some(self.tar(words)),
            "pushd" => Some(self.each(words, Access::Read)),
            _ if inner.is_some() && is_among(TEXT_WRAPPERS, program) => None,
            _ => match inner {
                Some((inner, true)) => {
                    let own = words.len().saturating_sub(inner.words.len());
                    self.wrapper(program, words.get(..own).unwrap_or_default());
                    None
                }
                _ => self.listed(program, words, simple.feeds_from.is_some()),
            },
        };
        if let Some(access) = access.filter(|_| simple.is_open) {
            let path = PathWord {
                command: self.command,
                access,
                text: String::new(),
                cwd: Cwd::Unknown,
                is_redirect: false,
                is_pattern: false,
            };
            self.found.push(path);
        }
    }

    /// The words of a wrapper before those of what it runs.
    fn wrapper(&mut self, program: &str, words: &[Word]) {
        if program != "xargs" {
            return words.iter().for_each(|word| self.named(word));
        }
        let words = completed(XARGS, words);
        let items = items(XARGS, &words);
        for word in self.options(&items, "", "") {
            self.named(word);
        }
    }

    /// By the tables; gives how unknown words would be used.
    fn listed(&mut self, program: &str, words: &[Word], reads_pipe: bool) -> Option<Access> {
        let shows =
            is_among("gzip gunzip xz unxz bzip2 bunzip2", program) && fits_a_row(program, words).is_ok();
        if let Some(writer) = WRITERS.iter().filter(|_| !shows).find(|writer| is_among(writer.0, program)) {
            return Some(self.writer(writer, words));
        }
        let action = words.first().and_then(Word::exact).unwrap_or_default();
        let is_meant = |row: &&Row| row.actions.is_empty() || is_among(row.actions, action);
        let fitting = rows(program).find(|row| is_meant(row) && fits(row, program, words).is_ok());
        if let Some(row) = fitting.or_else(|| rows(program).find(is_meant)) {
            return self.reader(row, words, reads_pipe);
        }
        if !matches!(program, "test" | "[" | "printf" | "kill" | "export" | "set" | "exit" | "command") {
            for word in words {
                self.named(word);
            }
            return Some(Access::Named);
        }
        if matches!(program, "test" | "[") {
            return Some(self.each(words, Access::Read));
        }
        None
    }

    fn each(&mut self, words: &[Word], access: Access) -> Access {
        let is_sign =
            |text: &str| text.starts_with('-') || matches!(text, "]" | "!" | "=" | "!=" | "==" | "(" | ")");
        for word in words {
            if !word.exact().is_some_and(is_sign) {
                self.word(access, word);
            }
        }
        access
    }

    /// The paths among options; gives the operands.
    fn options<'w>(&mut self, items: &[Item<'w>], written: &str, deep: &str) -> Vec<&'w Word> {
        let mut operands = Vec::new();
        for item in items {
            match item {
                Item::Option { name, value: Some(value), is_path: true } => {
                    let is_written = is_among(written, name);
                    let access = match (is_written, is_among(deep, name)) {
                        (true, true) => Access::WriteTree,
                        (true, false) => Access::Write,
                        (false, _) => Access::Read,
                    };
                    self.word(access, value);
                }
                // `-d @file`, `-F name=@file`.
                Item::Option { value: Some(value), .. } => {
                    let text = value.text();
                    let is_file = text.starts_with('@') || text.contains("=@") || text.contains("=<");
                    if let Some((_, file)) = text.split_once(['@', '<']).filter(|_| is_file) {
                        self.add(Access::Read, file);
                    }
                }
                Item::Option { .. } => {}
                Item::Operand { word, .. } => operands.push(*word),
                // An option of which nothing is known: what is glued to it may be a path.
                Item::Strange(word) => self.named(word),
            }
        }
        operands
    }

    fn reader(&mut self, row: &Row, words: &[Word], reads_pipe: bool) -> Option<Access> {
        let words = if row.actions.is_empty() { words } else { words.get(1..).unwrap_or_default() };
        let items = items(row.options, words);
        let operands = self.options(&items, "", "");
        let is_deep = names(&items).any(|name| is_among(row.deep, name));
        let access = match row.operands {
            Operands::Trees => Access::ReadTree,
            _ if is_deep || is_among("rg fd fdfind", row.programs.split(' ').next().unwrap_or_default()) => {
                Access::ReadTree
            }
            _ => Access::Read,
        };
        let skip = match row.operands {
            Operands::Pattern(unless) => usize::from(!names(&items).any(|name| is_among(unless, name))),
            Operands::Paths | Operands::OnePath | Operands::Trees => 0,
            Operands::None | Operands::Words | Operands::Plus | Operands::OneOf(_) => return None,
        };
        // A word that could become several, or an option, may move what comes first.
        for word in operands.iter().take(skip).filter(|word| word.exact().is_none()) {
            if matches!(word, Word::Unknown { splits: true, .. }) || word.prefix().is_empty() {
                self.word(access, word);
            }
        }
        operands.iter().skip(skip).for_each(|word| self.word(access, word));
        let is_alone = operands.len() <= skip;
        if is_alone && (row.here || is_deep) && !(reads_pipe && skip > 0) {
            self.add(access, ".");
        }
        Some(access)
    }

    fn writer(&mut self, writer: &Writer, words: &[Word]) -> Access {
        let (programs, options, shape, written, deep) = *writer;
        let words = completed(options, words);
        let items = items(options, &words);
        let operands = self.options(&items, written, deep);
        let is_deep = names(&items).chain(words.iter().map(Word::text)).any(|name| is_among(deep, name));
        let deepened = |access| if is_deep { tree(access) } else { access };
        match shape {
            Shape::All(access) => {
                for word in &operands {
                    self.word(deepened(access), word);
                }
                let saves_here = options.contains("--output-dir=@")
                    && names(&items).any(|name| matches!(name, "-O" | "--remote-name" | "--remote-name-all"));
                if saves_here {
                    self.add(Access::WriteTree, ".");
                } else if operands.is_empty() && access == Access::ReadTree {
                    self.add(access, ".");
                }
                deepened(access)
            }
            Shape::After(access) => {
                // `chmod -x file` has its mode among the options.
                let has_mode = items.iter().any(|item| matches!(item, Item::Strange(_)));
                let skip = usize::from(!has_mode && !names(&items).any(|name| name == "--reference"));
                operands.iter().skip(skip).for_each(|word| self.word(deepened(access), word));
                deepened(access)
            }
            Shape::Into(_)
                if programs == "install"
                    && names(&items).any(|name| matches!(name, "-d" | "--directory")) =>
            {
                for word in &operands {
                    self.word(Access::Write, word);
                }
                Access::Write
            }
            Shape::Into(access) => {
                self.copied_into(&Given { items: &items, operands: &operands, options, is_deep }, access);
                deepened(Access::Write)
            }
            Shape::FirstRead => {
                for (place, word) in operands.iter().enumerate() {
                    self.word(if place == 0 { Access::Read } else { Access::Write }, word);
                }
                if options.contains("-d:@")
                    && !names(&items).any(|name| matches!(name, "-d" | "-l" | "-v" | "-Z" | "-p" | "-t"))
                {
                    self.add(Access::WriteTree, ".");
                }
                Access::Write
            }
            Shape::Here => {
                for word in operands {
                    self.word(Access::Write, word);
                }
                if !names(&items).any(|name| is_among(written, name)) {
                    self.add(Access::WriteTree, ".");
                }
                Access::Write
            }
        }
    }

    fn find(&mut self, words: &[Word]) {
        let roots = roots(words);
        let removes = words.iter().any(|word| matches!(word.text(), "-delete"));
        let access = if removes { Access::WriteTree } else { Access::ReadTree };
        for word in &roots {
            self.word(access, word);
        }
        if roots.is_empty() {
            self.add(access, ".");
        }
        for pair in words.windows(2) {
            let [option, value] = pair else {
                continue;
            };
            let text = option.text();
            if matches!(text, "-fprint" | "-fprint0" | "-fprintf" | "-fls") {
                self.word(Access::Write, value);
            } else if matches!(text, "-samefile" | "-files0-from")
                || (text.starts_with("-newer") && is_test_with_value(text))
            {
                self.word(Access::Read, value);
            }
        }
    }

    fn sed(&mut self, words: &[Word]) -> Access {
        let in_place = |word: &Word| {
            let text = word.text();
            text.starts_with("--in")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains(['i', 'I']))
        };
        let access = if words.iter().any(in_place) { Access::Write } else { Access::Read };
        self.scripted(SED, words, access)
    }

    /// A script first, unless an option gives it; then paths.
    fn scripted(&mut self, grammar: &str, words: &[Word], access: Access) -> Access {
        let items = items(grammar, words);
        let operands = self.options(&items, "", "");
        let given = names(&items).any(|name| matches!(name, "-e" | "-f" | "--expression" | "--file"));
        operands.iter().skip(usize::from(!given)).for_each(|word| self.word(access, word));
        for word in operands.iter().take(usize::from(!given)) {
            if matches!(word, Word::Unknown { splits: true, .. }) {
                self.word(access, word);
            }
        }
        access
    }

    /// `dd`.
    fn copied(&mut self, words: &[Word]) -> Access {
        for word in words {
            let (access, file) = match word.text().split_once('=') {
                Some(("if", file)) => (Access::Read, file),
                Some(("of", file)) => (Access::Write, file),
                _ if word.exact().is_none() => (Access::Write, word.text()),
                _ => continue,
            };
            let text = file.to_owned();
            let file = match word {
                Word::Exact(_) => Word::Exact(text),
                _ => Word::Unknown { text, prefix: String::new(), splits: false },
            };
            self.word(access, &file);
        }
        Access::Write
    }

    fn git(&mut self, simple: &Simple) -> Access {
        let Some(call) = git::call(simple) else {
            simple.words.iter().skip(1).for_each(|word| self.named(word));
            return Access::Named;
        };
        let own = std::mem::replace(&mut self.cwd, moved(&simple.cwd, &call.folders));
        self.git_files(call.action, call.rest);
        let operands = call.rest.iter().filter(|word| !word.prefix().starts_with('-'));
        let is_deep = matches!(call.action, "clean" | "restore" | "rm" | "apply")
            || (call.action == "checkout"
                && !call.rest.iter().any(|word| matches!(word.text(), "-b" | "-B")));
        match call.action {
            "mv" => operands.for_each(|word| self.word(Access::WriteTree, word)),
            "rm" => operands.for_each(|word| self.word(Access::WriteTree, word)),
            "add" => operands.for_each(|word| self.word(Access::Read, word)),
            "grep" => {
                // Behind `--` stand the paths; elsewhere a word may be a pattern, a revision or a path.
                let paths = call.rest.iter().position(|word| word.exact() == Some("--"));
                match paths.and_then(|at| call.rest.get(at + 1..)).filter(|paths| !paths.is_empty()) {
                    Some(paths) => paths.iter().for_each(|word| self.word(Access::ReadTree, word)),
                    None => self.add(Access::ReadTree, "."),
                }
                operands.for_each(|word| self.named(word));
            }
            "diff" | "log" | "show" | "stash" | "format-patch" | "whatchanged"
                if shows_content(call.action, call.rest) =>
            {
                // Only what stands behind `--` is surely a path, and nothing else is shown then; a revision's path
                // counts from the top of the repository, wherever that is.
                match plain_paths(call.rest) {
                    Some(paths) => paths.iter().for_each(|word| self.word(Access::ReadTree, word)),
                    None => self.add(Access::Tracked, "."),
                }
                self.objects(operands);
            }
            "cat-file" if !call.rest.iter().any(|word| matches!(word.text(), "-t" | "-s" | "-e")) => {
                self.add(Access::Tracked, ".");
                self.objects(operands);
            }
            "log" | "show" | "diff" | "blame" | "cat-file" | "rev-list" | "rev-parse" | "branch" | "tag" => {
                self.objects(operands);
            }
            "config" if !git::only_asks_settings(call.rest) => {
                self.add(Access::Write, ".git/config");
                self.add(Access::Write, "~/.gitconfig");
            }
            "commit" => {
                call.rest.iter().filter(|word| word.text().contains('/')).for_each(|word| self.named(word));
            }
            "config" | "version" | "--version" => {}
            _ => call.rest.iter().for_each(|word| self.named(word)),
        }
        match call.action {
            "status" | "ls-files" => self.add(Access::Read, "."),
            _ if is_deep && !git_only_lists(call.rest) => self.add(Access::WriteTree, "."),
            _ => {}
        }
        self.cwd = own;
        Access::Named
    }
}

/// The words behind `--`, where there are some and each is a path without any magic.
fn plain_paths(words: &[Word]) -> Option<&[Word]> {
    let at = words.iter().position(|word| word.exact() == Some("--"))?;
    let paths = words.get(at + 1..).filter(|paths| !paths.is_empty())?;
    paths.iter().all(|word| word.exact().is_some_and(|text| !text.starts_with(':'))).then_some(paths)
}

impl Paths<'_> {
    /// Revisions and paths: `HEAD:path` and `:0:path` show a file as well.
    fn objects<'w>(&mut self, operands: impl Iterator<Item = &'w Word>) {
        for word in operands {
            match word.exact().and_then(|text| text.split_once(':')) {
                Some((_, path)) => {
                    let staged = ["0:", "1:", "2:", "3:"].iter().find_map(|stage| path.strip_prefix(stage));
                    self.word(Access::Read, &Word::known(staged.unwrap_or(path)));
                }
                None => self.named(word),
            }
        }
    }

    /// Options of git whose value is a file that is read, or one whose story is shown.
    fn git_files(&mut self, action: &str, words: &[Word]) {
        let own = match action {
            "commit" | "tag" | "merge" | "notes" => GIT_TEXTS,
            "blame" | "annotate" => GIT_BLAMES,
            "grep" => "-iIwvhHEGPFnlLzocpWqra -f:@ -eABCm:",
            _ => "",
        };
        let grammar = format!("{own} {GIT_FILES}");
        let words = completed(&grammar, words);
        for item in items(&grammar, &words) {
            if let Item::Option { value: Some(value), is_path: true, .. } = item {
                self.word(Access::Read, &value);
            }
        }
        // `--output=file`, however it is shortened.
        for (at, word) in words.iter().enumerate() {
            let text = word.text();
            let (option, value) =
                text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value)));
            let is_output =
                option.len() > 4 && "--output".starts_with(option) || option == "--output-directory";
            match (is_output, value) {
                (false, _) => {}
                (true, Some(value)) if word.exact().is_some() => {
                    self.word(Access::Write, &Word::known(value));
                }
                (true, Some(value)) => self.unknown(Access::Write, value),
                (true, None) => {
                    if let Some(next) = words.get(at + 1) {
                        self.word(Access::Write, next);
                    }
                }
            }
        }
        if !matches!(action, "log" | "show" | "whatchanged") {
            return;
        }
        // `-L1,5:path`, `-L :function:path`.
        for (at, word) in words.iter().enumerate() {
            let ranges = match word.text() {
                "-L" => words.get(at + 1).map_or("", Word::text),
                text => text.strip_prefix("-L").unwrap_or_default(),
            };
            if let Some((_, path)) = ranges.rsplit_once(':') {
                self.word(Access::Read, &Word::known(path));
            }
        }
    }
}

/// Whether git prints what changed in files, and not only which.
fn shows_content(action: &str, words: &[Word]) -> bool {
    let has = |wanted: &[&str]| {
        words.iter().any(|word| wanted.iter().any(|option| word.text().split('=').next() == Some(option)))
    };
    let only_names = has(&[
        "--stat",
        "--numstat",
        "--shortstat",
        "--name-only",
        "--name-status",
        "--dirstat",
        "--summary",
        "--check",
        "--quiet",
        "-s",
        "--no-patch",
        "--raw",
    ]);
    let asks =
        has(&["-p", "-u", "--patch", "--patch-with-stat", "--unified", "--word-diff", "-L", "-c", "--cc"])
            || words.iter().any(|word| word.text().starts_with("-U") || word.text().starts_with("-L"));
    match action {
        "diff" | "show" => !only_names || asks,
        "format-patch" => true,
        "stash" => words.first().and_then(Word::exact) == Some("show") && asks,
        _ => asks,
    }
}

/// `clean -n`: nothing is written.
fn git_only_lists(words: &[Word]) -> bool {
    words.iter().any(|word| matches!(word.text(), "-n" | "--dry-run" | "-nd"))
}

/// Whether a shell leaves the character as it is wherever it stands.
fn is_literal(c: char) -> bool {
    c.is_alphanumeric() || "_-./~+:,@%=".contains(c)
}

fn tree(access: Access) -> Access {
    match access {
        Access::Named => Access::Named,
        Access::Read | Access::Tracked | Access::ReadTree => Access::ReadTree,
        Access::Write | Access::WriteTree => Access::WriteTree,
    }
}

/// The folder after further steps.
fn moved(cwd: &Cwd, folders: &[&Word]) -> Cwd {
    if folders.is_empty() {
        return cwd.clone();
    }
    let mut steps = match cwd {
        Cwd::Start => Vec::new(),
        Cwd::Moved(steps) => steps.clone(),
        Cwd::Unknown if folders.first().is_some_and(|word| word.text().starts_with('/')) => Vec::new(),
        Cwd::Unknown => return Cwd::Unknown,
    };
    for folder in folders {
        match folder.exact() {
            Some(step) => steps.push(step.to_owned()),
            None => return Cwd::Unknown,
        }
    }
    Cwd::Moved(steps)
}

#[cfg(test)]
mod tests {
    use crate::{
        Access, Cwd, Dialect, Line,
        command::{operands::path_words, read_line, typed::typed},
    };

    /// `r:` read, `R:` everything beneath, `w:` `W:` the same written, `n:` named; `@` before another folder, `*`
    /// before a pattern.
    fn shown(text: &str) -> String {
        shown_of(&typed(text).line)
    }

    fn shown_of(line: &Line) -> String {
        let words = path_words(line);
        let shown = words.iter().map(|word| {
            let letter = match word.access {
                Access::Named => "n",
                Access::Read => "r",
                Access::Tracked => "t",
                Access::ReadTree => "R",
                Access::Write => "w",
                Access::WriteTree => "W",
            };
            let away = match &word.cwd {
                Cwd::Start => String::new(),
                Cwd::Moved(steps) => format!("@{}", steps.join("/")),
                Cwd::Unknown => "?".to_owned(),
            };
            let mark = if word.is_pattern { "*" } else { "" };
            format!("{mark}{away}{letter}:{}", word.text)
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_program_uses_its_paths_its_own_way() {
        let cases = [
            ("ls", "r:."),
            ("ls -R src", "R:src"),
            ("cat a -n b", "r:a r:b"),
            ("cat -- -a", "r:-a"),
            ("cat ~/x", "r:~/x"),
            ("cat \"$HOME\"/x", "r:~/x"),
            ("cat $PWD/x", "r:./x"),
            ("cat $X", "?r:$X"),
            ("cat sec*/k", "*r:sec*/k"),
            ("cat src/a*", "*r:src/a*"),
            ("cat .e*", "*r:.e*"),
            ("grep -r x .*", "R:.. *R:.*"),
            ("head -n 5 x", "r:x"),
            ("grep x y", "r:y"),
            ("grep -rn x src", "R:src"),
            ("grep -r x", "R:."),
            ("grep -e x y", "r:y"),
            ("grep -f p y", "r:p r:y"),
            ("rg x", "R:."),
            ("rg x src", "R:src"),
            ("cat a | rg x", "r:a"),
            ("fd x", "R:."),
            ("find", "R:."),
            ("find a b -name c -newer d", "R:a R:b r:d"),
            ("find a -delete", "W:a"),
            ("find a -fprint b", "R:a w:b"),
            ("sed -n 1p x", "r:x"),
            ("sed -i s/a/b/ x", "w:x"),
            ("sed -e 1p -f s x", "r:s r:x"),
            ("awk '{print}' x", "r:x"),
            ("sort x -o y", "w:y r:x"),
            ("uniq a b", "r:a w:b"),
            ("cp a b", "r:a w:b n:b/a"),
            ("cp x/a d/", "r:x/a w:d/ w:d/a"),
            ("cp a b .", "r:a r:b w:. w:./a w:./b"),
            ("cp -r t/.haft .", "R:t/.haft W:. W:./.haft"),
            ("cp -T a b", "r:a w:b"),
            ("cp --target=d a", "w:d r:a w:d/a"),
            ("cp -r t/. d/", "R:t/. W:d/ ?W:t/."),
            ("cp *.c d", "*r:*.c w:d ?w:*.c"),
            ("ln -s ../x", "w:../x w:./x"),
            ("rsync -a t/ .", "R:t/ W:. ?W:t/"),
            ("rsync -a h:t .", "W:. W:./h:t"),
            ("install -d a b", "w:a w:b"),
            ("cp -r a b", "R:a W:b n:b/a"),
            ("cp -t d a b", "w:d r:a r:b w:d/a w:d/b"),
            ("mv a b", "W:a w:b n:b/a"),
            ("rm a", "w:a"),
            ("rm -rf a", "W:a"),
            ("rm -f *.o", "w:*.o *w:*.o"),
            ("mkdir -p a/b", "w:a/b"),
            ("touch a", "w:a"),
            ("chmod -R 755 a", "W:a"),
            ("chmod +x a", "w:a"),
            ("ln -s a b", "r:a w:b n:b/a"),
            ("tee -a a", "w:a"),
            ("dd if=a of=b bs=1", "r:a w:b"),
            ("truncate -s 0 a", "w:a"),
            ("tar -czf a.tgz b", "w:a.tgz R:b"),
            ("tar xf a.tar -C b", "r:a.tar W:b"),
            ("tar xf a.tar", "r:a.tar W:."),
            ("tar -tf a.tar", "r:a.tar"),
            ("tar tfv a", "r:a"),
            ("tar cfv a b", "w:a R:b"),
            ("tar cfC a b c", "w:a r:b R:b R:c"),
            ("tar rf a b", "w:a R:b"),
            ("tar --delete -f a b", "w:a"),
            ("tar -cf a -g s b", "w:a w:s R:b"),
            ("xz -l -d a", "w:a"),
            ("xz -dc a", "r:a"),
            ("cat ~root/x", "?r:~root/x"),
            ("cat ~+/x", "?r:~+/x"),
            ("HOME=/x; cat ~/y", "?r:~/y"),
            ("cat ${PWD%/*}/x", "?r:${PWD%/*}/x"),
            ("ln -s a b && cat b/k", "r:a w:b n:b/a ?r:b/k"),
            ("mv a b && ls", "W:a w:b n:b/a r:."),
            ("git checkout x && cat y", "n:x W:. ?r:y"),
            ("git stash list && cat y", "n:list r:y"),
            ("git commit -Fx", "r:x"),
            ("git commit --file=x", "r:x"),
            ("git add --pathspec-from-file=x", "r:x"),
            ("git blame --ignore-revs-file=x a", "r:x n:a"),
            ("git log -L1,5:secret/k", "r:secret/k t:."),
            ("cat /dev/null", ""),
            ("foo -x.env", "n:.env"),
            ("curl -o a https://x.y/z", "w:a"),
            ("curl file:///etc/x", "n:/etc/x"),
            ("wget -O a https://x.y", "w:a"),
            ("echo a > b", "w:b"),
            ("cat < a", "r:a"),
            ("echo a > /dev/null", ""),
            ("echo /etc/x", ""),
            ("cd a && cat b", "r:a @ar:b"),
            ("git status", "r:."),
            ("git diff", "t:."),
            ("git diff --stat", ""),
            ("git diff a", "t:. n:a"),
            ("git log", ""),
            ("git log -p -1", "t:."),
            ("git show", "t:."),
            ("git -C a status", "@ar:."),
            ("git checkout .", "n:. W:."),
            ("git show HEAD:a/b", "t:. r:a/b"),
            ("git show :0:a/b", "t:. r:a/b"),
            ("git diff -- a b", "R:a R:b n:a n:b"),
            ("git diff --outp=x", "w:x t:."),
            ("git cat-file --batch", "t:."),
            ("git config a.b c", "w:.git/config w:~/.gitconfig"),
            ("git config --get a.b", ""),
            ("git rm a", "W:a W:."),
            ("git commit -m 'a/b c'", "n:a/b c"),
            ("xargs rm", "?w:"),
            ("xargs cat", "?r:"),
            ("sudo cat a", "r:a"),
            ("python x.py", "n:x.py"),
            ("gcc -I/usr/x -o a b.c", "n:/usr/x n:a n:b.c"),
            ("foo --in=a @b c=d https://x.y", "n:a n:@b n:b n:c=d n:d"),
            ("test -f a", "r:a"),
            ("base64 $X", "?r:$X"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn words_of_the_real_reader_are_used_alike() {
        let cases = [
            ("xargs -a.env cat", "r:.env ?r:"),
            ("xargs --arg-file=x cat", "r:x ?r:"),
            ("cat ~/.e*", "*r:~/.e*"),
            ("cat $HOME/.e*", "*r:~/.e*"),
            ("cat \"$HOME\"/*.rs", "*r:~/*.rs"),
            ("cat \"$HOME/*.rs\"", "?r:~/*.rs"),
            ("cat '~'/*.rs", "*r:./~/*.rs"),
            ("cat 'a*'?", "?r:'a*'?"),
            ("cat \"a b\"/*.rs", "*r:a b/*.rs"),
            ("cat ~-/x", "?r:~-/x"),
            ("unset HOME; cat ~/x", "n:HOME ?r:~/x"),
            ("read -r HOME; cat $HOME/x", "n:HOME ?r:~/x"),
            ("export PWD=/; cat \"$PWD\"/x", "?r:./x"),
            ("CDPATH=/etc; cd a && cat b", "r:a ?r:b"),
            ("diff <(sort a) <(sort b)", "r:a r:b"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown_of(&read_line(text, Dialect::Bash)), expected, "{text}");
        }
    }
}
