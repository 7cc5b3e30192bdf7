"""Columns as a steward describes them: their roles, and the ways to generalize their values."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, fields, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from marginals.arguments import elements_of
from marginals.errors import InputError
from marginals.keys import FLAG, Key, Settings, are, check_settings, is_finite, is_text, is_whole, one_of, setting
from marginals.messages import LONGEST_WORDS, is_words
from marginals.tables.intervals import are_names, check_intervals, has_reserved_labels
from marginals.tables.scales import in_order, known_order
from marginals.tables.spellings import cell_text, nothing_among, respelled, says_nothing, without_accents
from marginals.tables.values import (
    UNITS,
    NumberFormat,
    check_units,
    consecutive,
    date_hierarchy,
    date_text,
    missing_among,
    number_text,
)
from models.arrays import CountArray
from models.errors import HierarchyError
from models.frozen import frozen
from models.tables import hierarchy as hierarchies
from models.tables.hierarchy import MAX_LEVELS, SUPPRESSED, Domain, Hierarchy, check_lengths, check_widths

MISSING = hierarchies.MISSING  # the value of rows without one, where an attribute counts them
FITTED = ("fitted", "alike")  # ladders that the table decides: by the frequency of each value, or by likeness too
LABEL_FORMS = ("numbers", "names")  # the meaning of labels that look like numbers or intervals
COUNT = "count"  # the column of counts in published tables; no attribute can have this name


class Role(Enum):
    """Role of a column. Identifiers and ignored columns are never read any further.

    >>> Role("sensitive").is_used, Role("identifier").is_used
    (True, False)
    """

    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    IDENTIFIER = "identifier"
    IGNORED = "ignored"

    @property
    def is_used(self) -> bool:
        """Return whether columns of this role can be published."""
        return self in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)


@frozen
class Harm:
    """Values that harm nobody, and the largest percentage of any class with a label; `*` is all harmful ones together."""

    harmless: tuple[str, ...] = ()
    at_most: Mapping[str, Fraction] = field(default_factory=dict, hash=False)


WORDS = Key(is_words, f"be one line of text of at most {LONGEST_WORDS} characters")


_MOST = f"at most {MAX_LEVELS:,} levels"


def is_percent(value: object) -> bool:
    """Return whether a value is a number above 0 and below 100."""
    return isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool) and 0 < value < 100


def _pass(check: Callable[[Any], None], values: object) -> bool:
    try:
        check(values)
    except HierarchyError:
        return False
    return True


@frozen
class Attribute(Settings):
    """A role, and at most one source of generalizations; with none, a value is published or suppressed.

    Its parameters are the keys of a section [attributes.NAME] of a config (docs/config.md). A float among intervals,
    start and apart means its decimal spelling; where all are whole numbers, so are the bins. The hierarchy is a value, not
    a file. Raises InputError for a value that no key takes, and for settings that do not go together.

    >>> Attribute("quasi-identifier", intervals=(5, 10, 20)).role.name
    'QUASI_IDENTIFIER'
    >>> Attribute("quasi-identifier", intervals=[0.1, 0.5]).hierarchy_of(["18.50"]).rows()[0]
    ('18.5', '18.5-<18.6', '18.5-<19', '*')
    """

    section: ClassVar = "attributes"

    role: Role = field(
        metadata={"key": Key(lambda role: isinstance(role, Role), f"be {' or '.join(role.value for role in Role)}")}
    )
    hierarchy: Hierarchy | None = setting(
        None,
        Key(
            lambda value: isinstance(value, Hierarchy),
            "be a hierarchy, not its file, which marginals.read_hierarchy(file) reads",
        ),
    )
    intervals: tuple[int, ...] | tuple[Decimal, ...] = setting(
        (),
        Key(
            lambda widths: are(is_finite)(widths) and _pass(check_widths, [Decimal(str(width)) for width in widths]),
            f"be a list of widths such as [5, 10], above 0 and each a proper multiple of the one before, for {_MOST}",
        ),
    )
    start: int | Decimal = setting(0, Key(is_finite, "be a finite number"))
    prefixes: tuple[int, ...] = setting(
        (),
        Key(
            lambda lengths: are(is_whole)(lengths) and _pass(check_lengths, lengths),
            f"be a list of whole numbers above 0, each less than the one before, such as [3, 2], for {_MOST}",
        ),
    )
    labels: str = setting("private", one_of(("private", "public")))
    missing: str = setting(
        "drop",
        Key(
            lambda missing: is_text(missing) and missing in ("drop", "as a value"),
            'be "drop" or "as a value"; texts of the column that stand for no value are its marks',
        ),
    )
    description: str = setting("", WORDS)
    values: Mapping[str, str] = setting(
        {},
        Key(
            lambda values: isinstance(values, Mapping) and all(map(is_words, values.values())),
            f'{WORDS.must} for each value, {{ "1" = "yes" }}',
        ),
    )
    dates: tuple[str, ...] = setting(
        (),
        Key(
            lambda units: are(is_text)(units) and _pass(check_units, units),
            f"be a list of {', '.join(UNITS)}, each longer than the one before",
        ),
    )
    ladder: str = setting("given", one_of(("given", *FITTED)))
    single_values: bool = setting(False, FLAG)
    order: tuple[str, ...] = setting(
        (),
        Key(
            lambda order: are(is_text)(order) and len({*order}) == len(order),
            "be a list of the values as texts, lowest first, each once",
        ),
    )
    label_form: str = setting("numbers", one_of(LABEL_FORMS))
    apart: tuple[int, ...] | tuple[Decimal, ...] = setting(
        (), Key(are(is_finite), "be a list of finite numbers such as [40]")
    )
    marks: tuple[str, ...] | None = setting(None, Key(are(is_text), 'be a list of texts such as ["99", "Refused"]'))
    one_spelling: bool | None = setting(None, FLAG)
    harmless: tuple[str, ...] = setting((), Key(are(is_text), 'be a list of labels such as ["negative"]'))
    at_most: Mapping[str, Fraction] = setting(
        {},
        Key(
            lambda most: isinstance(most, Mapping) and all(is_text(of) and is_percent(n) for of, n in most.items()),
            'be a percentage above 0 and below 100 for each value, such as { positive = 20 }, with "*" for all that harm',
        ),
    )
    confirmed: bool = setting(False, FLAG)
    level_of: str = setting("", Key(is_text, "name another column"))

    if TYPE_CHECKING:  # lists, and texts for roles, are taken too

        def __init__(self, role: Role | str, hierarchy: Hierarchy | None = None, **settings: Any) -> None: ...

    def __post_init__(self) -> None:
        values: dict[str, Any] = dict(vars(self))
        for name in ("intervals", "prefixes", "dates", "order", "apart", "marks", "harmless"):
            if name != "marks" or values[name] is not None:
                values[name] = tuple(elements_of(values[name], name, "a list"))
        if isinstance(values["role"], str) and values["role"] in [part.value for part in Role]:
            values["role"] = Role(values["role"])
        self._set(values | {name: {} for name in ("values", "at_most") if values[name] is None})
        check_settings(self)
        self._normalize()
        self._check_together()

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _normalize(self) -> None:
        numbers = (self.start, *self.intervals, *self.apart)
        is_exact = all(map(is_whole, numbers))

        def exact(number: Any) -> Any:
            return int(number) if is_exact else Decimal(str(float(number) if isinstance(number, Fraction) else number))

        normal: dict[str, Any] = {
            "start": exact(self.start),
            "intervals": tuple(map(exact, self.intervals)),
            "apart": tuple(sorted({*map(exact, self.apart)})),
            "values": {cell_text(value): words for value, words in self.values.items()},
            "order": tuple(map(cell_text, self.order)),
            "marks": self.marks and tuple(map(cell_text, self.marks)),
            "harmless": tuple(map(cell_text, self.harmless)),
            "at_most": {cell_text(value): Fraction(str(most)) for value, most in self.at_most.items()},
        }
        if self.hierarchy is not None:
            labels = tuple(tuple(map(cell_text, level)) for level in self.hierarchy.labels)
            same = labels == self.hierarchy.labels
            normal["hierarchy"] = self.hierarchy if same else replace(self.hierarchy, labels=labels)
        self._set(normal)

    def _check_together(self) -> None:
        has_hierarchy, is_in_order = self.hierarchy is not None, bool(self.intervals or self.dates)
        ways = (has_hierarchy, self.intervals, self.prefixes, self.dates)
        plain = vars(Attribute(self.role)) if self.level_of else {}
        others = [key for key in plain if key not in ("marks", "level_of") and getattr(self, key) != plain[key]]
        refused = {
            f"the labels {SUPPRESSED!r} and {MISSING!r} stand for any value and for none; give another name to groups of "
            "values that a hierarchy, or a column of levels, calls so": (
                self.hierarchy is not None and has_reserved_labels(self.hierarchy)
            ),
            f"the hierarchy has no level below {SUPPRESSED}; give one with values, or leave it out": (
                self.hierarchy is not None and not self.hierarchy.height
            ),
            "an attribute takes one of hierarchy, intervals, prefixes and dates, not several": sum(map(bool, ways)) > 1,
            "apart names numbers that are no part of intervals; give intervals, or leave it out": (
                self.apart and not self.intervals
            ),
            'labels = "public" needs a hierarchy that was made without the rows; these would decide which values there '
            "are otherwise": self.has_public_labels and not has_hierarchy,
            "intervals and dates lie in an order by themselves; leave out the key order, or them": (
                self.order and is_in_order
            ),
            "single_values says of a sensitive attribute whether its numbers or dates are published one by one; leave it "
            "out for other roles": self.single_values and self.role is not Role.SENSITIVE,
            "harmless and at_most are about the values of a sensitive attribute; leave them out for other roles": (
                (self.harmless or self.at_most) and self.role is not Role.SENSITIVE
            ),
            f"level_of makes this column a level of {self.level_of!r}, whose section describes both; leave out "
            f"{', '.join(others)} here": bool(others),
            f'at_most."{SUPPRESSED}" is about all that harm together; list others under harmless, with confirmed = true': (
                SUPPRESSED in self.at_most and not self.harm.harmless
            ),
        }
        if problem := next((text for text, is_so in refused.items() if is_so), None):
            raise InputError(problem)
        if self.hierarchy is not None and not self.has_names:
            check_intervals(self.hierarchy)

    @property
    def harm(self) -> Harm:
        """Harm of learning its values, as far as somebody has confirmed it."""
        return Harm(tuple(sorted({*self.harmless})) if self.confirmed else (), self.at_most)

    @property
    def has_public_labels(self) -> bool:
        """Return whether a release may publish the whole hierarchy."""
        return self.labels == "public"

    @property
    def counts_missing(self) -> bool:
        """Return whether rows without a value are counted, under the value MISSING."""
        return self.missing == "as a value"

    @property
    def has_names(self) -> bool:
        """Return whether labels that look like numbers or intervals are plain names."""
        return self.label_form == "names"

    def takes_order(self, order: Collection[str]) -> bool:
        """Return whether the categories of a frame, lowest first, give the order of its sensitive values."""
        has_own = bool(self.order or self.intervals or self.dates) or self.role is not Role.SENSITIVE
        return not has_own and (self.hierarchy is None or set(self.hierarchy.labels[0]) <= {*order})

    @property
    def is_fitted(self) -> bool:
        """Return whether its levels are fitted to the frequency of each value."""
        return self.ladder in FITTED

    @property
    def is_in_groups(self) -> bool:
        """Return whether it publishes only the bands that are given for it, never single values."""
        return self.role is Role.SENSITIVE and bool(self.intervals or self.dates) and not self.single_values

    @property
    def first_merged(self) -> int:
        """Level whose values a fitted ladder merges: the first bands of intervals or dates, else the values."""
        return 1 if self.intervals or self.dates else 0

    @property
    def has_decimals(self) -> bool:
        """Return whether its intervals are of numbers with decimals."""
        return isinstance(self.start, Decimal)

    def absent(self, texts: Collection[str | None], missing: Collection[str], decimal: str = ".") -> frozenset[str]:
        """Return those of the values of its column that stand for no value. `missing`: marks of the whole table."""
        if self.marks is not None:
            return missing_among(texts, {*missing, *self.marks}, decimal)
        if self.role in (Role.QUASI_IDENTIFIER, Role.IGNORED) and not self.intervals and not self.dates:
            return missing_among(texts, missing, decimal)
        labelled = [value for value, words in self.values.items() if words and says_nothing(words)]
        present = [text for text in texts if text is not None]
        return missing_among(present, {*missing, *labelled}, decimal) | nothing_among(present)

    def respelled(self, rows_of: Mapping[str, int]) -> dict[str, str]:
        """Map values of its column to a more frequent spelling of the same value, if there is one."""
        if not (self.role is Role.SENSITIVE if self.one_spelling is None else self.one_spelling):
            return {}
        labels = () if self.hierarchy is None else self.hierarchy.labels[0]
        return respelled(rows_of, {*labels, *self.order, *self.values})

    def with_labels(self, spell: Callable[[str], str]) -> "Attribute":
        """Return the attribute with another spelling of each value that its settings name."""
        if not (self.values or self.harmless or self.at_most):
            return self
        # The least of two bounds of one value stays.
        falling = sorted(self.at_most.items(), key=lambda bound: -bound[1])
        return replace(
            self,
            values={spell(value): meaning for value, meaning in self.values.items()},
            at_most={spell(value): bound for value, bound in falling},
            harmless=tuple(map(spell, self.harmless)),
        )

    def numbers(self, texts: Collection[str], decimal: str = ".") -> NumberFormat | None:
        """Return the form of numbers of its distinct values; None for words, codes and dates. `decimal`: as declared."""
        if self.dates:
            return None
        return NumberFormat.nearest(texts, decimal) if self.intervals else NumberFormat.of(texts, decimal)

    def base_value(self, text: str, numbers: NumberFormat | None = None) -> str | None:
        """Return the base value of a text, None for one that its intervals or dates cannot hold. `numbers`: their form."""
        if self.counts_missing and text == MISSING:
            return text
        if self.dates:
            return date_text(text)
        if self.intervals:
            number = (numbers or NumberFormat()).number(text)
            if number is None or not (self.has_decimals or number == number.to_integral_value()):
                return None
            return number_text(number)
        if numbers is None or (self.hierarchy is not None and self.hierarchy.code(text, 0) is not None):
            return text
        return numbers.canonical(text)

    def hierarchy_of(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy over these distinct base values. Raises HierarchyError where none fits."""
        if not self.counts_missing:
            return self._with_order(self._hierarchy_of_values(values))
        present = set(values) - {MISSING}
        if not present and self.hierarchy is None:  # rows without any value leave nothing to generalize
            return Hierarchy.flat([MISSING])
        return self._with_order(self._hierarchy_of_values(present)).with_value_apart(MISSING)

    def _with_order(self, hierarchy: Hierarchy) -> Hierarchy:
        has_names = self.has_names or (not self.intervals and not self.dates and are_names(hierarchy))
        named = hierarchy if hierarchy.has_names == has_names else replace(hierarchy, has_names=has_names)
        labels = list(hierarchy.labels[0])
        if self.counts_missing and MISSING in labels:
            labels.remove(MISSING)
        if self.order:
            present = {*labels}
            if lacking := len(present - {*self.order}):
                raise HierarchyError(
                    f"its order lacks {lacking:,} of the {len(labels):,} values; list each under order, lowest first"
                )
            return named.ordered_by([value for value in self.order if value in present])
        if self.role is not Role.SENSITIVE:
            return named
        return named.ordered_by(labels) if self.intervals or self.dates else in_known_order(named)

    def _hierarchy_of_values(self, values: Iterable[str]) -> Hierarchy:
        if self.hierarchy is not None:
            return self.hierarchy
        ordered = sorted(values)
        if self.has_decimals and self.intervals:
            numbers = map(NumberFormat().number, ordered)
            widths, single, start = (tuple(map(Decimal, texts)) for texts in (self.intervals, self.apart, [self.start]))
            present = (number for number in numbers if number is not None)
            return Hierarchy.from_decimal_intervals(present, widths, start[0], single, full=not self.is_in_groups)
        if self.intervals:
            steps, apart = (tuple(map(int, texts)) for texts in (self.intervals, self.apart))
            return Hierarchy.from_intervals(ordered, steps, int(self.start), apart, full=not self.is_in_groups)
        if self.dates:
            return date_hierarchy(ordered, self.dates)
        if self.prefixes:
            # Of codes of several lengths, a prefix may leave the short ones as they are, but not all.
            if ordered and all(len(value) <= self.prefixes[0] for value in ordered):
                raise HierarchyError(
                    f"no value is longer than {self.prefixes[0]} characters, so the first of the prefixes "
                    f"{list(self.prefixes)} changes nothing; leave it out"
                )
            hierarchy = Hierarchy.from_prefixes(ordered, self.prefixes)
            # By the coarsest label first, so that the order of no level depends on what lies below it.
            return Hierarchy.from_rows(sorted(hierarchy.rows(), key=lambda row: tuple(reversed(row))))
        if not ordered:
            raise HierarchyError("it has no values")
        is_filled = self.is_fitted and not self.has_names
        return Hierarchy.flat((is_filled and consecutive(ordered)) or in_order(ordered))


