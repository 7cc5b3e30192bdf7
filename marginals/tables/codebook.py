"""What a steward tells readers about attributes in words: what a column is, and what its values mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from marginals.tables.attribute import Attribute
from models.tables.domain import Domain


@dataclass(frozen=True)
class Codebook:
    """A description of some attributes, and what some of their values mean, by label.

    >>> book = Codebook({"smokes": "smoked in the last month"}, {"smokes": {"1": "yes"}})
    >>> book.meaning("smokes", "1"), book.meaning("smokes", "2")
    ('yes', '')
    """

    descriptions: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute]) -> "Codebook":
        """All that is said of some attributes."""
        return cls(
            {name: attribute.description for name, attribute in attributes.items() if attribute.description},
            {name: dict(attribute.values) for name, attribute in attributes.items() if attribute.values},
        )

    def of_labels(self, domain: Domain) -> "Codebook":
        """What is said of the attributes of a domain and their labels: of a label that it lacks nothing is told."""
        told = {
            name: {
                label: meaning
                for label, meaning in self.values.get(name, {}).items()
                if any(hierarchy.code(label, level) is not None for level in range(hierarchy.height))
            }
            for name, hierarchy in domain.items()
        }
        return Codebook(
            {name: self.descriptions[name] for name in domain.attributes if name in self.descriptions},
            {name: meanings for name, meanings in told.items() if meanings},
        )

    def description(self, attribute: str) -> str:
        """What an attribute is; empty where nobody says it."""
        return self.descriptions.get(attribute, "")

    def meaning(self, attribute: str, label: str) -> str:
        """What a label means; empty where nobody says it."""
        return self.values.get(attribute, {}).get(label, "")

    def in_words(self, attribute: str, label: str) -> str:
        """A label with what it means."""
        meaning = self.meaning(attribute, label)
        return f"{label} ({meaning})" if meaning and meaning != label else label

    def as_json(self, attribute: str) -> dict[str, object]:
        """What a bundle says of an attribute; nothing where nobody says anything."""
        described: dict[str, object] = {}
        if attribute in self.descriptions:
            described["description"] = self.descriptions[attribute]
        if attribute in self.values:
            described["values"] = dict(self.values[attribute])
        return described
