"""One rule per `pyframe` operation: `rule(frame, op)` reads operands from `frame.env`, and binds the results there.

The rule of a terminator returns the next block, or None when the function returns or is suspended.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.numbers import without_number_operands
from lect.frontends.capture.rules import containers, control, objects, suspension, variables

# Rules whose operands may be numbers of run time; the others get constants.
_WITH_NUMBERS = frozenset(
    f"pyframe.{name}"
    for name in (
        "load_local store_local delete_local save_local restore_local load_global store_global load_deref store_deref load_cell load_const drop "
        "load_attr store_attr load_item store_item binary compare unary contains is call call_ex make_function "
        "build_tuple build_list build_map build_const_key_map list_append list_extend map_add dict_update dict_merge list_to_tuple "
        "match_class match_mapping match_sequence unpack_sequence unpack_ex branch cond_branch for_iter return get_iter yield yield_from send"
    ).split()
)
RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        name: rule if name in _WITH_NUMBERS else without_number_operands(rule)
        for table in (variables, objects, containers, control, suspension)
        for name, rule in table.RULES.items()
    }
)
RESUMED = suspension.RESUMED
