"""Measures of what a single generalized table keeps, from the sizes of its classes (KG06 3.1)."""

from typing import Any

from numpy.typing import NDArray

from models.arrays import CountArray


def average_class_size(sizes: CountArray) -> float:
    """Mean number of rows in a class; 0 when there is none."""
    return float(sizes.sum() / len(sizes)) if len(sizes) else 0.0


def discernibility(sizes: CountArray, suppressed: int = 0) -> int:
    """Sum over the rows of how many rows look the same; each suppressed row costs as many as there are in all.

    sizes: rows of each class. Exact for any count.
    """
    squares: int = sum(size * size for size in sizes.tolist())
    return squares + suppressed * (int(sizes.sum()) + suppressed)


def classification_metric(counts: NDArray[Any]) -> int:
    """Rows whose label is not the most frequent one of their class. counts: class by label, shape (classes, labels)."""
    return int(counts.sum() - counts.max(axis=1, initial=0).sum())
