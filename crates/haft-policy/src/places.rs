//! Two lists of paths that matter wherever they lie: those that make programs run something when they are
//! written, and those that hold secrets.
//!
//! gitignore syntax over absolute paths, case ignored (some file systems do).

use haft_core::Kept;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::sync::LazyLock;

/// What runs code, opens doors or steers tools once it is changed.
static PROTECTED: [&str; 92] = [
    // Version control: hooks and settings that run programs.
    ".git",
    ".hg",
    ".svn",
    ".gitconfig",
    ".gitmodules",
    ".githooks",
    ".husky",
    ".lefthook*",
    "lefthook.y*ml",
    ".pre-commit-config.y*ml",
    "**/.config/git/**",
    // Shells and logins.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".envrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".pam_environment",
    "**/.config/fish/**",
    "**/.config/autostart/**",
    "**/.config/systemd/**",
    "**/.config/environment.d/**",
    "**/Library/LaunchAgents/**",
    "**/.local/bin/**",
    // Keys and logins of other machines.
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    ".git-credentials",
    "**/.config/gcloud/**",
    "**/.config/gh/**",
    // Package managers: registries, credentials, programs to run.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    "pip.conf",
    "**/.cargo/config",
    "**/.cargo/config.toml",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/.gem/credentials",
    "**/.bundle/config",
    "**/.m2/settings.xml",
    "**/.gradle/**",
    "**/.docker/config.json",
    "**/.composer/auth.json",
    // Editors.
    ".vscode",
    ".idea",
    ".zed",
    ".exrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".vim",
    ".emacs",
    ".emacs.d",
    ".dir-locals.el",
    "**/.config/nvim/**",
    // Tools for models, and their folders of tools.
    ".haft",
    ".pequenin",
    ".claude",
    ".claude.json",
    ".cursor",
    ".codex",
    ".gemini",
    ".opencode",
    ".windsurf",
    ".continue",
    ".mcp.json",
    "**/.config/opencode/**",
    // What a build server runs.
    "**/.github/workflows",
    "**/.github/actions",
    ".gitlab-ci.yml",
    ".circleci",
    "Jenkinsfile",
    "azure-pipelines.yml",
];

/// Secrets: keys, tokens, saved logins. A later line with `!` takes names out again.
static SENSITIVE: [&str; 72] = [
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    "!.env.dist",
    ".envrc",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.ppk",
    "*.kdbx",
    "*.key",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "**/.ssh/*",
    "!**/.ssh/*.pub",
    "!**/.ssh/known_hosts",
    "!**/.ssh/config",
    "**/.gnupg/**",
    "**/.aws/**",
    "**/.azure/**",
    "**/.config/gcloud/**",
    "**/.config/gh/**",
    "**/.config/hub",
    "**/.kube/**",
    "**/.docker/config.json",
    "**/.oci/**",
    "**/.terraform.d/credentials.tfrc.json",
    "terraform.tfstate",
    "terraform.tfstate.*",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".vault-token",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/.gem/credentials",
    "**/.m2/settings.xml",
    "**/.m2/settings-security.xml",
    "**/.gradle/gradle.properties",
    "**/.composer/auth.json",
    "**/.password-store/**",
    "**/.local/share/keyrings/**",
    "**/Library/Keychains/**",
    "**/.mozilla/**",
    "**/.thunderbird/**",
    "**/.config/google-chrome/**",
    "**/.config/chromium/**",
    "**/.config/BraveSoftware/**",
    "**/.config/microsoft-edge/**",
    "**/Library/Application Support/Google/Chrome/**",
    "**/Library/Application Support/Firefox/**",
    "**/.bash_history",
    "**/.zsh_history",
    "credentials.json",
    ".claude.json",
    "/etc/shadow",
    "/etc/sudoers",
    "/proc/*/environ",
];

/// Protected folders of a workspace that a sandbox keeps from being made, too: what lies in them is run or obeyed by
/// git, by editors and by tools for models as soon as it is there.
const KEPT_ABSENT: [&str; 9] =
    [".git/hooks", ".git/config", ".haft", ".vscode", ".idea", ".claude", ".cursor", ".codex", ".gemini"];

