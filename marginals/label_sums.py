"""Reading of labels by printed counts: totals, groups of other labels, and labels that may be either."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from marginals.tables.intervals import whole_ends
from models.frozen import frozen
from models.intervals.linked_tables import Interval
from models.programs.consistent_tables import UNBOUNDED

Line = Mapping[str, Interval]  # counts that differ in one attribute, by its label
Groups = Mapping[str, Sequence[str]]  # labels that stand for other labels
BLANK = "(blank)"

# Totals, unless a spec names them.
TOTALS = frozenset(
    {
        *("total", "totals", "all", "sum", "overall", "everyone", "everybody", "both", "both sexes", "persons"),
        *("all ages", "all persons", "all sexes", "all areas", "grand total", "insgesamt", "gesamt", "ensemble"),
    }
)

_LIKE_TOTAL = re.compile(
    r"(?i)_t|i alt|tout|toplam|(?:.*[\W_])?(?:tot|total[set]?|totaal|sum|summ[ae]|alle?(?! other))(?:[\W_].*)?"
)
_MAY_BE_TOTAL = re.compile(r"(?i)t|0{2,}|EU(?:[0-9]{2})?(?:_?[0-9]{4})?|EA[0-9]{2}|world|national|country")
_OF_WHICH = re.compile(
    r"(?i)\W*(?:of (?:which|whom)|thereof|darunter|davon|dont|di cui|waarvan|incl(?:\.|uding|uded))\b"
)
_NEXT_CODE = re.compile(r"[\W_]?[0-9]{1,3}\b")
_PART_OF = re.compile(r"[\W_].*|[A-Z]{1,3}")
_ROMAN = re.compile("[IVXLC]+")
_CODES = re.compile(r"([A-Z][0-9]*)\s*[-\u2013]\s*([A-Z][0-9]*)")
_EVIDENCE = 400  # least product of sums that is no coincidence
_HINT = 20  # the same if a name, codes or the indentation of labels support the reading
_MOST_PARTS = 30


@dataclass
class LabelReading:
    """Totals and groups among the labels of an attribute in one table.

    `doubts`: labels that may be totals or groups, and why. `numbers`: labels that are no totals. `left_out`: without a
    reading. `adds_up_shown`: whether totals leave out counts that are not printed.
    """

    labels: Sequence[str]
    lines: Sequence[Line]
    numbers: Collection[str] = ()
    totals: list[str] = field(default_factory=list)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    may_be_totals: Sequence[str] = ()
    adds_up_shown: bool = False

    @property
    def values(self) -> list[str]:
        """Labels that are no totals, and no parts of others."""
        excluded = {*self.totals, *self.left_out}.union(*self.groups.values())
        return [label for label in self.labels if label not in excluded]

    def evidence_of_total(self, label: str) -> float | None:
        """`_evidence` that a label is the sum of all other values."""
        return _evidence(self.lines, label, [other for other in self.values if other != label])

    @property
    def exceeds(self) -> bool:
        """Return whether a total is surely larger than all values of its line."""
        limits = [(line, [line[label][1] for label in self.values if label in line]) for line in self.lines]
        sums = [(line, sum(most)) for line, most in limits if len(most) > 1]
        return any(most < line[total][0] for line, most in sums for total in self.totals if total in line)

    def sums_of_printed(self) -> Iterator[bool]:
        """Return for each line with a total, and with hidden counts, whether the total is the sum of the printed ones."""
        for line in self.lines:
            parts = [line[label] for label in self.values if label in line]
            printed = sum(low for low, high in parts if low == high)
            if any(low < high for low, high in parts):
                yield from (line[total][0] == printed for total in self.totals if len({*line.get(total, "")}) == 1)


@frozen
class Hints:
    """Facts about labels besides counts. `parents`: the labels above indented ones. `numbers`: numbers and ranges."""

    parents: Mapping[str, str] = field(default_factory=dict)
    numbers: Collection[str] = ()
    groups: Groups = field(default_factory=dict)
    totals: Sequence[str] = ()


def read_labels(lines: Mapping[str, Sequence[Line]], hints: Mapping[str, Hints]) -> dict[str, LabelReading]:
    """Return the totals and groups among the labels of each attribute that make all printed sums right."""
    readings = {}
    for name, of_name in lines.items():
        hint = hints.get(name, Hints())
        labels = list(dict.fromkeys(label for line in of_name for label in line))
        readings[name] = reading = LabelReading(labels, of_name, hint.numbers)
        reading.totals += [n for n in reading.labels if n.strip().lower() in TOTALS or n in hint.totals]
        reading.groups |= {label: tuple(parts) for label, parts in hint.groups.items()}
        _read_parts_of_one(reading, hint.parents)
        _read_hinted_groups(reading, hint)
        _read_named_total(reading)
        _read_summed_groups(reading)
    unnamed = {name: total for name, reading in readings.items() if (total := _unnamed_total(reading))}
    is_sure = prod(evidence for _, evidence in unnamed.values()) >= _EVIDENCE
    for name, (label, evidence) in unnamed.items():
        if is_sure and evidence >= _HINT:
            readings[name].totals.append(label)
    sums = [is_sum for reading in readings.values() for is_sum in reading.sums_of_printed()]
    for reading in readings.values() if sums and all(sums) else ():
        reading.adds_up_shown = bool(reading.totals)
        reading.left_out, reading.totals = [*reading.left_out, *reading.totals], []
    has_sums = any(reading.totals or reading.groups for reading in readings.values())
    for reading in readings.values():
        reading.may_be_totals = [] if reading.totals else [*_possible_totals(reading)]
        ends = {BLANK, *reading.values[:1], *reading.values[-1:]}
        possible = [n for n in reading.may_be_totals if has_sums and n in ends]
        reading.doubts |= dict.fromkeys(possible, "it may be the total of the others")
    return readings


def is_sum(lines: Sequence[Line], label: str, parts: Sequence[str]) -> bool:
    """Return whether a label is the sum of some other labels too often for chance."""
    needed = _HINT if label.lower() in TOTALS or _LIKE_TOTAL.fullmatch(label) else _EVIDENCE
    return (_evidence(lines, label, parts) or 0) >= needed


def _evidence(lines: Sequence[Line], label: str, parts: Sequence[str]) -> float | None:
    # Product of the counts of a label that are printed as the sum of its parts.
    # It is 0 where some counts are more than the sum, and None where some are less.
    product, is_more = 1, False
    for line in lines:
        ranges = [line[part] for part in parts if part in line]
        if label not in line or not ranges:
            continue
        least, most = sum(low for low, _ in ranges), sum(high for _, high in ranges)
        if line[label][1] < least:
            return None
        is_more |= line[label][0] > most and len(ranges) == len(parts)
        if least and line[label] == (least, most) == (most, least) and (len(ranges) > 1 or len(parts) == 1):
            product = min(product * least, 10**30)
    return 0 if is_more else product


def _read_parts_of_one(reading: LabelReading, parents: Mapping[str, str]) -> None:
    above = ""
    of_whom: dict[str, list[str]] = {}
    for label in reading.labels:
        if _OF_WHICH.match(label):
            of_whom.setdefault(parents.get(label, above), []).append(label)
        else:
            above = label
    for group, parts in of_whom.items():
        others = [label for label, parent in parents.items() if parent == group and label not in parts]
        if len(parts) == 1 and not others and group and group not in reading.totals:
            reading.groups[group] = (parts[0], f"{group}: others")
        else:
            reading.left_out += parts
            reading.doubts |= dict.fromkeys(parts, f"others are parts of {group!r}, too")


def _read_hinted_groups(reading: LabelReading, hint: Hints) -> None:
    used = {*reading.totals, *reading.left_out, *reading.groups}.union(*reading.groups.values())
    indented: dict[str, list[str]] = {}
    for label, parent in hint.parents.items():
        if not {label, parent} & used and parent in reading.labels:
            indented.setdefault(parent, []).append(label)
    import networkx as nx  # loaded here: most tables have no hints

    for wholes in (indented, _codes_of_groups([label for label in reading.values if label not in indented])):
        evidence = {label: _evidence(reading.lines, label, parts) for label, parts in wholes.items()}
        graph = nx.DiGraph([(label, part) for label, parts in wholes.items() for part in parts])
        level = {label: len(nx.ancestors(graph, label)) for label in wholes}
        is_stub = wholes is indented
        adds_up = prod(value for value in evidence.values() if value) >= _HINT
        for label, parts in wholes.items():
            alike = [evidence[other] for other in wholes if level[other] == level[label]]
            is_sure = adds_up and (evidence[label] or 0) > 1
            are_sums = adds_up and evidence[label] and 0 not in alike and prod(map(int, filter(None, alike))) >= _HINT
            if is_sure or are_sums:
                reading.groups[label] = tuple(parts)
            elif evidence[label] is not None and (is_stub or adds_up):
                reading.groups[label] = (*parts, f"{label}: others")
                is_sure = not evidence[label]
            if not is_sure and label not in _exact(reading) and (is_stub or evidence[label]):
                reading.doubts[label] = f"it may be a group that {parts[0]!r} is in"
    headings = [n for n in indented if all(line[n] == (0, UNBOUNDED) for line in reading.lines if n in line)]
    parts = [part for label in headings for part in indented[label]]
    parts += [label for label in reading.values if label not in headings]
    if headings and any(_evidence(reading.lines, total, parts) is None for total in reading.totals):
        for label in headings:
            reading.left_out += [label, *reading.groups.pop(label, ())]
        reading.doubts |= dict.fromkeys(headings, "what stands under it and other rows are more than the total")
    roots = reading.values
    if len(roots) == 1 < len(reading.labels) and roots[0] in _exact(reading):
        del reading.groups[roots[0]]
        reading.totals += roots


def _exact(reading: LabelReading) -> set[str]:
    return {label for label, parts in reading.groups.items() if f"{label}: others" not in parts}


def _read_named_total(reading: LabelReading) -> None:
    values = reading.values
    named = [label for label in values if not reading.totals and _LIKE_TOTAL.fullmatch(label.strip())]
    weak = [label for label in values if not reading.totals and _MAY_BE_TOTAL.fullmatch(label.strip())]
    for label in (*named, *weak) if len(values) > 1 else ():
        value = reading.evidence_of_total(label)
        if value is not None and (value >= _HINT or [label] == named):
            reading.totals.append(label)
            return
    reading.doubts |= dict.fromkeys(named, "it is called like a total")


def _unnamed_total(reading: LabelReading) -> tuple[str, float] | None:
    values, candidates = reading.values, []
    for label in values if len(values) > 2 and not reading.totals else ():
        value = reading.evidence_of_total(label)
        if value and label not in reading.numbers:
            candidates.append((value / (2 if label in (values[0], values[-1], BLANK) else len(values)), label))
    evidence, label = max(candidates, default=(0, ""))
    return (label, evidence) if evidence > 1 else None


def _possible_totals(reading: LabelReading) -> Iterator[str]:
    for label in (values := reading.values):
        lines = [[line[n] for n in values if n in line] for line in reading.lines if label in line]
        is_useful = any(len(ranges) > 2 and any(low < high for low, high in ranges) for ranges in lines)
        if label not in reading.numbers and is_useful and reading.evidence_of_total(label):
            yield label


def _read_summed_groups(reading: LabelReading) -> None:
    # Groups are the sum of those that stand right after them, or right before, too often for chance.
    values, lines = reading.values, reading.lines
    total = reading.totals[0] if reading.totals else ""
    for order in (values, values[::-1]):
        groups: dict[str, tuple[tuple[str, ...], float]] = {}
        tops: list[str] = []
        for label in reversed(order):
            sums = []
            for end in range(2, min(len(tops), _MOST_PARTS) + 1):
                value = _evidence(lines, label, tops[:end])
                if value is None:
                    break  # more parts are no less
                if value >= _HINT:
                    sums.append((tuple(tops[:end]), value))
            is_whole = not total and len(sums) == 1 and len(sums[0][0]) == len(values) - 1
            if len(sums) == 1 and not is_whole:
                groups[label] = sums[0]
                tops = tops[len(sums[0][0]) :]
            tops.insert(0, label)
        without = _evidence(lines, total, values) if total else 0
        of_total = _evidence(lines, total, tops) if without is None else None
        support = (of_total or 1) * (prod(value for _, value in groups.values()) if of_total else 1)
        for label, (parts, value) in groups.items():
            if max(value, support) >= _EVIDENCE * len(values) ** 2 / 2:
                reading.groups.setdefault(label, parts)
            elif value >= _HINT * 2 * len(values):
                reading.doubts[label] = f"it may be the sum of {parts[0]!r} to {parts[-1]!r}"
        if reading.groups:
            return


def _codes_of_groups(order: Sequence[str]) -> dict[str, list[str]]:
    # Labels that others begin with, as codes of groups do (DE, DE1, DE11), or lie in (A00-B99), with those right below.
    inner: dict[str, list[str]] = {}
    order = [label for label in order if whole_ends(label) is None]  # what a range covers is no matter of its letters
    for label in order:
        if match := _CODES.fullmatch(label):
            ends = [(other, _CODES.fullmatch(other)) for other in order if other != label]
            pairs = [(other, code[1] if code else other, code[2] if code else other) for other, code in ends]
            from_first = [pair for pair in pairs if pair[1][:1].isupper() and match[1] <= pair[1]]
            inner[label] = [other for other, _, high in from_first if high[: len(match[2])] <= match[2]]
            continue
        longer = [other for other in order if other != label and other.startswith(label)]
        longer = [other for other in longer if other[len(label) :].strip("0") or not other.isdecimal()]
        codes = [other for other in longer if _NEXT_CODE.match(other[len(label) :])]
        parts = [other for other in longer if _PART_OF.fullmatch(other[len(label) :])]
        parts = codes if len(parts) < 2 or _ROMAN.fullmatch(label) else [*dict.fromkeys([*codes, *parts])]
        stem = label.rstrip("0123456789")
        numbers = sorted(int(rest) for other in order if (rest := other.removeprefix(stem)).isdecimal())
        if label != stem and numbers == list(range(numbers[0], numbers[0] + len(numbers))):  # 1 to 12 are no codes
            parts = [part for part in parts if not part.removeprefix(stem).isdecimal()]
        inner[label] = parts
    return {
        label: direct
        for label, parts in inner.items()
        if (direct := [part for part in parts if not any(part in inner[other] for other in parts if other != part)])
    }
