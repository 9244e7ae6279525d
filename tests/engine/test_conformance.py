"""What families supply conforms to the protocols of the engine. mypy checks this file, too.

The table of families is read at run time, and their parts are imported when they are called. So nothing in
the sources says to mypy that an operator is an `Operator`. The functions below say it of each class.
"""

import inspect
from importlib import import_module
from pkgutil import walk_packages
from typing import TypeAlias, get_args

import panewise.engine
from panewise.engine.chain.operator import ChainEngine
from panewise.engine.chain.plan import ChainPlan
from panewise.engine.chain.stage import StageEngine, StageState
from panewise.engine.cogroup.operator import CogroupEngine
from panewise.engine.cogroup.plan import CogroupPlan, CogroupPort
from panewise.engine.cogroup.sides import CogroupSides
from panewise.engine.deduplicate.operator import DeduplicateEngine
from panewise.engine.deduplicate.plan import DeduplicatePlan
from panewise.engine.deduplicate.state import DeduplicateState
from panewise.engine.family_parts import CurrentResults, WindowsInPython
from panewise.engine.ingest.validate import CombinedInput, Port
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.plan import JoinPlan, SidePort
from panewise.engine.join.same_window.operator import WindowJoinEngine
from panewise.engine.join.same_window.single_firing import SingleFiringEngine
from panewise.engine.join.streams.clocks import StreamsState
from panewise.engine.join.two_sides import JoinState
from panewise.engine.nested.state import NestedState
from panewise.engine.over.operator import OverEngine
from panewise.engine.over.plan import OverPlan
from panewise.engine.over.state import OverState
from panewise.engine.policy.operator import PolicyEngine
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.state import PolicyState
from panewise.engine.protocol import Operator, OperatorState, PartitionControl, Plan, Stateful
from panewise.engine.windowed_join.operator import WindowedJoinEngine
from panewise.engine.windowed_join.plan import WindowedJoinPlan
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.changed_results import WindowResults
from panewise.engine.windows.operator import WindowEngine
from panewise.engine.windows.records import RecordWindows
from panewise.engine.windows.state import WindowOperatorState

Combining: TypeAlias = WindowEngine | ChainEngine | CogroupEngine | CogroupSides
Engine: TypeAlias = (
    Combining
    | DeduplicateEngine
    | JoinEngine
    | OverEngine
    | PolicyEngine
    | SingleFiringEngine
    | WindowJoinEngine
    | WindowedJoinEngine
)
State: TypeAlias = (
    DeduplicateState
    | JoinState
    | NestedState
    | OverState
    | PolicyState
    | StageState
    | StreamsState
    | WindowOperatorState
)
OneInput: TypeAlias = WindowPlan | OverPlan | PolicyPlan | DeduplicatePlan  # a plan that is its port, too


def operator(engine: Engine) -> Operator:
    return engine


def stateful(engine: StageEngine) -> Stateful:
    return engine


def combined_input(engine: Combining) -> CombinedInput:
    return engine


def partition_control(engine: PolicyEngine) -> PartitionControl:
    return engine


def state_of_operator(state: State) -> OperatorState:
    return state


def compiled(plan: OneInput | ChainPlan | CogroupPlan | JoinPlan | WindowedJoinPlan) -> Plan:
    return plan


def input_port(port: OneInput | SidePort | CogroupPort) -> Port:
    return port


def current_results(results: WindowResults) -> CurrentResults:
    return results


def windows_in_python(windows: RecordWindows) -> WindowsInPython:
    return windows


def test_each_operator_and_each_state_is_checked() -> None:
    modules = [module.name for module in walk_packages(panewise.engine.__path__, "panewise.engine.")]
    classes = {
        value
        for name in modules
        for value in vars(import_module(name)).values()
        if inspect.isclass(value) and value.__module__ == name and not inspect.isabstract(value)
    }
    concrete = {value for value in classes if not getattr(value, "_is_protocol", False)}
    assert {value for value in concrete if hasattr(value, "add_together")} == set(get_args(Engine))
    states = {value for value in concrete if hasattr(value, "with_tables") and value.__subclasses__() == []}
    assert states == {*get_args(State)} - {JoinState}  # states of some joins have further fields
