"""Columns that are levels of another one, as the age group is of the age: rows give the rule, as a file would."""

import re
from collections.abc import Container, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from marginals.errors import InputError
from marginals.messages import LONGEST_WORDS, is_words
from marginals.tables.attribute import COUNT, MISSING, Attribute, Role
from marginals.tables.intervals import are_names, interval, intervals, labels_of_several
from marginals.tables.values import POINT
from models.tables.hierarchy import SUPPRESSED, Hierarchy


def is_level_name(name: object) -> bool:
    """Return whether a text can name a level: words that no condition takes for more than one name."""
    return is_words(name) and bool(_LEVEL_NAME.fullmatch(str(name))) and name != COUNT


LEVEL_NAMES = (
    f"have words of letters, digits, _, -, . and / in at most {LONGEST_WORDS} characters, begin with a letter, and have no "
    f'and, or, not, in or is among them, nor be "{COUNT}"'
)
_LEVEL_NAME = re.compile(r"(?!.*\b(?:and|or|not|in|is)\b)[^\W\d][\w./-]*(?: [\w./-]+)*", re.IGNORECASE)


def check_levels(attributes: Mapping[str, Attribute], ladders: Container[str]) -> None:
    """Raise InputError for a column that can be no level. ladders: attributes with the levels of another release."""
    for name, of in [(name, attribute.level_of) for name, attribute in attributes.items() if attribute.level_of]:
        base = attributes.get(of)
        if base is None or base.level_of or {attributes[name].role, base.role} != {Role.QUASI_IDENTIFIER}:
            raise InputError(
                f"level_of of {name!r} names {of!r}: both must be quasi-identifiers, and {of!r} no level of another column"
            )
        taken = [key for key in ("hierarchy", "intervals", "prefixes", "dates", "order") if getattr(base, key)]
        taken += ["ladder"] * base.is_fitted + ["data.ladders"] * (of in ladders)
        if taken:
            raise InputError(f"the levels of {of!r} are columns such as {name!r}; leave out its {', '.join(taken)}")
        if not is_level_name(name):
            raise InputError(f"the name of the level {name!r} must {LEVEL_NAMES}; rename the column")


def hierarchy_of_columns(source: str, columns: Mapping[str, Sequence[str | None]], attribute: Attribute) -> Hierarchy:
    """Return the hierarchy of the first column, of which the others are levels. columns: value of each row, or None.

    attribute: settings of the first. Codes of a level above numbers have its name before them, `age_group 2`. Raises
    InputError, which names no value, if rows contradict each other, or none says where a value belongs.
    """
    base, *others = columns
    for name in others if attribute.counts_missing else ():
        if any(one is None and other is not None for one, other in zip(columns[base], columns[name])):
            raise InputError(
                f"rows of {source} lack {base!r}, have {name!r}, and would count as {MISSING!r} in both. Mend the rows, or "
                f'leave out missing = "as a value" of {base!r}'
            )
    above = {name: _rule(source, base, name, columns) for name in others}
    levels = sorted(others, key=lambda name: -len({*above[name].values()}))
    values = sorted(above[levels[0]], key=_place)
    paths = {base: values, **{name: [above[name][value] for value in values] for name in levels}}
    labels, parents = [tuple(values)], list[tuple[int, ...]]()
    for fine, coarse in pairwise(paths):
        rule = _rule(source, fine, coarse, paths)
        # By each label alone, so that the order of a level depends on no value below it.
        labels.append(tuple(sorted({*rule.values()}, key=_place)))
        places = {label: place for place, label in enumerate(labels[-1])}
        parents.append(tuple(places[rule[label]] for label in labels[-2]))
        if len(places) == len(rule):
            raise InputError(
                f"{fine!r} and {coarse!r} of {source} say the same: one of the two columns says it all. Give the other the "
                'role "ignored", and write its words as values of the one that stays'
            )
    for level, name in enumerate(levels if any(intervals(values)) and not attribute.has_names else (), 1):
        codes = {label: f"{name} {label}" for label in labels[level] if label != MISSING}
        if all(map(POINT.is_number, codes)) and not any(intervals([*codes.values()])):
            labels[level] = tuple(codes.get(label, label) for label in labels[level])
    hierarchy = Hierarchy((*labels, (SUPPRESSED,)), (*parents, (0,) * len(labels[-1])), level_names=("", *levels, ""))
    named = ", ".join(map(repr, levels))
    if any(labels_of_several(hierarchy)):
        raise InputError(
            f"{source} has one label at two levels for different values of {base!r}, so conditions could mean the wrong "
            f"ones. Write other labels into {named}"
        )
    if not attribute.has_names and any(intervals(values)) and are_names(hierarchy):
        raise InputError(
            f"labels of {named} in {source} could be taken for other values of {base!r}, as numbers that do not hold those "
            f'under them. Write ranges or words, or label_form = "names" for plain names of {base!r}'
        )
    return hierarchy


def own_labels(level: str, hierarchy: Hierarchy, labels: Sequence[str]) -> list[str]:
    """Return the labels of a hierarchy for those of a column that is its level. Raises InputError for another one."""
    names = hierarchy.labels[hierarchy.level_names.index(level)]
    by_code = {code: label for label in names for code in (label.removeprefix(f"{level} "), label)}
    if unknown := [label for label in labels if label not in by_code]:
        raise InputError(f"data.impossible names the label {unknown[0]!r}, which {level!r} does not have")
    return [by_code[label] for label in labels]


def _rule(source: str, fine: str, coarse: str, columns: Mapping[str, Sequence[str | None]]) -> dict[str, str]:
    pairs = {(one, other) for one, other in zip(columns[fine], columns[coarse]) if one is not None}
    rule = {one: other for one, other in pairs if other is not None}
    if 0 < len(rule) == len({one for one, _ in pairs}) == sum(other is not None for _, other in pairs):
        return rule
    raise InputError(
        f"{coarse!r} of {source} does not follow from {fine!r}: values of {fine!r} have several, or none in any row. Mend "
        "the rows, or leave out level_of"
    )


def _place(label: str) -> tuple[bool, Decimal, str]:
    numbers = interval(label)
    return (True, Decimal(0), label) if numbers is None else (False, numbers.low, label)
