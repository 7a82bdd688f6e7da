//! One text of settings, read on its own.

pub(super) mod unmatchable;

use super::{
    CodeSetting, McpSetting, ModelSetting, Origin, Place, Placed, SandboxSetting, Setting, SettingsSource,
    TaintSetting, ToolSetting,
    section::{Document, Limit, List, Section},
};
use crate::{catalogue::Problem, find::Deferral, hooks::Hook};
use haft_core::Credential;
use haft_policy::{Action, Mode, Rule};
use std::collections::BTreeMap;
use toml::de::DeTable;
use unmatchable::unmatchable;

/// What can stand at the root.
const SECTIONS: [&str; 12] = [
    "permissions",
    "tools",
    "environment",
    "models",
    "roots",
    "taint",
    "hooks",
    "sandbox",
    "secrets",
    "discovery",
    "code",
    "mcp",
];
/// What the contract has and this version doesn't act on.
const LATER: [&str; 1] = ["openapi"];
const PERMISSIONS: [&str; 6] = ["mode", "allow", "ask", "deny", "dangerous", "protectedBranches"];
/// Keys of `[tools]` itself. A table under any name is a tool's.
const TOOLS: [&str; 3] = ["include", "exclude", "folders"];
/// How many syntax errors of one file are reported.
const SYNTAX_ERRORS_MAX: usize = 3;

/// What one text says.
#[derive(Default)]
pub(super) struct Layer {
    pub(super) mode: Option<Setting<Mode>>,
    pub(super) rules: Vec<Rule>,
    pub(super) dangerous: Vec<Setting<String>>,
    pub(super) protected_branches: Vec<Setting<String>>,
    pub(super) include: Option<Vec<Setting<String>>>,
    pub(super) exclude: Vec<Setting<String>>,
    pub(super) tools: BTreeMap<String, ToolSetting>,
    pub(super) folders: Vec<Setting<Placed>>,
    pub(super) pass_env: Vec<Setting<String>>,
    pub(super) set_env: BTreeMap<String, Setting<Credential>>,
    pub(super) models: BTreeMap<String, ModelSetting>,
    pub(super) extra_roots: Vec<Setting<Placed>>,
    pub(super) taint: TaintSetting,
    pub(super) defer: Option<Setting<Deferral>>,
    pub(super) search_model: Option<Setting<Placed>>,
    pub(super) sandbox: SandboxSetting,
    pub(super) code: CodeSetting,
    pub(super) mask: Option<Setting<bool>>,
    pub(super) passphrase_command: Option<Setting<Vec<String>>>,
    pub(super) mcp: BTreeMap<String, McpSetting>,
    pub(super) mcp_problems: Vec<Problem>,
    pub(super) hooks: Vec<Hook>,
    pub(super) problems: Vec<Problem>,
}

impl Layer {
    /// Reads a text as far as it can be read.
    pub(super) fn read(source: &SettingsSource, place: &Place) -> Self {
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        let limit = if !errors.is_empty() {
            Limit::Damaged
        } else if source.scope.is_in_workspace() && !place.trusted {
            Limit::Untrusted
        } else {
            Limit::Free
        };
        let document = Document::new(source, limit);
        let mut layer = Self::default();
        for error in errors.iter().take(SYNTAX_ERRORS_MAX) {
            let span = error.span().unwrap_or_default();
            document.problem(
                document.line(span.start),
                format!("not valid TOML: {}", error.message()),
                "mend this line; until then only the deny and ask rules of this file count, and every call asks",
            );
        }
        if let Some(error) = errors.first() {
            layer.doubt(&document.origin(&error.span().unwrap_or_default()), source, place);
        }
        layer.read_root(&Section::root(&document, table.get_ref()), place);
        layer.problems = document.into_problems();
        layer
    }

