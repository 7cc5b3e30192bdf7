"""The diversity criteria that have a text, such as `entropy:6`: the project's own, those registered, and installed ones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from checks.diversity.criteria import Distinct, Entropy, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity, SensitiveValues
from checks.diversity.known import LeavingOut
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
"""The class of each name that a text can begin with."""

PRESETS: Mapping[str, Odds] = MappingProxyType(
    {
        "strict": Odds(Fraction(2), Fraction(5)),
        "public": Odds(Fraction(3), Fraction(10)),
        "research": Odds(Fraction(10), Fraction(25)),
    }
)
"""What is demanded by the name of whom a release is for, the strictest first: each has bounds below those of the next."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_LONGEST, _LONGEST_UNKNOWN = 10_000, 200
"""Most characters of a text that is read, and of one whose criterion nothing here knows."""

_registered: dict[str, type[Diversity]] = {}


def register_diversity(criterion: type[Diversity]) -> type[Diversity]:
    """Make the text of a criterion known: to policies, to bundles that are read, and to the demands of `verify`.

    criterion: a class with `name`, `parameters` and `parsed`, which is returned. Whoever verifies a release that claims it
    needs the same registration; for the command line, declare it as an entry point of the group `marginals.criteria`.
    `check_criterion` tries whether it keeps the laws that checks rely on. Raises CriterionError for another criterion's
    name, or one unlike `my-criterion`.

    >>> import marginals
    >>> from fractions import Fraction
    >>> @marginals.register_diversity
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
    >>> marginals.unregister_diversity("no-majority")
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
    """Raise CriterionError unless something is a class of criteria."""
    if not (isinstance(criterion, type) and issubclass(criterion, Diversity)):
        raise CriterionError("a criterion is a class with the base marginals.Diversity and a name, such as Entropy")


def unregister_diversity(name: str) -> None:
    """Forget a criterion that was registered. Raises CriterionError where no such was.

    >>> import marginals
    >>> marginals.unregister_diversity("entropy")
    Traceback (most recent call last):
        ...
    checks.errors.CriterionError: no diversity 'entropy' was registered
    """
    if not isinstance(name, str) or name not in _registered:
        raise CriterionError(f"no diversity {name!r} was registered")
    del _registered[name]


def parse_diversity(text: str) -> Diversity:
    """The criterion that a policy or a bundle names, for instance `entropy:l`.

    Numbers may be whole, decimal or fractions (`2.8`, `14/5`) and are taken exactly. At the end may stand what stands for no
    value, `leaving out missing`. Raises CriterionError for a text that is none, with a list of all forms.

    >>> parse_diversity("recursive:3,4"), str(parse_diversity("entropy:14/5"))
    (Recursive(c=Fraction(3, 1), l=4, strict=True, dont_care=frozenset()), 'entropy:2.8')
    """
    criterion = stated_diversity(text)
    if uninstalled_in(criterion) is not None:
        raise _refusal(text)
    return criterion


def stated_diversity(text: str) -> Diversity:
    """The criterion that a bundle states: as `parse_diversity`, but one that is not installed here stands for itself.

    What it demands is then undecided, whatever the files say.

    >>> stated_diversity("somebodys:4"), stated_diversity("entropy:6") == parse_diversity("entropy:6")
    (Uninstalled(text='somebodys:4'), True)
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


@dataclass(frozen=True)
class Uninstalled(Diversity):
    """A criterion that a bundle names and that nothing here knows, so that nobody here can judge it."""

    text: str

    def __str__(self) -> str:
        return self.text

    def among(self, values: SensitiveValues) -> Diversity:  # noqa: ARG002 - nobody can say
        """Raise CriterionError: what judges these values is not installed."""
        raise CriterionError(self.lacking())

    def lacking(self) -> str:
        """What to install, in words."""
        name = self.text.partition(":")[0].strip()
        return (
            f"the criterion {name!r} is not installed here: install the package that declares it (entry points "
            f"{CRITERIA}), or register its class with marginals.register_diversity"
        )


def uninstalled_in(diversity: Diversity) -> Uninstalled | None:
    """The criterion that nothing here knows, itself or with labels left out; None if it is known."""
    plain = diversity.plain if isinstance(diversity, LeavingOut) else diversity
    return plain if isinstance(plain, Uninstalled) else None


def demands_nothing(diversity: Diversity) -> bool:
    """Whether a diversity holds of every class, as `distinct:1` does, so that a release that states it demands nothing."""
    plain = diversity.plain if isinstance(diversity, LeavingOut) else diversity
    return not plain.is_relative and plain.decide([1])


def _refusal(text: str) -> CriterionError:
    sentence = f"the diversity {text!r} is not of the form {', '.join(spellings())}"
    name = split_left_out(text)[0].partition(":")[0].strip()
    if _NAME.fullmatch(name) and _kind(name) is None:
        sentence += (
            f"; if {name!r} is a criterion of somebody's own, register its class first, with "
            "marginals.register_diversity, or install the package that declares it"
        )
    return CriterionError(sentence).helped_by(form={})


def _kind(name: str) -> type[Diversity] | None:
    """The class of a name; None if there is none. Raises ExtensionError if what is installed under it is no criterion."""
    if (known := (_KINDS | _registered).get(name)) is not None or not _NAME.fullmatch(name):
        return known
    result = installed(CRITERIA, name)
    if result is not None and not (isinstance(result, type) and issubclass(result, Diversity) and result.name == name):
        raise refusal(CRITERIA, name, f"a class with the base marginals.Diversity and the name {name!r}")
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
            f"as the same one{why}; let its __str__ be name:parameters, its parsed() the way back, and equal ones be "
            "equal (a frozen dataclass)"
        )


def spellings() -> tuple[str, ...]:
    """The forms of all texts, such as `entropy:l`."""
    return tuple(f"{c.name}:{c.parameters}" if c.parameters else c.name for c in (_KINDS | _registered).values())
