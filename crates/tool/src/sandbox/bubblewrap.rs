//! Namespaces of the kernel through `bwrap`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use proofmark_artefact::store::write_atomic;
use proofmark_artefact::suite::solver::LimitsPlan;
use tempfile::TempDir;
use tokio::process::Command;

use super::masks::Bind;
use super::{MIB, NOBODY, SandboxError, WORK, program};

/// A `bwrap` and what of this machine its programs see.
pub(super) struct Bubblewrap {
    program: PathBuf,
    /// Closes what is open before `bwrap` starts.
    shell: PathBuf,
    /// `/bin` and the like: links into `/usr`, or folders of their own.
    system: Vec<System>,
    /// A few files for `/etc`, made up: the real ones name the people of this machine.
    etc: TempDir,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum System {
    Link { target: OsString, at: PathBuf },
    Folder(PathBuf),
}

impl Bubblewrap {
    pub(super) fn find(path: Option<&OsStr>, scratch: Option<&Path>) -> Result<Self, SandboxError> {
        let program = program::find("bwrap", path).ok_or(SandboxError::Missing("bwrap"))?;
        let shell = program::find("bash", path).ok_or(SandboxError::Missing("bash"))?;
        let etc = write_etc(scratch).map_err(SandboxError::Workspace)?;
        Ok(Self { program, shell, system: look_at_system(), etc })
    }

    /// `bwrap` without its arguments, and without files that whoever started us left open: a folder among them would
    /// be a way out.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.shell);
        command.args(["--noprofile", "--norc", "-c", CLOSE, "bash"]).arg(&self.program).env_clear().current_dir("/");
        command
    }

    /// Everything up to and without the program, which runs below a first process of our own. With `bwrap`'s own,
    /// `bwrap` ends while that one is still there, and its arguments name folders of this machine.
    pub(super) fn arguments(
        &self,
        workspace: &Path,
        env: &[(String, String)],
        binds: &[Bind],
        hidden: &[PathBuf],
        limits: &LimitsPlan,
    ) -> Result<Vec<OsString>, SandboxError> {
        let mut list = Arguments::default();
        list.add(["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]);
        if limits.network {
            list.add(["--share-net"]);
        }
        list.add(["--cap-drop", "ALL", "--uid", INSIDE, "--gid", INSIDE, "--hostname", "sandbox", "--clearenv"]);
        for (name, value) in env {
            list.add(["--setenv", name, value]);
        }
        list.add(["--proc", "/proc", "--dev", "/dev"]);
        // Shared memory is memory. A file system has at least a page.
        let memory = u64::from(limits.memory_mb) * MIB;
        list.tmpfs("1777", memory / 4, "/dev/shm");
        list.add(["--remount-ro", "/dev"]);
        list.tmpfs("1777", memory.min(u64::from(limits.disk_mb) * MIB), "/tmp");
        for file in ETC {
            list.add([
                OsStr::new("--ro-bind"),
                self.etc.path().join(file).as_os_str(),
                format!("/etc/{file}").as_ref(),
            ]);
        }
        let of_network = if limits.network { OF_NETWORK } else { &[] };
        for path in OF_SYSTEM.iter().chain(of_network) {
            list.add(["--ro-bind-try", path, path]);
        }
        for system in &self.system {
            match system {
                System::Link { target, at } => list.add([OsStr::new("--symlink"), target, at.as_os_str()]),
                System::Folder(path) => {
                    list.show(&Bind { source: path.clone(), target: path.clone() }, hidden)?;
                }
            }
        }
        list.add([OsStr::new("--bind"), workspace.as_os_str(), WORK.as_ref()]);
        for bind in binds {
            list.show(bind, hidden)?;
        }
        list.add(["--remount-ro", "/", "--chdir", WORK, "--as-pid-1", "--", "sh", "-c", FIRST, "first"]);
        Ok(list.0)
    }

    /// Whether the user that root's programs run as gets to what it is to be shown.
    pub(super) fn check_reach(&self, workspace: &Path, binds: &[Bind]) -> Result<(), SandboxError> {
        let own = [workspace, self.etc.path()];
        for path in own.into_iter().chain(binds.iter().map(|bind| bind.source.as_path())) {
            let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
            for folder in folders {
                let found = fs::metadata(folder)
                    .map_err(|source| SandboxError::Unreadable { path: folder.to_owned(), source })?;
                let open = if found.uid() == NOBODY { 0o100 } else { 0o001 };
                if found.mode() & open == 0 {
                    return Err(SandboxError::Unreachable(path.to_owned()));
                }
            }
        }
        Ok(())
    }
}

/// Arguments in the order in which `bwrap` acts on them.
#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<T: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = T>) {
        self.0.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
    }

    fn tmpfs(&mut self, permissions: &str, bytes: u64, at: &str) {
        self.add(["--perms", permissions, "--size", &bytes.max(4096).to_string(), "--tmpfs", at]);
    }

    /// Shows something read-only, with empty folders where something is hidden.
    fn show(&mut self, bind: &Bind, hidden: &[PathBuf]) -> Result<(), SandboxError> {
        self.add([OsStr::new("--ro-bind"), bind.source.as_os_str(), bind.target.as_os_str()]);
        for mask in bind.masks(hidden)? {
            self.add(["--perms", "0555", "--size", "4096"]);
            self.add([OsStr::new("--tmpfs"), mask.as_os_str(), OsStr::new("--remount-ro"), mask.as_os_str()]);
        }
        Ok(())
    }
}

