"""Requirements: the demands of a policy on a release, as claims, and on one table by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from checks.claims import (
    Claim,
    CountClaim,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    MinPublishedCell,
    NoSmallCellCertain,
    NoSmallCertain,
    Register,
)
from checks.diversity.criterion import Diversity
from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError
from checks.finding import Finding
from models.frozen import frozen
from models.tables.contingency_table import ContingencyTable


def diversities_by_attribute(table: object, sensitive: Sequence[str]) -> list[MaxentDiversity]:
    """Return the demands of a table of sensitive attributes: a text for each, or a list of texts, one for each level
    from 0.

    "none" demands nothing at a level. Raises CriterionError for anything else.
    """
    if not isinstance(table, Mapping) or not table:
        raise CriterionError(
            f'diversity is text such as "entropy:6", or a table of sensitive attributes, not {table!r}. Such a table has a '
            'text or a list of texts for each attribute, such as { diagnosis = ["entropy:6", "distinct:3"] }'
        )
    demanded = []
    for name, by_level in table.items():
        if name not in sensitive:
            sensitive_names = f"these are {', '.join(sensitive)}" if sensitive else "there is none"
            raise CriterionError(f"diversity names {name!r}, which is no sensitive attribute; {sensitive_names}")
        texts = [by_level] if isinstance(by_level, str) else by_level
        if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
            raise CriterionError(
                f'diversity.{name} is a text such as "entropy:6", or a list of texts, one for each level from 0, not '
                f"{by_level!r}"
            )
        try:
            demanded += [
                MaxentDiversity(parse_diversity(text), name, level)
                for level, text in enumerate(texts)
                if text != "none"
            ]
        except CriterionError as error:
            raise CriterionError(f"diversity.{name}: {error}") from None
    return demanded


_COUNTS: Mapping[str, type[CountClaim]] = {
    "k_link": KLink,
    "k_combinatorial": KCombinatorial,
    "no_small_certain": NoSmallCertain,
    "min_cell": MinCell,
    "min_published_cell": MinPublishedCell,
    "no_small_cell_certain": NoSmallCellCertain,
}
"""Claims of counts by the requirements that demand them."""


@frozen
class Requirements:
    """Requirements of a release: k-link, k-combinatorial, diversity, least cells, no small certain count; each
    optional.

    diversity: of every sensitive attribute. diversities: further ones of single attributes, or of a coarser level.
    rows_per_person: most rows of a person, so that all demands are about people; None for rows. register: whether
    every diversity also holds for readers who know everybody's nonsensitive values. at_every_level: no margin with
    coarser sensitive values than a diversity judges may have a class with only one of them, unless the criterion
    allows that. It is no claim, because other margins can show finer values. Raises CriterionError for k below 1, and
    for a diversity without a sensitive attribute or undecided for people. Raises it also for a register without a
    diversity or for people with several rows.
    """

    sensitive: tuple[str, ...] = ()
    k_link: int | None = None
    k_combinatorial: int | None = None
    diversity: Diversity | None = None
    rows_per_person: int | None = None
    min_cell: int | None = None
    diversities: tuple[MaxentDiversity, ...] = ()
    register: bool = False
    at_every_level: bool = False
    no_small_certain: int | None = None
    min_published_cell: int | None = None
    no_small_cell_certain: int | None = None

    def __post_init__(self) -> None:
        for name in _COUNTS:
            k = getattr(self, name)
            if k is not None and k < 1:
                raise CriterionError(f"{name} must be at least 1, got {k}")
        if (self.diversity is not None or self.diversities) and not self.sensitive:
            raise CriterionError("a diversity needs an attribute whose role is sensitive")
        if self.register and not self.diversity_claims:
            raise CriterionError(
                'register = true needs a diversity, and none is demanded: add one, such as diversity = "entropy:4", or '
                "remove the line register = true"
            )
        if self.register and (self.rows_per_person or 1) > 1:
            raise CriterionError(
                f"register = true cannot be promised of people of up to {self.rows_per_person} rows each; leave it out, or "
                "keep one row of each person (one_row)"
            )
        for claim in self.diversity_claims:
            if claim.sensitive not in self.sensitive:
                names = ", ".join(self.sensitive)
                raise CriterionError(
                    f"a diversity is demanded of {claim.sensitive!r}, which is no sensitive attribute; these are {names}"
                )
            if claim.class_diversity is None:
                raise CriterionError(
                    f"the diversity {claim.diversity} cannot be promised of people of up to {self.rows_per_person} rows "
                    "each. Demand distinct:l, simple:l or recursive:c,l, or keep one row of each person (one_row)"
                )

    def about(self, attribute: str) -> "Requirements":
        """Return the requirements of a table that shows one of the sensitive attributes and none of the others."""
        claims_of_attribute = tuple(claim for claim in self.diversities if claim.sensitive == attribute)
        register = self.register and (self.diversity is not None or bool(claims_of_attribute))
        return replace(self, sensitive=(attribute,), diversities=claims_of_attribute, register=register)

    @cached_property
    def class_size(self) -> int | None:
        """Rows that every class of a single table must have, as all demanded counts are about classes; None for none."""
        return max((claim.least_count for claim in self._count_claims), default=None)

    @cached_property
    def cell_size(self) -> int | None:
        """Rows that every cell of a table must have, sensitive values counted; None if it is not demanded."""
        return max((claim.least_cell for claim in self._count_claims if claim.least_cell is not None), default=None)

    @property
    def least_count(self) -> int:
        """Largest demanded count; 1 if there is none."""
        return max(self.class_size or 1, self.cell_size or 1)

    @cached_property
    def diversity_claims(self) -> tuple[MaxentDiversity, ...]:
        """Demanded diversities of each sensitive attribute, one after another."""
        of_each = [] if self.diversity is None else [MaxentDiversity(self.diversity, a) for a in self.sensitive]
        demanded = dict.fromkeys([*of_each, *self.diversities])
        return tuple(replace(claim, rows_per_person=self.rows_per_person) for claim in demanded)

    @cached_property
    def register_claims(self) -> tuple[Register, ...]:
        """Claims of every diversity for readers with a register; empty if that is not demanded."""
        of_each = self.diversity_claims if self.register else ()
        return tuple(Register(**vars(claim)) for claim in of_each)

    @property
    def common_diversity(self) -> Diversity | None:
        """Criterion that every class of a single table must satisfy in each sensitive attribute; None if there is none.

        Raises CriterionError if it differs among attributes or levels, or if there are several.
        """
        demanded = {(claim.diversity, claim.level) for claim in self.diversity_claims}
        of_all = len(self.diversity_claims) in (0, len(self.sensitive))
        if len(demanded) > 1 or not of_all or any(level for _, level in demanded):
            raise CriterionError("this needs one diversity for all sensitive attributes, at level 0")
        return next((claim.class_diversity for claim in self.diversity_claims), None)

    def of_table(self, table: ContingencyTable) -> tuple[Finding, ...]:
        """Return findings on one table: k-anonymity, the least cell, the diversity by sensitive attribute."""
        from checks.classes import table_diversity, table_findings  # slow to import, and few need it

        sensitive_shown = tuple(attribute for attribute in self.sensitive if attribute in table.margin)
        sizes = [claim.least_count for claim in self._count_claims if claim.least_cell is None]
        findings = [*table_findings(table, sensitive_shown, [], max(sizes, default=None), self.cell_size)]
        for claim in self.diversity_claims:
            if claim.sensitive in sensitive_shown and claim.class_diversity is not None:
                finding = table_diversity(table, claim.sensitive, claim.class_diversity)
                findings.append(replace(finding, parameters=claim.parameters))
        rows = self.rows_per_person
        if rows is None:
            return tuple(findings)
        of_people = []
        for finding in findings:
            k = {"k": finding.parameters["k"] // rows} if "k" in finding.parameters else {}
            of_people.append(replace(finding, parameters={**finding.parameters, **k, "rows_per_person": rows}))
        return tuple(of_people)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Requirements one by one, as a release claims them: counts, diversity, readers with a register."""
        return (*self._count_claims, *self.diversity_claims, *self.register_claims)

    @property
    def _count_claims(self) -> tuple[CountClaim, ...]:
        demanded = ((kind, getattr(self, name)) for name, kind in _COUNTS.items())
        return tuple(kind(k, rows_per_person=self.rows_per_person) for kind, k in demanded if k is not None)
