"""What there is."""

from __future__ import annotations

from . import _native
from ._native import Table
from ._scenario import no_changes


def list_profiles() -> Table:
    """The kernels that can be run, and overlays: columns ``name`` and ``sentence``."""
    return _native.listed("profiles")


def list_features() -> Table:
    """Scheduler features: ``name``, the ``kernels`` that have them, their ``default``, ``sentence``."""
    return _native.listed("features")


def list_tunables() -> Table:
    """Tunables of the scheduler: ``name`` and ``sentence``."""
    return _native.listed("tunables")


def list_machines() -> Table:
    """Machine presets: ``name`` and ``sentence``."""
    return _native.listed("machines")


def list_costs() -> Table:
    """Price lists of kernel code: ``name`` and ``sentence``."""
    return _native.listed("costs")


def list_governors() -> Table:
    """Frequency governors: ``name``, ``tunables``, ``sentence``."""
    return _native.listed("governors")


def list_workloads() -> Table:
    """Workloads that have a name, with the flags of the real programs."""
    return _native.listed("workloads")


def list_formats() -> Table:
    """Trace formats: ``name``, ``ending``, which are read and written."""
    return _native.listed("formats")


def list_metrics() -> Table:
    """The named numbers of runs: name, unit, which way is better, sentence."""
    return _native.listed("metrics")


def list_reasons() -> Table:
    """The rules by which decisions fall: ``name`` as in the column ``what`` of records, and ``sentence``."""
    return _native.listed("reasons")


def list_domains(machine: str | None = None, kernel: str | None = None, *, cpu: int | None = None) -> Table:
    """The scheduling domains of a machine under a kernel, of all CPUs or of one.

    :raises InputError: if there is no such machine, kernel or CPU.
    """
    return _native.domains(no_changes() | {"machine": machine, "kernel": kernel}, cpu)
