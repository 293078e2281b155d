"""Token ids in Megatron's indexed form: read, written, checked, cut into rows."""
