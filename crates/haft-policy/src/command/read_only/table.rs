//! The positive list: which programs only read, with which options, each row with lines that fit and lines that
//! don't. How options are written is told in [`grammar`](super::super::grammar).

/// What the words are that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// There may be none.
    None,
    /// Files and folders that are read.
    Paths,
    /// At most one of them: a second would be written.
    OnePath,
    /// Folders of which everything beneath is read.
    Trees,
    /// A pattern or a script first, unless one of these options gives it; then paths.
    Pattern(&'static str),
    /// Words that name no file.
    Words,
    /// A format that begins with `+`.
    Plus,
    /// One of these words each.
    OneOf(&'static str),
}

/// Programs that read, with what they may be given.
#[derive(Debug)]
pub(crate) struct Row {
    /// Their names.
    pub(crate) programs: &'static str,
    /// The words that may follow at once, as `ls` in `npm ls`; empty: none is needed.
    pub(crate) actions: &'static str,
    /// The options that may be given.
    pub(crate) options: &'static str,
    /// What else may be given.
    pub(crate) operands: Operands,
    /// Whether no word at all could make them do more than read, so that unknown words may follow.
    pub(crate) any: bool,
    /// Options that make them read everything beneath their paths.
    pub(crate) deep: &'static str,
    /// Whether they read the folder they stand in where no path is given.
    pub(crate) here: bool,
    /// Whether one of the options has to be there.
    pub(crate) needs: &'static str,
    /// Lines that only read.
    #[cfg_attr(not(test), allow(dead_code, reason = "the examples are checked by a test"))]
    pub(crate) yes: &'static [&'static str],
    /// Lines that may do more.
    #[cfg_attr(not(test), allow(dead_code, reason = "the examples are checked by a test"))]
    pub(crate) no: &'static [&'static str],
}

type Lines = &'static [&'static str];

const fn row(
    programs: &'static str,
    options: &'static str,
    operands: Operands,
    yes: Lines,
    no: Lines,
) -> Row {
    Row { programs, actions: "", options, operands, any: false, deep: "", here: false, needs: "", yes, no }
}

impl Row {
    const fn actions(mut self, actions: &'static str) -> Self {
        self.actions = actions;
        self
    }

    const fn any(mut self) -> Self {
        self.any = true;
        self
    }

    const fn deep(mut self, deep: &'static str) -> Self {
        self.deep = deep;
        self
    }

    const fn here(mut self) -> Self {
        self.here = true;
        self
    }

    const fn needs(mut self, needs: &'static str) -> Self {
        self.needs = needs;
        self
    }

    /// Whether the row is about the program.
    pub(crate) fn is_about(&self, program: &str) -> bool {
        self.programs.split_ascii_whitespace().any(|name| name == program)
    }
}

