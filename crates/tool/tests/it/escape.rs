//! Programs that try to get out.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use proofmark_artefact::store::write_atomic;
use proofmark_artefact::suite::solver::{LimitsPlan, SandboxKind};
use proofmark_tool::sandbox::{End, Sandbox, SandboxError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::support::*;

#[tokio::test]
async fn a_program_reads_and_writes_the_samples_files_as_an_unprivileged_user() {
    let (sandbox, workspace) = (sandbox(&limits(), 20.0), workspace(&[("a.csv", b"1,2\n")]));
    let ran = shell_in(&sandbox, &workspace, "pwd; cat a.csv; echo new > b; id -u; id -un; hostname; ls").await;
    assert_eq!(printed(&ran), "/work\n1,2\n1000\nsample\nsandbox\na.csv\nb\n");
    assert_eq!(std::fs::read(workspace.dir().unwrap().join("b")).unwrap(), b"new\n");
    let again = shell_in(&sandbox, &workspace, "cat b; echo more >> a.csv; cat a.csv").await;
    assert_eq!(printed(&again), "new\n1,2\nmore\n");
}

#[tokio::test]
async fn the_network_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!(
        "
import socket
def attempt(name, f):
    try:
        f()
        print(name, 'reached')
    except OSError as e:
        print(name, 'refused')
attempt('tcp', lambda: socket.create_connection(('127.0.0.1', {port}), 2))
attempt('outside', lambda: socket.create_connection(('192.0.2.1', 80), 2))
attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)))
attempt('dns', lambda: socket.getaddrinfo('example.com', 80))
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
print([name for _, name in socket.if_nameindex()])
"
    );
    let ran = python_in(&sandbox(&limits(), 20.0), &workspace(&[]), &code).await;
    assert_eq!(printed(&ran), "tcp refused\noutside refused\nudp refused\ndns refused\nraw refused\n['lo']\n");
    assert!(listener.accept().is_err(), "somebody connected");
}

#[tokio::test]
async fn a_suite_may_give_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let limits = LimitsPlan { network: true, ..limits() };
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let ran = shell_in(&sandbox(&limits, 20.0), &workspace(&[]), &script).await;
    assert_eq!(printed(&ran), "connected\n");
}

#[tokio::test]
async fn files_of_the_machine_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let canary = folder.path().join("canary");
    write_atomic(&canary, b"the gold is 42").unwrap();
    let other = workspace(&[("gold", b"the gold is 42")]);
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let paths = [
        canary.as_path(),
        &other.dir().unwrap().join("gold"),
        &home,
        Path::new("/etc/shadow"),
        Path::new("/etc/hostname"),
        Path::new("/root"),
        Path::new("/home"),
        Path::new("/var"),
        Path::new("/sys"),
        Path::new("/run"),
        Path::new("/boot"),
    ];
    for path in paths {
        assert!(path.exists() || path.starts_with("/boot") || path.starts_with("/etc"), "{}", path.display());
        let ran = shell(&format!("ls -d '{0}' || cat '{0}'", path.display())).await;
        assert!(matches!(ran.end, End::Exited(1 | 2)) && ran.stdout.is_empty(), "{} {}", path.display(), said(&ran));
    }
    // Links in the sample's folder lead nowhere, too.
    let ran = shell(&format!("ln -s '{}' link && cat link", canary.display())).await;
    assert!(ran.end != End::Exited(0) && ran.stdout.is_empty(), "{}", said(&ran));
}

#[tokio::test]
async fn nothing_but_work_and_tmp_can_be_written() {
    let ran = shell(
        "for f in /x /usr/x /usr/bin/x /etc/x /etc/passwd /dev/x /proc/sys/kernel/hostname /bin/x; do \
             { echo x > $f; } 2>/dev/null && echo wrote $f; done; \
         for f in /work/x /tmp/x /dev/shm/x /dev/null; do echo x > $f || echo did not write $f; done; \
         mount -t tmpfs none /work 2>/dev/null && echo mounted; mount -o remount,rw /usr 2>/dev/null && echo remounted; \
         unshare -Ur true 2>/dev/null && echo unshared; chown 0 /work/x 2>/dev/null && echo chowned; true",
    )
    .await;
    assert_eq!(printed(&ran), "");
    assert!(!Path::new("/usr/x").exists());
}

#[tokio::test]
async fn no_capability_and_no_way_to_gain_one_is_left() {
    let ran =
        shell("grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t0:'; grep -c . /proc/self/uid_map").await;
    assert_eq!(printed(&ran), "CapInh\nCapPrm\nCapEff\nCapBnd\nCapAmb\nNoNewPrivs1\n1\n");
}

#[tokio::test]
async fn processes_outside_can_be_neither_seen_nor_signalled() {
    let own = std::process::id();
    let script = format!(
        "ls /proc | grep -c '^[0-9]'; kill -0 {own} 2>/dev/null && echo signalled; \
         cat /proc/{own}/environ 2>/dev/null; tr '\\0' '\\n' < /proc/1/environ | sort; kill -9 1 -1; echo still here"
    );
    let ran = shell(&script).await;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let (count, rest) = text.split_once('\n').unwrap();
    assert_eq!(rest.replace("PWD=/work\n", ""), format!("{ENVIRONMENT}still here\n"), "{}", said(&ran));
    let count: u32 = count.parse().unwrap();
    assert!(count <= 5, "{text}");
}

