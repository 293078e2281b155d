"""The processor of models that read text with images, videos or sound."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import component, key
from mf_data.processors.base import ProcessorKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTransformTemplate:
    """`model_transform_template`: how a conversation becomes the columns that a model takes."""

    type: Literal[
        "CogVLM2ContentTransformTemplate", "CogVLM2ImageContentTransformTemplate", "QwenVLContentTransformTemplate"
    ] = key("The model whose columns are made.")
    output_columns: tuple[str, ...] = key("The columns to make, in the order in which the model takes them.", ())
    vstack_columns: tuple[str, ...] = key("The columns whose parts are stacked instead of joined.", ())
    mode: Literal["train", "predict"] = key("Whether answers are targets of the loss.", "predict")
    signal_type: Literal["base", "chat", "vqa"] = key("The kind of prompt of CogVLM 2.", "base")
    max_length: int = key("Tokens of a row.", 2048, minimum=1, unit="tokens")
    pad_length: int | None = key("Tokens up to which a prompt is filled.", None, minimum=1, unit="tokens")
    modal_content_padding_size: int = key("Most images, videos or sounds of a row.", 1, minimum=1)
    dataset_dir: str | None = key("Folder of the images that conversations name.", None)
    image_size: int = key("Height and width of the image that the model sees.", 448, minimum=1, unit="pixels")
    num_queries: int = key("Places that an image takes among the tokens.", 256, minimum=1, unit="tokens")
    system_message: str = key("What begins every conversation.", "You are a helpful assistant.")
    user_role_name: str = key("The name under which a file has the user's turns.", "user")
    assistant_role_name: str = key("The name under which a file has the assistant's turns.", "assistant")
    user_prompt: str = key("What is put before each of the user's turns.", "")
    assistant_prompt: str = key("What is put before each of the assistant's turns.", "")


@component("processor", "BaseXModalToTextProcessor", pending="images, videos and sound are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class BaseXModalToTextProcessor(ProcessorKeys):
    """Text with images, videos or sound; a template makes the columns that the model takes."""

    model_transform_template: ModelTransformTemplate | None = key("How a conversation becomes columns.", None)
