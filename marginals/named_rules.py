"""Named rules: the demands of an agency as data, and where they are stated."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from checks.claims import LEAST_DEMAND, MOST_ROWS, Claim, is_number_of_rows, parse_claim, quoted_value, why_no_demand
from checks.diversity.criterion import Diversity
from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError
from checks.finding import Finding, Verdict, verdict_of_all
from checks.requirements import Requirements
from marginals.errors import InputError, system_reason
from marginals.files import bounded_content
from marginals.keys import Key, are, check_keys, is_table, text
from marginals.messages import LONGEST_WORDS, is_words


@dataclass(frozen=True)
class AppliedDemand:
    """Demand of a rule: its text, the claims of a release that keep it, and their findings; None until they are judged."""

    says: str
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...] | None = field(default=None, repr=False)

    @property
    def verdict(self) -> Verdict:
        """Verdict on all claims together."""
        findings = self.findings
        return Verdict.UNDECIDED if findings is None else verdict_of_all(finding.verdict for finding in findings)


@dataclass(frozen=True)
class AppliedRule:
    """Rule with its demands as claims of one release. unchecked: demands that no check covers.

    release: the one that was judged, where there are several.
    """

    name: str
    title: str
    source: str
    demands: tuple[AppliedDemand, ...]
    unchecked: tuple[str, ...] = ()
    release: str = ""

    @classmethod
    def from_json(cls, content: object) -> "AppliedRule":
        """Read the rule that a bundle states. Raises CriterionError for other content."""
        match content:
            case {"name": str(name), "title": str(title), "source": str(source), "demands": list(demands), **others}:
                unchecked = others.get("unchecked", [])
                says = [demand.get("says") if isinstance(demand, dict) else None for demand in demands]
                if isinstance(unchecked, list) and all(map(is_words, [name, title, source, *unchecked, *says])):
                    return cls(name, title, source, tuple(map(_applied_demand, demands)), tuple(unchecked))
        raise CriterionError(
            "a rule has a name, a title, a source and demands, each a line of text "
            f"of at most {LONGEST_WORDS} characters with claims"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the rule as a bundle states it, with the verdicts once it is judged, without the findings."""
        content: dict[str, Any] = {"name": self.name, "title": self.title, "source": self.source}
        content["demands"] = [
            {"says": d.says} | ({} if d.findings is None else {"verdict": d.verdict}) | {"claims": d.claims}
            for d in self.demands
        ]
        others: dict[str, Any] = {"unchecked": self.unchecked, "release": self.release}
        if any(demand.findings is not None for demand in self.demands):
            others["verdict"] = self.verdict
        return content | {name: value for name, value in others.items() if value}

    @property
    def verdict(self) -> Verdict:
        """Verdict on all demands together."""
        return verdict_of_all(demand.verdict for demand in self.demands)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of all demands."""
        return tuple(claim for demand in self.demands for claim in demand.claims)

    def stating(self, form_of: Callable[[Claim], Claim]) -> "AppliedRule":
        """Replace each claim by the same one in another form."""
        demands = (AppliedDemand(d.says, tuple(map(form_of, d.claims))) for d in self.demands)
        return replace(self, demands=tuple(demands))

    def with_findings(self, claims: Sequence[Claim], findings: Sequence[Finding]) -> "AppliedRule":
        """Add the findings on its claims, all of which are among those that are passed."""
        of = claims.index
        demands = (replace(d, findings=tuple(findings[of(claim)] for claim in d.claims)) for d in self.demands)
        return replace(self, demands=tuple(demands))


def _applied_demand(content: Mapping[str, Any]) -> AppliedDemand:
    claims = content.get("claims")
    if not isinstance(claims, list) or not claims or not all(isinstance(claim, dict) for claim in claims):
        raise CriterionError("a demand of a rule has a list of claims")
    return AppliedDemand(content["says"], tuple(map(parse_claim, claims)))


COUNTS = ("k_link", "k_combinatorial", "min_cell")
"""Keys of [privacy] that demand a least count."""

_KEYS = (*COUNTS, "diversity")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_FOLDER = Path(__file__).parent / "rules"
_MOST_BYTES = 1 << 16
_MOST = 20
"""Most demands of a rule, and most sentences about things that are not checked."""


@dataclass(frozen=True)
class Demand:
    """Demand as the source says it, and the key of [privacy] with its value that checks it.

    Raises InputError or CriterionError for anything else.
    """

    says: str
    key: str
    value: int | str

    def __post_init__(self) -> None:
        if self.key not in _KEYS:
            raise InputError(f"a demand has one of the keys {', '.join(_KEYS)}, not {self.key!r}")
        if self.key == "diversity" and not isinstance(self.value, str):
            raise InputError(f'diversity is text such as "entropy:6", not {self.value!r}')
        if self.key in COUNTS and not is_number_of_rows(self.value, LEAST_DEMAND):
            raise InputError(
                f"{self.key} must be a whole number from {LEAST_DEMAND} to {MOST_ROWS:,}, got {quoted_value(self.value)}"
                f"{why_no_demand(self.value)}"
            )
        _ = self.diversity

    @property
    def diversity(self) -> Diversity | None:
        """Diversity that is demanded; None where a count is."""
        return parse_diversity(self.value) if isinstance(self.value, str) else None

    def claims(self, sensitive: tuple[str, ...]) -> tuple[Claim, ...]:
        """Return the claims of a release with these sensitive attributes that keep it."""
        return Requirements(sensitive, **{self.key: self.diversity or self.value}).claims  # type: ignore[arg-type]


@dataclass(frozen=True)
class NamedRule:
    """Rule by its name, with its demands of a release. unchecked: demands of the source that no check covers.

    A rule never changes under its name: an agency's new number is a new rule.

    >>> rule = named_rule("cms-11")
    >>> [(demand.key, demand.value) for demand in rule.demands]
    [('min_cell', 11)]
    """

    name: str
    title: str
    source: str
    demands: tuple[Demand, ...]
    unchecked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputError(f"the name of a rule has small letters, digits and -, 40 at most, not {self.name!r}")
        lines = [("says", demand.says) for demand in self.demands] + [("unchecked", line) for line in self.unchecked]
        for key, line in [("title", self.title), ("source", self.source), *lines]:
            if not line or not is_words(line):
                raise InputError(f"{key} of a rule is one line of text of at most {LONGEST_WORDS} characters")
        if not 1 <= len(self.demands) <= _MOST or len(self.unchecked) > _MOST:
            raise InputError(f"a rule has 1 to {_MOST} demands, and at most {_MOST} lines that are unchecked")

    def applied(self, sensitive: Sequence[str]) -> AppliedRule:
        """Return the rule on a release with these sensitive attributes. Raises CriterionError where it makes no sense."""
        demands = tuple(AppliedDemand(demand.says, demand.claims(tuple(sensitive))) for demand in self.demands)
        return AppliedRule(self.name, self.title, self.source, demands, self.unchecked)


def rule_names() -> tuple[str, ...]:
    """Return the names of the rules that come with this program."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.toml")))