/// All rows; of one program those with actions stand together.
pub(crate) static ROWS: &[Row] = &[
    // Listing.
    row(
        "ls dir vdir",
        "-aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1 -wTI: --all --almost-all --author --escape --block-size= \
         --ignore-backups --color[=] --directory --classify[=] --file-type --format= --full-time \
         --group-directories-first --no-group --human-readable --si --dereference --dereference-command-line \
         --hide= --hyperlink[=] --indicator-style= --inode --ignore= --kibibytes --literal --numeric-uid-gid \
         --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse --recursive --size \
         --sort= --time= --time-style= --tabsize= --width= --context --zero --help --version",
        Operands::Paths,
        &["ls", "ls -la src", "ls --color=never -R", "ls -1 src -t", "ls *.rs", "/usr/bin/ls -- -x", "ls $X"],
        &["ls --foo", "ls --recurs", "./ls"],
    )
    .any()
    .here()
    .deep("-R --recursive"),
    row(
        "tree",
        "-adfixpsughDFqNQrtUvcJXSnCA -LPIT: --noreport --charset= --filelimit= --si --du --prune \
         --dirsfirst --gitignore --matchdirs --ignore-case --inodes --device --timefmt= --sort= --version --help",
        Operands::Trees,
        &["tree", "tree -L 2 src", "tree -I 'target|node_modules' --dirsfirst"],
        &["tree -o x", "tree -R", "tree --output=x", "tree --fromfile x"],
    )
    .here(),
    row(
        "du",
        "-0aAbcDhHklmPsSx -Bdt: -X:@ --null --all --apparent-size --block-size= --bytes --total --dereference-args \
         --max-depth= --human-readable --inodes --count-links --no-dereference --separate-dirs --si \
         --summarize --threshold= --time[=] --time-style= --one-file-system --exclude= --exclude-from=@ \
         --help --version",
        Operands::Trees,
        &["du -sh .", "du -h --max-depth=1 src", "du -sh *"],
        &["du --foo"],
    )
    .any()
    .here(),
    row(
        "df",
        "-aBhHiklmPTvx -t: --all --block-size= --human-readable --si --inodes --local --portability --total \
         --type= --print-type --exclude-type= --no-sync --output[=] --help --version",
        Operands::Paths,
        &["df -h", "df -hT /"],
        &["df --sync2"],
    )
    .any(),
    row(
        "stat",
        "-LftxnF -cf: --dereference --file-system --format= --printf= --terse --cached= --help --version",
        Operands::Paths,
        &["stat Cargo.toml", "stat -c %s Cargo.toml", "stat --format=%n src"],
        &["stat --foo x"],
    )
    .any(),
    row(
        "file",
        "-bEhiIkLlNnprsSv0 -eFP: -f:@ --brief --exclude= --mime --mime-type --mime-encoding --keep-going \
         --dereference --no-dereference --no-pad --print0 --raw --special-files --extension --files-from=@ --version",
        Operands::Paths,
        &["file target/debug/haft", "file -b --mime-type x.png", "file src/*"],
        &["file -C", "file -m x y", "file -Cm x", "file --compile", "file *"],
    ),
    row(
        "realpath readlink",
        "-eEmLPqszfnv --canonicalize --canonicalize-existing --canonicalize-missing --logical --physical --quiet \
         --relative-to=@ --relative-base=@ --strip --no-symlinks --zero --no-newline --silent --verbose --help \
         --version",
        Operands::Paths,
        &["realpath .", "readlink -f x", "realpath --relative-to=. src"],
        &["realpath --foo"],
    )
    .any(),
    row(
        "basename dirname",
        "-az -s: --multiple --suffix= --zero --help --version",
        Operands::Words,
        &["basename src/main.rs .rs", "dirname $X"],
        &["basename --foo"],
    )
    .any(),
    // Showing files.
    row(
        "cat tac",
        "-AbeEnstTuvr --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs \
         --show-nonprinting --before --regex --separator= --help --version",
        Operands::Paths,
        &["cat x", "cat -n src/lib.rs", "cat", "cat -", "cat \"$f\"", "cat -- -x"],
        &["cat --foo", "bat x"],
    )
    .any(),
    row(
        "head tail",
        "-qvzfFr -nc: -s: -# --bytes= --lines= --quiet --silent --verbose --zero-terminated --follow[=] --retry \
         --pid= --sleep-interval= --max-unchanged-stats= --help --version",
        Operands::Paths,
        &["head -5 x", "head -n 5 x", "tail -n +3 x", "tail -c100 x", "tail -50", "tail -f log"],
        &["head --foo"],
    )
    .any(),
    row(
        "wc",
        "-cmlLw --bytes --chars --lines --max-line-length --words --total= --help --version",
        Operands::Paths,
        &["wc -l", "wc -l src/*.rs", "wc -lw x"],
        &["wc --foo"],
    )
    .any(),
    row("cut", "-ns -bcdf: -z --complement --bytes= --characters= --delimiter= --fields= --only-delimited \
         --output-delimiter= --zero-terminated --help --version", Operands::Paths,
        &["cut -d , -f 1 x", "cut -d: -f1", "cut -c1-20 x", "cut -d/ -f2"], &["cut --foo"]).any(),
    row("tr", "-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version", Operands::Words,
        &["tr -d x", "tr a-z A-Z", "tr -s ' '"], &["tr --del x"]).any(),
    row("paste", "-sz -d: --serial --zero-terminated --delimiters= --help --version", Operands::Paths,
        &["paste -sd, x", "paste a b"], &["paste --foo"]).any(),
    row("nl", "-p -bdfhilnsvw: --body-numbering= --number-width= --number-separator= --help --version",
        Operands::Paths, &["nl -ba x", "nl x"], &["nl --foo"]).any(),
    row("fold fmt", "-bcstu -wpg: --bytes --spaces --width= --help --version", Operands::Paths,
        &["fold -w 80 x", "fold -sw 72", "fmt x"], &["fold --foo"]).any(),
    row("expand unexpand", "-ia -t: --initial --all --first-only --tabs= --help --version", Operands::Paths,
        &["expand -t 4 x"], &["expand --foo"]).any(),
    row("column", "-texJL -sNcoRHTWn: --table --separator= --output-separator= --table-columns= --table-right= --json \
         --help --version", Operands::Paths, &["column -t", "column -ts , x"], &["column --foo"]).any(),
    row("comm", "-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated --help --version",
        Operands::Paths, &["comm -12 a b"], &["comm --foo a b"]).any(),
    row("join", "-iz -12aeotvj: --ignore-case --header --check-order --nocheck-order --zero-terminated --help --version",
        Operands::Paths, &["join -t, -1 2 a b"], &["join --foo a b"]).any(),
    row("rev", "-0 --zero --help --version", Operands::Paths, &["rev", "rev x"], &["rev --foo"]).any(),
    row("nproc factor", "--all --ignore= --exponents --help --version", Operands::Words,
        &["nproc", "nproc --all", "factor 12"], &["nproc --foo"]).any(),
    row(
        "uniq",
        "-cdDiuz -fsw: --count --repeated --all-repeated[=] --skip-fields= --group[=] --ignore-case --skip-chars= \
         --unique --zero-terminated --check-chars= --help --version",
        Operands::OnePath,
        &["uniq -c", "uniq x", "uniq -f 1 x"],
        &["uniq in out", "uniq -- in out", "uniq $X", "uniq x*"],
    ),
    row(
        "sort",
        "-bdfgiMhnRrVcCmsuz -ktSB: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort \
         --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort= \
         --version-sort --batch-size= --check[=] --debug --key= --merge --stable --buffer-size= \
         --field-separator= --parallel= --unique --zero-terminated --help --version",
        Operands::Paths,
        &["sort", "sort -rn x", "sort -k2,2nr -t, x", "sort -u src/list"],
        &[
            "sort -o x y",
            "sort x -o y",
            "sort -nro x",
            "sort -ox",
            "sort --output=x",
            "sort --outp=x",
            "sort -T /x",
            "sort --compress-program=sh x",
            "sort --temporary-directory=x",
            "sort $X",
            "sort *",
        ],
    ),
    // Some take `-o FILE`.
    row("base64 base32", "-di -w: --decode --ignore-garbage --wrap= --help --version", Operands::OnePath,
        &["base64 x", "base64 -d x", "base64 -w0 x"], &["base64 -o x y", "base64 $X"]),
    row("od hexdump hd", "-bcCdDfoisvxX -wAjNSten: --address-radix= --skip-bytes= --read-bytes= --format= \
         --output-duplicates --width[=] --help --version", Operands::Paths,
        &["od -c x", "hexdump -C x", "od -An -tx1 x", "hexdump -n 64 -C x"], &["od --foo"]).any(),
    row(
        "cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum",
        "-bctrswz -al: --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn \
         --length= --algorithm= --help --version",
        Operands::Paths,
        &["sha256sum x", "md5sum -c sums", "cksum x", "shasum -a 256 x"],
        &["sha256sum --foo"],
    )
    .any(),
    row(
        "xxd",
        "-abeEiu -cglos: -n:",
        Operands::OnePath,
        &["xxd x", "xxd -l 64 x"],
        &["xxd -r x", "xxd in out", "xxd -r in out", "xxd -revert x y"],
    ),
    row(
        "strings nm objdump readelf size",
        "-aACdDfghilnprsStTuVwWxX -j: --all --demangle[=] --dynamic --syms --headers --file-headers --wide --bytes= \
         --defined-only --undefined-only --disassemble --section-headers --help --version",
        Operands::Paths,
        &["nm -C target/x", "readelf -h x", "strings x", "objdump -d x"],
        &["objdump --foo x", "strings @x", "nm --plugin x y", "nm --plugin=x y"],
    ),
    // Searching.
    row(
        "grep egrep fgrep",
        "-EFGPVcilLnoqsvwxyHhabrTZuUz -eABCmDd: -f:@ -# --extended-regexp --fixed-strings --basic-regexp \
         --perl-regexp --regexp= --file=@ --ignore-case --no-ignore-case --invert-match --word-regexp \
         --line-regexp --count --color[=] --colour[=] --files-without-match --files-with-matches --max-count= \
         --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= \
         --line-number --initial-tab --null --after-context= --before-context= --context= --text \
         --binary-files= --devices= --directories= --exclude= --exclude-from=@ --exclude-dir= --include= \
         --recursive --line-buffered --null-data --binary --help --version",
        Operands::Pattern("-e -f --regexp --file"),
        &[
            "grep x y",
            "grep -rn x src",
            "grep -E 'a|b' src/*.rs",
            "grep -A3 -B 3 x y",
            "grep -r --include=*.rs x .",
            "grep x $F",
            "grep -v -e a -e b",
            "grep x -r src",
        ],
        &["grep --foo x", "grep --recurs x"],
    )
    .any()
    .deep("-r --recursive"),
    row(
        "rg",
        "-FHINPSUVabchilnopqsuvwx0 -ABCEMTegjmrtd: -f:@ --after-context= --before-context= --context= --color= \
         --colors= --column --no-column --count --count-matches --debug --encoding= --engine= --regexp= --file=@ \
         --files --files-with-matches --files-without-match --fixed-strings --glob= --iglob= --heading \
         --no-heading --help --hidden --no-hidden --ignore-case --ignore-file=@ --invert-match --json \
         --line-number --no-line-number --line-regexp --max-columns= --max-columns-preview --max-count= \
         --max-depth= --max-filesize= --multiline --multiline-dotall --no-config --no-filename --no-ignore \
         --no-ignore-vcs --no-ignore-parent --no-ignore-global --no-messages --null --only-matching \
         --one-file-system --passthru --path-separator= --pcre2 --pretty --quiet --replace= --smart-case --sort= \
         --sortr= --stats --text --threads= --trim --type= --type-not= --type-list --unrestricted --version --vimgrep \
         --with-filename --word-regexp --case-sensitive --crlf --binary --no-binary --no-mmap --mmap --no-require-git",
        Operands::Pattern("-e -f --regexp --file --files --type-list"),
        &["rg x", "rg -n x src", "rg -g '*.rs' x", "rg --files src", "rg -tpy -C3 x", "rg --glob='*.rs' x"],
        &[
            "rg --pre sh x",
            "rg --pre=sh x",
            "rg --pre-glob x y",
            "rg --search-zip x",
            "rg -z x",
            "rg -nz x",
            "rg --hostname-bin=x y",
            "rg x $F",
            "rg x *",
            "rg --files -g *.rs",
        ],
    )
    .here(),
    row(
        "fd fdfind",
        "-HIuFapsig10q -detSEcoj: --hidden --no-ignore --unrestricted --no-ignore-vcs --case-sensitive \
         --ignore-case --glob --regex --fixed-strings --absolute-path --full-path --max-depth= --min-depth= \
         --exact-depth= --exclude= --type= --extension= --size= --changed-within= --changed-before= --color= \
         --max-results= --print0 --threads= --and= --prune --strip-cwd-prefix --quiet --no-require-git \
         --help --version",
        Operands::Pattern(""),
        &["fd", "fd -e rs", "fd -H main src", "fd -t f x src"],
        &["fd -x rm", "fd -X rm", "fd x --exec rm", "fd --exec-batch=rm", "fd -e rs -x wc", "fd -Hx rm", "fd -l"],
    )
    .here(),
    row(
        "locate whereis which",
        "-abcdeilLmMsBSfrw0 -n: --all --limit= --count --ignore-case --skip-alias --skip-functions --skip-dot \
         --show-dot --show-tilde --tty-only --help --version",
        Operands::Words,
        &["which cargo", "which -a python3", "whereis ls"],
        &["which --foo"],
    ),
    // Comparing.
    row(
        "diff",
        "-abBcdeEilnpPqrsTtuwyZN -CUWLIFSDx: -X:@ -# --normal --brief --report-identical-files --context[=] \
         --unified[=] --ed --rcs --side-by-side --width= --left-column --suppress-common-lines --show-c-function \
         --label= --expand-tabs --initial-tab --recursive --no-dereference --new-file --unidirectional-new-file \
         --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space \
         --ignore-blank-lines --ignore-matching-lines= --text --strip-trailing-cr --speed-large-files --color[=] \
         --exclude= --exclude-from=@ --from-file=@ --to-file=@ --minimal --help --version",
        Operands::Paths,
        &["diff a b", "diff -u a b", "diff -rq a b", "diff -U3 a b", "diff -y a b", "diff -r -x target a b"],
        &["diff --foo a b", "diff $X b"],
    )
    .deep("-r --recursive"),
    row("cmp", "-bls -in: --print-bytes --verbose --silent --quiet --bytes= --ignore-initial= --help --version",
        Operands::Paths, &["cmp -s a b"], &["cmp --foo a b"]).any(),
    row("diff3", "-eEAxX3mTaiL", Operands::Paths, &["diff3 a b c"], &["diff3 --diff-program=sh a b c"]),
    row(
        "sdiff",
        "-abBdEilstWZH -wI: --ignore-case --ignore-all-space --suppress-common-lines --left-column --width= --help",
        Operands::Paths,
        &["sdiff -s a b"],
        &["sdiff -o x a b", "sdiff --output=x a b", "sdiff --diff-program=sh a b"],
    ),
    row(
        "jq",
        "-nrRsScCMaej --null-input --raw-input --slurp --compact-output --raw-output --raw-output0 \
         --join-output --ascii-output --sort-keys --color-output --monochrome-output --tab --indent= --stream \
         --exit-status --unbuffered --seq --help --version",
        Operands::Pattern(""),
        &["jq . x.json", "jq -r .name package.json", "jq '.a | length' x", "jq"],
        &["jq -i . x", "jq --rawfile a b . c", "jq --arg a b .a", "jq $X x"],
    ),
    row(
        "yq",
        "-erPMCjN -poI: --output-format= --input-format= --prettyPrint --no-colors --exit-status --version",
        Operands::Pattern(""),
        &["yq .a x.yml", "yq -r .a x.yml"],
        &["yq -i .a=1 x.yml", "yq --inplace .a x", "yq -ri .a x", "yq -s .a x", "yq 'load(\"x\")' y", "yq eval .a x"],
    ),
    // Archives, only looked into.
    row(
        "tar bsdtar",
        "-atvzjJO -f:@ --list --verbose --gzip --bzip2 --xz --file=@ --auto-compress",
        Operands::Words,
        &["tar -tf x.tar", "tar tzf x.tgz", "tar -tzvf x.tgz", "tar --list --file=x.tar"],
        &[
            "tar xf x.tar",
            "tar -xf x.tar",
            "tar -cf x.tar .",
            "tar -tf x --to-command=sh",
            "tar -tf x -I sh",
            "tar -tf x --use-compress-program=sh",
            "tar -tf x --checkpoint=1 --checkpoint-action=exec=sh",
            "tar -tf host:x",
            "tar -vf x",
        ],
    )
    .needs("-t --list"),
    row(
        "unzip",
        "-lvZ1q",
        Operands::OnePath,
        &["unzip -l x.zip", "unzip -lv x.zip"],
        &["unzip x.zip", "unzip -l x.zip -d y", "unzip -q x.zip"],
    )
    .needs("-l -v -Z"),
    row("zipinfo", "-12smlvhtTz", Operands::OnePath, &["zipinfo -1 x.zip"], &["zipinfo --foo x"]),
    row("zcat xzcat bzcat", "-fq", Operands::Paths, &["zcat x.gz"], &["zcat --foo x"]),
    row(
        "gzip gunzip xz unxz bzip2 bunzip2",
        "-lvq --list --verbose --quiet",
        Operands::Paths,
        &["gzip -l x.gz", "xz -lv x.xz"],
        &["gzip x", "gzip -ld x", "gunzip -v x"],
    )
    .needs("-l --list"),
    row(
        "gzip gunzip xz unxz bzip2 bunzip2",
        "-vcdkq --verbose --stdout --to-stdout --decompress --uncompress --keep --quiet",
        Operands::Paths,
        &["gunzip -c x.gz", "gzip -dc x.gz"],
        &["gzip x", "gunzip x.gz", "gzip -d x.gz", "zstd x", "xz -dk x", "xz -lc x"],
    )
    .needs("-c --stdout --to-stdout"),
    // Of the shell.
    row("pwd", "-LP", Operands::None, &["pwd", "pwd -P"], &["pwd --foo"]).any(),
    row("cd", "-LPe", Operands::OnePath, &["cd", "cd src", "cd -", "cd .."], &["cd --foo", "cd $X"]),
    row("true false :", "", Operands::Words, &["true", "true $X"], &[]).any(),
    row("echo", "", Operands::Words, &["echo", "echo -n hi", "echo $X *", "echo --foo -- x"], &[]).any(),
    row("sleep", "", Operands::Words, &["sleep 1"], &["sleep --foo"]).any(),
    row("type", "-afptP", Operands::Words, &["type ls", "type -a ls"], &["type --foo"]),
    row("seq expr numfmt", "-w -fs: --equal-width --format= --separator= --to= --from= --field= --suffix= \
         --padding= --help --version", Operands::Words, &["seq 1 10", "seq -w 3", "expr 1 + 2"], &["seq --foo 1"]),
    // The machine and its people.
    row(
        "date",
        "-uR -I? -d: -r:@ --date= --utc --universal --iso-8601[=] --rfc-3339= --rfc-email --reference=@ --help --version",
        Operands::Plus,
        &["date", "date -u", "date +%s", "date -d yesterday +%F", "date -Iseconds", "date -u +%Y-%m-%dT%H:%M:%SZ"],
        &["date -s x", "date --set=x", "date 010101012020", "date -us x", "date $X", "date -f x"],
    ),
    row("cal ncal", "-13yjmsb -ABn:", Operands::Words, &["cal", "cal 2026"], &["cal --foo"]),
    row(
        "uname arch uptime whoami groups tty",
        "-amnrspiovV --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor \
         --operating-system --pretty --since --help --version",
        Operands::Words,
        &["uname -a", "uptime", "whoami", "groups"],
        &["uname --foo"],
    )
    .any(),
    row("id", "-agGnruzZ --group --groups --name --real --user --zero --help --version", Operands::Words,
        &["id", "id -u", "id root"], &["id --foo"]).any(),
    row("hostname", "-aAdfiIsy --all-ip-addresses --fqdn --long --short --ip-address --version", Operands::None,
        &["hostname", "hostname -f"], &["hostname x", "hostname -F x", "hostname -b", "hostname $X"]),
    row("who w users", "-abdHlmpqrsTtuwhfino --all --boot --count --heading --short --no-header --help \
         --version", Operands::Words, &["who", "w -h"], &["who --foo"]),
    row(
        "lscpu lsblk lsmod lsusb lspci free vmstat",
        "-abBcdDefhHiJklmnNoOpPrsStTvVwx --all --json --human --list --bytes --mega --giga --total --wide --si --help \
         --version",
        Operands::Words,
        &["lscpu", "lsblk -f", "free -h"],
        &["lsblk --foo"],
    ),
    row("lsof", "-nPtalOUwR -i? -pucdg:", Operands::Words, &["lsof -i :3000", "lsof -nP -iTCP:80", "lsof -p 1"],
        &["lsof -D b"]),
    row(
        "ps pgrep pidof",
        "-aAdefFHjlLmMNrTwxycnovz -CGgopqstuUPkOD: --pid= --ppid= --user= --sort= --format= --forest --headers --no-headers \
         --full --list-name --list-full --newest --oldest --exact --count --help --version",
        Operands::Words,
        &["ps aux", "ps -ef", "ps -o pid,args -p 12", "pgrep -f server", "pgrep -af node", "pidof haft"],
        &["ps --foo", "pkill x"],
    ),
    row("ss netstat", "-aAnltupxwmoeiprsH460 --listening --tcp --udp --numeric --processes --all --help --version",
        Operands::Words, &["ss -tlnp", "netstat -tulpn"], &["ss -K", "ss --kill", "ss -tK", "ss -D x"]),
    row("ip", "", Operands::OneOf("show list ls get dev eth0 lo wlan0 default"),
        &["ip addr", "ip a", "ip addr show", "ip route", "ip link show dev lo"],
        &["ip link set eth0 down", "ip addr add x dev y", "ip netns exec x sh", "ip -batch x", "ip"])
        .actions("addr address a link l route r neigh n rule"),
    row("ifconfig", "-a", Operands::None, &["ifconfig", "ifconfig -a"], &["ifconfig eth0 down"]),
    row("crontab", "-l", Operands::None, &["crontab -l"], &["crontab", "crontab -r", "crontab x", "crontab -e"])
        .needs("-l"),
    row("systemctl", "-al -pnt: --no-pager --all --full --lines= --type= --state= --property= --user --plain \
         --no-legend", Operands::Words,
        &["systemctl status nginx --no-pager", "systemctl is-active nginx --no-pager"],
        &["systemctl status nginx", "systemctl stop nginx --no-pager", "systemctl --no-pager edit x",
          "systemctl status -H host x --no-pager"])
        .actions("status is-active is-enabled is-failed list-units list-unit-files list-timers show cat")
        .needs("--no-pager"),
    // Packages, as far as they are installed.
    row("dpkg", "-lLsS --list --listfiles --status --search --version", Operands::Words,
        &["dpkg -l", "dpkg -L bash", "dpkg -S x"], &["dpkg -i x.deb", "dpkg", "dpkg -r x", "dpkg --purge x"])
        .needs("-l -L -s -S --list --listfiles --status --search --version"),
    row("apt apt-cache", "-a --installed --upgradable --all-versions", Operands::Words,
        &["apt list --installed", "apt show bash", "apt-cache policy bash"],
        &["apt install x", "apt -o x show y", "apt show -o x", "apt-get update"])
        .actions("list show policy search depends rdepends"),
    row("rpm", "-qailfcdR --query --all --info --list --file", Operands::Words,
        &["rpm -qa", "rpm -ql bash"], &["rpm -i x", "rpm -e x", "rpm -qa --pipe sh", "rpm -a"])
        .needs("-q --query"),
    row("pip pip3", "-v --format= --local --user --not-required --files --version", Operands::Words,
        &["pip list", "pip show x", "pip freeze"],
        &["pip install x", "pip list --outdated", "pip download x", "pip list --log x"])
        .actions("list show freeze"),
    row("npm", "-agl --all --depth= --global --json --long --parseable --prod --dev", Operands::Words,
        &["npm ls", "npm ls --depth=0", "npm list -g"],
        &["npm install", "npm view x", "npm run x", "npm ls --script-shell=x", "npm ls --prefix x"])
        .actions("ls list"),
    row("cargo", "", Operands::None, &["cargo --version", "cargo -V"], &["cargo --version build", "cargo build"])
        .actions("--version -V --list"),
    // Not those that hand over to a version which the workspace chooses (yarn, pnpm) or load its plugins (pytest).
    row("rustc node npm bun deno python python3 pip pip3 ruby perl php gcc g++ cc clang clang++ make cmake docker uv \
         ruff black mypy rustup rustfmt tsc eslint prettier curl wget",
        "", Operands::None,
        &["rustc --version", "node --version", "python3 --version", "make --version", "node -v", "perl -v"],
        &["node", "node --version x", "node x.js", "python3 -c x", "python3 -V x", "curl --version x", "yarn --version", "pytest --version"])
        .actions("--version"),
    row("node npm perl php make", "", Operands::None, &["npm -v"], &["npm -v x"]).actions("-v"),
    row("python python3 rustc pip", "", Operands::None, &["python3 -V"], &["python3 -V x"]).actions("-V"),
    row("rustup", "", Operands::None, &["rustup show"], &["rustup update", "rustup show x"]).actions("show"),
    row("java javac", "", Operands::None, &["java -version"], &["java -jar x", "java -version x"])
        .actions("-version --version"),
    row("go", "", Operands::None, &["go version"], &["go version x", "go env -w x", "go run x", "go generate"])
        .actions("version"),
    row("go", "-json", Operands::Words, &["go env", "go env GOPATH"], &["go env -w A=b", "go env -u A"])
        .actions("env"),
    row("docker podman", "-aqs -f: --all --quiet --no-trunc --digests --size --latest --format= --filter=",
        Operands::Words, &["docker ps", "docker ps -a", "docker images"],
        &["docker run x", "docker rm x", "docker -H x ps", "docker exec x sh"])
        .actions("ps images version"),
    row("cloc tokei scc", "-c --files --json --by-file", Operands::Trees, &["tokei", "cloc src"],
        &["cloc --config x", "cloc --extract-with=x y", "tokei --foo"])
        .here(),
    row("shellcheck", "-a -sSefC: --shell= --severity= --exclude= --format= --norc", Operands::Paths,
        &["shellcheck x.sh", "shellcheck -s bash x.sh"], &["shellcheck --foo x"]),
];
