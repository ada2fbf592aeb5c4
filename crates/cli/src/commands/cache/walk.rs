//! All shards of a cache, on all processors, in order.

use std::thread;

use proofmark_trust::cache::{Cache, CacheError, Shard, ShardView};

use crate::exit::Failure;
use crate::judge_cache::failure;

/// As many shards as are in memory at once for a processor.
const AT_ONCE: usize = 32;

/// Whether to go on.
#[derive(PartialEq, Eq)]
pub(super) enum Walk {
    On,
    Enough,
}

/// Shows every shard with everything checked, in order.
pub(super) fn each_shard(
    cache: &Cache,
    mut act: impl FnMut(ShardView) -> Result<Walk, Failure>,
) -> Result<(), Failure> {
    let (shards, _) = cache.shards().map_err(|error| failure(&error))?;
    let workers = thread::available_parallelism().map_or(1, usize::from);
    // The first answer is wanted soon, the last one too.
    for batch in shards.chunks(workers * AT_ONCE) {
        let parts: Vec<&[Shard]> = batch.chunks(batch.len().div_ceil(workers)).collect();
        let views: Vec<Result<Vec<ShardView>, CacheError>> = thread::scope(|scope| {
            let view = |part: &&[Shard]| part.iter().map(|shard| cache.view(*shard)).collect();
            let handles: Vec<_> = parts.iter().map(|part| scope.spawn(move || view(part))).collect();
            handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
        });
        if views.len() < parts.len() {
            return Err(Failure::new("a shard could not be looked at"));
        }
        for views in views {
            for view in views.map_err(|error| failure(&error))? {
                if act(view)? == Walk::Enough {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