@cache
def named_rule(name: str) -> NamedRule:
    """Return the rule of a name that comes with this program. Raises InputError where there is none."""
    if name not in rule_names():
        raise InputError(
            f"there is no rule {name!r}; there is {', '.join(rule_names())}, or name a file of your own (.toml)"
        )
    import tomllib  # slow to import, and few commands need it

    return _rule(tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")))


def read_rule(path: str | Path) -> NamedRule:
    """Read the rule in a TOML file. Raises InputError naming the file and what is wrong with it."""
    import tomllib

    path = Path(path)
    try:
        content = tomllib.loads(bounded_content(path, _MOST_BYTES).decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path} with a rule") from None
    except OSError as error:
        raise InputError(f"the rule {path} cannot be read: {system_reason(error)}") from None
    except (ValueError, RecursionError):
        raise InputError(f"the rule {path.name} is not valid TOML in UTF-8") from None
    try:
        rule = _rule(content)
    except (InputError, CriterionError) as error:
        raise InputError(f"the rule {path.name}: {error}") from None
    if rule.name in rule_names() and rule != named_rule(rule.name):
        raise InputError(f"the rule {path.name}: {rule.name!r} is another rule already; give it a name of its own")
    return rule


def rules_of(chosen: object, folder: Path = Path()) -> tuple[NamedRule, ...]:
    """Return the rules of a name, a path to a TOML file or a rule itself, or of several in a list.

    folder: where paths start. Raises InputError where there is none, also for two alike.
    """
    rules: dict[str, NamedRule] = {}
    for entry in chosen if isinstance(chosen, list | tuple) else [chosen]:
        if not isinstance(entry, NamedRule | str):
            raise InputError(f'rules is the name of a rule such as "cms-11", or a list of them, not {entry!r}')
        is_file = isinstance(entry, str) and entry.endswith(".toml")
        rule = entry if isinstance(entry, NamedRule) else read_rule(folder / entry) if is_file else named_rule(entry)
        if rule.name in rules:
            raise InputError(f"rules has the rule {rule.name!r} twice")
        rules[rule.name] = rule
    return tuple(rules.values())


_RULE = {
    **dict.fromkeys(("name", "title", "source"), text("be text", required=True)),
    "demands": Key(are(is_table), "be sections [[demands]]"),
    "unchecked": Key(lambda lines: isinstance(lines, list), "be a list of lines of text"),
}


def _rule(content: Mapping[str, Any]) -> NamedRule:
    check_keys(content, _RULE)
    for key, kind in _RULE.items():
        if key in content or kind.required:
            kind.check(key, content.get(key))
    demands, unchecked = content.get("demands", []), content.get("unchecked", [])
    return NamedRule(
        content["name"], content["title"], content["source"], tuple(map(_demand, demands)), tuple(unchecked)
    )


def _demand(section: Mapping[str, Any]) -> Demand:
    keys = [key for key in section if key != "says"]
    if len(keys) != 1 or not isinstance(section.get("says"), str):
        raise InputError(f"a demand has the key says, and one of {', '.join(_KEYS)}")
    return Demand(section["says"], keys[0], section[keys[0]])
