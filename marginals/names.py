"""Names for people: of levels, margins and the independences that a model assumes."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache

from checks.claims import listing
from marginals.tables.intervals import intervals
from models.graphs.junction_tree import Collection, Independence, JunctionTree, independences, triangulated_tree
from models.tables.hierarchy import SUPPRESSED, Domain, Hierarchy, Mask, vertices_of


def number_of(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun. many: the plural, where it takes more than an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def quoted(text: object) -> str:
    """Spell a text, or a list of texts or numbers, as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """A name as a key of TOML, in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def column_name(attribute: str) -> str:
    """A column as the config writes its name, where its header is empty too."""
    return attribute or '""'


# Levels by name, for people: `age in 20-year bands`, `postcode by its first 3 characters`, `education in 3 groups`.
#
# A name is made of the labels of the level, so whoever sees these can make it, and it tells nothing more. Two levels
# of one attribute have the same name only where they have as many values, that is, where they group the base values
# alike.


_WHOLE, _POINT = re.compile(r"[-+]?\d+"), re.compile(r"\.[0-9]")
_CALENDAR = {
    "days": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "weeks": re.compile(r"\d{4}-W\d{2}"),
    "months": re.compile(r"\d{4}-(?:0[1-9]|1[0-2])"),
    "quarters": re.compile(r"\d{4}-Q[1-4]"),
    "decades": re.compile(r"\d{3}0s"),
}
_YEAR = re.compile(r"\d{4}")
_OLDEST = 130  # numbers beyond it are no ages, whatever the column is called

_OTHER_UNITS = frozenset(["day", "days", "week", "weeks", "month", "months", "hour", "hours", "group", "class", "code"])


def level_name(attribute: str, hierarchy: Hierarchy, level: int) -> str:
    """Return the name of a level: "20-year bands", "first 3 characters", "3 groups"; "nothing" for that of `*`."""
    return level_names(attribute, hierarchy)[level]


@lru_cache(256)
def level_names(attribute: str, hierarchy: Hierarchy) -> tuple[str, ...]:
    """Return the names of all levels, `*` included."""
    forms = [_form(attribute, hierarchy, level) for level in range(hierarchy.height)]
    sizes = [hierarchy.size(level) for level in range(hierarchy.height)]
    names, given_names = [], dict(enumerate(hierarchy.level_names))
    for level, (form, size) in enumerate(zip(forms, sizes)):
        others = {other for other, number in zip(forms, sizes) if number != size}
        count = f"{size:,} {'group' if level else 'value'}{'' if size == 1 else 's'}"
        names.append(given_names.get(level) or (count if form is None or form in others else form))
    return (*names, "nothing")


def name_or_star(attribute: str, hierarchy: Hierarchy, level: int) -> str:
    """The name of a level where it stands beside others, in a table; `*` for that of `*`."""
    return SUPPRESSED if level == hierarchy.height else level_name(attribute, hierarchy, level)


def shown_at(attribute: str, hierarchy: Hierarchy, level: int) -> str:
    """An attribute at a level, as a person says it; the name alone where there is no other level to publish it at."""
    name = level_name(attribute, hierarchy, level)
    if hierarchy.height == 1 and name.endswith((" value", " values")):
        return column_name(attribute)
    return f"{column_name(attribute)} {'by its' if name.startswith('first ') else 'in'} {name}"


def beside_name(attribute: str, hierarchy: Hierarchy, level: int) -> str:
    """The name of a level as it stands beside that of the attribute; empty where the attribute's own says all."""
    says_all = shown_at(attribute, hierarchy, level) == column_name(attribute)
    return "" if says_all else level_name(attribute, hierarchy, level)


def margin_in_words(margin: Mapping[str, int], domain: Domain) -> str:
    """A margin, each attribute at its level: "age in 20-year bands, sex"; "the number of rows" for the empty one."""
    names = [shown_at(attribute, domain.hierarchy(attribute), level) for attribute, level in margin.items()]
    return ", ".join(names) or "the number of rows"


def with_level_names(sentence: str, domain: Domain) -> str:
    """A sentence of a search, which says `age at level 1`, with the names of the levels instead."""
    longest_first = "|".join(map(re.escape, sorted(domain.attributes, key=len, reverse=True)))

    def named(match: re.Match[str]) -> str:
        hierarchy, level = domain.hierarchy(match[1]), int(match[2])
        return shown_at(match[1], hierarchy, level) if level <= hierarchy.height else match[0]

    return re.sub(rf"(?<!\w)({longest_first}) at level (\d+)\b", named, sentence) if domain.attributes else sentence