#[tokio::test]
async fn the_environment_is_the_same_on_every_machine() {
    // The tests' own has at least this one, which is no secret.
    assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
    let ran = shell("env | sort | grep -v -E '^(_|SHLVL|PWD|OLDPWD)='").await;
    assert_eq!(printed(&ran), ENVIRONMENT);
}

#[tokio::test]
async fn no_file_of_ours_is_open_in_a_program() {
    // As if whoever started us had left a folder open: `..` of it leads out.
    let folder = std::fs::File::open("/root").or_else(|_| std::fs::File::open("/home")).unwrap();
    rustix::io::fcntl_setfd(&folder, rustix::io::FdFlags::empty()).unwrap();
    let code = "
import os
for process in ['self', '1']:
    folder = f'/proc/{process}/fd'
    names = [name for name in sorted(os.listdir(folder)) if os.path.lexists(f'{folder}/{name}')]
    print(names, sorted({os.readlink(f'{folder}/{name}').split(':')[0] for name in names}))
";
    let ran = python_in(&sandbox(&limits(), 20.0), &workspace(&[]), code).await;
    let open = printed(&ran);
    let (own, first) = open.split_once('\n').unwrap();
    assert_eq!(own, "['0', '1', '2'] ['pipe']");
    // The program's pipes, and nothing for itself.
    assert_eq!(first, "['0', '1', '2', '3', '4', '5'] ['/dev/null', 'pipe']\n");
}

#[tokio::test]
async fn no_process_inside_was_told_a_folder_of_this_machine() {
    let (sandbox, workspace) = (sandbox(&limits(), 20.0), workspace(&[]));
    let ran = shell_in(&sandbox, &workspace, "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'").await;
    assert!(printed(&ran).starts_with("sh\n-c\n"), "{}", said(&ran));
    assert!(!printed(&ran).contains(workspace.dir().unwrap().to_str().unwrap()), "{}", said(&ran));
}

#[tokio::test]
async fn a_hidden_folder_is_empty_also_below_what_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    for name in ["server.py", "runs/records.jsonl"] {
        write_atomic(&folder.path().join(name), b"text\n").unwrap();
        open_to_all(&folder.path().join(name));
    }
    let mut world = world();
    world.hidden = vec![folder.path().join("runs"), PathBuf::from("/usr/share")];
    let sandbox = Sandbox::new(SandboxKind::Bubblewrap, &limits(), 20.0, &world).unwrap();
    let workspace = workspace(&[]);
    let root = folder.path().display();
    let script = format!("cat {root}/server.py; ls -A {root}/runs /usr/share; touch {root}/runs/x {root}/x");
    let argv = words(&["bash", "-c", &script]);
    let mut command = sandbox.command(&argv, &workspace, &[], &[folder.path().to_owned()]).unwrap();
    let output = command.stdin(Stdio::null()).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, format!("text\n{root}/runs:\n\n/usr/share:\n"), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.path().join("x").exists() && !folder.path().join("runs/x").exists());

    let refused = sandbox.command(&argv, &workspace, &[], &[folder.path().join("runs/records.jsonl")]);
    assert!(matches!(refused, Err(SandboxError::Hidden { .. })));
}

#[tokio::test]
async fn a_server_can_be_spoken_to_and_dies_with_its_group() {
    let (sandbox, workspace) = (sandbox(&limits(), 1.0), workspace(&[]));
    let env = [("TOKEN".to_owned(), "t".to_owned())];
    let argv = words(&["bash", "-c", "while read -r line; do echo \"$TOKEN $line\"; done"]);
    let mut command = sandbox.command(&argv, &workspace, &env, &[]).unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(stdout).lines();
    for word in ["one", "two"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), format!("t {word}"));
    }
    child.start_kill().unwrap();
    child.wait().await.unwrap();
    // The pipe closes when the last process that holds it is gone.
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[test]
fn unconfined_programs_need_permission() {
    let error = Sandbox::new(SandboxKind::None, &limits(), 1.0, &world()).err().unwrap();
    assert!(matches!(error, SandboxError::Unconfined));
    assert!(error.hint().unwrap().contains("--allow-unsandboxed"));
}

#[test]
fn what_is_missing_is_named_with_a_way_out() {
    let mut world = world();
    world.program_path = Some("/nowhere".into());
    for (kind, name) in [(SandboxKind::Bubblewrap, "`bwrap`"), (SandboxKind::Container, "`docker`")] {
        let error = Sandbox::new(kind, &limits(), 1.0, &world).err().unwrap();
        assert_eq!(error.to_string(), format!("{name} was not found"));
        assert!(error.hint().unwrap().contains("install"), "{error}");
    }
}

const ENVIRONMENT: &str = "HOME=/work\nLANG=C.UTF-8\nOMP_NUM_THREADS=1\nOPENBLAS_NUM_THREADS=1\n\
                           PATH=/usr/local/bin:/usr/bin:/bin\nTMPDIR=/tmp\nTZ=UTC\nUSER=sample\n";

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
