"""Where tensors lie on a mesh: the layout document, and the rules that make one."""
