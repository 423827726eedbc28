"""One rule per `pyframe` operation: `rule(frame, op)` reads operands from `frame.env`, and binds the results there.

The rule of a terminator returns the next block, or None when the function returns or is suspended.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.numbers import without_number_operands
from lect.frontends.capture.rules import containers, control, exception_groups, matching, namespaces, objects, suspension, variables

# Rules whose operands may be numbers of run time; the others get constants.
_WITH_NUMBERS = frozenset(
    f"pyframe.{name}"
    for name in (
        "load_local store_local delete_local save_local restore_local load_global store_global load_deref store_deref load_cell load_const drop "
        "load_name store_name load_from_dict_or_deref load_from_dict_or_globals "
        "load_attr store_attr load_item store_item binary compare unary contains is call call_ex make_function "
        "build_tuple build_list build_map build_const_key_map build_slice list_append list_extend map_add dict_update dict_merge list_to_tuple "
        "match_class match_mapping match_sequence unpack_sequence unpack_ex branch cond_branch for_iter return get_iter yield yield_from send"
    ).split()
)
# Rules that do nothing which lasts but what the log of the trace tells of, or what they call does; the others say that something happens.
_LOGGED = frozenset(
    f"pyframe.{name}"
    for name in (
        "load_local store_local delete_local save_local restore_local load_global load_deref store_deref load_cell bind_cell make_cell load_place load_const "
        "load_attr load_super_attr store_attr load_item store_item delete_item binary compare unary contains is call call_ex make_function "
        "build_tuple build_list build_set build_map build_const_key_map build_string build_slice list_append list_extend set_add set_update map_add "
        "dict_update dict_merge list_to_tuple unpack_sequence unpack_ex format_value convert_value get_len "
        "branch cond_branch for_iter return get_iter with_enter yield drop import_name import_from raise reraise push_exc pop_exc load_exc match_exc"
    ).split()
)


def _disturbing(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def disturb(frame: Any, op: Any) -> Any:
        frame.t.memo.disturb()
        return rule(frame, op)

    return disturb


RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        name: _rule if name in _LOGGED else _disturbing(_rule)
        for name, _rule in (
            (name, rule if name in _WITH_NUMBERS else without_number_operands(rule))
            for table in (variables, namespaces, objects, containers, control, exception_groups, matching, suspension)
            for name, rule in table.RULES.items()
        )
    }
)
RESUMED = suspension.RESUMED
