"""What texts in a table mean: numbers, dates, and the order that values stand in."""
