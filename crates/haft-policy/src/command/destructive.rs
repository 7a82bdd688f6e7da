//! What can't be put right again: commands whose risk is asked about whatever rule allows them.

use super::{Simple, Word, git, read_only::is_among};

/// Programs that are destructive whatever they are given.
const ALWAYS: &str = "shred wipefs mkswap blkdiscard pkill killall killall5 skill reboot shutdown halt poweroff userdel \
    deluser groupdel delgroup dropdb dropuser srm fdformat sgdisk fdisk parted sfdisk";

/// Programs with an action that is destructive: the words that have to be there, in that order, options aside.
static ACTIONS: &[(&str, &str)] = &[
    ("docker podman", "system prune"),
    ("docker podman", "volume rm"),
    ("docker podman", "volume prune"),
    ("docker podman", "image prune"),
    ("docker podman", "container prune"),
    ("docker podman", "network rm"),
    ("docker podman", "rmi"),
    ("docker podman", "compose down"),
    ("docker-compose", "down"),
    ("kubectl oc", "delete"),
    ("kubectl oc", "drain"),
    ("helm", "uninstall"),
    ("helm", "delete"),
    ("terraform tofu", "destroy"),
    ("pulumi", "destroy"),
    ("aws", "s3 rb"),
    ("aws", "s3 rm"),
    ("aws", "s3api delete-bucket"),
    ("npm pnpm yarn bun", "publish"),
    ("npm pnpm yarn", "unpublish"),
    ("npm pnpm", "deprecate"),
    ("cargo", "publish"),
    ("cargo", "yank"),
    ("twine", "upload"),
    ("uv poetry flit hatch", "publish"),
    ("gem", "push"),
    ("gem", "yank"),
    ("systemctl", "stop"),
    ("systemctl", "disable"),
    ("systemctl", "mask"),
    ("systemctl", "kill"),
    ("systemctl", "poweroff"),
    ("systemctl", "reboot"),
    ("gh", "repo delete"),
    ("gh", "release delete"),
    ("gcloud az", "delete"),
];

/// What the command would do that can't be put right again.
pub(crate) fn destructive(simple: &Simple) -> Option<String> {
    let program = simple.program()?;
    let words = simple.words.get(1..).unwrap_or_default();
    if program == "git" {
        return git::destructive(simple);
    }
    let has_letter = |letters: &str| words.iter().any(|word| has_letter(word, letters));
    let has_long = |long: &str| words.iter().any(|word| is_abbreviation(word, long));
    let has = |wanted: &str| words.iter().any(|word| is_among(wanted, word.text()));
    let has_glob = words.iter().any(|word| !matches!(word, Word::Exact(_)));
    let what = match program {
        "rm" if has_letter("rRf") || has_long("--recursive") || has_long("--force") || has_glob => {
            "removes files for good"
        }
        "find" if has("-delete") => "removes what it finds",
        "rsync" if words.iter().any(|word| word.text().starts_with("--del")) => "removes files at its target",
        "truncate" => "cuts files off",
        "dd" if words.iter().any(|word| word.text().starts_with("of=")) => "overwrites its target",
        _ if program.starts_with("mkfs") || program.starts_with("newfs") => "makes a file system",
        _ if is_among(ALWAYS, program) => "can't be undone",
        "docker" | "podman" if has("rm") && (has_letter("f") || has_long("--force")) => "removes containers",
        "terraform" | "tofu" if has("apply") && has("-auto-approve --auto-approve") => {
            "changes infrastructure unasked"
        }
        "psql" | "mysql" | "mariadb" | "sqlite3" if drops(words) => "removes data",
        "redis-cli"
            if words.iter().any(|word| is_among("flushall flushdb", &word.text().to_ascii_lowercase())) =>
        {
            "removes data"
        }
        "mongo" | "mongosh" if words.iter().any(|word| word.text().contains("drop")) => "removes data",
        "crontab" if has_letter("r") => "removes the crontab",
        "kill" if has("-1") && words.last().is_some_and(|word| word.text() == "-1") => "ends every process",
        "chmod" | "chown" | "chgrp" if has_letter("R") || has_long("--recursive") => "changes whole trees",
        _ => return action(program, words),
    };
    Some(format!("{program} {what}"))
}

/// By the table of actions.
fn action(program: &str, words: &[Word]) -> Option<String> {
    let plain: Vec<&str> = words.iter().map(Word::text).filter(|text| !text.starts_with('-')).collect();
    let has = |action: &str| {
        let mut rest = plain.iter();
        // The action may stand behind a value of an option.
        action.split(' ').all(|part| rest.any(|word| *word == part))
    };
    let hit = ACTIONS.iter().find(|(programs, action)| is_among(programs, program) && has(action));
    hit.map(|(_, action)| format!("{program} {action} can't be undone"))
}

/// `-rf`: whether one of the letters stands among short options.
fn has_letter(word: &Word, letters: &str) -> bool {
    let short = word.text().strip_prefix('-').filter(|text| !text.starts_with('-'));
    short.is_some_and(|text| text.contains(|c: char| letters.contains(c)))
}

/// `--recurs`: whether the word is the long option or its beginning.
fn is_abbreviation(word: &Word, long: &str) -> bool {
    word.text().len() > 3 && long.starts_with(word.text())
}

/// SQL that takes data away.
fn drops(words: &[Word]) -> bool {
    let verbs = ["DROP ", "DELETE ", "TRUNCATE ", "ALTER "];
    words.iter().any(|word| {
        let text = word.text().to_ascii_uppercase();
        verbs.iter().any(|verb| text.contains(verb))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::typed::typed;

    fn risky(text: &str) -> bool {
        typed(text).line.commands.iter().any(|simple| destructive(simple).is_some())
    }

    #[test]
    fn what_can_not_be_undone_is_told() {
        for text in [
            "rm -r x",
            "rm -f x",
            "rm --recurs x",
            "/bin/rm -rf x",
            "rm *.o",
            "rm $X",
            "sudo rm -rf x",
            "find . -name x -delete",
            "shred x",
            "truncate -s 0 x",
            "dd if=a of=b",
            "mkfs.ext4 /dev/sda1",
            "git reset --hard",
            "docker system prune -af",
            "docker rm -f x",
            "docker volume rm x",
            "kubectl -n x delete pod y",
            "helm uninstall x",
            "terraform destroy",
            "terraform apply -auto-approve",
            "aws s3 rm --recursive s3://x",
            "gcloud compute instances delete x",
            "npm publish",
            "cargo publish",
            "cargo yank x",
            "twine upload x",
            "dropdb x",
            "psql -c 'drop table x'",
            "redis-cli FLUSHALL",
            "systemctl stop x",
            "pkill x",
            "reboot",
            "userdel x",
            "crontab -r",
            "chown -R u x",
            "rsync -a --delete a b",
            "kill -9 -1",
        ] {
            assert!(risky(text), "{text}");
        }
    }

    #[test]
    fn everyday_commands_are_not() {
        for text in [
            "rm x",
            "ls -rf",
            "docker ps",
            "docker run --rm x",
            "kubectl get pods",
            "npm run build",
            "cargo build",
            "kill 12",
            "kill -9 12",
            "chmod +x x",
            "psql -c 'select 1'",
            "git push",
            "systemctl status x",
            "terraform plan",
            "find . -name x",
            "crontab -l",
        ] {
            assert!(!risky(text), "{text}");
        }
    }
}
