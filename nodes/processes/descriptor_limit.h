// How many descriptors this process may have: a connection to each node takes
// some.
#pragma once

namespace hangdbg {

// So many, or as many as the hard limit lets it have.
void allow_descriptors(unsigned long wanted);

}  // namespace hangdbg
