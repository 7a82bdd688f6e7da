//! The sandbox of one tool: what its manifest or the settings say of it, and what becomes of that for one call.
//!
//! For tools that are programs of somebody else's: those of command folders, and what else declares one. Servers that
//! are spoken to over standard input are no tools' programs: what keeps them in is set where they are named. Leaves to
//! [`crate::Processes`] what is done about it, and to the gates whether it is asked. Keeps the invariant "what says
//! nothing gets no more than it says it needs".

use crate::{Allowance, Effects, Reach, RealPath, Spec, Touch};
use serde::{Deserialize, Serialize};

/// Whether a tool may change the folders of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceUse {
    /// It reads them.
    Read,
    /// It changes them.
    Write,
}

/// How a tool's sandbox differs from the one that commands run in. What isn't said goes by what the tool declares:
/// see [`Needs`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Written")]
pub struct Profile {
    /// It runs outside the sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub off: bool,
    /// Whether it was the user who said so: then leaving isn't asked. Nothing that is written can set it.
    #[serde(skip)]
    pub by_user: bool,
    /// Whom it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Reach>,
    /// Further folders that it changes: absolute, beneath the home (`~/…`), or beneath the workspace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Whether it changes the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceUse>,
}

/// [`Profile`] as it is written.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "an object")]
struct Written {
    off: bool,
    network: Option<Reach>,
    writable: Vec<String>,
    workspace: Option<WorkspaceUse>,
}

impl TryFrom<Written> for Profile {
    type Error = String;

    fn try_from(Written { off, network, writable, workspace }: Written) -> Result<Self, String> {
        Self { off, by_user: false, network, writable, workspace }.checked()
    }
}

/// Where a profile holds.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The absolute folders that hold the user's work: the workspace first.
    pub roots: &'a [String],
    /// The user's home, absolute.
    pub home: Option<&'a str>,
}

/// What a tool says of itself, by which its sandbox goes where its profile says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// It changes files of the workspace.
    pub writes: bool,
    /// It contacts others.
    pub reaches_out: bool,
    /// The hosts that it stated for this call; where there are some, no other is reached.
    pub hosts: Vec<String>,
}

impl Needs {
    /// What a declaration and the effects of one call come to. One that says nothing at all changes the workspace, as
    /// it is asked about as a whole, and contacts nobody.
    pub fn of(spec: &Spec, effects: &Effects<RealPath>) -> Self {
        let has = |tag: &str| {
            spec.capabilities
                .iter()
                .any(|own| own.strip_prefix(tag).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
        };
        let says_nothing = spec.capabilities.is_empty() && *effects == Effects::Everything;
        let hosts = effects.touches().iter().filter_map(|touch| match touch {
            Touch::Host(host) if Reach::is_host(host) => Some(host.as_ref().to_owned()),
            _ => None,
        });
        Self {
            writes: has("fs.write") || has("shell") || (says_nothing && spec.mutates()),
            reaches_out: has("net.outbound") || has("shell"),
            hosts: hosts.collect(),
        }
    }
}

impl Profile {
    /// The profile of what the user lets run outside.
    pub fn outside() -> Self {
        Self { off: true, by_user: true, ..Self::default() }
    }

    /// Whether nothing is said.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it leaves the sandbox by its own wish, which is asked.
    pub fn asks_to_leave(&self) -> bool {
        self.off && !self.by_user
    }

    /// The same, where it makes sense.
    ///
    /// # Errors
    /// What doesn't, in words.
    pub fn checked(self) -> Result<Self, String> {
        let says_more = self.network.is_some() || !self.writable.is_empty() || self.workspace.is_some();
        if self.off && says_more {
            return Err(
                "outside the sandbox the other keys mean nothing; keep \"off\", or the others".to_owned()
            );
        }
        for folder in &self.writable {
            if folder.split('/').any(|part| part == "..") {
                return Err(format!("\"{folder}\" has \"..\" in it; write where it leads"));
            }
            if folder.split('/').all(|part| ["", ".", "~"].contains(&part)) {
                return Err(format!(
                    "\"{folder}\" is too much; name the folders in it, or \"workspace\": \"write\" for the workspace"
                ));
            }
        }
        Ok(self)
    }

    /// The further folders that it changes, absolute; those beneath a home that isn't known are left out.
    pub fn folders(&self, ground: Ground<'_>) -> Vec<String> {
        let beneath = |root: &str, rest: &str| {
            let parts = rest.split('/').filter(|part| !part.is_empty() && *part != ".");
            parts.fold(root.trim_end_matches('/').to_owned(), |whole, part| format!("{whole}/{part}"))
        };
        let absolute = |folder: &String| match (folder.strip_prefix("~/"), folder.strip_prefix('/')) {
            (Some(rest), _) => ground.home.map(|home| beneath(home, rest)),
            (None, Some(rest)) => Some(beneath("", rest)),
            (None, None) => ground.roots.first().map(|root| beneath(root, folder)),
        };
        self.writable.iter().filter_map(absolute).collect()
    }

    /// What it comes to for one call; what was approved to be written is still to be added. Not for one that is off.
    pub fn allowance(&self, needs: &Needs, ground: Ground<'_>) -> Allowance {
        let writes = self.workspace.map_or(needs.writes, |said| said == WorkspaceUse::Write);
        let network = match &self.network {
            Some(Reach::Hosts(hosts)) => {
                let further = needs.hosts.iter().filter(|host| !hosts.contains(host));
                Some(Reach::Hosts(hosts.iter().chain(further).cloned().collect()))
            }
            Some(said) => Some(said.clone()),
            None if !needs.hosts.is_empty() => Some(Reach::Hosts(needs.hosts.clone())),
            None if needs.reaches_out => None,
            None => Some(Reach::Closed),
        };
        Allowance {
            folders: self.folders(ground),
            closed: if writes { Vec::new() } else { ground.roots.to_vec() },
            network,
            ..Allowance::default()
        }
    }

