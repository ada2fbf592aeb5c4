//! A process group, killed as a whole.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid};
use tokio::process::Child;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};

/// A program that was started as the leader of a process group (`process_group(0)`), and whatever it started. Dropping it
/// kills all of them.
#[derive(Debug)]
pub struct Group {
    /// The leader's id, until the leader has been waited for: only so long is the id surely ours.
    leader: Option<Pid>,
}

impl Group {
    /// The group whose leader has this id.
    pub fn of(leader: Option<u32>) -> Self {
        Self { leader: leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) }
    }

    /// The leader, while it has not been waited for.
    pub fn leader(&self) -> Option<Pid> {
        self.leader
    }

    pub fn kill(&self) {
        if let Some(leader) = self.leader {
            // Fails only when nothing of the group is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Whether the leader has ended. It is still to be waited for, so that the group can be killed by its id.
    pub fn has_ended(&self) -> io::Result<bool> {
        let Some(leader) = self.leader else { return Ok(true) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(leader), options)?.is_some())
    }

    /// The leader has been waited for: its id may be somebody else's soon. Returns what it was.
    pub fn forget(&mut self) -> Option<Pid> {
        self.leader.take()
    }

    /// Kills the group, waits for the leader, and for a moment until the rest of the group is gone.
    pub async fn reap(&mut self, child: &mut Child, moment: Duration) -> io::Result<ExitStatus> {
        self.kill();
        let status = timeout(REAP, child.wait()).await.map_err(|_| io::ErrorKind::TimedOut)??;
        if let Some(group) = self.forget() {
            // A signal that is never sent: only whether there is anyone to send it to.
            let deadline = Instant::now() + moment;
            while test_kill_process_group(group).is_ok() && Instant::now() < deadline {
                sleep(TICK).await;
            }
        }
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Hears when any child of ours ended. Made before a program is started, so that an early end is heard.
#[derive(Debug)]
pub struct Ends(Signals);

impl Ends {
    pub fn listen() -> io::Result<Self> {
        signal(SignalKind::child()).map(Self)
    }

    /// Waits until the leader of a group has ended.
    pub async fn of(&mut self, group: &Group) -> io::Result<()> {
        while !group.has_ended()? {
            // The signal says that some child ended; the pause is for the day when someone else takes the signals.
            let _ = timeout(LOOK, self.0.recv()).await;
        }
        Ok(())
    }
}

const REAP: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use tokio::io::{AsyncBufReadExt as _, BufReader};
    use tokio::process::Command;

    use super::*;

    /// A shell whose child sleeps, and the child's id.
    async fn shell() -> (Child, Group, Pid) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 600 & echo $!; wait"]).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let group = Group::of(child.id());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        (child, group, Pid::from_raw(line.trim().parse().unwrap()).unwrap())
    }

    /// Whether it runs. One that nobody has waited for yet is a zombie, which does not.
    fn runs(process: Pid) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
        status.is_ok_and(|status| !status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
    }

    async fn ends_soon(process: Pid) -> bool {
        for _ in 0..500 {
            if !runs(process) {
                return true;
            }
            sleep(Duration::from_millis(10)).await;
        }
        false
    }

    #[tokio::test]
    async fn whatever_a_program_started_ends_with_it() {
        let (mut child, mut group, grandchild) = shell().await;
        assert!(runs(grandchild) && !group.has_ended().unwrap());
        let status = group.reap(&mut child, Duration::from_secs(5)).await.unwrap();
        assert!(!status.success());
        assert!(ends_soon(grandchild).await);
        assert_eq!(group.leader(), None, "the id may belong to somebody else now");
        assert!(group.has_ended().unwrap());
    }

    #[tokio::test]
    async fn whoever_goes_away_takes_the_group_along() {
        let (child, group, grandchild) = shell().await;
        drop(group);
        assert!(ends_soon(grandchild).await);
        drop(child);
    }

    #[tokio::test]
    async fn an_end_is_heard_and_the_leader_is_still_to_be_waited_for() {
        let mut ends = Ends::listen().unwrap();
        let mut child = Command::new("/bin/sh").args(["-c", "exit 3"]).process_group(0).spawn().unwrap();
        let group = Group::of(child.id());
        ends.of(&group).await.unwrap();
        assert!(group.has_ended().unwrap());
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
    }
}
