//! What tools that are not ours say of a package: by the very commands that its README gives.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proofmark_testkit::command::TestEnv;

use super::{call, gaia_run, package_in, private, run, seal};

/// The Python that has the libraries.
#[track_caller]
fn python() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/verifiers/bin/python");
    assert!(path.exists(), "`{}` is missing; `cargo xtask verifiers` makes it", path.display());
    path
}

/// A GAIA package, moved elsewhere.
fn moved() -> (TestEnv, String) {
    let env = gaia_run();
    seal(&env, &["-o", "out"]).expect(0);
    let package = package_in(&env, "out");
    std::fs::rename(env.path(&package), env.path("elsewhere")).unwrap();
    (env, "elsewhere".to_owned())
}

/// The part of a text between two others.
#[track_caller]
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no `{start}`"));
    rest.split_once(end).unwrap_or_else(|| panic!("no `{end}`")).0
}

fn in_package(command: &mut Command, env: &TestEnv, package: &str) -> Output {
    std::fs::create_dir_all(env.path("tmp")).unwrap();
    let command = command.current_dir(env.path(package)).env("TMPDIR", env.path("tmp"));
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs commands of a README as they stand there, with programs of a folder before all others.
fn run_script(script: &str, env: &TestEnv, package: &str, programs: &Path) -> Output {
    let script = format!("PATH={}:$PATH\n{script}", programs.display());
    in_package(Command::new("sh").args(["-c", &script]), env, package)
}

/// Whoever followed the README still has the package.
#[track_caller]
fn still_holds(env: &TestEnv, package: &str) {
    call(env, &["verify", "."]).within(&env.path(package)).run().expect(0).says(&["verdict: holds"]);
}

/// Changes a file, asks, and puts it back.
fn with_change<T>(env: &TestEnv, name: &str, ask: impl FnOnce() -> T) -> T {
    let before = env.bytes(name);
    let mut changed = before.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    env.put(name, changed);
    let answer = ask();
    env.put(name, before);
    answer
}

#[test]
fn ssh_keygen_checks_a_package_as_its_readme_says() {
    let (env, package) = moved();
    let readme = env.text(&format!("{package}/README.md"));
    let script = between(&readme, "# OpenSSH\n", "\n\n");
    let ask = || {
        let done = in_package(Command::new("sh").args(["-c", script]), &env, &package);
        (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let (holds, said) = ask();
    let fingerprint = private(&env, "ada").public().fingerprint().to_string();
    assert!(holds && said.contains(&fingerprint), "{said}");
    still_holds(&env, &package);
    assert!(!with_change(&env, &format!("{package}/package.json"), ask).0);
    assert!(!with_change(&env, &format!("{package}/attestations/package.json.sig"), ask).0);
    // By the trust file of whoever verifies.
    env.put("signers", run(&env, &["keys", "export", "--allowed-signers"]).expect(0).stdout);
    let verify = format!(
        "ssh-keygen -Y verify -f signers -I ada -n proofmark -s {package}/attestations/package.json.sig < {package}/package.json"
    );
    let done = Command::new("sh").args(["-c", &verify]).current_dir(env.root()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn python_checks_a_package_as_its_readme_says() {
    let (env, package) = moved();
    let readme = env.text(&format!("{package}/README.md"));
    let script = between(&readme, "# Python: pip install securesystemslib cryptography\n", "```\n");
    let ask = || run_script(script, &env, &package, python().parent().unwrap());
    let done = ask();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    still_holds(&env, &package);
    let files = env.tree(&package).files().len() - 3;
    assert!(said.contains(&format!("unchanged: {files} files")), "{said}");
    for name in ["run/records.jsonl", "results.jsonl", "package.json", "attestations/run.sigstore.json"] {
        let done = with_change(&env, &format!("{package}/{name}"), ask);
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success(), "{name}");
        for broken in ["SyntaxError", "ImportError", "ModuleNotFoundError", "NameError"] {
            assert!(!stderr.contains(broken), "{stderr}");
        }
    }
}

#[test]
fn coreutils_check_the_list_of_files() {
    let (env, package) = moved();
    let contents: serde_json::Value = serde_json::from_slice(&env.bytes(&format!("{package}/package.json"))).unwrap();
    let files = contents["files"].as_array().unwrap();
    let lines: String = files
        .iter()
        .map(|file| format!("{}  {}\n", file["sha256"].as_str().unwrap(), file["path"].as_str().unwrap()))
        .collect();
    env.put("sums", lines);
    let ask = || in_package(Command::new("sha256sum").args(["--check", "--quiet", "../sums"]), &env, &package);
    assert!(ask().status.success());
    assert!(!with_change(&env, &format!("{package}/run/summary.json"), ask).status.success());
}

#[test]
fn cosign_checks_a_package_as_its_readme_says_where_it_is_installed() {
    let (env, package) = moved();
    let readme = env.text(&format!("{package}/README.md"));
    let script = between(&readme, "# cosign\n", "\n\n");
    let ask = || run_script(script, &env, &package, &env.path("programs")).status.success();
    // Debian has no cosign; where somebody has one, it is asked. Another looks at what the command gives it.
    let is_installed = Command::new("cosign").arg("version").output().is_ok();
    if !is_installed {
        println!("cosign is not installed: its opinion was not asked");
        env.put(
            "programs/cosign",
            "#!/bin/sh\ngrep -q 'PUBLIC KEY' \"$3\" && test -f \"$5\" && test -f package.json\n",
        );
        let path = env.path("programs/cosign");
        assert!(Command::new("chmod").arg("+x").arg(path).status().unwrap().success());
    }
    assert!(ask());
    still_holds(&env, &package);
    if !is_installed {
        return;
    }
    assert!(!with_change(&env, &format!("{package}/package.json"), ask));
}
