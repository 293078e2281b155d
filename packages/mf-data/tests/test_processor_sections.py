"""The sections of processors and dataset tasks, written as MindFormers users write them."""

import pytest

from mf_config import ConfigError
from mf_config.components import components
from mf_config.schema import tag_of

TEXT = ("LlamaProcessor", "Qwen2Processor", "QwenProcessor", "GLMProcessor", "GPT2Processor")


@pytest.mark.parametrize("name", TEXT)
def test_processors_of_text_hold_a_tokenizer_and_run(section_of, name):
    text = f"{{type: {name}, return_tensors: ms, tokenizer: {{type: GPT2Tokenizer, pad_token: '<pad>'}}}}"
    section = section_of("processor", text)
    assert type(section) is components("processor")[name]
    assert (section.return_tensors, section.max_length, section.tokenizer.pad_token) == ("ms", None, "<pad>")
    assert not tag_of(type(section)).pending


def test_a_processor_of_no_model_has_every_part(section_of):
    section = section_of("processor", "{type: BaseProcessor, tokenizer: , image_processor: , audio_processor: }")
    assert (section.tokenizer, section.image_processor, section.audio_processor) == (None, None, None)


def test_images_for_qwen_vl(section_of):
    text = """\
        type: QwenVLProcessor
        image_processor:
          type: QwenVLImageProcessor
          image_size: 448  # input image size
        tokenizer:
          type: QwenVLTokenizer
          max_length: 32
          vocab_file: ""
        """
    section = section_of("processor", text)
    assert (section.image_processor.image_size, section.image_processor.interpolation) == (448, "bicubic")
    assert tag_of(type(section)).pending


def test_videos_for_cogvlm2(section_of):
    text = """\
        type: BaseXModalToTextProcessor
        max_length: 2048

        model_transform_template:
          type: CogVLM2ContentTransformTemplate
          output_columns: [ "input_ids", "position_ids", "images", "video_context_pos", "valid_position" ]
          vstack_columns: [ "images", "video_context_pos" ]
          signal_type: "chat"

        tokenizer:
          add_bos_token: False
          pad_token: "<|reserved_special_token_0|>"
          type: CogVLM2Tokenizer
        """
    section = section_of("processor", text)
    template = section.model_transform_template
    assert template.vstack_columns == ("images", "video_context_pos")
    assert (template.signal_type, template.mode, template.pad_length) == ("chat", "predict", None)
    assert section.max_length == 2048


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{type: LlamaProcesor}", "Did you mean LlamaProcessor?"),
        ("{type: LlamaProcessor, max_length: -1}", "section.max_length: -1 is out of range. Allowed: from 1."),
        (
            "{type: QwenVLProcessor, image_processor: {image_sise: 1}}",
            "section.image_processor.image_sise: unknown key.",
        ),
        ("{type: LlamaProcessor, image_processor: {}}", "section.image_processor: unknown key."),
        (
            "{type: BaseXModalToTextProcessor, model_transform_template: {output_columns: []}}",
            "section.model_transform_template.type: is missing.",
        ),
    ],
)
def test_mistakes_are_named(section_of, text, message):
    with pytest.raises(ConfigError) as raised:
        section_of("processor", text)
    assert message in str(raised.value)


def test_every_processor_is_tried_here():
    others = {"BaseProcessor", "QwenVLProcessor", "BaseXModalToTextProcessor"}
    assert {*TEXT, *others} == set(components("processor"))
