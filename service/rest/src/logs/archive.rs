//! Reads texts in archives of logs, which are gzipped tar archives. What is in one is what a host sent: each read has an end.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Take};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry};

/// Bytes of an archive that are unpacked for one request.
const UNPACKED: u64 = 64 << 20;

/// Files of an archive that are named.
const MOST_FILES: usize = 1000;

/// Bytes of a name; files with longer ones are passed over. The format has names of any length, each in memory as a whole: `UNPACKED` is their end.
const LONGEST_NAME: usize = 512;

/// Bytes of a line that are read; the rest is left out.
const LONGEST_LINE: usize = 4096;

/// Bytes of lines in one answer.
const LARGEST: usize = 1 << 20;

/// The bytes are no gzipped tar archive.
#[derive(Debug, PartialEq, Eq)]
pub struct NoArchive;

/// The files of an archive.
#[derive(Debug, PartialEq, Eq)]
pub struct Files {
    /// Name and bytes.
    pub files: Vec<(String, u64)>,
    /// The archive is larger than what is read of it, or damaged, or has files with names that are too long.
    pub is_cut: bool,
}

/// The lines to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub file: String,
    /// Only lines with this number or a greater one; the first line is 1.
    pub from: u64,
    /// Most lines.
    pub most: usize,
    /// The last of the lines in place of the first.
    pub last: bool,
    /// Only lines that contain it, in any case of ASCII letters; empty: all.
    pub text: String,
}

/// Lines of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Lines {
    /// Bytes of the file.
    pub size: u64,
    /// With their numbers.
    pub lines: Vec<(u64, String)>,
    /// There are further ones behind, or of the last ones before.
    pub more: bool,
    /// The archive ends within the file, by its size or by damage.
    pub is_cut: bool,
}

type Unpacked<'a> = Take<MultiGzDecoder<&'a [u8]>>;

fn open(bytes: &[u8]) -> Archive<Unpacked<'_>> {
    Archive::new(MultiGzDecoder::new(bytes).take(UNPACKED))
}

