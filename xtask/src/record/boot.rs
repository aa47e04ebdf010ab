//! One boot of a guest: what it needs, its initrd, the emulator's command line.

use super::passes;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs, and the packages of Debian that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("qemu-system-x86_64", "qemu-system-x86, version 10 or later (Debian 12: from bookworm-backports)"),
    ("busybox", "busybox-static"),
    ("gcc", "gcc and libc6-dev"),
    ("cpio", "cpio"),
    ("gzip", "gzip"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
    ("tar", "tar"),
    ("python3", "python3"),
    ("timeout", "coreutils"),
    ("apt-get", "apt: kernels are packages of Debian"),
    ("dpkg", "dpkg"),
];

/// Modules that the guest's disk needs, where they are not built in.
const MODULES: &[&str] = &["virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk"];

/// The boot line; `exp=` and `jit=` are added for each run.
pub(super) const BOOT_LINE: &str = "console=ttyS0,115200 nokaslr tsc=reliable tsc_early_khz=1000000 no_timer_check mitigations=off \
                                    noautogroup quiet loglevel=4 random.trust_bootloader=off lpj=4000000 schedstats=enable \
                                    sched_verbose sched_debug";

/// One instruction takes 1 ns of virtual time, which does not depend on the host.
const EMULATOR: &[&str] = &[
    "-M",
    "pc",
    "-cpu",
    "Nehalem,l3-cache=on",
    "-m",
    "2048",
    "-accel",
    "tcg,thread=single",
    "-icount",
    "shift=0,sleep=off",
    "-seed",
    "1",
    "-rtc",
    "base=2025-01-01,clock=vm",
    "-display",
    "none",
    "-vga",
    "none",
    "-nic",
    "none",
    "-no-reboot",
    "-monitor",
    "none",
];

/// Rounds of 100 us. All CPUs share one thread; each runs for its part of the time until the next timer in virtual time. Without a timer of
/// the guest that is a tenth of a second (`TCG_KICK_PERIOD`), and CPUs see one another that late. A buffer of packets, on a network
/// without a card, has a timer of so many us and does nothing else.
const ROUNDS: &[&str] = &["-netdev", "hubport,id=none,hubid=0", "-object", "filter-buffer,id=rounds,netdev=none,interval=100"];

/// A boot that hangs is ended after so many seconds.
const SECONDS: &str = "1800";

/// Fails with a list of all programs that are missing.
pub(super) fn needs() -> Result<(), String> {
    let is_missing = |program: &str| {
        !std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(program).is_file())
    };
    let missing: Vec<String> = PROGRAMS
        .iter()
        .filter(|row| is_missing(row.0))
        .map(|(program, package)| format!("  {program}: package {package}"))
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "cargo xtask record needs programs that are not here:\n{}\nOn Debian: cargo xtask record --install (as root)",
            missing.join("\n")
        ));
    }
    let told =
        Command::new("qemu-system-x86_64").arg("--version").output().map_err(|error| format!("qemu-system-x86_64: {error}"))?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    if major(&told).is_none_or(|major| major < 10) {
        let first = told.lines().next().unwrap_or_default();
        return Err(format!(
            "QEMU 10 or later is needed, this is `{first}`: older ones hang when they start a second CPU in virtual time"
        ));
    }
    Ok(())
}

