"""Optuna, which is an optional extra of the package, without its messages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ._tune_judge import Direction


def optuna() -> Any:
    """The module, or an error that says how to install it."""
    try:
        import optuna as found
    except ImportError as error:
        raise ImportError("fairground.tune needs Optuna: pip install './python[tune]', or pip install optuna") from error
    return found


def new_study(directions: Sequence[Direction], sampler_seed: int, *, multivariate: bool) -> Any:
    """A study in memory with a TPE sampler. Its log is quiet: a study inside of another program is no news."""
    module = optuna()
    before = module.logging.get_verbosity()
    module.logging.set_verbosity(module.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = module.samplers.TPESampler(seed=sampler_seed, multivariate=multivariate)
        ways = ["minimize" if way == "min" else "maximize" for way in directions]
        return module.create_study(directions=ways, sampler=sampler)
    finally:
        module.logging.set_verbosity(before)


def importances(params: Sequence[Any], values: Sequence[float], direction: Direction) -> dict[str, float]:
    """PED-ANOVA of trials (Optuna's) for reaching the best quarter of these values. Nothing else than numpy is needed for it."""
    module = optuna()
    study = new_study([direction], 0, multivariate=False)
    for trial, value in zip(params, values):
        study.add_trial(module.trial.create_trial(params=trial.params, distributions=trial.distributions, value=value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge = module.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)
        found = module.importance.get_param_importances(study, evaluator=judge)
    return {name: float(share) for name, share in found.items()}
