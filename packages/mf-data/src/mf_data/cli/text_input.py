"""Text that a command line names: files of documents, or folders of them."""

from mf_data.loaders.text import TEXT_FIELD, TEXT_SUFFIXES, TextDataLoader
from mf_data.texts.data_files import find_files


def text_loader(name: str, text_field: str = TEXT_FIELD) -> TextDataLoader:
    """The documents of one argument.

    Args:
        name: a file or a folder.
        text_field: field of a record with the document.
    Raises:
        UserError: there is no such path, or no file of documents in it.
    """
    find_files(name, TEXT_SUFFIXES, "INPUT")
    return TextDataLoader(dataset_dir=name, text_field=text_field)
