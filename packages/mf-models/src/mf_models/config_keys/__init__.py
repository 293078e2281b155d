"""Keys of `model.model_config` that several families share, one module a subject; imports no MindSpore.

A section class inherits the ones that it has. They hold no slots, so that a class may inherit several; the section
class at the end has a slot for each key. `again` repeats a key where a family has another default.
"""
