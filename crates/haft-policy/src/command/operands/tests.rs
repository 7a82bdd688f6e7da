//! What the words of whole lines are found to be.

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