    fn read_root(&mut self, root: &Section<'_>, place: &Place) {
        let known: Vec<&str> = SECTIONS.iter().chain(&LATER).copied().collect();
        root.only(&known);
        for (key, _) in root.keys().filter(|(key, _)| LATER.contains(key)) {
            root.document.problem(
                root.line(key),
                format!("[{key}] does nothing: this version of haft doesn't act on it"),
                "don't rely on it; remove it, or keep it for a later version",
            );
        }
        if let Some(section) = root.section("permissions") {
            self.read_permissions(&section, place);
        }
        if let Some(section) = root.section("tools") {
            self.read_tools(&section, place);
        }
        if let Some(section) = root.section("environment") {
            section.only(&["pass", "set"]);
            if section.counts("pass") {
                self.pass_env = section.texts("pass").items;
            }
            if section.counts("set") {
                self.set_env = section.section("set").map(|set| set.credentials()).unwrap_or_default();
            }
        }
        if let Some(section) = root.section("models") {
            self.read_models(&section);
        }
        if let Some(section) = root.section("hooks") {
            self.hooks = super::hook::read_hooks(&section);
        }
        if let Some(section) = root.section("taint") {
            self.taint = TaintSetting::read(&section, place);
        }
        if let Some(section) = root.section("discovery") {
            section.only(&["defer", "model"]);
            self.defer = section.counts("defer").then(|| section.word("defer")).flatten();
            let model = section.counts("model").then(|| section.text("model")).flatten();
            self.search_model = model.and_then(|model| placed_one(&section, model, place));
        }
        if let Some(section) = root.section("sandbox") {
            self.sandbox = SandboxSetting::read(&section, place);
        }
        if let Some(section) = root.section("code") {
            self.code = CodeSetting::read(&section);
        }
        if let Some(section) = root.section("secrets") {
            section.only(&["mask", "passphraseCommand"]);
            self.mask = section.flag("mask").filter(|mask| mask.value || section.counts("mask"));
            self.passphrase_command = passphrase_command(&section);
        }
        if let Some(section) = root.section("mcp") {
            let before = root.document.problem_count();
            self.mcp = super::mcp::servers(&section, place);
            self.mcp_problems = root.document.problems_since(before);
        }
        if let Some(section) = root.section("roots") {
            section.only(&["extra"]);
            if section.counts("extra") {
                self.extra_roots = placed(&section, "extra", place);
            }
        }
    }

    fn read_permissions(&mut self, section: &Section<'_>, place: &Place) {
        section.only(&PERMISSIONS);
        let document = section.document;
        for (key, action) in [("deny", Action::Deny), ("ask", Action::Ask)] {
            let list = section.texts(key);
            if let Some(origin) = &list.damaged {
                self.doubt(origin, document.source, place);
            }
            self.read_rules(section, action, list, place);
        }
        if section.counts("allow") {
            self.read_rules(section, Action::Allow, section.texts("allow"), place);
        }
        if section.counts("mode")
            && let Some(written) = section.text("mode")
        {
            match written.value.parse::<Mode>() {
                Ok(mode) => self.mode = Some(written.map(|_| mode)),
                Err(error) => {
                    document.problem(written.origin.line, error.to_string(), "write one of these modes");
                }
            }
        }
        if section.counts("dangerous") {
            self.dangerous = like_rules(section, "dangerous", place);
        }
        self.protected_branches = section.texts("protectedBranches").items;
    }

    fn read_rules(&mut self, section: &Section<'_>, action: Action, list: List, place: &Place) {
        let document = section.document;
        for item in list.items {
            let at = document.source.rule_origin(item.origin.line, place);
            match Rule::parse(action, &item.value, &at) {
                Ok(rule) => {
                    if let Some((text, fix)) = unmatchable(action, &item.value) {
                        document.problem(item.origin.line, text, fix);
                    }
                    self.rules.push(rule);
                }
                Err(error) => {
                    let fix = "mend the rule; until then the tool it names is denied";
                    document.problem(item.origin.line, error.to_string(), fix);
                    self.rules.push(Rule::broken(action, &item.value, &at, &error));
                    if action != Action::Allow && !names_a_tool(&item.value) {
                        self.doubt(&item.origin, document.source, place);
                    }
                }
            }
        }
    }

