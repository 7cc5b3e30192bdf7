"""A release as an analyst sees it: counts, cross tables, measures of association."""
