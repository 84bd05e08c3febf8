//! Decompresses an image as it arrives.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use muster_api::steps::ImageFormat;

use super::error::ImageError;

/// First bytes of compressed files.
const MAGICS: [(ImageFormat, &[u8]); 3] = [
    (ImageFormat::Zst, &[0x28, 0xb5, 0x2f, 0xfd]),
    (ImageFormat::Gz, &[0x1f, 0x8b]),
    (ImageFormat::Xz, &[0xfd, b'7', b'z', b'X', b'Z', 0]),
];
/// Bytes that identify the format and, of zstd, the size of the content.
const BEGINNING: usize = 18;
/// Memory for the window of zstd: 2 to this power. Images made with `--long` need more than the usual 2^27.
const LARGEST_WINDOW: u32 = 28;
/// Memory for xz, bytes: the same. `xz -9` makes files that need 65 MiB.
const LARGEST_XZ: u64 = 1 << LARGEST_WINDOW;
const BUFFER: usize = 128 << 10;

/// The decompressed content of a file.
pub struct Decoder<R: Read> {
    inner: Inner<R>,
    format: ImageFormat,
    content_size: Option<u64>,
}

type Beginning<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

enum Inner<R: Read> {
    Raw(Beginning<R>),
    Gz(Box<MultiGzDecoder<Beginning<R>>>),
    Xz(Box<XzDecoder<Beginning<R>>>),
    Zst(Box<zstd::stream::read::Decoder<'static, BufReader<Beginning<R>>>>),
}

/// The format of a file with this beginning.
pub fn format_of(beginning: &[u8]) -> ImageFormat {
    MAGICS
        .iter()
        .find(|(_, magic)| beginning.starts_with(magic))
        .map_or(ImageFormat::Raw, |(format, _)| *format)
}

impl<R: Read> Decoder<R> {
    /// Reads the first bytes of `from`. `declared` is the format that the file is to have, if one is given.
    ///
    /// # Errors
    /// [`ImageError`]: the format differs, or nothing can be read.
    pub fn new(mut from: R, declared: Option<ImageFormat>) -> Result<Self, ImageError> {
        let mut beginning = Vec::with_capacity(BEGINNING);
        let read = |error: io::Error| ImageError::Decode {
            format: declared.unwrap_or_default(),
            reason: error.to_string(),
        };
        from.by_ref()
            .take(BEGINNING as u64)
            .read_to_end(&mut beginning)
            .map_err(read)?;
        let format = format_of(&beginning);
        if let Some(declared) = declared.filter(|declared| *declared != format) {
            return Err(ImageError::Format {
                declared,
                found: format,
            });
        }
        let content_size = match format {
            ImageFormat::Zst => zstd::zstd_safe::get_frame_content_size(&beginning).ok().flatten(),
            ImageFormat::Raw | ImageFormat::Gz | ImageFormat::Xz => None,
        };
        let whole = io::Cursor::new(beginning).chain(from);
        let inner = match format {
            ImageFormat::Raw => Inner::Raw(whole),
            ImageFormat::Gz => Inner::Gz(Box::new(MultiGzDecoder::new(whole))),
            ImageFormat::Xz => {
                let stream = Stream::new_stream_decoder(LARGEST_XZ, CONCATENATED);
                let stream = stream.map_err(|error| read(error.into()))?;
                Inner::Xz(Box::new(XzDecoder::new_stream(whole, stream)))
            }
            ImageFormat::Zst => {
                let buffered = BufReader::with_capacity(BUFFER, whole);
                let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered).map_err(read)?;
                decoder.window_log_max(LARGEST_WINDOW).map_err(read)?;
                Inner::Zst(Box::new(decoder))
            }
        };
        Ok(Self {
            inner,
            format,
            content_size,
        })
    }

    /// The size of the content, if the file begins with it.
    pub fn content_size(&self) -> Option<u64> {
        self.content_size
    }

    /// Fills `to` unless the content ends before; returns the number of bytes.
    ///
    /// # Errors
    /// [`ImageError::Decode`]
    pub fn fill(&mut self, to: &mut [u8]) -> Result<usize, ImageError> {
        let mut filled = 0;
        while filled < to.len() {
            match self.read(&mut to[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(ImageError::Decode {
                        format: self.format,
                        reason: error.to_string(),
                    });
                }
            }
        }
        Ok(filled)
    }

