"""What turns one record of a corpus into columns (data handlers), one module each."""
