"""Sections `pet_config` of parameter-efficient training, one module a method, chosen by `pet_type`."""
