"""What a terminal shows of attacks on releases: lines of plain text."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from marginals.names.level_names import shown_at
from marginals.wording.attacks_in_words import certain_in_words, refusal_in_words, step_in_words, worst_in_words
from marginals.wording.units_in_words import claimed_of

if TYPE_CHECKING:
    from checks.attacks.fitted_levels import LevelTold
    from checks.attacks.refinement import Refinement
    from marginals.attacks.attacking import Attacked, Attacks, Minimality
    from marginals.attacks.composition import Composition
    from marginals.attacks.disclosure_measures import Threshold


def attack_lines(attacks: "Attacks") -> Iterator[str]:
    """All measures of one release, or of several together."""
    for attacked in attacks.attacked:
        yield from _attribute_lines(attacked)
    for attribute, certain in attacks.certain.items():
        yield f"{attribute}: {certain_in_words(certain)}"
        if certain.worst is not None:
            yield f"  {worst_in_words(certain.worst)}"
    for attribute, reason in attacks.left_out.items():
        yield f"{attribute}: not attacked; {reason}"
    yield from map(_threshold_line, attacks.thresholds)
    for composition in attacks.compositions:
        yield from _composition_lines(composition)
    yield from _minimality_lines(attacks.minimality)


def _attribute_lines(attacked: "Attacked") -> Iterator[str]:
    measures = attacked.measures
    cells = measures.reconstruction
    skewed_class = ", ".join(f"{attribute}={label}" for attribute, label in measures.skewed_class.items())
    yield (
        f"{measures.sensitive}: put together with all that bears on it, {cells.determined} of {cells.cells} possible cells "
        f"are determined exactly, with {cells.rows} of {cells.total} rows" + ("" if cells.sharp else "; more may be")
    )
    yield f"  the class furthest from everybody ({skewed_class or 'all'}): total variation {measures.skewness:.3f}"
    if guessing := attacked.guessing:
        yield (
            f"  guessed right: {guessing.definetti:.1%} by learning across classes (deFinetti), "
            f"{guessing.maxent:.1%} by maximum entropy, {guessing.base_rate:.1%} without the release"
        )


def _threshold_line(threshold: "Threshold") -> str:
    claim = f"{threshold.criterion} {threshold.claimed}"
    if threshold.rows_per_person is not None:
        claim += f" {claimed_of(threshold.rows_per_person)}"
    if threshold.is_missed:
        return f"{claim}: the claim is not met"
    if threshold.smallest is None:
        return f"{claim}: the smallest count is not known"
    spare = "binding: met without a row to spare" if threshold.binding else "not binding"
    return f"{claim}: the smallest count is {threshold.smallest}; {spare}"


def _composition_lines(composition: "Composition") -> Iterator[str]:
    yield f"Composition, of what bears on {composition.sensitive}:"
    for view in (composition.together, *composition.each):
        cells = view.reconstruction
        releases = "all together" if view is composition.together else view.releases[0]
        skewness = "" if view.skewness is None else f", total variation {view.skewness:.3f}"
        yield (
            f"  {releases}: {cells.determined} of {cells.cells} possible cells determined ({cells.share:.1%}), "
            f"smallest possible class at most {view.smallest}{skewness}"
        )
    for name, reason in composition.unknown.items():
        yield f"  {name}: not known; {reason}"


def _minimality_lines(minimality: "Minimality") -> Iterator[str]:
    if minimality.domain is None:
        yield f"Minimality: {minimality.note}."
        return
    domain = minimality.domain

    @cache
    def shown(attribute: str, level: int) -> str:
        return shown_at(attribute, domain.hierarchy(attribute), level)

    lead = "Minimality: who knows that these were refused for the claims concludes"
    yield from _step_lines(lead, minimality.holders, shown)
    if minimality.insiders is not None:
        lead = "Minimality, for those who know everybody's nonsensitive values"
        yield from _step_lines(lead, minimality.insiders, shown)
    else:
        yield (
            "  Finer values than any published are known to the publisher: --truth CONFIG judges steps to these too, and "
            "says what steps tell that are fitted to the table."
        )
    yield from _ladder_lines(minimality.ladders or (), shown)


def _ladder_lines(told: "Sequence[LevelTold]", shown: Callable[[str, int], str]) -> Iterator[str]:
    """What the finest published level of each attribute tells whose levels are fitted."""
    finest = {level.attribute: level for level in reversed(told)}
    if finest:
        yield "Fitted steps: who knows that they are fitted to the table concludes:"
    for level in reversed(finest.values()):
        groups = "its merged group" if level.merged == 1 else f"each of its {level.merged} merged groups"
        yield f"  {shown(level.attribute, level.level)}: {groups} holds a value with fewer than {level.fewer_than} rows"


def _step_lines(lead: str, steps: "Sequence[Refinement]", shown: Callable[[str, int], str]) -> Iterator[str]:
    """The steps that tell something one by one, then the others, those with the same reason on one line."""
    if not steps:
        yield f"{lead}: nothing, since the release names no finer values than it publishes."
        return
    yield f"{lead}:"
    steps_by_reason: dict[str, list[str]] = {}
    for step in steps:
        if step.suspects is None:
            steps_by_reason.setdefault(refusal_in_words(step), []).append(step_in_words(step, shown))
        else:
            yield f"  {step_in_words(step, shown)}: {refusal_in_words(step)}"
    for reason, same in steps_by_reason.items():
        yield f"  {'; '.join(same)}: {reason}"
