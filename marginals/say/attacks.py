"""Attacks in words: what readers can conclude."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from checks.attacks.algorithm import Outcome, Refinement
from checks.attacks.knowledge import CertainCell, CertainCells, Reconstruction
from checks.claims import AttributeClaim, Claim, CountClaim, listing
from marginals.names import column_name, number_of, shown_at
from marginals.register_readers import ATTESTED, RegisterReaders
from marginals.say.claims import claim_reason, claimed_of, counts_below

if TYPE_CHECKING:
    from checks.attacks.algorithm import Addition, CertainRange, FittedLevelDisclosure, Refusals
    from checks.attacks.guesses import LikelySmall, Top
    from checks.attacks.knowledge import Counts, PublishedCounts, SensitiveCounts
    from checks.changes import CellDifference, ChangedPeople, OneValue
    from marginals.attacks import (
        Attacked,
        Attacks,
        Composition,
        DisclosureMeasures,
        Minimality,
        NonsensitiveSmall,
        TableChange,
        Threshold,
    )


def determined_in_words(measures: "DisclosureMeasures") -> str:
    """How many combinations of which attributes have a count that readers can determine."""
    known = measures.reconstruction
    result = f"{known.determined:,}" if known.determined else "none"
    has = "has a count" if known.determined < 2 else "have counts"
    sure = "" if known.sharp else ", as far as the bounds tell"
    combinations = "combination" if known.cells == 1 else "combinations"
    return (
        f"Of the {known.cells:,} possible {combinations} of {listing(measures.shown)}, {result} {has} that readers can "
        f"determine{sure}."
    )


def reconstruction_in_words(known: Reconstruction) -> str:
    """What it means that some cells of the table of all that is shown with a sensitive attribute are determined."""
    if not known.determined:
        return (
            "Counts of fewer attributes are published, and more of them can be determined: marginals attack looks at those "
            "of up to three."
        )
    these, hold = ("this count", "it holds") if known.determined == 1 else ("these counts", "they hold")
    beyond = "" if known.sharp else " More may be, since the bounds are not proven to be the best."
    return (
        f"Somebody who puts the tables together knows {these} without any doubt; {hold} {known.rows:,} of {known.total:,} "
        f"rows. A certain count is harmful where it is small or leaves one sensitive value only.{beyond}"
    )


def certain_in_words(certain: CertainCells) -> str:
    """How many cells are certain."""
    least = "" if certain.is_complete else "at least "
    sentence = (
        f"in the tables of up to {certain.attributes} attributes with it that readers can work out, each attribute at its "
        f"finest published level, {least}{number_of(certain.determined, 'count')} "
        f"{'is' if certain.determined == 1 else 'are'} determined exactly, {least}{certain.small:,} of them below the "
        f"largest k claimed; {least}{number_of(certain.exists, 'cell')} {'has' if certain.exists == 1 else 'have'} a row "
        "for certain"
    )
    one = f"in {least}{number_of(certain.one_value, 'class', 'classes')} everybody has the same value of it for certain"
    sentence += f"; {one}" if certain.one_value or not certain.is_complete else ""
    if certain.is_complete:
        return sentence
    undecided = f"{number_of(certain.undecided, 'cell')} and {number_of(certain.unread, 'table')}"
    return f"{sentence}; undecided in the time given: {undecided}"


def worst_in_words(cell: CertainCell) -> str:
    """The smallest count that is determined."""
    values = ", ".join(f"{attribute}={label}" for attribute, label in cell.values.items())
    return f"the smallest of these counts: {values}: exactly {number_of(cell.rows, 'row')}"


def shared_in_words(cell: CertainCell) -> str:
    """A class in which everybody has the same sensitive value."""
    values = ", ".join(f"{attribute}={label}" for attribute, label in cell.values.items())
    return f"one of these classes, with its value: {values}: at least {number_of(cell.rows, 'row')}"


def skewness_in_words(measures: "DisclosureMeasures") -> str:
    """What the distance of a class from everybody means."""
    return (
        f"For a reader who uses the maximum-entropy model, learning that a person is in this class changes the probability "
        f"of a set of values of {measures.sensitive} by up to {100 * measures.skewness:.1f} percentage points, the largest "
        "change of any class."
    )


_TINY = 1e-12
"""Smaller probabilities are lost in rounding, and are told as this."""


def threshold_in_words(threshold: "Threshold") -> str:
    """What follows from how close a threshold is."""
    if threshold.is_missed:
        return "The claim is not met."
    if threshold.smallest is None:
        return "How near the tables come to it together is not known."
    if threshold.binding:
        return (
            "Met without a row to spare. A reader who knows that the release was refined until a claim failed can infer "
            "that this claim stopped it."
        )
    spare = threshold.smallest - threshold.k
    return (
        f"Met with {number_of(spare, 'row')} to spare. A finer table can still have missed it, if it "
        "splits some class unevenly."
    )


def step_in_words(step: Refinement, in_words: Callable[[str, int], str]) -> str:
    """The step that was refused: `age in 10-year bands in place of age in 20-year bands, beside sex`.

    in_words: says an attribute at a level.
    """
    published = in_words(step.attribute, step.margin[step.attribute])
    others = ", ".join(in_words(name, level) for name, level in step.margin.items() if name != step.attribute)
    return f"{in_words(step.attribute, step.finer)} in place of {published}{f', beside {others}' if others else ''}"


def refusal_in_words(step: Refinement) -> str:
    """What somebody concludes who knows that a step was refused."""
    if step.possible_claims is None:
        return f"not examined: {step.note}"
    if not step.possible_claims:
        return "no claim can have refused it, so it was left out for another reason"
    if step.is_certain:
        return "refused whatever the data, so by itself it excludes no table"
    whose = (
        "one class"
        if step.candidate_classes == 1
        else f"at least one of {step.candidate_classes:,} classes (of {step.classes:,})"
    )
    if step.candidate_classes == step.classes:
        whose = "the only class" if step.classes == 1 else f"at least one of the {step.classes:,} classes"
    remainders = " or ".join(map(_left_by, step.possible_claims))
    sentence = f"in {whose} the finer value would leave {remainders}"
    if step.candidate_class is not None and step.candidate_classes != step.classes:
        sentence += f" ({', '.join(f'{a}={label}' for a, label in step.candidate_class.items())})"
    if step.acceptance_probability is not None:
        expected = 1 - step.acceptance_probability
        change = f"{step.acceptance_probability:.3g}" if step.acceptance_probability >= _TINY else f"{_TINY:g}"
        sentence += (
            f"; by maximum entropy its probability was {expected:.3g}, so no belief changes by more than {change}"
        )
    if (largest := step.largest_posterior_change) is not None:
        cell = ", ".join(f"{a}={label}" for a, label in largest.cell.items())
        sentence += f"; most in {cell}: {largest.value} from {largest.before:.3g} to {largest.after:.3g}"
    return sentence + (f"; {step.note}" if step.note else "")


def _left_by(claim: Claim) -> str:
    """The group that a claim refuses: "a group of 1 to 9 rows"."""
    if isinstance(claim, CountClaim):
        return few_rows(claim.least_count)
    return f"a group with {claim_reason(claim)}" if isinstance(claim, AttributeClaim) else "a group that it refuses"


def few_rows(least: int) -> str:
    """A group that is too small.

    >>> few_rows(2), few_rows(10)
    ('a group of 1 row', 'a group of 1 to 9 rows')
    """
    return f"a group of {counts_below(max(least, 2)).removeprefix('from ')} {'row' if least <= 2 else 'rows'}"


def attack_lines(attacks: "Attacks") -> Iterator[str]:
    """All measures of one release, or of several together: what is published, what is certain, and what readers can do
    who know the algorithm, have a register, or learn across classes; the plainest first.
    """
    if attacks.published is not None:
        yield from published_lines(attacks.published)
    yield from _certain_lines(attacks)
    yield from map(_threshold_line, attacks.thresholds)
    for composition in attacks.compositions:
        yield from _composition_lines(composition)
    yield from _minimality_lines(attacks.minimality)
    yield from map(register_in_words, attacks.register)
    if attacks.published is not None:
        for attacked in attacks.attacked:
            yield from _guessing_lines(attacked)
        for attribute, reason in attacks.left_out.items():
            yield f"Readers who learn across classes, of {attribute}: not examined; {reason}."
        if attacks.likely is not None or not attacks.unmeasured:
            yield f"Readers who rank small counts by the model: {likely_in_words(attacks.likely)}"
    yield from unmeasured_lines(attacks)


def unmeasured_lines(attacks: "Attacks") -> Iterator[str]:
    """What was not measured because the time was over."""
    if attacks.unmeasured:
        yield f"Stopped, since the time was over. Not measured: {', '.join(attacks.unmeasured)}. Give --seconds more."


def register_in_words(readers: RegisterReaders) -> str:
    """What somebody concludes about a sensitive attribute who knows the nonsensitive values of everybody.

    >>> from marginals.register_readers import FROM_FILES, NOT_EXAMINED, RegisterReaders
    >>> print(register_in_words(RegisterReaders("job", FROM_FILES, 220, 1.0, 20, {"A": "a1"}, "cook")))
    Readers with a register, who know the nonsensitive values of everybody, know job for certain of 20 of 220 rows.
    >>> print(register_in_words(RegisterReaders("job", NOT_EXAMINED, 220, note="it takes too long")))
    Readers with a register, who know the nonsensitive values of everybody: of job not examined; it takes too long.
    """
    who = "Readers with a register, who know the nonsensitive values of everybody"
    if readers.largest_share is None and readers.basis == ATTESTED:
        return (
            f"{who}: attested by the publisher that {readers.sensitive} stays as diverse for them as claimed; the files "
            "cannot show it, and the attestation itself excludes some tables that could have been published so."
        )
    if readers.largest_share is None:
        return f"{who}: of {readers.sensitive} not examined; {readers.note}."
    if readers.certain:
        return f"{who}, know {readers.sensitive} for certain of {readers.certain:,} of {readers.people:,} rows."
    cell = ", ".join(f"{attribute}={label}" for attribute, label in readers.labels.items()) or "all"
    return (
        f"{who}, give no value of {readers.sensitive} of anybody a probability above "
        f"{100 * readers.largest_share:.1f} percent ({readers.value} in {cell}), unless they assume how it varies within "
        "classes or reason from why these tables were chosen."
    )


def published_lines(published: "PublishedCounts") -> Iterator[str]:
    """The small counts that anybody can read off, those with a sensitive value apart."""
    counts = published.counts
    yield (
        f"Published as they are: {_small_in_words(counts)} below {published.least:,}; {_smallest_in_words(counts.smallest)}"
    )
    for attribute, counts_of in published.sensitive.items():
        yield (
            f"  with {attribute}: {_small_in_words(counts_of.counts)} below {published.least:,}; "
            f"{_smallest_in_words(counts_of.counts.smallest)}"
        )
        yield f"  {one_value_in_words(attribute, counts_of)}"


def _small_in_words(counts: "Counts") -> str:
    """How many of some counts are small: "1 of 95 counts is"."""
    return f"{counts.small:,} of {number_of(counts.number, 'count')} {'is' if counts.small == 1 else 'are'}"


def _smallest_in_words(cells: "Sequence[CertainCell]") -> str:
    listed_cells = (f"{_cell(cell.values)}: {cell.rows:,}" for cell in cells)
    return f"the smallest: {'; '.join(listed_cells)}" if cells else "there are none"


def one_value_in_words(attribute: str, sensitive_counts: "SensitiveCounts") -> str:
    """How many published classes share one sensitive value."""
    classes = number_of(sensitive_counts.classes, "published class", "published classes")
    if not sensitive_counts.one_value or sensitive_counts.shared is None:
        return f"none of {classes} has a single value of {attribute} only"
    has = "has" if sensitive_counts.one_value == 1 else "have"
    return (
        f"{sensitive_counts.one_value:,} of {classes} {has} a single value of {attribute} only; the largest, with "
        f"{number_of(sensitive_counts.rows, 'row')}: {_cell(sensitive_counts.shared)}"
    )


def nonsensitive_in_words(result: "NonsensitiveSmall") -> str:
    """Whether a combination of nonsensitive attributes certainly has few rows."""
    few = few_rows(result.below).removeprefix("a group of ")
    lead = "Nonsensitive attributes alone, from the tables alone"
    if result.proven_by:
        return f"{lead}: no combination certainly has {few}, since {result.proven_by} holds."
    if result.cell is not None:
        most = number_of(result.cell.rows, "row")
        return f"{lead}: {_cell(result.cell.values)}: certainly 1 row at least, and {most} at most; there may be more such."
    if not result.is_complete:
        return f"{lead}: not all examined; the time was over before a small count was found."
    return f"{lead}: no combination of up to three was found that certainly has {few}; of more: not examined."


def _certain_lines(attacks: "Attacks") -> Iterator[str]:
    if attacks.nonsensitive is not None:
        yield nonsensitive_in_words(attacks.nonsensitive)
    for attacked in attacks.attacked:
        measures = attacked.measures
        known = measures.reconstruction
        hold = "It holds" if known.determined == 1 else "They hold"
        rows = f" {hold} {known.rows:,} of {known.total:,} rows." if known.determined else ""
        yield f"{measures.sensitive}: {determined_in_words(measures)}{rows}"
    for attribute, certain in attacks.certain.items():
        yield f"{attribute}: {certain_in_words(certain)}"
        if certain.worst is not None:
            yield f"  {worst_in_words(certain.worst)}"
        if certain.shared is not None:
            yield f"  {shared_in_words(certain.shared)}"
    for attribute, reason in attacks.left_out.items():
        yield f"{attribute}: not examined all together; {reason}"
    if attacks.published is not None and not attacks.certain and not attacks.unmeasured:
        yield "What follows for certain of a sensitive attribute: not examined, since no table shows one."


def _guessing_lines(attacked: "Attacked") -> Iterator[str]:
    """What readers guess who use the model, and who learn across classes."""
    measures, guessing = attacked.measures, attacked.guessing
    skewed_class = ", ".join(f"{attribute}={label}" for attribute, label in measures.skewed_class.items())
    yield f"Readers who use the model, of {measures.sensitive}, in the class {skewed_class or 'of all'}:"
    yield f"  {skewness_in_words(measures)}"
    yield f"Readers who learn across classes, of {measures.sensitive}:"
    if guessing is None:
        yield f"  {expected_in_words(measures)}"
        return
    yield (
        f"  guessed right: {guessing.definetti:.1%} by learning until nothing changes (deFinetti), "
        f"{guessing.naive_bayes:.1%} by one round of naive Bayes, {guessing.maxent:.1%} by the shares of each class, "
        f"{guessing.base_rate:.1%} without the release"
    )
    sure = guessing.confident
    yield (
        f"  of the {guessing.people:,} guesses that each is surest of: {sure['definetti']:.1%} by deFinetti, "
        f"{sure['naive_bayes']:.1%} by one round of naive Bayes, {sure['maxent']:.1%} by the shares of each class"
    )


def expected_in_words(measures: "DisclosureMeasures") -> str:
    """How often guesses are right in the model, where the truth is not given, and that this is no limit."""
    expected = measures.expected
    return (
        "one round of naive Bayes, and deFinetti: not examined without the table (--truth CONFIG). If everybody were as the "
        f"maximum-entropy model says, guesses by the shares of each class would be right for {expected.class_shares:.1%}, "
        f"and for {expected.confident:.1%} of the {expected.people:,} surest. That is no limit: in real data readers who "
        "learn across classes can be right more often."
    )


def likely_in_words(likely: "LikelySmall | None") -> str:
    """How often a reader is right who takes the combinations for small that the model does."""
    if likely is None:
        return "not examined; the tables form no junction tree."
    if not likely.tops and likely.unread:
        many = "is too large" if likely.unread == 1 else "are too many or too large"
        return f"not examined; {number_of(likely.unread, 'table')} {many} for the time given."
    if not likely.tops:
        return "not examined; there is no combination of two or three nonsensitive attributes to rank."
    known = all(top.right is not None for top in likely.tops)
    told = " and ".join(f"{_told_of(top)} of the first {top.number:,}" for top in likely.tops)
    less = "".join(
        f" Ranked by {name}, {' and '.join(map(_told_of, tops))} are." for name, tops in likely.beside.items()
    )
    are = "are small" if known else "are small by the model itself (--truth CONFIG counts how many are)"
    unread = f" Not looked at: {number_of(likely.unread, 'table')}." if likely.unread else ""
    what = f"of {number_of(likely.combinations, 'combination')} of two or three attributes that no table shows, {told}"
    return f"{what} {are}, that is, have {few_rows(likely.least).removeprefix('a group of ')}.{less}{unread}"


def _told_of(top: "Top") -> str:
    """The share that is small, by the truth where it is known, else by the model."""
    return f"{top.expected if top.right is None else top.right:.0%}"


def _threshold_line(threshold: "Threshold") -> str:
    claim = f"{threshold.criterion} {threshold.claimed}"
    if threshold.rows_per_person is not None:
        claim += f" {claimed_of(threshold.rows_per_person)}"
    if threshold.is_missed:
        return f"{claim}: the claim is not met"
    if threshold.smallest is None:
        return f"{claim}: the smallest count is not known"
    spare = "binding: met without a row to spare" if threshold.binding else "not binding"
    return f"{claim}: the smallest count is {threshold.smallest:,}; {spare}"


def _composition_lines(composition: "Composition") -> Iterator[str]:
    yield f"Composition, of what bears on {composition.sensitive}:"
    for view in (composition.together, *composition.each):
        cells = view.reconstruction
        releases = "all together" if view is composition.together else view.releases[0]
        skewness = "" if view.skewness is None else f", total variation {view.skewness:.3f}"
        yield (
            f"  {releases}: {cells.determined:,} of {number_of(cells.cells, 'possible cell')} determined "
            f"({cells.share:.1%}), smallest possible class at most {view.smallest:,}{skewness}"
        )
    for name, reason in composition.unknown.items():
        yield f"  {name}: not known; {reason}"


def _minimality_lines(minimality: "Minimality") -> Iterator[str]:
    if minimality.domain is None:
        yield f"Readers who know the algorithm: not examined; {minimality.note}."
        return
    domain = minimality.domain

    @cache
    def shown(attribute: str, level: int) -> str:
        return shown_at(attribute, domain.hierarchy(attribute), level)

    has_truth = minimality.readers_knowing_quasi_identifiers is not None
    if minimality.refusals is not None:
        yield f"{ALGORITHM_KNOWN}:"
        yield from (f"  {line}" for line in refusal_lines(minimality.refusals, shown, has_truth))
    if minimality.readers:
        yield from _step_lines("  Finer values in place of published ones:", minimality.readers, shown)
    if minimality.readers_knowing_quasi_identifiers:
        yield from _step_lines(
            "  The same, for those who know all nonsensitive values:",
            minimality.readers_knowing_quasi_identifiers,
            shown,
        )
    yield from _ladder_lines(minimality.ladders or (), shown)


ALGORITHM_KNOWN = (
    "Readers who know the algorithm, and assume that every table is published that the claims allow and that tells "
    "more than chance would, conclude"
)

_CERTAIN_LISTED = 5
"""Certain counts that are listed at most."""


def refusal_lines(told: "Refusals", in_words: Callable[[str, int], str], has_truth: bool) -> Iterator[str]:
    """What additions tell that a release lacks, the certain first; then what was not examined.

    in_words: says an attribute at a level. has_truth: whether the hierarchies of the table itself were looked at.
    """
    if told.contradict:
        yield "no table explains the release by its claims alone, so something else limited it; that was not examined"
    for cell in told.small[:_CERTAIN_LISTED]:
        yield f"certain, though no table shows it: {_range_in_words(cell)}"
    if len(told.small) > _CERTAIN_LISTED:
        more = number_of(len(told.small) - _CERTAIN_LISTED, "more count")
        yield f"certain in the same way: {more} below {told.least:,}"
    for value in told.values[:_CERTAIN_LISTED]:
        rows = f"{number_of(value.rows, 'row')} at least"
        yield f"certain: everybody with {_cell(value.values)} ({rows}) has {value.sensitive}={value.value}"
    if len(told.values) > _CERTAIN_LISTED:
        more = number_of(len(told.values) - _CERTAIN_LISTED, "more class", "more classes")
        yield f"certain in the same way: the value of {more}"
    if told.tables is not None and told.additions and not told.contradict:
        yield (
            f"{number_of(told.tables, 'table has', 'tables have')} the published counts; in {told.left:,} "
            "of them none of what is missing would have been published"
        )
    for outcome in (Outcome.SOME, Outcome.PROVES, Outcome.OPEN, Outcome.UNEXPLAINED, Outcome.ALWAYS):
        by_reason: dict[str, list[str]] = {}
        for addition in told.of(outcome):
            by_reason.setdefault(_outcome_in_words(addition, told.least), []).append(_missing(addition, in_words))
        for reason, same in by_reason.items():
            yield f"{_first_of(same)}: {reason}"
    by_note: dict[str, list[str]] = {}
    for addition in told.of(Outcome.NOT_EXAMINED):
        by_note.setdefault(addition.note, []).append(_missing(addition, in_words))
    for note, same in by_note.items():
        yield f"not examined: {_first_of(same)}: {note}"
    if told.unnamed:
        yield f"not examined: {listing(told.unnamed)}, of which the release names no values"
    if told.margins_not_examined:
        more = number_of(told.margins_not_examined, "more margin")
        yield f"not examined: what is certain in {more} of what is missing"
    several = "" if told.together else "what several of these refusals prove together, and "
    yield f"not examined: {several}what somebody concludes who runs the search itself on every possible table"
    if not has_truth:
        yield (
            "not examined: levels that the release does not name, finer than any published or between, and attributes that "
            "no table shows; --truth CONFIG examines these, and says what steps tell that are fitted to the table"
        )


_ADDITIONS_LISTED = 8
"""Additions with the same outcome that are named at most; JSON has all."""


def _first_of(additions: Sequence[str]) -> str:
    rest = len(additions) - _ADDITIONS_LISTED
    return "; ".join([*additions[:_ADDITIONS_LISTED], *([f"and {rest:,} more"] if rest > 0 else [])])


def _missing(addition: "Addition", in_words: Callable[[str, int], str]) -> str:
    """What is missing: "age with ill, beside sex"."""
    names = " with ".join(in_words(attribute, level) for attribute, level in addition.added)
    added = dict(addition.added)
    others = listing([in_words(a, level) for a, level in addition.margin.items() if a not in added])
    return f"{names} in one table{f', beside {others}' if others else ''}" if len(added) > 1 else f"{names} by itself"


def _outcome_in_words(addition: "Addition", least: int) -> str:
    """What one addition tells by itself."""
    match addition.outcome:
        case Outcome.PROVES:
            count, classes = len(addition.small), len(addition.values)
            proven = [number_of(count, "small count")] if count else []
            proven += [f"the sensitive value of {number_of(classes, 'class', 'classes')}"] if classes else []
            return f"that it is missing makes {' and '.join(proven)} certain"
        case Outcome.SOME:
            nothing = ", or tell too little" if addition.may_gain_nothing else ""
            if not addition.classes:
                return f"it would show {few_rows(least)}{nothing}"
            whose = f"at least one of {addition.candidate_classes:,} classes (of {addition.classes:,})"
            if addition.candidate_classes == addition.classes:
                whose = (
                    f"at least one of the {addition.classes:,} classes" if addition.classes > 1 else "the only class"
                )
            elif addition.candidate_classes == 1:
                whose = f"one class (of {addition.classes:,})"
            return f"in {whose} it would show {few_rows(least)}{nothing}"
        case Outcome.OPEN:
            return "what is left possible has no small count and no sensitive value in common, as far as this one tells"
        case Outcome.UNEXPLAINED:
            return "no claim can have refused it, so it was left out for another reason"
        case Outcome.ALWAYS if addition.counts_only:
            return f"it would show {few_rows(least)} whatever the data, so that it is missing excludes no table"
        case Outcome.ALWAYS:
            return "refused whatever the data, so by itself it excludes no table"
    return "not examined"


def _range_in_words(cell: "CertainRange") -> str:
    number = f"{cell.lower:,}" if cell.lower == cell.upper else f"{cell.lower:,} to {cell.upper:,}"
    return f"{_cell(cell.values)}: {number} {'row' if cell.upper == 1 else 'rows'}"


def _ladder_lines(told: "Sequence[FittedLevelDisclosure]", in_words: Callable[[str, int], str]) -> Iterator[str]:
    """What the finest published level of each attribute tells whose levels are fitted."""
    finest = {level.attribute: level for level in reversed(told)}
    if finest:
        yield "  Steps that are fitted to the table:"
    for level in reversed(finest.values()):
        groups = "its merged group" if level.merged == 1 else f"each of its {level.merged:,} merged groups"
        published = in_words(level.attribute, level.level)
        yield f"    {published}: {groups} holds a value with fewer than {level.fewer_than:,} rows"


def _step_lines(lead: str, steps: "Sequence[Refinement]", in_words: Callable[[str, int], str]) -> Iterator[str]:
    """The steps that tell something one by one, then the others, those with the same reason on one line."""
    yield lead
    steps_by_reason: dict[str, list[str]] = {}
    for step in steps:
        if step.possible_claims is None or step.is_certain:
            steps_by_reason.setdefault(refusal_in_words(step), []).append(step_in_words(step, in_words))
        else:
            yield f"    {step_in_words(step, in_words)}: {refusal_in_words(step)}"
    for reason, same in steps_by_reason.items():
        yield f"    {'; '.join(same)}: {reason}"


def change_lines(change: "TableChange") -> Iterator[str]:
    """What two tables tell of the change between them."""
    before, after = change.rows
    tables = f"From {change.earlier} ({number_of(before, 'row')}) to {change.later} ({number_of(after, 'row')})"
    yield f"{tables}, who holds both knows:"
    if change.parts:
        yield f"  But {change.parts}."
    for told in change.told:
        yield from _told_lines(told, change.least)
    if change.unclear:
        yield (
            f"  Labels do not tell how the values of {', '.join(map(repr, change.unclear))} overlap; what they stand for "
            "together was compared."
        )
    if change.assumption and any(told.small for told in change.told):
        yield f"  Of a small difference: {change.assumption}."
    yield f"  What these differences do not tell: {change.beyond}."


def _told_lines(told: "ChangedPeople", least: int | None) -> Iterator[str]:
    cells = f"{number_of(told.cells, 'cell')} that both tell"
    if not told.smallest:
        yield f"  No difference in any of {cells}."
        return
    if told.small:
        yield f"  {number_of(told.small, 'difference')} of fewer than {least:,} rows in {cells}, the smallest first:"
    else:
        small = "" if least is None else f" of fewer than {least:,} rows"
        yield f"  No difference{small} in {cells}. The smallest:" if small else f"  Of {cells} the smallest difference:"
    for difference in told.smallest:
        yield f"    {_difference_in_words(difference)}"
    if told.small > len(told.smallest):
        yield f"    and {told.small - len(told.smallest):,} more"
    if told.one_value:
        yield f"  Classes in which one sensitive value alone rose or fell ({told.classes:,}), the smallest first:"
        yield from (f"    {_one_value_in_words(told_value)}" for told_value in told.one_value)
        if told.classes > len(told.one_value):
            yield f"    and {told.classes - len(told.one_value):,} more"


def _difference_in_words(change: "CellDifference") -> str:
    who = f"{_people(change.difference)} {'came' if change.difference > 0 else 'left'}"
    return f"{_cell(change.cell)}: {change.before:,} before, {change.after:,} after: at least {who}"


def _one_value_in_words(rise: "OneValue") -> str:
    who = "came" if rise.difference > 0 else "left"
    return (
        f"{_cell(rise.cell)}: {_people(rise.difference)} more {who} than {'left' if who == 'came' else 'came'} with "
        f"{rise.sensitive}={rise.value}, and of no other value did more"
    )


def _people(rows: int) -> str:
    return number_of(abs(rows), "row")


def _cell(cell: Mapping[str, str]) -> str:
    return ", ".join(f"{column_name(attribute)}={label}" for attribute, label in cell.items()) or "all"
