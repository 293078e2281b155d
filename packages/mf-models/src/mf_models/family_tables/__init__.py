"""Tables that decoders of the Llama kind build their `keys` and `sharding` modules from; import no MindSpore."""