def _form(attribute: str, hierarchy: Hierarchy, level: int) -> str | None:
    labels = hierarchy.labels[level]
    for unit, form in _CALENDAR.items():
        if all(map(form.fullmatch, labels)):
            return unit
    if level and all(map(_YEAR.fullmatch, labels)) and _form(attribute, hierarchy, level - 1) in _CALENDAR:
        return "years"
    if all(map(_WHOLE.fullmatch, labels)) and not level:
        return "single years" if _is_age(attribute, map(Decimal, labels)) else None
    if band := _band_name(attribute, labels):
        return band
    length = _prefix_length(hierarchy, level)
    return length and f"first {length} {'character' if length == '1' else 'characters'}"


def _band_name(attribute: str, labels: Sequence[str]) -> str | None:
    """The name of a level of intervals, None for any other. Open ones may be among them, as "85 and over"."""
    ranges = [numbers for numbers in intervals(labels) if numbers is not None]
    closed = [n for n in ranges if not n.is_point and n.low.is_finite() and n.high.is_finite()]
    if not closed or len(ranges) < len(labels):
        return None
    # Whole numbers name both ends of a band; decimals its lower end and that of the next band.
    are_whole = all(numbers.is_whole for numbers in closed) and not any(map(_POINT.search, labels))
    widths = {numbers.high - numbers.low + are_whole for numbers in closed}
    if len(closed) < len(labels) or len(widths) > 1:
        return f"{len(labels):,} bands"
    width = f"{widths.pop().normalize():f}"
    return f"{width}-year bands" if _is_age(attribute, (numbers.high for numbers in closed)) else f"bands of {width}"


def _prefix_length(hierarchy: Hierarchy, level: int) -> str | None:
    labels = hierarchy.labels[level]
    stems = [label.rstrip(SUPPRESSED) for label in labels]
    lengths = {len(stem) for stem, label in zip(stems, labels) if stem != label}
    if len(lengths) != 1 or 0 in lengths or any(len(stem) > min(lengths) for stem in stems):
        return None
    finer = zip(hierarchy.labels[level - 1], hierarchy.parents[level - 1]) if level else ()
    return str(min(lengths)) if all(label.startswith(stems[parent]) for label, parent in finer) else None


def _is_age(attribute: str, numbers: Iterable[Decimal]) -> bool:
    """Return whether a column of numbers counts years of people, by its name."""
    words = set(re.findall(r"[a-z]+", attribute.lower()))
    return bool(words & {"age", "ages"}) and not words & _OTHER_UNITS and all(n <= _OLDEST for n in numbers)


def independences_in_words(tree: JunctionTree) -> tuple[str, ...]:
    """Sentences on the assumptions of a junction tree's model, one for each separator; none for a single clique."""
    return tuple(independence_in_words(statement, tree.domain) for statement in independences(tree))


def assumed_independences(collection: Collection) -> tuple[str, ...]:
    """Sentences on assumptions of the maximum-entropy distribution, true but not all of them without a junction tree."""
    tree = collection.junction_tree if collection.is_decomposable else triangulated_tree(collection)
    return independences_in_words(tree)


def independence_in_words(statement: Independence, domain: Domain) -> str:
    """Sentence of one statement, as in "given b, a is independent of c and d"."""
    condition = f"Given {listing(_names(statement.condition, domain))}, " if statement.condition else ""
    parts = [_names(part, domain) for part in statement.parts]
    if len(parts) > 2:
        opening = "these are independent of each other" if condition else "These are independent of each other"
        return f"{condition}{opening}: {'; '.join(map(listing, parts))}."
    first, second = parts
    verb = "is" if len(first) == 1 else "are"
    jointly = "jointly " if len(first) + len(second) > 2 else ""
    return f"{condition}{listing(first)} {verb} {jointly}independent of {listing(second)}."


def _names(mask: Mask, domain: Domain) -> list[str]:
    last = {domain.induced_attributes[v].attribute: domain.induced_attributes[v].level for v in vertices_of(mask)}
    hierarchies = {attribute: domain.hierarchy(attribute) for attribute in last}
    return [a if hierarchies[a].height == 1 else shown_at(a, hierarchies[a], level) for a, level in last.items()]
