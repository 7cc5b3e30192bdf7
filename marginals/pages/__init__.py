"""Pages to read and print: the report of a release, the page of a risk assessment, their pictures."""
