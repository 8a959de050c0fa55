//! Reading keys from files of every kind, whole and broken.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};

use chash_workloads::input::{
    Compression, ContentHash, DistinctKeys, Encoding, InputError, Layout, MAX_RECORD_BYTES, Problem,
    ReadReport, Source, content_hash, estimate, for_each_key,
};
use proptest::prelude::*;

type Keys = Vec<(Vec<u8>, u64)>;

fn read_from(
    reader: impl Read + Send + 'static,
    layout: Layout,
    encoding: Encoding,
) -> Result<(Keys, ReadReport), InputError> {
    let mut keys = Vec::new();
    let report = for_each_key(Source::from_reader("input", reader), layout, encoding, &mut |key, count| {
        keys.push((key.to_vec(), count));
        Ok::<(), InputError>(())
    })?;
    Ok((keys, report))
}

fn read(bytes: &[u8], layout: Layout, encoding: Encoding) -> Result<(Keys, ReadReport), InputError> {
    read_from(io::Cursor::new(bytes.to_vec()), layout, encoding)
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (keys, report) = read(bytes, Layout::Lines, Encoding::Raw).unwrap();
    assert_eq!(report.records, keys.len() as u64);
    assert_eq!(report.requests, keys.len() as u64);
    assert_eq!(report.bytes, bytes.len() as u64);
    assert!(keys.iter().all(|(_, count)| *count == 1));
    keys.into_iter().map(|(key, _)| key).collect()
}

fn table(text: &str) -> Result<Keys, Problem> {
    read(text.as_bytes(), Layout::FrequencyTable, Encoding::Raw)
        .map(|(keys, _)| keys)
        .map_err(|error| error.problem)
}

fn compress(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    match compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

const COMPRESSIONS: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::Xz];

#[test]
fn lines_end_at_line_feeds_and_nothing_is_trimmed() {
    assert_eq!(lines(b""), [b""; 0]);
    assert_eq!(lines(b"\n"), [b""]);
    assert_eq!(lines(b"a"), [b"a"]);
    assert_eq!(lines(b"a\n"), [b"a"]);
    assert_eq!(lines(b"a\n\n"), [&b"a"[..], b""]);
    assert_eq!(lines(b"\na"), [&b""[..], b"a"]);
    assert_eq!(lines(b" a \n\tb\r\nc\rd\0\xff\n"), [&b" a "[..], b"\tb\r", b"c\rd\0\xff"]);
    assert_eq!(lines(b"\xef\xbb\xbfa,\"b\"\n"), [b"\xef\xbb\xbfa,\"b\""]);
}

#[test]
fn carriage_returns_are_counted() {
    let report = |text: &str, layout, encoding| read(text.as_bytes(), layout, encoding).unwrap().1;
    assert_eq!(report("a\r\nb\r\nc\n\r", Layout::Lines, Encoding::Raw).keys_ending_in_cr, 3);
    assert_eq!(report("a\nb\rc\n", Layout::Lines, Encoding::Raw).keys_ending_in_cr, 0);
    assert_eq!(report("0d\n", Layout::Lines, Encoding::Hex).keys_ending_in_cr, 0);
    // The line end of a table belongs to no key.
    assert_eq!(report("key,count\r\na,1\r\n", Layout::FrequencyTable, Encoding::Raw).keys_ending_in_cr, 0);
    assert_eq!(report("key,count\n\"a\r\",1\n", Layout::FrequencyTable, Encoding::Raw).keys_ending_in_cr, 1);
}

#[test]
fn hexadecimal_keys_are_decoded_and_errors_have_a_line() {
    let read = |text: &str, layout| {
        read(text.as_bytes(), layout, Encoding::Hex)
            .map(|(keys, _)| keys)
            .map_err(|error| (error.to_string(), error.problem))
    };
    assert_eq!(read("00ff\n\n0A\n", Layout::Lines), Ok(vec![(vec![0, 255], 1), (vec![], 1), (vec![10], 1)]));
    assert_eq!(read("key,count\n00ff,7\n", Layout::FrequencyTable), Ok(vec![(vec![0, 255], 7)]));
    assert_eq!(
        read("00\n0g\n", Layout::Lines),
        Err((
            "input: line 2, column 2: 'g' is not a hexadecimal digit".into(),
            Problem::NotHex { line: 2, column: 2, byte: b'g' }
        ))
    );
    assert_eq!(
        read("key,count\n00,1\n123,1\n", Layout::FrequencyTable),
        Err((
            "input: line 3: a hexadecimal key must have an even number of digits, not 3".into(),
            Problem::OddHex { line: 3, digits: 3 }
        ))
    );
}

