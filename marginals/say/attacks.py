"""Attacks in words: what readers can conclude, by who concludes it."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

from checks.attacks.algorithm import Addition, CertainRange, Conclusion, FittedLevelDisclosure, Refusals
from checks.attacks.guesses import LikelySmall
from checks.attacks.knowledge import CertainCells, Counts, PublishedCounts
from checks.changes import ChangedPeople
from checks.claims import listing
from checks.finding import Finding, Verdict
from marginals.attacks import (
    Attacks,
    DisclosureMeasures,
    Minimality,
    SurestGuesses,
    TableChange,
)
from marginals.messages import first_few
from marginals.names import column_name, number_of, shown_at
from marginals.register_readers import ATTESTED, RegisterReaders
from marginals.say.claims import CONDITION, crossing_line, few_rows
from marginals.say.sentences import LOOK, NOT_EXAMINED, NOTHING_FOUND, Sentence

InWords = Callable[[str, int], str]  # name of an attribute at a level

WITH_REGISTER = "Readers with a register"
OF_ALGORITHM = "Readers who know the algorithm"
ACROSS_CLASSES = "Readers who learn across classes"
OF_RANKS = "Readers who rank small counts by the model"


def parts_of_attacks(attacks: Attacks) -> Iterator[tuple[str, list[Sentence]]]:
    """Yield sentences on all that was measured, each part with its heading, which may be empty."""
    for change in attacks.changes:
        yield "", [_change_sentence(attacks.codebook.worded(change))]
    for name, single in attacks.apart.items():
        yield f"{name}:", [*attack_sentences(single), *_unmeasured(single)]
    note = [Sentence(NOT_EXAMINED, f"Not measured together: {attacks.note}.")] if attacks.note else []
    together = [] if attacks.note or attacks.changes else attack_sentences(attacks)
    yield "", [*note, *together, *_unmeasured(attacks)]


def attack_sentences(attacks: Attacks) -> Iterator[Sentence]:
    """Yield what readers of one release, or of several together, can conclude; the plainest first."""
    attacks = attacks.codebook.worded(attacks)
    if attacks.published is not None:
        yield _published(attacks.published)
    if attacks.nonsensitive is not None:
        yield _nonsensitive(attacks.nonsensitive)
    if attacks.impossible:
        pairs = (
            " with ".join(f"{column_name(name)} {listing(texts, 'or')}" for name, texts in pair.items())
            for pair in attacks.impossible
        )
        yield Sentence(LOOK, "Combinations taken into account as impossible:", tuple(pairs))
    yield from (Sentence(LOOK, crossing_line(crossing)) for crossing in attacks.crossing)
    if attacks.published is not None:
        yield Sentence(NOT_EXAMINED, "Impossible combinations that nobody declared: not examined.", (CONDITION,))
    yield from itertools.starmap(_certain, attacks.certain.items())
    if attacks.published is not None and not attacks.certain and not attacks.unmeasured:
        none = "What follows for certain of a sensitive attribute: not examined, since no table shows one."
        yield Sentence(NOT_EXAMINED, none)
    if attacks.minimality is not None:
        yield _minimality(attacks.minimality)
    for readers in attacks.register:
        mark = NOT_EXAMINED if readers.largest_share is None else LOOK
        yield Sentence(mark, _register_in_words(readers), readers=WITH_REGISTER)
    yield from map(_guesses, attacks.attacked)
    for attribute, reason in attacks.left_out.items():
        not_examined = f"{ACROSS_CLASSES}, of {attribute}: not examined; {reason}."
        yield Sentence(NOT_EXAMINED, not_examined, readers=ACROSS_CLASSES)
    if attacks.published is not None and (attacks.likely is not None or not attacks.unmeasured):
        mark = LOOK if attacks.likely is not None and attacks.likely.tops else NOT_EXAMINED
        yield Sentence(mark, f"{OF_RANKS}: {_likely(attacks.likely)}", readers=OF_RANKS)


def _unmeasured(attacks: Attacks) -> list[Sentence]:
    return [Sentence(NOT_EXAMINED, f"{part}: not examined (time was over).") for part in attacks.unmeasured]


def _published(published: PublishedCounts) -> Sentence:
    least, detail = published.least, []
    for attribute, of in published.sensitive.items():
        largest = "" if of.shared is None else f"; the largest, with {number_of(of.rows, 'row')}: {_cell(of.shared)}"
        one_value = f"published classes with a single value of it: {of.one_value:,} of {of.classes:,}{largest}"
        detail.append(f"with {attribute}: {_small(of.counts, least)}; {one_value}")
    is_open = published.counts.small or any(of.counts.small or of.one_value for of in published.sensitive.values())
    text = f"Published as they are: {_small(published.counts, least)}"
    return Sentence(LOOK if is_open else NOTHING_FOUND, text, tuple(detail))


def _small(counts: Counts, least: int) -> str:
    cells = "; ".join(f"{_cell(cell.values)}: {cell.rows:,}" for cell in counts.smallest)
    smallest = f"; the smallest: {cells}" if cells else ""
    return f"{counts.small:,} of {number_of(counts.number, 'count')} below {least:,}{smallest}"


def _cell(cell: Mapping[str, str]) -> str:
    return ", ".join(f"{column_name(attribute)}={label}" for attribute, label in cell.items()) or "all"


def _nonsensitive(finding: Finding) -> Sentence:
    few, mark = few_rows(finding.parameters["k"]), NOT_EXAMINED
    result = f"no combination was found that certainly has {few}; not all examined"
    if finding.holds:
        mark, result = NOTHING_FOUND, f"no combination that is looked at certainly has {few}"
    elif finding.verdict is Verdict.FAILS:
        mark, result = LOOK, f"{_cell(finding.worst_class.cell or {})}: certainly {few}; there may be more such"
    return Sentence(mark, f"Nonsensitive attributes alone, from the tables alone: {result}.")


def _certain(attribute: str, certain: CertainCells) -> Sentence:
    least, detail, worst, shared = "" if certain.is_complete else "at least ", [], certain.worst, certain.shared
    text = (
        f"{attribute}: in the tables of up to {certain.attributes} attributes with it, each at its finest published level, "
        f"that readers can work out: counts determined exactly: {least}{certain.determined:,}, of these below the largest k "
        f"claimed: {least}{certain.small:,}; cells that have a row for certain: {least}{certain.exists:,}; classes that all "
        f"have the same value for certain: {least}{certain.one_value:,}"
    )
    if not certain.is_complete:
        undecided = f"{number_of(certain.undecided, 'cell')} and {number_of(certain.unread, 'table')}"
        text += f"; undecided in the time given: {undecided}"
    if worst is not None:
        detail.append(f"the smallest of these counts: {_cell(worst.values)}: exactly {number_of(worst.rows, 'row')}")
    if shared is not None:
        rows = number_of(shared.rows, "row")
        detail.append(f"one of these classes, with its value: {_cell(shared.values)}: at least {rows}")
    return Sentence(LOOK if certain.is_complete else NOT_EXAMINED, text, tuple(detail))


def _register_in_words(readers: RegisterReaders) -> str:
    who, about = f"{WITH_REGISTER}, who know the nonsensitive values of everybody", readers.sensitive
    of = "harmful value" if readers.of_harmful else "value"
    if readers.certain:
        conclusion = f"a {of} of {about}" if readers.of_harmful else about
        return f"{who}, know {conclusion} for certain of {readers.certain:,} of {readers.people:,} rows."
    if readers.largest_share is not None:
        return (
            f"{who}, give no {of} of {about} of anybody a probability above {100 * readers.largest_share:.1f} percent "
            f"({readers.value} in {_cell(readers.labels)}), unless they assume how it varies within classes or reason from "
            "why these tables were chosen."
        )
    if readers.basis == ATTESTED:
        return f"{who}: attested by the publisher that {about} stays as diverse as claimed; the files cannot show it."
    return f"{who}: of {about} not examined; {readers.note}."


def _guesses(measures: DisclosureMeasures) -> Sentence:
    lead, detail = f"{ACROSS_CLASSES}, of {measures.sensitive}", tuple(map(_surest, measures.surest[:_SUREST]))
    if all(of.right is not None for of in measures.surest):
        return Sentence(LOOK, f"{lead}: how often their surest guesses are right", detail, ACROSS_CLASSES)
    text = (
        f"{lead}: naive Bayes and deFinetti are not examined without the table (--truth CONFIG). They can be right more "
        "often than the shares of classes say."
    )
    return Sentence(NOT_EXAMINED, text, detail, ACROSS_CLASSES)


_SUREST = 6  # values of which the surest guesses are told, those first that gain most


def _surest(of: SurestGuesses) -> str:
    result = f"{of.expected:.1%} would be right by the shares of each class"
    if of.right is not None:
        shares = [f"{of.right[name]:.1%}" for name in ("definetti", "naive_bayes", "maxent")]
        result = "{} are right by deFinetti, {} by naive Bayes, {} by class shares".format(*shares)
    guesses = number_of(of.number, "surest guess", "surest guesses")
    return f"{of.values}, {of.overall:.1%} of everybody: of the {guesses} {result}"


def _likely(likely: "LikelySmall | None") -> str:
    if likely is None:
        return "not examined; the tables form no junction tree."
    if not likely.tops:
        tables = number_of(likely.unread, "table")
        none = f"too many or too large for the time given: {tables}" if likely.unread else "no combination to rank"
        return f"not examined; {none}."
    is_known = all(top.right is not None for top in likely.tops)
    by = "" if is_known else " by the model itself (--truth CONFIG counts them)"
    shares = " and ".join(
        f"{top.expected if top.right is None else top.right:.0%} of the first {top.number:,}" for top in likely.tops
    )
    unread = f" Not looked at: {number_of(likely.unread, 'table')}." if likely.unread else ""
    return (
        f"of {number_of(likely.combinations, 'combination')} of two or three attributes that no table shows, {shares} have "
        f"{few_rows(likely.least)}{by}.{unread}"
    )


# Readers who know the algorithm.


_ASSUMED = (
    f"{OF_ALGORITHM}, and assume that every table is published that the claims allow and that tells more than chance would, "
    "conclude:"
)


def _minimality(minimality: Minimality) -> Sentence:
    if minimality.domain is None:
        return Sentence(NOT_EXAMINED, f"{OF_ALGORITHM}: not examined; {minimality.note}.", readers=OF_ALGORITHM)
    domain, lines = minimality.domain, list[str]()
    in_words = cache(lambda attribute, level: shown_at(attribute, domain.hierarchy(attribute), level))
    if minimality.refusals is not None:
        lines += _refusal_lines(minimality.refusals, in_words, has_truth=minimality.ladders is not None)
    lines += _ladders(minimality.ladders or (), in_words)
    return Sentence(LOOK, _ASSUMED, tuple(lines), OF_ALGORITHM)


def _by_reason(items: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    by_reason: dict[str, list[str]] = {}
    for reason, item in items:
        by_reason.setdefault(reason, []).append(item)
    return by_reason


_OUTCOMES = {
    Conclusion.OPEN: "what is left possible has no small count and no sensitive value in common, as far as this one tells",
    Conclusion.UNEXPLAINED: "no claim can have refused it, so it was left out for another reason",
    Conclusion.ALWAYS: "refused whatever the data, so by itself it excludes no table",
}
# Certain counts, and additions with the same outcome, that are named at most; JSON has all.
_first_of = partial(first_few, most=8, mark=";")


def _refusal_lines(refusals: Refusals, in_words: InWords, *, has_truth: bool) -> Iterator[str]:
    if refusals.contradict:
        yield "no table explains the release by its claims alone, so something else limited it; that was not examined"
    if refusals.small:
        yield f"certain, though no table shows it: {_first_of(list(map(_range, refusals.small)))}"
    if refusals.values:
        people = [
            f"everybody with {_cell(of.values)} ({number_of(of.rows, 'row')} at least) has {of.sensitive}={of.value}"
            for of in refusals.values
        ]
        yield f"certain: {_first_of(people)}"
    if refusals.tables is not None and refusals.additions and not refusals.contradict:
        yield (
            f"{number_of(refusals.tables, 'table has', 'tables have')} the published counts; in {refusals.left:,} "
            "of them none of what is missing would have been published"
        )
    for outcome in (Conclusion.SOME, Conclusion.PROVES, Conclusion.OPEN, Conclusion.UNEXPLAINED, Conclusion.ALWAYS):
        additions = (
            (_outcome(addition, refusals.least), _missing(addition, in_words)) for addition in refusals.of(outcome)
        )
        yield from (f"{_first_of(same)}: {reason}" for reason, same in _by_reason(additions).items())
    noted = ((addition.note, _missing(addition, in_words)) for addition in refusals.of(Conclusion.NOT_EXAMINED))
    yield from (f"not examined: {_first_of(same)}: {note}" for note, same in _by_reason(noted).items())
    if refusals.unnamed:
        yield f"not examined: {listing(refusals.unnamed)}, of which the release names no values"
    if refusals.margins_not_examined:
        more_margins = number_of(refusals.margins_not_examined, "more margin")
        yield f"not examined: what is certain in {more_margins} of what is missing"
    several = "" if refusals.together else "what several of these refusals prove together, and "
    yield f"not examined: {several}what somebody concludes who runs the search itself on every possible table"
    if not has_truth:
        yield (
            "not examined: levels that the release does not name, finer than any published or between, and attributes that "
            "no table shows; --truth CONFIG examines these, and says what steps tell that are fitted to the table"
        )


def _missing(addition: Addition, in_words: InWords) -> str:
    added = addition.added
    names = " with ".join(in_words(attribute, level) for attribute, level in added.items())
    others = listing([in_words(a, level) for a, level in addition.margin.items() if a not in added])
    return f"{names} in one table{f', beside {others}' if others else ''}" if len(added) > 1 else f"{names} by itself"


def _outcome(addition: Addition, least: int) -> str:
    few = f"it would show a group of {few_rows(least)}"
    match addition.outcome:
        case Conclusion.PROVES:
            count, classes = len(addition.small), len(addition.values)
            proven = [number_of(count, "small count")] if count else []
            proven += [f"the sensitive value of {number_of(classes, 'class', 'classes')}"] if classes else []
            return f"that it is missing makes {' and '.join(proven)} certain"
        case Conclusion.SOME:
            nothing = ", or tell too little" if addition.may_gain_nothing else ""
            some = (
                "one class"
                if addition.candidate_classes == 1
                else f"at least one of {addition.candidate_classes:,} classes"
            )
            all_of = "" if addition.candidate_classes == addition.classes else f" (of {addition.classes:,})"
            return f"{f'in {some}{all_of} ' if addition.classes else ''}{few}{nothing}"
        case Conclusion.ALWAYS if addition.counts_only:
            return f"{few} whatever the data, so that it is missing excludes no table"
    return _OUTCOMES[addition.outcome]


def _range(cell: CertainRange) -> str:
    number = f"{cell.lower:,}" if cell.lower == cell.upper else f"{cell.lower:,} to {cell.upper:,}"
    return f"{_cell(cell.values)}: {number} {'row' if cell.upper == 1 else 'rows'}"


def _ladders(ladders: "Sequence[FittedLevelDisclosure]", in_words: InWords) -> Iterator[str]:
    if ladders:
        yield "Steps that are fitted to the table, for those who know the given hierarchies too:"
    for level in ladders:
        groups = "its merged group" if level.merged == 1 else f"each of its {level.merged:,} merged groups"
        sentence = f"{groups} holds a value with fewer than {level.fewer_than:,} rows"
        if level.small:
            sentence += f"; certain: {_first_of(list(map(_range, level.small)))}"
        if level.unexamined or level.note:
            sentence += f"; not examined: {level.note or _first_of(level.unexamined)}"
        elif not level.small:
            sentence += "; which value that is, nobody can be certain of"
        yield f"  {in_words(level.attribute, level.level)}: {sentence}"


# Releases of a table that changed.


def _change_sentence(change: TableChange) -> Sentence:
    before, after = (number_of(rows, "row") for rows in change.rows)
    lines = [f"But {change.parts}."] if change.parts else []
    for people in change.told:
        lines += _changed_people(people, change.least)
    if change.unclear:
        names = ", ".join(map(repr, change.unclear))
        lines.append(
            f"Labels do not tell how the values of {names} overlap; what they stand for together was compared."
        )
    if change.assumption and any(people.small for people in change.told):
        lines.append(f"Of a small difference: {change.assumption}.")
    lines.append(f"What these differences do not tell: {change.beyond}.")
    tables = f"From {change.earlier} ({before}) to {change.later} ({after})"
    return Sentence(LOOK, f"{tables}, who holds both knows:", tuple(lines))


def _changed_people(people: ChangedPeople, least: int | None) -> Iterator[str]:
    cells = f"{number_of(people.cells, 'cell')} that both tell"
    small = "" if least is None else f" of fewer than {least:,} rows"
    number = number_of(people.small, "difference") if people.small else "No difference"
    if not people.smallest:
        yield f"No difference in any of {cells}."
        return
    yield f"{number}{small} in {cells}. The smallest:" if small else f"Of {cells} the smallest differences:"
    for of in people.smallest:
        who = f"{number_of(abs(of.difference), 'row')} {'came' if of.difference > 0 else 'left'}"
        yield f"  {_cell(of.cell)}: {of.before:,} before, {of.after:,} after: at least {who}"
    if people.small > len(people.smallest):
        yield f"  and {people.small - len(people.smallest):,} more"
    if people.one_value:
        yield f"Classes in which one sensitive value alone rose or fell ({people.classes:,}), the smallest first:"
        for rise in people.one_value:
            came, left = ("came", "left") if rise.difference > 0 else ("left", "came")
            more = f"{number_of(abs(rise.difference), 'row')} more {came} than {left}"
            yield f"  {_cell(rise.cell)}: {more} with {rise.sensitive}={rise.value}, and of no other value did more"
        if people.classes > len(people.one_value):
            yield f"  and {people.classes - len(people.one_value):,} more"
