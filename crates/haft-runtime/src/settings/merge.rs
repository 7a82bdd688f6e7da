//! All settings that hold for one workspace.

use super::{
    CodeSetting, McpSetting, ModelSetting, Place, Placed, SandboxSetting, Scope, Setting, SettingsSource,
    TaintSetting, ToolSetting, load::Layer,
};
use crate::{
    catalogue::{Problem, ToolSet},
    find::Deferral,
    hooks::Hook,
};
use haft_core::{Credential, RealPath};
use haft_policy::{Grant, Mode, Policy, Rule, Taint};
use std::collections::{BTreeMap, btree_map::Entry};

/// Settings of all scopes, put together: of single values the strongest scope's holds, rules add up.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The approval mode.
    pub mode: Option<Setting<Mode>>,
    /// The rules of all scopes, strongest scope first; broken ones among them.
    pub rules: Vec<Rule>,
    /// What asks in `auto` mode; empty means the built-in list.
    pub dangerous: Vec<Setting<String>>,
    /// Branches that are never force-pushed, besides the built-in ones.
    pub protected_branches: Vec<Setting<String>>,
    /// Which tools are in; none means all.
    pub include: Option<Vec<Setting<String>>>,
    /// Which tools are out again.
    pub exclude: Vec<Setting<String>>,
    /// Settings of single tools.
    pub tools: BTreeMap<String, ToolSetting>,
    /// Further roots of command folders.
    pub folders: Vec<Setting<Placed>>,
    /// Names of environment variables that commands get besides the usual ones.
    pub pass_env: Vec<Setting<String>>,
    /// Variables that commands get, each with where its value is.
    pub set_env: BTreeMap<String, Setting<Credential>>,
    /// Models by name.
    pub models: BTreeMap<String, ModelSetting>,
    /// Further folders that count as inside.
    pub extra_roots: Vec<Setting<Placed>>,
    /// The hooks of all scopes, strongest scope first.
    pub hooks: Vec<Hook>,
    /// What becomes of data that would leave a session which strangers can speak to.
    pub taint: TaintSetting,
    /// When definitions of tools that leave it to haft are sent.
    pub defer: Option<Setting<Deferral>>,
    /// The folder with the model of static embeddings by which tools are searched.
    pub search_model: Option<Setting<Placed>>,
    /// What commands are kept from.
    pub sandbox: SandboxSetting,
    /// What one script of code mode may use.
    pub code: CodeSetting,
    /// Whether secrets are masked in what leaves a call; they are unless this says otherwise.
    pub mask: Option<Setting<bool>>,
    /// The program that gives the passphrase of stored credentials, with its arguments.
    pub passphrase_command: Option<Setting<Vec<String>>>,
    /// Servers whose tools join the catalogue, by name.
    pub mcp: BTreeMap<String, McpSetting>,
    /// What of the problems is about servers.
    pub mcp_problems: Vec<Problem>,
    /// What is wrong, and what was ignored.
    pub problems: Vec<Problem>,
}

/// Lists that an administrator has set, to which nobody adds.
#[derive(Default)]
struct Fixed {
    folders: bool,
    pass_env: bool,
    extra_roots: bool,
}

impl Fixed {
    fn note(&mut self, settings: &Settings) {
        self.folders |= !settings.folders.is_empty();
        self.pass_env |= !settings.pass_env.is_empty();
        self.extra_roots |= !settings.extra_roots.is_empty();
    }
}

impl Settings {
    /// Reads the settings of all scopes and puts them together, whatever the order they come in.
    pub fn load(sources: &[SettingsSource], place: &Place) -> Self {
        let mut sources: Vec<&SettingsSource> = sources.iter().collect();
        sources.sort_by_key(|source| source.scope);
        let mut settings = Self::default();
        let mut fixed = Fixed::default();
        for source in sources {
            settings.add_weaker(Layer::read(source, place), &fixed, place.trusted);
            if source.scope == Scope::Managed {
                fixed.note(&settings);
            }
        }
        settings
    }

