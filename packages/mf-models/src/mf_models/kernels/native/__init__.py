"""Operators for the CPU that are written in C++ and compiled on the machine that runs them."""
