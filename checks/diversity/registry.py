"""The diversity criteria that have a text: `entropy:6` in a policy, in a bundle, or demanded of one.

A criterion of one's own is registered with `register_diversity`; those of the project stand in the table below.
"""

import re

from checks.diversity.criteria import Distinct, Entropy, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity, split_left_out, split_odds
from checks.diversity.known import LeavingOut
from checks.diversity.odds import AtOdds
from checks.diversity.relative import (
    AdjustedEntropy,
    Alpha,
    BayesOptimal,
    BetaLikeness,
    Closeness,
    NpdRecursiveByLabel,
    PdRecursive,
    ProtectedValues,
)
from checks.errors import CriterionError

_KINDS: dict[str, type[Diversity]] = {
    kind.name: kind
    for kind in (
        Distinct,
        Simple,
        Entropy,
        Recursive,
        Functional,
        PdRecursive,
        NpdRecursiveByLabel,
        ProtectedValues,
        AdjustedEntropy,
        Alpha,
        BetaLikeness,
        BayesOptimal,
        Closeness,
    )
}
"""The class of each name that a text can begin with."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_LONGEST = 10_000
"""Most characters of a text that is read."""

_registered: dict[str, type[Diversity]] = {}


def register_diversity(criterion: type[Diversity]) -> type[Diversity]:
    """Make the text of a criterion known: to policies, to bundles that are read, and to the demands of `verify`.

    criterion: a class with `name`, `parameters` and `parsed`; it is returned, so that this can stand as a decorator above
    it. Whoever verifies a release that claims it needs the same registration. Raises CriterionError where the name is not
    of the form `my-criterion`, or another criterion has it.

    >>> from collections.abc import Sequence
    >>> from dataclasses import dataclass
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> import marginals
    >>> @marginals.register_diversity
    ... @dataclass(frozen=True)
    ... class Majority(marginals.Diversity):
    ...     '''No sensitive value has more than half of the rows. Reached: the largest share.'''
    ...
    ...     name, parameters = "no-majority", ""
    ...
    ...     def __str__(self) -> str:
    ...         return "no-majority"
    ...
    ...     @classmethod
    ...     def parsed(cls, text: str) -> "Majority | None":
    ...         return cls() if not text else None
    ...
    ...     def slack(self, vectors: np.ndarray) -> np.ndarray:
    ...         return 1 - 2 * self.reached(vectors)
    ...
    ...     def reached(self, vectors: np.ndarray) -> np.ndarray:
    ...         return vectors.max(axis=1) / vectors.sum(axis=1)
    ...
    ...     def decide(self, vector: Sequence[Fraction | int]) -> bool:
    ...         return 2 * max(vector) <= sum(vector)
    >>> from marginals.example import table
    >>> release = marginals.publish(table, marginals.Policy(k_link=4, diversity="no-majority")).release
    >>> print(release.verify().checks[1])
    maxent-diversity (diversity no-majority, sensitive diagnosis): holds
    >>> marginals.unregister_diversity("no-majority")
    """
    name = criterion.name
    if not _NAME.fullmatch(name):
        raise CriterionError(f"a diversity has a name such as entropy or my-criterion, not {name!r}")
    if name in _KINDS or _registered.get(name, criterion) is not criterion:
        raise CriterionError(f"there is already a diversity {name!r}")
    _registered[name] = criterion
    return criterion


def unregister_diversity(name: str) -> None:
    """Forget a criterion that was registered. Raises CriterionError where no such was.

    >>> import marginals
    >>> marginals.unregister_diversity("entropy")
    Traceback (most recent call last):
        ...
    checks.errors.CriterionError: no diversity 'entropy' was registered
    """
    if name not in _registered:
        raise CriterionError(f"no diversity {name!r} was registered")
    del _registered[name]


def parse_diversity(text: str) -> Diversity:
    """The criterion that a policy or a bundle names, for instance `entropy:l`.

    Numbers may be whole, decimal or fractions (`2.8`, `14/5`) and are taken exactly. At the end may stand the odds that it
    must bear, `at odds 1.2`, and before them what stands for no value, `leaving out missing`. Raises CriterionError for a
    text that is none, with a list of all forms.

    >>> parse_diversity("recursive:3,4"), str(parse_diversity("entropy:14/5"))
    (Recursive(c=Fraction(3, 1), l=4, strict=True, dont_care=frozenset()), 'entropy:2.8')
    """
    if len(text) > _LONGEST:
        raise CriterionError(f"the text of a diversity has at most {_LONGEST:,} characters, not {len(text):,}")
    judged, odds = split_odds(text)
    plain, left_out = split_left_out(judged)
    name, _, parameters = plain.partition(":")
    criterion = _known().get(name.strip())
    parsed = None if criterion is None else criterion.parsed(parameters)
    if parsed is None:
        refusal = f"the diversity {text!r} is not of the form {', '.join(spellings())}"
        if criterion is None and _NAME.fullmatch(name.strip()):
            refusal += (
                f"; if {name.strip()!r} is a criterion of somebody's own, register its class first, with "
                "marginals.register_diversity"
            )
        raise CriterionError(refusal)
    known = LeavingOut(parsed, left_out) if left_out else parsed
    return known if odds is None else AtOdds(known, odds)


def require_readable(criterion: Diversity) -> None:
    """Raise CriterionError for a criterion whose text would not be read back as the same one, as no reader could judge it.

    >>> require_readable(parse_diversity("entropy:6 at odds 1.2"))
    """
    try:
        read = parse_diversity(str(criterion))
    except CriterionError as error:
        read, why = None, f": {str(error).partition('; if')[0]}"
    else:
        why = f", but as {read}"
    if read != criterion:
        raise CriterionError(
            f"the criterion {type(criterion).__name__} writes itself as {str(criterion)!r}, which is not read back "
            f"as the same one{why}; let its __str__ be name:parameters, its parsed() the way back, and equal ones be "
            "equal (a frozen dataclass)"
        )


def spellings() -> tuple[str, ...]:
    """The forms of all texts.

    >>> spellings()[:3]
    ('distinct:l', 'simple:l', 'entropy:l')
    """
    return tuple(f"{c.name}:{c.parameters}" if c.parameters else c.name for c in _known().values())


def _known() -> dict[str, type[Diversity]]:
    return _KINDS | _registered
