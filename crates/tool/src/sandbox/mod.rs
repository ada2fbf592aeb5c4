//! Programs that can reach nothing.
//!
//! - [`Sandbox`] what confines a program: made once for a tool, checked by running something in it;
//! - `bubblewrap`, `container` the two ways to confine, each a pure list of arguments and a check of this machine;
//! - `process` one start of a program: fed, read, timed, and dead with everything it started;
//! - `watch` what the kernel's limits of single processes do not bound: memory and files of all together;
//! - `limits` those limits, `masks` folders that stay out of sight, `program` where programs are.
//!
//! What is bounded how:
//!
//! | what | how |
//! |---|---|
//! | processes | `RLIMIT_NPROC`; the kernel counts it in the user namespace (Linux 5.14), never for root |
//! | memory | `RLIMIT_DATA` of each process; all of them together by looking ten times a second |
//! | CPU | `RLIMIT_CPU` of each process; all of them by the timeout |
//! | files in `/work` | `RLIMIT_FSIZE` is what is left of `disk_mb`; all of them by looking four times a second |
//! | files in `/tmp`, `/dev/shm` | the size of their file system |
//! | output | the program is killed when it has printed more than is kept |
//!
//! Looking now and then lets a program overshoot by what it can do in that time. Memory of the kernel that no process
//! maps (`memfd_create`) is bounded by the size and number of files alone.

mod bubblewrap;
mod container;
mod limits;
mod masks;
mod process;
mod program;
mod watch;

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proofmark_artefact::suite::solver::{LimitsPlan, SandboxKind};
use tokio::process::Command;

pub use self::process::{End, Ran};

use self::bubblewrap::Bubblewrap;
use self::container::{Container, Setting};
use self::masks::Bind;
use self::process::{Launch, Leash};
use crate::build::Surroundings;
use crate::workspace::Workspace;

/// A way to run programs confined. They see the sample's files as `/work`, which is where they start.
pub struct Sandbox {
    jail: Jail,
    limits: LimitsPlan,
    timeout: Duration,
    hidden: Vec<PathBuf>,
}

enum Jail {
    Bubblewrap(Bubblewrap),
    Container(Container),
    Nothing { prlimit: PathBuf, path: Option<OsString> },
}

/// Programs cannot be confined as the suite wants.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    #[error("`{0}` was not found")]
    Missing(&'static str),
    #[error("`{program}` does not work here: {said}")]
    Unusable { program: &'static str, said: String },
    #[error("the image `{image}` is not on this machine")]
    Image { engine: &'static str, image: String },
    #[error("`sandbox: none` confines nothing, and running programs unconfined was not allowed")]
    Unconfined,
    #[error("`{}` cannot be shown to a program: `{}` is to stay out of sight", shown.display(), hidden.display())]
    Hidden { shown: PathBuf, hidden: PathBuf },
    #[error("`{}` cannot be shown to a program: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` cannot be shown to a program by root: `nobody` does not reach it", .0.display())]
    Unreachable(PathBuf),
    #[error("`{}` cannot be shown to a program in a container: its path has a comma or a quote", .0.display())]
    Unquotable(PathBuf),
    #[error("the sample's folder cannot be made: {0}")]
    Workspace(#[source] io::Error),
}

impl SandboxError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing("bwrap") | Self::Unusable { program: "bwrap", .. } => Some(
                "install the Debian package `bubblewrap` (0.8 or newer) on Linux 5.14 or newer, and allow user \
                 namespaces; or write `sandbox: container` or `sandbox: none`"
                    .to_owned(),
            ),
            Self::Missing("docker") => Some("install `docker` or `podman`, or write `sandbox: bubblewrap`".to_owned()),
            Self::Missing("prlimit") => Some("install the Debian package `util-linux`".to_owned()),
            Self::Missing(_) | Self::Workspace(_) | Self::Unreadable { .. } => None,
            Self::Unusable { program, .. } => {
                Some(format!("start the service behind `{program}`, or write `sandbox: bubblewrap`"))
            }
            Self::Image { engine, image } => Some(format!("run `{engine} pull {image}`; a run downloads no images")),
            Self::Unconfined => {
                Some("pass `--allow-unsandboxed` if every model of the suite may do what you may do".to_owned())
            }
            Self::Hidden { .. } => Some("keep it outside of run directories, caches and key folders".to_owned()),
            Self::Unreachable(_) => Some(
                "keep it where every user may look, or do not run as root: programs run as `nobody` then".to_owned(),
            ),
            Self::Unquotable(_) => Some("rename it, or write `sandbox: bubblewrap`".to_owned()),
        }
    }
}

