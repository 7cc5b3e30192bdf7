"""Tables that change: what is published of one before and after tells of the people who came and went."""