    /// The reader.
    pub fn into_inner(self) -> R {
        let chain = match self.inner {
            Inner::Raw(chain) => chain,
            Inner::Gz(decoder) => decoder.into_inner(),
            Inner::Xz(decoder) => decoder.into_inner(),
            Inner::Zst(decoder) => decoder.finish().into_inner(),
        };
        chain.into_inner().1
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Raw(from) => from.read(to),
            Inner::Gz(from) => from.read(to),
            Inner::Xz(from) => from.read(to),
            Inner::Zst(from) => from.read(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn content() -> Vec<u8> {
        (0..3_000_000_u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect()
    }

    fn compressed(format: ImageFormat, content: &[u8]) -> Vec<u8> {
        match format {
            ImageFormat::Raw => content.to_vec(),
            ImageFormat::Gz => {
                let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                to.write_all(content).unwrap();
                to.finish().unwrap()
            }
            ImageFormat::Xz => {
                let mut to = liblzma::write::XzEncoder::new(Vec::new(), 0);
                to.write_all(content).unwrap();
                to.finish().unwrap()
            }
            ImageFormat::Zst => zstd::bulk::compress(content, 1).unwrap(),
        }
    }

    const ALL: [ImageFormat; 4] = [
        ImageFormat::Raw,
        ImageFormat::Gz,
        ImageFormat::Xz,
        ImageFormat::Zst,
    ];

    #[test]
    fn every_format_gives_its_content() {
        let content = content();
        for format in ALL {
            let file = compressed(format, &content);
            for said in [Some(format), None] {
                let mut decoder = Decoder::new(file.as_slice(), said).unwrap();
                let mut found = vec![0; content.len() + 10];
                assert_eq!(decoder.fill(&mut found).unwrap(), content.len(), "{format}");
                assert!(found.starts_with(&content), "{format}");
            }
        }
        let file = compressed(ImageFormat::Zst, &content);
        let decoder = Decoder::new(file.as_slice(), None).unwrap();
        assert_eq!(decoder.content_size(), Some(content.len() as u64));
    }

    #[test]
    fn a_file_that_ends_early_or_is_damaged_is_an_error() {
        let content = content();
        for format in ALL.into_iter().filter(|format| *format != ImageFormat::Raw) {
            let mut file = compressed(format, &content);
            let mut to = vec![0; content.len() + 10];
            let half = &file[..file.len() / 2];
            let result = Decoder::new(half, None).unwrap().fill(&mut to);
            assert!(
                matches!(result, Err(ImageError::Decode { .. })),
                "{format}: {result:?}"
            );
            file.truncate(file.len() - 3);
            let result = Decoder::new(file.as_slice(), None).unwrap().fill(&mut to);
            assert!(
                matches!(result, Err(ImageError::Decode { .. })),
                "{format}: {result:?}"
            );
        }
    }

    /// The header of a file states the memory that it needs, before there is any content.
    #[test]
    fn an_image_that_needs_gigabytes_of_memory_is_refused() {
        let mut xz = compressed(ImageFormat::Xz, b"x");
        // The block's header: its size, flags, then LZMA2 (0x21) with one byte of properties, the size of the dictionary.
        let (begin, length) = (12, (usize::from(xz[12]) + 1) * 4);
        assert_eq!(xz[begin + 2..begin + 4], [0x21, 1]);
        // 2^30 bytes.
        xz[begin + 4] = 36;
        let mut sum = flate2::Crc::new();
        sum.update(&xz[begin..begin + length - 4]);
        xz[begin + length - 4..begin + length].copy_from_slice(&sum.sum().to_le_bytes());
        // A frame header: no flags, a window of 2^31 bytes.
        let zst = [MAGICS[0].1, &[0, (31 - 10) << 3], &[0; 16]].concat();
        for file in [xz, zst] {
            let mut to = vec![0; 10];
            let refused = Decoder::new(file.as_slice(), None).unwrap().fill(&mut to);
            let why = refused.unwrap_err().to_string();
            assert!(why.to_lowercase().contains("memory"), "{why}");
        }
    }

    #[test]
    fn another_format_than_said_is_named() {
        let file = compressed(ImageFormat::Gz, b"x");
        let error = Decoder::new(file.as_slice(), Some(ImageFormat::Raw))
            .err()
            .unwrap();
        assert_eq!(error.to_string(), "the image is declared as raw and is gz");
    }
}
