"""The diversity criteria that have a text: `entropy:6` in a policy, in a bundle, or demanded of one.

A criterion of one's own is registered with `register_diversity`, or declared by an installed package as an entry point of
the group `marginals.criteria`, under its name; those of the project stand in the table below.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from checks.diversity.criteria import Distinct, Entropy, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity, RelativeDiversity, SensitiveValues, split_left_out, split_odds
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
from models.installed import CRITERIA, installed, refusal

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

_LONGEST_UNKNOWN = 200
"""The same where nothing here knows the criterion, so that its text is told as it stands."""

_registered: dict[str, type[Diversity]] = {}


def register_diversity(criterion: type[Diversity]) -> type[Diversity]:
    """Make the text of a criterion known: to policies, to bundles that are read, and to the demands of `verify`.

    criterion: a class with `name`, `parameters` and `parsed`; it is returned, so that this can stand as a decorator above
    it. Whoever verifies a release that claims it needs the same registration; for the command line, declare it as an entry
    point. `check_criterion` tries whether it keeps the laws that checks and searches rely on. Raises CriterionError where
    the name is not of the form `my-criterion`, or another criterion has it.

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
    require_kind(criterion)
    name = criterion.name
    if not _NAME.fullmatch(name):
        raise CriterionError(f"a diversity has a name such as entropy or my-criterion, not {name!r}")
    if name in _KINDS or _registered.get(name, criterion) is not criterion:
        raise CriterionError(f"there is already a diversity {name!r}")
    _registered[name] = criterion
    return criterion


def require_kind(criterion: object) -> None:
    """Raise CriterionError unless something is a class of criteria, with what a text of one is made of."""
    if not (isinstance(criterion, type) and issubclass(criterion, Diversity) and hasattr(criterion, "name")):
        raise CriterionError("a criterion is a class with the base marginals.Diversity and a name, such as Entropy")


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
    return _parsed(text, _refused)


def stated_diversity(text: str) -> Diversity:
    """The criterion that a bundle states: as `parse_diversity`, but one that is not installed here stands for itself.

    What it demands is then undecided, whatever the files say.

    >>> stated_diversity("somebodys:4 at odds 2"), stated_diversity("entropy:6") == parse_diversity("entropy:6")
    (AtOdds(plain=Uninstalled(text='somebodys:4'), odds=Fraction(2, 1)), True)
    """

    def unknown(name: str, plain: str, whole: str) -> Diversity:
        is_short = name and plain.isprintable() and len(plain) <= _LONGEST_UNKNOWN
        return Uninstalled(plain) if is_short else _refused(name, plain, whole)

    return _parsed(text, unknown)


@dataclass(frozen=True)
class Uninstalled(RelativeDiversity):
    """A criterion that a bundle names and that nothing here knows, so that nobody here can judge it. text: as it stands
    there.
    """

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def about_base_values(self) -> bool:
        """Nobody knows; what is finer is not left out for its sake."""
        return False

    def among(self, values: SensitiveValues) -> Diversity:  # noqa: ARG002 - as of any criterion
        """Raises CriterionError: nobody can say."""
        raise CriterionError(self.lacking())

    def _refused(self, *_: object) -> NoReturn:
        """Raises CriterionError: nobody can say."""
        raise CriterionError(self.lacking())

    slack: ClassVar[Callable[..., NoReturn]] = _refused
    reached: ClassVar[Callable[..., NoReturn]] = _refused
    decide: ClassVar[Callable[..., NoReturn]] = _refused

    def lacking(self) -> str:
        """What to install, in words."""
        name = self.text.partition(":")[0].strip()
        return (
            f"the criterion {name!r} is not installed here: install the package that declares it (entry points "
            f"{CRITERIA}), or register its class with marginals.register_diversity"
        )


def uninstalled_in(diversity: Diversity) -> Uninstalled | None:
    """The criterion that nothing here knows, within others that are made of it; None where all are known.

    >>> uninstalled_in(stated_diversity("somebodys:4 at odds 2"))
    Uninstalled(text='somebodys:4')
    """
    while isinstance(diversity, AtOdds | LeavingOut):
        diversity = diversity.plain
    return diversity if isinstance(diversity, Uninstalled) else None


def demands_nothing(diversity: Diversity) -> bool:
    """Whether a diversity holds of every class, so that it would stand in a release as a demand and be none.

    >>> demands_nothing(parse_diversity("distinct:1")), demands_nothing(parse_diversity("distinct:2"))
    (True, False)
    """
    while isinstance(diversity, AtOdds | LeavingOut):
        diversity = diversity.plain
    return not diversity.is_relative and diversity.decide([1])


_Unknown = Callable[[str, str, str], Diversity]
"""What stands for a text whose criterion is unknown: of its name, empty for none, the text without clauses, and the whole.
"""


def _parsed(text: str, unknown: _Unknown) -> Diversity:
    if not isinstance(text, str):
        raise CriterionError(f'a diversity is a text such as "entropy:6", not {type(text).__name__}')
    if len(text) > _LONGEST:
        raise CriterionError(f"the text of a diversity has at most {_LONGEST:,} characters, not {len(text):,}")
    judged, odds = split_odds(text)
    plain, left_out = split_left_out(judged)
    name, _, parameters = plain.partition(":")
    criterion = _criterion(name.strip())
    parsed = None if criterion is None else criterion.parsed(parameters)
    if parsed is None:
        is_name = criterion is None and _NAME.fullmatch(name.strip())
        parsed = unknown(name.strip() if is_name else "", plain, text)
    known = LeavingOut(parsed, left_out) if left_out else parsed
    return known if odds is None else AtOdds(known, odds)


def _refused(name: str, _plain: str, text: str) -> Diversity:
    """Raises CriterionError, with all forms."""
    refusal = f"the diversity {text!r} is not of the form {', '.join(spellings())}"
    if name:
        refusal += (
            f"; if {name!r} is a criterion of somebody's own, register its class first, with "
            "marginals.register_diversity, or install the package that declares it"
        )
    raise CriterionError(refusal).helped_by(form={})


def _criterion(name: str) -> type[Diversity] | None:
    """The class of a name: of the project, registered, or declared by an installed package; None where there is none.

    Raises ExtensionError for something installed that is no criterion, or one of another name.
    """
    if (known := _known().get(name)) is not None or not _NAME.fullmatch(name):
        return known
    result = installed(CRITERIA, name)
    if result is None:
        return None
    if not (isinstance(result, type) and issubclass(result, Diversity) and result.name == name):
        raise refusal(CRITERIA, name, f"a class with the base marginals.Diversity and the name {name!r}")
    return result


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
