"""The policy of a release: the privacy that it must keep, the start of the search, and its time limit."""

from collections import defaultdict
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from checks.claims import LEAST_DEMAND, MOST_ROWS, Claim, MaxentDiversity, is_number_of_rows, why_no_demand
from checks.diversity.criterion import Diversity
from checks.diversity.registry import demands_nothing, parse_diversity, require_readable
from checks.errors import CriterionError
from checks.requirements import Requirements, diversities_by_attribute
from marginals.arguments import require
from marginals.bundle.content import KNOWN
from marginals.errors import InputError
from marginals.keys import FLAG, Key, Settings, are, check_settings, is_number, is_text, one_of, setting
from marginals.named_rules import COUNTS, NamedRule, rules_of
from marginals.published_values import levels_by_attribute
from marginals.publishing.harmful import about_harm
from marginals.publishing.wanted import NO_FURTHER, PAIRS, FurtherWish, Wanted
from marginals.tables.attribute import MISSING, Harm
from marginals.tables.table import Table
from models.errors import ExtensionError, SelectionError
from models.frozen import frozen
from models.installed import name_of
from models.search.doors import GivenObjective, GivenStrategy, objective_of, strategy_of
from models.search.problem import PenalizedDivergence, additive
from models.search.selection import STRATEGIES
from models.tables.hierarchy import Domain

_NO_PROOF = (
    "where tables have no junction tree, nobody can prove that k rows could share every combination that they allow"
)

CORRECTED = "corrected"  # subtracts the gain of chance
SENSITIVE_MARGINS = 3  # that show one sensitive attribute, by default
NO_DIVERSITY = "none"  # demands none, on purpose
PROPOSED = "public"  # if nobody has demanded one
BASES = ("auto", "best", "none")  # "auto" is refused where no sensitive attribute could be shown
# One demand for all, or by attribute.
GivenDiversity = str | Diversity | Mapping[str, str | Diversity | Sequence[str | Diversity]] | None


def _as_texts(demanded: Any) -> Any:
    if isinstance(demanded, Mapping):
        return {name: _as_texts(demand) for name, demand in demanded.items()}
    if isinstance(demanded, list | tuple):
        return [*map(_as_texts, demanded)]
    if isinstance(demanded, Diversity):
        require_readable(demanded)
        return str(demanded)
    return demanded


def _rows(least: int) -> Key:
    nothing = why_no_demand(1) if least == LEAST_DEMAND else ""
    return Key(
        lambda rows: rows is None or is_number_of_rows(rows, least),
        f"be a whole number from {least} to {MOST_ROWS:,}{nothing}",
    )


def _is_margin(margin: object) -> bool:
    return isinstance(margin, Mapping) and bool(margin) and all(map(is_text, margin))


_DEMAND = _rows(LEAST_DEMAND)
_MARGINS = Key(are(_is_margin), "be a list of margins such as { age = 1, sex = 0 }")


