"""Diversities of single sensitive attributes, and of levels of their hierarchies, as policies and `verify` spell them."""

from collections.abc import Mapping, Sequence

from checks.claims.maxent_diversity import MaxentDiversity
from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError


def diversities_by_attribute(table: object, sensitive: Sequence[str]) -> list[MaxentDiversity]:
    """What a table of sensitive attributes demands: a text of each, or a list of texts, one for each level from 0.

    "none" demands nothing of a level. Raises CriterionError for another attribute or form, and for a text that is no
    diversity.

    >>> [str(claim.class_diversity) for claim in diversities_by_attribute({"job": ["entropy:6", "distinct:3"]}, ["job"])]
    ['entropy:6', 'distinct:3 at level 1']
    """
    if not isinstance(table, Mapping) or not table:
        raise CriterionError(
            'diversity is text such as "entropy:6", or a table of sensitive attributes with a text or a list of texts each, '
            f'{{ diagnosis = ["entropy:6", "distinct:3"] }}, not {table!r}'
        )
    demanded = []
    for name, by_level in table.items():
        if name not in sensitive:
            known = f"these are {', '.join(sensitive)}" if sensitive else "there is none"
            raise CriterionError(f"diversity names {name!r}, which is no sensitive attribute; {known}")
        texts = [by_level] if isinstance(by_level, str) else by_level
        if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
            raise CriterionError(
                f'diversity.{name} is a text such as "entropy:6", or a list of texts, one for each level from 0, not '
                f"{by_level!r}"
            )
        for level, text in enumerate(texts):
            if text == "none":
                continue
            try:
                demanded.append(MaxentDiversity(parse_diversity(text), name, level))
            except CriterionError as error:
                raise CriterionError(f"diversity.{name}: {error}") from None
    return demanded
