//! Paths that say where something is for everyone, and nothing about this machine.
//!
//! Everything here is lexical: the paths that come in are absolute and real, with links resolved by whoever asked.

use std::path::{Component, Path, PathBuf};

/// Stands where a part of a path was cut off.
pub const CUT: &str = "…";

/// The folders around a run, absolute and without links.
#[derive(Debug, Clone)]
pub struct Ground {
    /// What recorded paths are relative to.
    root: PathBuf,
    /// The suite's own root under it.
    prefix: PathBuf,
    suite: PathBuf,
    run_dir: PathBuf,
    cwd: PathBuf,
    home: Option<PathBuf>,
    repository: Option<PathBuf>,
    outputs: Option<PathBuf>,
}

/// Where a run took place.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Where the suite's paths start.
    pub root: PathBuf,
    pub suite: PathBuf,
    pub run_dir: PathBuf,
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// The top of the work tree that holds the suite.
    pub repository: Option<PathBuf>,
    /// Answers that are scored, when no model is asked.
    pub outputs: Option<PathBuf>,
}

impl Ground {
    pub fn new(around: Surroundings) -> Self {
        let Surroundings { root, suite, run_dir, cwd, home, repository, outputs } = around;
        let repository = repository.filter(|top| suite.starts_with(top));
        let own = root.clone();
        let mut ground = Self { prefix: PathBuf::new(), root, suite, run_dir, cwd, home, repository, outputs };
        for beside in [Some(ground.suite.clone()), ground.outputs.clone()].into_iter().flatten() {
            // A suite or outputs beside the suite's files: the root goes up to hold both, when that tells nothing.
            let common = common(&ground.root, &beside);
            if common != ground.root && ground.may_name_below(&common) {
                ground.prefix = own.strip_prefix(&common).map(Path::to_owned).unwrap_or_default();
                ground.root = common;
            }
        }
        ground
    }

    /// The suite's path from the root; `None` when it is not under it.
    pub fn suite_path(&self) -> Option<String> {
        text_of(self.suite.strip_prefix(&self.root).ok()?)
    }

    /// The path of the scored outputs from the root; `None` when they are not under it.
    pub fn outputs_path(&self) -> Option<String> {
        text_of(self.outputs.as_ref()?.strip_prefix(&self.root).ok()?)
    }

    /// A path of the suite from the root.
    pub fn path_of(&self, path: &str) -> String {
        match self.prefix.to_str() {
            Some(prefix) if !prefix.is_empty() => format!("{prefix}/{path}"),
            _ => path.to_owned(),
        }
    }

    /// The way from the run directory to the root; `None` when it leads over folders that are nobody's business.
    pub fn root_from_run_dir(&self) -> Option<String> {
        self.way(&self.run_dir, &self.root)
    }

    /// Where the root is in its repository.
    pub fn root_in_repo(&self) -> Option<String> {
        text_of(self.root.strip_prefix(self.repository.as_ref()?).ok()?)
    }

    /// A path from the root. What is not under it is cut to its name, and the cut is marked.
    pub fn from_root(&self, path: &Path) -> String {
        let path = normal(path);
        path.strip_prefix(&self.root).ok().and_then(text_of).unwrap_or_else(|| cut_to_name(&path))
    }

    /// An argument of the command line as it can be given from the root. `real` is where it leads, for one that is
    /// known to be a path.
    pub fn argument(&self, text: &str, real: Option<&Path>) -> String {
        let is_absolute = |text: &str| text.starts_with('/');
        let out = if let Some(real) = real {
            if is_absolute(text) {
                self.from_root(real)
            } else {
                self.way(&self.root, &normal(real)).unwrap_or_else(|| cut_to_name(real))
            }
        } else if is_absolute(text) {
            self.from_root(Path::new(text))
        } else if let Some((name, value)) = text.split_once('=').filter(|(_, value)| is_special(value)) {
            format!("{name}={}", self.argument(value, None))
        } else if is_foreign(text) {
            let name = text.rsplit(['\\', '/']).next().unwrap_or_default();
            format!("{CUT}/{name}")
        } else if text.split('/').any(|part| part == "..") && !text.contains("://") {
            let path = normal(&self.cwd.join(text));
            self.way(&self.root, &path).unwrap_or_else(|| cut_to_name(&path))
        } else {
            text.to_owned()
        };
        self.without_home(&out)
    }

