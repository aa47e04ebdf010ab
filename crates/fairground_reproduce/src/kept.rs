//! Finished runs of an experiment that takes hours, kept in a folder: what was interrupted goes on where it was.
//!
//! One file per run, by the digest of this very build, of what was run and of its seed or its number of seeds; it holds whole numbers in decimal,
//! one per line. A file that is not there, or cannot be read as such, is a run that is still to be made.

use fairground_model::Digest;
use fairground_scenario::Error;
use std::path::{Path, PathBuf};

/// A folder with the runs of this build and of others, which are left alone.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    /// Digest of the running program: another build may give other numbers.
    build: u128,
}

/// What can be kept: a fixed sequence of numbers.
pub(super) trait Numbers: Sized {
    fn numbers(&self) -> Vec<u128>;
    /// `None`: it is not such a sequence.
    fn from_numbers(numbers: &mut dyn Iterator<Item = u128>) -> Option<Self>;
}

/// As many as there are, after their count.
impl<T: Numbers> Numbers for Vec<T> {
    fn numbers(&self) -> Vec<u128> {
        let all = self.iter().flat_map(T::numbers);
        std::iter::once(self.len() as u128).chain(all).collect()
    }
    fn from_numbers(numbers: &mut dyn Iterator<Item = u128>) -> Option<Vec<T>> {
        let count = numbers.next()?;
        (0..count).map(|_| T::from_numbers(numbers)).collect()
    }
}

impl Kept {
    /// The folder is made if there is none.
    pub(super) fn open(folder: &Path) -> Result<Kept, Error> {
        std::fs::create_dir_all(folder).map_err(|cause| Error::world("make", folder, cause))?;
        let what = |cause| Error::World { what: "cannot read the running program".into(), cause };
        let program = std::env::current_exe().and_then(std::fs::read).map_err(what)?;
        Ok(Kept { folder: folder.into(), build: digest(&[&program]) })
    }

    /// The run of `what` with a seed: the one that is kept, else a new one, which is kept from then on.
    pub(super) fn run<T: Numbers>(&self, what: &str, seed: u64, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let key = digest(&[&self.build.to_le_bytes(), what.as_bytes(), &seed.to_le_bytes()]);
        let path = self.folder.join(format!("{key:032x}.run"));
        if let Some(kept) = std::fs::read_to_string(&path).ok().and_then(|text| parse(&text)) {
            return Ok(kept);
        }
        let made = run()?;
        let lines: Vec<String> = made.numbers().iter().map(|number| format!("{number}\n")).collect();
        // Written beside and renamed, so that a file is either whole or not there.
        let unfinished = path.with_extension("tmp");
        std::fs::write(&unfinished, lines.concat())
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .map_err(|cause| Error::world("write", &path, cause))?;
        Ok(made)
    }
}

fn parse<T: Numbers>(text: &str) -> Option<T> {
    let numbers: Vec<u128> = text.lines().map(|line| line.parse().ok()).collect::<Option<_>>()?;
    let mut numbers = numbers.into_iter();
    let read = T::from_numbers(&mut numbers)?;
    numbers.next().is_none().then_some(read)
}

fn digest(parts: &[&[u8]]) -> u128 {
    let mut digest = Digest::default();
    for part in parts {
        digest.bytes(&(part.len() as u64).to_le_bytes());
        digest.bytes(part);
    }
    digest.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Numbers for (u128, u128) {
        fn numbers(&self) -> Vec<u128> {
            vec![self.0, self.1]
        }
        fn from_numbers(numbers: &mut dyn Iterator<Item = u128>) -> Option<(u128, u128)> {
            Some((numbers.next()?, numbers.next()?))
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fairground-kept-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_run_is_made_once_for_each_seed_and_build() {
        let folder = folder("once");
        let kept = Kept::open(&folder).unwrap();
        let other_build = Kept { build: kept.build + 1, ..kept.clone() };
        let made = std::cell::Cell::new(0);
        let run = |kept: &Kept, what, seed| {
            let count = || {
                made.set(made.get() + 1);
                Ok((made.get(), u128::MAX))
            };
            kept.run::<(u128, u128)>(what, seed, count).unwrap().0
        };
        assert_eq!([run(&kept, "a", 1), run(&kept, "a", 2), run(&kept, "b", 1), run(&other_build, "a", 1)], [1, 2, 3, 4]);
        assert_eq!([run(&kept, "a", 1), run(&kept, "a", 2), run(&kept, "b", 1), run(&other_build, "a", 1)], [1, 2, 3, 4]);
        assert_eq!(made.get(), 4);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_broken_is_made_again_and_a_mistake_is_not_kept() {
        let folder = folder("broken");
        let kept = Kept::open(&folder).unwrap();
        let mistake = || Err::<(u128, u128), Error>(Error::one("here", "wrong", "right"));
        assert!(kept.run("a", 1, mistake).is_err());
        assert_eq!(kept.run("a", 1, || Ok((1, 2))).unwrap(), (1, 2));
        let path = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        for text in ["", "1\n", "1\n2\n3\n", "1\n-2\n", "1\ntwo\n"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(kept.run("a", 1, || Ok((7, 8))).unwrap(), (7, 8), "{text:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let error = Kept::open(Path::new("/dev/null/runs")).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("/dev/null/runs"), "{error}");
    }
}
