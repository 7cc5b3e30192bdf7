"""What attacks found, in sentences for people who decide about a release."""

from collections.abc import Callable

from checks.attacks.certain_cells import CertainCell, CertainCells
from checks.attacks.reconstruction import Reconstruction
from checks.attacks.refinement import Refinement
from marginals.attacks.disclosure_measures import DisclosureMeasures, Threshold


def reconstruction_in_words(known: Reconstruction) -> str:
    """What it means that some cells of the table of all attributes are determined."""
    if not known.determined:
        certain = "No count" if known.sharp else "As far as the bounds tell, no count"
        return (
            f"{certain} of a combination of values of all attributes is certain. Counts of fewer attributes can still be: "
            "marginals attack looks at those of up to three."
        )
    beyond = "" if known.sharp else " More may be, since the bounds are not proven to be the best."
    return (
        f"Somebody who puts the tables together knows these counts without any doubt; they hold {known.rows:,} of "
        f"{known.total:,} rows. A certain count is harmful where it is small or leaves one sensitive value only.{beyond}"
    )


def certain_in_words(certain: CertainCells) -> str:
    """How many cells are certain."""
    least = "" if certain.is_complete else "at least "
    sentence = (
        f"in the tables of up to {certain.attributes} attributes with it that readers can work out, {least}"
        f"{certain.determined:,} counts are determined exactly, {least}{certain.small:,} of them below the largest k "
        f"claimed; {least}{certain.exists:,} cells have a row for certain"
    )
    if certain.is_complete:
        return sentence
    return f"{sentence}; {certain.undecided:,} cells and {certain.unread:,} tables were not decided in the time given"


def worst_in_words(cell: CertainCell) -> str:
    """The smallest count that is determined."""
    values = ", ".join(f"{attribute}={label}" for attribute, label in cell.values.items())
    return f"the smallest of these counts: {values}: exactly {cell.rows:,} {'row' if cell.rows == 1 else 'rows'}"


def skewness_in_words(measures: DisclosureMeasures) -> str:
    """What the distance of a class from everybody means."""
    return (
        f"Knowing that somebody is in this class changes the probability of any set of values of {measures.sensitive} by "
        f"at most {100 * measures.skewness:.1f} percentage points from what is true of everybody; "
        "in every other class it changes by no more."
    )


_TINY = 1e-12
"""Smaller probabilities are lost in rounding, and are told as this."""


def threshold_in_words(threshold: Threshold) -> str:
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
        f"Met with {spare:,} {'row' if spare == 1 else 'rows'} to spare. A finer table can still have missed it, if it "
        "splits some class unevenly."
    )


def step_in_words(step: Refinement, shown: Callable[[str, int], str]) -> str:
    """The step that was refused: `age in 10-year bands in place of age in 20-year bands, beside sex`.

    shown: an attribute at a level, in words.
    """
    published = shown(step.attribute, step.margin[step.attribute])
    others = ", ".join(shown(name, level) for name, level in step.margin.items() if name != step.attribute)
    return f"{shown(step.attribute, step.finer)} in place of {published}{f', beside {others}' if others else ''}"


def refusal_in_words(step: Refinement) -> str:
    """What somebody concludes who knows that a step was refused."""
    if step.suspects is None:
        return f"nothing can be inferred; {step.note}"
    if not step.suspects:
        return "no claim can have refused it, so it was left out for another reason"
    if step.is_certain:
        return "refused whatever the data, so the refusal reveals nothing"
    whose = "one class" if step.culprits == 1 else f"{step.culprits} of {step.classes} classes"
    if step.culprits == step.classes:
        whose = "the only class" if step.classes == 1 else f"any of the {step.classes} classes"
    reasons = " or ".join(suspect.claim.reason() for suspect in step.suspects)
    sentence = f"a part of {whose} has {reasons}"
    if step.culprit is not None and step.culprits != step.classes:
        sentence += f" ({', '.join(f'{a}={label}' for a, label in step.culprit.items())})"
    if step.publishable is not None:
        expected = 1 - step.publishable
        change = f"{step.publishable:.3g}" if step.publishable >= _TINY else f"{_TINY:g}"
        sentence += (
            f"; by maximum entropy its probability was {expected:.3g}, so no belief changes by more than {change}"
        )
    if step.shift is not None:
        cell = ", ".join(f"{a}={label}" for a, label in step.shift.cell.items())
        sentence += f"; most in {cell}: {step.shift.value} from {step.shift.before:.3g} to {step.shift.after:.3g}"
    return sentence + (f"; {step.note}" if step.note else "")
