"""Releases as Markov networks of pgmpy, for its inference and its plots."""

import warnings
from typing import Any

from marginals.errors import InputError
from marginals.installing import installing
from marginals.interchange.factors import Modelled, factors


def to_pgmpy(release: Modelled) -> Any:
    """The maxent distribution of a release, or a selected model, as a `pgmpy.models.DiscreteMarkovNetwork`.

    States are named by their labels.

    Raises InputError where pgmpy is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of pgmpy, about its own modules
            from pgmpy.factors.discrete import DiscreteFactor
            from pgmpy.models import DiscreteMarkovNetwork
    except ImportError:
        raise InputError(f"pgmpy is not installed: {installing('pgmpy')}") from None
    network = factors(release)
    model = DiscreteMarkovNetwork()
    model.add_nodes_from(network.labels)
    for factor in network.factors:
        names = {variable: list(network.labels[variable]) for variable in factor.variables}
        model.add_edges_from((a, b) for i, a in enumerate(factor.variables) for b in factor.variables[i + 1 :])
        model.add_factors(DiscreteFactor(list(factor.variables), factor.values.shape, factor.values, state_names=names))
    return model
