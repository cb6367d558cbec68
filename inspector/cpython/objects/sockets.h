// Socket objects: their descriptors. PySocketSockObject
// (Modules/socketmodule.h) begins with it, in every version.
#pragma once

#include <optional>

#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// Of a `_socket.socket`, or an object of a class that derives from it (socket,
// SSLSocket); also of a Connection of multiprocessing. None: it is no such
// object, or is closed.
std::optional<int> socket_descriptor(const ObjectReader& objects,
                                     Address object);

}  // namespace hangdbg
