"""Forms in which models write calls of tools: each module here has one, named `FORMAT`."""