    /// A deny or ask rule may be lost here: nothing runs without a question until the place is mended.
    fn doubt(&mut self, origin: &Origin, source: &SettingsSource, place: &Place) {
        let at = source.rule_origin(origin.line, place);
        self.rules.extend(Rule::parse(Action::Ask, "*", &at).ok());
    }

    fn read_tools(&mut self, section: &Section<'_>, place: &Place) {
        if !section.is_table("include") && section.counts("include") {
            self.include = Some(section.texts("include").items);
        }
        if !section.is_table("exclude") {
            self.exclude = section.texts("exclude").items;
        }
        if !section.is_table("folders") && section.counts("folders") {
            self.folders = placed(section, "folders", place);
        }
        for (key, is_table) in section.keys() {
            if is_table {
                self.tools
                    .extend(section.section(key).map(|tool| (key.to_owned(), ToolSetting::read(&tool, key))));
            } else if !TOOLS.contains(&key) {
                section.document.problem(
                    section.line(key),
                    format!("\"{}\" is not a setting", section.full(key)),
                    format!(
                        "for a tool of that name write a table, [tools.{key}]; known here: {}",
                        TOOLS.join(", ")
                    ),
                );
            }
        }
    }

    fn read_models(&mut self, section: &Section<'_>) {
        for (key, _) in section.keys().filter(|(key, _)| section.counts(key)) {
            if let Some(model) = section.section(key) {
                let read = ModelSetting::read(&model, section.origin(key));
                self.models.insert(key.to_owned(), read);
            }
        }
    }
}

/// `passphraseCommand` under `[secrets]`, which no workspace says anything about, trusted or not.
fn passphrase_command(section: &Section<'_>) -> Option<Setting<Vec<String>>> {
    const KEY: &str = "passphraseCommand";
    if !section.has(KEY) {
        return None;
    }
    let (origin, document) = (section.origin(KEY), section.document);
    if document.source.scope.is_in_workspace() {
        let text =
            format!("\"{}\" is ignored here: your secrets are no matter of a workspace", section.full(KEY));
        document.problem(origin.line, text, "write it in your own settings, if it is yours");
        return None;
    }
    let list = section.texts(KEY);
    let words: Vec<String> = list.items.into_iter().map(|item| item.value).collect();
    if list.damaged.is_some() || words.first().is_none_or(|program| program.trim().is_empty()) {
        let text = format!("\"{}\" names no program", section.full(KEY));
        document.problem(
            origin.line,
            text,
            "write program and arguments, each for itself: [\"pass\", \"show\", \"haft\"]",
        );
        return None;
    }
    Some(Setting { value: words, origin })
}

/// What is written like a rule, but stands in no list.
pub(super) fn like_rules(section: &Section<'_>, key: &str, place: &Place) -> Vec<Setting<String>> {
    let document = section.document;
    let mut items = section.texts(key).items;
    items.retain(|item| {
        let at = document.source.rule_origin(item.origin.line, place);
        let read = Rule::parse(Action::Ask, &item.value, &at);
        if let Err(error) = &read {
            document.problem(
                item.origin.line,
                error.to_string(),
                "write it like a rule, for example \"bash\"",
            );
        }
        read.is_ok()
    });
    items
}

/// Whether a text that is no rule still clearly names the tool that a broken rule then denies.
fn names_a_tool(text: &str) -> bool {
    let rest =
        text.trim().trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*'));
    let named = rest.len() < text.trim().len();
    named && (rest.is_empty() || rest.starts_with('(') || rest.starts_with(char::is_whitespace))
}

pub(super) fn placed(section: &Section<'_>, key: &str, place: &Place) -> Vec<Setting<Placed>> {
    let items = section.texts(key).items.into_iter();
    items.filter_map(|item| placed_one(section, item, place)).collect()
}