/// `None`: it is too long.
fn name<R: Read>(entry: &Entry<'_, R>) -> Option<String> {
    let bytes = entry.path_bytes();
    (bytes.len() <= LONGEST_NAME).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The files of an archive.
///
/// # Errors
/// [`NoArchive`] if no file can be read.
pub fn files(bytes: &[u8]) -> Result<Files, NoArchive> {
    let mut archive = open(bytes);
    let (mut files, mut is_cut) = (Vec::new(), false);
    for entry in archive.entries().map_err(|_| NoArchive)? {
        let Ok(entry) = entry else {
            is_cut = true;
            break;
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        if files.len() == MOST_FILES {
            is_cut = true;
            break;
        }
        match name(&entry) {
            Some(name) => files.push((name, entry.size())),
            None => is_cut = true,
        }
    }
    match files.is_empty() && is_cut {
        true => Err(NoArchive),
        false => Ok(Files { files, is_cut }),
    }
}

/// Lines of a file; `None`: the archive has no file of that name.
///
/// # Errors
/// [`NoArchive`] if no file can be read.
pub fn lines(bytes: &[u8], wanted: &Wanted) -> Result<Option<Lines>, NoArchive> {
    let mut archive = open(bytes);
    let mut is_first = true;
    for entry in archive.entries().map_err(|_| NoArchive)? {
        let entry = match entry {
            Ok(entry) => entry,
            Err(_) if is_first => return Err(NoArchive),
            Err(_) => break,
        };
        is_first = false;
        if entry.header().entry_type().is_file() && name(&entry).is_some_and(|name| name == wanted.file) {
            let size = entry.size();
            return Ok(Some(scan(BufReader::new(entry), size, wanted)));
        }
    }
    Ok(None)
}

fn scan(mut reader: impl BufRead, size: u64, wanted: &Wanted) -> Lines {
    let text = wanted.text.to_ascii_lowercase();
    let mut lines: VecDeque<(u64, String)> = VecDeque::new();
    let (mut number, mut bytes) = (0, 0);
    let (mut more, mut is_cut) = (false, false);
    let (mut line, mut passed) = (Vec::new(), 0);
    let mut lower = String::new();
    loop {
        match next_line(&mut reader, &mut line, &mut passed) {
            Ok(true) => number += 1,
            Ok(false) => {
                // The end of what is unpacked is no error.
                is_cut = passed < size;
                break;
            }
            Err(_) => {
                is_cut = true;
                break;
            }
        }
        if number < wanted.from {
            continue;
        }
        let read = String::from_utf8_lossy(&line);
        if !contains(&read, &text, &mut lower) {
            continue;
        }
        let is_full = |lines: &VecDeque<(u64, String)>, bytes: usize| {
            lines.len() >= wanted.most || bytes + read.len() > LARGEST
        };
        if is_full(&lines, bytes) {
            more = true;
            if !wanted.last {
                break;
            }
            while is_full(&lines, bytes) {
                let Some((_, oldest)) = lines.pop_front() else {
                    break;
                };
                bytes -= oldest.len();
            }
        }
        bytes += read.len();
        lines.push_back((number, read.into_owned()));
    }
    Lines {
        size,
        lines: lines.into(),
        more,
        is_cut,
    }
}

/// True if the line contains the text, which is in lower case, in any case of ASCII letters. `lower`: memory for all lines of a file. There may be
/// millions of them: one that is too short costs no search, which begins with work of the text's length.
fn contains(line: &str, text: &str, lower: &mut String) -> bool {
    if text.is_empty() {
        return true;
    }
    if line.len() < text.len() {
        return false;
    }
    lower.clear();
    lower.push_str(line);
    lower.make_ascii_lowercase();
    lower.contains(text)
}

/// Reads the next line without its end, as far as it is not too long; false at the end. `passed`: counts the bytes of the file.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>, passed: &mut u64) -> io::Result<bool> {
    line.clear();
    let mut is_there = false;
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(is_there);
        }
        is_there = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = LONGEST_LINE.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        *passed += used as u64;
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, content) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            tar.append_data(&mut header, name, *content).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    fn wanted(from: u64, most: usize, last: bool, text: &str) -> Wanted {
        Wanted {
            file: "b.log".into(),
            from,
            most,
            last,
            text: text.into(),
        }
    }

    fn numbers(found: &Lines) -> Vec<u64> {
        found.lines.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn a_window_has_lines_with_their_numbers_from_either_end() {
        let bytes = archive(&[("a.log", b"x"), ("b.log", b"one\ntwo\n\nFour two\nfive")]);
        assert_eq!(
            files(&bytes).unwrap(),
            Files {
                files: vec![("a.log".into(), 1), ("b.log".into(), 22)],
                is_cut: false
            }
        );
        let read = |wanted: Wanted| lines(&bytes, &wanted).unwrap().unwrap();
        let all = read(wanted(1, 10, false, ""));
        assert_eq!(numbers(&all), [1, 2, 3, 4, 5]);
        assert_eq!((all.size, all.more, all.is_cut), (22, false, false));
        assert_eq!(all.lines[3].1, "Four two");
        let window = read(wanted(2, 2, false, ""));
        assert_eq!((numbers(&window), window.more), (vec![2, 3], true));
        let end = read(wanted(1, 2, true, ""));
        assert_eq!((numbers(&end), end.more), (vec![4, 5], true));
        let search = read(wanted(1, 10, false, "TWO"));
        assert_eq!(numbers(&search), [2, 4]);
        assert_eq!(numbers(&read(wanted(3, 10, false, "two"))), [4]);
        let other = Wanted {
            file: "none".into(),
            ..wanted(1, 1, false, "")
        };
        assert_eq!(lines(&bytes, &other), Ok(None));
    }

    #[test]
    fn what_a_host_sends_has_an_end() {
        let endless = vec![b'x'; 3 << 20];
        let many = "0123456789abcdef\n".repeat(200_000);
        let bytes = archive(&[("b.log", &endless), ("c.log", many.as_bytes())]);
        let one = lines(&bytes, &wanted(1, 10, false, "")).unwrap().unwrap();
        assert_eq!((one.lines.len(), one.lines[0].1.len()), (1, LONGEST_LINE));
        for last in [false, true] {
            let long = Wanted {
                file: "c.log".into(),
                ..wanted(1, usize::MAX, last, "")
            };
            let found = lines(&bytes, &long).unwrap().unwrap();
            let text: usize = found.lines.iter().map(|(_, text)| text.len()).sum();
            assert!(found.more && text <= LARGEST && text > LARGEST - 100, "{text}");
        }
        let zeros = vec![0; (UNPACKED + (1 << 20)) as usize];
        let large = lines(&archive(&[("b.log", &zeros)]), &wanted(1, 10, false, ""));
        assert!(large.unwrap().unwrap().is_cut);
    }

    #[test]
    fn a_file_with_an_endless_name_is_passed_over() {
        let long = "d/".repeat(LONGEST_NAME) + "b.log";
        let bytes = archive(&[(long.as_str(), b"of the long name"), ("b.log", b"one")]);
        assert_eq!(
            files(&bytes).unwrap(),
            Files {
                files: vec![("b.log".into(), 3)],
                is_cut: true
            }
        );
        let of_long = Wanted {
            file: long,
            ..wanted(1, 10, false, "")
        };
        assert_eq!(lines(&bytes, &of_long), Ok(None));
        assert_eq!(lines(&bytes, &wanted(1, 10, false, "")).unwrap().unwrap().size, 3);
    }

    #[test]
    fn what_is_no_archive_is_refused_and_a_damaged_one_shows_its_beginning() {
        for bytes in [b"all".as_slice(), &[]] {
            assert_eq!(lines(bytes, &wanted(1, 10, false, "")).ok().flatten(), None);
        }
        assert_eq!(files(b"all"), Err(NoArchive));
        let mut text = Vec::new();
        for number in 0..100_000 {
            writeln!(text, "line {number} {}", number * 7919 % 104_729).unwrap();
        }
        let mut bytes = archive(&[("b.log", &text)]);
        bytes.truncate(bytes.len() / 2);
        let found = lines(&bytes, &wanted(1, 3, true, "")).unwrap().unwrap();
        assert!(found.is_cut && found.lines.len() == 3, "{found:?}");
    }
}