#[test]
fn frequency_tables() {
    let key = |key: &str, count| (key.as_bytes().to_vec(), count);
    assert_eq!(table("key,count\n"), Ok(vec![]));
    assert_eq!(table("key,count"), Ok(vec![]));
    assert_eq!(
        table("key,count\na,3\n\"b,\"\"c\"\"\n\",0\n\n,007\na,18446744073709551605"),
        Ok(vec![key("a", 3), key("b,\"c\"\n", 0), key("", 7), key("a", u64::MAX - 10)])
    );

    let header = |found: &str| Err(Problem::Header { found: found.into() });
    assert_eq!(table(""), header(""));
    assert_eq!(table("a,3\n"), header("a,3"));
    assert_eq!(table("count,key\n3,a\n"), header("count,key"));
    assert_eq!(table("key,count,size\n"), header("key,count,size"));
    assert_eq!(table("key, count\n"), header("key, count"));

    assert_eq!(table("key,count\na,3\nb\n"), Err(Problem::Fields { line: 3, fields: 1 }));
    assert_eq!(table("key,count\na,3,\n"), Err(Problem::Fields { line: 2, fields: 3 }));
    for count in ["", "-1", "+1", " 1", "1 ", "1.0", "1e3", "x", "18446744073709551616"] {
        assert_eq!(
            table(&format!("key,count\n\"two\nlines\",1\na,{count}\n")),
            Err(Problem::Count { line: 4, found: count.into() })
        );
    }
    assert_eq!(table("key,count\na,18446744073709551615\nb,0\nc,1\n"), Err(Problem::Total { line: 4 }));
}

#[test]
fn messages_say_where_and_what_would_be_right() {
    let message =
        |text: &str| read(text.as_bytes(), Layout::FrequencyTable, Encoding::Raw).unwrap_err().to_string();
    assert_eq!(
        message("k,n\n"),
        "input: line 1: the header of a frequency table must be \"key,count\", not \"k,n\""
    );
    assert_eq!(
        message("key,count\na,x\n"),
        "input: line 2: a count must be a whole number from 0 to 18446744073709551615, not \"x\""
    );
    assert_eq!(
        message("key,count\na,b,1\n"),
        "input: line 2: a row must have two fields, key and count, not 3 (is a comma in a key unquoted?)"
    );
}

/// An input that repeats itself without end must not fill the memory.
#[test]
fn keys_without_an_end_are_refused() {
    let endless = |start: &'static str| start.as_bytes().chain(io::repeat(b'a'));
    let problem = |result: Result<_, InputError>| result.map(|_| ()).unwrap_err().problem;
    assert_eq!(
        problem(read_from(endless("a\nb"), Layout::Lines, Encoding::Raw)),
        Problem::TooLong { line: 2 }
    );
    for start in ["", "key,count\nb,1\n\"", "key,count\nb,1\n", "key,count\nb,1\na,"] {
        let line = if start.is_empty() { 1 } else { 3 };
        assert_eq!(
            problem(read_from(endless(start), Layout::FrequencyTable, Encoding::Raw)),
            Problem::TooLong { line },
            "{start:?}"
        );
    }
}