    /// What it asks for by itself, for people; none where it asks for nothing.
    pub fn asks(&self) -> Option<String> {
        if self.off {
            return (!self.by_user).then(|| "to run outside the sandbox".to_owned());
        }
        let mut all = Vec::new();
        match &self.network {
            Some(Reach::Open) => all.push("to reach any host".to_owned()),
            Some(Reach::Hosts(hosts)) if !hosts.is_empty() => {
                all.push(format!("to reach {}", hosts.join(", ")));
            }
            _ => {}
        }
        let workspace = (self.workspace == Some(WorkspaceUse::Write)).then_some("the workspace");
        let changed: Vec<&str> =
            workspace.into_iter().chain(self.writable.iter().map(String::as_str)).collect();
        if !changed.is_empty() {
            all.push(format!("to change {}", changed.join(", ")));
        }
        (!all.is_empty()).then(|| all.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<Profile, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    fn ground() -> Ground<'static> {
        static ROOTS: std::sync::LazyLock<Vec<String>> =
            std::sync::LazyLock::new(|| ["/w", "/more"].map(str::to_owned).to_vec());
        Ground { roots: &ROOTS, home: Some("/home/u") }
    }

    fn allowed(profile: Value, capabilities: &[&str], effects: &Effects<RealPath>) -> Allowance {
        let spec = Spec::new("x", "d").with_capabilities(capabilities);
        read(profile).unwrap().allowance(&Needs::of(&spec, effects), ground())
    }

    /// Capabilities and effects, whether the workspace can be changed, and whom it reaches.
    type Case<'a> = (&'a [&'a str], &'a Effects<RealPath>, bool, &'a Option<Reach>);

    #[test]
    fn what_is_declared_decides_where_nothing_else_is_said() {
        let none = Effects::none();
        let all = Effects::Everything;
        let host = |host: &str| Effects::Only(vec![Touch::Host(host.into())]);
        let closed = Some(Reach::Closed);
        let named = Some(Reach::Hosts(vec!["a.example".to_owned()]));
        let cases: [Case<'_>; 9] = [
            (&[], &all, true, &closed),
            (&[], &none, false, &closed),
            (&["fs.read"], &all, false, &closed),
            (&["fs.write"], &none, true, &closed),
            (&["fs.write.outside-project"], &none, true, &closed),
            (&["net.outbound"], &all, false, &None),
            (&["net.outbound"], &host("a.example"), false, &named),
            (&[], &host("a.example"), false, &named),
            (&["shell.arbitrary"], &all, true, &None),
        ];
        for (capabilities, effects, writes, network) in cases {
            let allowance = allowed(json!({}), capabilities, effects);
            assert_eq!(allowance.closed.is_empty(), writes, "{capabilities:?} {effects:?}");
            assert_eq!(&allowance.network, network, "{capabilities:?} {effects:?}");
        }
        let spec = Spec::new("x", "d").read_only();
        assert!(!Needs::of(&spec, &all).writes);
    }

    #[test]
    fn what_a_profile_says_holds_over_the_declaration() {
        let said = json!({"network": ["b.example"], "workspace": "read", "writable": ["~/.cache/x", "out/./a", "/opt/y/"]});
        let effects = Effects::Only(vec![Touch::Host("a.example".into()), Touch::Host("https://c/".into())]);
        let allowance = allowed(said, &["fs.write"], &effects);
        assert_eq!(allowance.closed, ["/w", "/more"]);
        assert_eq!(allowance.folders, ["/home/u/.cache/x", "/w/out/a", "/opt/y"]);
        assert_eq!(allowance.network, Some(Reach::Hosts(vec!["b.example".into(), "a.example".into()])));
        let closed = allowed(json!({"network": "closed"}), &["net.outbound"], &effects);
        assert_eq!(closed.network, Some(Reach::Closed));
        let homeless = Ground { home: None, ..ground() };
        assert!(read(json!({"writable": ["~/x"]})).unwrap().folders(homeless).is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (wrong, says) in [
            (json!({"off": true, "network": "open"}), "the other keys mean nothing"),
            (json!({"writable": ["~"]}), "too much"),
            (json!({"writable": ["/"]}), "too much"),
            (json!({"writable": ["./"]}), "too much"),
            (json!({"writable": ["/./"]}), "too much"),
            (json!({"writable": ["a/../b"]}), "where it leads"),
            (json!({"networks": []}), "unknown field `networks`"),
            (json!({"network": ["a/b"]}), "is no host"),
            (json!({"workspace": "all"}), "unknown variant `all`"),
            (json!({"byUser": true}), "unknown field"),
        ] {
            let error = read(wrong.clone()).unwrap_err();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_it_asks_for_is_told_and_what_it_gives_up_is_not() {
        for (profile, asks) in [
            (json!({}), None),
            (json!({"network": "closed", "workspace": "read"}), None),
            (json!({"off": true}), Some("to run outside the sandbox")),
            (json!({"network": "open"}), Some("to reach any host")),
            (
                json!({"network": ["a.b", "*.c"], "writable": ["~/x"], "workspace": "write"}),
                Some("to reach a.b, *.c and to change the workspace, ~/x"),
            ),
        ] {
            let profile = read(profile).unwrap();
            assert_eq!(profile.asks().as_deref(), asks, "{profile:?}");
            let again: Profile = read(serde_json::to_value(&profile).unwrap()).unwrap();
            assert_eq!(again, profile);
        }
        assert!(Profile::outside().asks().is_none() && !Profile::outside().asks_to_leave());
    }
}
