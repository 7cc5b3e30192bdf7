"""What a search did about the base table: whether what it proves is about all releases or about those with that table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BaseChoice:
    """How the base table came into a release, or why not.

    demanded: whether only releases that contain it were looked at, so that what is proven is about these. contained: whether
    the release was found among those. lead: by how many nats of the objective it is better than the best one found the
    other way, with the base table or without; None where one way was tried. left_out: why only without; None otherwise.
    """

    demanded: bool = False
    contained: bool = False
    lead: float | None = None
    left_out: str | None = None

    def __str__(self) -> str:
        """What there is to say of it, in a sentence; empty for nothing.

        >>> str(BaseChoice(lead=0.133))
        'Looked for with the base table and without it: without it is better, by 0.133 nats.'
        """
        if self.left_out is not None:
            return f"Looked for without the base table only: {self.left_out}."
        if self.lead is None:
            return ""
        better = f"with{'' if self.contained else 'out'} it is better, by {self.lead:.3f} nats"
        return f"Looked for with the base table and without it: {better if self.lead >= 5e-4 else 'neither is better'}."

    def as_json(self) -> dict[str, object]:
        """It as plain values."""
        return {
            "demanded": self.demanded,
            "contained": self.contained,
            "lead": self.lead,
            "left_out": self.left_out,
        }
