"""The models that `ci/bench config` writes and exports: three profiles each, all of one bundle."""

from collections.abc import Mapping


def model_id(number: int) -> str:
    return f"acme/model-{number:05d}"


def model_text(number: int) -> str:
    """YAML as the service itself writes it, so that what is stored has the size of what a write stores."""
    return f"""sie_id: {model_id(number)}
hf_id: {model_id(number)}
hf_revision: 0123456789abcdef0123456789abcdef01234567
inputs:
  text: true
tasks:
  encode:
    dense:
      dim: 384
max_sequence_length: 512
profiles:
  default:
    adapter_path: acme.enc:Encoder
    max_batch_tokens: 16384
    compute_precision: bfloat16
    adapter_options:
      loadtime:
        attn: sdpa
      runtime:
        normalize: true
        pooling: mean
  fast:
    extends: default
    max_batch_tokens: 4096
  long:
    extends: default
    max_batch_tokens: 65536
    adapter_options:
      runtime:
        pooling: cls
"""


def models(count: int) -> Mapping[str, str]:
    return {model_id(number): model_text(number) for number in range(count)}