def in_known_order(hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy with the order of its base values as numbers, dates or bands, if they have one."""
    if not hierarchy.height:  # of an attribute of which nothing is told
        return hierarchy
    labels = [label for label in hierarchy.labels[0] if label != MISSING]
    ordered = known_order(labels)
    return hierarchy if ordered is None else hierarchy.ordered_by(ordered)


@frozen
class ColumnTexts:
    """Distinct values of a column as text, the rows of each, the rows without a value, and the decimal sign."""

    name: str
    values: tuple[str, ...]
    counts: CountArray
    missing: int
    decimal: str = "."

    @classmethod
    def of(cls, name: str, texts: Iterable[str], missing: Collection[str] = ("",)) -> "ColumnTexts":
        """Count texts, one a row; those that are missing stand for nothing."""
        occurring = Counter(texts)
        gone = sum(occurring.pop(text, 0) for text in set(missing))
        return cls(name, tuple(occurring), np.array(list(occurring.values()), dtype=np.int64), gone)

    @cached_property
    def rows(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())

    @cached_property
    def format(self) -> NumberFormat | None:
        """Form of its values as numbers; None for words and codes."""
        return NumberFormat.of(self.values, self.decimal)

    @cached_property
    def numbers(self) -> tuple[Decimal, ...] | None:
        """Numbers of its values, where all are numbers."""
        written = self.format
        read = () if written is None else tuple(n for value in self.values if (n := written.number(value)) is not None)
        return read if read and len(read) == len(self.values) else None

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of the name, without accents: of `person_id`, `personId` and `Person-ID` the same two."""
        return words_of(self.name)


def words_of(name: str) -> frozenset[str]:
    """Words of the name of a column, without accents."""
    return frozenset(words_in_order(name))


def words_in_order(name: str) -> list[str]:
    """Words of the name of a column in their order, without accents."""
    return re.findall(r"[a-z]+", without_accents(re.sub(r"([a-z])([A-Z])", r"\1 \2", name)))


@frozen
class Codebook:
    """Description of some attributes, and the meaning of some of their values, by label."""

    descriptions: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute]) -> "Codebook":
        """Codebook of some attributes."""
        return cls(
            {name: attribute.description for name, attribute in attributes.items() if attribute.description},
            {name: dict(attribute.values) for name, attribute in attributes.items() if attribute.values},
        )

    def of_labels(self, domain: Domain) -> "Codebook":
        """Codebook of only the attributes of a domain and their labels."""
        meanings_of = {
            name: {
                label: meaning
                for label, meaning in self.values.get(name, {}).items()
                if any(hierarchy.code(label, level) is not None for level in range(hierarchy.height))
            }
            for name, hierarchy in domain.items()
        }
        descriptions = {name: self.descriptions[name] for name in domain.attributes if name in self.descriptions}
        return Codebook(descriptions, {name: meanings for name, meanings in meanings_of.items() if meanings})

    def description(self, attribute: str) -> str:
        """Description of an attribute; empty without one."""
        return self.descriptions.get(attribute, "")

    def word(self, attribute: str, label: str) -> str:
        """Return the meaning of a label if no other label has it; else the label."""
        meanings = self.values.get(attribute, {})
        meaning = meanings.get(label, "")
        return meaning if meaning and [*meanings.values()].count(meaning) == 1 else label

    def worded(self, facts: Any, about: str = "") -> Any:
        """Return facts with words in place of labels, also within dataclasses, tuples and mappings.

        about: the sensitive attribute whose labels a field named value or values holds. Fields without repr stay.
        """
        if isinstance(facts, Mapping):
            return {
                key: self.word(key, entry) if isinstance(entry, str) else self.worded(entry, about)
                for key, entry in facts.items()
            }
        if type(facts) in (tuple, list):
            return type(facts)([self.worded(part, about) for part in facts])
        if self.values and is_dataclass(facts) and not isinstance(facts, type):
            entries = {part.name: getattr(facts, part.name) for part in fields(facts) if part.init and part.repr}
            sensitive = getattr(facts, "sensitive", about)
            about = sensitive if isinstance(sensitive, str) else about
            for name in {"value", "values"} & entries.keys():
                if isinstance(entries[name], str):
                    entries[name] = self.word(about, entries[name])
                elif isinstance(entries[name], list | tuple):
                    entries[name] = type(entries[name])([self.word(about, label) for label in entries[name]])
            return replace(facts, **{name: self.worded(entry, about) for name, entry in entries.items()})
        return facts

    def in_words(self, attribute: str, label: str) -> str:
        """Label with its meaning."""
        meaning = self.values.get(attribute, {}).get(label)
        return f"{label} ({meaning})" if meaning and meaning != label else label

    def entries(self, attribute: str) -> dict[str, object]:
        """Entries of a bundle about an attribute."""
        entries = {"description": self.descriptions, "values": self.values}
        return {key: words[attribute] for key, words in entries.items() if attribute in words}