fn look_at_system() -> Vec<System> {
    let mut system = vec![System::Folder(PathBuf::from("/usr"))];
    for name in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
        let at = PathBuf::from(name);
        match (fs::read_link(&at), fs::metadata(&at)) {
            (Ok(target), _) => system.push(System::Link { target: target.into_os_string(), at }),
            (Err(_), Ok(found)) if found.is_dir() => system.push(System::Folder(at)),
            _ => {}
        }
    }
    system
}

fn write_etc(scratch: Option<&Path>) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("proofmark-etc-");
    let folder = match scratch {
        Some(scratch) => builder.tempdir_in(scratch)?,
        None => builder.tempdir()?,
    };
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let texts = [
        format!("sample:x:{INSIDE}:{INSIDE}::{WORK}:/bin/sh\nnobody:x:{NOBODY}:{NOBODY}::/:/bin/false\n"),
        format!("sample:x:{INSIDE}:\nnogroup:x:{NOBODY}:\n"),
        "127.0.0.1 localhost sandbox\n::1 localhost\n".to_owned(),
        "passwd: files\ngroup: files\nhosts: files dns\n".to_owned(),
    ];
    for (name, text) in ETC.into_iter().zip(texts) {
        let path = folder.path().join(name);
        write_atomic(&path, text.as_bytes())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    }
    Ok(folder)
}

const CLOSE: &str =
    r#"for f in /proc/self/fd/*; do n=${f##*/}; if [ "$n" -gt 2 ]; then eval "exec $n>&-"; fi; done; exec "$@""#;
/// Runs a program and says how it ended. What it would say itself, of signals for example, nobody sees.
const FIRST: &str =
    r#"exec 3<&0 4>&1 5>&2 </dev/null >/dev/null 2>&1; ( exec "$@" <&3 >&4 2>&5 3<&- 4>&- 5>&- ); exit $?"#;
/// The user inside.
const INSIDE: &str = "1000";
const ETC: [&str; 4] = ["passwd", "group", "hosts", "nsswitch.conf"];
/// What the loader and links of `/usr` need.
const OF_SYSTEM: &[&str] = &["/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"];
const OF_NETWORK: &[&str] = &["/etc/resolv.conf", "/etc/ssl", "/etc/ca-certificates", "/etc/pki"];

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(network: bool) -> LimitsPlan {
        LimitsPlan { memory_mb: 64, cpu_seconds: 3, pids: 8, disk_mb: 2, network, image: None }
    }

    fn jail() -> Bubblewrap {
        let system = vec![System::Folder("/usr".into()), System::Link { target: "usr/bin".into(), at: "/bin".into() }];
        Bubblewrap {
            program: "/usr/bin/bwrap".into(),
            shell: "/bin/bash".into(),
            system,
            etc: write_etc(None).unwrap(),
        }
    }

    fn shown(network: bool, binds: &[Bind], hidden: &[PathBuf]) -> Result<String, SandboxError> {
        let jail = jail();
        let env = [("LANG".to_owned(), "C.UTF-8".to_owned())];
        let arguments = jail.arguments(Path::new("/tmp/w"), &env, binds, hidden, &limits(network))?;
        let text = arguments.join(" ".as_ref()).into_string().unwrap();
        Ok(text.replace(jail.etc.path().to_str().unwrap(), "ETC").replace(FIRST, "FIRST"))
    }

    #[test]
    fn a_program_is_shown_the_system_and_the_samples_files_and_nothing_else() {
        assert_eq!(
            shown(false, &[], &[]).unwrap(),
            "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --cap-drop ALL --uid 1000 \
             --gid 1000 --hostname sandbox --clearenv --setenv LANG C.UTF-8 --proc /proc --dev /dev --perms 1777 \
             --size 16777216 --tmpfs /dev/shm --remount-ro /dev --perms 1777 --size 2097152 --tmpfs /tmp --ro-bind \
             ETC/passwd /etc/passwd --ro-bind ETC/group /etc/group --ro-bind ETC/hosts /etc/hosts --ro-bind \
             ETC/nsswitch.conf /etc/nsswitch.conf --ro-bind-try /etc/alternatives /etc/alternatives --ro-bind-try \
             /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/ld.so.conf /etc/ld.so.conf --ro-bind-try \
             /etc/ld.so.conf.d /etc/ld.so.conf.d --ro-bind /usr /usr --symlink usr/bin /bin --bind /tmp/w /work \
             --remount-ro / --chdir /work --as-pid-1 -- sh -c FIRST first"
        );
    }

    #[test]
    fn the_network_is_shared_only_when_the_suite_says_so() {
        assert!(!shown(false, &[], &[]).unwrap().contains("--share-net"));
        let with = shown(true, &[], &[]).unwrap();
        assert!(with.contains(" --share-net ") && with.contains("/etc/resolv.conf"), "{with}");
    }

    #[test]
    fn a_hidden_folder_below_what_is_shown_is_masked() {
        let hidden = [PathBuf::from("/usr/share")];
        let text = shown(false, &[], &hidden).unwrap();
        assert!(
            text.contains("--ro-bind /usr /usr --perms 0555 --size 4096 --tmpfs /usr/share --remount-ro /usr/share")
        );
        for above in ["/usr", "/"] {
            assert!(matches!(shown(false, &[], &[above.into()]), Err(SandboxError::Hidden { .. })), "{above}");
        }
    }

    #[test]
    fn a_folder_that_nobody_can_enter_is_out_of_reach() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let file = folder.path().join("a");
        let bind = Bind { source: file.clone(), target: file.clone() };
        let reach = || jail().check_reach(Path::new("/tmp"), std::slice::from_ref(&bind));
        assert!(matches!(reach(), Err(SandboxError::Unreachable(path)) if path == file));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        assert!(reach().is_ok());
    }
}
