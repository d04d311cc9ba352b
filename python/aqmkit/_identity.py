"""What names a discipline in Python: a hash of everything of it that decides what it does.

Results are kept under this hash, so what it leaves out can give the numbers of one discipline for another. Of the user's own code
everything that can be followed counts: functions with their closures and the globals they use, classes with their bases, objects
with their state as `pickle` would take it. Of an installed package the name and the version count. A value whose state cannot be
seen is refused.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["identity"]

#: Types whose `repr` is their value.
_PLAIN = (type(None), bool, int, float, complex, str, bytes)

#: What a class in C is made of, which has a name and no state.
_BY_NAME = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)

#: Attributes of a class that do not decide what it does, or differ between processes.
_NOT_CODE = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__qualname__",
        "__firstlineno__",
        "__static_attributes__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__conditional_annotations__",
        # The methods that a dataclass was given say the same.
        "__dataclass_fields__",
        "__dataclass_params__",
        # What copying and `abc` remember on the class.
        "__slotnames__",
        "_abc_impl",
    }
)


def identity(value: object) -> str:
    """A hash of everything that decides what `value` does: 32 hexadecimal digits, the same in every process.

    Raises
    ------
    TypeError
        When something that it holds has a state that cannot be seen, such as a lock or an open file.
    """
    digest = _Digest()
    try:
        digest.add(value, type(value).__name__)
    except RecursionError:
        raise _refusal(type(value).__name__, "is nested too deeply to be inspected") from None
    return digest.text()


class _Digest:
    """A hash that values are added to, each with everything that it refers to."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        # What was met already, by its id: a cycle ends there. Kept alive, as an id is free again when its object is gone.
        self._met: dict[int, tuple[int, object]] = {}
        self._modules: set[tuple[str, frozenset[str]]] = set()

    def text(self) -> str:
        return self._hash.hexdigest()

    def add(self, value: object, where: str) -> None:
        """Adds a value; `where` is how a message calls it."""
        if type(value) in _PLAIN:
            self._put(type(value).__name__, repr(value))
        elif isinstance(value, types.CodeType):
            self._add_code(value, where)
        elif type(value) is tuple:
            self._add_items("tuple", value, where)
        elif id(value) in self._met:
            # That two names are one object counts: what changes through one is seen through the other.
            self._put("met", str(self._met[id(value)][0]))
        else:
            self._met[id(value)] = (len(self._met), value)
            self._add_new(value, where)

    def _put(self, kind: str, text: str) -> None:
        # With its length, so that no two sequences of parts run together to the same bytes.
        encoded = text.encode("utf-8", "surrogatepass")
        self._hash.update(f"{kind}:{len(encoded)}:".encode() + encoded + b";")

    def _add_new(self, value: object, where: str) -> None:
        if isinstance(value, types.FunctionType):
            self._add_function(value, where)
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, types.ModuleType):
            self._add_module(value, frozenset(), where)
        elif isinstance(value, types.CellType):
            self._add_cell(value, where)
        elif type(value) is list:
            self._add_items("list", value, where)
        elif type(value) is dict or isinstance(value, types.MappingProxyType):
            self._add_dict(value, where)
        elif type(value) in (set, frozenset):
            self._add_set(value, where)
        elif isinstance(value, (staticmethod, classmethod)):
            self._add_items(type(value).__name__, [value.__func__], where)
        elif isinstance(value, property):
            self._add_items("property", [value.fget, value.fset, value.fdel], where)
        elif isinstance(value, functools.cached_property):
            self._add_items("cached_property", [value.func], where)
        elif isinstance(value, _BY_NAME):
            self._put("descriptor", f"{value.__objclass__.__qualname__}.{value.__name__}")
        else:
            self._add_object(value, where)

    def _add_items(self, kind: str, items: Any, where: str) -> None:
        self._put(kind, str(len(items)))
        for item in items:
            self.add(item, where)

    def _add_dict(self, value: Any, where: str) -> None:
        # In its order, which decides what a loop over it does.
        self._put("dict", str(len(value)))
        for key, inner in value.items():
            self.add(key, where)
            self.add(inner, f"{where}.{key}" if isinstance(key, str) else where)

    def _add_set(self, value: Any, where: str) -> None:
        # Each by itself and then sorted, as the order differs between processes.
        parts = []
        for item in value:
            part = _Digest()
            part._met = dict(self._met)
            part.add(item, where)
            parts.append(part.text())
        self._add_items(type(value).__name__, sorted(parts), where)

    def _add_code(self, code: types.CodeType, where: str) -> None:
        # Neither names of files nor lines: code that moves stays the same.
        self._put("code", f"{code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount} {code.co_flags}")
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.add((code.co_code, code.co_exceptiontable, *names, code.co_consts), where)

    def _add_function(self, function: types.FunctionType, where: str) -> None:
        name = _installed_name(function)
        if name is not None:
            self._put("function", name)
            return
        self._put("function", "")
        self.add(function.__code__, where)
        self.add((function.__defaults__, function.__kwdefaults__, function.__dict__), where)
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.add(cell, f"{variable} in {where}")
        self._add_globals(function, where)

    def _add_cell(self, cell: types.CellType, where: str) -> None:
        try:
            contents = cell.cell_contents
        except ValueError:
            # Not bound yet, or no longer.
            self._put("cell", "empty")
        else:
            self._add_items("cell", [contents], where)

    def _add_globals(self, function: types.FunctionType, where: str) -> None:
        """The globals that a function uses, by their present values; of a module the parts that it names."""
        codes = list(_nested(function.__code__))
        attributes = frozenset(name for code in codes for name in code.co_names)
        for name in sorted({name for code in codes for name in _global_names(code)}):
            # What is not there is one of Python's own, or does not exist yet.
            if name in function.__globals__:
                value = function.__globals__[name]
                self._put("global", name)
                if isinstance(value, types.ModuleType):
                    self._add_module(value, attributes, f"{name} in {where}")
                else:
                    self.add(value, f"{name} in {where}")

    def _add_module(self, module: types.ModuleType, attributes: frozenset[str], where: str) -> None:
        """A module: of the user's own, those of its values that are called by one of `attributes`."""
        self._put("module", _versioned(module.__name__))
        asked = (module.__name__, attributes)
        if _is_installed(module.__name__) or asked in self._modules:
            return
        self._modules.add(asked)
        for name in sorted(attributes & vars(module).keys()):
            value = vars(module)[name]
            self._put("attribute", name)
            if isinstance(value, types.ModuleType):
                self._add_module(value, attributes, f"{where}.{name}")
            else:
                self.add(value, f"{where}.{name}")

    def _add_class(self, cls: type) -> None:
        name = _installed_name(cls)
        if name is not None:
            self._put("class", name)
            return
        self._put("class", "")
        self.add(type(cls), cls.__name__)
        self._add_items("bases", cls.__bases__, cls.__name__)
        self._add_dict({k: v for k, v in vars(cls).items() if k not in _NOT_CODE}, cls.__name__)

    def _add_object(self, value: object, where: str) -> None:
        """Any other object: its class, and its state as `pickle` and `copy` take it."""
        self.add(type(value), where)
        reduced = _reduced(value, where)
        if isinstance(reduced, str):
            # It says no more than its name, which is enough for what cannot change without its package.
            wrapped = getattr(value, "__wrapped__", None)
            self._put("name", f"{_versioned(getattr(value, '__module__', None) or '')}.{reduced}")
            self.add(wrapped, where)
            return
        make, arguments, *rest = reduced
        self.add((make, arguments), where)
        state, items, pairs, *setter = [*rest, None, None, None][:4] if len(rest) < 4 else rest
        if type(state) is dict:
            # Its own attributes: not met before, and made anew for each call where the object has slots.
            self._add_dict(state, where)
        else:
            self.add(state, where)
        self.add((list(items or ()), list(pairs or ()), *setter), where)