#[test]
fn the_longest_key_is_read() {
    for (longer, line_end) in [(0, ""), (0, "\n"), (1, ""), (1, "\n")] {
        let mut text = vec![b'a'; MAX_RECORD_BYTES + longer];
        text.extend_from_slice(line_end.as_bytes());
        let mut seen = 0;
        let result = for_each_key(
            Source::from_reader("input", io::Cursor::new(text)),
            Layout::Lines,
            Encoding::Raw,
            &mut |key, _| {
                seen += key.len();
                Ok::<(), InputError>(())
            },
        );
        match longer {
            0 => assert_eq!((result.unwrap().records, seen), (1, MAX_RECORD_BYTES)),
            _ => assert_eq!(result.unwrap_err().problem, Problem::TooLong { line: 1 }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any keys, compressed in any number of members, come back; so does the hash of the contents.
    #[test]
    fn compressed_keys_come_back(
        keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..60),
        members in 1usize..6,
    ) {
        let keys: Vec<Vec<u8>> = keys.into_iter().map(|key| key.into_iter().filter(|&b| b != b'\n').collect()).collect();
        // A letter before, so that plain text is never taken for compressed data.
        let text: Vec<u8> = keys.iter().flat_map(|key| [b"k", &key[..], b"\n"].concat()).collect();
        let expected: Vec<Vec<u8>> = keys.iter().map(|key| [b"k", &key[..]].concat()).collect();
        prop_assert_eq!(&lines(&text), &expected);
        let hash = ContentHash(xxhash_rust::xxh3::xxh3_128(&text));
        for compression in COMPRESSIONS {
            // Members may be empty, and may end within a key.
            let size = text.len() / members + 1;
            let mut file: Vec<u8> = text.chunks(size).flat_map(|part| compress(compression, part)).collect();
            file.extend(compress(compression, b""));
            let (got, report) = read(&file, Layout::Lines, Encoding::Raw).unwrap();
            prop_assert!(got.iter().map(|(key, _)| key).eq(&expected));
            prop_assert_eq!(report.bytes, text.len() as u64);
            prop_assert_eq!(report.content_hash, hash);
            let source = Source::from_reader("input", io::Cursor::new(file));
            prop_assert_eq!(content_hash(source), Ok((text.len() as u64, hash)));
        }
    }

    #[test]
    fn tables_come_back(rows in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..10), 0u64..1 << 50), 0..60)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["key", "count"]).unwrap();
        for (key, count) in &rows {
            writer.write_record([&key[..], count.to_string().as_bytes()]).unwrap();
        }
        let text = writer.into_inner().unwrap();
        let (keys, report) = read(&text, Layout::FrequencyTable, Encoding::Raw).unwrap();
        prop_assert_eq!(report.requests, rows.iter().map(|(_, count)| count).sum::<u64>());
        prop_assert_eq!(report.bytes, text.len() as u64);
        prop_assert_eq!(keys, rows);
    }
}

/// Text that does not compress to nothing, in two members of each kind, and where the first one ends.
fn two_members(compression: Compression) -> (Vec<u8>, usize, Vec<Vec<u8>>) {
    let mut text = String::new();
    for i in 0u32..60 {
        writeln!(text, "/product/{}", i.wrapping_mul(2_654_435_761)).unwrap();
    }
    let first = compress(compression, &text.as_bytes()[..300]);
    let second = compress(compression, &text.as_bytes()[300..]);
    let keys = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    ([&first[..], &second[..]].concat(), first.len(), keys)
}

#[test]
fn every_cut_is_seen() {
    for format in COMPRESSIONS {
        let (file, boundary, keys) = two_members(format);
        let magic = match format {
            Compression::Gzip => 2,
            Compression::Zstd => 4,
            _ => 6,
        };
        for cut in magic..file.len() {
            let result = read(&file[..cut], Layout::Lines, Encoding::Raw);
            if cut == boundary {
                // A whole member: nothing tells that there was another.
                let (got, report) = result.unwrap();
                assert_eq!(report.bytes, 300);
                assert!(got[..10].iter().map(|(key, _)| key).eq(&keys[..10]));
            } else {
                let error = result.unwrap_err();
                assert_eq!(
                    error.problem,
                    Problem::Truncated { format },
                    "{format} cut at {cut} of {}",
                    file.len()
                );
                assert_eq!(
                    error.to_string(),
                    format!("input: the {format} data ends too early: the file is cut off")
                );
            }
        }
    }
}

#[test]
fn damage_is_seen() {
    for format in COMPRESSIONS {
        let (file, _, keys) = two_members(format);
        let mut seen = 0;
        for place in 6..file.len() {
            let mut damaged = file.clone();
            damaged[place] ^= 0x10;
            match read(&damaged, Layout::Lines, Encoding::Raw) {
                // A field that does not matter, such as the time in a gzip header.
                Ok((got, _)) => {
                    assert!(got.iter().map(|(key, _)| key).eq(&keys), "{format} damaged at {place}");
                }
                Err(error) => {
                    assert!(
                        matches!(error.problem, Problem::Corrupt { format: f, .. } | Problem::Truncated { format: f } if f == format),
                        "{format} damaged at {place}: {error}"
                    );
                    seen += 1;
                }
            }
        }
        assert!(seen > file.len() / 2);
    }
}

