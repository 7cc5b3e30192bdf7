"""A window for stewards: the whole way from a table to its release in a browser, without code.

It adds no decision of its own. Whatever is done in it is an edit of `release.toml` or a command, and the page shows
which: so every result can be had again from the command line, byte for byte.

- `project` is the folder that the window is about: nothing outside of it is read or written, and it has one window at once.
- `gate` lets in only who has the token, from this machine, by pages of this window.
- `config_edits` writes `release.toml`, keeping its comments, and refuses an edit that is based on an older version.
- `jobs` runs commands in processes of their own, which can be watched and stopped; `candidates` keeps what searches found.
- `counting` keeps counts of the table, never rows, and works them out in the background.
- `views` has a module for each page: table, levels, policy, search, publish, explore. Pages work without script, which
  only makes them quicker. `pictures` draws for them, `rendering` fills their templates, which load nothing from elsewhere.
- `application` puts these together, and `serving` serves it on 127.0.0.1 until it is stopped.
"""