def _reduced(value: object, where: str) -> Any:
    """What `pickle` would make the object from."""
    reducer = copyreg.dispatch_table.get(type(value))
    try:
        return reducer(value) if reducer is not None else value.__reduce_ex__(4)
    except Exception as error:  # Whatever a class says that cannot be taken apart.
        raise _refusal(where, f"is a {type(value).__name__}, whose state cannot be inspected ({error})") from error


def _refusal(where: str, what: str) -> TypeError:
    return TypeError(
        f"{where} {what}, so that results of this discipline could be taken for those of another; "
        "keep it out of what the discipline refers to, or define identity() to return a text that names what decides"
    )


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those that it makes functions and classes of."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """The names that it looks up among the globals of its module."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield str(step.argval)


def _installed_name(value: Any) -> str | None:
    """How a function or class of an installed package is called, with the version; None for the user's own.

    Only what is found under its name counts as that: what was made inside a function, or by `exec`, may say any name.
    """
    module, path = getattr(value, "__module__", None), value.__qualname__
    if not isinstance(module, str) or not _is_installed(module):
        return None
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return f"{_versioned(module)}.{path}" if found is value else None


def _is_installed(module: str) -> bool:
    """Whether a module is of Python, of aqmkit, or of an installed package, and so changes with a version only."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def _versioned(module: str) -> str:
    """The name of a module with the version of its package, where it has one."""
    version = getattr(sys.modules.get(module.partition(".")[0]), "__version__", "")
    return f"{module} {version}" if isinstance(version, str) else module
