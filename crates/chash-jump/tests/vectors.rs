//! The published function, against answers made by others (`data/README.md`), one at a time and in batches.

use std::collections::BTreeMap;

use chash_jump::{bucket, buckets_into};

struct Row {
    key: u64,
    buckets: u32,
    bucket: u32,
    origin: String,
}

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/jump.csv");
    csv::Reader::from_path(path)
        .unwrap()
        .records()
        .map(|record| {
            let record = record.unwrap();
            Row {
                key: record[0].parse().unwrap(),
                buckets: record[1].parse().unwrap(),
                bucket: record[2].parse().unwrap(),
                origin: record[3].into(),
            }
        })
        .collect()
}

#[test]
fn every_row() {
    let rows = rows();
    assert_eq!(rows.len(), 719, "the file is whole");
    for row in rows {
        assert_eq!(bucket(row.key, row.buckets), row.bucket, "{} {} {}", row.key, row.buckets, row.origin);
    }
}

#[test]
fn every_row_in_batches() {
    let mut by_buckets: BTreeMap<u32, (Vec<u64>, Vec<u32>)> = BTreeMap::new();
    for row in rows() {
        let (keys, expected) = by_buckets.entry(row.buckets).or_default();
        keys.push(row.key);
        expected.push(row.bucket);
    }
    for (buckets, (keys, expected)) in by_buckets {
        let mut found = vec![0; keys.len()];
        buckets_into(&keys, buckets, &mut found);
        assert_eq!(found, expected, "{buckets} buckets");
    }
}
