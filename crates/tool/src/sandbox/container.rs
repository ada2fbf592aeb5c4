//! A container of Docker or Podman for each program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use proofmark_artefact::suite::solver::LimitsPlan;

use super::masks::Bind;
use super::process::Leash;
use super::{MIB, SandboxError, WORK, limits, program};

/// A container engine whose service answers, and which has the image.
pub(super) struct Container {
    program: PathBuf,
    engine: Engine,
    image: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Docker,
    Podman,
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Fails unless containers can be had: Docker has a service behind it, Podman does not.
    fn question(self) -> [&'static str; 3] {
        match self {
            Self::Docker => ["version", "--format", "{{.Server.Version}}"],
            Self::Podman => ["info", "--format", "{{.Host.Arch}}"],
        }
    }
}

impl Container {
    /// Takes the first engine that answers.
    pub(super) fn find(path: Option<&OsStr>, limits: &LimitsPlan) -> Result<Self, SandboxError> {
        let mut failure = SandboxError::Missing("docker");
        for engine in [Engine::Docker, Engine::Podman] {
            let Some(found) = program::find(engine.name(), path) else { continue };
            let mut command = Command::new(&found);
            command.args(engine.question());
            match program::check(engine.name(), command) {
                Ok(()) => {
                    let image = limits.image.clone().unwrap_or_default();
                    let container = Self { program: found, engine, image };
                    container.check_image()?;
                    return Ok(container);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// Everything up to and without the program.
    pub(super) fn arguments(&self, setting: &Setting<'_>, hidden: &[PathBuf]) -> Result<Vec<OsString>, SandboxError> {
        let limits = setting.limits;
        let mut list: Vec<OsString> = Vec::new();
        let mut add = |arguments: &[&str]| list.extend(arguments.iter().map(OsString::from));
        add(&["run", "--rm", "--interactive", "--pull", "never", "--name", setting.name]);
        add(&["--network", if limits.network { "bridge" } else { "none" }, "--hostname", "sandbox"]);
        add(&["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]);
        let memory = format!("{}m", limits.memory_mb);
        add(&["--memory", &memory, "--memory-swap", &memory, "--pids-limit", &limits.pids.to_string(), "--cpus", "1"]);
        add(&["--ulimit", "core=0", "--ulimit", &format!("cpu={}", limits.cpu_seconds)]);
        let left = (u64::from(limits.disk_mb) * MIB).saturating_sub(setting.used);
        add(&["--ulimit", &format!("fsize={left}"), "--ulimit", &format!("nofile={}", limits::FILES)]);
        add(&["--user", &format!("{}:{}", setting.user.0, setting.user.1)]);
        match self.engine {
            // Podman may lack its init.
            Engine::Docker => add(&["--init"]),
            // Otherwise the user inside is somebody else outside, who cannot read the sample's files.
            Engine::Podman => add(&["--userns", "keep-id"]),
        }
        add(&["--tmpfs", &format!("/tmp:rw,nosuid,nodev,mode=1777,size={}m", limits.disk_mb.min(limits.memory_mb))]);
        add(&["--workdir", WORK]);
        for (name, value) in setting.env {
            add(&["--env", &format!("{name}={value}")]);
        }
        list.push("--mount".into());
        list.push(mount(setting.workspace, Path::new(WORK), "")?);
        for bind in setting.binds {
            list.push("--mount".into());
            list.push(mount(&bind.source, &bind.target, ",readonly")?);
            for mask in bind.masks(hidden)? {
                list.push("--mount".into());
                list.push(tmpfs(&mask)?);
            }
        }
        list.push((&self.image).into());
        Ok(list)
    }

    /// Kills a container by its name. Killing the client that started it would leave it running.
    pub(super) fn leash(&self, name: String) -> Leash {
        let mut arguments: Vec<OsString> = ["rm", "--force"].map(OsString::from).to_vec();
        arguments.push(name.into());
        Leash::new(self.program.clone(), arguments)
    }

    fn check_image(&self) -> Result<(), SandboxError> {
        let mut command = Command::new(&self.program);
        command.args(["image", "inspect", &self.image]);
        program::check(self.engine.name(), command)
            .map_err(|_| SandboxError::Image { engine: self.engine.name(), image: self.image.clone() })
    }
}

/// What one container is started with.
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    pub(super) workspace: &'a Path,
    /// User and group.
    pub(super) user: (u32, u32),
    pub(super) env: &'a [(String, String)],
    pub(super) binds: &'a [Bind],
    pub(super) limits: &'a LimitsPlan,
    /// Bytes that the sample's files have already.
    pub(super) used: u64,
}

/// A name that no other container has.
pub(super) fn name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("proofmark-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The engines read this as comma-separated values.
fn mount(source: &Path, target: &Path, options: &str) -> Result<OsString, SandboxError> {
    let mut text = OsString::from("type=bind,source=");
    text.push(plain(source)?);
    text.push(",target=");
    text.push(plain(target)?);
    text.push(options);
    Ok(text)
}

fn tmpfs(target: &Path) -> Result<OsString, SandboxError> {
    let mut text = OsString::from("type=tmpfs,tmpfs-size=4096,tmpfs-mode=0555,target=");
    text.push(plain(target)?);
    Ok(text)
}

fn plain(path: &Path) -> Result<&OsStr, SandboxError> {
    let is_plain = !path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    is_plain.then_some(path.as_os_str()).ok_or_else(|| SandboxError::Unquotable(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(engine: Engine, binds: &[Bind], network: bool) -> Result<String, SandboxError> {
        let limits =
            LimitsPlan { memory_mb: 64, cpu_seconds: 3, pids: 8, disk_mb: 2, network, image: Some("python:3".into()) };
        let container = Container { program: "/usr/bin/docker".into(), engine, image: "python:3".to_owned() };
        let setting = Setting {
            name: "box",
            workspace: Path::new("/tmp/w"),
            user: (65534, 65534),
            env: &[("LANG".to_owned(), "C.UTF-8".to_owned())],
            binds,
            limits: &limits,
            used: 97_152,
        };
        Ok(container.arguments(&setting, &["/usr/share".into()])?.join(" ".as_ref()).into_string().unwrap())
    }

    #[test]
    fn a_container_has_the_samples_files_and_no_way_out() {
        assert_eq!(
            shown(Engine::Docker, &[], false).unwrap(),
            "run --rm --interactive --pull never --name box --network none --hostname sandbox --read-only \
             --cap-drop ALL --security-opt no-new-privileges --memory 64m --memory-swap 64m --pids-limit 8 --cpus 1 \
             --ulimit core=0 --ulimit cpu=3 --ulimit fsize=2000000 --ulimit nofile=1024 --user 65534:65534 --init --tmpfs \
             /tmp:rw,nosuid,nodev,mode=1777,size=2m --workdir /work --env LANG=C.UTF-8 --mount \
             type=bind,source=/tmp/w,target=/work python:3"
        );
        assert!(shown(Engine::Podman, &[], true).unwrap().contains(" --network bridge "));
        assert!(shown(Engine::Podman, &[], false).unwrap().contains(" --userns keep-id "));
    }

    #[test]
    fn what_is_shown_is_read_only_and_masked() {
        let bind = Bind { source: "/usr".into(), target: "/usr".into() };
        let text = shown(Engine::Docker, &[bind], false).unwrap();
        let expected = "--mount type=bind,source=/usr,target=/usr,readonly --mount \
                        type=tmpfs,tmpfs-size=4096,tmpfs-mode=0555,target=/usr/share python:3";
        assert!(text.ends_with(expected), "{text}");
        let tricky = Bind { source: "/a,readonly=false".into(), target: "/b".into() };
        assert!(matches!(shown(Engine::Docker, &[tricky], false), Err(SandboxError::Unquotable(_))));
    }

    #[test]
    fn names_are_never_given_twice() {
        assert_ne!(name(), name());
    }
}