/// The 10 of `QEMU emulator version 10.0.2 (Debian …)`.
fn major(told: &str) -> Option<u32> {
    told.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

/// What QEMU's `-smp` is given for `8` or `2x4x1`.
pub(super) fn smp(text: &str) -> Result<String, String> {
    let numbers: Option<Vec<u32>> = text.split('x').map(|part| part.parse().ok().filter(|n| (1..=64).contains(n))).collect();
    let (sockets, cores, threads) = match numbers.as_deref() {
        Some(&[cores]) => (1, cores, 1),
        Some(&[sockets, cores, threads]) => (sockets, cores, threads),
        _ => return Err(format!("--cpus: `{text}` is neither a number of CPUs from 1 to 64 nor PACKAGESxCORESxTHREADS")),
    };
    let cpus = sockets * cores * threads;
    if cpus > 64 {
        return Err(format!("--cpus: `{text}` are {cpus} CPUs; masks of wl have 64"));
    }
    Ok(format!("{cpus},sockets={sockets},cores={cores},threads={threads}"))
}

/// A machine that is ready to boot.
pub(super) struct Machine {
    runs: PathBuf,
    kernel: PathBuf,
    initrd: PathBuf,
    smp: String,
}

impl Machine {
    /// Builds the initrd: busybox, `wl`, the modules of the kernel, and the scripts of recordings/rig.
    pub(super) fn new(root: &Path, place: &Path, kernel: &Path, smp: &str) -> Result<Machine, String> {
        let (rig, guest) = (root.join("recordings/rig"), place.join("initrd"));
        if guest.exists() {
            fs::remove_dir_all(&guest).map_err(at(&guest))?;
        }
        for folder in ["bin", "lib", "mod", "exp", "proc", "sys", "dev", "out"] {
            fs::create_dir_all(guest.join(folder)).map_err(at(&guest))?;
        }
        copy(&busybox()?, &guest.join("bin/busybox"))?;
        copy(&rig.join("guest/init"), &guest.join("init"))?;
        copy(&rig.join("guest/rig.sh"), &guest.join("lib/rig.sh"))?;
        for entry in rig.join("experiments").read_dir().map_err(at(&rig))?.flatten() {
            copy(&entry.path(), &guest.join("exp").join(entry.file_name()))?;
        }
        let wl = guest.join("bin/wl");
        passes("compiling wl", Command::new("gcc").args(["-O2", "-static", "-pthread", "-o"]).arg(&wl).arg(rig.join("wl.c")))?;
        for module in MODULES {
            take_module(kernel, module, &guest.join("mod"))?;
        }
        let initrd = place.join("initrd.gz");
        let pack =
            "chmod 755 init && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible -R 0:0 | gzip -n > ../initrd.gz";
        passes("packing the initrd", Command::new("sh").arg("-c").arg(pack).current_dir(&guest))?;
        let image = find(&kernel.join("boot"), &|name| name.starts_with("vmlinuz-"))
            .ok_or_else(|| format!("{}: there is no vmlinuz", kernel.display()))?;
        Ok(Machine { runs: place.join("runs"), kernel: image, initrd, smp: smp.to_string() })
    }

    /// Boots, runs one experiment, and returns the folder below which `out/` holds what the guest wrote.
    pub(super) fn run(&self, experiment: &str, start_ms: &str) -> Result<PathBuf, String> {
        let run = self.runs.join(format!("{experiment}-{start_ms}"));
        if run.exists() {
            fs::remove_dir_all(&run).map_err(at(&run))?;
        }
        let out = run.join("out");
        fs::create_dir_all(&out).map_err(at(&out))?;
        let disk = run.join("disk.img");
        fs::File::create(&disk).and_then(|file| file.set_len(600 << 20)).map_err(at(&disk))?;
        let seconds = start_ms.parse::<f64>().unwrap_or(0.0) / 1000.0;
        let moved = if seconds > 0.0 { format!(" jit={seconds}") } else { String::new() };
        let mut command = Command::new("timeout");
        command.arg(SECONDS).arg("qemu-system-x86_64").args(EMULATOR).args(ROUNDS).args(["-smp", &self.smp]);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.initrd);
        command.arg("-serial").arg(option("file:", &run.join("serial.txt"), "")?);
        command.arg("-drive").arg(option("file=", &disk, ",format=raw,if=virtio")?);
        command.arg("-append").arg(format!("{BOOT_LINE} exp={experiment}{moved}"));
        let ended = command.stdin(Stdio::null()).output().map_err(|error| format!("timeout: {error}"))?;
        let serial = fs::read(run.join("serial.txt")).unwrap_or_default();
        let told = format!("{}{}", String::from_utf8_lossy(&ended.stderr), String::from_utf8_lossy(&serial));
        if !ended.status.success() || !told.contains("\nDONE ") {
            return Err(format!(
                "{experiment}: the guest did not end ({}). The last that was heard:\n{}",
                ended.status,
                tail(&told)
            ));
        }
        passes("unpacking what the guest wrote", Command::new("tar").arg("xf").arg(&disk).arg("-C").arg(&out))?;
        fs::remove_file(&disk).map_err(at(&disk))?;
        let trace = out.join(experiment).join("trace.txt");
        if fs::metadata(&trace).map_or(0, |data| data.len()) == 0 {
            return Err(format!("{experiment}: the guest wrote no trace. It said:\n{}", tail(&told)));
        }
        Ok(run)
    }
}

/// An option of QEMU with a path in it, where a comma ends the path.
fn option(before: &str, path: &Path, after: &str) -> Result<String, String> {
    let text =
        path.to_str().filter(|text| !text.contains(',')).ok_or_else(|| format!("{}: QEMU takes no such path", path.display()))?;
    Ok(format!("{before}{text}{after}"))
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// The static busybox of the host: the guest has no libraries.
fn busybox() -> Result<PathBuf, String> {
    // A dynamic program names its loader in its first page.
    let names_loader = |bytes: &[u8]| bytes[..bytes.len().min(4096)].windows(9).any(|part| part == b"/ld-linux");
    let is_static = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| !names_loader(&bytes));
    let found = ["/usr/bin/busybox", "/bin/busybox"].map(PathBuf::from).into_iter().find(is_static);
    found.ok_or_else(|| "busybox is not linked statically: install busybox-static".to_string())
}

fn take_module(kernel: &Path, module: &str, to: &Path) -> Result<(), String> {
    let is_it = |name: &str| name == format!("{module}.ko") || name == format!("{module}.ko.xz");
    let Some(found) = find(kernel, &is_it) else { return Ok(()) };
    let file = to.join(format!("{module}.ko"));
    if found.extension().is_none_or(|ending| ending != "xz") {
        return copy(&found, &file);
    }
    let unpacked = Command::new("xz").arg("-dc").arg(&found).output().map_err(|error| format!("xz: {error}"))?;
    fs::write(&file, unpacked.stdout).map_err(at(&file))
}

/// The first file below a folder, in order of paths, whose name is wanted.
fn find(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let mut paths: Vec<PathBuf> = folder.read_dir().ok()?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_wanted = |path: &Path| path.file_name().is_some_and(|name| wanted(&name.to_string_lossy()));
    paths.iter().find_map(|path| if path.is_dir() { find(path, wanted) } else { is_wanted(path).then(|| path.clone()) })
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(at(from))
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_a_number_or_packages_cores_and_threads() {
        assert_eq!(smp("8").unwrap(), "8,sockets=1,cores=8,threads=1");
        assert_eq!(smp("2x4x1").unwrap(), "8,sockets=2,cores=4,threads=1");
        for wrong in ["0", "65", "8x8x2", "2x4", "x", "", "-1"] {
            assert!(smp(wrong).unwrap_err().starts_with("--cpus: "), "{wrong}");
        }
    }

    #[test]
    fn the_version_of_the_emulator_is_read() {
        assert_eq!(major("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)\n"), Some(10));
        assert_eq!(major("QEMU emulator version 7.2.19\n"), Some(7));
        assert_eq!(major("no such thing"), None);
    }

    #[test]
    fn a_path_that_would_end_at_a_comma_is_refused() {
        assert!(option("file:", Path::new("a,b"), "").unwrap_err().contains("no such path"));
    }
}
