//! Questions on the terminal whose answer is not shown.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

/// Asks on the terminal itself, so that stdin and stdout stay what they are. `None` when there is no terminal.
pub(crate) fn ask_secret(question: &str) -> io::Result<Option<Zeroizing<String>>> {
    let Ok(terminal) = File::options().read(true).write(true).open("/dev/tty") else { return Ok(None) };
    // Silent first: whoever types when the question appears is not shown either.
    let silent = Silent::start(&terminal)?;
    (&terminal).write_all(question.as_bytes())?;
    let answer = read_line(&terminal);
    drop(silent);
    (&terminal).write_all(b"\n")?;
    answer.map(Some)
}

/// A terminal that shows nothing of what is typed, until dropped.
struct Silent<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Silent<'a> {
    fn start(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut modes = before.clone();
        // Without ISIG, Ctrl-C comes here as a character: a signal would leave the terminal silent.
        modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(terminal, OptionalActions::Flush, &modes)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        // When the terminal is gone there is nothing to restore.
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}

/// More than anybody types; a file can be pasted by mistake.
const LONGEST: usize = 4096;

fn read_line(mut terminal: &File) -> io::Result<Zeroizing<String>> {
    // Never grown: growing would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut byte = Zeroizing::new([0]);
    loop {
        if terminal.read(&mut byte[..])? == 0 {
            return Err(io::Error::other("the terminal is gone"));
        }
        match byte[0] {
            b'\r' | b'\n' => break,
            // Ctrl-C, Ctrl-D, Ctrl-\.
            3 | 4 | 28 => return Err(io::Error::new(io::ErrorKind::Interrupted, "given up")),
            // Ctrl-U takes everything back, a backspace one character.
            21 => bytes.clear(),
            8 | 127 => while bytes.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            other if bytes.len() < LONGEST => bytes.push(other),
            _ => {}
        }
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| io::Error::other("what was typed is not UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
}