    /// Adds what a weaker scope says.
    fn add_weaker(&mut self, mut layer: Layer, fixed: &Fixed, is_trusted: bool) {
        self.mode = self.mode.take().or(layer.mode);
        self.include = self.include.take().or(layer.include);
        self.rules.append(&mut layer.rules);
        self.dangerous.append(&mut layer.dangerous);
        self.protected_branches.append(&mut layer.protected_branches);
        self.exclude.append(&mut layer.exclude);
        for (name, tool) in layer.tools {
            self.tools.entry(name).or_default().add_weaker(tool);
        }
        for (name, model) in layer.models {
            self.models.entry(name).or_insert(model);
        }
        self.add_servers(layer.mcp, is_trusted);
        self.hooks.append(&mut layer.hooks);
        self.taint.add_weaker(layer.taint);
        self.defer = self.defer.take().or(layer.defer);
        self.search_model = self.search_model.take().or(layer.search_model);
        self.sandbox.add_weaker(layer.sandbox);
        for (name, credential) in layer.set_env {
            self.set_env.entry(name).or_insert(credential);
        }
        self.code.add_weaker(layer.code);
        self.mask = self.mask.take().or(layer.mask);
        self.passphrase_command = self.passphrase_command.take().or(layer.passphrase_command);
        self.mcp_problems.append(&mut layer.mcp_problems);
        self.problems.append(&mut layer.problems);
        add(&mut self.folders, layer.folders, fixed.folders, &mut self.problems);
        add(&mut self.pass_env, layer.pass_env, fixed.pass_env, &mut self.problems);
        add(&mut self.extra_roots, layer.extra_roots, fixed.extra_roots, &mut self.problems);
    }

    /// Adds servers of a weaker scope. What an untrusted workspace names is weaker than all else.
    fn add_servers(&mut self, servers: BTreeMap<String, McpSetting>, is_trusted: bool) {
        for (name, server) in servers {
            match self.mcp.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(server);
                }
                Entry::Occupied(mut known)
                    if !is_trusted && known.get().needs_approval() && !server.needs_approval() =>
                {
                    let text = format!(
                        "the server \"{}\" is passed over, since {} names one too and this workspace isn't trusted",
                        known.key(),
                        server.origin
                    );
                    let passed = known.insert(server).origin;
                    self.problems.push(Problem {
                        source: passed.scope.name().to_owned(),
                        path: Some(passed.path),
                        line: Some(passed.line),
                        text,
                        fix: "rename one of the two".to_owned(),
                    });
                }
                Entry::Occupied(_) => {}
            }
        }
    }

    /// The tools that settings show; those switched off are out.
    pub fn tool_set(&self) -> ToolSet {
        let values = |list: &[Setting<String>]| list.iter().map(|set| set.value.clone()).collect::<Vec<_>>();
        let mut set = ToolSet::all();
        if let Some(include) = &self.include {
            set.include = values(include);
        }
        set.exclude = values(&self.exclude);
        set.exclude.extend(self.tools.iter().filter(|(_, tool)| tool.is_off()).map(|(name, _)| name.clone()));
        set
    }

    /// The model to use where none is named: the one marked as default, or the only one there is.
    pub fn default_model(&self) -> Option<(&str, &ModelSetting)> {
        let marked =
            self.models.iter().filter(|(_, model)| model.default).min_by_key(|(_, model)| model.origin.scope);
        let only = || self.models.iter().next().filter(|_| self.models.len() == 1);
        marked.or_else(only).map(|(name, model)| (name.as_str(), model))
    }

    /// What a session is judged by. `roots` are the session's own further roots, such as its spill folder.
    pub fn policy(&self, workspace: RealPath, roots: Vec<String>, grants: Vec<Grant>) -> Policy {
        let mut policy = Policy::new(self.mode.as_ref().map_or(Mode::Default, |mode| mode.value), workspace);
        policy.rules.clone_from(&self.rules);
        policy.grants = grants;
        policy.dangerous = self.dangerous.iter().map(|set| set.value.clone()).collect();
        let values = |list: &[Setting<String>]| list.iter().map(|set| set.value.clone()).collect();
        policy.protected_branches = values(&self.protected_branches);
        policy.taint = self.taint.action.as_ref().map_or(Taint::default(), |set| set.value);
        policy.private = values(&self.taint.private);
        policy.untrusted = values(&self.taint.untrusted);
        policy.roots = roots;
        policy.roots.extend(self.extra_roots.iter().map(|set| set.value.absolute.clone()));
        policy
    }
}

