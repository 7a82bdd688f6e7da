//! `[tools.NAME]`: how one tool is offered and bounded here.

use super::{Setting, section::Section};
use haft_core::{Credential, Exposure, Permission};
use serde::Serialize;
use std::collections::BTreeMap;

const KEYS: [&str; 5] = ["exposure", "permission", "enabled", "timeoutMs", "env"];
/// The keys of `[tools.fetch]` besides.
const FETCH_KEYS: [&str; 7] =
    ["exposure", "permission", "enabled", "timeoutMs", "env", "allowPrivate", "headers"];

/// The keys of `[tools.exec]` besides.
const EXEC_KEYS: [&str; 6] = ["exposure", "permission", "enabled", "timeoutMs", "env", "programs"];

/// The settings of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSetting {
    /// How it is offered.
    pub exposure: Option<Setting<Exposure>>,
    /// How it is allowed at least; see [`ToolSetting::tighten`].
    pub permission: Option<Setting<Permission>>,
    /// Whether it is offered at all.
    pub enabled: Option<Setting<bool>>,
    /// Hard cap for one call in milliseconds.
    pub timeout_ms: Option<Setting<u64>>,
    /// Variables that its processes get, and no other tool's, each with where its value is.
    pub env: BTreeMap<String, Setting<Credential>>,
    /// Of `fetch`: `host:port` of hosts that may be contacted though they aren't public.
    pub allow_private: Vec<Setting<String>>,
    /// Of `fetch`: headers by host.
    pub headers: Vec<HeaderSetting>,
    /// Of `exec`: programs that it may run.
    pub programs: Vec<Setting<String>>,
}

/// A header that is sent to one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeaderSetting {
    /// The host.
    pub host: String,
    /// The header's name.
    pub name: String,
    /// Where its value is.
    pub value: Credential,
}

impl ToolSetting {
    /// The stricter of what the tool declares and what is set here.
    pub fn tighten(&self, declared: Permission) -> Permission {
        self.permission.as_ref().map_or(declared, |set| set.value.max(declared))
    }

    /// Whether it is switched off.
    pub fn is_off(&self) -> bool {
        self.enabled.as_ref().is_some_and(|enabled| !enabled.value)
    }

    /// Reads one table. What can only tighten counts from anywhere.
    pub(super) fn read(section: &Section<'_>, name: &str) -> Self {
        let is_fetch = name == "fetch";
        let is_exec = name == "exec";
        section.only(if is_fetch {
            &FETCH_KEYS
        } else if is_exec {
            &EXEC_KEYS
        } else {
            &KEYS
        });
        let document = section.document;
        let permission = section.word::<Permission>("permission").filter(|set| {
            let tightens = set.value > Permission::Auto;
            if !tightens {
                let text = format!("\"{}\" can't loosen what a tool declares", section.full("permission"));
                document.problem(set.origin.line, text, "write an allow rule under [permissions]");
            }
            tightens
        });
        let off = section.flag("enabled").filter(|enabled| !enabled.value || section.counts("enabled"));
        Self {
            permission,
            enabled: off,
            exposure: section.counts("exposure").then(|| section.word("exposure")).flatten(),
            timeout_ms: section.counts("timeoutMs").then(|| section.number("timeoutMs")).flatten(),
            env: if section.counts("env") {
                section.section("env").map(|env| env.credentials()).unwrap_or_default()
            } else {
                BTreeMap::new()
            },
            allow_private: if is_fetch && section.counts("allowPrivate") {
                section.texts("allowPrivate").items
            } else {
                Vec::new()
            },
            programs: if is_exec && section.counts("programs") {
                section.texts("programs").items
            } else {
                Vec::new()
            },
            headers: if is_fetch && section.counts("headers") { headers(section) } else { Vec::new() },
        }
    }

    /// Adds what a weaker scope says; of two permissions the stricter holds.
    pub(super) fn add_weaker(&mut self, weaker: Self) {
        self.exposure = self.exposure.take().or(weaker.exposure);
        self.enabled = self.enabled.take().or(weaker.enabled);
        self.timeout_ms = self.timeout_ms.take().or(weaker.timeout_ms);
        for (name, credential) in weaker.env {
            self.env.entry(name).or_insert(credential);
        }
        self.allow_private.extend(weaker.allow_private);
        self.headers.extend(weaker.headers);
        self.programs.extend(weaker.programs);
        self.permission = match (self.permission.take(), weaker.permission) {
            (Some(own), Some(other)) if other.value > own.value => Some(other),
            (own, other) => own.or(other),
        };
    }
}

/// `headers = [{ host = "…", name = "…", value = "secret:…" }]`; what lacks a part is reported and left out.
fn headers(section: &Section<'_>) -> Vec<HeaderSetting> {
    let mut all = Vec::new();
    for (origin, table) in section.tables("headers") {
        let Some(table) = table else { continue };
        table.only(&["host", "name", "value", "valueEnv"]);
        let part = |key| table.text(key).map(|set| set.value);
        let value = table.credential("value", "valueEnv");
        if let (Some(host), Some(name), Some(value)) = (part("host"), part("name"), value) {
            all.push(HeaderSetting { host, name, value });
        } else {
            let fix =
                "write { host = \"api.example.com\", name = \"Authorization\", value = \"secret:NAME\" }";
            section.document.problem(origin.line, "a header needs host, name and value", fix);
        }
    }
    all
}
