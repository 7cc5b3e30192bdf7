"""Disclosure risk as a decision problem: what an attacker can do with disclosed records, and which to disclose (LSFB09).

Sources: Lebanon, Scannapieco, Fouad, Bertino, Transactions on Data Privacy 2 (2009), cited as LSFB09.
"""
