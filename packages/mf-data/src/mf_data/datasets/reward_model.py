"""Rows of answers of which one is preferred."""

from dataclasses import dataclass

import numpy as np

from mf_config.problems import UserError
from mf_config.schema import component
from mf_data.chat.conversation_ids import IdsAndLabels, encode_conversation, template_of
from mf_data.datasets.base import TaskKeys, refuse_loader
from mf_data.loader import Loader
from mf_data.progress import Progress
from mf_data.rows.data_set import IGNORED, ColumnRows, padded
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import filling
from mf_data.texts.conversations import Conversation, PreferenceLoader
from mf_data.tokenizers.base import Tokenizer


@component("dataset", "RewardModelDataset", pending="there is no training of reward models")
@dataclass(frozen=True, slots=True, kw_only=True)
class RewardModelDataset(TaskKeys):
    """Pairs of a chosen and a rejected answer to one prompt, each with its ids and labels."""

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> ColumnRows:
        """Read the pairs and make their rows.

        Args:
            loader: gives pairs.
            tokenizer: makes the ids; its chat template writes the conversations.
            seq_length: tokens that the model reads at once; of longer texts the end is cut off, and pairs of which an
                answer is lost thereby are left out.
            settings: not read.
            progress: not called, since reading tells of no bytes.
        Returns:
            The rows, int32 [n, seq_length + 1] each: `chosen_input_ids`, `chosen_labels`, `rejected_input_ids`,
            `rejected_labels`.
        Raises:
            UserError: no pair is left.
        """
        if not isinstance(loader, PreferenceLoader):
            raise refuse_loader(self, loader)
        width = seq_length + 1
        template = template_of(tokenizer)

        def encode(conversation: Conversation) -> IdsAndLabels:
            found = encode_conversation(conversation, tokenizer, template, last_turn_only=True)
            return found[0][:width], found[1][:width]

        pairs = [(encode(pair.chosen), encode(pair.rejected)) for pair in loader.preferences()]
        kept = [pair for pair in pairs if all(set(labels) != {IGNORED} for _, labels in pair)]
        if not kept:
            raise UserError(f"no pair has both its answers within {width} tokens. Allowed: a larger seq_length.")
        columns, fills = {}, {}
        for side, name in enumerate(("chosen", "rejected")):
            for part, (column, fill) in enumerate((("input_ids", filling(tokenizer)), ("labels", IGNORED))):
                values = [np.array(pair[side][part], np.int32) for pair in kept]
                columns[f"{name}_{column}"] = padded(values, width, fill)
                fills[f"{name}_{column}"] = fill
        return ColumnRows(columns, fills)
