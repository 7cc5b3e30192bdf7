"""A window for stewards: the whole way from a table to its release in a browser, without code.

It adds no decision of its own. Each action is an edit of `release.toml` or a command, which the page shows; the command
line gives the same result, byte for byte. `project` keeps to one folder, and `gate` lets in only who has the token. `jobs`
runs commands in processes of their own, and `window` keeps counts of the table, never rows. Each page has a module and a
template, and works without script; `server` serves them on 127.0.0.1 until it is stopped.
"""
