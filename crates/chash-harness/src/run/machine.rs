//! What is known of the machine, for `run.json` and for refusing what does not fit.

use std::fs;

use serde::Serialize;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The machine and the toolchain that a run was made on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Operating system and architecture.
    pub target: String,
    /// The processor's name.
    pub cpu: String,
    /// Processors that the program may use.
    pub cores: usize,
    /// The frequency governor of the first processor, where the system tells.
    pub governor: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The compiler that built the program.
    pub rustc: &'static str,
    /// The commit that it was built from; empty outside a repository.
    pub commit: &'static str,
}

impl Machine {
    /// Looks.
    #[must_use]
    pub fn look() -> Self {
        let kind = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind);
        Self {
            target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            cpu: system.cpus().first().map_or(String::new(), |cpu| cpu.brand().trim().to_owned()),
            cores: cores(),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            memory_bytes: system.total_memory(),
            rustc: env!("CHASH_RUSTC"),
            commit: env!("CHASH_COMMIT"),
        }
    }
}

/// Processors that the program may use.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes of memory that can be had now without swapping.
fn available_bytes() -> u64 {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    System::new_with_specifics(kind).available_memory()
}

/// Refuses what would not fit in memory, before it is allocated: `what` needs so many bytes, and `advice` says
/// what would need less.
///
/// # Errors
///
/// The message, with both numbers.
pub fn require_bytes(needed: u64, what: &str, advice: &str) -> Result<(), String> {
    let available = available_bytes();
    if needed <= available {
        return Ok(());
    }
    let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(format!(
        "{what} needs about {:.1} GiB of memory and {:.1} GiB are available; {advice}",
        gibibytes(needed),
        gibibytes(available)
    ))
}

/// Bytes of the second-level cache of the first processor; half a mebibyte where the system does not tell.
#[must_use]
pub fn second_level_cache_bytes() -> u64 {
    let size = (0..8).find_map(|index| {
        let cache = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        (read(&format!("{cache}/level"))? == "2").then(|| read(&format!("{cache}/size")))?
    });
    let kibibytes = size.and_then(|text| text.strip_suffix('K')?.parse::<u64>().ok());
    kibibytes.map_or(512 << 10, |kibibytes| kibibytes << 10)
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