@frozen
class Policy(Settings):
    """Demands on a release and settings of the search for it: keys of [privacy], [base] and [search] in docs/config.md.

    Beside what a config takes:

    - diversity: also a criterion, or {"job": "entropy:6"} by attribute; a list has one demand for each level from 0.
    - base: "auto", "best", "none" or a level for each attribute, as base.table.
    - strategy, objective: also functions, as for `models.search.strategy_of` and `models.search.objective_of`. Gains by the
      objective must add up.
    - wanted: also `Wanted`. rules: also named rules.

    Raises InputError or CriterionError for values that make no sense.

    >>> Policy(k_link=10, diversity="recursive:3,4", must_publish=[{"age": 1, "sex": 0}]).strategy
    'auto'
    """

    section: ClassVar = "search"

    k_link: int | None = setting(None, _DEMAND)
    k_combinatorial: int | None = setting(None, _DEMAND)
    diversity: GivenDiversity = None
    base: str | Mapping[str, int] = setting(
        "auto",
        Key(
            lambda base: base in BASES if isinstance(base, str) else isinstance(base, Mapping),
            'be "auto", "best", "none" or a level for each attribute, such as {"age": 1}; a published table is named by its '
            "levels",
        ),
    )
    strategy: GivenStrategy = "auto"
    seed: int = setting(0, _rows(0))
    max_sensitive_margins: int | None = setting(SENSITIVE_MARGINS, _rows(0))
    time_limit: float = setting(60.0, Key(lambda limit: is_number(limit) and limit >= 0, "be a number of seconds"))
    max_attributes: int | None = setting(None, _rows(1))
    must_publish: Sequence[Mapping[str, int]] = setting((), _MARGINS)
    must_not_publish: Sequence[Mapping[str, int]] = setting((), _MARGINS)
    alone: Sequence[str] = setting((), Key(are(is_text), 'be a list of sensitive attributes, ["grade"]'))
    wanted: Sequence[Wanted | Mapping[str, Any]] = setting((), Key(are(lambda _: True), "be a list of analyses"))
    min_cell: int | None = setting(None, _DEMAND)
    rules: str | NamedRule | Sequence[str | NamedRule] = ()
    turnover: str = setting("unknown", one_of((KNOWN, "unknown")))
    max_waiting: float = setting(
        0.1, Key(lambda share: is_number(share) and 0 < share <= 1, "be a share above 0 and up to 1")
    )
    register: bool = setting(False, FLAG)
    objective: GivenObjective = CORRECTED
    further_tables: str | int | Sequence[Sequence[str]] = NO_FURTHER
    no_small_certain: int | None = setting(None, _rows(1))
    min_published_cell: int | None = setting(None, _DEMAND)
    crossing_levels: bool = setting(False, FLAG)

    def __post_init__(self) -> None:
        object.__setattr__(self, "diversity", _as_texts(self.diversity))
        check_settings(self)
        object.__setattr__(self, "alone", tuple(self.alone))
        object.__setattr__(self, "wanted", tuple(map(Wanted.of, self.wanted)))
        try:
            _ = strategy_of(self.strategy, STRATEGIES)
            objective = objective_of(self.objective, 1)
        except (SelectionError, ExtensionError) as error:
            raise InputError(str(error)) from None
        if not isinstance(objective, PenalizedDivergence):
            raise InputError(
                f"the objective {name_of(self.objective)} only says when a search stops, not which release is the best. "
                "Take one whose gains add up, or a score of cliques"
            )
        object.__setattr__(self, "rules", rules_of(self.rules))
        self._require_further()
        names = list(self.diversity) if isinstance(self.diversity, Mapping) else []
        demanded = self.diversities(names or ["any"])
        if idle := next((claim for claim in demanded if demands_nothing(claim.diversity)), None):
            raise InputError(
                f'the diversity "{idle.diversity}" demands nothing, as every table satisfies it; write "{PROPOSED}", or '
                f'"{NO_DIVERSITY}" to publish without a demand, on purpose'
            )
        if self.register and not demanded:
            raise InputError(
                'register = true needs a diversity, and none is demanded: add one, such as diversity = "entropy:4", or '
                "remove the line register = true"
            )

    def _require_further(self) -> None:
        if self.further is None:
            if self.no_small_certain is not None:
                raise InputError(
                    "no_small_certain is about further tables, and there are none: demand k_combinatorial instead, which "
                    f'promises more, or add further_tables = "{PAIRS}" (in a config under [search])'
                )
            return
        if self.least("k_combinatorial") is not None:
            raise InputError(
                f"k_combinatorial and further_tables do not go together: {_NO_PROOF}. For a proof set further_tables = "
                f'"{NO_FURTHER}". For more pairs remove k_combinatorial and rules that demand it; no_small_certain takes '
                "its place"
            )
        if self.least("k_link") is None:
            raise InputError(
                "further_tables needs k_link, which every class of them satisfies: add k_link = 10 (in a config under "
                f'[privacy]), or set further_tables = "{NO_FURTHER}"'
            )

    @property
    def further(self) -> FurtherWish | None:
        """The wanted further tables; None for none."""
        return FurtherWish.of(self.further_tables)

    @property
    def least_certain(self) -> int:
        """No combination of nonsensitive values is certain to have fewer rows; k_link by default, 1 for no demand."""
        return 1 if self.further is None else self.no_small_certain or self.least("k_link") or 1

    def objective_for(self, table: Table) -> PenalizedDivergence:
        """The objective of the search for as many people as the table has."""
        people = table.rows / (table.most_rows_of_a_person or 1)
        objective = additive(objective_of(self.objective, max(people, 1.0)))
        assert isinstance(objective, PenalizedDivergence)  # looked at when the policy was made
        return objective

    @property
    def named_rules(self) -> tuple[NamedRule, ...]:
        """The named rules that the release must keep."""
        return rules_of(self.rules)

    def of_attributes(self, domain: Domain) -> "Policy":
        """Return the policy with attributes in place of names of their levels; equal wishes become one."""
        if len(domain.named_places) == len(domain.attributes):
            return self

        def attributes(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(sorted(levels_by_attribute(domain, dict.fromkeys(names, 0))))

        margin, further = partial(levels_by_attribute, domain), self.further_tables
        weights = defaultdict[tuple[str, ...], float](float)
        for analysis in self.analyses:
            weights[attributes(analysis.attributes)] += analysis.weight
        return replace(
            self,
            base=self.base if isinstance(self.base, str) else margin(self.base),
            must_publish=[*map(margin, self.must_publish)],
            must_not_publish=[*map(margin, self.must_not_publish)],
            wanted=[Wanted(*wish) for wish in weights.items()],
            further_tables=further if isinstance(further, str | int) else [*dict.fromkeys(map(attributes, further))],
        )

    @property
    def analyses(self) -> tuple[Wanted, ...]:
        """The analyses that the release is wanted for."""
        return tuple(map(Wanted.of, self.wanted))

    def diversities(self, sensitive: Sequence[str]) -> tuple[MaxentDiversity, ...]:
        """The claims about these sensitive attributes. Raises CriterionError for a demand on another one."""
        is_one = isinstance(self.diversity, str) and self.diversity != NO_DIVERSITY
        of_each = [parse_diversity(str(self.diversity))] if is_one else []
        if not sensitive and (of_each or self.diversity not in (None, NO_DIVERSITY)):
            raise CriterionError("a diversity needs an attribute whose role is sensitive")
        demanded = [MaxentDiversity(diversity, attribute) for diversity in of_each for attribute in sensitive]
        if self.diversity is not None and not isinstance(self.diversity, str):
            demanded += diversities_by_attribute(self.diversity, sensitive)
        return tuple(dict.fromkeys(demanded))

    def silent_on(self, sensitive: Sequence[str]) -> tuple[str, ...]:
        """The sensitive attributes without any word about diversity."""
        if self.diversity == NO_DIVERSITY:
            return ()
        named = self.diversity if isinstance(self.diversity, Mapping) else ()
        return tuple(attribute for attribute in self.undemanded(sensitive) if attribute not in named)

    def undemanded(self, sensitive: Sequence[str]) -> tuple[str, ...]:
        """The sensitive attributes without a demanded diversity, on purpose or not."""
        demanded = {claim.sensitive for claim in self.diversities(sensitive)} if sensitive else ()
        return tuple(attribute for attribute in sensitive if attribute not in demanded)

    def least(self, key: str) -> int | None:
        """The largest count that the policy or one of its rules demands under a key, such as "min_cell"."""
        setting = getattr(self, key)
        ruled = [demand.value for rule in self.named_rules for demand in rule.demands if demand.key == key]
        return max([*ruled, *([] if setting is None else [setting])], default=None)

    def requirements_of(self, table: Table) -> Requirements:
        """The requirements on margins of a table. Raises InputError for a distance that its values do not have."""
        most = table.most_rows_of_a_person
        requirements = self.requirements(table.sensitive, most, table.counts_missing, table.harm, table)
        for claim in requirements.diversity_claims:
            _require_distance(table, claim)
        return requirements

    def requirements(
        self,
        sensitive: tuple[str, ...],
        rows_per_person: int | None = None,
        counts_missing: AnyCollection[str] = (),
        harm: Mapping[str, Harm] = MappingProxyType({}),
        table: Table | None = None,
    ) -> Requirements:
        """The requirements on a collection of margins, for a table with these sensitive attributes.

        rows_per_person: rows of a person, at most, if demands count people. counts_missing: attributes with the value
        "missing", which is no sensitive value, so that diversity leaves it out. harm: harmful values with their bounds,
        which replace those of presets. table: gives the shares of values.
        """
        k_link, k_combinatorial, min_cell = (self.least(key) for key in COUNTS)
        about = about_harm(self.diversities(sensitive), harm, table)
        demanded = tuple(c.leaving_out(MISSING) if c.sensitive in counts_missing else c for c in about)
        return Requirements(
            sensitive,
            k_link,
            k_combinatorial,
            None,
            rows_per_person,
            min_cell=min_cell,
            diversities=demanded,
            register=self.register,
            at_every_level=True,
            no_small_certain=None if self.least_certain < LEAST_DEMAND else self.least_certain,
            min_published_cell=self.min_published_cell,
            no_small_cell_certain=None if self.further is None else self.min_published_cell,
        )


def leaving_out_missing(claim: Claim, names: AnyCollection[str]) -> Claim:
    """Leave "missing" out of what a diversity counts, if it is about one of these attributes."""
    return claim.leaving_out(MISSING) if isinstance(claim, MaxentDiversity) and claim.sensitive in names else claim


def require_table(table: object, policy: object) -> None:
    """Raise InputError unless these are a table and a policy."""
    require(table, Table, "table", "what marginals.read_table(source, attributes) returns")
    require(policy, Policy, "policy", "marginals.Policy(k_link=10, ...)")


def _require_distance(table: Table, claim: MaxentDiversity) -> None:
    if claim.sensitive not in table.domain.attributes or claim.distance == "equal":
        return
    name, hierarchy = claim.sensitive, table.domain.hierarchy(claim.sensitive)
    where = f"the diversity {str(claim.diversity)!r} of {name!r}"
    if claim.distance == "hierarchical" and name in table.fitted:
        raise InputError(
            f"{where} is about levels that are fitted to the counts: give it a hierarchy or intervals with "
            'ladder = "given", or write t-closeness without "hierarchical"'
        )
    if claim.distance != "ordered":
        return
    present = [code for code, label in enumerate(hierarchy.labels[0]) if label not in claim.left_out]
    if present:
        hierarchy = hierarchy.restricted_to(present)
    every = ((level, range(hierarchy.size(level))) for level in range(hierarchy.height))
    crossed = [level for level, codes in every if hierarchy.order_among(level, codes) is None]
    if crossed[:1] == [0]:
        raise InputError(
            f"{where} needs ordered values, and these are not all numbers, dates or bands of numbers. List them, lowest "
            f'first, as order = ["mild", "severe"] under [attributes.{name}] (in a frame an ordered category), or write '
            't-closeness without "ordered"'
        )
    if crossed:
        raise InputError(
            f"{where} needs levels that keep the order of the values, and level {crossed[0]} merges values that are not "
            f'neighbours. Change the hierarchy of {name!r}, or write t-closeness without "ordered"'
        )
