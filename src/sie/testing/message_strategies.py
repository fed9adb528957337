"""What Hypothesis draws of the messages that services send each other; their values are `strategies`'s."""

from typing import get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.domain.worker import ModelStateName
from sie.testing import strategies
from sie.wire import ipc
from sie.wire.configs_api import BundleRow, BundlesReply, EpochReply, ExportReply, ExportRow, Source
from sie.wire.result import WorkResult
from sie.wire.work import Operation, WorkItem

_names = st.none() | st.lists(strategies.texts, max_size=2).map(tuple)

work_items: SearchStrategy[WorkItem] = st.builds(
    WorkItem,
    work_item_id=strategies.texts,
    request_id=strategies.request_ids,
    item_index=st.integers(0, 4095),
    total_items=st.integers(1, 4096),
    operation=st.sampled_from(get_args(Operation)),
    model_id=strategies.model_ids,
    profile_id=strategies.profile_names,
    pool_name=strategies.pool_names,
    admission_pool=strategies.pool_names,
    machine_profile=strategies.machine_profiles,
    router_id=strategies.router_ids,
    reply_subject=strategies.texts,
    timestamp=strategies.numbers,
    bundle_config_hash=st.just("") | strategies.bundle_hashes,
    item=st.none() | strategies.items,
    output_types=_names,
    instruction=st.none() | strategies.texts,
    is_query=st.booleans(),
    options=st.none() | strategies.json_maps,
    deadline=st.none() | strategies.numbers,
    accepts_result_chunks=st.booleans(),
)
_times_ms = st.none() | strategies.numbers
work_results: SearchStrategy[WorkResult] = st.builds(
    WorkResult,
    work_item_id=strategies.texts,
    request_id=strategies.request_ids,
    item_index=st.integers(0, 4095),
    success=st.booleans(),
    result_msgpack=st.none() | st.binary(max_size=40),
    error=st.none() | strategies.texts,
    error_code=st.none() | strategies.error_codes,
    inference_ms=_times_ms,
    queue_ms=_times_ms,
    processing_ms=_times_ms,
    tokenization_ms=_times_ms,
    postprocessing_ms=_times_ms,
    payload_fetch_ms=_times_ms,
    worker_id=st.none() | strategies.worker_ids,
    units=st.none() | st.dictionaries(st.sampled_from(("input_tokens", "images")), st.integers(0, 10**9)),
    executed_bundle_config_hash=st.none() | strategies.bundle_hashes,
    retry_after_s=st.none() | st.integers(0, 60),
)
_frame_ids = st.integers(0, 2**32)
ipc_requests: SearchStrategy[ipc.Request] = st.one_of(
    st.builds(
        ipc.LoadModel,
        id=_frame_ids,
        serving_id=strategies.model_ids,
        adapter_path=strategies.adapter_paths,
        model_id=strategies.model_ids,
        hf_id=st.none() | strategies.model_ids,
        hf_revision=st.none() | strategies.texts,
        weights_path=st.none() | strategies.texts,
        max_sequence_length=st.none() | st.integers(1, 8192),
        loadtime=strategies.json_maps,
        runtime=strategies.json_maps,
    ),
    st.builds(
        ipc.EncodeBatch,
        id=_frame_ids,
        serving_id=strategies.model_ids,
        items=st.lists(
            st.builds(
                ipc.EncodeItem,
                item=strategies.items,
                output_types=_names,
                instruction=st.none() | strategies.texts,
                is_query=st.booleans(),
                options=st.none() | strategies.json_maps,
                operation=st.sampled_from(get_args(Operation)),
                candidates=st.none() | st.lists(strategies.items, max_size=2).map(tuple),
                labels=_names,
                output_schema=st.none() | strategies.json_maps,
            ),
            max_size=2,
        ).map(tuple),
    ),
)
ipc_answers: SearchStrategy[ipc.Answer] = st.one_of(
    st.builds(ipc.Hello, device=strategies.texts, pid=st.integers(1, 2**22)),
    st.builds(
        ipc.ModelUpdate,
        serving_id=strategies.model_ids,
        state=st.sampled_from(get_args(ModelStateName)),
        activity=strategies.texts,
        error_code=st.none() | strategies.error_codes,
        error=st.none() | strategies.texts,
    ),
    st.builds(
        ipc.Finished,
        id=_frame_ids,
        outcomes=st.lists(
            st.builds(
                ipc.ItemOutcome,
                result_msgpack=st.none() | st.binary(max_size=40),
                input_tokens=st.integers(0, 8192),
                error_code=st.none() | strategies.error_codes,
                error=st.none() | strategies.texts,
            ),
            max_size=2,
        ).map(tuple),
        tokenization_ms=strategies.numbers,
        inference_ms=strategies.numbers,
        postprocessing_ms=strategies.numbers,
    ),
    st.builds(
        ipc.Failed, id=_frame_ids, error_code=strategies.error_codes, error=strategies.texts, permanent=st.booleans()
    ),
)

# The config service's replies

_sentinel_hashes = st.just("") | strategies.bundle_hashes
epoch_replies: SearchStrategy[EpochReply] = st.builds(
    EpochReply, epoch=st.integers(0, 2**53), bundles_hash=_sentinel_hashes, bundle_config_hashes_hash=_sentinel_hashes
)
bundles_replies: SearchStrategy[BundlesReply] = st.builds(
    BundlesReply,
    bundles=st.lists(
        st.builds(
            BundleRow, bundle_id=strategies.bundle_names, priority=st.integers(0, 100), adapter_count=st.integers(0, 40)
        ),
        max_size=3,
    ).map(tuple),
)
export_rows: SearchStrategy[ExportRow] = st.builds(
    ExportRow,
    model_id=strategies.model_ids,
    model_config=st.none() | strategies.model_documents | strategies.json_values,
    raw_yaml=st.none() | strategies.texts,
    affected_bundles=st.lists(strategies.bundle_names, max_size=2).map(tuple),
    pool=strategies.pool_names,
    source=st.sampled_from(get_args(Source)),
)
"""Some rows hold a model, some nothing, some no model."""
export_replies: SearchStrategy[ExportReply] = st.builds(
    ExportReply,
    epoch=st.integers(0, 2**53),
    models=st.lists(export_rows, max_size=4).map(tuple),
    generated_at=strategies.texts,
    bundle_config_hashes=st.dictionaries(strategies.bundle_names, _sentinel_hashes, max_size=2),
    bundle_pool_config_hashes=st.dictionaries(
        strategies.bundle_names,
        st.dictionaries(strategies.pool_names, strategies.bundle_hashes, max_size=2),
        max_size=2,
    ),
    bundle_adapters=st.dictionaries(strategies.bundle_names, st.just(strategies.ADAPTERS), max_size=2),
)
