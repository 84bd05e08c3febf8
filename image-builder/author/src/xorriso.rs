//! Safe use of xorriso, the ISO 9660 program that libisoburn is.
//!
//! The library keeps global state: four objects used at once gave three failures
//! (docs/protocol/boot-lab.md#7). So [`run`] holds one process-wide lock from the first call to the last,
//! starts the libraries once, and has them install no signal handlers.
#![expect(unsafe_code, reason = "the only caller of the foreign functions in `sys`")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};

use crate::sys;

/// The oldest libisoburn with tested behaviour.
const REQUIRED_VERSION: (c_int, c_int, c_int) = (1, 5, 4);

/// Name given to the library; it shows in its messages.
const PROGRAM_NAME: &CStr = c"muster-image";

/// `Xorriso_push_outlists`: bit0 = result channel, bit1 = info channel.
const BOTH_CHANNELS: c_int = 3;

/// Guards the library's global state; `true` once the signal behaviour was set.
static LIBRARY: Mutex<bool> = Mutex::new(false);

/// Runs xorriso commands, as given to the program of that name (without the program's name), in a fresh
/// interpreter.
///
/// The library does not have the program's implicit `-commit` at its end: `arguments` must hold `-commit`.
///
/// # Errors
/// When the library is too old or reports a problem; the error holds its messages. After a success, the file is still to be checked: a
/// missing input, for one, is not an error to xorriso.
pub fn run(arguments: &[String]) -> Result<()> {
    let mut prepared = LIBRARY.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !*prepared {
        prepare()?;
        *prepared = true;
    }
    let mut interpreter = Interpreter::start()?;
    interpreter.execute(arguments)
}

fn prepare() -> Result<()> {
    let (major, minor, micro) = REQUIRED_VERSION;
    // SAFETY: takes integers only; no library state is needed.
    let compatible = unsafe { sys::Xorriso__is_compatible(major, minor, micro, 0) };
    ensure!(
        compatible == 1,
        "libisoburn is older than {major}.{minor}.{micro}; install a newer libisoburn1"
    );
    // SAFETY: takes integers only; called once, before the libraries start, as its documentation requires.
    let preset = unsafe { sys::Xorriso__preset_signal_behavior(0, 0) };
    ensure!(preset > 0, "libisoburn refused to leave signals alone");
    Ok(())
}

/// Owns one `XorrisO` object, and the capture of its messages.
struct Interpreter {
    object: *mut sys::XorrisO,
}

impl Interpreter {
    fn start() -> Result<Self> {
        let mut object = ptr::null_mut();
        // SAFETY: `object` is a valid place for the pointer; the library copies the name.
        let made = unsafe { sys::Xorriso_new(&mut object, PROGRAM_NAME.as_ptr().cast_mut(), 0) };
        ensure!(
            made > 0 && !object.is_null(),
            "libisoburn could not make an interpreter"
        );
        let interpreter = Self { object };
        // SAFETY: `object` was just made and is owned by `interpreter`.
        let started = unsafe { sys::Xorriso_startup_libraries(interpreter.object, 0) };
        ensure!(started > 0, "libisoburn's libraries did not start");
        Ok(interpreter)
    }

    fn execute(&mut self, arguments: &[String]) -> Result<()> {
        let words = std::iter::once(PROGRAM_NAME.to_owned())
            .chain(
                arguments
                    .iter()
                    .map(|word| CString::new(word.as_str()))
                    .collect::<Result<Vec<_>, _>>()
                    .context("an argument for xorriso holds a NUL")?,
            )
            .collect::<Vec<_>>();
        let mut argv: Vec<*mut c_char> = words.iter().map(|word| word.as_ptr().cast_mut()).collect();
        let argc = c_int::try_from(argv.len()).context("too many arguments for xorriso")?;

        let mut capture = 0;
        // SAFETY: the object lives; `capture` is a valid place.
        let pushed = unsafe { sys::Xorriso_push_outlists(self.object, &mut capture, BOTH_CHANNELS) };
        ensure!(pushed > 0, "libisoburn did not let its messages be read");
        let mut index = 1;
        // SAFETY: the object lives; `argv` holds `argc` NUL-terminated strings that outlive the call, and the
        // interpreter only reads them (xorriso.h, Xorriso_interpreter).
        let outcome =
            unsafe { sys::Xorriso_interpreter(self.object, argc, argv.as_mut_ptr(), &mut index, 0) };
        let messages = self.pull_messages(capture);
        // SAFETY: the object lives.
        let exit_value = unsafe { sys::Xorriso_make_return_value(self.object, 0) };
        if outcome <= 0 || exit_value != 0 {
            bail!(
                "xorriso failed (result {outcome}, exit value {exit_value}):\n{}",
                messages.join("\n")
            );
        }
        Ok(())
    }

    /// Ends the capture and returns its lines: results first, then messages about the work.
    fn pull_messages(&mut self, capture: c_int) -> Vec<String> {
        let mut results = ptr::null_mut();
        let mut infos = ptr::null_mut();
        // SAFETY: the object lives; `capture` came from its push; both places are valid.
        let pulled = unsafe { sys::Xorriso_pull_outlists(self.object, capture, &mut results, &mut infos, 0) };
        if pulled <= 0 {
            return Vec::new();
        }
        let mut lines = take_list(results);
        lines.extend(take_list(infos));
        lines
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // SAFETY: the object is owned by this value and used nowhere after; flag 0 leaves the libraries
        // running for the next interpreter.
        unsafe { sys::Xorriso_destroy(&mut self.object, 0) };
    }
}

/// Copies the texts of a message list and frees it.
fn take_list(mut list: *mut sys::Xorriso_lsT) -> Vec<String> {
    let mut lines = Vec::new();
    let mut item = list;
    while !item.is_null() {
        // SAFETY: `item` is an element of a list that is freed only below; its text, when not null, is a
        // NUL-terminated string owned by the list.
        unsafe {
            let text = sys::Xorriso_lst_get_text(item, 0);
            if !text.is_null() {
                lines.push(CStr::from_ptr(text).to_string_lossy().trim_end().to_owned());
            }
            item = sys::Xorriso_lst_get_next(item, 0);
        }
    }
    if !list.is_null() {
        // SAFETY: the list came from Xorriso_pull_outlists, which hands it over; nothing refers to it any
        // more.
        unsafe { sys::Xorriso_lst_destroy_all(&mut list, 0) };
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn an_unknown_command_is_an_error_that_quotes_it() {
        let error = run(&["-no_such_command".to_owned()]).expect_err("refused");
        assert!(error.to_string().contains("no_such_command"), "{error:#}");
    }

    #[test]
    fn several_threads_write_several_images() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "content").unwrap();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    let target = folder.join(format!("{number}.iso"));
                    run(&[
                        "-outdev".to_owned(),
                        format!("stdio:{}", target.display()),
                        "-map".to_owned(),
                        folder.join("file").display().to_string(),
                        "/file".to_owned(),
                        "-commit".to_owned(),
                    ])
                    .unwrap();
                    let image = std::fs::read(target).unwrap();
                    assert_eq!(&image[0x8001..0x8006], b"CD001");
                });
            }
        });
    }
}
