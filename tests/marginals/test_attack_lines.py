"""What a terminal shows of attacks: levels by their names."""

from checks.attacks.minimality import Refinement
from checks.attacks.refusals import Refusals
from marginals.attacks import Attacks, Minimality
from marginals.wording import attack_lines, refusal_lines
from models import Domain, Hierarchy, Margin

DOMAIN = Domain.of(
    {
        "age": Hierarchy.from_intervals(["20", "64"], [5, 20]),
        "sex": Hierarchy.flat(["f", "m"]),
        "postcode": Hierarchy.from_prefixes(["14850", "13063"], [3, 1]),
    }
)


def step(margin: dict[str, int], attribute: str) -> Refinement:
    return Refinement(Margin(margin), attribute, margin[attribute] - 1, 4, None, note="too many possible worlds")


def test_steps_that_were_refused_name_their_levels() -> None:
    steps = (step({"age": 2, "sex": 0}, "age"), step({"age": 1}, "age"), step({"postcode": 2, "age": 2}, "postcode"))
    lead, told = attack_lines(Attacks((), (), {}, Minimality(steps, domain=DOMAIN), ()))
    assert lead == "  Finer values in place of published ones:"
    assert told == (
        "    age in 5-year bands in place of age in 20-year bands, beside sex; "
        "age in single years in place of age in 5-year bands; "
        "postcode by its first 3 characters in place of postcode by its first 1 character, beside age in 20-year bands: "
        "not examined: too many possible worlds"
    )


def test_where_there_is_nothing_to_tell_the_reason_stands() -> None:
    (line,) = attack_lines(Attacks((), (), {}, Minimality(note="the release makes no claim"), ()))
    assert line == "Readers who know the algorithm: not examined; the release makes no claim."


def test_margins_that_were_not_looked_at_are_said() -> None:
    for number, said in ((1, "1 more margin of"), (2_000, "2,000 more margins of")):
        lines = [*refusal_lines(Refusals(3, unexamined=number), lambda attribute, _: attribute, has_truth=True)]
        assert f"not examined: what is certain in {said} what is missing" in lines
    assert not any("margin" in line for line in refusal_lines(Refusals(3), lambda attribute, _: attribute, True))
