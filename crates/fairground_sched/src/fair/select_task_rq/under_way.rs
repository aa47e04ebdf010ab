//! Searches for an idle CPU that stop between two looks.

use super::search::Search;
use fairground_stdx::{CpuId, IndexVec};

/// The search that is under way on each CPU. They are large and go on at every look, so each stays where it is: there is a place
/// for each CPU from the beginning, and one for a search that all others wait for.
#[derive(Clone, Debug)]
pub(crate) struct Searches {
    under_way: IndexVec<CpuId, Option<Box<Search>>>,
    #[expect(clippy::vec_box, reason = "a place moves between a CPU and here, and what is in it does not")]
    spare: Vec<Box<Search>>,
}

impl Searches {
    pub(crate) fn new(nr_cpus: usize) -> Searches {
        let spare = (0..=nr_cpus).map(|_| Box::new(Search::nothing())).collect();
        Searches { under_way: (0..nr_cpus).map(|_| None).collect(), spare }
    }
    /// Whether any CPU searches.
    pub(crate) fn any(&self) -> bool {
        self.under_way.iter().any(Option::is_some)
    }
    /// A place for a search that begins; what an earlier one has left there must be overwritten.
    pub(super) fn place(&mut self) -> Box<Search> {
        self.spare.pop().expect("invariant: a CPU is in the middle of one search at most")
    }
    /// The search of `cpu`, in its place.
    #[inline]
    pub(super) fn of(&mut self, cpu: CpuId) -> Option<&mut Search> {
        self.under_way[cpu].as_deref_mut()
    }
    /// The search of `cpu` goes on.
    #[inline]
    pub(super) fn take(&mut self, cpu: CpuId) -> Option<Box<Search>> {
        self.under_way[cpu].take()
    }
    /// It has stopped between two looks.
    #[inline]
    pub(super) fn put_back(&mut self, cpu: CpuId, search: Box<Search>) {
        self.under_way[cpu] = Some(search);
    }
    /// It is over.
    #[inline]
    pub(super) fn reuse(&mut self, place: Box<Search>) {
        self.spare.push(place);
    }
}
