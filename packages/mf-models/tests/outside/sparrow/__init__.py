"""A distribution that adds a model family; tests install it into a folder of their own."""