impl Sandbox {
    /// Finds what confines and tries it. `timeout` is for one [`Sandbox::run`], in seconds.
    pub fn new(
        kind: SandboxKind,
        limits: &LimitsPlan,
        timeout: f64,
        world: &Surroundings,
    ) -> Result<Self, SandboxError> {
        let path = world.program_path.as_deref();
        let jail = match kind {
            SandboxKind::Bubblewrap => Jail::Bubblewrap(Bubblewrap::find(path, world.scratch.as_deref())?),
            SandboxKind::Container => Jail::Container(Container::find(path, limits)?),
            SandboxKind::None if !world.allow_unsandboxed => return Err(SandboxError::Unconfined),
            SandboxKind::None => {
                let prlimit = program::find("prlimit", path).ok_or(SandboxError::Missing("prlimit"))?;
                Jail::Nothing { prlimit, path: world.program_path.clone() }
            }
        };
        let hidden = world.hidden.iter().map(|folder| masks::resolve(folder)).collect();
        let timeout = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::MAX);
        let sandbox = Self { jail, limits: limits.clone(), timeout, hidden };
        if matches!(sandbox.jail, Jail::Bubblewrap(_)) {
            sandbox.try_out(world.scratch.clone())?;
        }
        Ok(sandbox)
    }

    /// A program that is still to be started, for servers that outlive a call. `env` comes on top of the sandbox's
    /// own few variables; `binds` are files and folders of this machine that it may read, at the same paths.
    ///
    /// The command has a process group of its own and is killed when its child is dropped. Killing the group ends
    /// everything in a sandbox of bubblewrap; what runs in a container must also end when its input does. It must be spawned on a thread that lives as long as it: the kernel
    /// ends the sandbox with the thread that began it.
    pub fn command(
        &self,
        argv: &[OsString],
        workspace: &Workspace,
        env: &[(String, String)],
        binds: &[PathBuf],
    ) -> Result<Command, SandboxError> {
        Ok(self.confine(argv, workspace, env, binds)?.0)
    }

    /// Runs a program to its end and returns what it printed: at most `max_output` bytes of each stream and a little
    /// more. Whatever it started is dead then, also when the future is dropped.
    pub async fn run(
        &self,
        argv: &[OsString],
        input: &[u8],
        workspace: &Workspace,
        env: &[(String, String)],
        max_output: u64,
    ) -> Result<Ran, SandboxError> {
        let max_output = usize::try_from(max_output).unwrap_or(usize::MAX).saturating_add(SLACK);
        let mut ran = self.start(argv, input, workspace, env, max_output).await?;
        let folder = workspace.dir().map_err(SandboxError::Workspace)?;
        let mut disk = watch::disk(folder);
        if disk.closed > 0 {
            // Nobody could measure or remove what is in there. Done inside, where a link cannot lead out.
            let argv: Vec<OsString> = ["chmod", "-R", "u+rwx", "."].map(OsString::from).to_vec();
            self.start(&argv, b"", workspace, &[], SLACK).await?;
            disk = watch::disk(folder);
        }
        if matches!(ran.end, End::Exited(_)) && watch::is_over(&disk, &self.limits) {
            ran.end = End::OverDisk;
        }
        Ok(ran)
    }

    async fn start(
        &self,
        argv: &[OsString],
        input: &[u8],
        workspace: &Workspace,
        env: &[(String, String)],
        max_output: usize,
    ) -> Result<Ran, SandboxError> {
        let (command, leash) = self.confine(argv, workspace, env, &[])?;
        let folder = workspace.dir().map_err(SandboxError::Workspace)?;
        // The kernel counts processes of a namespace; without one it would count all of the user's.
        let counts_processes = self.is_unconfined();
        let (timeout, limits) = (self.timeout, &self.limits);
        let launch = Launch { command, leash, input, timeout, max_output, limits, folder, counts_processes };
        let started = process::run(launch).await;
        started.map_err(|error| SandboxError::Unusable { program: self.program(), said: error.to_string() })
    }

    /// Whether programs see the machine as it is.
    pub fn is_unconfined(&self) -> bool {
        matches!(self.jail, Jail::Nothing { .. })
    }

    pub fn has_network(&self) -> bool {
        self.limits.network || self.is_unconfined()
    }

    pub fn limits(&self) -> &LimitsPlan {
        &self.limits
    }

    /// How long a [`Sandbox::run`] may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    fn program(&self) -> &'static str {
        match &self.jail {
            Jail::Bubblewrap(_) => "bwrap",
            Jail::Container(container) => container.engine(),
            Jail::Nothing { .. } => "prlimit",
        }
    }

    fn confine(
        &self,
        argv: &[OsString],
        workspace: &Workspace,
        env: &[(String, String)],
        binds: &[PathBuf],
    ) -> Result<(Command, Option<Leash>), SandboxError> {
        let folder = workspace.dir().map_err(SandboxError::Workspace)?;
        let used = watch::disk(folder).bytes;
        let binds = binds.iter().map(|path| Bind::of(path, &self.hidden)).collect::<Result<Vec<_>, _>>()?;
        let variables = ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env: Vec<(String, String)> = variables.chain(env.iter().cloned()).collect();
        let mut leash = None;
        let mut command = match &self.jail {
            Jail::Bubblewrap(jail) => {
                let own = if is_root() { Some(NOBODY) } else { None };
                if let Some(id) = own {
                    hand_over(workspace, id)?;
                    jail.check_reach(folder, &binds)?;
                }
                let mut command = jail.command();
                command.args(jail.arguments(folder, &env, &binds, &self.hidden, &self.limits)?);
                command.args(limits::prlimit(&self.limits, used, limits::Processes::OfNamespace));
                command.args(argv);
                // Root is exempt from limits of processes, also inside of a user namespace.
                if let Some(id) = own {
                    command.uid(id).gid(id);
                }
                command
            }
            Jail::Container(container) => {
                let user = match is_root() {
                    true => {
                        hand_over(workspace, NOBODY)?;
                        (NOBODY, NOBODY)
                    }
                    false => (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
                };
                let (name, limits) = (container::name(), &self.limits);
                let (env, binds) = (env.as_slice(), binds.as_slice());
                let setting = Setting { name: &name, workspace: folder, user, env, binds, limits, used };
                let mut command = Command::new(container.program());
                command.args(container.arguments(&setting, &self.hidden)?).args(argv);
                leash = Some(container.leash(name));
                command
            }
            Jail::Nothing { prlimit, path } => {
                let mut command = Command::new(prlimit);
                command.args(limits::prlimit(&self.limits, used, limits::Processes::Unlimited));
                command.args(argv).env_clear().current_dir(folder);
                command.envs(env).env("HOME", folder);
                if let Some(path) = path {
                    command.env("PATH", path);
                }
                command
            }
        };
        command.process_group(0).kill_on_drop(true);
        Ok((command, leash))
    }

    /// Starts a program that starts another, as every program of the tool will be started.
    fn try_out(&self, scratch: Option<PathBuf>) -> Result<(), SandboxError> {
        let workspace = Workspace::new([].into(), scratch);
        let argv: Vec<OsString> = ["sh", "-c", "(true)"].map(OsString::from).to_vec();
        let (command, _) = self.confine(&argv, &workspace, &[], &[])?;
        program::check(self.program(), command.into_std())
    }
}

/// Lets the user that programs run as read and write the sample's files.
fn hand_over(workspace: &Workspace, id: u32) -> Result<(), SandboxError> {
    let folder = workspace.dir().map_err(SandboxError::Workspace)?;
    let own = |path: &Path| lchown(path, Some(id), Some(id));
    own(folder).map_err(SandboxError::Workspace)?;
    for file in workspace.attached() {
        // A program of the sample may have removed it.
        match own(&folder.join(&file.name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(SandboxError::Workspace(error)),
            _ => {}
        }
    }
    Ok(())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What every program is told of its surroundings. The same on every machine; one thread for the libraries that would
/// start one a core, as sums of floats depend on their order.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LANG", "C.UTF-8"),
    ("HOME", "/work"),
    ("TMPDIR", "/tmp"),
    ("TZ", "UTC"),
    ("USER", "sample"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
];
/// Whom root's programs run as.
const NOBODY: u32 = 65_534;
/// Where a program finds the sample's files.
const WORK: &str = "/work";
/// Read beyond what is shown, so that a little too much does not kill the program.
const SLACK: usize = 1 << 20;
const MIB: u64 = 1 << 20;