/// What a sandbox keeps as it is in a writable folder: protected paths of its own. Those in deeper folders and those
/// that a pattern names aren't among them, and of `.git` only what makes programs run.
pub fn kept_in(root: &str) -> Vec<Kept> {
    // In a workspace `.gradle` is what builds write.
    let is_plain = |line: &&str| {
        !line.contains('*') && ![".git", ".gradle"].contains(line) && !KEPT_ABSENT.contains(line)
    };
    let named = PROTECTED.iter().map(|line| line.strip_prefix("**/").unwrap_or(line).trim_end_matches("/**"));
    let at = |name: &str| format!("{}/{name}", root.trim_end_matches('/'));
    let absent = KEPT_ABSENT.iter().map(|name| Kept { path: at(name), even_absent: true });
    absent.chain(named.filter(is_plain).map(|name| Kept { path: at(name), even_absent: false })).collect()
}

/// What makes programs run as soon as a tool of the user's is started in a folder of work, and isn't kept while it isn't
/// there: what a command makes under these names is set aside when it has ended. What is run only elsewhere, as what a
/// build server reads, isn't among them.
pub fn watched_in(root: &str) -> Vec<String> {
    const WATCHED: [&str; 13] = [
        ".mcp.json",
        ".claude.json",
        ".pequenin",
        ".opencode",
        ".windsurf",
        ".continue",
        ".zed",
        ".envrc",
        ".exrc",
        ".vimrc",
        ".nvimrc",
        ".nvim.lua",
        ".dir-locals.el",
    ];
    WATCHED.iter().map(|name| format!("{}/{name}", root.trim_end_matches('/'))).collect()
}

/// What a sandbox hides in the user's home: the sensitive paths that are named without a pattern.
pub fn hidden_in(home: &str) -> Vec<String> {
    let named = SENSITIVE.iter().map(|line| {
        let name = line.strip_prefix("**/").unwrap_or(line);
        name.strip_suffix("/**").or_else(|| name.strip_suffix("/*")).unwrap_or(name)
    });
    let places = named.filter(|name| !name.starts_with(['!', '/']) && !name.contains('*'));
    let mut hidden: Vec<String> =
        places.map(|name| format!("{}/{name}", home.trim_end_matches('/'))).collect();
    hidden.sort();
    hidden.dedup();
    hidden
}

static PROTECTED_RULES: LazyLock<Gitignore> = LazyLock::new(|| rules(&PROTECTED));
static SENSITIVE_RULES: LazyLock<Gitignore> = LazyLock::new(|| rules(&SENSITIVE));

/// Whether writing there can make something run, or change who may do what.
pub(crate) fn is_protected(path: &str) -> bool {
    covers(&PROTECTED_RULES, path)
}

/// Whether a tree written there can hold protected paths by where it stands: its end is the beginning of a pattern of
/// several names.
pub(crate) fn may_hold_protected(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let patterns = PROTECTED.iter().filter_map(|line| line.strip_prefix("**/"));
    let mut folders =
        patterns.flat_map(|pattern| pattern.match_indices('/').filter_map(|(end, _)| pattern.get(..end)));
    folders.any(|folder| {
        let rest = path.strip_suffix(&folder.to_ascii_lowercase());
        rest.is_some_and(|rest| rest.ends_with('/'))
    })
}

/// Whether secrets stand there.
pub(crate) fn is_sensitive(path: &str) -> bool {
    covers(&SENSITIVE_RULES, path)
}

