"""One folder a model family: config (host only), model, keys and sharding."""