/// Adds a list to a stronger scope's, unless that one is an administrator's.
fn add<T>(
    strong: &mut Vec<Setting<T>>,
    mut weak: Vec<Setting<T>>,
    is_fixed: bool,
    problems: &mut Vec<Problem>,
) {
    if !is_fixed {
        strong.append(&mut weak);
        return;
    }
    problems.extend(weak.into_iter().take(1).map(|first| Problem {
        source: first.origin.scope.name().to_owned(),
        path: Some(first.origin.path),
        line: Some(first.origin.line),
        text: "this list is ignored, since the managed settings fix it".to_owned(),
        fix: "remove it, or ask your administrator to add what you need".to_owned(),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_policy::Action;

    fn merged(texts: &[(Scope, &str)]) -> Settings {
        let sources: Vec<_> =
            texts.iter().map(|(scope, text)| SettingsSource::new(*scope, scope.name(), *text)).collect();
        Settings::load(&sources, &Place { workspace: "/w".into(), home: None, trusted: true })
    }

    #[test]
    fn the_strongest_scope_holds_for_single_values() {
        let order = [Scope::User, Scope::Workspace, Scope::Local, Scope::Flags, Scope::Managed];
        let modes = ["plan", "ask", "auto", "yolo", "full"];
        let texts: Vec<String> = modes.iter().map(|mode| format!("[permissions]\nmode = '{mode}'")).collect();
        for count in 1..=order.len() {
            let given: Vec<_> =
                order.iter().copied().zip(texts.iter().map(String::as_str)).take(count).collect();
            let settings = merged(&given);
            let mode = settings.mode.unwrap();
            assert_eq!((mode.value.name(), mode.origin.scope), (modes[count - 1], order[count - 1]));
        }
    }

    #[test]
    fn rules_of_all_scopes_add_up() {
        let settings = merged(&[
            (Scope::User, "[permissions]\nallow = ['bash']\ndangerous = ['a']"),
            (Scope::Managed, "[permissions]\ndeny = ['bash(rm *)']\ndangerous = ['b']"),
        ]);
        let found: Vec<_> =
            settings.rules.iter().map(|rule| (rule.action, rule.source.clone().unwrap())).collect();
        assert_eq!(found, [(Action::Deny, "managed:2".to_owned()), (Action::Allow, "user:2".to_owned())]);
        assert_eq!(settings.dangerous.len(), 2);
        let policy = settings.policy(RealPath::new("/w", ""), vec!["/spill".to_owned()], Vec::new());
        assert_eq!((policy.rules.len(), policy.roots), (2, vec!["/spill".to_owned()]));
    }

    #[test]
    fn a_tools_permission_is_the_strictest_and_managed_switches_stay() {
        let settings = merged(&[
            (Scope::Managed, "[tools.bash]\nenabled = false\npermission = 'confirm'"),
            (Scope::User, "[tools.bash]\nenabled = true\npermission = 'deny'\ntimeoutMs = 9"),
        ]);
        let bash = &settings.tools["bash"];
        assert!(bash.is_off());
        assert_eq!(bash.permission.as_ref().unwrap().origin.scope, Scope::User);
        assert_eq!(bash.timeout_ms.as_ref().unwrap().value, 9);
        assert_eq!(settings.tool_set().exclude, ["bash"]);
        assert_eq!(settings.tool_set().include, ["*"]);
    }

    #[test]
    fn lists_add_up_except_to_the_administrators() {
        let user = "[environment]\npass = ['A']\n[roots]\nextra = ['/a']";
        let settings = merged(&[(Scope::User, user), (Scope::Workspace, "[environment]\npass = ['B']")]);
        let names: Vec<_> = settings.pass_env.iter().map(|set| set.value.as_str()).collect();
        assert_eq!(names, ["B", "A"]);
        let fixed = merged(&[(Scope::User, user), (Scope::Managed, "[environment]\npass = ['C']")]);
        assert_eq!((fixed.pass_env.len(), fixed.extra_roots.len()), (1, 1));
        assert_eq!(
            fixed.problems[0].to_string().lines().next(),
            Some("user:2: this list is ignored, since the managed settings fix it")
        );
    }

    #[test]
    fn a_model_is_taken_whole_from_the_strongest_scope() {
        let settings = merged(&[
            (Scope::User, "[models.m]\napiKeyEnv = 'KEY'\nbaseUrl = 'https://own'"),
            (Scope::Workspace, "[models.m]\nbaseUrl = 'http://other'"),
        ]);
        let (name, model) = settings.default_model().unwrap();
        assert_eq!((name, &model.api_key, model.base_url.as_deref()), ("m", &None, Some("http://other")));
        assert!(Settings::default().default_model().is_none());
    }
}