fn placed_one(section: &Section<'_>, item: Setting<String>, place: &Place) -> Option<Setting<Placed>> {
    let path = place.absolute(&item.value);
    if path.is_none() {
        section.document.problem(
            item.origin.line,
            format!("\"{}\" starts at the home folder, which isn't known here", item.value),
            "write an absolute path, or set HOME",
        );
    }
    path.map(|path| item.map(|_| path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Scope, Settings};

    fn place(trusted: bool) -> Place {
        Place { workspace: "/w".into(), home: Some("/home/u".into()), trusted }
    }

    fn read(scope: Scope, text: &str, trusted: bool) -> Settings {
        Settings::load(&[SettingsSource::new(scope, "/etc/f.toml", text)], &place(trusted))
    }

    fn listed(settings: &Settings) -> Vec<String> {
        settings.problems.iter().map(ToString::to_string).collect()
    }

    fn rules(settings: &Settings) -> Vec<(Action, String)> {
        settings.rules.iter().map(|rule| (rule.action, rule.text.clone())).collect()
    }

    #[test]
    fn every_problem_has_its_line_and_what_would_fix_it() {
        let cases = [
            ("[permissions]\nmod = 'plan'", 2, "\"permissions.mod\" is not a setting", "write \"mode\""),
            ("\n[permission]\n", 2, "\"permission\" is not a setting", "write \"permissions\""),
            ("[permissions]\n\nmode = 3", 3, "must be a string", "mode = \"…\""),
            ("[permissions]\nmode = 'slow'", 2, "\"slow\" is no approval mode", "one of these modes"),
            ("[permissions]\ndeny = [\n'bash',\n7]", 4, "must be a list of strings", "deny = ["),
            ("[permissions]\ndeny = 'bash'", 2, "must be a list of strings", "deny = ["),
            ("[permissions]\nallow = ['bash(ls']", 2, "closing parenthesis", "mend the rule"),
            ("[tools.bash]\nenabeld = false", 2, "\"tools.bash.enabeld\"", "write \"enabled\""),
            ("[tools.bash]\ntimeoutMs = 0", 2, "whole number above 0", "timeoutMs = 1000"),
            ("[tools.bash]\nexposure = 'loud'", 2, "unknown variant", "one of these words"),
            ("[tools.bash]\npermission = 'auto'", 2, "can't loosen", "allow rule"),
            ("[tools]\nbash = 'deny'", 2, "\"tools.bash\" is not a setting", "[tools.bash]"),
            ("roots = 1", 1, "\"roots\" must be a table", "write [roots]"),
            ("[environment]\npas = []", 2, "\"environment.pas\"", "write \"pass\""),
            ("[models.m]\nmaxTokens = -1", 2, "whole number above 0", "maxTokens"),
            ("[sandbox]\nmode = 'on'", 2, "unknown variant `on`", "write one of these words"),
            ("[sandbox]\nnetwork = 'none'", 2, "no network of a sandbox", "a list of hosts"),
            ("[sandbox]\nnetwork = ['https://a.b/']", 2, "is no host", "no https://"),
            ("[openapi.x]\nurl = 'y'", 1, "[openapi] does nothing", "don't rely on it"),
            ("[discovery]\ndefer = 'maybe'", 2, "unknown variant", "one of these words"),
            ("[taint]\naction = 'loud'", 2, "unknown variant", "one of these words"),
            ("[taint]\nprivate = ['read(']", 2, "closing parenthesis", "like a rule"),
            ("[tools]\nexclude = = []", 2, "not valid TOML", "mend this line"),
            ("[permissions]\nallow = ['bash(A=1 npm test)']", 2, "matches no call", "bash(npm test)"),
            ("[permissions]\ndeny = [\n'fetch(domain:http://x)']", 3, "matches no call", "fetch(domain:x)"),
        ];
        for (text, line, says, fix) in cases {
            let problems = read(Scope::User, text, true).problems;
            let found = problems.iter().any(|problem| {
                problem.line == Some(line) && problem.text.contains(says) && problem.fix.contains(fix)
            });
            assert!(found, "{text:?} gave {problems:#?}");
        }
    }

    #[test]
    fn what_is_understood_arrives_with_its_place() {
        let text = "[permissions]\nmode = 'acceptEdits'\nallow = ['read']\nask = ['edit(./a)']\ndeny = ['bash(rm *)']\n\
                    dangerous = ['bash']\n[tools]\ninclude = ['*']\nexclude = ['web*']\nfolders = ['.pequenin/tools']\n\
                    [tools.bash]\nexposure = 'deferred'\npermission = 'confirm'\nenabled = true\ntimeoutMs = 5_000\n\
                    [environment]\npass = ['CI']\n[roots]\nextra = ['~/notes']\n\
                    [models.big]\nprovider = 'anthropic'\nmodel = 'm'\nbaseUrl = 'http://l'\napiKeyEnv = 'K'\n\
                    maxTokens = 9\ncontextWindow = 90\ndefault = true\n[discovery]\nmodel = '~/models/small'\n";
        let settings = read(Scope::User, text, false);
        assert_eq!(listed(&settings), Vec::<String>::new());
        let mode = settings.mode.clone().unwrap();
        assert_eq!((mode.value, mode.origin.to_string()), (Mode::AcceptEdits, "/etc/f.toml:2".to_owned()));
        assert_eq!(settings.rules[0].source.as_deref(), Some("/etc/f.toml:5"));
        assert_eq!(settings.folders[0].value.absolute, "/w/.pequenin/tools");
        assert_eq!(settings.extra_roots[0].value.absolute, "/home/u/notes");
        assert_eq!(settings.pass_env[0].value, "CI");
        assert_eq!(settings.search_model.as_ref().unwrap().value.absolute, "/home/u/models/small");
        let bash = &settings.tools["bash"];
        assert_eq!(bash.timeout_ms.as_ref().map(|set| set.value), Some(5_000));
        assert_eq!(bash.exposure.as_ref().map(|set| set.value), Some(haft_core::Exposure::Deferred));
        let (name, model) = settings.default_model().unwrap();
        let key = model.api_key.as_ref().map(ToString::to_string);
        assert_eq!((name, key.as_deref(), model.max_tokens), ("big", Some("env:K"), Some(9)));
        assert_eq!(model.context_window, Some(90));
        assert_eq!(model.origin.line, 20);
    }

    #[test]
    fn credentials_are_named_and_what_is_none_is_never_repeated() {
        let text = "[models.a]\napiKey = 'secret:work'\n[models.b]\napiKey = 'hunter2'\n[models.c]\napiKeyEnv = 'hunter 2'\n\
                    [models.d]\napiKey = 'env:A'\napiKeyEnv = 'B'\n\
                    [tools.fetch]\nheaders = [{ host = 'h', name = 'x', value = 'secret:t' }, { host = 'h', name = 'y', value = 'hunter2' }]\n\
                    [environment.set]\nT = 'secret:t'\nU = 'hunter2'\n'A B' = 'secret:t'\n";
        let settings = read(Scope::User, text, true);
        let key = |name: &str| settings.models[name].api_key.as_ref().map(ToString::to_string);
        assert_eq!((key("a").as_deref(), key("b"), key("c")), (Some("secret:work"), None, None));
        assert_eq!(key("d").as_deref(), Some("env:A"));
        let headers: Vec<String> =
            settings.tools["fetch"].headers.iter().map(|header| header.value.to_string()).collect();
        assert_eq!(headers, ["secret:t"]);
        assert_eq!(settings.set_env.keys().collect::<Vec<_>>(), ["T"]);
        assert!(!format!("{settings:?}").contains("hunter"), "{settings:?}");
        for line in [4, 6, 8, 11, 14, 15] {
            assert!(
                settings.problems.iter().any(|problem| problem.line == Some(line)),
                "{line}: {:?}",
                settings.problems
            );
        }
    }

    #[test]
    fn a_command_for_the_passphrase_is_the_users_alone() {
        let text = "[secrets]\npassphraseCommand = ['pass', 'show', 'haft']\n";
        let of = |scope: Scope, text: &str| {
            let settings = read(scope, text, true);
            (settings.passphrase_command.map(|set| set.value.join(" ")), settings.problems.len())
        };
        assert_eq!(of(Scope::User, text), (Some("pass show haft".to_owned()), 0));
        assert_eq!(of(Scope::Managed, text), (Some("pass show haft".to_owned()), 0));
        assert_eq!(of(Scope::Workspace, text), (None, 1));
        assert_eq!(of(Scope::User, "[secrets]\npassphraseCommand = []\n"), (None, 1));
        assert_eq!(of(Scope::User, "[secrets]\n").0, None);
    }

    #[test]
    fn an_untrusted_workspace_can_only_tighten() {
        let text = "[permissions]\nmode = 'yolo'\nallow = ['bash']\nask = ['read']\ndeny = ['edit']\n\
                    dangerous = []\n[tools]\ninclude = ['x']\nexclude = ['grep']\nfolders = ['t']\n\
                    [tools.bash]\npermission = 'deny'\nenabled = false\nexposure = 'hidden'\ntimeoutMs = 1\nenv = { K = 'secret:k' }\n\
                    [tools.read]\nenabled = true\n[environment]\npass = ['KEY']\nset = { K = 'secret:k' }\n[models.m]\nbaseUrl = 'http://evil'\n\
                    [roots]\nextra = ['/']\n";
        for scope in [Scope::Workspace, Scope::Local] {
            let settings = read(scope, text, false);
            assert_eq!(
                rules(&settings),
                [(Action::Deny, "edit".to_owned()), (Action::Ask, "read".to_owned())]
            );
            assert!(
                settings.mode.is_none() && settings.pass_env.is_empty() && settings.extra_roots.is_empty()
            );
            assert!(settings.set_env.is_empty());
            assert!(settings.models.is_empty() && settings.folders.is_empty() && settings.include.is_none());
            let bash = &settings.tools["bash"];
            assert!(
                bash.is_off() && bash.exposure.is_none() && bash.timeout_ms.is_none() && bash.env.is_empty()
            );
            assert_eq!(bash.tighten(haft_core::Permission::Auto), haft_core::Permission::Deny);
            assert!(settings.tools["read"].enabled.is_none());
            let ignored =
                settings.problems.iter().filter(|problem| problem.fix.contains("haft trust")).count();
            assert_eq!(ignored, 13, "{:#?}", settings.problems);
            assert_eq!(ignored, settings.problems.len());
        }
        let trusted = read(Scope::Workspace, text, true);
        assert_eq!(trusted.mode.unwrap().value, Mode::Yolo);
        assert!(trusted.problems.is_empty());
    }

    #[test]
    fn a_file_that_may_have_lost_a_deny_rule_makes_everything_ask() {
        let cases = [
            "[permissions]\nallow = ['bash']\ndeny = ['read'\nmode = 'yolo'",
            "[permissions]\ndeny = 'bash'",
            "[permissions]\nask = [1]",
            "[permissions]\ndeny = ['risk:high']",
        ];
        for text in cases {
            let settings = read(Scope::User, text, true);
            let rules = rules(&settings);
            assert!(rules.contains(&(Action::Ask, "*".to_owned())), "{text:?}: {rules:?}");
            assert!(
                settings.mode.is_none() && !rules.contains(&(Action::Allow, "bash".to_owned())),
                "{text:?}"
            );
            assert!(!settings.problems.is_empty());
        }
        let named = read(Scope::User, "[permissions]\ndeny = ['bash(ls']", true);
        assert_eq!(rules(&named), [(Action::Deny, "bash(ls".to_owned())]);
    }

    #[test]
    fn a_rule_that_hardly_matches_stays_and_makes_nothing_ask() {
        let settings = read(Scope::User, "[permissions]\ndeny = ['bash(ls > *)', 'raed(x)']", true);
        let stay = ["bash(ls > *)", "raed(x)"].map(|rule| (Action::Deny, rule.to_owned()));
        assert_eq!((rules(&settings), settings.problems.len()), (stay.to_vec(), 2));
    }

    #[test]
    fn a_table_under_tools_is_a_tool_whatever_its_name() {
        let settings =
            read(Scope::User, "[tools]\nbash = {enabled = false}\n[tools.include]\nenabled = false", true);
        assert_eq!(listed(&settings), Vec::<String>::new());
        assert!(settings.tools["bash"].is_off() && settings.tools["include"].is_off());
        assert!(settings.include.is_none());
    }
}
