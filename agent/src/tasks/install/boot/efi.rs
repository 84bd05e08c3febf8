//! Reads and writes the firmware's variables. Source: the kernel's `Documentation/filesystems/efivarfs.rst`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::load_option;

/// The vendor of `Boot####` and `BootOrder`.
const GLOBAL: &str = "8be4df61-93ca-11d2-aa0d-00e098032b8c";
/// Non-volatile, for boot services and at run time.
const ATTRIBUTES: u32 = 7;
const ATTRIBUTE_BYTES: usize = 4;
const FOLDER: &str = "/sys/firmware/efi/efivars";
const ORDER: &str = "BootOrder";

/// The folder of variables.
#[derive(Debug, Clone)]
pub struct Variables {
    folder: PathBuf,
}

impl Variables {
    /// The variables of this machine; none if it was not started by UEFI.
    pub fn of_machine() -> Option<Self> {
        Path::new("/sys/firmware/efi")
            .is_dir()
            .then(|| Self::in_folder(Path::new(FOLDER)))
    }

    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Makes this load option the first one; returns its number. An equal one is reused.
    ///
    /// # Errors
    /// Fails if a variable cannot be read or written.
    pub fn boot_first(&self, option: &[u8]) -> io::Result<u16> {
        let mut used = Vec::new();
        let mut same = None;
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let Some(number) = name
                .strip_suffix(GLOBAL)
                .and_then(|name| name.strip_suffix('-'))
                .and_then(load_option::number)
            else {
                continue;
            };
            used.push(number);
            if same.is_none_or(|found| number < found)
                && self.value(&variable(number))?.as_deref() == Some(option)
            {
                same = Some(number);
            }
        }
        let number = match same {
            Some(number) => number,
            None => {
                let free = (0..=u16::MAX).find(|number| !used.contains(number));
                let number = free.ok_or_else(|| io::Error::other("all numbers of boot entries are used"))?;
                self.put(&variable(number), option)?;
                number
            }
        };
        let before = self.value(ORDER)?.unwrap_or_default();
        let after = load_option::order_with(number, &before);
        if after != before {
            self.put(ORDER, &after)?;
        }
        Ok(number)
    }

    fn value(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.file(name)) {
            Ok(bytes) => Ok(Some(bytes.get(ATTRIBUTE_BYTES..).unwrap_or_default().to_vec())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A variable is written by one call, its attributes first.
    fn put(&self, name: &str, value: &[u8]) -> io::Result<()> {
        let mut bytes = ATTRIBUTES.to_le_bytes().to_vec();
        bytes.extend(value);
        let file = self.file(name);
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&file);
        opened
            .and_then(|mut file| file.write_all(&bytes))
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{GLOBAL}"))
    }
}

fn variable(number: u16) -> String {
    format!("Boot{number:04X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_made_once_and_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, value: &[u8]| {
            let bytes = [&7_u32.to_le_bytes(), value].concat();
            std::fs::write(folder.path().join(format!("{name}-{GLOBAL}")), bytes).unwrap();
        };
        put("Boot0000", b"CD");
        put("Boot0002", b"network");
        put("BootOrder", &[2, 0, 0, 0]);
        std::fs::write(
            folder
                .path()
                .join("Boot0001-00000000-0000-0000-0000-000000000000"),
            "x",
        )
        .unwrap();
        let variables = Variables::in_folder(folder.path());
        assert_eq!(variables.boot_first(b"disk").unwrap(), 1);
        let order = |variables: &Variables| variables.value(ORDER).unwrap().unwrap();
        assert_eq!(order(&variables), [1, 0, 2, 0, 0, 0]);
        assert_eq!(variables.value("Boot0001").unwrap().unwrap(), b"disk");
        put("BootOrder", &[2, 0, 0, 0, 1, 0]);
        assert_eq!(variables.boot_first(b"disk").unwrap(), 1);
        assert_eq!(order(&variables), [1, 0, 2, 0, 0, 0]);
    }
}