fn rules(lines: &[&str]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    // Every line is well formed, as the tests say; one that weren't would leave the others standing.
    let _ = builder.case_insensitive(true);
    for line in lines {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn covers(rules: &Gitignore, path: &str) -> bool {
    let rest = path.trim_start_matches('/');
    if rest.is_empty() {
        return false;
    }
    let matched = rules.matched(rest, false);
    if matched.is_whitelist() {
        return false;
    }
    let mut ancestors = rest.match_indices('/').filter_map(|(end, _)| rest.get(..end));
    matched.is_ignore() || ancestors.any(|ancestor| rules.matched(ancestor, true).is_ignore())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_pattern() {
        for line in PROTECTED.iter().chain(&SENSITIVE) {
            let mut builder = GitignoreBuilder::new("");
            builder.add_line(None, line).unwrap();
            assert_eq!(builder.build().unwrap().len(), 1, "{line}");
        }
    }

    #[test]
    fn what_is_protected() {
        let yes = [
            "/w/.git/hooks/pre-commit",
            "/w/.git/config",
            "/w/.git",
            "/w/sub/.git/config",
            "/w/.GIT/hooks/x",
            "/home/u/.bashrc",
            "/home/u/.ssh/authorized_keys",
            "/w/.npmrc",
            "/w/.vscode/settings.json",
            "/w/.haft/config.toml",
            "/w/.haft/tools/x/tool.json",
            "/w/.github/workflows/ci.yml",
            "/w/.github/workflows",
            "/w/.claude/settings.json",
            "/w/.mcp.json",
            "/home/u/.config/fish/config.fish",
            "/w/.cargo/config.toml",
            "/w/.husky/pre-commit",
        ];
        let no =
            ["/w/src/main.rs", "/w/.github/CODEOWNERS", "/w/.gitignore", "/w/git", "/w/config.toml", "/"];
        for path in yes {
            assert!(is_protected(path), "{path}");
        }
        for path in no {
            assert!(!is_protected(path), "{path}");
        }
    }

    #[test]
    fn what_a_sandbox_keeps_and_hides() {
        let kept = kept_in("/w/");
        let find = |path: &str| kept.iter().find(|kept| kept.path == path).map(|kept| kept.even_absent);
        assert_eq!(find("/w/.git/hooks"), Some(true));
        assert_eq!(find("/w/.haft"), Some(true));
        assert_eq!(find("/w/.github/workflows"), Some(false));
        assert_eq!(find("/w/.envrc"), Some(false));
        assert_eq!(find("/w/.git"), None);
        assert!(kept.iter().all(|kept| is_protected(&format!("{}/x", kept.path))), "{kept:?}");
        let mut paths: Vec<&str> = kept.iter().map(|kept| kept.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), kept.len());
        let hidden = hidden_in("/home/u/");
        for name in [
            ".ssh",
            ".aws",
            ".kube",
            ".netrc",
            ".config/gh",
            ".mozilla",
            ".claude.json",
            ".docker/config.json",
        ] {
            assert!(hidden.contains(&format!("/home/u/{name}")), "{name}");
        }
        assert!(
            hidden.iter().all(|path| path.starts_with("/home/u/") && !path.contains(['*', '!'])),
            "{hidden:?}"
        );
    }

    #[test]
    fn what_may_hold_protected_paths() {
        for path in ["/w/.cargo", "/w/.github", "/w/x/.config", "/w/.CARGO", "/w/.config/git"] {
            assert!(may_hold_protected(path), "{path}");
        }
        for path in ["/w/cargo", "/w/x.cargo", "/w/src", "/w", "/w/.cargo/registry"] {
            assert!(!may_hold_protected(path), "{path}");
        }
    }

    #[test]
    fn what_is_sensitive() {
        let yes = [
            "/w/.env",
            "/w/.env.local",
            "/w/app/.env.production",
            "/home/u/.ssh/id_ed25519",
            "/home/u/.ssh/deploy",
            "/home/u/.aws/credentials",
            "/w/tls/server.key",
            "/proc/1/environ",
            "/etc/shadow",
            "/home/u/.mozilla/firefox/x/logins.json",
        ];
        let no = [
            "/w/.env.example",
            "/home/u/.ssh/id_ed25519.pub",
            "/home/u/.ssh/known_hosts",
            "/w/src/env.rs",
            "/w/keys.rs",
            "/w/etc/shadow",
        ];
        for path in yes {
            assert!(is_sensitive(path), "{path}");
        }
        for path in no {
            assert!(!is_sensitive(path), "{path}");
        }
    }
}
