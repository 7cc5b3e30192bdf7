"""A window for stewards: the whole way from a table to its release in a browser, without code.

It adds no decision of its own. Whatever is done in it is an edit of `release.toml` or a command, and the page shows
which: so every result can be had again from the command line, byte for byte.

- `project` is the folder that the window is about: nothing outside of it is read or written, it has one window at once, and
  edits of its `release.toml` keep the comments; one that is based on an older version is refused.
- `gate` lets in only who has the token, from this machine, by pages of this window.
- `jobs` runs commands in processes of their own, which can be watched and stopped, and keeps what searches found.
- `window` holds the state, and keeps counts of the table, never rows, that it works out in the background.
- There is a module for each page: `table`, `levels`, `policy`, `search`, `publish`, `explore`. Pages work without script,
  which only makes them quicker. `rendering` fills their templates, which load nothing from elsewhere.
- `server` says which page an address stands for, and serves it on 127.0.0.1 until it is stopped.
"""
