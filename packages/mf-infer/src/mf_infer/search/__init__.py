"""Chooses the tokens of answers: distributions, rules, drawing, beams, and where an answer ends."""
