"""Privacy requirements: what a release must satisfy, as checks of a table or as the claims of a release."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from checks.claims import Claim, CountClaim, KCombinatorial, KLink, MaxentDiversity, MinCell
from checks.diversity.criterion import Diversity
from checks.errors import CriterionError
from checks.finding import Finding
from models.tables.contingency_table import ContingencyTable


@dataclass(frozen=True)
class Requirements:
    """k-link, k-combinatorial, maxent diversity and a least cell, each optional.

    diversity: of every sensitive attribute. diversities: of single ones, or of values of a coarser level, beside that.
    rows_per_person: how many rows a person has at most, so that all is demanded of people; None where it is of rows.
    Raises CriterionError for k below 1, a diversity without a sensitive attribute, or one that cannot be decided of people.
    """

    sensitive: tuple[str, ...] = ()
    k_link: int | None = None
    k_combinatorial: int | None = None
    diversity: Diversity | None = None
    rows_per_person: int | None = None
    min_cell: int | None = None
    diversities: tuple[MaxentDiversity, ...] = ()

    def __post_init__(self) -> None:
        for name in ("k_link", "k_combinatorial", "min_cell"):
            k = getattr(self, name)
            if k is not None and k < 1:
                raise CriterionError(f"{name} must be at least 1, got {k}")
        if (self.diversity is not None or self.diversities) and not self.sensitive:
            raise CriterionError("a diversity needs an attribute whose role is sensitive")
        for claim in self.diversity_claims:
            if claim.sensitive not in self.sensitive:
                listed = ", ".join(self.sensitive)
                raise CriterionError(
                    f"a diversity is demanded of {claim.sensitive!r}, which is no sensitive attribute; these are {listed}"
                )
            if claim.class_diversity is None:
                raise CriterionError(
                    f"the diversity {claim.diversity} cannot be promised of people of up to {self.rows_per_person} rows "
                    "each; demand distinct:l, simple:l or recursive:c,l, or keep one row of each person (one_row)"
                )

    def about(self, attribute: str) -> "Requirements":
        """What is required of a table that shows one of the sensitive attributes and none of the others."""
        own = tuple(claim for claim in self.diversities if claim.sensitive == attribute)
        return replace(self, sensitive=(attribute,), diversities=own)

    @cached_property
    def class_size(self) -> int | None:
        """Rows that every class of a table by itself must have; None where no count is demanded.

        A combination of nonsensitive values can have no more rows there than its class has, and no cell has more, so
        k-link, k-combinatorial and the least cell are all about classes.
        """
        return max((claim.least_count for claim in self._count_claims), default=None)

    @cached_property
    def cell_size(self) -> int | None:
        """Rows that every cell of a table must have, sensitive values counted; None where it is not demanded."""
        return max((claim.least_cell for claim in self._count_claims if claim.least_cell is not None), default=None)

    @cached_property
    def diversity_claims(self) -> tuple[MaxentDiversity, ...]:
        """What is demanded of each sensitive attribute, one after another."""
        of_each = [] if self.diversity is None else [MaxentDiversity(self.diversity, a) for a in self.sensitive]
        demanded = dict.fromkeys([*of_each, *self.diversities])
        return tuple(replace(claim, rows_per_person=self.rows_per_person) for claim in demanded)

    @property
    def common_diversity(self) -> Diversity | None:
        """What every class of a table by itself must satisfy in each sensitive attribute; None where nothing.

        Raises CriterionError where that differs among attributes or levels, or is more than one thing.
        """
        demanded = {(claim.diversity, claim.level) for claim in self.diversity_claims}
        of_all = len(self.diversity_claims) in (0, len(self.sensitive))
        if len(demanded) > 1 or not of_all or any(level for _, level in demanded):
            raise CriterionError("this needs one diversity for all sensitive attributes, at level 0")
        return next((claim.class_diversity for claim in self.diversity_claims), None)

    def of_table(self, table: ContingencyTable) -> tuple[Finding, ...]:
        """On one table by itself: k-anonymity, the least cell, the diversity in each sensitive attribute that it shows."""
        from checks.classes import table_diversity, table_findings  # slow to import, and few need it

        shown = tuple(attribute for attribute in self.sensitive if attribute in table.margin)
        sizes = [claim.least_count for claim in self._count_claims if claim.least_cell is None]
        findings = [*table_findings(table, shown, [], max(sizes, default=None), self.cell_size)]
        for claim in self.diversity_claims:
            if claim.sensitive in shown and claim.class_diversity is not None:
                finding = table_diversity(table, claim.sensitive, claim.class_diversity)
                findings.append(replace(finding, parameters=claim.parameters))
        if self.rows_per_person is None:
            return tuple(findings)
        return tuple(replace(finding, parameters=self._of_people(finding.parameters)) for finding in findings)

    def _of_people(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What was demanded of rows as it is demanded of people."""
        rows = self.rows_per_person or 1
        return {**parameters, **({"k": parameters["k"] // rows} if "k" in parameters else {}), "rows_per_person": rows}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The requirements one by one, as a release claims them: k-link, k-combinatorial, least cell, diversity."""
        return (*self._count_claims, *self.diversity_claims)

    @property
    def _count_claims(self) -> tuple[CountClaim, ...]:
        demanded = ((KLink, self.k_link), (KCombinatorial, self.k_combinatorial), (MinCell, self.min_cell))
        return tuple(kind(k, rows_per_person=self.rows_per_person) for kind, k in demanded if k is not None)
