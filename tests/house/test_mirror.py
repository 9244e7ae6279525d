"""Tests are where the sources are that they test: src/panewise/a/b.py is tested by tests/a/test_b.py.

For a package the file may be that of the whole: tests/a/test_a.py or tests/test_a.py. The modules of one
operator may be tested by its test_operator.py or test_properties.py. A module may have a folder of tests.
"""

from pathlib import Path

import pytest

from tests.house.sources import ROOT, SRC, check_each, files

TESTS = ROOT / "tests"

# The module or the folder, and the test that covers it.
ELSEWHERE = {
    # Transcripts, which were worked out by hand, decide whether the oracle is right.
    "oracle": "testing/test_transcripts.py",
    # What several operators share is tested through them, against the oracle.
    "engine/aggregate": "engine/aggregate/test_aggregation.py",
    "engine/aggregate/in_arrival_order.py": "engine/aggregate/test_order_sensitive.py",
    "engine/aggregate/holistic.py": "engine/aggregate/test_range_aggregate.py",
    "engine/ingest": "engine/test_every_family.py",
    "engine/progress": "engine/progress/test_moved_by_rows.py",
    "engine/windowing": "engine/test_every_family.py",
    "engine/windows": "engine/test_every_family.py",
    "engine/windowing/sliding_bounds.py": "engine/windows/sliding/test_slices.py",
    "engine/windowing/trigger": "engine/windowing/trigger/test_tree.py",
    "engine/windowing/trigger/simple.py": "engine/test_every_family.py",
    # It is a value, which these tests make.
    "observe/micro_batch.py": "observe/test_log_line.py",
    # A journal is read as it is written.
    "observe/entries.py": "observe/test_journal.py",
    "observe/journal_reader.py": "observe/test_journal.py",
    # The axis and the histories of operators are tested by what is drawn of them.
    "observe/time_axis.py": "observe/test_scene_svg.py",
    "observe/watch/operator_history.py": "observe/watch/test_model.py",
    # Every family uses the protocol, and a family of the tests shows that it is enough.
    "engine/registry.py": "families/test_pairs.py",
    "spec/families": "families/test_pairs.py",
    "spec/carried_values.py": "families/test_pairs.py",
    "spec/protocol.py": "families/test_pairs.py",
    "spec/family_parts.py": "families/test_pairs.py",
    "engine/family_parts.py": "families/test_pairs.py",
    "spec/net_effect.py": "standalone/test_net_effect.py",
    "testing/families.py": "families/test_pairs.py",
    # So do all joins use the table of matches, and their parts are tested by the joins that have them.
    "matches.py": "house/test_matches.py",
    "spec/matches": "spec/operators/test_join.py",
    "engine/join": "engine/join/test_properties.py",
    "testing/matches": "testing/test_joins.py",
    "engine/run_library.py": "engine/test_content_addresses.py",
    # Exported states are tested by what divides them.
    "engine/exported_operator.py": "engine/test_redistribution.py",
    "engine/exported_state.py": "engine/test_redistribution.py",
    "engine/imported_shard.py": "engine/test_redistribution.py",
    # These names, headers and stores are parts of stored states.
    "engine/columns.py": "state/test_golden.py",
    "state/run_store.py": "state/test_manifest.py",
    # Both ordered maps are tested by the same machine.
    "stores/memory_map.py": "stores/test_ordered_map.py",
    "stores/durable_snapshot.py": "stores/test_ordered_map.py",
    "stores/rocks.py": "stores/test_store_directory.py",
    "stores/scans.py": "stores/test_ordered_map.py",
    # Parts of stores are tested through these.
    "stores/recent_values.py": "stores/test_window_store.py",
    # Files of the state store are tested as Spark writes them, and damaged.
    "checkpoints/compressed.py": "checkpoints/test_changelog.py",
    "checkpoints/figures.py": "checkpoints/test_shard.py",
    "checkpoints/tables.py": "checkpoints/test_shard.py",
    "checkpoints/layout.py": "checkpoints/test_reader.py",
    "checkpoints/partition.py": "checkpoints/test_reader.py",
    "stores/entries.py": "stores/test_window_store.py",
    # Parts of a specification are tested by what reads them.
    "spec/conditions": "spec/conditions/test_terms.py",
    "spec/aggregates/types.py": "spec/test_type_checks.py",
    "spec/aggregates/user_values.py": "engine/aggregate/test_user.py",
    "spec/aggregates/order_sensitive.py": "spec/aggregates/test_functions.py",
    "spec/aggregates/statistics.py": "spec/aggregates/test_functions.py",
    "spec/column_values.py": "testing/test_columns.py",
    "spec/column_types.py": "spec/test_type_checks.py",
    "spec/fields.py": "spec/codec/test_codec.py",
    "spec/frames.py": "spec/operators/test_over.py",
    "spec/operators/panes.py": "spec/operators/test_chain.py",
    "spec/rules/processing_time.py": "spec/operators/test_windows.py",
    "streamwindow.py": "spec/operators/test_policy.py",
    "spec/operators/row_operator.py": "spec/operators/test_over.py",
    "spec/rules/sliding.py": "spec/windows/test_sliding.py",
    "spec/renaming.py": "spec/operators/test_join.py",
    "spec/watermarks.py": "spec/operators/test_windows.py",
    "spec/window_spec.py": "spec/operators/test_over.py",
    "spec/windows/size_in_rows.py": "spec/rules/test_row_numbering.py",
    # The command is run as a module there.
    "__main__.py": "cli/test_state.py",
    "cli/command.py": "cli/test_program.py",
    # What only a query can show is tested by what users see of it.
    "spark/checkpoint_reader.py": "cli/test_state.py",
    "spark/queries/display.py": "spark/queries/test_query.py",
    "spark/workers/processor_settings.py": "spark/test_stream.py",
    "spark/session/standard_error.py": "demo/test_job.py",
    "spark/workers/whole_batch.py": "spark/test_batch.py",
    "spark/workers/microbatch.py": "spark/test_micro_batches.py",
    "spark/builders/apply_spec.py": "spark/inputs/test_checks.py",
    "spark/queries/selection.py": "spark/streaming_sql/test_streaming_sql.py",
    "spark/results": "spark/sinks/test_arguments.py",
    "spark/results/over.py": "spark/builders/test_over.py",
    "spark/builders/two_sides.py": "spark/builders/test_join.py",
    "spark/builders/selectable_columns.py": "spark/builders/test_join.py",
    "sql/first_rows": "sql/first_rows/test_top_n.py",
    "sql/expressions": "sql/test_compile.py",
    "sql/parsing": "sql/test_compile.py",
    "sql/stages": "sql/test_compile.py",
    "sql/text": "sql/test_compile.py",
    "sql/windows": "sql/test_compile.py",
    "sql/writing": "sql/writing/test_windows.py",
    "spark/builders/windows.py": "spark/test_stream.py",
    "spark/workers/processor.py": "spark/test_micro_batches.py",
    "spark/sinks/console.py": "spark/sinks/test_tables.py",
    "spark/sinks/compaction.py": "spark/sinks/test_parquet.py",
    "spark/sinks/delta.py": "connectors/test_topic_to_delta.py",
    "spark/sinks/directories.py": "spark/sinks/test_parquet.py",
    "spark/session/driver.py": "spark/session/test_worker_pool.py",
    "spark/sinks/local_session.py": "spark/sinks/test_tables.py",
    "spark/sinks/memory.py": "spark/sinks/test_tables.py",
    "spark/sinks/postgres_copy.py": "spark/sinks/test_postgres.py",
    "spark/sinks/postgres_statements.py": "spark/sinks/test_postgres.py",
    "spark/sinks/table_modes.py": "spark/sinks/test_postgres.py",
    "spark/queries/taken_over.py": "spark/test_changes.py",
    "spark/queries/shown_rows.py": "spark/streaming_sql/test_changed_sql.py",
    "spark/results/rows_between.py": "spark/builders/test_upstream_inputs.py",
    "spark/columns/types.py": "spark/test_bounded.py",
    "spark/columns/restored_names.py": "spark/inputs/test_names.py",
    "spark/session/trial.py": "cli/test_check.py",
    "spark/kafka_options.py": "spark/sinks/test_kafka.py",
    "spark/kafka_topics.py": "spark/sinks/test_kafka.py",
    "spark/sinks": "spark/sinks/test_arguments.py",
    "spark/sinks/kafka_records.py": "spark/sinks/test_kafka.py",
    "spark/sinks/result_check.py": "spark/sinks/test_kafka.py",
    "spark/sinks/sequence.py": "spark/sinks/test_current.py",
    "spark/queries/bound_sinks.py": "spark/sinks/test_arguments.py",
    "spark/queries/dispatch.py": "spark/sinks/test_arguments.py",
    "spark/queries/write_arguments.py": "spark/sinks/test_arguments.py",
    "spark/queries/query_checkpoint.py": "spark/test_changes.py",
    "spark/queries/writer.py": "spark/sinks/test_arguments.py",
    # Strategies are tested by the cases that they draw, runtimes by the runner.
    "testing/chains.py": "engine/test_every_family.py",
    "testing/cogroups.py": "engine/test_every_family.py",
    "testing/deduplicates.py": "engine/test_every_family.py",
    "testing/edges.py": "testing/test_strategies.py",
    "testing/policy_events.py": "testing/test_policy_specs.py",
    "testing/event.py": "testing/test_runner.py",
    "testing/event_checks.py": "testing/test_runner.py",
    "testing/events.py": "testing/test_runner.py",
    "testing/over_specs.py": "engine/test_every_family.py",
    "testing/ingest.py": "testing/test_runner.py",
    "testing/runtimes": "testing/test_runner.py",
    "testing/runtimes/spark.py": "spark/test_transcripts.py",
    "testing/samples.py": "testing/test_strategies.py",
    "testing/join_events.py": "testing/test_joins.py",
    "testing/windowed_joins.py": "engine/test_every_family.py",
    "testing/event_strategies.py": "testing/test_strategies.py",
    "testing/aggregates.py": "testing/test_strategies.py",
    "testing/triggers.py": "testing/test_strategies.py",
    "testing/window_specs.py": "testing/test_strategies.py",
}


