"""Model families of the distribution `sparrow`."""
