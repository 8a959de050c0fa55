//! `chash place`: which node gets this key.

use std::io::{self, BufWriter};

use chash_core::{Distributor, KeyHasher, NodeId};

use crate::args::PlaceArgs;
use crate::exit::Failure;
use crate::keys::{KeyBatch, KeyText, for_each_batch};
use crate::plan::{NodeItem, Patch, Plan};
use crate::registry;
use crate::run::engine::placement_seed;

/// Writes `key,node`, or `key,rank,node` with `--replicas`, for every key in its order.
///
/// # Errors
///
/// Whatever is wrong with the specs, the nodes or the keys; standard output that cannot be written.
pub fn run(args: &PlaceArgs) -> Result<(), Failure> {
    if args.keys.keys.is_none() {
        return Err(Failure::Input(
            "place needs --keys: a count, a file, or - for standard input".to_owned(),
        ));
    }
    let flags = Patch {
        seed: Some(args.seed),
        algorithms: Some(vec![args.algorithm.clone()]),
        nodes: Some(vec![NodeItem::Text(args.nodes.clone())]),
        ..args.keys.patch()
    };
    let plan = Plan::resolve(Patch::default(), flags).map_err(Failure::input)?;
    let (spec, list) = (&plan.algorithms[0], &plan.nodes[0]);
    let seed = placement_seed(plan.seed, list.named, 0);
    let mut placement = registry::build(spec, list, seed)
        .map_err(|error| Failure::Input(format!("{spec} with these nodes: {error}")))?;
    if args.replicas == Some(0) {
        return Err(Failure::Input("--replicas must be at least 1".to_owned()));
    }
    if args.replicas.is_some() && placement.as_replicated().is_none() {
        return Err(Failure::Input(format!(
            "--replicas: {} has no replicas (chash list shows which have)",
            spec.name
        )));
    }
    if let Some(aware) = placement.as_load_aware() {
        aware.reset(None);
    }
    let hasher = registry::own_hasher(spec).unwrap_or_else(|| Box::new(registry::key_hasher(&plan.key_hash)));

    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out);
    let failed = |error: io::Error| Failure::output("standard output", &error);
    let write = |writer: &mut csv::Writer<_>, fields: &[&[u8]]| {
        writer.write_record(fields).map_err(|error| Failure::csv_output("standard output", error))
    };
    let name = |id: NodeId| list.nodes[id.index()].name.as_bytes();
    let header: &[&[u8]] =
        if args.replicas.is_some() { &[b"key", b"rank", b"node"] } else { &[b"key", b"node"] };
    write(&mut writer, header)?;
    let mut owners = Vec::new();
    let mut text = KeyText::new(&plan);
    let hasher: &dyn KeyHasher = &*hasher;
    for_each_batch(&plan, args.quiet, hasher, &mut |batch: &KeyBatch| {
        match args.replicas.zip(placement.as_replicated()) {
            None => {
                owners.resize(batch.len(), NodeId::default());
                owners_of(&mut *placement, batch, &mut owners);
                for (at, owner) in owners.iter().enumerate() {
                    write(&mut writer, &[text.of(batch.key(at)), name(*owner)])?;
                }
            }
            Some((count, replicated)) => {
                owners.resize((count as usize).min(list.nodes.len()), NodeId::default());
                for (at, hash) in batch.hashes().iter().enumerate() {
                    let found = replicated.replicas(*hash, &mut owners);
                    for (rank, owner) in owners[..found].iter().enumerate() {
                        write(
                            &mut writer,
                            &[text.of(batch.key(at)), (rank + 1).to_string().as_bytes(), name(*owner)],
                        )?;
                    }
                }
            }
        }
        Ok(())
    })?;
    writer.flush().map_err(failed)
}

/// The owners of a batch: each key an arrival where loads are counted, otherwise by the keys' bytes where the
/// system hashes them itself.
fn owners_of(placement: &mut dyn Distributor, batch: &KeyBatch, owners: &mut [NodeId]) {
    if let Some(aware) = placement.as_load_aware() {
        for (owner, hash) in owners.iter_mut().zip(batch.hashes()) {
            (*owner, _) = aware.assign(*hash);
        }
        return;
    }
    match placement.as_byte_keyed() {
        None => placement.lookup_batch(batch.hashes(), owners),
        Some(placement) => {
            for (at, owner) in owners.iter_mut().enumerate() {
                *owner = placement.lookup_bytes(batch.key(at));
            }
        }
    }
}