    /// The home directory can stand anywhere inside an argument, as in `file:///home/me`.
    fn without_home(&self, text: &str) -> String {
        let Some(home) = self.home.as_deref().and_then(Path::to_str).filter(|home| home.len() > 1) else {
            return text.to_owned();
        };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(home) {
            let (before, after) = (&rest[..at], &rest[at + home.len()..]);
            // `/home/me` is not `/home/men`.
            let is_whole = after.chars().next().is_none_or(|next| !next.is_alphanumeric());
            out.push_str(before);
            out.push_str(if is_whole { CUT } else { home });
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// A relative way between two folders, when everything it names is below a folder whose content is no secret.
    fn way(&self, from: &Path, to: &Path) -> Option<String> {
        if let Ok(below) = to.strip_prefix(from) {
            return text_of(below);
        }
        let shared = common(from, to);
        if shared != to && !self.may_name_below(&shared) {
            return None;
        }
        let up = from.strip_prefix(&shared).ok()?.components().count();
        let down = text_of(to.strip_prefix(&shared).ok()?)?;
        let mut parts = vec![".."; up];
        if down != "." {
            parts.push(&down);
        }
        Some(parts.join("/"))
    }

    /// Whether names below a folder may be told: it is in the repository, under the root, or where the command was
    /// given, and not above somebody's home.
    fn may_name_below(&self, folder: &Path) -> bool {
        let is_above_home = |top: &Path| self.home.as_ref().is_some_and(|home| home != top && home.starts_with(top));
        let tops = [Some(&self.root), self.repository.as_ref(), Some(&self.cwd)];
        tops.into_iter().flatten().any(|top| folder.starts_with(top) && top.parent().is_some() && !is_above_home(top))
    }
}

/// A path with `/` between its parts, `.` for nothing; `None` when it is not text.
fn text_of(path: &Path) -> Option<String> {
    let parts: Vec<&str> = path.components().map(|part| part.as_os_str().to_str()).collect::<Option<_>>()?;
    Some(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

/// The deepest folder that holds both.
fn common(a: &Path, b: &Path) -> PathBuf {
    a.components().zip(b.components()).take_while(|(a, b)| a == b).map(|(part, _)| part).collect()
}

/// Takes `.` and `..` out of an absolute path.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

fn cut_to_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{CUT}/{name}")
}

/// Whether the value of an option needs a look of its own.
fn is_special(value: &str) -> bool {
    value.starts_with('/') || is_foreign(value) || value.split('/').any(|part| part == "..")
}

/// An absolute path of another system, or of somebody's home.
fn is_foreign(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1..3] == *b":\\";
    has_drive || text.starts_with(r"\\") || text.starts_with("~/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground(root: &str, suite: &str, run_dir: &str, cwd: &str, repository: Option<&str>) -> Ground {
        Ground::new(Surroundings {
            root: root.into(),
            suite: suite.into(),
            run_dir: run_dir.into(),
            cwd: cwd.into(),
            home: Some("/home/ada".into()),
            repository: repository.map(Into::into),
            outputs: None,
        })
    }

    #[test]
    fn the_root_is_named_from_the_sidecar_only_when_that_tells_nothing() {
        let cases = [
            // root, run directory, working directory, repository, from the sidecar, in the repository
            ("/r/evals", "/r/evals/runs/a", "/r/evals", None, Some("../.."), None),
            ("/r/evals", "/r/evals", "/", None, Some("."), None),
            ("/r/evals", "/r/runs/a", "/r", None, Some("../../evals"), None),
            ("/r/evals", "/r/runs/a", "/", Some("/r"), Some("../../evals"), Some("evals")),
            ("/r", "/tmp/a", "/r", Some("/r"), None, Some(".")),
            ("/home/ada/p", "/tmp/a", "/tmp/a", None, None, None),
            // The command was given in `/` or `/home`: everything is below, and nothing may be told.
            ("/home/ada/p", "/tmp/a", "/", None, None, None),
            ("/home/ada/p", "/home/bob/a", "/home", None, None, None),
            ("/home/ada/p", "/home/ada/runs", "/home/ada", None, Some("../p"), None),
        ];
        for (root, run_dir, cwd, repository, from_run_dir, in_repo) in cases {
            let ground = ground(root, &format!("{root}/suite.yaml"), run_dir, cwd, repository);
            assert_eq!(ground.root_from_run_dir().as_deref(), from_run_dir, "{root} {run_dir} {cwd}");
            assert_eq!(ground.root_in_repo().as_deref(), in_repo, "{root} {run_dir} {cwd}");
            assert_eq!(ground.suite_path().as_deref(), Some("suite.yaml"));
            assert_eq!(ground.path_of("data/x.csv"), "data/x.csv");
        }
    }

    #[test]
    fn a_suite_beside_its_files_lifts_the_root() {
        let beside = ground("/r/data", "/r/suites/a.yaml", "/r/runs/a", "/elsewhere", Some("/r"));
        assert_eq!(beside.suite_path().as_deref(), Some("suites/a.yaml"));
        assert_eq!(beside.path_of("x.csv"), "data/x.csv");
        assert_eq!(beside.root_from_run_dir().as_deref(), Some("../.."));
        // Nothing that may be told holds both.
        let apart = ground("/data/x", "/home/ada/a.yaml", "/data/x/runs/a", "/", None);
        assert_eq!(apart.suite_path(), None);
        assert_eq!(apart.path_of("x.csv"), "x.csv");
        assert_eq!(apart.root_from_run_dir().as_deref(), Some("../.."));
    }

    #[test]
    fn arguments_name_nothing_outside_the_root() {
        let ground = ground("/r/evals", "/r/evals/suite.yaml", "/r/runs/a", "/r", None);
        for (text, real, want) in [
            ("evals/suite.yaml", Some("/r/evals/suite.yaml"), "suite.yaml"),
            ("/r/evals/suite.yaml", Some("/r/evals/suite.yaml"), "suite.yaml"),
            ("/through/a/link.yaml", Some("/r/evals/suite.yaml"), "suite.yaml"),
            ("runs/a", Some("/r/runs/a"), "../runs/a"),
            ("/r/runs/a", Some("/r/runs/a"), "…/a"),
            ("../other/a", Some("/other/a"), "…/a"),
            ("/home/ada/secret plans/x.yaml", None, "…/x.yaml"),
            ("--run-dir=/home/ada/secret plans/x", None, "--run-dir=…/x"),
            ("--root=/r/evals", None, "--root=."),
            ("../x/y", None, "…/y"),
            ("evals/../runs", None, "../runs"),
            ("--a=../../home/ada/y", None, "--a=…/y"),
            ("file:///home/ada/x", None, "file://…/x"),
            ("a:/home/ada,b:/home/adam", None, "a:…,b:/home/adam"),
            ("C:\\Users\\ada\\x.yaml", None, "…/x.yaml"),
            ("~/x", None, "…/x"),
            ("/", None, "…/"),
            ("--max-items", None, "--max-items"),
            ("task=a/b", None, "task=a/b"),
            ("model=x:/y", None, "model=x:/y"),
            ("", None, ""),
        ] {
            assert_eq!(ground.argument(text, real.map(Path::new)), want, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_not_text_is_not_told() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = PathBuf::from(std::ffi::OsString::from_vec(b"/r/\xff/suite.yaml".to_vec()));
        let around = Surroundings { root: "/r".into(), suite: odd, run_dir: "/r/a".into(), ..Surroundings::default() };
        assert_eq!(Ground::new(around).suite_path(), None);
    }
}
