"""Diversity criteria that have a text, such as `entropy:6`: the project's own, registered ones, and installed ones."""

import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from checks.diversity.criteria import Distinct, Entropy, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity, SensitiveValues
from checks.diversity.derived import LeavingOut
from checks.diversity.relative import (
    AdjustedEntropy,
    Alpha,
    AtMost,
    BayesOptimal,
    BeliefDifference,
    BetaLikeness,
    Closeness,
    NpdRecursiveByLabel,
    Odds,
    PdRecursive,
    ProtectedValues,
)
from checks.diversity.text import split_left_out
from checks.errors import CriterionError
from models.frozen import frozen
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
        AtMost,
        Odds,
        BetaLikeness,
        BayesOptimal,
        BeliefDifference,
        Closeness,
    )
}
"""Class of each name that a text can begin with."""

PRESETS: Mapping[str, Odds] = MappingProxyType(
    {
        "strict": Odds(Fraction(2), Fraction(5)),
        "public": Odds(Fraction(3), Fraction(10)),
        "research": Odds(Fraction(10), Fraction(25)),
    }
)
"""Demands by the audience of a release, the strictest first: each has bounds below those of the next."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_LONGEST, _LONGEST_UNKNOWN = 10_000, 200
"""Most characters of a text that is read, and of one whose criterion is unknown here."""

_registered: dict[str, type[Diversity]] = {}


def register_diversity(criterion: type[Diversity]) -> type[Diversity]:
    """Register the text of a criterion for policies, for bundles that are read, and for the demands of `verify`.

    A reader who verifies a release with it needs the same registration. For the command line, declare it as an entry
    point of the group `marginals.criteria`. `check_criterion` tests the laws that checks rely on.

    Parameters
    ----------
    criterion
        Class with `name`, `parameters` and `parsed`, which is returned.

    Raises
    ------
    CriterionError
        If the name belongs to another criterion, or is unlike `my-criterion`.

    >>> import marginals
    >>> from fractions import Fraction
    >>> @marginals.criteria.register_diversity
    ... class NoMajority(Simple):
    ...     '''No sensitive value has more than half of the rows.'''
    ...
    ...     name, parameters, grammar = "no-majority", "", None
    ...
    ...     def __str__(self) -> str:
    ...         return "no-majority"
    ...
    ...     @classmethod
    ...     def parsed(cls, text: str) -> "NoMajority | None":
    ...         return None if text else cls(Fraction(2))
    >>> policy = marginals.Policy(k_link=4, diversity="no-majority")
    >>> marginals.criteria.unregister_diversity("no-majority")
    """
    require_kind(criterion)
    name = criterion.name
    if not _NAME.fullmatch(name):
        raise CriterionError(f"a diversity has a name such as entropy or my-criterion, not {name!r}")
    if name in PRESETS or (_KINDS | _registered).get(name, criterion) is not criterion:
        raise CriterionError(f"there is already a diversity {name!r}")
    _registered[name] = criterion
    return criterion


def require_kind(criterion: object) -> None:
    """Raise CriterionError unless an object is a class of criteria."""
    if not (isinstance(criterion, type) and issubclass(criterion, Diversity)):
        raise CriterionError(
            "a criterion is a class with the base marginals.criteria.Diversity and a name, such as Entropy"
        )


def unregister_diversity(name: str) -> None:
    """Remove a registered criterion. Raises CriterionError if it is not registered.

    >>> import marginals
    >>> marginals.criteria.unregister_diversity("entropy")
    Traceback (most recent call last):
        ...
    checks.errors.CriterionError: no diversity 'entropy' was registered
    """
    if not isinstance(name, str) or name not in _registered:
        raise CriterionError(f"no diversity {name!r} was registered")
    del _registered[name]


def parse_diversity(text: str) -> Diversity:
    """Return the criterion that a policy or a bundle names, for instance `entropy:l`.

    Numbers may be whole, decimal or fractions (`2.8`, `14/5`) and are taken exactly. The text may end with labels that
    stand for no value, `leaving out missing`.

    Parameters
    ----------
    text
        Name and parameters.

    Raises
    ------
    CriterionError
        If the text has none of the forms, which the message lists.

    >>> parse_diversity("recursive:3,4"), str(parse_diversity("entropy:14/5"))
    (Recursive(c=Fraction(3, 1), l=4, strict=True, dont_care=frozenset()), 'entropy:2.8')
    """
    criterion = stated_diversity(text)
    if uninstalled_in(criterion) is not None:
        raise _refusal(text)
    return criterion


def stated_diversity(text: str) -> Diversity:
    """Return the criterion that a bundle states: as `parse_diversity`, but one that is not installed here represents
    itself.

    Its demand is then undecided, whatever the files say.
    """
    if not isinstance(text, str):
        raise CriterionError(f'a diversity is a text such as "entropy:6", not {type(text).__name__}')
    if len(text) > _LONGEST:
        raise CriterionError(f"the text of a diversity has at most {_LONGEST:,} characters, not {len(text):,}")
    plain, left_out = split_left_out(text)
    name, _, parameters = plain.partition(":")
    criterion: Diversity | None = PRESETS.get(plain.strip())
    if criterion is not None:
        pass
    elif (kind := _kind(name.strip())) is not None:
        criterion = kind.parsed(parameters)
    elif _NAME.fullmatch(name.strip()) and plain.isprintable() and len(plain) <= _LONGEST_UNKNOWN:
        criterion = Uninstalled(plain)
    if criterion is None:
        raise _refusal(text)
    return LeavingOut(criterion, left_out) if left_out else criterion


@frozen
class Uninstalled(Diversity):
    """Criterion that a bundle names and that is unknown here, so that it cannot be judged."""

    text: str

    def __str__(self) -> str:
        return self.text

    def among(self, values: SensitiveValues) -> Diversity:  # noqa: ARG002 - nobody can say
        """Raise CriterionError: the criterion is not installed."""
        raise CriterionError(self.lacking())

    def lacking(self) -> str:
        """Return what to install, in words."""
        name = self.text.partition(":")[0].strip()
        return (
            f"the criterion {name!r} is not installed here: install the package that declares it (entry points "
            f"{CRITERIA}), or register its class with marginals.criteria.register_diversity"
        )


def uninstalled_in(diversity: Diversity) -> Uninstalled | None:
    """Return the unknown criterion, plain or with labels left out; None if the criterion is known."""
    plain = diversity.plain if isinstance(diversity, LeavingOut) else diversity
    return plain if isinstance(plain, Uninstalled) else None


def demands_nothing(diversity: Diversity) -> bool:
    """Return whether a diversity holds for every class, as `distinct:1` does, so that claiming it demands nothing."""
    plain = diversity.plain if isinstance(diversity, LeavingOut) else diversity
    return not plain.is_relative and plain.decide([1])


def _refusal(text: str) -> CriterionError:
    sentence = f"the diversity {text!r} is not of the form {', '.join(spellings())}"
    name = split_left_out(text)[0].partition(":")[0].strip()
    if _NAME.fullmatch(name) and _kind(name) is None:
        sentence += (
            f"; if {name!r} is a criterion of somebody's own, register its class first, with "
            "marginals.criteria.register_diversity, or install the package that declares it"
        )
    return CriterionError(sentence).about("privacy.diversity")


def _kind(name: str) -> type[Diversity] | None:
    """Return the class of a name, or None. Raises ExtensionError if the object installed under it is no criterion."""
    if (kind := (_KINDS | _registered).get(name)) is not None or not _NAME.fullmatch(name):
        return kind
    result = installed(CRITERIA, name)
    if result is not None and not (isinstance(result, type) and issubclass(result, Diversity) and result.name == name):
        raise refusal(CRITERIA, name, f"a class with the base marginals.criteria.Diversity and the name {name!r}")
    return result


def require_readable(criterion: Diversity) -> None:
    """Raise CriterionError for a criterion whose text is not read back as the same one, so that no reader could judge it."""
    try:
        read = parse_diversity(str(criterion))
    except CriterionError as error:
        read, why = None, f": {str(error).partition('; if')[0]}"
    else:
        why = f", but as {read}"
    if read != criterion or hash(read) != hash(criterion):
        raise CriterionError(
            f"the criterion {type(criterion).__name__} writes itself as {str(criterion)!r}, which is not read back "
            f"as the same one{why}. Let its __str__ be name:parameters, its parsed() the way back, and equal ones be "
            "equal (a frozen dataclass)"
        )


def spellings() -> tuple[str, ...]:
    """Return the forms of all texts, such as `entropy:l`."""
    return tuple(f"{c.name}:{c.parameters}" if c.parameters else c.name for c in (_KINDS | _registered).values())
