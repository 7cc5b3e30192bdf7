"""Several bundles that generalize an attribute so that neither's values nest in the other's."""
