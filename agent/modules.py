# The requests modules and loadedSources. What a module says of itself is read from
# its __dict__: one that is lazy would be loaded by more (attributes.py). Loaded by
# hangdbg/load.

need("attributes")


def modules(session, arguments):
    loaded = _imported()
    start = max(field(arguments, "startModule", int, 0), 0)
    count = field(arguments, "moduleCount", int, 0)
    page = loaded[start:start + count if count > 0 else None]
    return {"totalModules": len(loaded), "modules": [_as_module(*one) for one in page]}


def loaded_sources(session, arguments):
    paths = {_own_text(names, "__file__"): 1 for _, _, names in _imported()}
    return {"sources": [{"path": path} for path in paths
                        if path is not None and not path.endswith((".so", ".pyc"))]}


def _imported():
    """[(name, module, its names)], each once, by the first of its names; in the
    order in which they were imported."""
    found = {}
    for name, module in list(dict.items(sys.modules)):
        if type(name) is str and module is not None:
            found.setdefault(id(module), (name, module, instance_dict(module)))
    return list(found.values())


def _as_module(name, module, names):
    described = {"id": id(module), "name": name}
    path, version = _own_text(names, "__file__"), _own_text(names, "__version__")
    if path is not None:
        described.update(path=path, isUserCode=_is_users(path))
    if version is not None:
        described["version"] = version[:100]
    return described


def _own_text(names, name):
    text = names.get(name)
    return text if type(text) is str else None


def _is_users(path):
    library = _own_text(instance_dict(sys.modules.get("os")), "__file__") or ""
    library = library[:library.rfind("/") + 1]
    return "/site-packages/" not in path and "/dist-packages/" not in path and not (
        library and path.startswith(library))


handlers.update({"modules": modules, "loadedSources": loaded_sources})