#[test]
fn what_follows_compressed_data_is_not_ignored() {
    for format in COMPRESSIONS {
        for garbage in [&b"x"[..], b"more text\n", &[0xff; 30], &[0x1f, 0x8c, 8, 0, 0, 0, 0, 0, 0, 0]] {
            let file = [&two_members(format).0[..], garbage].concat();
            let problem = read(&file, Layout::Lines, Encoding::Raw).unwrap_err().problem;
            assert!(
                matches!(problem, Problem::Corrupt { format: f, .. } | Problem::Truncated { format: f } if f == format),
                "{format}: {problem}"
            );
        }
    }
}

#[test]
fn the_first_bytes_decide_and_not_the_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.gz");
    for contents in [b"plain\ntext\n".to_vec(), compress(Compression::Xz, b"plain\ntext\n")] {
        std::fs::write(&path, contents).unwrap();
        let mut keys = Vec::new();
        for_each_key(Source::open(&path).unwrap(), Layout::Lines, Encoding::Raw, &mut |key, _| {
            keys.push(key.to_vec());
            Ok::<(), InputError>(())
        })
        .unwrap();
        assert_eq!(keys, [b"plain", &b"text"[..]]);
    }
    // A skippable frame before the first.
    let skippable =
        [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &compress(Compression::Zstd, b"a\n")].concat();
    assert_eq!(read(&skippable, Layout::Lines, Encoding::Raw).unwrap().0, [(b"a".to_vec(), 1)]);
    // Too short to be anything but text.
    assert_eq!(lines(b"\x1f"), [b"\x1f"]);
    assert_eq!(lines(b"\xfd7zXZ"), [b"\xfd7zXZ"]);
}

/// Gives one byte at a time, is interrupted before each, and fails in the end if told so.
struct Difficult {
    bytes: io::Cursor<Vec<u8>>,
    interrupted: bool,
    failure: Option<io::ErrorKind>,
}

impl Difficult {
    fn new(bytes: Vec<u8>, failure: Option<io::ErrorKind>) -> Self {
        Self { bytes: io::Cursor::new(bytes), interrupted: false, failure }
    }
}

impl Read for Difficult {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match (self.bytes.read(&mut buffer[..1])?, self.failure) {
            (0, Some(kind)) => Err(io::Error::new(kind, "the disk is gone")),
            (read, _) => Ok(read),
        }
    }
}

#[test]
fn readers_may_give_little_and_be_interrupted() {
    for format in COMPRESSIONS {
        let (file, _, keys) = two_members(format);
        let got = read_from(Difficult::new(file, None), Layout::Lines, Encoding::Raw).unwrap().0;
        assert!(got.iter().map(|(key, _)| key).eq(&keys), "{format}");
    }
    let text = b"key,count\na,1\n".to_vec();
    assert_eq!(
        read_from(Difficult::new(text.clone(), None), Layout::FrequencyTable, Encoding::Raw).unwrap().0,
        [(b"a".to_vec(), 1)]
    );
    assert_eq!(read_from(Difficult::new(text, None), Layout::Lines, Encoding::Raw).unwrap().0.len(), 2);
}

