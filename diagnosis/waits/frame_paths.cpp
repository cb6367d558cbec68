#include "diagnosis/waits/frame_paths.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <functional>
#include <span>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostNames = 200;

bool looks_like_path(const std::string& text) {
  return text.size() > 1 && text.size() < PATH_MAX &&
         (text.contains('/') || text.contains('.')) &&
         text.find('\n') == text.npos;
}

std::optional<std::string> bytes_at(const ObjectReader& objects,
                                    Address object) {
  const auto size = read_size(objects, object, Kind::Bytes);
  if (!size || *size >= PATH_MAX) {
    return {};
  }
  std::string text(*size, '\0');
  const auto read =
      objects.memory().read(object + objects.layout().bytes_data,
                            std::as_writable_bytes(std::span(text)));
  return read ? std::optional(std::move(text)) : std::nullopt;
}

// pathlib keeps the text once it was needed, as for open().
std::optional<std::string> pathlib_at(const ObjectReader& objects,
                                      Address object,
                                      const Type& type) {
  std::optional<std::string> text;
  (void)each_attribute(objects, object, type,
                       [&](const std::string& name, Address value) {
                         if (name == "_str") {
                           if (auto kept = objects.name(value)) {
                             text = *std::move(kept);
                           }
                         }
                         return !text;
                       });
  return text;
}

std::optional<std::string> path_text_of(const ObjectReader& objects,
                                        Address object) {
  const auto type = objects.type_of(object);
  if (!type) {
    return {};
  }
  if ((*type)->kind == Kind::Str) {
    auto text = objects.name(object);
    return text ? std::optional(*std::move(text)) : std::nullopt;
  }
  if ((*type)->kind == Kind::Bytes) {
    return bytes_at(objects, object);
  }
  return (*type)->name == "PosixPath" ? pathlib_at(objects, object, **type)
                                      : std::nullopt;
}

}  // namespace

std::vector<NamedPath> paths_known_to(const ProcessSnapshot& of,
                                      const PythonFrame& frame) {
  std::vector<NamedPath> found;
  const ObjectReader& objects = of.objects();
  objects.allow_reads();
  const auto add = [&](const std::string& name, Address object,
                       bool of_module = false) {
    auto path = path_text_of(objects, object);
    if (path && looks_like_path(*path) &&
        std::ranges::find(found, *path, &NamedPath::path) == found.end()) {
      found.push_back({name, *std::move(path), of_module});
    }
  };
  std::size_t names = 0;
  if (const auto locals = read_locals(objects, frame.address, frame.code)) {
    for (const Variable& one : *locals) {
      if (++names > kMostNames) {
        break;
      }
      add(one.name, one.object);
      const auto type = one.name == "self" ? objects.type_of(one.object)
                                           : std::unexpected(Error());
      if (type) {
        (void)each_attribute(objects, one.object, **type,
                             [&](const std::string& name, Address value) {
                               add("self." + name, value);
                               return ++names < kMostNames;
                             });
      }
    }
  }
  if (const auto globals = read_globals(objects, frame.address, frame.code)) {
    for (const Variable& one : *globals) {
      if (++names > kMostNames) {
        break;
      }
      add(one.name, one.object, /*of_module=*/true);
    }
  }
  return found;
}

std::optional<std::string> path_at(const ProcessSnapshot& of,
                                   const PythonFrame& frame,
                                   const std::string& expression) {
  if (auto text = of.text(frame, expression)) {
    return text;
  }
  const auto object = of.object(frame, expression);
  return object ? path_text_of(of.objects(), *object) : std::nullopt;
}

std::string type_at(const ProcessSnapshot& of,
                    const PythonFrame& frame,
                    std::string_view expression) {
  const auto object = of.object(frame, expression);
  const auto type =
      object ? of.objects().type_of(*object) : std::unexpected(Error());
  return type ? (*type)->name : "";
}

}  // namespace hangdbg