def places(path: Path) -> list[Path]:
    """Returns where the tests of a module may be."""
    name, folder = path.stem.strip("_"), TESTS / path.parent
    whole = (f"test_{path.parent.name}.py", "test_operator.py", "test_properties.py")
    beside = [folder / f"test_{name}.py", *(folder / one for one in whole), folder / name]
    return [*beside, folder.parent / whole[0]] if path.parts[1:] else beside[:1] + beside[-1:]


def elsewhere(path: Path) -> str | None:
    """Returns the entry of a module in the table, the most special one if there are several."""
    entries = [str(one) for one in (path, *path.parents)]
    return next((entry for entry in entries if entry in ELSEWHERE), None)


MODULES = [path.relative_to(SRC) for path in files() if path.name != "__init__.py"]


def without_test(path: Path) -> list[str]:
    entry = elsewhere(path)
    found = any(map(Path.exists, places(path)))
    covered = found or (entry is not None and (TESTS / ELSEWHERE[entry]).is_file())
    return [] if covered else [f"{path}: no test at {ELSEWHERE[entry] if entry else places(path)[0]}"]


def test_a_module_has_a_test() -> None:
    check_each(MODULES, without_test)


def test_exceptions_are_needed() -> None:
    """An entry covers a module that has no test in its own place."""
    used = {elsewhere(path) for path in MODULES if not any(map(Path.exists, places(path)))}
    assert sorted(set(ELSEWHERE) - used) == []


@pytest.mark.parametrize("part", ["engine", "spec", "oracle", "state", "testing"])
def test_folders_of_tests_are_folders_of_the_source(part: str) -> None:
    folders = {path.parent.relative_to(TESTS) for path in (TESTS / part).rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (SRC / folder).is_dir()] == []
