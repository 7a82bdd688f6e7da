//! Sockets of local services, through which a confined process could have somebody outside act for it.

/// So many are hidden at most.
const SOCKETS_MAX: usize = 256;
/// Folders of sockets that are hidden whole, so that those which are made later are hidden too.
const FOLDERS: [&str; 2] = ["/run/user", "/tmp/.X11-unix"];

/// What to hide, from the kernel's list of local sockets.
pub(super) fn hidden(list: &str) -> Vec<String> {
    let paths = list.lines().skip(1).filter_map(|line| line.split_whitespace().nth(7));
    let mut sockets: Vec<String> = paths.filter(|path| path.starts_with('/')).map(str::to_owned).collect();
    sockets.sort();
    sockets.dedup();
    sockets.retain(|path| {
        !FOLDERS.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    });
    sockets.truncate(SOCKETS_MAX);
    FOLDERS.iter().map(|folder| (*folder).to_owned()).chain(sockets).collect()
}

/// The kernel's list.
pub(super) fn list() -> String {
    std::fs::read_to_string("/proc/net/unix").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_with_a_name_in_the_file_system_are_hidden_once() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    ffff: 00000002 00000000 00010000 0001 01 1 /run/docker.sock\n\
                    ffff: 00000003 00000000 00000000 0001 03 2 /run/docker.sock\n\
                    ffff: 00000003 00000000 00000000 0001 03 3 @abstract\n\
                    ffff: 00000003 00000000 00000000 0001 03 4 /run/user/1000/bus\n\
                    ffff: 00000003 00000000 00000000 0001 03 5\n";
        assert_eq!(hidden(list), ["/run/user", "/tmp/.X11-unix", "/run/docker.sock"]);
    }
}