/// A system's error is told apart from truncated or damaged data, whatever its kind.
#[test]
fn errors_of_the_system_are_handed_through() {
    for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::InvalidData, io::ErrorKind::PermissionDenied] {
        let expected = Problem::Unreadable { kind, message: "the disk is gone".into() };
        for format in COMPRESSIONS {
            let (file, ..) = two_members(format);
            for cut in [0, 3, 8, 20, file.len() - 30, file.len() - 1] {
                let reader = Difficult::new(file[..cut].to_vec(), Some(kind));
                let error = read_from(reader, Layout::Lines, Encoding::Raw).unwrap_err();
                assert_eq!(error.problem, expected, "{format} failing after {cut}");
                assert_eq!(error.to_string(), "input: cannot be read: the disk is gone");
            }
        }
        for layout in [Layout::Lines, Layout::FrequencyTable] {
            let reader = Difficult::new(b"key,count\na,1\n".to_vec(), Some(kind));
            assert_eq!(read_from(reader, layout, Encoding::Raw).unwrap_err().problem, expected);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let missing = Source::open(&directory.path().join("missing")).unwrap_err();
    assert!(matches!(missing.problem, Problem::Unreadable { kind: io::ErrorKind::NotFound, .. }));
    assert!(missing.input.ends_with("missing"));
}

#[test]
fn a_visitor_can_stop_the_reading() {
    #[derive(Debug, PartialEq)]
    enum Stop {
        Enough(usize),
        Input(InputError),
    }
    impl From<InputError> for Stop {
        fn from(error: InputError) -> Self {
            Self::Input(error)
        }
    }
    let mut seen = 0;
    let mut visit = |_: &[u8], _| {
        seen += 1;
        if seen == 3 { Err(Stop::Enough(seen)) } else { Ok(()) }
    };
    let source = |text: &'static str| Source::from_reader("input", text.as_bytes());
    assert_eq!(
        for_each_key(source("a\nb\nc\nd\n"), Layout::Lines, Encoding::Raw, &mut visit),
        Err(Stop::Enough(3))
    );
    assert_eq!(
        for_each_key(source("zz\n"), Layout::Lines, Encoding::Hex, &mut visit),
        Err(Stop::Input(InputError {
            input: "input".into(),
            problem: Problem::NotHex { line: 1, column: 1, byte: b'z' }
        }))
    );
}

#[test]
fn distinct_keys_of_a_table_and_of_its_lines_agree() {
    let collect = |text: &'static str, layout| {
        let mut distinct = DistinctKeys::new().keeping_bytes();
        let source = Source::from_reader("input", text.as_bytes());
        for_each_key(source, layout, Encoding::Raw, &mut |key, count| {
            distinct.insert(key, count, || key.len() as u64).unwrap();
            Ok::<(), InputError>(())
        })
        .unwrap();
        (0..distinct.len())
            .map(|number| (distinct.bytes(number).unwrap().to_vec(), distinct.counts()[number]))
            .collect::<Vec<_>>()
    };
    let expected = [(b"pear".to_vec(), 3), (b"".to_vec(), 1), (b"fig".to_vec(), 1)];
    assert_eq!(collect("pear\n\npear\nfig\npear\n", Layout::Lines), expected);
    assert_eq!(collect("key,count\npear,2\n,1\nfig,1\npear,1\n", Layout::FrequencyTable), expected);
}

#[test]
fn estimates_are_exact_for_short_files_and_near_for_long_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let estimate_of = |contents: &[u8]| {
        std::fs::write(&path, contents).unwrap();
        estimate(&path).unwrap().unwrap()
    };
    for (text, records) in [(&b""[..], 0), (b"\n", 1), (b"a", 1), (b"a\nb", 2), (b"a\nb\n", 2)] {
        let got = estimate_of(text);
        assert_eq!((got.records, got.bytes, got.exact), (records, text.len() as u64, true));
    }

    let mut text = String::new();
    for i in 0u64..200_000 {
        writeln!(text, "/product/{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap();
    }
    let near = |got: u64, exact: u64| (got as f64 / exact as f64 - 1.0).abs() < 0.05;
    let plain = estimate_of(text.as_bytes());
    assert!(
        !plain.exact && near(plain.records, 200_000) && near(plain.bytes, text.len() as u64),
        "{plain:?}"
    );
    for format in COMPRESSIONS {
        let got = estimate_of(&compress(format, text.as_bytes()));
        assert!(
            !got.exact && near(got.records, 200_000) && near(got.bytes, text.len() as u64),
            "{format}: {got:?}"
        );
    }
    assert_eq!(plain.distinct_keys_bytes(false), plain.records * 56);
    assert!(plain.distinct_keys_bytes(true) > plain.distinct_keys_bytes(false) + plain.bytes);

    assert_eq!(estimate(directory.path()).unwrap(), None);
    assert!(matches!(
        estimate(&directory.path().join("missing")).unwrap_err().problem,
        Problem::Unreadable { kind: io::ErrorKind::NotFound, .. }
    ));
}
