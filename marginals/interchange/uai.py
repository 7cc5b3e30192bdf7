"""The UAI file format of Markov networks, as the inference evaluations of the UAI conference specify it.

Tables run over their variables with the last one fastest. Numbers are plain decimals, since not every reader takes
exponents, and are written with as many digits as read back to the same number. The format has no names.
"""

from pathlib import Path

import numpy as np

from marginals.errors import InputError
from marginals.files.atomic_file import replace_file
from marginals.interchange.factors import LabelledFactors, factors
from marginals.release.release import Release


def uai_text(network: LabelledFactors) -> str:
    """A Markov network in the format; variables are numbered in the order of `network.labels`."""
    number = {variable: str(n) for n, variable in enumerate(network.labels)}
    lines = ["MARKOV", str(len(number)), " ".join(str(len(labels)) for labels in network.labels.values())]
    lines.append(str(len(network.factors)))
    lines += [" ".join([str(len(f.variables)), *(number[v] for v in f.variables)]) for f in network.factors]
    for factor in network.factors:
        values = (np.format_float_positional(value, trim="0") for value in factor.values.ravel())
        lines += ["", str(factor.values.size), " ".join(values)]
    return "\n".join(lines) + "\n"


def write_uai(release: Release, path: str | Path) -> dict[str, tuple[str, ...]]:
    """Write the maxent distribution of a release.

    Returns what the file cannot say: the variables in the order of their numbers, each with the labels of its states.
    Raises InputError where it cannot be written, or where nothing is published that could be.
    """
    network = factors(release)
    if not network.labels:
        raise InputError("every attribute of the release is suppressed, so there is no network to write")
    replace_file(Path(path), uai_text(network).encode())
    return dict(network.labels)
