"""A window for stewards: the whole way from a table to its release in a browser, without code.

It adds no decision of its own. Whatever is done in it is an edit of `release.toml` or a command, and the page shows
which: so every result can be had again from the command line, byte for byte. `project` keeps to one folder, `gate` lets in
only who has the token, `jobs` runs commands in processes of their own, and `window` keeps counts of the table, never rows.
Each page has a module and a template, and works without script; `server` serves them on 127.0.0.1 until it is stopped.
"""
