//! Programs that write what they are given, as far as telling their operands apart needs. Their options are
//! written as in [`grammar`](super::super::grammar); which of them do harm is told by others.

use crate::command::Access;

/// What the operands are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Each is used alike.
    All(Access),
    /// The last is written, those before it are used so; with an option that names the target all are sources.
    Into(Access),
    /// The first is no path (a mode, an owner), the others are used so.
    After(Access),
    /// The first is read, the others are written.
    FirstRead,
    /// The folder that it stands in is written.
    Here,
}

/// One row: names, options, operands, options with a path that is written, options that mean whole trees.
pub(super) type Writer = (&'static str, &'static str, Shape, &'static str, &'static str);

/// All rows.
pub(super) static WRITERS: &[Writer] = &[
    ("rm unlink", "-fiIrRdvxPW", Shape::All(Access::Write), "", "-r -R --recursive"),
    ("rmdir", "-pv", Shape::All(Access::Write), "", ""),
    ("mkdir", "-pvZ -m: --mode= --parents", Shape::All(Access::Write), "", ""),
    ("mkfifo mknod", "-m: --mode=", Shape::All(Access::Write), "", ""),
    ("touch", "-acmhf -dt: -r:@ --date= --time= --reference=@", Shape::All(Access::Write), "", ""),
    ("tee sponge", "-aip --append", Shape::All(Access::Write), "", ""),
    ("truncate", "-co -s: -r:@ --size= --reference=@", Shape::All(Access::Write), "", ""),
    ("shred", "-fuvxz -ns: --iterations= --size= --random-source=@", Shape::All(Access::Write), "", ""),
    (
        "chmod chown chgrp",
        "-RfvchHLP --reference=@ --from= --recursive",
        Shape::After(Access::Write),
        "",
        "-R --recursive",
    ),
    ("setfacl chattr", "-Rbkd -mxM: --recursive", Shape::After(Access::Write), "", "-R --recursive"),
    (
        "cp",
        "-abdfHiLlnPpRrsTuvxZ -t:@ -S: --target-directory=@ --suffix= --recursive --archive",
        Shape::Into(Access::Read),
        "-t --target-directory",
        "-r -R -a --recursive --archive",
    ),
    (
        "mv",
        "-bfinTuvZ -t:@ -S: --target-directory=@ --suffix=",
        Shape::Into(Access::WriteTree),
        "-t --target-directory",
        "",
    ),
    (
        "ln",
        "-bdfFiLnPrsTv -t:@ -S: --target-directory=@",
        Shape::Into(Access::Read),
        "-t --target-directory",
        "",
    ),
    (
        "install",
        "-bcCdDpsTvZ -gmoS: -t:@ --target-directory=@ --mode= --owner= --group=",
        Shape::Into(Access::Read),
        "-t --target-directory",
        "",
    ),
    (
        "rsync",
        "-abcdghiklmnopqrstuvxyzACDHILOPRSWX46 -efTB: --rsh= --exclude= --include= --filter= --exclude-from=@ \
         --include-from=@ --files-from=@ --log-file=@ --backup-dir=@ --partial-dir=@ --temp-dir=@ --bwlimit= \
         --rsync-path= --out-format=",
        Shape::Into(Access::ReadTree),
        "--log-file --backup-dir --partial-dir --temp-dir",
        "-r -a --recursive --archive --delete",
    ),
    ("split csplit", "-ablnCet: --lines= --bytes= --suffix-length=", Shape::FirstRead, "", ""),
    ("uniq", "-cdDiuz -fsw:", Shape::FirstRead, "", ""),
    ("xxd", "-abeEiupr -cglos:", Shape::FirstRead, "", ""),
    (
        "sort",
        "-bdfgiMhnRrVcCmsuz -ktS: -oT:@ --key= --field-separator= --output=@ --temporary-directory=@",
        Shape::All(Access::Read),
        "-o -T --output --temporary-directory",
        "",
    ),
    ("tree", "-adfilxpsughDFqNQrtUvcJXSnCAR -LPIHT: -o:@", Shape::All(Access::ReadTree), "-o", ""),
    (
        "gzip gunzip xz unxz bzip2 bunzip2 zstd",
        "-cdfklqrtvz -T: -123456789 -o:@",
        Shape::All(Access::Write),
        "-o",
        "-r",
    ),
    ("unzip", "-ojqnuLaClvZpt -Px: -d:@", Shape::FirstRead, "-d", "-d"),
    ("zip", "-rqjuymT9 -x: -i:", Shape::All(Access::ReadTree), "", ""),
    (
        "patch",
        "-bEflNRstu -pFrVDBYz: -dio:@ --input=@ --output=@ --directory=@ --strip=",
        Shape::Here,
        "-d -o --output --directory",
        "",
    ),
    (
        "curl",
        "-fgGIiJklLnNOpqRsSvZ046 -XHdAeubmyYCrQtUx: -oTKcDE:@ --output=@ --upload-file=@ --config=@ --request= \
         --header= --data= --data-raw= --data-binary= --user= --user-agent= --cookie-jar=@ --dump-header=@ \
         --output-dir=@ --max-time= --retry= --connect-timeout=",
        Shape::All(Access::Named),
        "-o --output -c --cookie-jar -D --dump-header --output-dir",
        "--output-dir",
    ),
    (
        "wget",
        "-bcdhkKmNpqrSvVHLx -tTwQUelARID: -oaOPi:@ --output-document=@ --directory-prefix=@ --output-file=@ \
         --append-output=@ --input-file=@ --post-file=@ --header= --tries= --timeout= --user-agent=",
        Shape::Here,
        "-o -a -O -P --output-document --directory-prefix --output-file --append-output",
        "-P --directory-prefix",
    ),
];
